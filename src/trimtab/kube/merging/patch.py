"""Merge patches (RFC 7386) and JSON patches (RFC 6902), as Kubernetes carries them out.

Strategic merge patches, which need to know the kind, are in `strategic`. What is given is never changed.
Kubernetes deviates from the RFCs in places; these functions side with Kubernetes:

- `replace` of a missing key adds it; `copy` of a missing key, and a missing `value`, stand for null;
- a negative index counts from the end; `+1` and `01` are indices;
- whatever goes wrong while operations are carried out gets one and the same answer (the hint says more);
- merge patches drop nulls also inside lists that they bring;
- maps that a patch reaches into come out sorted by key, others as they were: refusals show the result.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from trimtab.kube import gotext
from trimtab.kube.integers import whole
from trimtab.kube.merging.typed import same
from trimtab.kube.refusals import Refused, bad_request

MOST_OPERATIONS = 10_000
LARGEST_COPY = 3 * 1024 * 1024
Operation: TypeAlias = Mapping[str, Any]
_INDEX = re.compile(r"[+-]?[0-9]+")
_JSON_KINDS = {bool: "bool", int: "number", float: "number", str: "string", list: "array", dict: "object"}


# -- merge patch --------------------------------------------------------------------------------------------


def merge_patch(document: Mapping[str, Any], patch: Any) -> dict[str, Any]:
    """The document after a JSON merge patch."""
    if patch is None:
        raise bad_request("Invalid JSON Patch")
    if not isinstance(patch, dict):
        raise bad_request(f"error decoding patch: {not_a_map(patch)}")
    return _merged(document, patch)


def not_a_map(value: Any) -> str:
    """How Go complains about JSON that is not an object."""
    return (
        f"json: cannot unmarshal {_JSON_KINDS[type(value)]} into Go value of type map[string]interface {{}}"
    )


def _merged(document: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(document)
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = _merged_value(result.get(name), value)
    return dict(sorted(result.items()))


def _merged_value(before: Any, value: Any) -> Any:
    if not isinstance(before, dict):
        return without_nulls(value)
    return _merged(before, value) if isinstance(value, dict) else value


def without_nulls(value: Any) -> Any:
    """The value without fields that are null, inside lists too; null items of lists stay."""
    match value:
        case dict():
            return {name: without_nulls(value[name]) for name in sorted(value) if value[name] is not None}
        case list():
            return [without_nulls(each) for each in value]
        case _:
            return value


# -- JSON patch ---------------------------------------------------------------------------------------------


class _Failed(Exception):
    """An operation that cannot be carried out."""


def json_patch(document: Mapping[str, Any], patch: Any) -> Any:
    """The document after a JSON patch; usually an object, unless the patch replaces the whole."""
    operations = _operations(patch)
    editing = _Editing(copied(document))
    for operation in operations:
        try:
            editing.carry_out(operation)
        except _Failed as exc:
            raise _rejected(str(exc)) from exc
    return editing.result()


def _rejected(hint: str) -> Refused:
    message = "the server rejected our request due to an error in our request"
    return Refused(422, "Invalid", message, details={}, hint=hint)


def _operations(patch: Any) -> list[Operation]:
    if patch is None:
        return []
    if not isinstance(patch, list):
        raise _undecodable(patch, "value of type []handlers.jsonPatchOp")
    for operation in patch:
        if operation is not None and not isinstance(operation, dict):
            raise _undecodable(operation, "value of type handlers.jsonPatchOp")
        for name in ("op", "path", "from"):
            text = (operation or {}).get(name, "")
            if text is not None and not isinstance(text, str):
                raise _undecodable(text, f"struct field jsonPatchOp.{name} of type string")
    if len(patch) > MOST_OPERATIONS:
        told = f"The allowed maximum operations in a JSON patch is {MOST_OPERATIONS}, got {len(patch)}"
        raise Refused(413, "RequestEntityTooLarge", f"Request entity too large: {told}")
    return [operation or {} for operation in patch]


def _undecodable(value: Any, into: str) -> Refused:
    kind = _JSON_KINDS[type(value)]
    return bad_request(f"error decoding patch: json: cannot unmarshal {kind} into Go {into}")


def copied(value: Any) -> Any:
    """A copy of a JSON value that shares no list or map with it."""
    match value:
        case dict():
            return {name: copied(each) for name, each in value.items()}
        case list():
            return [copied(each) for each in value]
        case _:
            return value


class _Editing:
    """One document while operations are carried out on it; the copy is its own."""

    def __init__(self, document: Any) -> None:
        self.document = document
        self._copied = 0
        self._entered: list[dict[str, Any]] = []  # maps that operations have reached into

    def result(self) -> Any:
        """The document after all operations."""
        for holder in (self.document, *self._entered):
            if isinstance(holder, dict):
                pairs = sorted(holder.items())
                holder.clear()
                holder.update(pairs)
        return self.document

    def carry_out(self, operation: Operation) -> None:
        """Change the document as one operation says."""
        kinds: dict[Any, Callable[[Operation], None]] = {
            "add": self._add,
            "remove": self._remove,
            "replace": self._replace,
            "move": self._move,
            "copy": self._copy,
            "test": self._test,
        }
        kind = operation.get("op")
        if kind not in kinds:
            raise _Failed(f"there is no operation {kind or 'without a name'}")
        kinds[kind](operation)

    def _add(self, operation: Operation) -> None:
        self._put(_pointer(operation, "path"), copied(operation.get("value")))

    def _remove(self, operation: Operation) -> None:
        self._take(_pointer(operation, "path"))

    def _replace(self, operation: Operation) -> None:
        pointer = _pointer(operation, "path")
        value = copied(operation.get("value"))
        if pointer == "":
            if not isinstance(value, dict | list):
                raise _Failed("the whole can only be replaced by an object or a list")
            self.document = value
            return
        holder, key = self._holder(pointer)
        if isinstance(holder, list):
            holder[_index(key, len(holder))] = value
        else:
            holder[key] = value

    def _move(self, operation: Operation) -> None:
        value = self._take(_pointer(operation, "from"))
        self._put(_pointer(operation, "path"), value)

    def _copy(self, operation: Operation) -> None:
        value = self._value(_pointer(operation, "from"))
        self._copied += len(gotext.to_json(value)) if value is not None else 0
        if self._copied > LARGEST_COPY:
            raise _Failed(f"copies add up to more than {LARGEST_COPY} bytes")
        self._put(_pointer(operation, "path"), copied(value))

    def _test(self, operation: Operation) -> None:
        pointer = _pointer(operation, "path")
        value = self._value(pointer) if pointer else self.document
        if not _identical(value, operation.get("value")):
            raise _Failed(f"the test of {pointer} failed")

    def _value(self, pointer: str) -> Any:
        """What is there; null for a key that a map does not have."""
        holder, key = self._holder(pointer)
        return holder[_index(key, len(holder))] if isinstance(holder, list) else holder.get(key)

    def _put(self, pointer: str, value: Any) -> None:
        holder, key = self._holder(pointer)
        if not isinstance(holder, list):
            holder[key] = value
        elif key == "-":
            holder.append(value)
        else:
            holder.insert(_index(key, len(holder) + 1), value)

    def _take(self, pointer: str) -> Any:
        holder, key = self._holder(pointer)
        if isinstance(holder, list):
            return holder.pop(_index(key, len(holder)))
        if key not in holder:
            raise _Failed(f"there is nothing at {pointer}")
        return holder.pop(key)

    def _holder(self, pointer: str) -> tuple[Any, str]:
        """The list or map that holds what a pointer points to, and the key there."""
        if "/" not in pointer:
            raise _Failed(f"{pointer or 'the empty pointer'} points to nothing within the object")
        *parts, key = map(_unescaped, pointer.split("/")[1:])
        holder = self.document
        for part in parts:
            inside = isinstance(holder, list)
            holder = holder[_index(part, len(holder))] if inside else holder.get(part)
            if not isinstance(holder, list | dict):
                raise _Failed(f"there is no list or object above {pointer}")
            if isinstance(holder, dict):
                self._entered.append(holder)
        return holder, key


def _pointer(operation: Operation, name: str) -> str:
    pointer = operation.get(name)
    if pointer is None:
        raise _Failed(f"the operation has no {name}")
    return str(pointer)


def _unescaped(part: str) -> str:
    return part.replace("~1", "/").replace("~0", "~")


def _index(text: str, length: int) -> int:
    """A place in a list of this length; negative ones count from the end."""
    index = whole(text) if _INDEX.fullmatch(text) else None
    if index is None:
        raise _Failed(f"{text} is not an index")
    if not -length <= index < length:
        raise _Failed(f"index {index} is out of bounds")
    return index % length


def _identical(left: Any, right: Any) -> bool:
    """Equality as `test` means it: 1 is not 1.0."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and _are_identical(
            (each, right[name]) for name, each in left.items()
        )
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and _are_identical(zip(left, right, strict=True))
    return type(left) is type(right) and same(left, right)


def _are_identical(pairs: Iterable[tuple[Any, Any]]) -> bool:
    for left, right in pairs:  # noqa: SIM110 - `all` would go through C, once for each level
        if not _identical(left, right):
            return False
    return True
