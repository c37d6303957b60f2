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
_HEAD: Final = re.compile(r'\s*\[submodule[ \t]+"((?:[^"\\\0]|\\.)+)"\]\s*([#;].*)?')
_SETTING: Final = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)[ \t]*=[ \t]*(.*)")
_NOTHING: Final = re.compile(r"\s*([#;].*)?")
#: a part of a value: in quotes, plain, or one escaped sign
_PART: Final = re.compile(r'"((?:[^"\\]|\\[\\"ntb])*)"|([^"\\#;\t]+)|\\([\\"ntb])')
_ESCAPED: Final = re.compile(r"\\(.)")
_SIGNS: Final = {"n": "\n", "t": "\t", "b": "\b"}
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
    """What git would list of a .gitmodules; None if it is written in ways that only git reads.

    For those who cannot wait for git. Lines that go on in the next, other sections and settings without a
    value are left to it.
    """
    section, listed = "", b""
    for line in gitmodules.decode("utf-8", "replace").split("\n"):
        if match := _HEAD.fullmatch(line):
            section = _ESCAPED.sub(r"\1", match[1])
        elif _NOTHING.fullmatch(line):
            continue
        else:
            match = _SETTING.fullmatch(line) if section else None
            value = None if match is None else _value(match[2].rstrip("\r"))
            if match is None or value is None:
                return None
            listed += f"submodule.{section}.{match[1].lower()}\n{value}\0".encode()
    return listed


def _value(text: str) -> str | None:
    """A value as git reads it: without quotes, escapes and a comment behind it; None if only git can tell."""
    found, kept, place = "", 0, 0
    while place < len(text) and text[place] not in "#;":
        part = _PART.match(text, place)
        if part is None:
            return None
        place = part.end()
        if part[2] is not None:
            found += part[2]
        else:
            quoted = part[1] if part[1] is not None else f"\\{part[3]}"
            found += _ESCAPED.sub(lambda sign: _SIGNS.get(sign[1], sign[1]), quoted)
            kept = len(found)
    return found[:kept] + found[kept:].rstrip(" ")


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
