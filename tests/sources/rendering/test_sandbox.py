"""Private folders are ours alone, in memory where there is room, and gone afterwards."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.sources.memorytree import MemoryTree
from trimtab.errors import NotAllowed, SourceRefused, Unavailable
from trimtab.settings import RenderingSettings
from trimtab.sources.rendering.copies import Taken
from trimtab.sources.rendering.jobs import Bounds, Call, Job
from trimtab.sources.rendering.sandbox import (
    PrivateFolders,
    fill,
    folder_for,
    move,
    remove,
    under_one_roof,
)
from trimtab.sources.rendering.specs import SourceSpec

JOB = Job(name="web", namespace="shop", spec=SourceSpec())


def test_folders_are_where_the_settings_say_else_in_memory_else_beside_the_cache(tmp_path: Path) -> None:
    said = RenderingSettings(folders=str(tmp_path / "said"))
    assert folder_for(said) == tmp_path / "said"
    tight = RenderingSettings(cache=str(tmp_path / "cache"), source_size=1 << 60)
    assert folder_for(tight) == tmp_path / "private"
    roomy = folder_for(RenderingSettings(cache=str(tmp_path / "cache"), source_size=1))
    assert roomy in {Path("/dev/shm") / f"trimtab-{os.geteuid()}", tmp_path / "private"}


def test_a_folder_that_others_could_write_to_is_refused(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(NotAllowed, match="written to by others"):
        PrivateFolders(tmp_path / "open").open()
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(NotAllowed):
        PrivateFolders(tmp_path / "link").open()


def test_a_folder_that_cannot_be_made_is_told_of(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(Unavailable):
        PrivateFolders(tmp_path / "file" / "below").open()


@pytest.mark.parametrize("to", ["../x", "repository/../../x", "/x"])
def test_nothing_is_written_outside_a_private_folder_whoever_asks(tmp_path: Path, to: str) -> None:
    for call in (
        Call(program="helm", arguments=(), taken=(Taken(source="", path="a", to=to),)),
        Call(program="helm", arguments=(), taken=(), made=((to, b"x"),)),
    ):
        with pytest.raises(SourceRefused, match="leads out"):
            fill(tmp_path / "own", call, {"": MemoryTree({"a": "x"})}, JOB)
    assert [path.name for path in tmp_path.rglob("x")] == []


def test_what_is_filled_is_private_and_then_gone(tmp_path: Path) -> None:
    folders = PrivateFolders(tmp_path / "private")
    folders.open()
    folder = folders.next()
    taken = (
        Taken(source="", path="a/b", to="repository/a/b"),
        Taken(source="", path="l", to="repository/l", link=True),
    )
    call = Call(program="helm", arguments=(), taken=taken, made=(("values/own.yaml", b"x: y"),))
    fill(folder, call, {"": MemoryTree({"a/b": "text", "l": "-> a/b"})}, JOB)
    assert (folder / "repository" / "l").read_text() == "text"
    assert (folder / "values" / "own.yaml").read_bytes() == b"x: y"
    for path in (folder, folder.parent, folder / "values" / "own.yaml", folder / "repository" / "a" / "b"):
        assert path.stat().st_mode & 0o077 == 0
    remove(folder)
    folders.close()
    assert list((tmp_path / "private").iterdir()) == []


def test_nothing_is_written_through_a_link_or_over_a_file(tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("untouched")
    tree = MemoryTree({"l": f"-> {tmp_path}/outside", "f": "evil"})
    taken = (
        Taken(source="", path="l", to="x", link=True),
        Taken(source="", path="f", to="x"),
    )
    with pytest.raises(Unavailable):
        fill(tmp_path / "folder", Call(program="helm", arguments=(), taken=taken), {"": tree}, JOB)
    assert (tmp_path / "outside").read_text() == "untouched"


def test_more_bytes_than_allowed_are_not_written(tmp_path: Path) -> None:
    job = Job(name="web", namespace="shop", spec=SourceSpec(), bounds=Bounds(bytes=10))
    taken = tuple(Taken(source="", path=name, to=name) for name in "ab")
    call = Call(program="helm", arguments=(), taken=taken)
    with pytest.raises(SourceRefused, match="more than 10 bytes"):
        fill(tmp_path / "folder", call, {"": MemoryTree({"a": "x" * 8, "b": "x" * 8})}, job)


def test_folders_come_under_one_roof_and_who_is_needed_again_comes_back(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("a", "b")]
    sizes = [
        fill(
            folder, Call(program="helm", arguments=(), taken=(), made=(("x", folder.name.encode()),)), {}, JOB
        )
        for folder in folders
    ]
    assert sizes == [1, 1]
    places = under_one_roof(tmp_path / "roof", folders)
    assert [(place / "x").read_text() for place in places] == ["a", "b"]
    assert [folder.exists() for folder in folders] == [False, False]
    assert (tmp_path / "roof").stat().st_mode & 0o777 == 0o700
    move(places[1], folders[1])
    move(tmp_path / "gone", tmp_path / "nowhere")
    assert (folders[1] / "x").read_text() == "b"
    with pytest.raises(Unavailable, match="programs cannot be given folders"):
        under_one_roof(tmp_path / "roof", [])
