"""What is applied where ignored fields are to stay as they are in the cluster. Pure.

Leaving a field out of a comparison does not keep a sync from setting it, once something else differs. Where
a unit asks for that (`RespectIgnoreDifferences=true`), ignored fields are applied as they are live. A value
that somebody else owns is not mentioned at all: so an apply cannot set it back, even if it changes meanwhile.
"""

from __future__ import annotations

from typing import Any

from trimtab.engine.compare.ignoring import KeyRules
from trimtab.engine.compare.owners import NONE, Elements, Ownership, node_at, ownership, touches
from trimtab.engine.compare.walking import (
    OTHER_VERSION,
    UNOWNED_METADATA,
    Keying,
    differences,
    element_shape,
    keying_of,
    schema_of,
)
from trimtab.kube.merging.typed import ABSENT, same
from trimtab.kube.schemas.schema import Schema
from trimtab.resources.manifests import Manifest

_NEVER = frozenset({"apiVersion", "kind", "status"})


def respecting(
    wanted: Manifest,
    less: Manifest,
    live: Manifest,
    live_less: Manifest,
    rules: KeyRules,
    *,
    manager: str,
    whole: bool = False,
) -> Manifest:
    """The wanted object with all that is ignored as it is live; `less` are both without what paths ignore.

    `whole` says that the object is replaced: what is not mentioned then would be lost.
    """
    owners = ownership(live, manager)
    kept = _Keeping(owners, whole=whole).fields(wanted, less, live, live_less, schema_of(live), ())
    return _with_trusted(kept, live, rules, owners, manager=manager, whole=whole) if rules.managers else kept


class _Keeping:
    """One walk through an object, putting ignored values back where they belong."""

    def __init__(self, owners: Ownership, *, whole: bool) -> None:
        self._owners = owners
        self._whole = whole

    def fields(
        self,
        wanted: dict[str, Any],
        less: dict[str, Any],
        live: dict[str, Any],
        live_less: dict[str, Any],
        shape: Schema | None,
        path: Elements,
    ) -> dict[str, Any]:
        """The wanted map with the ignored fields of the live one."""
        kept = dict(less)
        skipped = _NEVER if not path else UNOWNED_METADATA if path == ("f:metadata",) else frozenset()
        for name, value in live.items():
            if name in skipped:
                continue
            inside = (*path, f"f:{name}")
            if name not in live_less:
                if self._keeps(value, inside, declared=name in wanted):
                    kept[name] = value
            elif name in less and not same(value, live_less[name]):
                inner = shape.child(name) if shape else None
                kept[name] = self._values(wanted.get(name), less[name], value, live_less[name], inner, inside)
        return kept

    def _keeps(self, value: Any, path: Elements, *, declared: bool) -> bool:
        """Whether an ignored value is to be mentioned: if it would be lost or changed otherwise."""
        if self._whole:
            return True
        if not declared and not touches(self._owners.ours, path):
            return False
        return isinstance(value, dict | list) or not self._owners.managers(path)

    def _values(
        self, wanted: Any, less: Any, live: Any, live_less: Any, shape: Schema | None, path: Elements
    ) -> Any:
        """A value of which parts are ignored."""
        if all(isinstance(each, dict) for each in (wanted, less, live, live_less)):
            return self.fields(wanted, less, live, live_less, shape, path)
        if all(isinstance(each, list) for each in (wanted, less, live, live_less)):
            return self._items(wanted, less, live, live_less, shape, path)
        return live

    def _items(
        self,
        wanted: list[Any],
        less: list[Any],
        live: list[Any],
        live_less: list[Any],
        shape: Schema | None,
        path: Elements,
    ) -> list[Any]:
        """The wanted list with what is ignored of the live one, item by item where they can be told apart."""
        keying = keying_of(self._record(path), shape)
        lists = [_named(keying, items) for items in (wanted, less, live, live_less)]
        if any(named is None for named in lists):
            return self._by_place(wanted, less, live, live_less, shape, path)
        declared, rest, there, there_rest = (named or {} for named in lists)
        kept = {
            element: self._item(item, rest.get(element, item), there, there_rest, element, shape, path)
            for element, item in declared.items()
            if element in rest or element in there  # what is ignored and gone stays gone
        }
        for element, item in there.items():
            ignored = element not in there_rest and element not in declared
            if ignored and self._keeps(item, (*path, element), declared=False):
                kept[element] = item
        return list(kept.values())

    def _item(
        self,
        wanted: Any,
        less: Any,
        there: dict[str, Any],
        there_rest: dict[str, Any],
        element: str,
        shape: Schema | None,
        path: Elements,
    ) -> Any:
        if element not in there:
            return wanted
        live, live_less = there[element], there_rest.get(element, ABSENT)
        if live_less is ABSENT:
            return live
        if same(live, live_less):
            return wanted  # a pointer by number may have hit another item of the wanted list
        return self._values(wanted, less, live, live_less, element_shape(shape), (*path, element))

    def _by_place(
        self,
        wanted: list[Any],
        less: list[Any],
        live: list[Any],
        live_less: list[Any],
        shape: Schema | None,
        path: Elements,
    ) -> list[Any]:
        """Items that nothing but their place tells apart; where even that does not, the live list stays."""
        if not len(wanted) == len(less) == len(live) == len(live_less):
            return live
        inner = element_shape(shape)
        return [
            less[at]
            if same(live[at], live_less[at])
            else self._values(wanted[at], less[at], live[at], live_less[at], inner, path)
            for at in range(len(live))
        ]

    def _record(self, path: Elements) -> Any:
        """What is recorded of anybody beneath a path: it tells how a list is keyed."""
        nodes = (node_at(fields, path) for fields in (self._owners.ours, *_fields(self._owners)))
        return next((node for node in nodes if node), NONE)


def _fields(owners: Ownership) -> tuple[Any, ...]:
    return tuple(owner.fields for owner in owners.others)


def _named(keying: Keying | None, items: list[Any]) -> dict[str, Any] | None:
    elements = keying.elements(items) if keying else None
    return dict(zip(elements, items, strict=True)) if elements is not None else None


# -- what trusted managers own ---------------------------------------------------------------------------


def _with_trusted(
    wanted: Manifest, live: Manifest, rules: KeyRules, owners: Ownership, *, manager: str, whole: bool
) -> Manifest:
    """The wanted object less what a trusted manager has changed, or, if replaced as a whole, with that."""
    kept: Any = wanted
    for each in differences(wanted, live, manager=manager):
        if each.rule != OTHER_VERSION and rules.trusts(owners, each.path):
            kept = _put(kept, each.path, each.live if whole else ABSENT)
    found: Manifest = kept
    return found


def _put(value: Any, path: Elements, new: Any) -> Any:
    """A copy of the value with another one at the path, or none; unchanged where the path leads nowhere."""
    element, rest = path[0], path[1:]
    if isinstance(value, dict) and element.startswith("f:"):
        name = element[2:]
        if rest:
            return {**value, name: _put(value[name], rest, new)} if name in value else value
        without = {key: each for key, each in value.items() if key != name}
        return without if new is ABSENT else {**without, name: new}
    if isinstance(value, list) and element.startswith("k:"):
        keying = keying_of({element: {}}, None)
        elements = (keying.elements(value) if keying else None) or []
        if element in elements and rest:
            at = elements.index(element)
            return [*value[:at], _put(value[at], rest, new), *value[at + 1 :]]
    return value
