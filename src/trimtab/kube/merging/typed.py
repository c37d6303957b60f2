"""Values seen through their shape: what they own, how two of them merge, in which fields they differ.

These are the moves of server-side apply; who may make them is decided in `apply`. Values go in, values
come out, nothing is changed in place. Results may share parts with what was given.
"""

from __future__ import annotations

import enum
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from trimtab.kube import gotext
from trimtab.kube.merging.fields import EMPTY, FieldSet, field, item, key, shown_element
from trimtab.kube.merging.shapes import ANYTHING, Shape

#: the one built-in type that is text or a number, and nothing else
_AMOUNT = "io.k8s.apimachinery.pkg.api.resource.Quantity"


class _Absent(enum.Enum):
    ABSENT = "absent"


ABSENT: Final = _Absent.ABSENT
Kind: TypeAlias = Literal["map", "list", "scalar"]


class Unkeyed(ValueError):
    """An element that does not tell which item of its list it is."""


class Problem(Struct, frozen=True):
    """What is wrong with a value, and where."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" if self.where else self.what


class Comparison(Struct, frozen=True, kw_only=True):
    """The fields in which a second value differs from a first; no field is in two of the sets."""

    removed: FieldSet
    modified: FieldSet
    added: FieldSet

    @property
    def changed(self) -> FieldSet:
        """What the second has that the first had not, or not so."""
        return self.modified | self.added

    def outside(self, ignored: FieldSet) -> Comparison:
        """The same comparison without these fields and what is beneath them."""
        return Comparison(
            removed=self.removed.outside(ignored),
            modified=self.modified.outside(ignored),
            added=self.added.outside(ignored),
        )


def same(left: Any, right: Any) -> bool:
    """Equality of JSON values: 1 equals 1.0, but not true."""
    if left is right:
        return True
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and _are_same((each, right[name]) for name, each in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and _are_same(zip(left, right, strict=True))
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


def _are_same(pairs: Iterable[tuple[Any, Any]]) -> bool:
    for left, right in pairs:  # noqa: SIM110 - `all` would go through C, once for each level
        if not same(left, right):
            return False
    return True


# -- which shape applies ------------------------------------------------------------------------------------


def _map(value: Any) -> dict[str, Any]:
    """The value if it is a map; else none."""
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    """The value if it is a list; else none."""
    return value if isinstance(value, list) else []


def _kind(value: Any, shape: Shape) -> Kind:
    """How a value is to be treated; where the schema leaves it open, the value decides."""
    match shape.type, value:
        case ("", dict() | list()) if shape.model == _AMOUNT:
            return "scalar"
        case ("object", _) | ("", dict() | None):
            return "map"
        case ("array", _) | ("", list()):
            return "list"
        case _:
            return "scalar"


def _kinds(left: Any, right: Any, shape: Shape) -> tuple[Kind, ...]:
    """How a pair is to be treated: once as each of them, if they differ in kind."""
    found = [_kind(value, shape) for value in (left, right) if value is not ABSENT]
    return tuple(dict.fromkeys(found))


def _child(shape: Shape, name: str) -> Shape | None:
    """The shape of a field; where nothing is declared, or it is open, anything may stand."""
    return shape.child(name) or (ANYTHING if shape.open or not shape.properties else None)


def _field_shape(shape: Shape, name: str) -> Shape:
    return _child(shape, name) or ANYTHING


def _element_shape(shape: Shape) -> Shape:
    return shape.element or ANYTHING


def _is_atomic(shape: Shape) -> bool:
    """Whether the schema says that nothing beneath is owned apart."""
    return shape.list_type == "atomic" if shape.type == "array" else shape.atomic


def element_of(value: Any, shape: Shape) -> str:
    """The path element of an item of a list of type map or set."""
    return key(_key_of(value, shape)) if shape.list_keys else _set_item(value)


def _key_of(value: Any, shape: Shape) -> Mapping[str, Any]:
    if value is None:
        raise Unkeyed("associative list with keys may not have a null element")
    if not isinstance(value, dict):
        raise Unkeyed("associative list with keys may not have non-map elements")
    defaults = {name: default for name, default in shape.key_defaults.items() if default is not None}
    known = defaults | value
    found = {name: known[name] for name in shape.list_keys if name in known}
    if not found:
        names = " ".join(map(gotext.quoted, shape.list_keys))
        raise Unkeyed(
            f"associative list with keys has an element that omits all key fields [{names}]"
            " (and doesn't have default values for any key fields)"
        )
    return found


def _set_item(value: Any) -> str:
    match value:
        case dict():
            raise Unkeyed("associative list without keys has an element that's a map type")
        case list():
            raise Unkeyed("not supported: associative list with lists as elements")
        case None:
            raise Unkeyed("associative list without keys has an element that's an explicit null")
        case _:
            return item(value)


# -- does it fit --------------------------------------------------------------------------------------------


def problems(value: Any, shape: Shape, *, duplicates: bool = False, where: str = "") -> Iterator[Problem]:
    """Why a value cannot be merged through this shape; `duplicates` lets list items share a key."""
    match _kind(value, shape):
        case "map":
            yield from _map_problems(value, shape, duplicates=duplicates, where=where)
        case "list":
            yield from _list_problems(value, shape, duplicates=duplicates, where=where)
        case _:
            what = _scalar_problem(value, shape)
            if what:
                yield Problem(where, what)


def _map_problems(value: Any, shape: Shape, *, duplicates: bool, where: str) -> Iterator[Problem]:
    if value is None:
        return
    if not isinstance(value, dict):
        yield Problem(where, f"expected map, got &{{{gotext.plain(value)}}}")
        return
    for name in sorted(value):
        child = _child(shape, name)
        if child is None:
            yield Problem(f"{where}.{name}", "field not declared in schema")
            return
        yield from problems(value[name], child, duplicates=duplicates, where=f"{where}.{name}")


def _list_problems(value: Any, shape: Shape, *, duplicates: bool, where: str) -> Iterator[Problem]:
    if value is None:
        return
    if not isinstance(value, list):
        yield Problem(where, f"expected list, got &{{{gotext.plain(value)}}}")
        return
    seen: set[str] = set()
    for index, each in enumerate(value):
        try:
            element = f"i:{index}" if shape.list_type == "atomic" else element_of(each, shape)
        except Unkeyed as exc:
            yield Problem(where, f"element {index}: {exc}")
            return
        if element in seen and not duplicates:
            yield Problem(where, f"duplicate entries for key {shown_element(element)}")
        seen.add(element)
        inside = f"{where}{shown_element(element)}"
        yield from problems(each, _element_shape(shape), duplicates=duplicates, where=inside)


def _scalar_problem(value: Any, shape: Shape) -> str:
    match shape.type, value:
        case (_, None) | ("boolean", bool()):
            return ""
        case ("boolean", _):
            return f"expected boolean, got &{{{gotext.plain(value)}}}"
        case ("integer" | "number", _):
            fits = isinstance(value, int | float) and not isinstance(value, bool)
            return "" if fits else f"expected numeric (int or float), got {gotext.type_name(value)}"
        case (_, dict() | list()) if shape.model == _AMOUNT or shape.format not in ("", "byte"):
            return f"expected any scalar, got &{{{gotext.plain(value)}}}"
        case ("string", str()) | ("", _):
            return ""
        case _ if shape.format not in ("", "byte"):
            return ""
        case _:
            return f"expected string, got &value.valueUnstructured{{Value:{gotext.syntax(value)}}}"


# -- what it owns -------------------------------------------------------------------------------------------


def set_of(value: Any, shape: Shape) -> FieldSet:
    """The fields that whoever applies this value comes to own."""
    return _owned(value, shape)[0]


def _owned(value: Any, shape: Shape) -> tuple[FieldSet, bool]:
    """What is owned beneath a value, and whether the value itself is."""
    kind = _kind(value, shape)
    if kind == "scalar" or (shape.atomic if kind == "map" else shape.list_type == "atomic"):
        return EMPTY, True
    if kind == "map":
        return _owned_fields(value, shape) if isinstance(value, dict) else EMPTY, False
    return _owned_items(value, shape) if isinstance(value, list) else EMPTY, False


def _owned_fields(value: Mapping[str, Any], shape: Shape) -> FieldSet:
    members: set[str] = set()
    children: dict[str, FieldSet] = {}
    for name, each in value.items():
        below, itself = _owned(each, _field_shape(shape, name))
        if itself or each is None or each == {} or not shape.names(name):
            members.add(field(name))
        if not below.is_empty:
            children[field(name)] = below
    return FieldSet(frozenset(members), children)


def _owned_items(value: list[Any], shape: Shape) -> FieldSet:
    elements = [element_of(each, shape) for each in value]
    count = Counter(elements)
    children: dict[str, FieldSet] = {}
    for element, each in zip(elements, value, strict=True):
        below = _owned(each, _element_shape(shape))[0] if count[element] == 1 else EMPTY
        if not below.is_empty:
            children[element] = below
    return FieldSet(frozenset(elements), children)


def with_named(fields: FieldSet, shape: Shape | None) -> FieldSet:
    """The set with every struct field that has a member beneath it; map keys and list items are not added."""
    if shape is None:
        return fields
    members = set(fields.members)
    children: dict[str, FieldSet] = {}
    for element, child in fields.children.items():
        if element.startswith("f:") and shape.names(element[2:]):
            members.add(element)
        children[element] = with_named(child, _shape_at(shape, element))
    return FieldSet(frozenset(members), children)


def _shape_at(shape: Shape, element: str) -> Shape | None:
    if element.startswith("f:"):
        return _child(shape, element[2:]) if shape.type != "array" else None
    return shape.element if element.startswith("k:") else None


def reconciled(fields: FieldSet, shape: Shape) -> FieldSet:
    """The set under today's schema: what has become atomic is owned as a whole."""
    members = set(fields.members)
    children: dict[str, FieldSet] = {}
    for element, child in fields.children.items():
        inner = _shape_at(shape, element)
        if inner is not None and _is_atomic(inner) and inner.type in ("array", "object"):
            members.add(element)
        else:
            children[element] = child if inner is None else reconciled(child, inner)
    return FieldSet(frozenset(members), children)


