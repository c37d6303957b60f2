"""Secrets as Argo CD shows them: plus signs that tell whether values are equal, and nothing else. Pure.

Our own comparisons show keyed stand-ins (`trimtab.resources.secrets`). This is for those who read Argo CD's
answers: under one key the first distinct value is `++++++++`, every further one is four signs longer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Final

import msgspec

from trimtab.engine.compare.normalising import with_data_for_string_data
from trimtab.resources.manifests import Manifest
from trimtab.resources.secrets import LAST_APPLIED

SHORTEST: Final = "++++++++"
LONGER: Final = "++++"


def masked_pair(
    target: Manifest | None, live: Manifest | None, hidden_annotations: Collection[str] = ()
) -> tuple[Manifest | None, Manifest | None]:
    """Both sides of a Secret without its values and those of some annotations; a side may be absent."""
    signs = _Signs()
    sides = [with_data_for_string_data(side) if side is not None else None for side in (target, live)]
    copies = [_last_applied(side) for side in sides]
    for each in (*sides, *copies):  # what is seen first is shortest: what is wanted, then what is
        if each is not None:
            signs.see(each, hidden_annotations)
    masked = [
        None if side is None else _masked(side, copy, signs, hidden_annotations)
        for side, copy in zip(sides, copies, strict=True)
    ]
    return masked[0], masked[1]


class _Signs:
    """Which signs stand for which value, key by key."""

    def __init__(self) -> None:
        self._signs: dict[tuple[str, str], dict[bytes, str]] = {}

    def see(self, manifest: Manifest, hidden: Collection[str]) -> None:
        """Choose signs for the values of an object, where none are chosen yet."""
        for field, name, value in _values(manifest, hidden):
            known = self._signs.setdefault((field, name), {})
            known.setdefault(msgspec.json.encode(value), SHORTEST + LONGER * len(known))

    def hidden(self, field: str, name: str, value: Any) -> str:
        """The signs for a value."""
        return self._signs[field, name][msgspec.json.encode(value)]


def _values(manifest: Manifest, hidden: Collection[str]) -> Iterator[tuple[str, str, Any]]:
    data, annotations = manifest.get("data"), _annotations(manifest)
    for name, value in data.items() if isinstance(data, dict) else ():
        yield "data", name, value
    for name, value in annotations.items():
        if name in hidden and name != LAST_APPLIED:
            yield "annotation", name, value


def _masked(manifest: Manifest, copy: Manifest | None, signs: _Signs, hidden: Collection[str]) -> Manifest:
    found = _without_values(manifest, signs, hidden)
    annotations = _annotations(found)
    if LAST_APPLIED not in annotations:
        return found
    if copy is None or LAST_APPLIED in hidden:
        shown = SHORTEST
    else:
        shown = msgspec.json.encode(_without_values(copy, signs, hidden)).decode()
    return {**found, "metadata": {**found["metadata"], "annotations": {**annotations, LAST_APPLIED: shown}}}


def _without_values(manifest: Manifest, signs: _Signs, hidden: Collection[str]) -> Manifest:
    data, annotations = manifest.get("data"), _annotations(manifest)
    found = dict(manifest)
    if isinstance(data, dict):
        found["data"] = {name: signs.hidden("data", name, value) for name, value in data.items()}
    elif data is not None:
        found["data"] = SHORTEST
    if any(name in hidden for name in annotations):
        shown = {
            name: signs.hidden("annotation", name, text) if name in hidden and name != LAST_APPLIED else text
            for name, text in annotations.items()
        }
        found["metadata"] = {**manifest["metadata"], "annotations": shown}
    return found


def _last_applied(manifest: Manifest | None) -> Manifest | None:
    """The object inside the annotation of client-side apply; None if there is none that can be read."""
    text = _annotations(manifest or {}).get(LAST_APPLIED)
    try:
        found = msgspec.json.decode(text) if isinstance(text, str) else None
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    return with_data_for_string_data(found) if isinstance(found, dict) else None


def _annotations(manifest: Manifest) -> dict[str, Any]:
    metadata = manifest.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    return annotations if isinstance(annotations, dict) else {}
