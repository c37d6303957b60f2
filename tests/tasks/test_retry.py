"""One attempt, made again while its errors say that it is worth it."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from trimtab.errors import GitUnreachable, InvalidSpec, Missing, Throttled, TrimtabError
from trimtab.tasks import Backoff, DeadlinePassed, ManualClock, RetryPolicy, Wait, retrying

POLICY = RetryPolicy(deadline=timedelta(seconds=60), backoff=Backoff(first=timedelta(seconds=2)))
UNREACHABLE = GitUnreachable("repo a", "no answer")


class Attempts:
    """Fails with each of the errors in turn, then succeeds."""

    def __init__(self, clock: ManualClock, *errors: Exception) -> None:
        self.clock = clock
        self.at: list[float] = []
        self._errors = list(errors)

    async def __call__(self) -> str:
        self.at.append(self.clock.monotonic())
        if self._errors:
            raise self._errors.pop(0)
        return "fetched"


async def outcome(
    attempts: Attempts, policy: RetryPolicy = POLICY, *, seconds: float = 100, waits: list[Wait] | None = None
) -> str | Exception:
    """What comes of retrying while the clock moves on."""
    seen = [] if waits is None else waits

    async def settle() -> str | Exception:
        try:
            return await retrying(
                attempts,
                subject="the fetch",
                policy=policy,
                clock=attempts.clock,
                on_wait=lambda _, wait: seen.append(wait),
                chance=lambda: 0.5,
            )
        except Exception as error:  # noqa: BLE001 - the error is what the test compares
            return error

    async with asyncio.TaskGroup() as group:
        task = group.create_task(settle())
        await attempts.clock.advance(seconds)
    return task.result()


async def test_success_needs_one_attempt_and_leaves_nothing_on_the_clock() -> None:
    attempts = Attempts(ManualClock())
    assert await outcome(attempts, seconds=0) == "fetched"
    assert attempts.at == [0]
    assert attempts.clock.sleepers() == 0


async def test_waits_grow_while_the_other_side_is_away_and_are_told() -> None:
    attempts = Attempts(ManualClock(), UNREACHABLE, UNREACHABLE, UNREACHABLE)
    waits: list[Wait] = []
    assert await outcome(attempts, waits=waits) == "fetched"
    assert attempts.at == [0, 1, 3, 7]
    assert waits == [Wait(seconds=1), Wait(seconds=2), Wait(seconds=4)]


async def test_an_asked_pause_is_kept() -> None:
    attempts = Attempts(ManualClock(), Throttled("host", "slow down", after=20))
    assert await outcome(attempts) == "fetched"
    assert attempts.at == [0, 21]


@pytest.mark.parametrize("error", [InvalidSpec("app a", "no source"), Missing("branch main", "not there")])
async def test_what_trying_again_cannot_mend_is_raised_at_once(error: TrimtabError) -> None:
    attempts = Attempts(ManualClock(), error)
    assert await outcome(attempts) is error
    assert attempts.at == [0]


async def test_a_bug_is_never_retried() -> None:
    bug = KeyError("bug")
    attempts = Attempts(ManualClock(), bug)
    assert await outcome(attempts) is bug
    assert attempts.at == [0]


async def test_giving_up_raises_the_last_error_with_a_note_why() -> None:
    last = GitUnreachable("repo a", "still no answer")
    attempts = Attempts(ManualClock(), UNREACHABLE, last)
    policy = RetryPolicy(attempts=2)
    assert await outcome(attempts, policy) is last
    assert last.__notes__ == ["Gave up on the fetch after attempt 2: 2 attempts failed."]


async def test_no_attempt_begins_after_the_deadline() -> None:
    attempts = Attempts(ManualClock(), *[GitUnreachable("repo a", f"try {number}") for number in range(99)])
    assert isinstance(await outcome(attempts), GitUnreachable)
    assert attempts.at == [0, 1, 3, 7, 15, 31]


async def test_an_attempt_under_way_at_the_deadline_is_cut_off_and_the_last_error_told_as_cause() -> None:
    clock = ManualClock()
    ended: list[float] = []

    class Hanging(Attempts):
        async def __call__(self) -> str:
            if self.at:
                try:
                    await clock.sleep(1000)
                finally:
                    ended.append(clock.monotonic())
            return await super().__call__()

    error = await outcome(Hanging(clock, UNREACHABLE))
    assert isinstance(error, DeadlinePassed)
    assert error.__cause__ is UNREACHABLE
    assert ended == [60]


async def test_a_deadline_that_the_attempt_itself_met_is_retried_like_any_unavailability() -> None:
    own = DeadlinePassed("one request", "too slow")
    attempts = Attempts(ManualClock(), own)
    assert await outcome(attempts) == "fetched"
    again = Attempts(ManualClock(), own)
    assert await outcome(again, RetryPolicy(attempts=1)) is own
