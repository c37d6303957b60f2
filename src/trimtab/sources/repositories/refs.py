"""Which commit a consumer means: what a remote offers, what is asked for, and the choice. Pure.

A target is read as Argo CD reads it: nothing or `HEAD`, a full commit id, a range of versions among the
tags, the name of a branch or tag, a shortened commit id.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias, assert_never

from msgspec import Struct

from trimtab.errors import InvalidSpec
from trimtab.kube.auth.redaction import quoted
from trimtab.sources.repositories.versions import Range, is_range, newest, range_of

HEAD: Final = "HEAD"
_BRANCHES, _TAGS = "refs/heads/", "refs/tags/"
_COMMIT: Final = re.compile(r"[0-9a-f]{40}")
_SHORT: Final = re.compile(r"[0-9a-f]{7,39}")
_PEELED: Final = "^{}"
#: what git itself never allows in the name of a ref
_BAD: Final = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|(^|/)\.|\.lock(/|$)|^/|/$|\.$|^-|^@$")


class Head(Struct, frozen=True):
    """The branch that the remote offers first."""


class Named(Struct, frozen=True):
    """A branch or a tag, by its short or full name."""

    name: str


class Commit(Struct, frozen=True):
    """One commit by its full id."""

    id: str


class Versions(Struct, frozen=True):
    """The newest tag of a range."""

    range: Range
    prefix: str = ""


Target: TypeAlias = Head | Named | Commit | Versions


class Listing(Struct, frozen=True, kw_only=True):
    """What a remote offers: full names of refs and the commits they mean, tags followed to the end."""

    refs: Mapping[str, str]
    #: the full name of the branch that HEAD stands for, if the remote says
    head: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether nothing at all is offered."""
        return not self.refs


class Chosen(Struct, frozen=True, kw_only=True):
    """A commit, and the ref by which it was found; empty if it was named itself."""

    commit: str
    ref: str = ""


class Unlisted(Struct, frozen=True, kw_only=True):
    """A commit that no ref points at: only its history knows it. `digits` may be fewer than all."""

    digits: str

    @property
    def is_full(self) -> bool:
        """Whether all digits are known."""
        return _COMMIT.fullmatch(self.digits) is not None


class Absent(Struct, frozen=True, kw_only=True):
    """There is no such thing, and what to tell about it."""

    reason: str
    remedy: str


Choice: TypeAlias = Chosen | Unlisted | Absent


def target_of(text: str, *, tag_prefix: str = "") -> Target:
    """What a consumer asks for; `InvalidSpec` if nothing can have that name."""
    if text in {"", HEAD}:
        return Head()
    if _COMMIT.fullmatch(text) and text.strip("0"):
        return Commit(text)
    range_ = range_of(text) if is_range(text) else None
    if range_ is not None:
        if tag_prefix and _BAD.search(f"{tag_prefix}x"):
            raise InvalidSpec(f"tag prefix {quoted(tag_prefix)}", "no tag can begin so", "Mend the prefix")
        return Versions(range_, tag_prefix)
    if len(text) > 255 or _BAD.search(text) or not text.isprintable():
        remedy = "Name a branch, a tag, a commit or a range of versions such as ^1.2"
        raise InvalidSpec(f"revision {quoted(text)}", "is no name that Git allows", remedy)
    return Named(text)


def target_text(target: Target) -> str:
    """A target as people write it."""
    match target:
        case Head():
            return HEAD
        case Named(name=name):
            return name
        case Commit(id=id_):
            return id_
        case Versions(range=range_, prefix=prefix):
            return f"{prefix}{range_.text}"
    assert_never(target)


def patterns_of(targets: Iterable[Target]) -> tuple[str, ...]:
    """What to ask a remote for so that all these targets can be chosen, and no more."""
    wanted = {HEAD}
    for target in targets:
        match target:
            case Named(name=name) if name.startswith(_TAGS):
                wanted |= {name, f"{name}{_PEELED}"}
            case Named(name=name) if name.startswith("refs/"):
                wanted |= {name}
            case Named(name=name):
                wanted |= {f"{_BRANCHES}{name}", f"{_TAGS}{name}", f"{_TAGS}{name}{_PEELED}"}
            case Versions(prefix=prefix):
                wanted |= {f"{_TAGS}{prefix}*"}
            case Head() | Commit():
                pass
            case _:
                assert_never(target)
    return tuple(sorted(wanted))


def listing_in(output: bytes) -> Listing:
    """What `git ls-remote --symref` said; lines that it cannot have meant are left out."""
    refs: dict[str, str] = {}
    peeled: dict[str, str] = {}
    head = ""
    for line in output.decode("utf-8", "replace").split("\n"):
        id_, tab, name = line.partition("\t")
        if not tab:
            continue
        if id_.startswith("ref: ") and name == HEAD:
            head = id_.removeprefix("ref: ")
        bare = name.removesuffix(_PEELED)
        if _COMMIT.fullmatch(id_) and (bare == HEAD or not _BAD.search(bare)):
            (refs if bare == name else peeled)[bare] = id_
    return Listing(refs={**refs, **peeled}, head=head if not _BAD.search(head) else "")


def choice(target: Target, listing: Listing) -> Choice:
    """The commit that a target means among what is offered."""
    if listing.is_empty and not isinstance(target, Commit):
        return Absent(reason="the repository is empty", remedy="Push a first commit")
    match target:
        case Head():
            return _head(listing)
        case Commit(id=id_):
            return Chosen(commit=id_) if id_ in listing.refs.values() else Unlisted(digits=id_)
        case Versions(range=range_, prefix=prefix):
            return _version(range_, prefix, listing)
        case Named(name=name):
            return _named(name, listing)
    assert_never(target)


def _head(listing: Listing) -> Choice:
    commit = listing.refs.get(HEAD)
    if commit:
        return Chosen(commit=commit, ref=listing.head or HEAD)
    reason = "HEAD stands for a branch that does not exist"
    return Absent(reason=reason, remedy="Name a branch, or set the default branch of the repository")


def _version(range_: Range, prefix: str, listing: Listing) -> Choice:
    tags = {name.removeprefix(_TAGS): id_ for name, id_ in listing.refs.items() if name.startswith(_TAGS)}
    tag = newest(range_, tags, prefix=prefix)
    if tag is None:
        known = f" (there are {len(tags)} tags)" if tags else " (there is no tag at all)"
        return Absent(reason=f"no tag is a version in {range_.text!r}{known}", remedy="Tag a release")
    return Chosen(commit=tags[tag], ref=f"{_TAGS}{tag}")


def _named(name: str, listing: Listing) -> Choice:
    for full in (name, f"{_BRANCHES}{name}", f"{_TAGS}{name}"):
        if full in listing.refs and full != HEAD:
            return Chosen(commit=listing.refs[full], ref=full)
    if _SHORT.fullmatch(name):
        return _shortened(name, listing)
    return Absent(reason=f"there is no branch or tag {quoted(name)}", remedy=_default_branch(listing))


def _shortened(digits: str, listing: Listing) -> Choice:
    found = {id_ for id_ in listing.refs.values() if id_.startswith(digits)}
    return Chosen(commit=found.pop()) if len(found) == 1 else Unlisted(digits=digits)


def _default_branch(listing: Listing) -> str:
    branch = listing.head.removeprefix(_BRANCHES)
    return f"Mend the name; the default branch is {quoted(branch)}" if branch else "Mend the name"
