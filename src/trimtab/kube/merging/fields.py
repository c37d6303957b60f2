"""Sets of fields, as owners of an object's fields are recorded in `managedFields` (FieldsV1).

A path is a tuple of elements in their wire spelling: `f:spec`, `k:{"name":"web"}`, `v:"a"`, `i:0`. An element
is always in its canonical form, so equal elements are equal strings. Pure; what a value owns is `typed`'s
business, who owns it is `apply`'s.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from trimtab.kube import gotext
from trimtab.kube.integers import whole

Path: TypeAlias = tuple[str, ...]
SELF = "."


class BadFields(ValueError):
    """A FieldsV1 value that cannot be read."""


class FieldSet(Struct, frozen=True):
    """A set of paths, kept as a tree; no child is ever empty."""

    members: frozenset[str] = frozenset()
    children: Mapping[str, FieldSet] = {}

    @classmethod
    def of(cls, *paths: Path) -> FieldSet:
        """The set of these paths; parents are not members unless they are given."""
        return _grown(path for path in paths if path)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> FieldSet:
        """Read FieldsV1; elements of kinds not known to us are dropped, as the API server does."""
        return _read(fields)[0]

    def to_json(self) -> dict[str, Any]:
        """FieldsV1, its entries in the API server's order."""
        return _written(self, itself=False)

    @property
    def is_empty(self) -> bool:
        """Whether there is no path in it."""
        return not self.members and not self.children

    def has(self, path: Path) -> bool:
        """Whether the path is a member; no one owns the object as a whole."""
        fields = self
        for element in path[:-1]:
            fields = fields.below(element)
        return bool(path) and path[-1] in fields.members

    def below(self, element: str) -> FieldSet:
        """The members beneath an element, their paths starting after it."""
        return self.children.get(element, EMPTY)

    def paths(self, prefix: Path = ()) -> Iterator[Path]:
        """Every member: those of a level first, in order, then what is beneath them."""
        for element in sorted(self.members, key=order):
            yield (*prefix, element)
        for element in sorted(self.children, key=order):
            yield from self.children[element].paths((*prefix, element))

    def leaves(self) -> FieldSet:
        """The members that have no members beneath them."""
        children = {element: child.leaves() for element, child in self.children.items()}
        return FieldSet(self.members.difference(self.children), children)

    # Operators go through C, once for each level; what they do does not.

    def __or__(self, other: FieldSet) -> FieldSet:
        return self.joined(other)

    def __and__(self, other: FieldSet) -> FieldSet:
        return self.shared(other)

    def __sub__(self, other: FieldSet) -> FieldSet:
        """The members that are not in the other; taking a parent away leaves what is beneath it."""
        return self.less(other)

    def joined(self, other: FieldSet) -> FieldSet:
        """The members of both."""
        if other.is_empty or other is self:
            return self
        if self.is_empty:
            return other
        children = dict(self.children)
        for element, child in other.children.items():
            children[element] = children[element].joined(child) if element in children else child
        return FieldSet(self.members | other.members, children)

    def shared(self, other: FieldSet) -> FieldSet:
        """The members that both have."""
        shared = self.children.keys() & other.children.keys()
        children = {element: self.children[element].shared(other.children[element]) for element in shared}
        return FieldSet(self.members & other.members, _not_empty(children))

    def less(self, other: FieldSet) -> FieldSet:
        """The members that are not in the other."""
        if other.is_empty:
            return self
        children = {
            element: child.less(other.children[element]) if element in other.children else child
            for element, child in self.children.items()
        }
        return FieldSet(self.members - other.members, _not_empty(children))

    def outside(self, other: FieldSet) -> FieldSet:
        """The members that are neither in the other nor beneath one of its members."""
        if other.is_empty:
            return self
        children = {
            element: child.outside(other.below(element))
            for element, child in self.children.items()
            if element not in other.members
        }
        return FieldSet(self.members - other.members, _not_empty(children))

    def __str__(self) -> str:
        return "\n".join(map(shown, self.paths()))


EMPTY = FieldSet()


def _not_empty(children: Mapping[str, FieldSet]) -> dict[str, FieldSet]:
    return {element: child for element, child in children.items() if not child.is_empty}


def _grown(paths: Iterable[Path]) -> FieldSet:
    """The set of paths, none of them empty."""
    members: set[str] = set()
    deeper: dict[str, list[Path]] = {}
    for path in paths:
        if len(path) == 1:
            members.add(path[0])
        else:
            deeper.setdefault(path[0], []).append(path[1:])
    return FieldSet(frozenset(members), {element: _grown(rest) for element, rest in deeper.items()})


