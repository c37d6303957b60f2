"""One holder at a time, whoever else wants it."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from tests.kube.world import connect_to
from trimtab.kube.cluster import PatchType
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
    lease_manifest,
    move,
    sighted,
)
from trimtab.settings import ClusterSettings
from trimtab.tasks import SystemClock

if TYPE_CHECKING:
    from testbed.fixtures import ControlPlanes
    from trimtab.kube.http import HttpCluster

BRISK = LeaseTerms(
    duration=timedelta(seconds=1),
    give_up_after=timedelta(milliseconds=700),
    rhythm=timedelta(milliseconds=50),
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


def lease(cluster: HttpCluster, namespace: str, me: str) -> Lease:
    return Lease(cluster, namespace=namespace, name="lock", me=me, clock=SystemClock(), terms=BRISK)


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
            await lease(cluster, "default", "me").hold(work)
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
