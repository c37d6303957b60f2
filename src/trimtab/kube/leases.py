"""One holder at a time, seen by others: a `coordination.k8s.io` Lease, taken, renewed, lost and released.

Whether somebody else's lease has run out is judged by our own clock since we last saw it change, never by
the time written in it: clocks of different machines need not agree. A holder gives up well before others may
take over, so two never work at once.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeAlias, TypeVar, assert_never

import msgspec
from msgspec import Struct

from trimtab.errors import ClusterUnreachable, Conflict, TrimtabError, Unavailable
from trimtab.kube.cluster import Cluster
from trimtab.kube.discovery import Resource
from trimtab.kube.failures import AlreadyExists, ChangedMeanwhile, NotFound
from trimtab.kube.objects import UNREADABLE, KubeObject
from trimtab.tasks import Clock, plain_group, time_limit

T = TypeVar("T")

LEASES = Resource(group="coordination.k8s.io", version="v1", kind="Lease", plural="leases", namespaced=True)


class LeaseTerms(Struct, frozen=True, kw_only=True):
    """How long a lease lasts, how often it is renewed, and when its holder gives up."""

    #: others may take over when the lease has not been renewed for this long
    duration: timedelta = timedelta(seconds=15)
    #: the holder stops working when it could not renew for this long; shorter than the duration
    give_up_after: timedelta = timedelta(seconds=10)
    #: time between two renewals, and between two looks at somebody else's lease
    rhythm: timedelta = timedelta(seconds=2)

    def __post_init__(self) -> None:
        if not self.rhythm < self.give_up_after < self.duration:
            raise ValueError("a lease needs rhythm < give_up_after < duration")


USUAL_TERMS = LeaseTerms()
_AGAIN = "Try again: what was begun is gone on with"


class LeaseLost(Unavailable):
    """The lease could not be kept; the work done under it was stopped."""


class LeaseTaken(Conflict):
    """Somebody else holds the lease."""


class Holding(Struct, frozen=True, kw_only=True):
    """What a Lease says: who holds it, since when, how often it changed hands."""

    holder: str = ""
    acquired: str = ""
    renewed: str = ""
    seconds: int = 0
    transitions: int = 0
    resource_version: str = ""


class Sighting(Struct, frozen=True, kw_only=True):
    """A holding, and when by our own clock we first saw it so."""

    holding: Holding | None
    at: float


class Take(Struct, frozen=True):
    """It is free, or has run out: try to take it."""


class Renew(Struct, frozen=True):
    """It is ours: renew it."""


class Wait(Struct, frozen=True):
    """Somebody else holds it."""

    holder: str


Move: TypeAlias = Take | Renew | Wait


def move(sighting: Sighting, me: str, now: float) -> Move:
    """What a candidate may do about a lease it has seen. Pure."""
    holding = sighting.holding
    if holding is None or not holding.holder:
        return Take()
    if holding.holder == me:
        return Renew()
    return Take() if now - sighting.at > holding.seconds else Wait(holding.holder)


def sighted(before: Sighting | None, holding: Holding | None, now: float) -> Sighting:
    """The sighting after another look: its time moves only when the lease did. Pure."""
    if before is not None and before.holding == holding:
        return before
    return Sighting(holding=holding, at=now)


class Lease:
    """One lease, as one candidate sees it."""

    def __init__(
        self,
        cluster: Cluster,
        *,
        namespace: str,
        name: str,
        me: str,
        clock: Clock,
        terms: LeaseTerms = USUAL_TERMS,
    ) -> None:
        self._cluster = cluster
        self._namespace = namespace
        self._name = name
        self._me = me
        self._clock = clock
        self._terms = terms
        self._sighting: Sighting | None = None
        self._ours_until = -math.inf

    @property
    def is_held(self) -> bool:
        """Whether it is ours at this moment; whoever writes under it asks right before each write.

        The work under a lease is cancelled when it is lost, and yet a process that stood still for a while
        may go on with its work before it hears of that: this looks at the clock.
        """
        return self._clock.monotonic() < self._ours_until

    async def holder(self) -> str:
        """Who holds it now, as far as we have seen; empty for nobody, or for one who lost it."""
        found = await self.holding()
        # Read after the answer, which may tell of a moment ago: too late is safe, too early is not.
        now = self._clock.monotonic()
        self._sighting = sighted(self._sighting, found, now)
        decision = move(self._sighting, self._me, now)
        # What could not be given back, because the server was away, bears our name and is nobody's.
        is_free = isinstance(decision, Take) or (isinstance(decision, Renew) and not self.is_held)
        return "" if is_free or found is None else found.holder

    async def freed(self) -> None:
        """Return when nobody holds it, by our own clock."""
        while True:
            with suppress(Unavailable):
                if not await self.holder():
                    return
            await self._clock.sleep(self._terms.rhythm.total_seconds())

    async def holding(self) -> Holding | None:
        """Who holds it now, or None if it was never taken."""
        try:
            found = await self._cluster.get(LEASES, self._name, namespace=self._namespace)
        except NotFound:
            return None
        return holding_in(found)

    async def hold(
        self, work: Callable[[], Awaitable[T]], *, waits: bool = True, seen_free: bool = False
    ) -> T:
        """Wait for the lease, do the work while holding it, release it; losing it stops the work.

        Unless `waits`, a lease that somebody else holds is a `LeaseTaken`. What was just `seen_free` is taken
        as it was seen: whoever was faster made another version of it.

        When the lease cannot be kept the work is cancelled and `LeaseLost` raised; `me` must be the name of
        this one candidate alone. Work that does not let itself be cancelled in the time between giving up and
        the end of the lease may overlap with its successor's.
        """
        taken = await self._acquire(waits=waits, seen_free=seen_free)
        try:
            async with plain_group() as group:
                keeping = group.create_task(self._keep(taken))
                done = await work()
                keeping.cancel()
        finally:
            self._ours_until = -math.inf
            await self._release()
        return done

    async def _acquire(self, *, waits: bool, seen_free: bool) -> float:
        """Try at the terms' rhythm until it is ours; the answer is when the try began that made it so.

        A try that takes longer than a holder may go without renewing does not count: others may have seen it
        succeed long before we did, and have taken over since.
        """
        while True:
            started = self._clock.monotonic()
            if await self._attempt_within(self._terms.give_up_after, looks=not seen_free) == self._me:
                self._ours_until = started + self._terms.give_up_after.total_seconds()
                return started
            if not waits:
                raise LeaseTaken(self._subject, "it is not to be had now", "Try again later")
            seen_free = False
            await self._clock.sleep(self._terms.rhythm.total_seconds())

    async def _keep(self, renewed: float) -> None:
        """Renew for ever; end with `LeaseLost` when that failed for too long or somebody else took it."""
        tried = renewed
        while True:
            lost = self._ours_until = renewed + self._terms.give_up_after.total_seconds()
            due = min(tried + self._terms.rhythm.total_seconds(), lost)
            await self._clock.sleep(max(due - self._clock.monotonic(), 0))
            tried = self._clock.monotonic()
            if tried >= lost:
                seconds = self._terms.give_up_after.total_seconds()
                raise LeaseLost(self._subject, f"it could not be renewed for {seconds:g} s", _AGAIN)
            holder = await self._attempt_within(timedelta(seconds=lost - tried))
            if holder == self._me:
                renewed = tried
            elif holder:
                self._ours_until = -math.inf
                raise LeaseLost(self._subject, f"{holder} took it over", _AGAIN)

    async def _attempt_within(self, limit: timedelta, *, looks: bool = True) -> str:
        """Who holds the lease after an attempt; empty when that is not known yet."""
        try:
            async with time_limit(limit, clock=self._clock, subject=self._subject):
                return await (self._attempt() if looks else self._taken())
        except Unavailable:
            return ""  # whoever wants a lease has nothing better to do than to ask again

    async def _attempt(self) -> str:
        """Look, and take or renew if we may; the answer is who holds it now, empty if not known."""
        found = await self.holding()
        # Read after the answer, which may tell of a moment ago: too late is safe, too early is not.
        now = self._clock.monotonic()
        self._sighting = sighted(self._sighting, found, now)
        decision = move(self._sighting, self._me, now)
        match decision:
            case Wait(holder):
                return holder
            case Take() | Renew():
                return await self._taken()
            case _:
                assert_never(decision)

    async def _taken(self) -> str:
        """Take or renew it as it was last seen; the answer is who holds it now, empty if not known."""
        seen = self._sighting.holding if self._sighting is not None else None
        return self._me if await self._write(seen, holder=self._me) else ""

    async def _release(self) -> None:
        """Let the next one take it at once; if that cannot be said, it runs out by itself."""
        with suppress(TrimtabError):
            async with time_limit(self._terms.give_up_after, clock=self._clock, subject=self._subject):
                last = self._sighting.holding if self._sighting is not None else None
                if not await self._give_back(last):  # a renewal may have come through unheard
                    await self._give_back(await self.holding())

    async def _give_back(self, held: Holding | None) -> bool:
        """Whether it could be given back as it was seen."""
        is_ours = held is not None and held.holder == self._me
        return is_ours and await self._write(held, holder="")

    async def _write(self, before: Holding | None, *, holder: str) -> bool:
        """Write the lease if nobody was faster, and say whether that is so."""
        body = lease_manifest(self._namespace, self._name, before, holder, self._terms, self._clock.now())
        try:
            if before is None:
                written = await self._cluster.create(LEASES, body, namespace=self._namespace)
            else:
                written = await self._cluster.update(LEASES, self._name, body, namespace=self._namespace)
        except (AlreadyExists, ChangedMeanwhile):
            return False
        except NotFound:
            if before is None:
                raise  # the namespace itself is missing
            return False
        self._sighting = Sighting(holding=holding_in(written.object), at=self._clock.monotonic())
        return True

    @property
    def _subject(self) -> str:
        return f"lease {self._namespace}/{self._name}"


class _Spec(Struct, frozen=True, kw_only=True, rename="camel"):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class _LeaseBody(Struct, frozen=True, kw_only=True):
    spec: _Spec = _Spec()


_BODY: Final = msgspec.json.Decoder(_LeaseBody)


def holding_in(lease: KubeObject) -> Holding:
    """What this Lease says; `ClusterUnreachable` if that is not what Leases say. Pure."""
    try:
        spec = _BODY.decode(lease.raw).spec
    except UNREADABLE as error:
        reason = f"the server sent something that is no Lease: {error}"
        raise ClusterUnreachable(f"read {lease.key}", reason) from error
    return Holding(
        holder=spec.holder_identity or "",
        acquired=spec.acquire_time or "",
        renewed=spec.renew_time or "",
        seconds=spec.lease_duration_seconds or 0,
        transitions=spec.lease_transitions or 0,
        resource_version=lease.metadata.resource_version,
    )


def lease_manifest(
    namespace: str, name: str, before: Holding | None, holder: str, terms: LeaseTerms, now: datetime
) -> dict[str, Any]:
    """The Lease that says this holder has it now; an empty holder releases it. Pure."""
    stamp = now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    before = before or Holding()
    kept = before.holder == holder
    return {
        "apiVersion": LEASES.api_version,
        "kind": LEASES.kind,
        "metadata": {
            "namespace": namespace,
            "name": name,
            **({"resourceVersion": before.resource_version} if before.resource_version else {}),
        },
        "spec": {
            "holderIdentity": holder,
            "leaseDurationSeconds": math.ceil(terms.duration.total_seconds()) if holder else 1,
            "acquireTime": before.acquired if kept and before.acquired else stamp,
            "renewTime": stamp,
            "leaseTransitions": before.transitions + (1 if holder and not kept and before.holder else 0),
        },
    }
