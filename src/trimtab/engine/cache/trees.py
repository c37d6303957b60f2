"""Questions about families: what belongs to what, and what to nobody. Pure: reads the index alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from trimtab.engine.cache.index import Index
from trimtab.engine.live import Live
from trimtab.engine.marks import Mark
from trimtab.resources.keys import ResourceKey

#: what every namespace, or every cluster, has without anybody's asking
_EVERYBODYS = frozenset(
    {
        ("", "ConfigMap", "kube-root-ca.crt"),
        ("", "ServiceAccount", "default"),
    }
)
_THE_API = ResourceKey("", "Service", "default", "kubernetes")


class Branch(Struct, frozen=True):
    """One object of a tree, and below what it hangs; roots hang below nothing."""

    live: Live
    parent: ResourceKey | None
    depth: int


def _always(_: Live) -> bool:
    return True


def tree(
    index: Index, roots: Iterable[ResourceKey], descend: Callable[[Live], bool] = _always
) -> tuple[Branch, ...]:
    """The objects below these, parents before children, each once; nothing below one not descended from."""
    waiting = [Branch(found, None, 0) for key in roots if (found := index.get(key)) is not None]
    waiting.reverse()
    branches: list[Branch] = []
    met: set[ResourceKey] = set()
    while waiting:
        branch = waiting.pop()
        if branch.live.key in met:
            continue
        met.add(branch.live.key)
        branches.append(branch)
        if descend(branch.live):
            below = children(index, branch.live)
            waiting.extend(Branch(child, branch.live.key, branch.depth + 1) for child in reversed(below))
    return tuple(branches)


def children(index: Index, parent: Live) -> tuple[Live, ...]:
    """What an object owns; one that two API groups serve is shown once, by the smaller key."""
    shown: dict[str, Live] = {}
    for child in index.owned(parent):
        if child.key != parent.key:
            shown.setdefault(child.uid or str(child.key), child)
    return tuple(shown.values())


def ancestors(index: Index, key: ResourceKey) -> Iterator[Live]:
    """The object, its owners, their owners, nearest first and each once."""
    waiting = [key]
    met: set[ResourceKey] = set()
    for each in waiting:
        found = index.get(each) if each not in met else None
        if found is not None:
            met.add(each)
            yield found
            waiting.extend(owner.key for owner in found.owners)


def claimant(index: Index, key: ResourceKey) -> Mark | None:
    """Whose an object is: the mark of the first root found by going up its owners."""
    return next((each.mark for each in ancestors(index, key) if each.is_root), None)


def orphans(index: Index, namespace: str) -> tuple[Live, ...]:
    """What in a namespace is owned by nothing and claimed by nobody, in the order of the keys."""
    found = (each for each in index.within(namespace) if each.mark is None and not each.owners)
    return tuple(sorted((each for each in found if not _is_everybodys(each.key)), key=lambda live: live.key))


def _is_everybodys(key: ResourceKey) -> bool:
    return key == _THE_API or (key.group, key.kind, key.name) in _EVERYBODYS
