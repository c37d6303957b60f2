"""Fields that a kind does not have: dropped, and told about.

The server prunes built-in kinds by decoding them and custom kinds by their structural schema; both drop what
is unknown and can warn of it or refuse it, with one text per field. Fields that stand twice in the same
object are seen by whoever decodes the JSON; only their text is here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from trimtab.kube.schemas.schema import UNDECLARED, Schema


class Pruned(Struct, frozen=True, kw_only=True):
    """What is left of an object, and the paths of what was dropped."""

    manifest: dict[str, Any]
    dropped: tuple[str, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """One text per dropped field, as it stands in a Warning header."""
        return tuple(unknown_field(path) for path in self.dropped)


def pruned(manifest: Mapping[str, Any], schema: Schema) -> Pruned:
    """The object without the fields that its kind does not have; the given one is left as it is."""
    dropped: list[str] = []
    left = _object(manifest, schema, "", dropped)
    return Pruned(manifest=left, dropped=tuple(dropped if schema.model else sorted(dropped, key=_in_order)))


def pruned_value(value: Any, schema: Schema) -> Any:
    """A value anywhere in an object without the fields that its schema does not have."""
    return _value(value, schema, "", [])


def _in_order(path: str) -> tuple[int, str]:
    """Of custom kinds the server tells its own metadata first and that of embedded objects last."""
    return 0 if path.startswith("metadata.") else 2 if ".metadata." in path else 1, path


def unknown_field(path: str) -> str:
    """The server's words for a field that the kind does not have."""
    return f'unknown field "{path}"'


def duplicate_field(path: str) -> str:
    """The server's words for a field that is given twice."""
    return f'duplicate field "{path}"'


def strict_refusal(kind: str, version: str, problems: Sequence[str]) -> str:
    """The message of a bad request where strict field validation was asked for."""
    told = f"strict decoding error: {', '.join(problems)}"
    return f'{kind} in version "{version}" cannot be handled as a {kind}: {told}'


def _object(value: Mapping[str, Any], schema: Schema, path: str, dropped: list[str]) -> dict[str, Any]:
    left = {}
    for name, each in value.items():
        field = schema.child(name)
        place = f"{path}.{name}" if path else name
        if field is None:
            dropped.append(place)
        else:
            left[name] = _value(each, field, place, dropped)
    return left


def _value(value: Any, schema: Schema, path: str, dropped: list[str]) -> Any:
    if isinstance(value, dict):
        return _object(value, schema, path, dropped) if _has_fields(schema) else value
    if isinstance(value, list) and schema.element is not None:
        return [
            _value(each, schema.element, f"{path}[{number}]", dropped) for number, each in enumerate(value)
        ]
    return value


def _has_fields(schema: Schema) -> bool:
    """Whether anything below is known; where a value has the wrong type, others complain."""
    return schema.type == "object" or schema.embedded or bool(schema.properties) or schema is UNDECLARED
