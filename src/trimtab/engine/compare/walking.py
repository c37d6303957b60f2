"""The local compare: would applying what is wanted change what is? Pure, and no server is asked.

The live object's own `managedFields` say which fields we own and how its lists are keyed. Two things can
make an apply change something, and both can be seen from there: a wanted field that is not so in the live
object, and a field that we own, that is not wanted any more, and that nobody else owns. Where the record
says nothing (fields that we never applied) the schema of a built-in kind does; where there is none, only
equality counts as equal.

The answer may say "differs" where a server would change nothing: it then costs a question to the server. It
says "same" only where a server would change nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import Struct

from trimtab.engine.compare.owners import (
    NONE,
    SELF,
    Elements,
    Fields,
    Ownership,
    has,
    is_leaf,
    members,
    node_at,
    ownership,
)
from trimtab.kube.merging.fields import item as set_element
from trimtab.kube.merging.fields import key as key_element
from trimtab.kube.merging.typed import ABSENT, same
from trimtab.kube.schemas.decoding import unreadable
from trimtab.kube.schemas.defaults import defaulted
from trimtab.kube.schemas.kinds import built_in
from trimtab.kube.schemas.schema import OBJECT_META, Schema
from trimtab.resources.manifests import Manifest

#: wanted, and otherwise in the live object
CHANGED: Final = "changed"
#: wanted, and not in the live object
ABSENT_RULE: Final = "absent"
#: applied by us before, not wanted any more, and nobody else's
GIVEN_UP: Final = "given up"
#: items of a list in another order than wanted
REORDERED: Final = "reordered"
#: the live object, or what we applied, is in another API version, so nothing can be told without a server
OTHER_VERSION: Final = "other version"

#: of no owner, so no apply changes them
UNOWNED_ROOT: Final = frozenset({"apiVersion", "kind", "metadata"})
UNOWNED_METADATA: Final = frozenset(
    {
        *("name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation"),
        *("managedFields", "resourceVersion"),
    }
)

#: where the walk is: what is around it, and its own element, place in the live and in the wanted object
Place: TypeAlias = "tuple[Place, str, str, str] | None"


class Found(Struct, frozen=True):
    """One difference as the walk found it; either value may be ABSENT."""

    path: Elements
    pointer: tuple[str, ...]
    desired: Any
    live: Any
    rule: str


def differences(
    desired: Manifest, live: Manifest, *, manager: str, with_status: bool = False
) -> tuple[Found, ...]:
    """What an apply by this manager, conflicts forced, would change; empty only if that is nothing."""
    owners = ownership(live, manager)
    versions = {desired.get("apiVersion"), live.get("apiVersion"), owners.version or live.get("apiVersion")}
    if len(versions) > 1:
        return (Found((), ("apiVersion",), desired.get("apiVersion"), live.get("apiVersion"), OTHER_VERSION),)
    walk = _Walk(desired, owners)
    walk.objects(live, with_status=with_status)
    return tuple(walk.found)


class _Walk:
    """One walk through a wanted object and the live one."""

    def __init__(self, desired: Manifest, owners: Ownership) -> None:
        self.found: list[Found] = []
        self._desired = desired
        self._owners = owners
        self._schema = schema_of(desired)
        self._as_kept: Any = None

    def objects(self, live: Manifest, *, with_status: bool) -> None:
        """Compare whole objects: their metadata by its own rules, the rest field by field."""
        skipped = UNOWNED_ROOT if with_status else UNOWNED_ROOT | {"status"}
        rest = {name: value for name, value in self._desired.items() if name not in skipped}
        owned = {name: node for name, node in self._owners.ours.items() if name[2:] not in skipped}
        self.fields(rest, live, owned, self._schema, None)
        metadata = _map(self._desired.get("metadata"))
        wanted = {name: value for name, value in metadata.items() if name not in UNOWNED_METADATA}
        place: Place = (None, "f:metadata", "metadata", "metadata")
        nodes = _map(self._owners.ours.get("f:metadata"))
        self.fields(wanted, _map(live.get("metadata")), nodes, _metadata_schema(), place)

    # -- maps ---------------------------------------------------------------------------------------------

    def fields(
        self,
        desired: Mapping[str, Any],
        live: Mapping[str, Any],
        owned: Fields,
        shape: Schema | None,
        place: Place,
    ) -> None:
        """Compare the fields of two maps that merge field by field."""
        matched = 0
        for name, value in desired.items():
            element = "f:" + name
            node = owned.get(element)
            held = live.get(name, ABSENT)
            if node is not None:
                matched += 1
                if node and (len(node) > 1 or SELF not in node):  # parts of it are owned apart
                    inner = shape.child(name) if shape else None
                    self._granular(value, held, node, inner, (place, element, name, name))
                    continue
            if value.__class__ is str and value == held:
                continue  # most values are text, and most of them are as they should be
            if not same(value, held):
                inner = shape.child(name) if shape else None
                self._unrecorded(value, held, inner, (place, element, name, name))
        if len(owned) - matched - (SELF in owned):
            present = {f"f:{name}" for name in desired}
            held_by_element = {f"f:{name}": (name, value) for name, value in live.items()}
            self._given_up(owned, present, held_by_element, place)

    def _granular(self, value: Any, held: Any, node: Fields, shape: Schema | None, place: Place) -> None:
        """Compare values of which parts are owned apart, as the server has recorded."""
        if type(value) is dict and type(held) is dict:
            self.fields(value, held, node, shape, place)
        elif type(value) is list and type(held) is list:
            self._items(value, held, node, shape, place)
        elif not same(value, held):
            self._mismatch(value, held, node, shape, place)

    def _unrecorded(self, value: Any, held: Any, shape: Schema | None, place: Place) -> None:
        """Compare unequal values of which no part is recorded as ours; a schema may tell that they merge."""
        if value and held and (_merges(shape) or (shape is None and self._merges_for_others(value, place))):
            self._granular(value, held, NONE, shape, place)
        else:
            self._mismatch(value, held, NONE, shape, place)

    # -- lists --------------------------------------------------------------------------------------------

    def _items(
        self, desired: list[Any], live: list[Any], node: Fields, shape: Schema | None, place: Place
    ) -> None:
        """Compare lists that merge item by item; items that only the live list has do not matter."""
        keying = keying_of(node, shape)
        wanted = keying.elements(desired) if keying else None
        there = keying.elements(live) if keying else None
        if wanted is None or there is None:
            self._mismatch(desired, live, node, shape, place)
            return
        places = {element: number for number, element in enumerate(there)}
        places_wanted = {SELF, *wanted}
        last, in_order = -1, True
        for number, (element, value) in enumerate(zip(wanted, desired, strict=True)):
            at = places.get(element)
            if at is None:
                self._tell(value, ABSENT, (place, element, str(number), str(number)), ABSENT_RULE)
                continue
            in_order, last = in_order and at > last, at
            inside: Place = (place, element, str(at), str(number))
            self._item(value, live[at], node.get(element), element_shape(shape), inside)
        if not in_order:
            self._tell(desired, live, place, REORDERED)
        if any(element not in places_wanted for element in node):
            held = {element: (str(number), live[number]) for element, number in places.items()}
            self._given_up(node, places_wanted, held, place)

    def _none_of(self, live: list[Any], node: Fields, shape: Schema | None, place: Place) -> bool:
        """Compare with a list of which nothing is wanted; say whether its items could be told apart."""
        keying = keying_of(node, shape) or keying_of(self._record_of_others(place), None)
        there = keying.elements(live) if keying else None
        if there is not None:
            held = {element: (str(number), live[number]) for number, element in enumerate(there)}
            self._given_up(node, set(), held, place)
        return there is not None

    def _item(self, value: Any, held: Any, node: Fields | None, shape: Schema | None, place: Place) -> None:
        if type(value) is not dict or type(held) is not dict:
            return  # items of a set are their own elements
        if node is not None and not is_leaf(node):
            self.fields(value, held, node, shape, place)
        elif not same(value, held):
            self._unrecorded(value, held, shape, place)

    # -- what remains -------------------------------------------------------------------------------------

    def _mismatch(self, value: Any, held: Any, node: Fields, shape: Schema | None, place: Place) -> None:
        """Tell of unequal values, unless a server would not see the wanted one, or write it as it is."""
        missing = held is ABSENT or held is None
        if value is None and missing and self._kept(place) in (ABSENT, None, {}, []):
            return
        wants_nothing = value is None or (value in ({}, []) and type(value) is type(held))
        if wants_nothing and not missing and self._stays_merged(node, shape, place):
            # Nothing is wanted of something that merges: it stays, but for what we own of it.
            if isinstance(held, dict):
                self.fields({}, held, node, shape, place)
                return
            if isinstance(held, list) and self._none_of(held, node, shape, place):
                return
        if self._is_written_as(value, held, place):
            return
        self._tell(value, held, place, ABSENT_RULE if missing else CHANGED)

    def _stays_merged(self, node: Fields, shape: Schema | None, place: Place) -> bool:
        """Whether the value at a place merges part by part: our record, its schema or others' tell."""
        if not is_leaf(node) or shape is not None:
            return not is_leaf(node) or _merges(shape)
        return not is_leaf(self._record_of_others(place))

    def _merges_for_others(self, value: Any, place: Place) -> bool:
        """Whether a map without a schema is known to merge, because others own parts of it."""
        return isinstance(value, dict) and not is_leaf(self._record_of_others(place))

    def _record_of_others(self, place: Place) -> Fields:
        """What somebody else owns beneath a place, if anybody owns parts of it."""
        path = path_of(place)
        for owner in self._owners.others:
            node = node_at(owner.fields, path) if owner.version == self._desired.get("apiVersion") else NONE
            if not is_leaf(node):
                return node
        return NONE

    def _is_written_as(self, value: Any, held: Any, place: Place) -> bool:
        """Whether a server writes the wanted value as it is in the live object."""
        if value is None and held != "":
            return False  # what becomes of null depends on what is around it, but for text in maps
        if self._schema is not None and value == [] and held is None:
            return True  # lists that are always written are written as null
        return same(self._kept(place), ABSENT if held is None else held)

    def _given_up(
        self, node: Fields, present: set[str], held: Mapping[str, tuple[str, Any]], place: Place
    ) -> None:
        """Tell of what we own and do not want any more, unless it is gone already or stays for its owners."""
        for element, inner in node.items():
            if element == SELF or element in present or element not in held:
                continue
            token, value = held[element]
            inside: Place = (place, element, token, token)
            if value is not None and not self._stays(inner, path_of(inside)):
                self._tell(ABSENT, value, inside, GIVEN_UP)

    def _stays(self, node: Fields, path: Elements) -> bool:
        """Whether somebody else owns all that is at a node; other versions may spell it otherwise."""
        others = [each.fields for each in self._owners.others if each.version == self._owners.version]
        return all(any(has(fields, member) for fields in others) for member in members(node, path))

    def _kept(self, place: Place) -> Any:
        """The wanted value at a place as a server would keep it; as it is, where that cannot be told."""
        if self._as_kept is None:
            self._as_kept = as_kept(self._desired, self._schema)
        value = self._as_kept
        for token in _tokens(place, 3):
            if isinstance(value, dict):
                value = value.get(token, ABSENT)
            elif isinstance(value, list) and int(token) < len(value):
                value = value[int(token)]
            else:
                return ABSENT
        return value

    def _tell(self, value: Any, held: Any, place: Place, rule: str) -> None:
        self.found.append(Found(path_of(place), pointer_tokens(place), value, held, rule))


