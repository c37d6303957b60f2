"""Units in files: people edit them, crashes leave the old or the new, a broken one stays alone."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.engine.stores.test_stores import API, STATUS, WEB, following
from trimtab.engine.stores import FileStore
from trimtab.engine.units import Destination, Gone, Stored, SyncUnit, Unreadable
from trimtab.errors import InvalidSpec
from trimtab.tasks import ManualClock

BY_HAND = """\
# the shop's front
source: {path: web}
destination:
  cluster: prod
policy:
  automated: {selfHeal: true}
"""


async def test_a_file_written_by_hand_is_a_unit_named_for_it(tmp_path: Path) -> None:
    (tmp_path / "shop%2Fweb.yaml").write_text(BY_HAND)
    (unit,) = await FileStore(tmp_path).list()
    assert (unit.id, unit.destination) == ("shop/web", Destination(cluster="prod"))
    assert unit.policy.automated is not None
    assert unit.policy.automated.self_heal


async def test_what_the_engine_notes_leaves_the_persons_file_alone(tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text(BY_HAND)
    await FileStore(tmp_path).set_status("web", STATUS)
    assert (tmp_path / "web.yaml").read_text() == BY_HAND
    assert (await FileStore(tmp_path).get("web")).status == STATUS


async def test_edits_by_hand_are_told(tmp_path: Path) -> None:
    clock = ManualClock()
    store = FileStore(tmp_path, clock=clock)
    created = await store.create(API)
    async with following(store) as heard:
        (tmp_path / "web.yaml").write_text(BY_HAND)
        (tmp_path / "api.yaml").write_text(BY_HAND)
        await clock.advance(2)
        await heard.until(lambda news: len(news) == 4)
        (tmp_path / "api.yaml").unlink()
        await clock.advance(2)
        await heard.until(lambda news: Gone("api") in news)
        changed = SyncUnit(id="api", source={"path": "web"}, destination=created.destination)
        told = [each.unit for each in heard.news if isinstance(each, Stored)]
        assert [(unit.id, unit.source) for unit in told] == [
            ("api", "plain text"),
            ("api", changed.source),
            ("web", {"path": "web"}),
        ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("source: [", "web.yaml, line 2"),
        ("source: a\n", "missing required field `destination`"),
        ("source: a\ndestination: {cluster: c}\nsuorce: b\n", "unknown field `suorce`"),
        ("source: a\ndestination: {cluster: c}\npolicy: 3\n", r"\$\.policy"),
        ("id: other\nsource: a\ndestination: {cluster: c}\n", "named for unit web and says other"),
        ("", "does not describe a unit"),
    ],
)
async def test_a_broken_file_is_told_and_stays_alone(tmp_path: Path, text: str, words: str) -> None:
    clock = ManualClock()
    store = FileStore(tmp_path, clock=clock)
    await store.create(API)
    await store.create(replace(WEB, id="web"))
    async with following(store) as heard:
        (tmp_path / "web.yaml").write_text(text)
        await clock.advance(2)
        await heard.until(lambda news: isinstance(news[-1], Unreadable))
        assert not any(isinstance(news, Gone) for news in heard.news)
    with pytest.raises(InvalidSpec, match=words):
        await store.get("web")
    assert await store.list() == (API,)


async def test_notes_that_are_damaged_are_not_taken_for_a_new_unit(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    await store.create(replace(API, status=STATUS))
    (tmp_path / "state" / "api.json").write_bytes(b'{"status": {"verd')
    with pytest.raises(InvalidSpec, match="not what the engine wrote"):
        await FileStore(tmp_path).get("api")


async def test_what_a_crash_left_half_written_is_no_unit(tmp_path: Path) -> None:
    (tmp_path / ".tmp1234.yaml").write_text("source: ")
    store = FileStore(tmp_path)
    await store.create(API)
    (tmp_path / "state" / ".tmp5678").write_bytes(b'{"sta')
    assert await FileStore(tmp_path).list() == (API,)


def link_in_a_circle(folder: Path) -> None:
    (folder / "odd.yaml").symlink_to("odd.yaml")


def pipe(folder: Path) -> None:
    os.mkfifo(folder / "odd.yaml")


def subfolder(folder: Path) -> None:
    (folder / "odd.yaml").mkdir()


def file_without_end(folder: Path) -> None:
    (folder / "odd.yaml").touch()
    os.truncate(folder / "odd.yaml", 1 << 40)


def notes_without_end(folder: Path) -> None:
    (folder / "odd.yaml").write_text(BY_HAND)
    (folder / "state").mkdir(exist_ok=True)
    (folder / "state" / "odd.json").touch()
    os.truncate(folder / "state" / "odd.json", 1 << 40)


def name_of_no_letters(folder: Path) -> None:
    (folder / os.fsdecode(b"\xff.yaml")).write_text(BY_HAND)


def notes_nested_beyond_reason(folder: Path) -> None:
    (folder / "odd.yaml").write_text(BY_HAND)
    (folder / "state").mkdir(exist_ok=True)
    (folder / "state" / "odd.json").write_text('{"x":' + "[" * 100_000 + "]" * 100_000 + "}")


@pytest.mark.parametrize(
    "put",
    [
        link_in_a_circle,
        pipe,
        subfolder,
        file_without_end,
        notes_without_end,
        name_of_no_letters,
        notes_nested_beyond_reason,
    ],
)
async def test_whatever_else_lies_in_the_folder_is_told_and_stays_alone(
    tmp_path: Path, put: Callable[[Path], None]
) -> None:
    clock = ManualClock()
    store = FileStore(tmp_path, clock=clock)
    await store.create(API)
    put(tmp_path)
    async with following(store) as heard:
        assert Stored(API) in heard.news
        assert [type(news) for news in heard.news].count(Unreadable) == 1
        await store.create(replace(WEB, id="web"))
        await clock.advance(2)
        assert await store.list() == (API, replace(WEB, id="web"))
