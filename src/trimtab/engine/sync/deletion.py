"""Deleting a unit: what of it there is, so that a plan can say what goes and what stays. Pure.

A unit is deleted by wanting nothing of it. What is its own is known by its mark alone, so no source is asked;
what it once had and cannot be seen now stops the deletion, because error is not empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from trimtab.engine.live import LiveView
from trimtab.engine.marks import Mark, Tracking
from trimtab.engine.rows import Row, Verdict
from trimtab.engine.units import SyncUnit
from trimtab.resources.keys import ResourceKey

UNSEEN: Final = "whether it is still there is not known, because its kind cannot be read"


def deletion_rows(unit: SyncUnit, rows: Iterable[Row], live: LiveView, tracking: Tracking) -> tuple[Row, ...]:
    """The rows of a unit of which nothing is wanted, with what a sync does not speak of.

    Those are hooks that were left, objects that somebody else has taken over since, and objects of kinds that
    cannot be read now.
    """
    found = {row.key: row for row in rows}
    mark = tracking.mark_for(unit.id)
    for key in (each.key for each in unit.status.resources):
        if key not in found and (row := _missed(key, live, mark)) is not None:
            found[key] = row
    for row in _hooks(live, mark, tracking):
        found.setdefault(row.key, row)
    return tuple(found[key] for key in sorted(found))


def _missed(key: ResourceKey, live: LiveView, mark: Mark) -> Row | None:
    """What is to be said of an object that the unit had when it was last looked at."""
    now = live.get(key)
    if now is None:
        is_gone = live.knows(key.group, key.kind, key.namespace)
        return None if is_gone else _row(key, problem=UNSEEN)
    if now.mark is None or now.mark == mark:
        return None
    return Row(key=key, desired=None, live=now, verdict=Verdict.SYNCED, ours=False, claimed_by=now.mark)


def _row(key: ResourceKey, *, problem: str) -> Row:
    return Row(key=key, desired=None, live=None, verdict=Verdict.UNKNOWN, problem=problem)


def _hooks(live: LiveView, mark: Mark, tracking: Tracking) -> Iterator[Row]:
    """What carries the mark and has no row: hooks, which a sync leaves to their own policies."""
    for each in live.managed(mark):
        manifest = live.manifest(each.key)
        if manifest is not None and tracking.is_itself(manifest, each.key, None):
            yield Row(key=each.key, desired=None, live=each, verdict=Verdict.OUT_OF_SYNC)
