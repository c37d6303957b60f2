"""When a failed attempt is worth making again."""

from __future__ import annotations

import math
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.errors import Conflict, GitUnreachable, Missing, Throttled, TrimtabError
from trimtab.tasks.backoff import (
    LONGEST_ASKED_PAUSE,
    Backoff,
    Decision,
    GiveUp,
    RetryPolicy,
    Wait,
    asked_pause,
    ceiling,
    next_move,
    pause,
)

BACKOFF = Backoff(first=timedelta(seconds=2), cap=timedelta(seconds=60))
POLICY = RetryPolicy(deadline=timedelta(seconds=100), backoff=BACKOFF)

UNREACHABLE = GitUnreachable("repo a", "no answer")
MISSING = Missing("branch main", "not there")
CONFLICT = Conflict("object a", "somebody was faster")


def throttled(after: float | None) -> Throttled:
    return Throttled("cluster a", "too many requests", after=after)


@pytest.mark.parametrize(
    ("error", "failures", "elapsed", "policy", "decision"),
    [
        (CONFLICT, 1, 0, POLICY, GiveUp(why="trying again would not help")),
        (MISSING, 1, 0, POLICY, GiveUp(why="trying again would not help")),
        (MISSING, 7, 0, RetryPolicy(rhythm=timedelta(seconds=30)), Wait(seconds=30)),
        (UNREACHABLE, 1, 0, POLICY, Wait(seconds=1)),
        (UNREACHABLE, 2, 0, POLICY, Wait(seconds=2)),
        (UNREACHABLE, 6, 0, POLICY, Wait(seconds=30)),
        (throttled(7), 1, 0, POLICY, Wait(seconds=8)),
        (throttled(None), 1, 0, POLICY, Wait(seconds=1)),
        (UNREACHABLE, 1, 98.9, POLICY, Wait(seconds=1)),
        (UNREACHABLE, 1, 99, POLICY, GiveUp(why="the next attempt would come after 100 seconds")),
        (throttled(100), 1, 0, POLICY, GiveUp(why="the next attempt would come after 100 seconds")),
        (UNREACHABLE, 2, 0, RetryPolicy(attempts=3, backoff=BACKOFF), Wait(seconds=2)),
        (UNREACHABLE, 3, 0, RetryPolicy(attempts=3), GiveUp(why="3 attempts failed")),
    ],
)
def test_the_class_of_the_error_decides(
    error: TrimtabError, failures: int, elapsed: float, policy: RetryPolicy, decision: Decision
) -> None:
    assert next_move(error, failures=failures, elapsed=elapsed, policy=policy, chance=0.5) == decision


@given(failures=st.integers(0, 10_000), chance=st.floats(0, 1, exclude_max=True))
def test_a_wait_lies_anywhere_between_nothing_and_the_ceiling(failures: int, chance: float) -> None:
    seconds = pause(UNREACHABLE, failures=failures, backoff=BACKOFF, chance=chance)
    assert 0 <= seconds <= ceiling(BACKOFF, failures) <= 60


@given(failures=st.integers(1, 1000))
def test_the_ceiling_doubles_until_the_cap(failures: int) -> None:
    assert ceiling(BACKOFF, failures + 1) == min(2 * ceiling(BACKOFF, failures), 60)


@given(after=st.floats(0, LONGEST_ASKED_PAUSE), failures=st.integers(1, 99), chance=st.floats(0, 0.999))
def test_a_wait_is_never_shorter_than_asked_for(after: float, failures: int, chance: float) -> None:
    assert pause(throttled(after), failures=failures, backoff=BACKOFF, chance=chance) >= after


@pytest.mark.parametrize(
    ("after", "seconds"),
    [(None, 0), (-5, 0), (0, 0), (math.nan, 0), (5, 5), (1e9, 3600), (math.inf, 3600)],
)
def test_a_senseless_wish_is_not_followed(after: float | None, seconds: float) -> None:
    assert asked_pause(throttled(after)) == seconds


@pytest.mark.parametrize(("first", "cap"), [(0, 1), (-1, 1), (2, 1)])
def test_a_backoff_that_cannot_be_meant_is_refused(first: int, cap: int) -> None:
    with pytest.raises(ValueError, match="0 < first <= cap"):
        Backoff(first=timedelta(seconds=first), cap=timedelta(seconds=cap))
