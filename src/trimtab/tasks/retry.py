"""One attempt, made again while its errors say that it is worth it.

Which errors are worth it is decided in `backoff`; here it is only done.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from trimtab.errors import TrimtabError
from trimtab.tasks.backoff import GiveUp, RetryPolicy, Wait, next_move
from trimtab.tasks.chance import Chance, draw
from trimtab.tasks.clock import Clock
from trimtab.tasks.deadlines import DeadlinePassed, time_limit

T = TypeVar("T")


def _tell_nobody(error: TrimtabError, wait: Wait) -> None:
    """For callers to whom a short wait is not worth a word."""


async def retrying(
    attempt: Callable[[], Awaitable[T]],
    *,
    subject: str,
    policy: RetryPolicy,
    clock: Clock,
    on_wait: Callable[[TrimtabError, Wait], None] = _tell_nobody,
    chance: Chance = draw,
) -> T:
    """The attempt's result, or its last error once the policy gives up.

    An attempt that is still under way at the deadline is cancelled and `DeadlinePassed` raised, caused by the
    last error. An exception that is not a `TrimtabError` is a bug and is never retried.
    """
    last: TrimtabError | None = None
    started, failures = clock.monotonic(), 0
    try:
        async with time_limit(policy.deadline, clock=clock, subject=subject):
            while True:
                try:
                    return await attempt()
                except TrimtabError as error:
                    last, failures = error, failures + 1
                elapsed = clock.monotonic() - started
                move = next_move(last, failures=failures, elapsed=elapsed, policy=policy, chance=chance())
                if isinstance(move, GiveUp):
                    last.add_note(f"Gave up on {subject} after attempt {failures}: {move.why}.")
                    raise last
                on_wait(last, move)
                await clock.sleep(move.seconds)
    except DeadlinePassed as passed:
        if passed is last:
            raise
        raise passed from last
