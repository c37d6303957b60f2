"""No path that a tenant writes leads out of the tree, whatever links lie on its way."""

from __future__ import annotations

import posixpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sources.memorytree import MemoryTree
from trimtab.errors import InvalidSpec, SourceRefused, TrimtabError
from trimtab.sources.rendering.looking import MAIN, Watched
from trimtab.sources.rendering.paths import checked_name, joined, shown


@pytest.mark.parametrize(
    ("folder", "reference", "path"),
    [
        ("", "a", "a"),
        ("a/b", "../c", "a/c"),
        ("a/b", "../../c/./d/", "c/d"),
        ("a", ".", "a"),
        ("a", "..", ""),
        ("a", "b//c", "a/b/c"),
    ],
)
def test_a_reference_is_read_from_its_folder(folder: str, reference: str, path: str) -> None:
    assert joined(folder, reference, "app") == path


@pytest.mark.parametrize("reference", ["/etc/passwd", "..", "a/../../b", "../../../../etc", "//x"])
def test_a_reference_that_leaves_the_tree_is_refused(reference: str) -> None:
    with pytest.raises(SourceRefused):
        joined("", reference, "app")


@pytest.mark.parametrize("reference", ["a\0b", "x" * 5000])
def test_a_reference_that_is_no_path_is_refused(reference: str) -> None:
    with pytest.raises(InvalidSpec):
        joined("", reference, "app")


WORDS = st.lists(st.sampled_from(["..", ".", "", "a", "b"]), max_size=8).map("/".join)


@given(WORDS, WORDS)
def test_whatever_is_joined_stays_inside(folder: str, reference: str) -> None:
    start = posixpath.normpath(f"/{folder}").strip("/")
    try:
        path = joined(start, reference, "app")
    except SourceRefused:
        assert reference.startswith("/") or ".." in reference
    else:
        assert path == posixpath.normpath(f"/{start}/{reference}").strip("/")


def real(files: dict[str, str], path: str) -> str:
    return Watched(MemoryTree(files), MAIN, "app").real(path)


@pytest.mark.parametrize(
    ("links", "path", "target"),
    [
        ({"l": "-> x/file"}, "l", "x/file"),
        ({"l": "-> x"}, "l/file", "x/file"),
        ({"l": "-> m", "m": "-> x"}, "l/file", "x/file"),
        ({"d/l": "-> ../x"}, "d/l/file", "x/file"),
        ({"d/l": "-> ../e", "e": "-> ./x/"}, "d/l/file", "x/file"),
        ({"l": "-> nowhere"}, "l/file", "nowhere/file"),
        ({"x/up": "-> .."}, "x/up/x/file", "x/file"),
    ],
)
def test_links_are_followed_inside_the_tree(links: dict[str, str], path: str, target: str) -> None:
    assert real({"x/file": "", **links}, path) == target


@pytest.mark.parametrize(
    "links",
    [
        {"l": "-> /etc/passwd"},
        {"l": "-> .."},
        {"l": "-> a/../../b"},
        {"l": "-> m", "m": "-> ../out"},
        {"l": "-> l"},
        {"l": "-> m", "m": "-> l"},
        {"l": "-> "},
        {"l": "-> /"},
        {"l": "-> d/x", "d": "-> .", "x": "-> ../.."},
    ],
    ids=lambda links: ",".join(f"{k}{v}" for k, v in links.items()),
)
def test_links_that_lead_out_or_round_are_refused(links: dict[str, str]) -> None:
    with pytest.raises(SourceRefused):
        real({"x0/file": "", **links}, "l")


@given(st.dictionaries(st.sampled_from(["a", "b", "c/d"]), WORDS.map("-> {}".format), max_size=3), WORDS)
def test_no_links_lead_out(links: dict[str, str], reference: str) -> None:
    try:
        path = real({"x/file": "", **links}, joined("", reference, "app"))
    except TrimtabError:
        return
    assert not path.startswith("/")
    assert "/../" not in f"/{path}/"


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\0b", "/"])
def test_names_that_no_honest_tree_holds_are_refused(name: str) -> None:
    with pytest.raises(SourceRefused):
        checked_name(name, "app")


def test_a_path_is_shown_without_control_characters() -> None:
    assert "\x1b" not in shown("\x1b[31mred")
    assert len(shown("x" * 10_000)) < 300