def path_of(place: Place) -> Elements:
    """The elements from the outermost to the place itself."""
    return _tokens(place, 1)


def pointer_tokens(place: Place) -> tuple[str, ...]:
    """The steps of the JSON pointer to the place in the live object."""
    return _tokens(place, 2)


def _tokens(place: Place, which: int) -> tuple[str, ...]:
    found: list[str] = []
    while place is not None:
        found.append(str(place[which]))
        place = place[0]
    return tuple(reversed(found))


# -- how lists are keyed ------------------------------------------------------------------------------------


class Keying(Struct, frozen=True):
    """What tells the items of a list apart: these keys, or, without any, the items themselves."""

    names: tuple[str, ...]
    defaults: Mapping[str, Any]

    def elements(self, items: Iterable[Any]) -> list[str] | None:
        """The element of each item; None if one has none, or two have the same."""
        element_of = self._by_keys if self.names else _by_value
        found = [element_of(each) for each in items]
        return found if "" not in found and len(set(found)) == len(found) else None

    def _by_keys(self, item: Any) -> str:
        """The element of an item by its keys; empty if it has none."""
        if item.__class__ is not dict:
            return ""
        if len(self.names) == 1 and item.get(self.names[0]).__class__ is str:
            return _by_text(self.names[0], item[self.names[0]])
        keys = {name: item[name] for name in self.names if name in item}
        if len(keys) < len(self.names):
            keys = {**self.defaults, **keys}
        return key_element(keys) if keys else ""