# -- taking out ---------------------------------------------------------------------------------------------


def without(value: Any, fields: FieldSet, shape: Shape) -> Any:
    """The value less these fields and items; a map or list of which nothing is left becomes null."""
    match _kind(value, shape):
        case "map":
            return _map_without(value, fields, shape)
        case "list":
            return _list_without(value, fields, shape)
        case _:
            return value


def _map_without(value: Any, fields: FieldSet, shape: Shape) -> Any:
    if not isinstance(value, dict) or shape.atomic:
        return None
    left = {}
    for name, each in value.items():
        element = field(name)
        if element in fields.members:
            continue
        below = fields.below(element)
        left[name] = each if below.is_empty else without(each, below, _field_shape(shape, name))
    return left or None


def _list_without(value: Any, fields: FieldSet, shape: Shape) -> Any:
    if not isinstance(value, list) or shape.list_type == "atomic":
        return None
    left = []
    for each in value:
        element = element_of(each, shape)
        if element in fields.members:
            continue
        below = fields.below(element)
        left.append(each if below.is_empty else without(each, below, _element_shape(shape)))
    return left or None


def extracted(value: Any, fields: FieldSet, shape: Shape) -> Any:
    """Only these fields and items of the value, with the keys that tell list items apart."""
    match _kind(value, shape):
        case "map" if isinstance(value, dict) and not shape.atomic:
            return {
                name: extracted(each, fields.below(field(name)), _field_shape(shape, name))
                for name, each in value.items()
                if field(name) in fields.members or field(name) in fields.children
            }
        case "list" if isinstance(value, list) and shape.list_type != "atomic":
            return [
                _extracted_item(each, fields.below(element), shape)
                for each in value
                for element in (element_of(each, shape),)
                if element in fields.members or element in fields.children
            ]
        case _:
            return value


