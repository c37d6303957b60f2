"""Rows: one object, as Git wants it and as it is, and what the comparison found. Pure."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from trimtab.engine.live import Live
from trimtab.engine.marks import Mark
from trimtab.resources.keys import ResourceKey
from trimtab.resources.manifests import Manifest


class Desired(Struct, frozen=True, kw_only=True):
    """One object as Git wants it: normalised, in its namespace, marked, ready to be written.

    `digest` tells one content from another inside this process. It is not keyed, so that of a Secret is
    neither shown nor stored.
    """

    key: ResourceKey
    api_version: str
    manifest: Manifest
    digest: bytes
    where: str = ""
    #: the object has no name but this beginning of one: its key is made up, and each write makes a new object
    generate_name: str = ""

    def __repr__(self) -> str:
        # The manifest of a Secret must not end up in a log by way of a value that holds it.
        return f"<desired {self.key}>"


class Verdict(enum.Enum):
    """What the comparison of one object says."""

    SYNCED = "Synced"
    OUT_OF_SYNC = "OutOfSync"
    UNKNOWN = "Unknown"


class Difference(Struct, frozen=True, kw_only=True):
    """One field that is not as Git wants it, whose it is now, and the rule by which it counts.

    The values of Secrets are stand-ins. `path` is a JSON pointer; a side that has no value is None.
    """

    path: str
    desired: Any
    live: Any
    #: who owns the field in the live object; several are separated by commas, empty means nobody
    manager: str
    #: why it counts: changed, absent, given up, reordered, other version, server
    rule: str

    def __str__(self) -> str:
        """In one line: what, how it is, how it should be, whose it is."""
        owner = f", set by {self.manager}" if self.manager else ""
        return f"{self.path}: {self.live!r} instead of {self.desired!r} ({self.rule}{owner})"


class Row(Struct, frozen=True, kw_only=True):
    """One object of a unit: desired without live is to be made, live without desired is to be pruned."""

    key: ResourceKey
    desired: Desired | None
    live: Live | None
    verdict: Verdict
    differences: tuple[Difference, ...] = ()
    #: whether the live object is the one its mark names, not somebody's copy: only such rows are ever pruned
    ours: bool = True
    #: somebody else's mark on the live object
    claimed_by: Mark | None = None
    #: why this row can be neither judged nor written
    problem: str = ""
    #: why the server would not take the wanted object as it is; replacing the live one may do
    refusal: str = ""
    #: whether it makes its unit out of sync; an object may say of itself that it does no harm
    taints: bool = True


def verdict_of(rows: Iterable[Row]) -> Verdict:
    """What the rows say of their unit: what cannot be told of one cannot be told of all."""
    found = Verdict.SYNCED
    for row in rows:
        if row.verdict is Verdict.UNKNOWN:
            return Verdict.UNKNOWN
        if row.verdict is Verdict.OUT_OF_SYNC and row.taints:
            found = Verdict.OUT_OF_SYNC
    return found
