"""Revisions of a folder are those of the repository that it is checked out from."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.committing import git
from trimtab.errors import InvalidSpec
from trimtab.sources import GitTree
from trimtab.sources.checkouts import revision_in
from trimtab.sources.repositories.complaints import RevisionMissing
from trimtab.sources.trees import Subtree


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with one commit, `v1`, and another one after it."""
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "live").mkdir()
    for number in ("1", "2"):
        (tmp_path / "live" / "a.yaml").write_text(number)
        git(tmp_path, "add", ".")
        git(tmp_path, "commit", "-qm", number)
        git(tmp_path, "tag", f"v{number}")
    return tmp_path


def content(folder: Path, target: str) -> bytes:
    revision, below = revision_in(folder, target)
    tree = GitTree(revision.mirror, revision.commit)
    return (Subtree(tree, below) if below else tree).read("a.yaml" if below else "live/a.yaml")


def test_a_folder_is_read_as_a_revision_of_its_checkout_has_it(checkout: Path) -> None:
    git(checkout, "worktree", "add", "-q", "--detach", "second", "v1")
    git(checkout, "update-ref", "refs/remotes/origin/main", "v1")
    live = checkout / "live"
    named = ("HEAD", "main", "v1", "HEAD~1", "origin/main", git(checkout, "rev-parse", "--short", "v2"))
    assert [content(live, target) for target in named] == [b"2", b"2", b"1", b"1", b"1", b"2"]
    assert (content(checkout, "v1"), content(checkout / "second" / "live", "HEAD")) == (b"1", b"1")
    assert revision_in(live, "v2")[0].commit == git(checkout, "rev-parse", "v2")


def test_one_folder_of_a_tree_is_a_tree_of_its_own(checkout: Path) -> None:
    revision, below = revision_in(checkout / "live", "v1")
    tree = Subtree(GitTree(revision.mirror, revision.commit), below)
    root = tree.entry("")
    assert (root and root.id, root and root.name) == (git(checkout, "rev-parse", "v1:live"), "")
    assert ([each.name for each in tree.entries("")], tree.entry("b.yaml")) == (["a.yaml"], None)


def test_a_revision_that_is_not_there_is_told_with_what_to_do(checkout: Path) -> None:
    for target in ("v3", "deadbeef", "no such", "v1^{tree}"):
        with pytest.raises(RevisionMissing, match="it has no revision"):
            revision_in(checkout, target)


def test_a_folder_without_a_repository_has_no_revisions(tmp_path: Path) -> None:
    with pytest.raises(InvalidSpec, match="it is no Git checkout, so it has no revisions"):
        revision_in(tmp_path, "main")
