"""When a watch is told how far it has come."""

from __future__ import annotations

import asyncio

import pytest

from tests.apiserver.conversation import Speaker
from trimtab.apiserver.watching import next_bookmark


@pytest.mark.parametrize(
    ("now", "end", "due"),
    [
        (0.0, 1800.0, 60.0),
        (60.0, 1800.0, 120.0),
        (1750.0, 1800.0, 1798.0),
        (1798.0, 1800.0, 1800.0),
        (0.0, 1.0, 1.0),
    ],
)
def test_a_bookmark_comes_each_minute_and_shortly_before_the_end(now: float, end: float, due: float) -> None:
    assert next_bookmark(now, end) == due


async def told(speaker: Speaker, seconds: int) -> list[str]:
    path = "/api/v1/namespaces/nowhere/configmaps?watch=1&allowWatchBookmarks=true"
    return [event["type"] async for event in speaker.watch(f"{path}&timeoutSeconds={seconds}")]


@pytest.mark.judge
async def test_an_idle_watch_is_told_as_often_as_by_the_real_server(real: Speaker, speaker: Speaker) -> None:
    """One tells that all that exists was told, then one comes each minute, and one shortly before the end.

    The real one draws lots: it looks once a second, so that the last two seconds may hold one or two,
    the first may come twice, and the one after a minute is left out for most.
    """
    async with asyncio.TaskGroup() as both:
        theirs, ours = (both.create_task(told(each, 130)) for each in (real, speaker))
    assert ours.result() == ["BOOKMARK"] * 4
    assert theirs.result() in [["BOOKMARK"] * count for count in (3, 4, 5, 6)]