@lru_cache(maxsize=4096)
def _by_text(name: str, text: str) -> str:
    """The element of an item with one key; the same few names come by again and again."""
    return key_element({name: text})


def _by_value(item: Any) -> str:
    """The element of an item of a set; empty for what cannot be one."""
    return "" if item is None or isinstance(item, dict | list) else set_element(item)


def keying_of(node: Fields, shape: Schema | None) -> Keying | None:
    """How a list is keyed: as its schema says, else as the server has recorded; None if neither tells."""
    if shape is not None and shape.list_type != "atomic":
        return _schema_keying(shape)
    elements = [element for element in node if element != SELF]
    if elements and all(element.startswith("k:") for element in elements):
        names = dict.fromkeys(name for element in elements for name in _key_names(element))
        return Keying(tuple(names), {})
    return Keying((), {}) if elements and all(element.startswith("v:") for element in elements) else None


@lru_cache(maxsize=1024)
def _schema_keying(shape: Schema) -> Keying:
    if shape.list_type == "set":
        return Keying((), {})
    defaults = {name: default for name, default in shape.key_defaults.items() if default is not None}
    return Keying(shape.list_keys, defaults)


@lru_cache(maxsize=65536)
def _key_names(element: str) -> tuple[str, ...]:
    return tuple(msgspec.json.decode(element[2:]))


