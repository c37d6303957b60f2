"""What to do about the words of a server that refused a write, where the words say it themselves. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from trimtab.engine.rows import Row
from trimtab.engine.sync.messages import clean
from trimtab.engine.sync.steps import Apply, SyncPlan, WriteMode
from trimtab.kube.failures import CORRECTION

_NO_NAMESPACE: Final = re.compile(r'namespaces "(?P<name>[^"]+)" not found')
#: how servers say of various kinds that a field stays as it was made
_FIXED: Final = re.compile(
    r"\bimmutable\b|may not change once set|cannot change roleRef|may not change fields other than"
    r"|\bupdates to [^;]+ are forbidden"
)
#: a definition is never deleted to be made anew: all objects of its kind would go with it
_DEFINITION: Final = re.compile(r'\bCustomResourceDefinition[\w.]* "')


def without_namespace(name: str, *, destination: str) -> str:
    """What to say of a namespace that is written into, and is not there."""
    return f"namespace {name}: it is not there. {_made(name, destination)}"


def remedy_of(words: str, otherwise: str, *, destination: str) -> str:
    """What to do; `otherwise`, if the words do not say."""
    if _FIXED.search(words):
        anew = ", or have the object deleted and made anew with trimtab.dev/sync-options: Force=true"
        return f"Put the field back{'' if _DEFINITION.search(words) else anew}"
    found = _NO_NAMESPACE.search(words)
    return _made(found["name"], destination) if found else otherwise


def refusal_of(row: Row) -> str:
    """What the server says to an object as its source wants it; nothing if it takes it, or was not asked."""
    words = clean(row.refusal.removeprefix(f"apply {row.key}: ").removesuffix(CORRECTION))
    if not words:
        return ""
    remedy = remedy_of(words, CORRECTION.removesuffix("."), destination="")
    return f"the server refuses it: {words.rstrip('.')}. {remedy}"


def refusals_in(plan: SyncPlan, rows: Iterable[Row]) -> Iterator[str]:
    """What the server is known to refuse of a plan; what replaces an object or makes it anew is not tried."""
    refused = {row.key: told for row in rows if (told := refusal_of(row))}
    for step in plan.steps:
        if isinstance(step, Apply) and step.key in refused and _only_changes(step):
            yield f"{step.key}: {refused[step.key]}"


def _only_changes(step: Apply) -> bool:
    return step.mode is WriteMode.SERVER_SIDE and not step.force


def _made(namespace: str, destination: str) -> str:
    """How a namespace comes to be there; a sync makes the `destination` alone."""
    rather = "sync with --create-namespace" if namespace == destination else "declare it beside the object"
    return f"Make the namespace {namespace}, or {rather}"
