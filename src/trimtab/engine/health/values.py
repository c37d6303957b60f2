"""The words for health, best to worst, and what every judgement looks at. Pure values."""

from __future__ import annotations

import enum
from typing import Any, Final

from msgspec import Struct

#: hooks carry one so that their outcome can be read before they go; with it, being deleted is no news
HOOK_FINALIZER: Final = "trimtab.dev/hook-finalizer"
ARGOCD_HOOK_FINALIZER: Final = "argocd.argoproj.io/hook-finalizer"
HOOK_FINALIZERS: Final = frozenset({HOOK_FINALIZER, ARGOCD_HOOK_FINALIZER})
HOOK_ANNOTATIONS: Final = ("trimtab.dev/hook", "argocd.argoproj.io/hook", "helm.sh/hook")
IGNORE_RESTART_POLICY: Final = "argocd.argoproj.io/ignore-restart-policy"


class HealthStatus(enum.Enum):
    """The judgement, best to worst in this order."""

    HEALTHY = "Healthy"
    SUSPENDED = "Suspended"
    PROGRESSING = "Progressing"
    MISSING = "Missing"
    DEGRADED = "Degraded"
    UNKNOWN = "Unknown"

    # There is one of each, so identity will do; enum's own way runs Python code for each object of a cluster.
    __hash__ = object.__hash__

    @property
    def rank(self) -> int:
        """How bad it is: 0 is best."""
        return _RANKS[self]


_RANKS: Final = {status: place for place, status in enumerate(HealthStatus)}


class Health(Struct, frozen=True, gc=False):
    """A judgement and why."""

    status: HealthStatus
    message: str = ""


PENDING_DELETION: Final = Health(HealthStatus.PROGRESSING, "Pending deletion")


def healthy(message: str = "") -> Health:
    """All is well."""
    return Health(HealthStatus.HEALTHY, message)


def progressing(message: str = "") -> Health:
    """It is on its way."""
    return Health(HealthStatus.PROGRESSING, message)


def degraded(message: str = "") -> Health:
    """It has failed, or cannot go on."""
    return Health(HealthStatus.DEGRADED, message)


def suspended(message: str = "") -> Health:
    """Somebody has stopped it."""
    return Health(HealthStatus.SUSPENDED, message)


def unknown(message: str = "") -> Health:
    """It cannot be told."""
    return Health(HealthStatus.UNKNOWN, message)


class Meta(Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """The metadata that judgements look at."""

    name: str | None = None
    generation: int | None = None
    deletion_timestamp: str | None = None
    finalizers: tuple[str, ...] | None = None
    annotations: dict[str, Any] | None = None

    def annotation(self, name: str) -> str:
        """The text of an annotation; empty if there is none."""
        text = (self.annotations or {}).get(name)
        return text if isinstance(text, str) else ""


class Seen(Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """What is looked at before the kind's own rule: an object of any kind."""

    api_version: str = ""
    kind: str = ""
    metadata: Meta | None = None


class Condition(Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """One line of `status.conditions`."""

    type: str = ""
    status: str = ""
    reason: str | None = None
    message: str | None = None

    @property
    def is_true(self) -> bool:
        """Whether the condition holds."""
        return self.status == "True"

    @property
    def told(self) -> str:
        """Reason and message in one line."""
        return f"{self.reason or ''}: {self.message or ''}"
