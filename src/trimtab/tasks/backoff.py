"""When is a failed attempt worth making again? Pure: takes the error and the count, returns a decision.

The error's class decides (`TrimtabError.retry`); this module only does the arithmetic. It draws no random
numbers: the caller draws one in [0, 1) and hands it in. Whatever is configured is a timedelta; whatever is
computed is seconds.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TypeAlias, assert_never

from msgspec import Struct

from trimtab.errors import Retry, Throttled, TrimtabError
from trimtab.resources.counting import counted

#: a server that asks for a longer pause than this is asked again after this
LONGEST_ASKED_PAUSE = 3600.0
#: doubling stops to matter long before; keeps the power finite
_MOST_DOUBLINGS = 64


class Backoff(Struct, frozen=True, kw_only=True):
    """How the waits grow: each failure in a row doubles the ceiling, up to a cap."""

    #: the ceiling after the first failure
    first: timedelta = timedelta(seconds=1)
    #: the ceiling never grows beyond this
    cap: timedelta = timedelta(minutes=5)

    def __post_init__(self) -> None:
        if not timedelta(0) < self.first <= self.cap:
            raise ValueError(f"backoff must have 0 < first <= cap, not {self.first} and {self.cap}")


class RetryPolicy(Struct, frozen=True, kw_only=True):
    """How long and how often one attempt is repeated."""

    #: give up this long after the first attempt began, whatever is under way
    deadline: timedelta = timedelta(minutes=5)
    backoff: Backoff = Backoff()
    #: look again this often for what is missing; None gives up at once: the caller comes back by himself
    rhythm: timedelta | None = None
    #: give up after this many attempts; None counts only time
    attempts: int | None = None


class GiveUp(Struct, frozen=True, kw_only=True):
    """No further attempt, and why."""

    why: str


class Wait(Struct, frozen=True, kw_only=True):
    """Another attempt after so many seconds."""

    seconds: float


Decision: TypeAlias = GiveUp | Wait


def next_move(
    error: TrimtabError, *, failures: int, elapsed: float, policy: RetryPolicy, chance: float
) -> Decision:
    """What to do after this many failures in a row, so many seconds after the first attempt began."""
    seconds = _wait(error, failures=failures, policy=policy, chance=chance)
    if seconds is None:
        return GiveUp(why="trying again would not help")
    if policy.attempts is not None and failures >= policy.attempts:
        return GiveUp(why=f"{counted(failures, 'attempt')} failed")
    if elapsed + seconds >= policy.deadline.total_seconds():
        deadline = counted(policy.deadline.total_seconds(), "second")
        return GiveUp(why=f"the next attempt would come after {deadline}")
    return Wait(seconds=seconds)


def _wait(error: TrimtabError, *, failures: int, policy: RetryPolicy, chance: float) -> float | None:
    match error.retry:
        case Retry.NEVER:
            return None
        case Retry.USUAL_RHYTHM:
            return None if policy.rhythm is None else policy.rhythm.total_seconds()
        case Retry.BACKOFF:
            return pause(error, failures=failures, backoff=policy.backoff, chance=chance)
        case _:
            assert_never(error.retry)


def pause(error: TrimtabError, *, failures: int, backoff: Backoff, chance: float) -> float:
    """What the other side asked for, plus a random share of the ceiling (full jitter).

    The sum is never earlier than asked, grows while the asking goes on, and spreads those who were all told
    the same.
    """
    return asked_pause(error) + chance * ceiling(backoff, failures)


def ceiling(backoff: Backoff, failures: int) -> float:
    """The longest wait after this many failures in a row, in seconds."""
    doublings = min(max(failures, 1) - 1, _MOST_DOUBLINGS)
    return min(backoff.first.total_seconds() * 2.0**doublings, backoff.cap.total_seconds())


def asked_pause(error: TrimtabError) -> float:
    """The seconds the other side asked to be left alone; 0 when it did not ask, or not sensibly."""
    asked = error.after if isinstance(error, Throttled) else None
    # Written so that NaN, which compares false with everything, counts as not sensible.
    return min(asked, LONGEST_ASKED_PAUSE) if asked is not None and asked > 0 else 0.0
