"""Events: every decision and every outcome of the engine as a typed value, for logs, metrics and callers.

The union is closed: whoever matches on it is told by the type checker what he left out. As text an event is a
sentence. Publishing costs nothing when nobody listens. Events hold names and words that errors may hold, too,
never manifests.
"""

from __future__ import annotations

import enum
from datetime import datetime
from typing import TypeAlias

import msgspec
from msgspec import Struct

from trimtab.engine.health import HealthStatus
from trimtab.engine.listeners import Listeners
from trimtab.engine.operations import OperationPhase, StepStatus, SyncPhase
from trimtab.engine.rows import Verdict
from trimtab.resources.counting import counted
from trimtab.resources.keys import ResourceKey
from trimtab.resources.sentences import joined


class UnitRefreshed(Struct, frozen=True, kw_only=True, tag_field="event", tag="UnitRefreshed"):
    """A unit was compared with its cluster."""

    at: datetime
    unit: str
    cluster: str
    verdict: Verdict
    health: HealthStatus
    revision: str
    objects: int
    differing: int
    seconds: float

    def __str__(self) -> str:
        states = f"{self.verdict.value} and {self.health.value}"
        return f"{states} at {self.revision}, {counted(self.differing, 'object differs', 'objects differ')}"


class ComparisonFailed(Struct, frozen=True, kw_only=True, tag_field="event", tag="ComparisonFailed"):
    """A unit could not be compared; nothing of it is touched until it can be."""

    at: datetime
    unit: str
    reason: str

    def __str__(self) -> str:
        return self.reason


class SyncLeft(Struct, frozen=True, kw_only=True, tag_field="event", tag="SyncLeft"):
    """Auto-sync leaves a unit alone, now for this reason."""

    at: datetime
    unit: str
    reason: str

    def __str__(self) -> str:
        return self.reason


class SyncRefused(Struct, frozen=True, kw_only=True, tag_field="event", tag="SyncRefused"):
    """Auto-sync would have something to do and does not; somebody should look."""

    at: datetime
    unit: str
    reason: str

    def __str__(self) -> str:
        return self.reason


class SyncPostponed(Struct, frozen=True, kw_only=True, tag_field="event", tag="SyncPostponed"):
    """Self-heal waits."""

    at: datetime
    unit: str
    until: datetime
    reason: str

    def __str__(self) -> str:
        return f"{self.reason} until {self.until:%H:%M:%S}"


class OperationStarted(Struct, frozen=True, kw_only=True, tag_field="event", tag="OperationStarted"):
    """An operation begins."""

    at: datetime
    unit: str
    revision: str
    automated: bool
    dry_run: bool
    reason: str

    def __str__(self) -> str:
        return f"sync to {self.revision or 'the newest revision'}: {self.reason}"


class OperationPlanned(Struct, frozen=True, kw_only=True, tag_field="event", tag="OperationPlanned"):
    """What an operation will do is known."""

    at: datetime
    unit: str
    plan: str
    steps: int

    def __str__(self) -> str:
        return f"plan {self.plan[:12]} has {counted(self.steps, 'step')}"


class OperationVetoed(Struct, frozen=True, kw_only=True, tag_field="event", tag="OperationVetoed"):
    """Somebody who is asked before syncs said no."""

    at: datetime
    unit: str
    reason: str

    def __str__(self) -> str:
        return self.reason


class StepDone(Struct, frozen=True, kw_only=True, tag_field="event", tag="StepDone"):
    """One object was written or deleted, or that failed."""

    at: datetime
    unit: str
    key: ResourceKey
    phase: SyncPhase
    status: StepStatus
    hook: bool
    message: str

    def __str__(self) -> str:
        told = f"{self.key} {self.status.value}"
        says_more = self.message and self.message != self.status.value.lower()
        return f"{told}: {self.message}" if says_more else told


class OperationWaits(Struct, frozen=True, kw_only=True, tag_field="event", tag="OperationWaits"):
    """An operation waits, and says for what."""

    at: datetime
    unit: str
    message: str

    def __str__(self) -> str:
        return self.message


class OperationRetried(Struct, frozen=True, kw_only=True, tag_field="event", tag="OperationRetried"):
    """An operation failed and is tried again."""

    at: datetime
    unit: str
    retries: int
    until: datetime
    message: str

    def __str__(self) -> str:
        return f"{self.message}; retry {self.retries} at {self.until:%H:%M:%S}"