# -- what schemas tell --------------------------------------------------------------------------------------


def schema_of(manifest: Manifest) -> Schema | None:
    """The schema of a built-in kind; None for all others."""
    group, _, version = str(manifest.get("apiVersion", "")).rpartition("/")
    return built_in().schema(group, version, str(manifest.get("kind", "")))


@lru_cache(maxsize=1)
def _metadata_schema() -> Schema:
    return built_in().type(OBJECT_META)


def as_kept(manifest: Manifest, schema: Schema | None) -> Manifest:
    """The manifest as a server would keep it; of kinds that are not built in only the metadata is known."""
    if schema is not None:
        return manifest if unreadable(manifest, schema) else defaulted(manifest, schema)
    metadata = manifest.get("metadata")
    if not isinstance(metadata, dict) or unreadable(metadata, _metadata_schema()):
        return manifest
    return {**manifest, "metadata": defaulted(metadata, _metadata_schema())}


def _merges(shape: Schema | None) -> bool:
    """Whether values of this shape are known to merge part by part."""
    if shape is None:
        return False
    if shape.type == "array":
        return shape.list_type != "atomic"
    return shape.type == "object" and not shape.atomic and not shape.preserves_unknown


def element_shape(shape: Schema | None) -> Schema | None:
    """The shape of a list's items."""
    return shape.element if shape else None


def _map(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
