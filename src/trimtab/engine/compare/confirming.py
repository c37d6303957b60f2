"""What a server's dry-run of an apply says: the live object against the one that the apply would make. Pure.

Only fields that are ours count, before or after: what admission adds and what defaulting fills in is nobody's
wish, so it is no difference, even if it changes with every write.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from trimtab.engine.compare.owners import NONE, Elements, Fields, is_leaf, ownership, touches
from trimtab.engine.compare.walking import (
    REORDERED,
    UNOWNED_METADATA,
    UNOWNED_ROOT,
    Found,
    Place,
    element_shape,
    keying_of,
    path_of,
    pointer_tokens,
    schema_of,
)
from trimtab.kube.merging.typed import ABSENT, same
from trimtab.kube.schemas.schema import Schema
from trimtab.resources.manifests import Manifest

#: a server said in a dry-run that an apply would change it
SERVER: Final = "server"


def changes(
    desired: Manifest,
    live: Manifest,
    predicted: Manifest,
    *,
    manager: str,
    with_status: bool = False,
    of_anybody: bool = False,
) -> tuple[Found, ...]:
    """What an apply would change of our fields, or of anybody's, as the server's dry-run of it tells."""
    before, after = ownership(live, manager), ownership(predicted, manager)
    walk = _Walk()
    skipped = UNOWNED_ROOT if with_status else UNOWNED_ROOT | {"status"}
    shape = schema_of(live)
    walk.fields(_less(live, skipped), _less(predicted, skipped), after.ours, shape, None)
    place: Place = (None, "f:metadata", "metadata", "metadata")
    inner = shape.child("metadata") if shape else None
    walk.fields(_metadata(live), _metadata(predicted), _map(after.ours.get("f:metadata")), inner, place)
    return tuple(
        each for each in walk.found if of_anybody or _is_ours(each.path, desired, before.ours, after.ours)
    )


def _is_ours(path: Elements, desired: Manifest, *owned: Fields) -> bool:
    """Whether a field is or was ours; empty maps and lists are nobody's, so what is wanted counts as well."""
    return any(touches(fields, path) for fields in owned) or _is_declared(desired, path)


def _is_declared(desired: Any, path: Elements) -> bool:
    value = desired
    for element in path:
        if element.startswith("f:") and isinstance(value, dict) and element[2:] in value:
            value = value[element[2:]]
        elif element.startswith("k:") and isinstance(value, list):
            value = next((each for each in value if _has_keys(each, element)), None)
        else:
            return False
    return True


def _has_keys(item: Any, element: str) -> bool:
    """Whether an item carries none but these keys, as far as it carries them."""
    keys = msgspec.json.decode(element[2:])
    return isinstance(item, dict) and all(same(item.get(name, key), key) for name, key in keys.items())


class _Walk:
    """One walk through two objects of the same kind, told apart symmetrically."""

    def __init__(self) -> None:
        self.found: list[Found] = []

    def fields(
        self, live: dict[str, Any], new: dict[str, Any], owned: Fields, shape: Schema | None, place: Place
    ) -> None:
        """Tell apart two maps, key by key."""
        for name in dict.fromkeys((*live, *new)):
            inner = shape.child(name) if shape else None
            node = owned.get(f"f:{name}")
            inside: Place = (place, f"f:{name}", name, name)
            self._values(live.get(name, ABSENT), new.get(name, ABSENT), node, inner, inside)

    def _values(self, live: Any, new: Any, node: Fields | None, shape: Schema | None, place: Place) -> None:
        if same(live, new) or (live in (None, ABSENT) and new in (None, ABSENT)):
            return
        if isinstance(live, dict) and isinstance(new, dict) and not _is_whole(node, shape):
            self.fields(live, new, node or NONE, shape, place)
        elif isinstance(live, list) and isinstance(new, list):
            self._lists(live, new, node or NONE, shape, place)
        else:
            self._tell(live, new, place, SERVER)

    def _lists(
        self, live: list[Any], new: list[Any], node: Fields, shape: Schema | None, place: Place
    ) -> None:
        keying = keying_of(node, shape)
        before = keying.elements(live) if keying else None
        after = keying.elements(new) if keying else None
        if before is None or after is None:
            self._tell(live, new, place, SERVER)
            return
        old = {element: (str(at), live[at]) for at, element in enumerate(before)}
        fresh = {element: (str(at), new[at]) for at, element in enumerate(after)}
        for element in dict.fromkeys((*before, *after)):
            (at, value), (to, item) = old.get(element, ("", ABSENT)), fresh.get(element, ("", ABSENT))
            inside: Place = (place, element, at or to, to or at)
            self._values(value, item, node.get(element), element_shape(shape), inside)
        if [each for each in before if each in fresh] != [each for each in after if each in old]:
            self._tell(live, new, place, REORDERED)

    def _tell(self, live: Any, new: Any, place: Place, rule: str) -> None:
        self.found.append(Found(path_of(place), pointer_tokens(place), new, live, rule))


def _is_whole(node: Fields | None, shape: Schema | None) -> bool:
    """Whether a map is replaced as a whole: so its schema says, or, without one, the record of owners."""
    return shape.atomic if shape is not None else node is not None and is_leaf(node)


def _less(value: dict[str, Any], names: frozenset[str]) -> dict[str, Any]:
    return {name: each for name, each in value.items() if name not in names}


def _metadata(manifest: Manifest) -> dict[str, Any]:
    return _less(_map(manifest.get("metadata")), UNOWNED_METADATA)


def _map(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
