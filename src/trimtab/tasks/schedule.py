"""Whose turn is it? The state of keyed work, apart from running it.

Pure: it holds who waits for what, is told the time, and answers which key runs next. It starts nothing.

- A key is queued, running, or waiting for a time; an idle key is not here at all.
- A tenant stands in the ring while it has a queued key, a token and a free place; each turn of the ring takes
  one key of one tenant. A tenant without a token or place is not in the ring, so it costs nothing there.
- Tokens are kept as one number, the time at which the bucket will be full again. A tenant whose bucket is
  full and who has no keys is not here at all.

Every offer and every turn costs O(log n) at most; nothing walks over all tenants or all keys.
"""

from __future__ import annotations

import enum
import itertools
from collections import deque
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar, assert_never

from msgspec import Struct

from trimtab.tasks.outcomes import Held, Hold, LookAgain, Outcome, Settled, WorkPolicy
from trimtab.tasks.timers import Timers

K = TypeVar("K", bound=Hashable)


class WorkState(enum.Enum):
    """What a key is doing, or what it waits for."""

    RUNNING = "running"
    QUEUED = "queued"  # for its tenant's turn
    CROWDED = "crowded"  # until a run of the same tenant ends: its places are taken
    LIMITED = "limited"  # for its tenant's next token
    DELAYED = "delayed"  # for the time it was offered for
    BACKING_OFF = "backing off"  # because something outside is unavailable
    QUARANTINED = "quarantined"  # because its last run met a bug


class Row(Struct, Generic[K], frozen=True, kw_only=True):
    """One key as it stands; times are monotonic seconds."""

    tenant: str
    key: K
    state: WorkState
    since: float
    until: float | None
    failures: int
    failing_since: float | None
    last_error: str
    offered_again: bool


class _Place(enum.Enum):
    """Where a key's item is."""

    NOWHERE = enum.auto()
    QUEUE = enum.auto()
    RUN = enum.auto()
    TIMERS = enum.auto()


class _Tenant(Generic[K]):
    """A tenant with something to do, or with a bucket that is not full."""

    __slots__ = ("full_at", "in_ring", "items", "name", "queue", "running")

    def __init__(self, name: str) -> None:
        self.name = name
        self.items: dict[K, _Item[K]] = {}
        self.queue: deque[_Item[K]] = deque()
        self.running = 0
        self.in_ring = False
        self.full_at = float("-inf")


class _Item(Generic[K]):
    """A key that is not idle."""

    __slots__ = (
        "again", "due", "error", "failing_since", "failures", "held_until", "hold", "key", "place", "since",
        "tenant", "waited",
    )  # fmt: skip

    def __init__(self, tenant: _Tenant[K], key: K) -> None:
        self.tenant = tenant
        self.key = key
        self.place = _Place.NOWHERE
        self.since = 0.0
        self.waited = 0.0  # in the queue, before the run under way
        self.due = 0.0
        self.again: float | None = None  # offered while running: when it is due after the run
        self.hold: Hold | None = None
        self.held_until = float("-inf")
        self.failures = 0
        self.failing_since: float | None = None
        self.error = ""


