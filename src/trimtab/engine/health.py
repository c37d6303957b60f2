"""How well an object is: the words for it, best to worst. Pure."""

from __future__ import annotations

import enum

from msgspec import Struct


class HealthStatus(enum.Enum):
    """The judgement, best to worst in this order."""

    HEALTHY = "Healthy"
    SUSPENDED = "Suspended"
    PROGRESSING = "Progressing"
    MISSING = "Missing"
    DEGRADED = "Degraded"
    UNKNOWN = "Unknown"


class Health(Struct, frozen=True, gc=False):
    """A judgement and why."""

    status: HealthStatus
    message: str = ""
