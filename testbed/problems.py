"""What can go wrong while getting and starting real parts, in the house's error tree."""

from __future__ import annotations

from trimtab.errors import Missing, Unavailable


class PartMissing(Missing):
    """A real part is not on this machine and cannot be made here; the remedy says how to get it."""


class BuildFailed(Unavailable):
    """A part could not be built from its pinned sources."""


class PartFailed(Unavailable):
    """A part was started and did not come up, or died; the message ends with its last log lines."""
