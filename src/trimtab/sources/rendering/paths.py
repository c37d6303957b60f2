"""Paths inside a tree: joined, checked and followed through links without ever leaving it. Pure.

A path that a tenant wrote is only ever resolved here, against the tree and never against a disk.
"""

from __future__ import annotations

from typing import Final, Protocol

from trimtab.errors import InvalidSpec, SourceRefused
from trimtab.sources.trees import EntryKind

MOST_LINKS: Final = 32
LONGEST: Final = 4096
_WIDEN: Final = "Name the folder or repository that holds both, and the folder in it with --path"


class Followed(Protocol):
    """What following needs to know of a tree."""

    def kind(self, path: str) -> EntryKind | None:
        """What lies at this path, links unfollowed."""

    def link(self, path: str) -> str:
        """Where a link points."""


def joined(folder: str, reference: str, subject: str) -> str:
    """The path that a reference means when written in a folder; one that leaves the tree is refused."""
    if "\0" in reference or len(reference) > LONGEST:
        raise InvalidSpec(subject, "a path holds a NUL character or is too long", "Write an ordinary path")
    if reference.startswith("/"):
        raise SourceRefused(
            subject, f"{shown(reference)} is an absolute path", "Write it relative to its folder"
        )
    words = folder.split("/") if folder else []
    for word in reference.split("/"):
        if word == "..":
            if not words:
                raise SourceRefused(subject, f"{shown(reference)} leads out of the source", _WIDEN)
            words.pop()
        elif word not in {"", "."}:
            words.append(word)
    return "/".join(words)


def followed(tree: Followed, path: str, subject: str) -> str:
    """The path without links that a path means; where nothing lies, the path that would have to be there."""
    if tree.kind(path) in {EntryKind.FILE, EntryKind.FOLDER, EntryKind.SUBMODULE}:
        return path  # then no part of it is a link, for a link is no folder
    links, done, waiting = 0, "", path.split("/")
    while waiting:
        word, *waiting = waiting
        if word == "..":
            done = joined(done, "..", subject)
            continue
        place = joined(done, word, subject)
        if tree.kind(place) is not EntryKind.LINK:
            done = place
            continue
        links += 1
        if links > MOST_LINKS:
            raise SourceRefused(subject, f"{shown(path)} leads through too many links", "Remove the circle")
        target = tree.link(place)
        _check_target(target, place, subject)
        waiting = [*(word for word in target.split("/") if word not in {"", "."}), *waiting]
    return done


def _check_target(target: str, place: str, subject: str) -> None:
    if target.startswith("/") or "\0" in target or not target:
        raise SourceRefused(
            subject, f"the link {shown(place)} leads out of the repository", "Make it relative"
        )


def checked_name(name: str, subject: str) -> str:
    """The name of an entry; one that no honest tree holds is refused."""
    if name in {"", ".", ".."} or "/" in name or "\0" in name:
        raise SourceRefused(subject, f"the tree holds an entry named {shown(name)}", "Remove it")
    return name


def below(folder: str, name: str) -> str:
    """The path of a name in a folder."""
    return f"{folder}/{name}" if folder else name


def folder_of(path: str) -> str:
    """The folder that a path lies in; the root is its own."""
    return path.rpartition("/")[0]


def shown(path: str) -> str:
    """A path as a message may show it: quoted, without control characters, not too long."""
    text = path if len(path) <= 200 else f"{path[:200]}…"
    return repr(text)
