"""Loops that live and die together, and errors that come out as themselves."""

from __future__ import annotations

import asyncio

import pytest

from trimtab.errors import StoreUnavailable
from trimtab.tasks import plain_group, run_together


async def forever(ended: list[str], name: str = "forever") -> None:
    try:
        await asyncio.Event().wait()
    finally:
        ended.append(name)


async def fail(error: BaseException) -> None:
    await asyncio.sleep(0)
    raise error


async def fail_when_cancelled(error: Exception) -> None:
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        raise error from None


async def test_the_first_error_ends_all_loops_and_comes_out_as_itself() -> None:
    ended: list[str] = []
    error = StoreUnavailable("store", "it does not answer")
    with pytest.raises(StoreUnavailable) as caught:
        await run_together(forever(ended, "a"), fail(error), forever(ended, "b"))
    assert caught.value is error
    assert sorted(ended) == ["a", "b"]


async def test_the_error_keeps_the_cause_it_was_raised_with() -> None:
    cause = OSError("connection refused")

    async def wrap() -> None:
        raise StoreUnavailable("store", "it does not answer") from cause

    with pytest.raises(StoreUnavailable) as caught:
        await run_together(wrap())
    assert caught.value.__cause__ is cause


async def test_errors_raised_while_ending_are_notes_of_the_first() -> None:
    first, second = KeyError("first"), ValueError("second")
    with pytest.raises(KeyError) as caught:
        await run_together(fail_when_cancelled(second), fail(first))
    assert caught.value is first
    assert "ValueError: second" in caught.value.__notes__[0]


async def test_a_lone_error_of_a_nested_group_comes_out_as_itself_too() -> None:
    async def nested() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(fail(KeyError("deep")))

    with pytest.raises(KeyError, match="deep"):
        await run_together(nested())


async def test_a_loop_that_returns_leaves_the_others_running() -> None:
    done: list[str] = []

    async def short() -> None:
        done.append("short")

    async def long() -> None:
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        done.append("long")

    await run_together(short(), long())
    assert done == ["short", "long"]


async def test_cancelling_the_caller_ends_every_loop_and_is_no_error() -> None:
    ended: list[str] = []
    async with asyncio.TaskGroup() as group:
        together = group.create_task(run_together(forever(ended, "a"), forever(ended, "b")))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        together.cancel()
    assert together.cancelled()
    assert sorted(ended) == ["a", "b"]


async def test_whoever_wants_a_task_of_a_group_that_ends_is_cancelled_and_not_blamed() -> None:
    async def late(group: asyncio.TaskGroup) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            group.create_task(asyncio.sleep(0))

    async def ending() -> None:
        async with plain_group() as group:
            group.create_task(late(group))
            group.create_task(fail(error))

    error = StoreUnavailable("store", "no answer")
    with pytest.raises(StoreUnavailable) as caught:
        await ending()
    assert caught.value is error
    assert not getattr(error, "__notes__", [])
