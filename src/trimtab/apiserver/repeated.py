"""Fields that stand twice in a body: what the server makes of them. Pure.

A built-in kind is decoded into Go structs: the second time a field comes, it is read into what the first
one left. Structs and maps are completed, elements of lists are read over those before them, other values are
replaced.
"""

from __future__ import annotations

from typing import Any

from trimtab.kube.schemas.schema import Schema


class Pairs(list[tuple[str, Any]]):
    """An object with its fields as they were written."""


_ABSENT = object()


def merged(written: Any, schema: Schema | None) -> Any:
    """What a value that was written so is read as."""
    return _onto(_ABSENT, written, schema)


def _onto(before: Any, written: Any, schema: Schema | None) -> Any:
    """What is there after a value was read over what was there before."""
    if written is None:
        return None if before is _ABSENT or _can_be_none(before, schema) else before
    if isinstance(written, Pairs):
        return _object(before, written, schema)
    if isinstance(written, list):
        element = schema.element if schema is not None else None
        old = before if isinstance(before, list) and _is_struct(element) else []
        return [
            _onto(old[place] if place < len(old) else _ABSENT, each, element)
            for place, each in enumerate(written)
        ]
    return written


def _object(before: Any, written: Pairs, schema: Schema | None) -> dict[str, Any]:
    struct = _is_struct(schema)
    known = schema is not None and (struct or schema.values is not None)
    read: dict[str, Any] = dict(before) if known and isinstance(before, dict) else {}
    for name, each in written:
        old = read.get(name, _ABSENT) if struct else _ABSENT
        read[name] = _onto(old, each, schema.child(name) if schema is not None else None)
    return read


def _is_struct(schema: Schema | None) -> bool:
    return (
        schema is not None
        and schema.type == "object"
        and schema.values is None
        and not schema.preserves_unknown
    )


def _can_be_none(before: Any, schema: Schema | None) -> bool:
    """Whether null empties a field; what is neither pointer nor collection stays as it was."""
    pointer = schema is not None and schema.go is not None and schema.go.pointer
    return pointer or isinstance(before, list) or (isinstance(before, dict) and not _is_struct(schema))
