"""Fixed loops that live and die together, and the group that says plainly why it ended.

A supervisor wants to know what went wrong first, as the error it was, so that `except Unavailable` works.
`asyncio.TaskGroup` wraps even a lone error into a group; `plain_group` takes it out again. Nothing here
restarts anything: that is the supervisor's decision.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import AsyncIterator, Coroutine, Generator
from contextlib import asynccontextmanager
from typing import Any, TypeVar

_T = TypeVar("_T")


async def run_together(*loops: Coroutine[Any, Any, object]) -> None:
    """Run the loops until all have returned, or until one fails: then end them all and raise its error.

    The first error is raised as it is; errors that the others raised while ending are its notes. A loop that
    returns is simply done. Cancelling the caller cancels every loop and waits for each.
    """
    async with plain_group() as group:
        for loop in loops:
            group.create_task(loop)


class GroupEnding(asyncio.CancelledError):
    """The group that was to have a new task is ending, and so is whoever wanted it."""


class _Group(asyncio.TaskGroup):
    """A TaskGroup that is left in peace while it ends.

    Cancelling reaches the tasks of tasks one turn of the loop later; whoever wants a task of a group that is
    ending in that turn is about to be cancelled himself, and is told so, not that he has made a mistake.
    """

    def create_task(
        self, coro: Generator[Any, None, _T] | Coroutine[Any, Any, _T], **options: Any
    ) -> asyncio.Task[_T]:
        """Start a task in this group."""
        try:
            return super().create_task(coro, **options)
        except RuntimeError as error:
            coro.close()
            raise GroupEnding(str(error)) from error


@asynccontextmanager
async def plain_group() -> AsyncIterator[asyncio.TaskGroup]:
    """A TaskGroup whose first error comes out as itself, not wrapped."""
    failure: BaseException | None = None
    try:
        async with _Group() as group:
            yield group
    except BaseExceptionGroup as errors:
        failure = _first_failure(errors)
    if failure is not None:
        try:
            # Raised outside the except block, so that the error keeps its own cause and context.
            raise failure
        finally:
            del failure  # the traceback holds this frame: without this, a cycle


def _first_failure(errors: BaseExceptionGroup) -> BaseException:
    """The error that came first, with the later ones told as notes."""
    first, *others = errors.exceptions
    while isinstance(first, BaseExceptionGroup) and len(first.exceptions) == 1:
        first = first.exceptions[0]
    for other in others:
        first.add_note("Another failed at the same time:\n" + "".join(traceback.format_exception(other)))
    return first
