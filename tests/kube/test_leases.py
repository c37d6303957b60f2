"""One holder at a time, whoever else wants it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

import msgspec
import pytest

from tests.kube.world import connect_to
from trimtab.errors import ClusterUnreachable, InvalidSpec, Unavailable
from trimtab.kube.cluster import PatchType, Written
from trimtab.kube.failures import ChangedMeanwhile, Forbidden, NotFound, Status
from trimtab.kube.leases import (
    LEASES,
    Holding,
    Lease,
    LeaseLost,
    LeaseTerms,
    Move,
    Renew,
    Sighting,
    Take,
    Wait,
    holding_in,
    lease_manifest,
    move,
    sighted,
)
from trimtab.kube.objects import KubeObject, object_from
from trimtab.settings import ClusterSettings
from trimtab.tasks import ManualClock, SystemClock

if TYPE_CHECKING:
    from testbed.fixtures import ControlPlanes
    from trimtab.kube.cluster import Cluster
    from trimtab.kube.discovery import Resource
    from trimtab.kube.http import HttpCluster

BRISK = LeaseTerms(
    duration=timedelta(seconds=1),
    give_up_after=timedelta(milliseconds=700),
    rhythm=timedelta(milliseconds=50),
)
#: kept even where a busy machine stands still for a while
STEADY = LeaseTerms(
    duration=timedelta(seconds=60), give_up_after=timedelta(seconds=40), rhythm=timedelta(milliseconds=50)
)
THEIRS = Holding(holder="them", seconds=15, resource_version="7")


@pytest.mark.parametrize(
    ("holding", "seconds_later", "expected"),
    [
        (None, 0, Take()),
        (Holding(holder=""), 0, Take()),
        (THEIRS, 0, Wait("them")),
        (THEIRS, 15, Wait("them")),
        (THEIRS, 15.1, Take()),
        (Holding(holder="me", seconds=15), 100, Renew()),
    ],
)
def test_a_lease_may_be_taken_when_free_or_unchanged_for_its_duration(
    holding: Holding | None, seconds_later: float, expected: Move
) -> None:
    assert move(Sighting(holding=holding, at=1000), "me", 1000 + seconds_later) == expected


def test_only_a_change_of_the_lease_counts_as_a_sign_of_life() -> None:
    first = sighted(None, THEIRS, 10)
    assert sighted(first, THEIRS, 20) == Sighting(holding=THEIRS, at=10)
    renewed = Holding(holder="them", seconds=15, resource_version="8")
    assert sighted(first, renewed, 20) == Sighting(holding=renewed, at=20)


def test_changing_hands_is_counted_and_renewing_is_not() -> None:
    now = datetime(2026, 1, 2, 3, 4, 5, 6000, tzinfo=UTC)
    taken = lease_manifest("shop", "lock", THEIRS, "me", LeaseTerms(), now)["spec"]
    assert (taken["holderIdentity"], taken["leaseTransitions"]) == ("me", 1)
    assert taken["acquireTime"] == taken["renewTime"] == "2026-01-02T03:04:05.006000Z"
    mine = Holding(holder="me", acquired="earlier", transitions=1)
    kept = lease_manifest("shop", "lock", mine, "me", LeaseTerms(), now)["spec"]
    assert (kept["acquireTime"], kept["leaseTransitions"]) == ("earlier", 1)


@pytest.mark.parametrize(("rhythm", "give_up", "duration"), [(2, 15, 15), (10, 10, 15), (5, 3, 15)])
def test_terms_under_which_two_could_hold_are_refused(rhythm: int, give_up: int, duration: int) -> None:
    with pytest.raises(ValueError, match="rhythm < give_up_after < duration"):
        LeaseTerms(
            rhythm=timedelta(seconds=rhythm),
            give_up_after=timedelta(seconds=give_up),
            duration=timedelta(seconds=duration),
        )


def test_a_duration_of_broken_seconds_is_written_so_that_nobody_comes_too_early() -> None:
    terms = LeaseTerms(
        duration=timedelta(seconds=1.9),
        give_up_after=timedelta(seconds=1.5),
        rhythm=timedelta(seconds=0.1),
    )
    written = lease_manifest("shop", "lock", None, "me", terms, datetime(2026, 1, 1, tzinfo=UTC))
    assert written["spec"]["leaseDurationSeconds"] == 2


class Shelf:
    """A cluster that holds one Lease and nothing else, whose answers can be made to take their time."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.lease: KubeObject | None = None
        self.versions = 0
        self.looks = 0
        self.down = False
        self.refused = False
        self.vanishes = False
        self.delays: dict[str, float] = {}

    async def get(self, resource: Resource, name: str, *, namespace: str) -> KubeObject:
        self.looks += 1
        await self._answer("before get")
        if self.lease is None:
            raise NotFound(name, "not there", status=Status(code=404))
        return self.lease

    async def create(self, resource: Resource, body: Mapping[str, Any], *, namespace: str) -> Written:
        return await self._store(body)

    async def update(
        self, resource: Resource, name: str, body: Mapping[str, Any], *, namespace: str
    ) -> Written:
        if self.vanishes:
            self.lease, self.vanishes = None, False
        if self.lease is None:
            raise NotFound(name, "not there", status=Status(code=404))
        if body["metadata"].get("resourceVersion") != self.lease.metadata.resource_version:
            raise ChangedMeanwhile(name, "changed", status=Status(code=409))
        return await self._store(body)

    async def _store(self, body: Mapping[str, Any]) -> Written:
        await self._answer("before write")
        written = self.put(body)
        await self._answer("after write")
        return Written(object=written)

    def put(self, body: Mapping[str, Any]) -> KubeObject:
        self.versions += 1
        metadata = {**body["metadata"], "resourceVersion": str(self.versions)}
        self.lease = object_from(msgspec.json.encode({**body, "metadata": metadata}))
        return self.lease

    async def _answer(self, moment: str) -> None:
        if self.down:
            raise Unavailable("the shelf", "it is down")
        if self.refused:
            raise Forbidden("the shelf", "no", status=Status(code=403))
        await self.clock.sleep(self.delays.pop(moment, 0))

    @property
    def holder(self) -> str:
        return holding_in(self.lease).holder if self.lease else ""


