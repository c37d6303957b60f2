"""Which references lead out to the network, which of them the operator allows, and what they mean. Pure.

Whatever a kustomization names and its tree does not hold would be fetched by the program. So it is decided
here, before any program runs, and never by trying. Bases in Git repositories are not left to the program at
all: they are fetched like every repository, with the credential for them, and read as trees.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import parse_qsl

from msgspec import Struct

from trimtab.errors import InvalidSpec, RenderFailed, SourceRefused
from trimtab.sources.rendering.paths import shown

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(:|//)")
_SCP: Final = re.compile(r"[^/]+@[^/:]+:|[A-Za-z0-9.-]+\.[A-Za-z]{2,}[:/].+")
_CLONED: Final = re.compile(r"git::|gh:|[A-Za-z][A-Za-z0-9+.-]*://|[^/]+@[^/:]+[:/]|github\.com[:/]")
_GIT: Final = re.compile(r"(.+?\.git)(?:/(.*))?$")
_GITHUB: Final = re.compile(r"((?:[^/@]+@)?github\.com[:/][^/]+/[^/]+)(?:/(.*))?$")
_HOST_ALONE: Final = re.compile(r"[A-Za-z0-9.-]+/")
#: how a kustomization names a branch, tag or commit
_REVISION: Final = ("ref", "version")
_FILES: Final = (".yaml", ".yml", ".json")
_CREDENTIALS: Final = re.compile(r"//[^/@]*@")


class Base(Struct, frozen=True, kw_only=True):
    """A folder of a repository that a kustomization names by its address."""

    url: str
    path: str
    target: str
    submodules: bool = True

    @property
    def tree(self) -> str:
        """The name of its tree among those of a render; the same however often it is rendered."""
        words = "\0".join((self.url, self.target, str(self.submodules)))
        return f"base.{hashlib.sha256(words.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}"


class BaseWanted(Exception):
    """A render cannot go on before the tree of a base is there."""

    def __init__(self, base: Base) -> None:
        super().__init__(base.url)
        self.base = base


def base_in(reference: str) -> Base | None:
    """The base that kustomize would clone for a reference; None for the address of a single file."""
    address, _, query = reference.removeprefix("git::").partition("?")
    asked = dict(parse_qsl(query))
    scheme, mark, rest = address.rpartition("://")
    split = _split(rest)
    if split is None:
        if not asked.keys() & set(_REVISION) or rest.endswith(_FILES):
            return None
        split = rest, ""
    place, path = split
    if not mark and _HOST_ALONE.match(place):  # github.com/org/repo, as kustomize lets one write it
        scheme, mark = "https", "://"
    target = next((asked[word] for word in _REVISION if asked.get(word)), "HEAD")
    submodules = asked.get("submodules", "true").lower() not in {"false", "0", "f"}
    return Base(url=f"{scheme}{mark}{place}", path=path.strip("/"), target=target, submodules=submodules)


def _split(rest: str) -> tuple[str, str] | None:
    """The repository and the path in it, by the mark that says where one ends; None without such a mark."""
    place, mark, path = rest.partition("//")
    if mark:
        return place, path
    if found := _GIT.match(rest):
        return found[1], found[2] or ""
    if found := _GITHUB.match(rest):
        return found[1], found[2] or ""
    return None


def is_remote(reference: str) -> bool:
    """Would kustomize or helm take this for an address?"""
    return (
        _SCHEME.match(reference) is not None
        or _SCP.match(reference) is not None
        or "?ref=" in reference
        or ".git" in reference
    )


def is_cloned(reference: str) -> bool:
    """Would kustomize take this for an address even if a folder of that name lies in the tree?"""
    return _CLONED.match(reference) is not None


def is_allowed(reference: str, allowed: Iterable[str]) -> bool:
    """Does it begin with an address that the operator allows, up to the end of a word of it?"""
    if _CREDENTIALS.search(reference) or ".." in reference or any(sign <= " " for sign in reference):
        return False
    return any(
        reference == prefix or reference.startswith(prefix if prefix.endswith("/") else f"{prefix}/")
        for prefix in allowed
        if prefix
    )


def check(reference: str, allowed: Iterable[str], *, subject: str, where: str) -> None:
    """Return for an address that is allowed; anything else that the tree does not hold is an error."""
    told = shown(_CREDENTIALS.sub("//", reference))
    if not reference:
        raise InvalidSpec(subject, f"{where} holds an empty path", "Remove it")
    if not is_remote(reference):
        raise RenderFailed(
            subject, f"{where} names {told}, which is not in the repository", "Mend the path, or add it"
        )
    if not is_allowed(reference, allowed):
        reason = f"{where} names {told}, and nothing may be fetched from there"
        raise SourceRefused(
            subject, reason, "Keep it in the repository, or allow the address with rendering.remotes"
        )
