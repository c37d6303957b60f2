"""What happens to a runner itself, beside what its engines tell: typed values for the log. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from trimtab.engine.events import Event, Severity, severity_of
from trimtab.resources.counting import counted
from trimtab.resources.tables import one_line


class Listening(Struct, frozen=True, kw_only=True, tag_field="event", tag="Listening"):
    """The runner can be asked."""

    at: datetime
    address: str
    what: str

    def __str__(self) -> str:
        return f"{self.what} at {self.address}"


class ShardTaken(Struct, frozen=True, kw_only=True, tag_field="event", tag="ShardTaken"):
    """The units of a shard are kept by this runner from now on."""

    at: datetime
    shard: str

    def __str__(self) -> str:
        return f"shard {self.shard} is kept here"


class ShardLost(Struct, frozen=True, kw_only=True, tag_field="event", tag="ShardLost"):
    """The units of a shard are kept by this runner no longer; it tries again."""

    at: datetime
    shard: str
    reason: str

    def __str__(self) -> str:
        return f"shard {self.shard} is kept here no longer: {self.reason}"


class ShardHeldElsewhere(Struct, frozen=True, kw_only=True, tag_field="event", tag="ShardHeldElsewhere"):
    """Another runner keeps the units of a shard."""

    at: datetime
    shard: str
    holder: str

    def __str__(self) -> str:
        return f"shard {self.shard} is kept by {self.holder}"


class ShardHandedOver(Struct, frozen=True, kw_only=True, tag_field="event", tag="ShardHandedOver"):
    """A shard is let go, for a runner that keeps fewer."""

    at: datetime
    shard: str
    to: str

    def __str__(self) -> str:
        return f"shard {self.shard} is handed over to {self.to}, who keeps fewer"


class HomeUnreachable(Struct, frozen=True, kw_only=True, tag_field="event", tag="HomeUnreachable"):
    """The cluster with the records does not answer yet; nothing is kept until it does."""

    at: datetime
    reason: str

    def __str__(self) -> str:
        return self.reason


class UnitsRead(Struct, frozen=True, kw_only=True, tag_field="event", tag="UnitsRead"):
    """The unit files were read."""

    at: datetime
    origin: str
    revision: str
    units: int

    def __str__(self) -> str:
        return f"{counted(self.units, 'unit is', 'units are')} declared in {self.origin} at {self.revision}"


class UnitsUnread(Struct, frozen=True, kw_only=True, tag_field="event", tag="UnitsUnread"):
    """The unit files could not be read; what they said last stays in force."""

    at: datetime
    origin: str
    reason: str

    def __str__(self) -> str:
        return f"the units of {self.origin} stay as they were: {self.reason}"


class UnitFileRefused(Struct, frozen=True, kw_only=True, tag_field="event", tag="UnitFileRefused"):
    """One unit file says nothing that can be followed; what it said last stays in force."""

    at: datetime
    unit: str
    reason: str

    def __str__(self) -> str:
        return f"its file is not followed: {self.reason}"


class UnitDeclared(Struct, frozen=True, kw_only=True, tag_field="event", tag="UnitDeclared"):
    """A unit was recorded, or recorded otherwise, as its file says."""

    at: datetime
    unit: str
    revision: str

    def __str__(self) -> str:
        return f"recorded as declared at {self.revision}"


class UnitWithdrawn(Struct, frozen=True, kw_only=True, tag_field="event", tag="UnitWithdrawn"):
    """A unit's file is gone, so it is kept no longer; its objects stay."""

    at: datetime
    unit: str

    def __str__(self) -> str:
        return "its file is gone: it is kept no longer, and its objects stay"


class UnitRemoving(Struct, frozen=True, kw_only=True, tag_field="event", tag="UnitRemoving"):
    """A unit's file is gone, and it asked that its objects be deleted then: that begins."""

    at: datetime
    unit: str

    def __str__(self) -> str:
        return "its file is gone: its objects are deleted, as it asked"


class UnitRemovalHeld(Struct, frozen=True, kw_only=True, tag_field="event", tag="UnitRemovalHeld"):
    """A unit's file is gone, and for this reason its objects are still there."""

    at: datetime
    unit: str
    reason: str

    def __str__(self) -> str:
        return f"its file is gone, and its objects are not yet: {self.reason}"


class UnitStays(Struct, frozen=True, kw_only=True, tag_field="event", tag="UnitStays"):
    """A unit's file is gone, and for this reason it is kept all the same."""

    at: datetime
    unit: str
    reason: str

    def __str__(self) -> str:
        return f"its file is gone, and it is kept all the same: {self.reason}"


class UnitRemoved(Struct, frozen=True, kw_only=True, tag_field="event", tag="UnitRemoved"):
    """A unit's file is gone, and so are its objects."""

    at: datetime
    unit: str

    def __str__(self) -> str:
        return "its file is gone, and so are its objects"