class Candidate:
    """Somebody who wants the lease, and what becomes of that."""

    def __init__(self, shelf: Shelf, me: str, terms: LeaseTerms) -> None:
        cluster = cast("Cluster", shelf)
        self.lease = Lease(cluster, namespace="shop", name="lock", me=me, clock=shelf.clock, terms=terms)
        self._working = False
        self.end = asyncio.Event()

    def works(self) -> bool:
        return self._working

    async def run(self, *, seen_free: bool = False) -> None:
        await self.lease.hold(self._work, seen_free=seen_free)

    async def _work(self) -> None:
        self._working = True
        try:
            await self.end.wait()
        finally:
            self._working = False


@pytest.fixture
def shelf() -> Shelf:
    return Shelf(ManualClock())


TERMS = LeaseTerms()
LAZY = LeaseTerms(rhythm=timedelta(seconds=13), give_up_after=timedelta(seconds=14))


async def test_one_who_learns_too_late_that_the_lease_is_his_does_not_begin(shelf: Shelf) -> None:
    slow, quick = Candidate(shelf, "slow", TERMS), Candidate(shelf, "quick", TERMS)
    shelf.delays["after write"] = 25
    async with asyncio.TaskGroup() as room:
        tasks = [room.create_task(slow.run())]
        await shelf.clock.advance(1)
        tasks.append(room.create_task(quick.run()))
        for _ in range(60):
            await shelf.clock.advance(1)
            assert not (slow.works() and quick.works())
        assert slow.works() != quick.works()
        for each in tasks:
            each.cancel()


