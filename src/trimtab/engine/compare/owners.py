"""Who owns which fields of a live object, read from `managedFields` as it is on the wire. Pure.

Comparing asks only a few questions of it, so the sets are not decoded: a set stays the JSON tree that the
server wrote, `{"f:spec": {"f:replicas": {}}}`. A member is a node with nothing beneath it, or one that
holds `.`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from msgspec import Struct

from trimtab.resources.manifests import Manifest

Fields: TypeAlias = Mapping[str, Any]
#: elements of a path in their wire spelling, outermost first
Elements: TypeAlias = tuple[str, ...]

NONE: Final[Fields] = {}
SELF: Final = "."


class Ownership(Struct, frozen=True, kw_only=True):
    """The owners of one live object, ours apart from all others."""

    #: what the manager applied last; empty if it never did
    ours: Fields = NONE
    #: the API version of that apply; empty if there was none
    version: str = ""
    #: every other owner, by name, with the version its fields are spelt in
    others: tuple[Owner, ...] = ()

    def managers(self, path: Elements) -> tuple[str, ...]:
        """Who is recorded as owner of a field, or of something that is owned as a whole around it."""
        return tuple(owner.manager for owner in self.others if covers(owner.fields, path))

    def is_ours(self, path: Elements) -> bool:
        """Whether we are recorded as owner."""
        return covers(self.ours, path)


class Owner(Struct, frozen=True):
    """One owner that is not the manager we apply as."""

    manager: str
    version: str
    fields: Fields


def ownership(live: Manifest, manager: str) -> Ownership:
    """Reads the owners; lines of no known form are nobody's."""
    metadata = live.get("metadata")
    lines = metadata.get("managedFields") if isinstance(metadata, dict) else None
    ours, version, others = NONE, "", []
    for line in lines if isinstance(lines, list) else ():
        fields = line.get("fieldsV1") if isinstance(line, dict) else None
        if not isinstance(fields, dict):
            continue
        name, spelt = str(line.get("manager", "")), str(line.get("apiVersion", ""))
        if name == manager and line.get("operation") == "Apply" and not line.get("subresource"):
            ours, version = fields, spelt
        else:
            others.append(Owner(name, spelt, fields))
    return Ownership(ours=ours, version=version, others=tuple(others))


def is_leaf(node: Fields) -> bool:
    """Whether nothing beneath the node is owned apart from it."""
    return not node or (len(node) == 1 and SELF in node)


def node_at(fields: Fields, path: Elements) -> Fields:
    """What is owned beneath a path; nothing where the path is not in the set."""
    node: Any = fields
    for element in path:
        node = node.get(element) if isinstance(node, dict) else None
    return node if isinstance(node, dict) else NONE


def has(fields: Fields, path: Elements) -> bool:
    """Whether the path is a member."""
    node: Any = fields
    for element in path:
        node = node.get(element) if isinstance(node, dict) else None
        if node is None:
            return False
    return not node or SELF in node


def covers(fields: Fields, path: Elements) -> bool:
    """Whether the path is a member, or lies beneath one that is owned as a whole."""
    node: Any = fields
    for element in path:
        inner = node.get(element) if isinstance(node, dict) else None
        if inner is None:
            return node is not fields and is_leaf(node)
        node = inner
    return not node or SELF in node


def touches(fields: Fields, path: Elements) -> bool:
    """Whether anything at the path, beneath it, or owned as a whole around it is a member."""
    node: Any = fields
    for element in path:
        inner = node.get(element) if isinstance(node, dict) else None
        if inner is None:
            return node is not fields and is_leaf(node)
        node = inner
    return True


def members(node: Fields, path: Elements) -> Iterator[Elements]:
    """Every member at a node and beneath it, by its whole path."""
    if not node or SELF in node:
        yield path
    for element, inner in node.items():
        if element != SELF and isinstance(inner, dict):
            yield from members(inner, (*path, element))