def _extracted_item(value: Any, fields: FieldSet, shape: Shape) -> Any:
    inner = _element_shape(shape)
    taken = extracted(value, fields, inner)
    if not isinstance(value, dict) or inner.atomic:
        return taken
    return {name: value[name] for name in shape.list_keys if name in value} | taken


# -- how two differ -----------------------------------------------------------------------------------------


def compared(left: Any, right: Any, shape: Shape) -> Comparison:
    """The fields in which the right value differs from the left one."""
    whole = _Difference()
    _compare(left, right, shape, whole, _WHOLE)
    removed, modified, added = (whole.children.get(way, {}).get(_WHOLE, EMPTY) for way in _WAYS)
    return Comparison(removed=removed, modified=modified, added=added)


_REMOVED: Final = "removed"
_MODIFIED: Final = "modified"
_ADDED: Final = "added"
_WAYS: Final = (_REMOVED, _MODIFIED, _ADDED)
_WHOLE: Final = ""


class _Difference:
    """The fields of one value that differ, by the way in which they do, and what differs beneath them."""

    __slots__ = ("children", "members")

    def __init__(self) -> None:
        self.members: dict[str, set[str]] = {}
        self.children: dict[str, dict[str, FieldSet]] = {}

    def mark(self, way: str, element: str) -> None:
        """Note that a field differs as a whole."""
        self.members.setdefault(way, set()).add(element)

    def take(self, inner: _Difference, element: str) -> None:
        """Note what differs beneath a field."""
        for way in inner.members.keys() | inner.children.keys():
            below = FieldSet(frozenset(inner.members.get(way, ())), inner.children.get(way, {}))
            self.children.setdefault(way, {})[element] = below


