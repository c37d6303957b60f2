"""In which order the server writes the fields of an object: messages that show an object show it so.

Structs of built-in kinds are written in the order of their Go fields, maps and custom resources by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trimtab.kube.schemas.schema import Schema


def as_written(manifest: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    """The object with its fields in the order in which the server writes them."""
    whole: dict[str, Any] = _ordered(manifest, schema if schema.model else None)
    return whole


def _ordered(value: Any, schema: Schema | None) -> Any:
    if isinstance(value, list):
        element = schema.element if schema is not None else None
        return [_ordered(each, element) for each in value]
    if not isinstance(value, dict):
        return value
    if schema is not None and schema.preserves_unknown:
        return value  # kept as it came
    named = [name for name in schema.properties if name in value] if schema is not None else []
    rest = sorted(name for name in value if name not in named)
    below = schema.child if schema is not None else lambda _name: None
    return {name: _ordered(value[name], below(name)) for name in (*named, *rest)}
