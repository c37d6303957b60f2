"""JSON schemas of charts: whether helm, to use one, would open another document. Pure.

Helm's validator opens whatever a schema refers to, files of the machine and addresses alike, also for the
charts that a chart depends on. So every schema is read here first, as a whole: escapes hide nothing.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from trimtab.sources.rendering.paths import shown

FILE: Final = "values.schema.json"
_REFERENCES: Final = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})
#: the languages of schemas, which a validator knows by heart
_KNOWN: Final = re.compile(r"https?://json-schema\.org/[A-Za-z0-9./-]*#?")


class _Outside(Exception):
    """A reference to another document."""


def objection_to(schema: bytes) -> str:
    """What speaks against having helm read a schema; empty if nothing does."""
    text = schema.decode("utf-8", "replace")
    try:
        # Numbers stay texts: they mean nothing here, and one may be longer than Python cares to count.
        json.loads(text or "{}", object_pairs_hook=_checked, parse_int=str, parse_float=str)
    except _Outside as found:
        return f"refers to another document, {shown(str(found))}"
    except RecursionError:
        return "is nested too deep"
    except ValueError:
        return "is no JSON"
    return ""


def _checked(pairs: list[tuple[str, Any]]) -> None:
    """Look at every pair, also at one that a later pair of the same name stands in for."""
    for name, value in pairs:
        if not isinstance(value, str):
            continue
        is_outside = name in _REFERENCES and not value.startswith("#")
        if is_outside or (name == "$schema" and not _KNOWN.fullmatch(value)):
            raise _Outside(value)
