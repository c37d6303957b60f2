"""What a run of keyed work leads to: done, looked at again, backed off or quarantined. Pure."""

from __future__ import annotations

import enum
from datetime import timedelta
from typing import TypeAlias, assert_never

from msgspec import Struct

from trimtab.errors import Retry, TrimtabError
from trimtab.tasks.backoff import Backoff, ceiling, pause


class Rate(Struct, frozen=True, kw_only=True):
    """A token bucket: `burst` runs at once, then so many per second."""

    per_second: float = 10.0
    burst: int = 20

    def __post_init__(self) -> None:
        if self.per_second <= 0 or self.burst < 1:
            raise ValueError(f"a rate must let something through, not {self.per_second}/s after {self.burst}")


class WorkPolicy(Struct, frozen=True, kw_only=True):
    """How much runs at once, how fast, and what happens after a failure."""

    #: runs under way at once, over all tenants
    concurrency: int = 16
    #: runs of one tenant under way at once, so that slow runs of one never take all the places
    per_tenant: int = 4
    #: how fast each tenant may start runs; retries count too
    rate: Rate = Rate()
    #: waits while something outside is unavailable
    backoff: Backoff = Backoff()
    #: waits after a bug: the key sits out alone
    quarantine: Backoff = Backoff(first=timedelta(seconds=30), cap=timedelta(hours=1))
    #: how often to look again for what is missing
    rhythm: timedelta = timedelta(minutes=3)

    def __post_init__(self) -> None:
        if self.concurrency < 1 or self.per_tenant < 1:
            raise ValueError("concurrency and per_tenant must be at least 1")


class Hold(enum.Enum):
    """Why a key sits out even when it is offered afresh."""

    BACKING_OFF = "backing off"
    QUARANTINED = "quarantined"


class Settled(Struct, frozen=True, kw_only=True):
    """Nothing more to do until the next offer."""


class LookAgain(Struct, frozen=True, kw_only=True):
    """To be run again after so many seconds, or sooner when offered."""

    seconds: float
    error: str


class Held(Struct, frozen=True, kw_only=True):
    """To be run again after so many seconds, and not sooner whoever offers it."""

    why: Hold
    seconds: float
    error: str


Outcome: TypeAlias = Settled | LookAgain | Held


def outcome_of(error: BaseException | None, *, failures: int, policy: WorkPolicy, chance: float) -> Outcome:
    """What follows from how a run ended, when so many runs before it failed in a row."""
    if error is None:
        return Settled()
    if not isinstance(error, TrimtabError):
        # No jitter: the tenant's rate spreads these, and a quarantine that may be nothing is none.
        seconds = ceiling(policy.quarantine, failures + 1)
        return Held(why=Hold.QUARANTINED, seconds=seconds, error=told(error))
    match error.retry:
        case Retry.NEVER:
            return Settled()
        case Retry.USUAL_RHYTHM:
            return LookAgain(seconds=policy.rhythm.total_seconds(), error=told(error))
        case Retry.BACKOFF:
            seconds = pause(error, failures=failures + 1, backoff=policy.backoff, chance=chance)
            return Held(why=Hold.BACKING_OFF, seconds=seconds, error=told(error))
        case _:
            assert_never(error.retry)


def told(error: BaseException) -> str:
    """The error in words fit for a status; a bug's message may hold anything, so only its type is told."""
    return str(error) if isinstance(error, TrimtabError) else f"a bug: {type(error).__name__}"
