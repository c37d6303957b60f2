"""Submodules: which repositories a tree points to, and which of them may be fetched. Pure.

A repository's own words decide what is asked for here, so the rule is narrow: a submodule lies on the same
server as the repository that names it, is reached the same way, and needs a credential of its own or none.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct, structs

from trimtab.errors import InvalidSpec, SourceRefused
from trimtab.sources.repositories.addresses import Address, address_of
from trimtab.sources.trees import EntryKind, Tree

FILE: Final = ".gitmodules"
_HEAD: Final = re.compile(r'\[submodule "([^"\\]+)"\]')
_SETTING: Final = re.compile(r"[ \t]+([A-Za-z][A-Za-z0-9-]*) = ([^\s\"\\#;]+)")
_NOTHING: Final = re.compile(r"\s*([#;].*)?")
#: submodules in submodules, and submodules altogether
DEEPEST, MOST = 3, 32


class Submodule(Struct, frozen=True, kw_only=True):
    """A repository that hangs in another."""

    path: str
    address: Address
    commit: str


def submodules_in(tree: Tree, listed: bytes, outer: Address) -> tuple[Submodule, ...]:
    """The submodules that a tree has, by what `git config --null --list` says of its .gitmodules."""
    found: list[Submodule] = []
    for name, settings in sorted(_sections(listed).items()):
        path, url = settings.get("path", ""), settings.get("url", "")
        entry = tree.entry(path) if path else None
        if entry is None or entry.kind is not EntryKind.SUBMODULE:
            continue
        found.append(Submodule(path=path, address=_address(name, url, outer), commit=entry.id))
    if len(found) > MOST:
        raise SourceRefused(
            f"repository {outer}", f"it has more than {MOST} submodules", "Vendor some of them"
        )
    return tuple(found)


def plainly_listed(gitmodules: bytes) -> bytes | None:
    """What git would list of a .gitmodules that is written as git writes it; None if it is not.

    For those who cannot wait for git. Quotes, escapes, comments behind values and the like are left to it.
    """
    section, listed = "", b""
    for line in gitmodules.decode("utf-8", "replace").splitlines():
        if match := _HEAD.fullmatch(line):
            section = match[1]
        elif (match := _SETTING.fullmatch(line)) and section:
            listed += f"submodule.{section}.{match[1].lower()}\n{match[2]}\0".encode()
        elif not _NOTHING.fullmatch(line):
            return None
    return listed


def _sections(listed: bytes) -> dict[str, dict[str, str]]:
    sections: dict[str, dict[str, str]] = {}
    for line in listed.decode("utf-8", "replace").split("\0"):
        key, _, value = line.partition("\n")
        if key.startswith("submodule.") and key.count(".") >= 2:
            name, _, setting = key.removeprefix("submodule.").rpartition(".")
            sections.setdefault(name, {})[setting] = value
    return sections


def _address(name: str, url: str, outer: Address) -> Address:
    subject = f"submodule {name[:100]!r} of {outer}"
    try:
        address = address_of(_absolute(url, outer))
    except InvalidSpec as exc:
        raise SourceRefused(subject, exc.reason, "Mend .gitmodules") from exc
    if (address.origin, address.user) != (outer.origin, outer.user):
        reason = f"it lies on another server ({address.scheme.value}://{address.host}:{address.port})"
        raise SourceRefused(subject, reason, "Move it to the same server, or vendor it")
    return address


def _absolute(url: str, outer: Address) -> str:
    """A submodule's URL; one that begins with ./ or ../ counts from the repository that names it."""
    if not url.startswith(("./", "../")):
        return url
    base, names = outer.path.strip("/").split("/"), url.split("/")
    while names and names[0] in {".", ".."}:
        if names.pop(0) == "..":
            if not base:
                return ""
            base.pop()
    root = "/" if outer.path.startswith("/") else ""
    return structs.replace(outer, path=f"{root}{'/'.join([*base, *names])}").url
