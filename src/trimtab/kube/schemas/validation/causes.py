"""Why the server would refuse an object: one `Cause` per field, in the server's own words.

Only how causes are worded is here; what is wrong is found by the other modules of this folder.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from trimtab.kube.gotext import Shown, html_safe

# The order in which the server writes the fields of the few types that it shows in messages.
_ORDER = {
    name: place
    for place, name in enumerate(
        (
            "apiVersion",
            "kind",
            "name",
            "uid",
            "controller",
            "matchLabels",
            "matchExpressions",
            "key",
            "operator",
        )
    )
}


class Cause(Struct, frozen=True):
    """One thing that is wrong: where, of what sort, and in words."""

    field: str
    reason: str  # FieldValueInvalid, FieldValueRequired, …
    message: str  # without the field's name

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


Causes: TypeAlias = Iterator[Cause]


def required(field: str, detail: str = "") -> Cause:
    """Something that must be given is not."""
    return Cause(field, "FieldValueRequired", _joined("Required value", detail))


def invalid(field: str, value: Any, detail: str) -> Cause:
    """A value that cannot be."""
    return Cause(field, "FieldValueInvalid", _joined(f"Invalid value: {shown(value)}", detail))


def type_invalid(field: str, value: Any, detail: str) -> Cause:
    """A value of another type than the schema says."""
    return Cause(field, "FieldValueTypeInvalid", _joined(f"Invalid value: {shown(value)}", detail))


def not_supported(field: str, value: Any, allowed: Iterable[Any]) -> Cause:
    """A value that is none of the allowed ones."""
    words = ", ".join(quoted(str(each)) for each in allowed)
    told = f"supported values: {words}" if words else ""
    return Cause(field, "FieldValueNotSupported", _joined(f"Unsupported value: {shown(value)}", told))


def duplicate(field: str, value: Any) -> Cause:
    """A value that may stand only once."""
    return Cause(field, "FieldValueDuplicate", f"Duplicate value: {shown(value)}")


def forbidden(field: str, detail: str) -> Cause:
    """A value that may not be set here, or not be changed."""
    return Cause(field, "FieldValueForbidden", f"Forbidden: {detail}")


def not_found(field: str, value: Any) -> Cause:
    """A name that nothing in the object has."""
    return Cause(field, "FieldValueNotFound", f"Not found: {shown(value)}")


def too_long(field: str, limit: int) -> Cause:
    """A value that is too large."""
    return Cause(field, "FieldValueTooLong", f"Too long: may not be more than {limit} {_many(limit, 'byte')}")


def too_many(field: str, number: int, limit: int) -> Cause:
    """A list that has too many items."""
    detail = f"must have at most {limit} {_many(limit, 'item')}"
    return Cause(field, "FieldValueTooMany", f"Too many: {number}: {detail}")


def each_invalid(field: str, value: Any, details: Sequence[str]) -> Causes:
    """One cause per thing that is wrong with the same value."""
    for detail in details:
        yield invalid(field, value, detail)


def _many(number: int, word: str) -> str:
    return word if number == 1 else f"{word}s"


def _joined(head: str, detail: str) -> str:
    return f"{head}: {detail}" if detail else head


# -- values in words -------------------------------------------------------------------------------------


def shown(value: Any) -> str:
    """A value as messages show it: strings quoted, everything else as JSON."""
    if isinstance(value, str):
        return quoted(value)
    return html_safe(json.dumps(_ordered(value), separators=(",", ":"), ensure_ascii=False))


def quoted(text: str) -> str:
    """A string in quotes, as Go quotes it."""
    return "".join(_quoted_character(character) for character in f"{text}").join(('"', '"'))


def _quoted_character(character: str) -> str:
    known = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\a": "\\a", "\b": "\\b"}
    if character in known:
        return known[character]
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _ordered(value: Any) -> Any:
    """Maps by name, the few known types in their own order."""
    if isinstance(value, Shown):
        return {name: _ordered(each) for name, each in value.items()}
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: (_ORDER.get(name, len(_ORDER)), name))
        return {name: _ordered(value[name]) for name in names}
    if isinstance(value, list | tuple):
        return [_ordered(each) for each in value]
    return value


#: groups whose kinds are those of another group inside the server, which refusals tell
INSIDE = {"events.k8s.io": ""}


def refusal(kind: str, group: str, name: str, causes: Sequence[Cause]) -> str:
    """The one sentence of a refusal: `Deployment.apps "x" is invalid: spec.replicas: …`."""
    group = INSIDE.get(group, group)
    who = f"{kind}.{group}" if group else kind
    told = list(dict.fromkeys(str(cause) for cause in causes))
    why = told[0] if len(told) == 1 else f"[{', '.join(told)}]"
    return f'{who} "{name}" is invalid: {why}'


def entries(value: Any) -> Iterator[tuple[int, Any]]:
    """The elements of a list with their numbers; none for what is no list."""
    yield from enumerate(value if isinstance(value, list) else ())


def part(value: Any, name: str) -> Mapping[str, Any]:
    """An object inside another one; empty where there is none."""
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}