def _read(fields: Any) -> tuple[FieldSet, bool]:
    """The set beneath a node, and whether the node itself is a member: so it is if nothing is beneath it."""
    if not isinstance(fields, Mapping):
        raise BadFields(f"expected a map of fields, got {gotext.plain(fields)}")
    members: set[str] = set()
    children: dict[str, FieldSet] = {}
    for text, inner in fields.items():
        element = "" if text == SELF else canonical(text)
        if not element:
            continue
        below, is_member = _read(inner)
        if is_member:
            members.add(element)
        if not below.is_empty:
            children[element] = below
    found = FieldSet(frozenset(members), children)
    return found, SELF in fields or found.is_empty


def _written(fields: FieldSet, *, itself: bool) -> dict[str, Any]:
    json: dict[str, Any] = {SELF: {}} if itself else {}
    for element in sorted(fields.members | fields.children.keys(), key=order):
        child = fields.children.get(element)
        json[element] = _written(child, itself=element in fields.members) if child else {}
    return json


# -- elements -----------------------------------------------------------------------------------------------


def field(name: str) -> str:
    """The element of a field of a struct or a key of a map."""
    return f"f:{name}"


def key(fields: Mapping[str, Any]) -> str:
    """The element of an item of a list of type map."""
    return "k:{" + ",".join(f'"{name}":{_spelt(fields[name])}' for name in sorted(fields)) + "}"


def item(value: Any) -> str:
    """The element of an item of a list of type set."""
    return f"v:{_spelt(value)}"


def _spelt(value: Any) -> str:
    """A value in JSON; the same few keys come by again and again."""
    return _spelt_text(value) if isinstance(value, str) else gotext.to_json(value)


@lru_cache(maxsize=4096)
def _spelt_text(text: str) -> str:
    return gotext.to_json(text)


def path(*names: str) -> Path:
    """The path of nested fields."""
    return tuple(map(field, names))


def canonical(text: str) -> str:
    """An element as the API server writes it; empty for a kind of element it does not know."""
    if len(text) < 2:
        raise BadFields("key must be 2 characters long:")
    if text[1] != ":":
        raise BadFields(f"missing colon: {text}")
    match text[0]:
        case "f":
            return text
        case "k" | "v":
            return _canonical_json(text)
        case "i":
            return f"i:{_integer(text[2:])}"
        case _:
            return ""


@lru_cache(maxsize=65536)
def _canonical_json(text: str) -> str:
    value = _decoded(text[2:])
    if text[0] == "k" and not isinstance(value, dict):
        raise BadFields(f"expected a map of key fields: {text}")
    return f"{text[:2]}{gotext.to_json(value)}"


def _decoded(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as exc:
        raise BadFields(str(exc)) from exc


def _integer(text: str) -> int:
    number = whole(text)
    if number is None:
        raise BadFields(f"not an index: {text}")
    return number


@lru_cache(maxsize=65536)
def order(element: str) -> tuple[Any, ...]:
    """The place of an element among its neighbours: fields, keys, values, indices, each in order."""
    text = element[2:]
    match element[0]:
        case "f":
            return (0, text)
        case "k":
            return (1, tuple((name, _rank(value)) for name, value in sorted(_decoded(text).items())))
        case "v":
            return (2, _rank(_decoded(text)))
        case _:
            return (3, int(text))


def _rank(value: Any) -> tuple[Any, ...]:
    """A total order over JSON values of all types: numbers, strings, booleans, lists, maps, null."""
    match value:
        case bool():
            return (2, value)
        case int() | float():
            return (0, value)
        case str():
            return (1, value)
        case list():
            return (3, tuple(map(_rank, value)))
        case dict():
            return (4, tuple((name, _rank(inner)) for name, inner in sorted(value.items())))
        case _:
            return (5,)


def shown(path: Path) -> str:
    """A path as people read it: `.spec.template.spec.containers[name="web"].image`."""
    return "".join(map(shown_element, path))


def shown_element(element: str) -> str:
    """One element as people read it."""
    text = element[2:]
    match element[0]:
        case "f":
            return f".{text}"
        case "k":
            fields = sorted(_decoded(text).items())
            return "[" + ",".join(f"{name}={_spoken(value)}" for name, value in fields) + "]"
        case "v":
            return f"[={_spoken(_decoded(text))}]"
        case _:
            return f"[{text}]"


def _spoken(value: Any) -> str:
    match value:
        case None:
            return "null"
        case str():
            return gotext.quoted(value)
        case list():
            return "[" + ",".join(map(_spoken, value)) + "]"
        case dict():
            return "".join(f"{name}={_spoken(inner)}" for name, inner in sorted(value.items()))
        case _:
            return gotext.plain(value)