async def test_a_look_that_took_long_does_not_make_a_fresh_lease_an_old_one(shelf: Shelf) -> None:
    """The lease was written at second 9, while the look was under way; it is good until second 24."""
    heir = Candidate(shelf, "heir", TERMS)
    shelf.delays["before get"] = 9.5
    async with asyncio.TaskGroup() as room:
        task = room.create_task(heir.run())
        await shelf.clock.advance(9)
        theirs = lease_manifest("shop", "lock", None, "them", TERMS, shelf.clock.now())
        shelf.put(theirs)
        await shelf.clock.advance(14)
        assert not heir.works()
        await shelf.clock.advance(6)
        assert heir.works()
        task.cancel()


async def test_a_release_that_is_refused_does_not_hide_what_the_work_said(shelf: Shelf) -> None:
    async def work() -> None:
        shelf.refused = True
        raise InvalidSpec("the work", "it failed")

    with pytest.raises(InvalidSpec, match="the work"):
        await Lease(cast("Cluster", shelf), namespace="shop", name="lock", me="me", clock=shelf.clock).hold(
            work
        )


async def test_a_lease_that_somebody_deletes_between_look_and_write_is_tried_again(shelf: Shelf) -> None:
    candidate = Candidate(shelf, "me", TERMS)
    async with asyncio.TaskGroup() as room:
        room.create_task(candidate.run())
        await shelf.clock.advance(1)
        shelf.vanishes = True
        await shelf.clock.advance(5)
        assert candidate.works()
        assert shelf.holder == "me"
        candidate.end.set()


async def test_work_that_ends_while_the_lease_is_being_renewed_leaves_it_free(shelf: Shelf) -> None:
    candidate = Candidate(shelf, "me", TERMS)
    async with asyncio.TaskGroup() as room:
        room.create_task(candidate.run())
        await shelf.clock.advance(1)
        shelf.delays["after write"] = 5
        await shelf.clock.advance(2)
        candidate.end.set()
    assert shelf.holder == ""


@pytest.mark.parametrize("before", ["", "them"])
async def test_a_lease_that_was_just_seen_free_is_taken_and_given_back_without_another_look(
    shelf: Shelf, before: str
) -> None:
    if before:
        shelf.put(lease_manifest("shop", "lock", Holding(holder=before), "", TERMS, shelf.clock.now()))
    candidate = Candidate(shelf, "me", TERMS)
    assert await candidate.lease.holder() == ""
    async with asyncio.TaskGroup() as room:
        room.create_task(candidate.run(seen_free=True))
        await shelf.clock.advance(1)
        assert (candidate.works(), shelf.holder) == (True, "me")
        candidate.end.set()
    assert (shelf.holder, shelf.looks) == ("", 1)


async def test_whoever_was_faster_keeps_a_lease_that_was_just_seen_free(shelf: Shelf) -> None:
    candidate = Candidate(shelf, "me", TERMS)
    shelf.put(lease_manifest("shop", "lock", None, "", TERMS, shelf.clock.now()))
    assert await candidate.lease.holder() == ""
    theirs = lease_manifest("shop", "lock", None, "them", TERMS, shelf.clock.now())
    shelf.put(theirs)
    async with asyncio.TaskGroup() as room:
        task = room.create_task(candidate.run(seen_free=True))
        await shelf.clock.advance(10)
        assert (candidate.works(), shelf.holder) == (False, "them")
        task.cancel()


@pytest.mark.parametrize("terms", [TERMS, LAZY])
async def test_one_who_cannot_renew_has_stopped_when_his_time_is_up(shelf: Shelf, terms: LeaseTerms) -> None:
    candidate = Candidate(shelf, "me", terms)
    async with asyncio.TaskGroup() as room:
        task = room.create_task(expect_loss(candidate))
        await shelf.clock.advance(1)
        assert candidate.works()
        shelf.down = True
        await shelf.clock.advance(terms.duration.total_seconds() - 0.5)
        assert not candidate.works()
        await task


