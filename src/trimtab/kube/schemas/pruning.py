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

META = ("apiVersion", "kind", "metadata")


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
    left: dict[str, Any] = (
        _object(manifest, schema, "", dropped) if schema.model else _custom(manifest, schema, "", dropped)
    )
    return Pruned(manifest=left, dropped=tuple(dropped if schema.model else sorted(dropped, key=_in_order)))


def pruned_value(value: Any, schema: Schema) -> Any:
    """A value anywhere in a custom resource without the fields that its schema does not have."""
    return _custom({"value": value}, Schema({"properties": {"value": schema.rules}}), ".", [])["value"]


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
    return schema.type == "object" or schema.embedded or bool(schema.properties)


# -- custom resources -------------------------------------------------------------------------------------


def _custom(value: Any, schema: Schema | None, path: str, dropped: list[str]) -> Any:
    """What is left of a value by what the schema declares, whatever type it says; None declares nothing."""
    if isinstance(value, list):
        element = schema.element if schema is not None else None
        if schema is not None and schema.preserves_unknown and element is None:
            return value
        return [_custom(each, element, f"{path}[{number}]", dropped) for number, each in enumerate(value)]
    if not isinstance(value, dict):
        return value
    left = {}
    for name, each in value.items():
        place = f"{path}.{name}" if path else name
        if name in META and (not path or (schema is not None and schema.embedded)):
            left[name] = _meta(name, each, schema, place, dropped)
        elif schema is not None and name in schema.properties:
            left[name] = _custom(each, schema.child(name), place, dropped)
        elif schema is not None and schema.values is not None:
            values = None if schema.values is UNDECLARED else schema.values
            left[name] = _custom(each, values, place, dropped)
        elif schema is not None and schema.preserves_unknown:
            left[name] = each
        else:
            dropped.append(place)
    return left


def _meta(name: str, value: Any, schema: Schema | None, path: str, dropped: list[str]) -> Any:
    """What every object has, and the definition need not declare."""
    meta = schema.child(name) if schema is not None else None
    return _value(value, meta, path, dropped) if meta is not None else value
