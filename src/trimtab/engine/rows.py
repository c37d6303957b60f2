"""Rows: one object, as Git wants it and as it is, and what the comparison found. Pure."""

from __future__ import annotations

import enum
from typing import Any

from msgspec import Struct

from trimtab.engine.live import Live
from trimtab.engine.marks import Mark
from trimtab.resources.keys import ResourceKey
from trimtab.resources.manifests import Manifest


class Desired(Struct, frozen=True, kw_only=True):
    """One object as Git wants it: normalised, in its namespace, marked, ready to be written."""

    key: ResourceKey
    api_version: str
    manifest: Manifest
    digest: bytes
    where: str = ""


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
    manager: str
    rule: str


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