async def test_one_who_lost_it_while_the_server_was_away_may_have_it_again_and_does_not_wait_for_himself(
    shelf: Shelf,
) -> None:
    candidate = Candidate(shelf, "me", TERMS)
    async with asyncio.TaskGroup() as room:
        task = room.create_task(expect_loss(candidate))
        await shelf.clock.advance(1)
        assert await candidate.lease.holder() == "me"
        shelf.down = True
        await shelf.clock.advance(2 * TERMS.duration.total_seconds())
        await task
    shelf.down = False
    assert shelf.holder == "me"
    await candidate.lease.freed()
    again = Candidate(shelf, "me", TERMS)
    async with asyncio.TaskGroup() as room:
        room.create_task(again.run())
        await shelf.clock.advance(1)
        assert again.works()
        again.end.set()


async def expect_loss(candidate: Candidate) -> None:
    with pytest.raises(LeaseLost, match="could not be renewed"):
        await candidate.run()


def lease(cluster: HttpCluster, namespace: str, me: str, terms: LeaseTerms = STEADY) -> Lease:
    return Lease(cluster, namespace=namespace, name="lock", me=me, clock=SystemClock(), terms=terms)


async def test_five_candidates_hold_it_in_turn_and_never_two_at_once(
    cluster: HttpCluster, namespace: str
) -> None:
    holding: list[str] = []
    turns: list[str] = []

    async def candidate(me: str) -> None:
        async def work() -> None:
            holding.append(me)
            assert holding == [me]
            seen = await lease(cluster, namespace, "observer").holding()
            assert seen is not None
            assert seen.holder == me
            turns.append(me)
            holding.remove(me)

        await lease(cluster, namespace, me).hold(work)

    async with asyncio.TaskGroup() as room:
        for number in range(5):
            room.create_task(candidate(f"candidate-{number}"))
    assert sorted(turns) == [f"candidate-{number}" for number in range(5)]
    free = await lease(cluster, namespace, "observer").holding()
    assert free is not None
    assert free.holder == ""


async def test_the_lease_of_one_who_died_is_taken_over(cluster: HttpCluster, namespace: str) -> None:
    body = lease_manifest(namespace, "lock", None, "the-dead", BRISK, datetime(2099, 1, 1, tzinfo=UTC))
    await cluster.create(LEASES, body, namespace=namespace)

    async def work() -> str:
        return "done"

    assert await lease(cluster, namespace, "heir").hold(work) == "done"


async def test_one_who_cannot_renew_stops_working_before_others_may_begin(
    control_planes: ControlPlanes,
) -> None:
    plane = control_planes.start()
    stopped = asyncio.Event()

    async def work() -> None:
        plane.apiserver.pause()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            stopped.set()
            plane.apiserver.resume()

    async with connect_to(plane, settings=ClusterSettings(request_timeout=timedelta(seconds=3))) as cluster:
        with pytest.raises(LeaseLost, match="could not be renewed"):
            await lease(cluster, "default", "me", BRISK).hold(work)
    assert stopped.is_set()


async def test_one_whose_lease_was_taken_by_force_stops_working(cluster: HttpCluster, namespace: str) -> None:
    async def work() -> None:
        robbed = {"spec": {"holderIdentity": "robber", "leaseDurationSeconds": 60}}
        await cluster.patch(LEASES, "lock", robbed, how=PatchType.MERGE, namespace=namespace)
        await asyncio.get_running_loop().create_future()

    with pytest.raises(LeaseLost, match="robber took it over"):
        await lease(cluster, namespace, "me").hold(work)
    left = await lease(cluster, namespace, "observer").holding()
    assert left is not None
    assert left.holder == "robber"


@pytest.mark.parametrize("spec", [[], "x", {"holderIdentity": 5}, {"leaseDurationSeconds": "long"}])
def test_a_lease_that_makes_no_sense_is_the_servers_failure(spec: object) -> None:
    nonsense = object_from(msgspec.json.encode({"kind": "Lease", "metadata": {"name": "a"}, "spec": spec}))
    with pytest.raises(ClusterUnreachable, match="something that is no Lease"):
        holding_in(nonsense)
