"""What has changed somewhere, and whom that concerns: an index from places to consumers. Pure.

A change is a hint. It costs a look at the repository and is believed in nothing else, so a forged one does
no harm.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from trimtab.sources.repositories.addresses import Place
from trimtab.sources.repositories.refs import Commit, Head, Named, Target, Versions

_BRANCHES, _TAGS = "refs/heads/", "refs/tags/"
#: more paths than this are taken for "everything"
MOST_PATHS: Final = 10_000
#: so many times is looked again for what was announced and is not there yet
MOST_LOOKS: Final = 4


class Change(Struct, frozen=True, kw_only=True):
    """One ref of a repository was moved, made or deleted, as somebody says."""

    #: where the repository seems to lie; a host may call it by several names
    places: tuple[Place, ...]
    #: the full name of the ref; empty if it was not said: any
    ref: str = ""
    #: the files that changed; None if it was not said: any
    paths: tuple[str, ...] | None = None
    #: the commits before and after, if they were said
    before: str = ""
    after: str = ""
    #: the repository's default branch, if it was said
    default_branch: str = ""


class Expected(Struct, frozen=True, kw_only=True):
    """News that somebody announced and nobody has seen yet: a host may tell of a push before it shows it."""

    #: the commit that was announced; empty if none was named: anything new
    commit: str = ""
    #: looks that found nothing
    looks: int = 0


def expected_after(expected: Expected, commits: Iterable[str], *, is_new: bool) -> Expected | None:
    """What is still waited for after a look that found these commits; None if it came, or is given up."""
    came = expected.commit in commits if expected.commit else is_new
    if came or expected.looks >= MOST_LOOKS:
        return None
    return Expected(commit=expected.commit, looks=expected.looks + 1)


class Interest(Struct, frozen=True, kw_only=True, gc=False):
    """What one consumer looks at."""

    consumer: str
    repository: str
    target: Target
    paths: tuple[str, ...] = ()


class Concerned(Struct, frozen=True, kw_only=True):
    """Those whom a change concerns, and the repositories they follow."""

    consumers: tuple[str, ...]
    repositories: tuple[str, ...]


class Interests:
    """Who looks at what: found by place, so that a change costs as much as it concerns people."""

    def __init__(self) -> None:
        self._by_place: dict[Place, dict[str, Interest]] = {}
        self._places: dict[str, Place] = {}

    def add(self, place: Place, interest: Interest) -> None:
        """Note an interest, instead of what the consumer looked at before."""
        self.remove(interest.consumer)
        self._by_place.setdefault(place, {})[interest.consumer] = interest
        self._places[interest.consumer] = place

    def remove(self, consumer: str) -> None:
        """Forget a consumer."""
        place = self._places.pop(consumer, None)
        if place is None:
            return
        del self._by_place[place][consumer]
        if not self._by_place[place]:
            del self._by_place[place]

    def concerned(self, change: Change) -> Concerned:
        """Whom a change concerns, each once, in a stable order."""
        found = [
            interest
            for place in dict.fromkeys(change.places)
            for interest in self._by_place.get(place, {}).values()
            if is_concerned(interest, change)
        ]
        return Concerned(
            consumers=tuple(sorted({interest.consumer for interest in found})),
            repositories=tuple(sorted({interest.repository for interest in found})),
        )


def is_concerned(interest: Interest, change: Change) -> bool:
    """Whether a change may be news to somebody."""
    return _ref_matters(interest.target, change) and _paths_matter(interest.paths, change.paths)


def _ref_matters(target: Target, change: Change) -> bool:
    if not change.ref:
        return not isinstance(target, Commit)
    match target:
        case Commit():
            return False
        case Versions(prefix=prefix):
            return change.ref.startswith(f"{_TAGS}{prefix}")
        case Head():
            default = change.default_branch
            return change.ref.startswith(_BRANCHES) and default in {"", change.ref.removeprefix(_BRANCHES)}
        case Named(name=name):
            return change.ref in {name, f"{_BRANCHES}{name}", f"{_TAGS}{name}"}


def _paths_matter(wanted: Iterable[str], changed: tuple[str, ...] | None) -> bool:
    prefixes = [path.strip("/") for path in wanted]
    if changed is None or not prefixes or "" in prefixes or len(changed) > MOST_PATHS:
        return True
    return any(path == prefix or path.startswith(f"{prefix}/") for path in changed for prefix in prefixes)
