"""Manifests made beforehand: given once, to whoever asks for just that, errors included."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from tests.app.world import Sources
from trimtab.app.ahead import Ahead
from trimtab.engine.units import Destination, Generated, SyncUnit
from trimtab.errors import GitUnreachable

SHOP = SyncUnit(id="shop", source="git", destination=Destination(cluster="here", namespace="shop"))


class Counting(Sources):
    """Sources that count what they are asked for, and answer when they may."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[str, str]] = []
        self.may_answer = asyncio.Event()

    async def generate(self, unit: SyncUnit, revision: str, *, no_cache: bool = False) -> Generated:
        self.asked.append((unit.destination.namespace, revision))
        await self.may_answer.wait()
        return await super().generate(unit, revision, no_cache=no_cache)


@pytest.fixture
def sources() -> Counting:
    found = Counting()
    found.declare("shop", {"kind": "ConfigMap"})
    return found


async def test_who_asks_first_is_given_what_was_made_and_the_next_has_it_made(sources: Counting) -> None:
    ahead = Ahead(sources, SHOP)
    async with asyncio.TaskGroup() as group:
        group.create_task(ahead.begin())
        await asyncio.sleep(0)
        first = group.create_task(ahead.generate(SHOP, ""))
        await asyncio.sleep(0)
        assert sources.asked == [("shop", "")]
        sources.may_answer.set()
    again = await ahead.generate(SHOP, first.result().revision)
    assert again == first.result()
    assert sources.asked == [("shop", ""), ("shop", again.revision)]


async def test_what_is_asked_for_otherwise_is_made_then(sources: Counting) -> None:
    sources.may_answer.set()
    ahead = Ahead(sources, SHOP)
    await ahead.begin()
    moved = replace(SHOP, destination=Destination(cluster="here", namespace="other"))
    await ahead.generate(moved, "")
    await ahead.generate(SHOP, "", no_cache=True)
    await ahead.generate(SHOP, "")
    assert sources.asked == [("shop", ""), ("other", ""), ("shop", "")]


async def test_a_revision_is_made_beforehand_for_whoever_asks_for_it(sources: Counting) -> None:
    sources.may_answer.set()
    revision = sources.declare("shop", {"kind": "Secret"})
    sources.declare("shop", {"kind": "ConfigMap"})
    ahead = Ahead(sources, SHOP, revision)
    await ahead.begin()
    assert (await ahead.generate(SHOP, "")).revision != revision
    assert (await ahead.generate(SHOP, revision)).revision == revision
    assert sources.asked == [("shop", revision), ("shop", "")]


async def test_what_is_forgotten_is_made_anew(sources: Counting) -> None:
    sources.may_answer.set()
    ahead = Ahead(sources, SHOP)
    await ahead.begin()
    ahead.forget()
    newer = sources.declare("shop", {"kind": "Secret"})
    assert (await ahead.generate(SHOP, "")).revision == newer


async def test_trouble_is_told_to_who_asks_and_the_next_try_is_a_new_one(sources: Counting) -> None:
    sources.may_answer.set()
    sources.is_down = True
    ahead = Ahead(sources, SHOP)
    await ahead.begin()
    with pytest.raises(GitUnreachable):
        await ahead.generate(SHOP, "")
    sources.is_down = False
    assert (await ahead.generate(SHOP, "")).manifests


async def test_somebody_who_asks_and_goes_disturbs_nothing(sources: Counting) -> None:
    ahead = Ahead(sources, SHOP)
    async with asyncio.TaskGroup() as group:
        making = group.create_task(ahead.begin())
        await asyncio.sleep(0)
        asking = group.create_task(ahead.generate(SHOP, ""))
        await asyncio.sleep(0)
        asking.cancel()
        sources.may_answer.set()
    assert making.done()
    assert not making.cancelled()