def _compare(left: Any, right: Any, shape: Shape, found: _Difference, element: str) -> None:
    """Compare two values of a field, either of which may be absent, once as each kind that they are."""
    if left is right:
        return
    inner: _Difference | None = None
    is_leaf = False
    for kind in _kinds(left, right, shape):
        is_leaf = False
        if kind == "map" and not shape.atomic and (_map(left) or _map(right)):
            inner = inner or _Difference()
            _compare_fields(_map(left), _map(right), shape, inner)
        elif kind == "list" and shape.list_type != "atomic" and (_list(left) or _list(right)):
            inner = inner or _Difference()
            _compare_items(_list(left), _list(right), shape, inner)
        else:
            is_leaf = True
            _compare_leaves(left, right, found, element)
    if not is_leaf and left is ABSENT:
        found.mark(_ADDED, element)
    elif not is_leaf and right is ABSENT:
        found.mark(_REMOVED, element)
    if inner is not None:
        found.take(inner, element)


def _compare_leaves(left: Any, right: Any, found: _Difference, element: str) -> None:
    """Compare two values that are owned as a whole."""
    if left is ABSENT:
        found.mark(_ADDED, element)
    elif right is ABSENT:
        found.mark(_REMOVED, element)
    elif not same(left, right):
        found.mark(_MODIFIED, element)


def _compare_fields(left: dict[str, Any], right: dict[str, Any], shape: Shape, found: _Difference) -> None:
    for name in left | right:
        before, after = left.get(name, ABSENT), right.get(name, ABSENT)
        _compare(before, after, _field_shape(shape, name), found, field(name))


def _compare_items(left: list[Any], right: list[Any], shape: Shape, found: _Difference) -> None:
    before, after = _grouped(left, shape), _grouped(right, shape)
    for element in before | after:
        _compare_group(before.get(element, []), after.get(element, []), shape, found, element)


def _compare_group(left: list[Any], right: list[Any], shape: Shape, found: _Difference, element: str) -> None:
    """Compare the items of one key: usually one and one; items that share a key are owned as a whole."""
    inner = _element_shape(shape)
    if len(left) < 2 and len(right) < 2:
        _compare(left[0] if left else ABSENT, right[0] if right else ABSENT, inner, found, element)
    elif len(left) > 1 and len(right) > 1:
        _compare_leaves(left, right, found, element)
    elif len(left) > 1:
        if right:
            _compare(ABSENT, right[0], inner, found, element)
        found.mark(_REMOVED, element)
    else:
        if left:
            _compare(left[0], ABSENT, inner, found, element)
        found.mark(_ADDED, element)


def _grouped(items: list[Any], shape: Shape) -> dict[str, list[Any]]:
    groups: dict[str, list[Any]] = {}
    for each in items:
        groups.setdefault(element_of(each, shape), []).append(each)
    return groups


# -- merging ------------------------------------------------------------------------------------------------


def merged(live: Any, config: Any, shape: Shape) -> Any:
    """The live value with the configuration laid over it: nothing is removed, list items keep an order."""
    if live is ABSENT:
        return config
    if config is ABSENT:
        return live
    match _kind(config, shape):
        case "map" if not shape.atomic:
            return _merged_maps(_map(live), _map(config), shape) or config
        case "list" if shape.list_type != "atomic":
            return _merged_lists(_list(live), _list(config), shape) or config
        case _:
            return config


def _merged_maps(live: Mapping[str, Any], config: Mapping[str, Any], shape: Shape) -> dict[str, Any]:
    result = dict(live)
    for name, each in config.items():
        result[name] = merged(live.get(name, ABSENT), each, _field_shape(shape, name))
    return result


def _merged_lists(live: list[Any], config: list[Any], shape: Shape) -> list[Any]:
    """Items of both lists, merged where they share a key."""
    ours = [element_of(each, shape) for each in live]
    theirs = {element_of(each, shape): each for each in config}
    count = Counter(ours)
    # Items that share a key in the live list are replaced by the configured one, not merged with it.
    single = {
        element: each if count[element] == 1 else None for element, each in zip(ours, live, strict=True)
    }
    inner = _element_shape(shape)
    return [
        live[place] if place is not None else merged(single.get(element, ABSENT), theirs[element], inner)
        for place, element in _places(ours, list(theirs))
    ]


def _places(live: list[str], config: list[str]) -> Iterator[tuple[int | None, str]]:
    """The order of a merged list: each item's place in the live list, or None for a configured item.

    Configured items come in the order of the configuration. An item that only the live list has stays
    before the configured items that it stood before, as far as that order allows it.
    """
    configured = set(config)
    shared = deque(element for element in config if element in live)
    emitted: set[str] = set()
    at = 0
    for element in config:
        while at < len(live) and live[at] != element:
            here = live[at]
            if here in configured and not (shared and here != shared[0]):
                at += here in emitted
                break
            if here not in configured:
                yield at, here
            at += 1
        yield None, element
        emitted.add(element)
        if shared and shared[0] == element:
            shared.popleft()
        at += at < len(live) and live[at] == element
    yield from ((place, live[place]) for place in range(at, len(live)) if live[place] not in configured)