class SourceTrouble(Struct, frozen=True, kw_only=True, tag_field="event", tag="SourceTrouble"):
    """News of a repository or chart cannot be had; what units last had of it stays in force."""

    at: datetime
    source: str
    #: how many units that concerns; and its name, if it is one
    units: int
    unit: str = ""
    reason: str

    def __str__(self) -> str:
        if self.unit:
            return self.reason
        of = "" if self.source in self.reason else f" of {self.source}"
        return f"{self.reason.rstrip('.')}. That concerns {counted(self.units, 'unit')}{of}"


class CommitFound(Struct, frozen=True, kw_only=True, tag_field="event", tag="CommitFound"):
    """A repository has a new commit."""

    at: datetime
    repository: str
    revision: str
    units: int

    def __str__(self) -> str:
        return f"{self.repository} is at {self.revision}, which concerns {counted(self.units, 'unit')}"


class ChartFound(Struct, frozen=True, kw_only=True, tag_field="event", tag="ChartFound"):
    """A chart has a new version in the range that units want."""

    at: datetime
    chart: str
    version: str
    units: int

    def __str__(self) -> str:
        return f"chart {self.chart} is at {self.version}, which concerns {counted(self.units, 'unit')}"


class WebhookHeard(Struct, frozen=True, kw_only=True, tag_field="event", tag="WebhookHeard"):
    """A Git host said that something has changed."""

    at: datetime
    provider: str
    kind: str
    units: int

    def __str__(self) -> str:
        return f"{self.provider} tells of a {self.kind}, which concerns {counted(self.units, 'follower')}"


class WebhookTurnedAway(Struct, frozen=True, kw_only=True, tag_field="event", tag="WebhookTurnedAway"):
    """A message did not prove where it comes from, or could not be read."""

    at: datetime
    reason: str

    def __str__(self) -> str:
        return self.reason


class LoopComplained(Struct, frozen=True, kw_only=True, tag_field="event", tag="LoopComplained"):
    """The event loop met an error that nobody waited for, such as a connection that ended oddly."""

    at: datetime
    reason: str

    def __str__(self) -> str:
        return f"the event loop complains: {self.reason}"


class Stopping(Struct, frozen=True, kw_only=True, tag_field="event", tag="Stopping"):
    """The runner was asked to end; what is under way goes on wherever the next one runs."""

    at: datetime

    def __str__(self) -> str:
        return "asked to end: what is under way goes on with the next runner"


RunnerEvent: TypeAlias = (
    Listening
    | ShardTaken
    | ShardLost
    | ShardHeldElsewhere
    | ShardHandedOver
    | HomeUnreachable
    | UnitsRead
    | UnitsUnread
    | UnitFileRefused
    | UnitDeclared
    | UnitWithdrawn
    | UnitRemoving
    | UnitRemovalHeld
    | UnitStays
    | UnitRemoved
    | SourceTrouble
    | CommitFound
    | ChartFound
    | WebhookHeard
    | WebhookTurnedAway
    | LoopComplained
    | Stopping
)
AnyEvent: TypeAlias = Event | RunnerEvent

_WORRYING = (
    ShardLost,
    HomeUnreachable,
    UnitsUnread,
    UnitFileRefused,
    UnitRemovalHeld,
    UnitStays,
    SourceTrouble,
    WebhookTurnedAway,
    LoopComplained,
)
_encoder = msgspec.json.Encoder()


def trouble_of(source: str, units: Collection[str], reason: str, at: datetime) -> SourceTrouble:
    """That these units lack news of their source: one event, however many they are."""
    unit = next(iter(units)) if len(units) == 1 else ""
    return SourceTrouble(at=at, source=source, units=len(units), unit=unit, reason=reason)


def complaint_in(context: Mapping[str, Any], at: datetime) -> LoopComplained:
    """What an event loop complains of; of an error only its kind, for its words may be anybody's."""
    error = context.get("exception")
    kind = f" ({type(error).__name__})" if error is not None else ""
    return LoopComplained(at=at, reason=f"{context.get('message', 'an error')}{kind}")


def json_line(event: AnyEvent) -> str:
    """The event as one line of a log for programs."""
    return _encoder.encode(event).decode()


def text_line(event: AnyEvent) -> str:
    """The event as one line of a log for people: when, how grave, about what, and a sentence."""
    worrying = isinstance(event, _WORRYING) or (
        isinstance(event, Event) and severity_of(event) is Severity.WARNING
    )
    about = getattr(event, "unit", "") or getattr(event, "cluster", "")
    words = " ".join(str(event).split())
    stamp = event.at.strftime("%Y-%m-%dT%H:%M:%SZ")
    line = f"{stamp} {'WARNING' if worrying else 'INFO':7} {f'{about}: ' if about else ''}{words}"
    return one_line(line)  # what others say may hold what commands a terminal
