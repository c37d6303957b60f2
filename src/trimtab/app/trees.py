"""An app as a tree: its objects, and below each what it owns, with how all of them stand. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from trimtab.app.naming import key_report
from trimtab.engine.cache.trees import Branch
from trimtab.engine.health import Health
from trimtab.engine.units import ResourceSummary
from trimtab.resources.keys import ResourceKey


class Node(Struct, frozen=True, kw_only=True):
    """One object, and what it owns."""

    key: ResourceKey
    #: the verdict of the comparison; empty for what an app's objects own, which nobody declares
    sync: str = ""
    health: str = ""
    message: str = ""
    #: when it was made, as the server wrote it
    created: str = ""
    children: tuple[Node, ...] = ()


class Line(Struct, frozen=True):
    """One node in a drawing: whether it and those above it, from the root on, are the last of their kin."""

    node: Node
    last: tuple[bool, ...]


def grown(resources: Iterable[ResourceSummary], branches: Sequence[Branch]) -> tuple[Node, ...]:
    """The objects of an app with what hangs below them; what is not in the cluster has nothing below it."""
    below: dict[ResourceKey, list[Branch]] = {}
    for branch in branches:
        if branch.parent is not None:
            below.setdefault(branch.parent, []).append(branch)
    created = {branch.live.key: branch.live.created for branch in branches}
    # What one object of an app owns is shown there, also when it is declared.
    placed = {branch.live.key for branch in branches if branch.parent is not None}
    roots = (each for each in resources if each.key not in placed)
    return tuple(_root(each, created.get(each.key, ""), below) for each in roots)


def _root(summary: ResourceSummary, created: str, below: Mapping[ResourceKey, list[Branch]]) -> Node:
    return Node(
        key=summary.key,
        sync=summary.verdict.value if summary.verdict else "",
        health=_word(summary.health),
        message=summary.problem or _told(summary.health),
        created=created,
        children=_children(summary.key, below),
    )


def _children(key: ResourceKey, below: Mapping[ResourceKey, list[Branch]]) -> tuple[Node, ...]:
    return tuple(
        Node(
            key=branch.live.key,
            health=_word(branch.live.health),
            message=_told(branch.live.health),
            created=branch.live.created,
            children=_children(branch.live.key, below),
        )
        for branch in below.get(key, ())
    )


def _word(health: Health | None) -> str:
    return health.status.value if health else ""


def _told(health: Health | None) -> str:
    return health.message if health else ""


def lines_of(nodes: Sequence[Node], above: tuple[bool, ...] = ()) -> Iterator[Line]:
    """The nodes from top to bottom, parents before their children."""
    for number, node in enumerate(nodes, 1):
        last = (*above, number == len(nodes))
        yield Line(node, last)
        yield from lines_of(node.children, last)


def node_report(node: Node) -> dict[str, Any]:
    """A node and all below it, for programs."""
    return {
        **key_report(node.key),
        "sync": node.sync,
        "health": node.health,
        "message": node.message,
        "created": node.created,
        "children": [node_report(each) for each in node.children],
    }
