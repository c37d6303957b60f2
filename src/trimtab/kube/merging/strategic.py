"""Strategic merge patches: merge patches that know which lists are merged, and by which key.

The patch may direct: `$patch: replace|delete` in maps and list elements, `$retainKeys`,
`$deleteFromPrimitiveList/<field>`, `$setElementOrder/<field>`. Only built-in kinds have them. What is given
is never changed. Where a patch both adds to a list of plain values and deletes from it, deletion comes first
(Kubernetes leaves that order to chance).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from trimtab.kube import gotext
from trimtab.kube.merging.patch import not_a_map, without_nulls
from trimtab.kube.merging.shapes import ANYTHING, Shape
from trimtab.kube.merging.typed import same
from trimtab.kube.refusals import Refused, bad_request, internal_error

DIRECTIVE = "$patch"
RETAIN_KEYS = "$retainKeys"
DELETE_FROM = "$deleteFromPrimitiveList"
ORDER = "$setElementOrder"
MAP, LIST = "map[string]interface {}", "[]interface {}"
Items: TypeAlias = list[Any]


def strategic_patch(document: Mapping[str, Any], patch: Any, shape: Shape) -> dict[str, Any]:
    """The document after a strategic merge patch."""
    if patch is None:
        return dict(document)
    if not isinstance(patch, dict):
        raise bad_request(not_a_map(patch))
    return _merged_map(document, patch, shape)


# -- refusing -----------------------------------------------------------------------------------------------


def _bad_format(of: str) -> Refused:
    return bad_request(f"invalid patch format of {of}")


def _no_key(value: Mapping[str, Any], key: str) -> Refused:
    return internal_error(f"map: {gotext.plain(value)} does not contain declared merge key: {key}")


def _bad_type(expected: str, value: Any) -> Refused:
    found = gotext.type_name(value) if value is not None else gotext.as_text(None)
    return internal_error(f"expected a {expected}, but received a {found}")


def _bad_directive(value: Mapping[str, Any]) -> Refused:
    told = f"unknown patch type: {gotext.as_text(value[DIRECTIVE])} in map: {gotext.plain(value)}"
    return internal_error(told)


def _unknown_field(shape: Shape, name: str) -> Refused:
    struct = shape.model.rpartition(".")[2]
    field = gotext.quoted(name)
    return internal_error(f"unable to find api field in struct {struct} for the json field {field}")


# -- maps ---------------------------------------------------------------------------------------------------


def _merged_map(original: Mapping[str, Any], patch: Mapping[str, Any], shape: Shape) -> dict[str, Any]:
    if DIRECTIVE in patch:
        return _directed(patch)
    patch = dict(patch)
    result = _retained(dict(original), patch)
    for name in [name for name in patch if name.startswith(ORDER)]:
        _order_list(result, patch, name, shape)
    for name in sorted(patch, key=lambda name: not name.startswith(DELETE_FROM)):
        if name.startswith(DELETE_FROM):
            _delete_from_list(result, _suffix(name, DELETE_FROM, "primitive list"), patch[name], shape)
        else:
            _put(result, name, patch[name], shape)
    return result


def _directed(patch: Mapping[str, Any]) -> dict[str, Any]:
    match patch[DIRECTIVE]:
        case "replace":
            return {name: value for name, value in patch.items() if name != DIRECTIVE}
        case "delete":
            return {}
        case _:
            raise _bad_directive(patch)


def _retained(original: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """The original less the keys that the patch does not retain; takes the directive out of the patch."""
    if RETAIN_KEYS not in patch:
        return original
    keys = patch.pop(RETAIN_KEYS)
    if not isinstance(keys, list):
        raise _bad_format("retainKeys")
    for name, value in patch.items():
        if value is not None and not name.startswith((DELETE_FROM, ORDER)) and name not in keys:
            raise _bad_format("retainKeys")
    return {name: value for name, value in original.items() if name in keys}


def _put(result: dict[str, Any], name: str, value: Any, shape: Shape) -> None:
    """Merge one field of the patch."""
    if value is None:
        result.pop(name, None)
        return
    before = result.get(name)
    if isinstance(before, dict) and isinstance(value, dict):
        inner = _field(shape, name)
        replaces = "replace" in inner.merge_strategies
        result[name] = value if replaces else _merged_map(before, value, inner)
    elif isinstance(before, list) and isinstance(value, list):
        inner = _field(shape, name)
        merges = "merge" in inner.merge_strategies
        result[name] = _merged_list(before, value, inner)[0] if merges else value
    elif _is_directive(value):
        result.pop(name, None)
    else:
        result[name] = _without_directives(without_nulls(value))


def _delete_from_list(result: dict[str, Any], name: str, values: Any, shape: Shape) -> None:
    """Take plain values out of a list."""
    if values is None:
        result.pop(name, None)
        return
    before = result.get(name)
    if not isinstance(before, list) or not isinstance(values, list):
        return
    inner = _field(shape, name)
    if not before and not values:
        return
    if _element_type(before, values) == MAP:
        result[name] = _merged_list(before, values, inner)[0]
    else:
        result[name] = [value for value in before if value not in values]


def _suffix(name: str, prefix: str, what: str) -> str:
    head, slash, field = name.partition("/")
    if head != prefix or not slash:
        raise _bad_format(what)
    return field


def _field(shape: Shape, name: str) -> Shape:
    """The shape of a field that both sides have."""
    spelled = _spelled(shape, name)
    found = shape.child(spelled)
    if found is None:
        raise _unknown_field(shape, name)
    if spelled not in shape.properties:
        told = "merging an object in json but data type is not struct, instead is: map"
        raise internal_error(told)
    return found


def _spelled(shape: Shape, name: str) -> str:
    """The name of the field that is meant: the one spelled so, else the first that is but for capitals."""
    if name in shape.properties:
        return name
    return next((each for each in shape.properties if each.casefold() == name.casefold()), name)


def _is_directive(value: Any) -> bool:
    return isinstance(value, dict) and DIRECTIVE in value


def _without_directives(value: Any) -> Any:
    """The value without maps that are directives."""
    match value:
        case dict():
            kept = {name: each for name, each in value.items() if not _is_directive(each)}
            return {name: _without_directives(each) for name, each in kept.items()}
        case list():
            return [_without_directives(each) for each in value if not _is_directive(each)]
        case _:
            return value


# -- lists --------------------------------------------------------------------------------------------------


def _merged_list(original: Items, patch: Items, shape: Shape) -> tuple[Items, Items]:
    """The merged list, and the order of the original list as merging has left it."""
    if not original and not patch:
        return original, original
    if _element_type(original, patch) != MAP:
        both = [*original, *(value for value in patch if value not in original)]
        return _arranged(_distinct(both), patch, original, _itself), original
    if not shape.merge_key:
        raise internal_error("cannot merge lists without merge key for struct")
    return _merged_maps(original, patch, shape)


def _merged_maps(original: Items, patch: Items, shape: Shape) -> tuple[Items, Items]:
    key = shape.merge_key
    left, items, replaces = _after_directives(original, patch, key)
    if replaces:
        left, items = items, []
    merged = list(left)
    inner = shape.element or ANYTHING
    for value in items:
        found = _place(merged, key, _key(value, key))
        if found is None:
            merged.append(value)
        else:
            merged[found] = _merged_map(merged[found], value, inner)
    added = merged[len(left) :]
    # Kubernetes edits the original list in place: the first items that are added take the places of those
    # deleted, and are known by them when the order is set.
    order = [*left, *added[: len(original) - len(left)]] if not replaces else original
    return _arranged(merged, items, left, _by_key(key)), order


def _after_directives(original: Items, patch: Items, key: str) -> tuple[Items, Items, bool]:
    """The original less what is deleted, the patch less its directives, and whether it replaces the list."""
    left, items, replaces = original, [], False
    for value in patch:
        match value.get(DIRECTIVE):
            case None if DIRECTIVE not in value:
                items.append(value)
            case "delete":
                gone = _key(value, key)
                left = [each for each in left if key not in each or not same(each[key], gone)]
            case "replace":
                replaces = True
            case "merge":
                raise internal_error("merging lists cannot yet be specified in the patch")
            case _:
                raise _bad_directive(value)
    return left, items, replaces


def _element_type(*lists: Items) -> str:
    """The one type of all elements."""
    types = [gotext.type_name(value) for values in lists for value in values]
    if not types:
        raise internal_error("no elements in any of the given slices")
    if types[0] == LIST:
        raise Refused(422, "Invalid", GENERIC, details={}, hint="lists of lists are not supported")
    if len(set(types)) > 1:
        raise internal_error(f"list element types are not identical: {gotext.plain(list(lists))}")
    return types[0]


GENERIC = "the server rejected our request due to an error in our request"


def _distinct(values: Items) -> Items:
    found: Items = []
    for value in values:
        if value not in found:
            found.append(value)
    return found


def _key(value: Mapping[str, Any], key: str) -> Any:
    if key not in value:
        raise _no_key(value, key)
    return value[key]


def _place(values: Items, key: str, wanted: Any) -> int | None:
    """Where the element with this key is."""
    for place, value in enumerate(values):
        if not isinstance(value, dict):
            raise internal_error(f"value for key {place} is not a map")
        if key in value and same(value[key], wanted):
            return place
    return None


# -- order --------------------------------------------------------------------------------------------------

Identity: TypeAlias = Callable[[Any], Any]


def _itself(value: Any) -> Any:
    return value


def _by_key(key: str) -> Identity:
    return lambda value: _key(_mapping(value), key)


def _arranged(values: Items, wanted: Items, before: Items, identity: Identity) -> Items:
    """The values in the wanted order; others keep their old place among them, as well as can be."""
    order, old = [identity(value) for value in wanted], [identity(value) for value in before]
    first = [value for value in values if identity(value) in order]
    first.sort(key=lambda value: order.index(identity(value)))
    rest = [value for value in values if identity(value) not in order]
    rest.sort(key=lambda value: old.index(identity(value)) if identity(value) in old else -1)
    return _interleaved(rest, first, [identity(value) for value in rest], old, identity)


def _interleaved(rest: Items, first: Items, ids: Items, old: Items, identity: Identity) -> Items:
    """Two ordered lists in one: an item of the rest goes before the next wanted one if it used to."""
    result: Items = []
    at = 0
    for value in first:
        mine = identity(value)
        while at < len(rest) and mine in old and ids[at] in old and old.index(ids[at]) < old.index(mine):
            result.append(rest[at])
            at += 1
        result.append(value)
    return [*result, *rest[at:]]


def _order_list(result: dict[str, Any], patch: dict[str, Any], directive: str, shape: Shape) -> None:
    """Merge one list and put it into the order that the patch sets; takes both out of the patch."""
    order = patch.pop(directive)
    if not isinstance(order, list):
        raise _bad_type(LIST, order)
    name = _suffix(directive, ORDER, "setElementOrder list")
    original, items = _list_at(result, name), _list_at(patch, name)
    inner = shape.child(_spelled(shape, name))
    if inner is None:
        raise _unknown_field(shape, name)
    _check_order(items or [], order, inner.merge_key)
    if original is None and items is None:
        return
    patch.pop(name, None)
    merged, before = _for_ordering(original, items, inner)
    _element_type(original or [], items or [])
    identity = _by_key(inner.merge_key) if inner.merge_key else _itself
    result[name] = _arranged(merged, order, before, identity)


def _for_ordering(original: Items | None, items: Items | None, shape: Shape) -> tuple[Items, Items]:
    if items is None or original is None:
        merged = original if items is None else _without_directives(items)
        return merged or [], original or []
    if "merge" in shape.merge_strategies:
        return _merged_list(original, items, shape)
    return items, original


def _list_at(values: Mapping[str, Any], name: str) -> Items | None:
    if name not in values:
        return None
    found = values[name]
    if not isinstance(found, list):
        raise _bad_type(LIST, found)
    return found


def _check_order(items: Items, order: Items, key: str) -> None:
    """The patch must bring its items in the order that it sets."""
    if not items or not order:
        return
    kept = [value for value in items if not (key and _mapping(value).get(DIRECTIVE) == "delete")]
    at = place = 0
    while at < len(kept) and place < len(order):
        if _is_directive(kept[at]):
            at += 1
        else:
            at += _same_item(kept[at], order[place], key)
            place += 1
    if at < len(kept):
        patch, wanted = gotext.plain(items), gotext.plain(order)
        raise internal_error(f"The order in patch list:\n{patch}\n doesn't match {ORDER} list:\n{wanted}\n")


def _mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _bad_type(MAP, value)
    return value


def _same_item(left: Any, right: Any, key: str) -> bool:
    if not key:
        return same(left, right)
    return same(_key(_mapping(left), key), _key(_mapping(right), key))