class OperationEnded(Struct, frozen=True, kw_only=True, tag_field="event", tag="OperationEnded"):
    """An operation is over."""

    at: datetime
    unit: str
    cluster: str
    phase: OperationPhase
    revision: str
    dry_run: bool
    seconds: float
    message: str

    def __str__(self) -> str:
        return f"{self.phase.value} after {self.seconds:.1f} s: {self.message}"


class UnitUnreadable(Struct, frozen=True, kw_only=True, tag_field="event", tag="UnitUnreadable"):
    """What the store holds of a unit cannot be read; whatever was known of it still holds."""

    at: datetime
    unit: str
    reason: str

    def __str__(self) -> str:
        return self.reason


class UnitForgotten(Struct, frozen=True, kw_only=True, tag_field="event", tag="UnitForgotten"):
    """A unit is kept no longer: nothing more is done to its objects."""

    at: datetime
    unit: str

    def __str__(self) -> str:
        return "the unit is kept no longer: nothing more is done to its objects"


class HooksReleased(Struct, frozen=True, kw_only=True, tag_field="event", tag="HooksReleased"):
    """A unit went while hooks of it were held for their outcome; they are held no longer, and run on."""

    at: datetime
    unit: str
    cluster: str
    hooks: tuple[str, ...]
    #: what could not be let go of, and why
    problems: tuple[str, ...] = ()

    def __str__(self) -> str:
        told = [f"{', '.join(self.hooks)} let go of"] if self.hooks else []
        return joined([*told, *self.problems])


class UnitQuarantined(Struct, frozen=True, kw_only=True, tag_field="event", tag="UnitQuarantined"):
    """Looking at a unit met a bug of ours; it sits out alone."""

    at: datetime
    unit: str
    error: str

    def __str__(self) -> str:
        return f"a bug: {self.error}"


class ClusterReady(Struct, frozen=True, kw_only=True, tag_field="event", tag="ClusterReady"):
    """A cluster's live state is known."""

    at: datetime
    cluster: str
    objects: int

    def __str__(self) -> str:
        return f"{counted(self.objects, 'object is', 'objects are')} known"


class ClusterLost(Struct, frozen=True, kw_only=True, tag_field="event", tag="ClusterLost"):
    """A cluster cannot be reached or read; its units wait, others do not."""

    at: datetime
    cluster: str
    reason: str
    retry_in: float

    def __str__(self) -> str:
        return f"{self.reason} Next try in {self.retry_in:.0f} s."


class ClusterDropped(Struct, frozen=True, kw_only=True, tag_field="event", tag="ClusterDropped"):
    """A cluster is no longer used."""

    at: datetime
    cluster: str
    reason: str

    def __str__(self) -> str:
        return self.reason


class SettingsChanged(Struct, frozen=True, kw_only=True, tag_field="event", tag="SettingsChanged"):
    """The reconciliation settings are others now; what depended on them is read anew."""

    at: datetime
    what: tuple[str, ...]

    def __str__(self) -> str:
        return f"changed: {', '.join(self.what)}"


UnitEvent: TypeAlias = (
    UnitRefreshed
    | ComparisonFailed
    | SyncLeft
    | SyncRefused
    | SyncPostponed
    | OperationStarted
    | OperationPlanned
    | OperationVetoed
    | StepDone
    | OperationWaits
    | OperationRetried
    | OperationEnded
    | UnitUnreadable
    | UnitForgotten
    | HooksReleased
    | UnitQuarantined
)
Event: TypeAlias = UnitEvent | ClusterReady | ClusterLost | ClusterDropped | SettingsChanged


class Severity(enum.Enum):
    """As Kubernetes' own events say it."""

    NORMAL = "Normal"
    WARNING = "Warning"


_encoder = msgspec.json.Encoder()


def json_line(event: Event) -> bytes:
    """The event as one line of a log."""
    return _encoder.encode(event) + b"\n"


def severity_of(event: Event) -> Severity:
    """Whether somebody should look."""
    match event:
        case ComparisonFailed() | SyncRefused() | OperationVetoed() | UnitUnreadable() | UnitQuarantined():
            return Severity.WARNING
        case ClusterLost() | OperationRetried():
            return Severity.WARNING
        case StepDone(status=status):
            return Severity.WARNING if status is StepStatus.SYNC_FAILED else Severity.NORMAL
        case HooksReleased(problems=problems):
            return Severity.WARNING if problems else Severity.NORMAL
        case OperationEnded(phase=phase):
            return Severity.NORMAL if phase is OperationPhase.SUCCEEDED else Severity.WARNING
        case _:
            return Severity.NORMAL


class Events(Listeners[[Event]]):
    """Passes every event on, in order, to whoever listens."""
