"""A commit concerns those who looked at what it changed, and finding them costs as much as it changed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.sources.memorytree import MemoryTree
from trimtab.sources.rendering.affected import Readers, changed
from trimtab.sources.rendering.looking import MAIN, Trees, still_true
from trimtab.sources.rendering.rendered import Look
from trimtab.sources.trees import Entry


class CountingTree(MemoryTree):
    """Counts how many folders were listed."""

    listed = 0

    def entries(self, path: str) -> tuple[Entry, ...]:
        self.listed += 1
        return super().entries(path)


def test_what_was_added_removed_or_changed_is_told() -> None:
    old = MemoryTree({"a": "1", "b/c": "2", "d/e/f": "3", "same/x": "4", "kind": "5"})
    new = MemoryTree({"a": "9", "d/e/f": "3", "d/g": "6", "same/x": "4", "kind/now/folder": "5"})
    assert sorted(changed(old, new)) == ["a", "b", "b/c", "d/g", "kind", "kind/now", "kind/now/folder"]


def test_equal_trees_are_not_listed_at_all_and_one_change_lists_only_the_way_to_it() -> None:
    files = {f"apps/{n}/cm.yaml": str(n) for n in range(50)}
    old, same, other = (
        CountingTree(files),
        CountingTree(files),
        CountingTree({**files, "apps/7/cm.yaml": "x"}),
    )
    assert list(changed(old, same)) == []
    assert old.listed == 0
    assert list(changed(old, other)) == ["apps/7/cm.yaml"]
    assert old.listed == 3  # the root, apps, apps/7


def test_readers_are_found_by_what_they_asked() -> None:
    readers = Readers()
    readers.note("file", [Look(MAIN, "a/b", "bytes", "x")], {MAIN: "repo"})
    readers.note("absent", [Look(MAIN, "a/new", "kind", "nothing")], {MAIN: "repo"})
    readers.note("names", [Look(MAIN, "a", "names", "x")], {MAIN: "repo"})
    readers.note("whole", [Look("values", "", "below", "x")], {"values": "repo"})
    readers.note("elsewhere", [Look(MAIN, "a/b", "bytes", "x")], {MAIN: "other"})
    assert readers.affected("repo", ["a/b"]) == {"file", "names", "whole"}
    assert readers.affected("repo", ["a/new"]) == {"absent", "names", "whole"}
    assert readers.affected("repo", ["z"]) == {"whole"}
    assert readers.affected("repo", []) == frozenset()


def test_who_reads_anew_or_leaves_is_found_no_longer() -> None:
    readers = Readers()
    readers.note("app", [Look(MAIN, "old", "bytes", "x"), Look(MAIN, "both", "bytes", "x")], {MAIN: "r"})
    readers.note("app", [Look(MAIN, "both", "bytes", "x")], {MAIN: "r"})
    assert readers.affected("r", ["old"]) == frozenset()
    assert readers.affected("r", ["both"]) == {"app"}
    readers.forget("app")
    assert readers.affected("r", ["both"]) == frozenset()


NAMES = st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map("/".join)


def _honest(files: dict[str, str]) -> dict[str, str]:
    """Without files that lie where others have a folder."""
    return {p: t for p, t in files.items() if not any(o.startswith(f"{p}/") for o in files)}


TREES = st.dictionaries(NAMES, st.sampled_from("xyz"), max_size=8).map(_honest).map(MemoryTree)
QUESTIONS = st.lists(st.tuples(NAMES, st.sampled_from(["kind", "bytes", "names", "below"])), max_size=6)


@given(TREES, TREES, QUESTIONS)
def test_nobody_whose_answers_changed_is_overlooked(
    old: MemoryTree, new: MemoryTree, questions: list[tuple[str, str]]
) -> None:
    trees = Trees({MAIN: old}, "test")
    for path, question in questions:
        match question:
            case "kind":
                trees.main.kind(path)
            case "below":
                trees.main.entry(path)
            case "bytes" if path in old.files:
                trees.main.read(path)
            case "names" if (entry := old.entry(path)) and entry.kind.value == "folder":
                trees.main.entries(path)
    readers = Readers()
    readers.note("app", trees.looks(), {MAIN: "repo"})
    if not still_true(trees.looks(), {MAIN: new}):
        assert readers.affected("repo", changed(old, new)) == {"app"}


@given(TREES, TREES)
def test_roots_change_no_answer(old: MemoryTree, new: MemoryTree) -> None:
    trees = Trees({MAIN: old}, "test")
    for folder in ("", "a", "a/b"):
        trees.main.root(folder)
        trees.main.kind(f"{folder}/c".strip("/"))
        trees.main.entry(f"{folder}/b".strip("/"))
    looks = trees.looks()
    assert still_true(looks, {MAIN: new}, trees.roots()) == still_true(looks, {MAIN: new})