class Schedule(Generic[K]):
    """Who waits for what, and whose turn it is."""

    def __init__(self, policy: WorkPolicy) -> None:
        self._policy = policy
        self._token_every = 1.0 / policy.rate.per_second
        self._burst_span = (policy.rate.burst - 1) * self._token_every
        self._tenants: dict[str, _Tenant[K]] = {}
        self._ring: deque[_Tenant[K]] = deque()
        self._timers: Timers[_Item[K] | _Tenant[K]] = Timers()
        self._keys = 0
        self.running = 0
        self.queued = 0

    def __len__(self) -> int:
        """Keys that are not idle."""
        return self._keys

    def tenants(self) -> int:
        """Tenants that are remembered."""
        return len(self._tenants)

    # Offers and turns

    def offer(self, name: str, key: K, *, due: float, now: float) -> None:
        """Ask for a run at the given time; offers of a waiting key merge, and the earliest time wins."""
        tenant = self._tenants.get(name)
        if tenant is None:
            tenant = self._tenants[name] = _Tenant(name)
        item = tenant.items.get(key)
        if item is None:
            item = tenant.items[key] = _Item(tenant, key)
            self._keys += 1
        match item.place:
            case _Place.RUN:
                item.again = due if item.again is None else min(item.again, due)
            case _Place.TIMERS:
                # A hold is never cut short: its end is the item's due time, and nothing is earlier.
                if max(due, item.held_until) < item.due:
                    self._put(item, due, now)
            case _Place.NOWHERE:
                self._put(item, due, now)
            case _Place.QUEUE:
                pass
            case _:
                assert_never(item.place)

    def wake(self, now: float, *, at_most: int) -> bool:
        """Move what has become due; False when more may be due than was moved."""
        for _ in range(at_most):
            thing = self._timers.take_due(now)
            if thing is None:
                return True
            if isinstance(thing, _Tenant):
                self._settle(thing, now)
            else:
                self._put(thing, thing.due, now)
        return False

    def next_due(self) -> float | None:
        """When `wake` will next have something to do."""
        return self._timers.next_due()

    def pick(self, now: float) -> tuple[str, K] | None:
        """Start the next key in turn, if any may start; its tenant pays a token and goes to the end."""
        if not self._ring or self.running >= self._policy.concurrency:
            return None
        tenant = self._ring.popleft()
        tenant.in_ring = False
        tenant.full_at = max(tenant.full_at, now) + self._token_every
        item = tenant.queue.popleft()
        self.queued -= 1
        item.waited = now - item.since
        self._move(item, _Place.RUN, now)
        self.running += 1
        tenant.running += 1
        self._settle(tenant, now)
        return tenant.name, item.key

    def failures(self, name: str, key: K) -> int:
        """How often this key has failed in a row before now."""
        return self._tenants[name].items[key].failures

    def times(self, name: str, key: K, now: float) -> tuple[float, float]:
        """Of a key that runs: for how long it was queued before, and for how long it has been running."""
        item = self._tenants[name].items[key]
        return item.waited, now - item.since

    def finish(self, name: str, key: K, outcome: Outcome, *, now: float) -> None:
        """A run ended: forget the key, or place it where its outcome and later offers say."""
        item = self._end_run(name, key)
        due = self._due_after(item, outcome, now)
        item.again = None
        if due is None:
            del item.tenant.items[key]
            self._keys -= 1
        else:
            self._put(item, due, now)
        self._settle(item.tenant, now)

    def interrupt(self, name: str, key: K, *, now: float) -> None:
        """A run was cut off before its end: the key is queued again, as if it had not begun."""
        item = self._end_run(name, key)
        item.again = None
        self._put(item, now, now)
        self._settle(item.tenant, now)

    # What is there to see

    def rows(self, name: str | None, now: float) -> Iterator[Row[K]]:
        """Every key that is not idle, of one tenant or of all."""
        if name is None:
            tenants: Iterator[_Tenant[K]] = iter(self._tenants.values())
        else:
            tenants = iter([self._tenants[name]] if name in self._tenants else [])
        return itertools.chain.from_iterable(self._rows_of(tenant, now) for tenant in tenants)

    def count(self, name: str | None) -> int:
        """How many rows there are."""
        if name is None:
            return self._keys
        return len(self._tenants[name].items) if name in self._tenants else 0

    def _rows_of(self, tenant: _Tenant[K], now: float) -> Iterator[Row[K]]:
        for item in tenant.items.values():
            state, until = self._standing(item, now)
            yield Row(
                tenant=tenant.name,
                key=item.key,
                state=state,
                since=item.since,
                until=until,
                failures=item.failures,
                failing_since=item.failing_since,
                last_error=item.error,
                offered_again=item.again is not None,
            )

    def _standing(self, item: _Item[K], now: float) -> tuple[WorkState, float | None]:
        if item.place is _Place.RUN:
            return WorkState.RUNNING, None
        if item.place is _Place.TIMERS:
            held = item.hold if item.held_until >= item.due else None
            return WorkState(held.value) if held else WorkState.DELAYED, item.due
        if item.tenant.running >= self._policy.per_tenant:
            return WorkState.CROWDED, None
        token_at = self._next_token(item.tenant)
        return (WorkState.QUEUED, None) if token_at <= now else (WorkState.LIMITED, token_at)

    # Moving things

    def _end_run(self, name: str, key: K) -> _Item[K]:
        item = self._tenants[name].items[key]
        self.running -= 1
        item.tenant.running -= 1
        return item

    def _due_after(self, item: _Item[K], outcome: Outcome, now: float) -> float | None:
        """Record the outcome on the item; when it is due next, if at all."""
        match outcome:
            case Settled():
                self._clear(item)
                return item.again
            case LookAgain(seconds=seconds, error=error):
                self._clear(item)
                item.error = error
                return now + seconds if item.again is None else min(item.again, now + seconds)
            case Held(why=why, seconds=seconds, error=error):
                item.hold, item.held_until, item.error = why, now + seconds, error
                item.failures += 1
                if item.failing_since is None:
                    item.failing_since = now
                return item.held_until
            case _:
                assert_never(outcome)

    def _clear(self, item: _Item[K]) -> None:
        item.hold, item.held_until, item.error = None, float("-inf"), ""
        item.failures, item.failing_since = 0, None

    def _put(self, item: _Item[K], due: float, now: float) -> None:
        """Queue the item if it is due, else have it wait."""
        item.due = due
        if due > now:
            self._move(item, _Place.TIMERS, now)
            self._timers.set(item, due)
            return
        self._timers.forget(item)
        self._move(item, _Place.QUEUE, now)
        item.tenant.queue.append(item)
        self.queued += 1
        self._settle(item.tenant, now)

    def _move(self, item: _Item[K], place: _Place, now: float) -> None:
        if item.place is not place:
            item.place, item.since = place, now

    def _settle(self, tenant: _Tenant[K], now: float) -> None:
        """Put the tenant where it belongs: into the ring, to wait for a token, or out of memory."""
        if tenant.in_ring:
            return
        self._timers.forget(tenant)
        if tenant.queue:
            self._settle_busy(tenant, now)
        elif tenant.items:
            return
        elif tenant.full_at > now:
            self._timers.set(tenant, tenant.full_at)
        else:
            self._tenants.pop(tenant.name, None)

    def _settle_busy(self, tenant: _Tenant[K], now: float) -> None:
        if tenant.running >= self._policy.per_tenant:
            return
        token_at = self._next_token(tenant)
        if token_at <= now:
            tenant.in_ring = True
            self._ring.append(tenant)
        else:
            self._timers.set(tenant, token_at)

    def _next_token(self, tenant: _Tenant[K]) -> float:
        """When the bucket holds a token: it is full at `full_at` and was one token short of that before."""
        return tenant.full_at - self._burst_span
