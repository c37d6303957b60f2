"""What is known when somebody asks why: values alone, gathered elsewhere, that causes are found in. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

from msgspec import Struct

from trimtab.engine.compare.matching import Finding as SourceFinding
from trimtab.engine.health import Health, HealthStatus
from trimtab.engine.operations import OperationPhase, OperationState
from trimtab.engine.rows import Row
from trimtab.engine.sync.steps import SyncPlan
from trimtab.engine.units import SyncUnit
from trimtab.errors import TrimtabError
from trimtab.resources.keys import ResourceKey
from trimtab.resources.manifests import Manifest


class Seen(Struct, frozen=True, kw_only=True):
    """One live object of the family at hand, and below what it hangs."""

    key: ResourceKey
    uid: str
    manifest: Manifest
    parent: ResourceKey | None = None
    health: Health | None = None

    def __repr__(self) -> str:
        return f"<seen {self.key}>"  # the manifest may be a Secret's


class Said(Struct, frozen=True, kw_only=True):
    """What the cluster's own parts said of an object: one Event."""

    #: the identity of the object it is about
    uid: str
    reason: str
    message: str
    is_warning: bool
    first: datetime | None = None
    last: datetime | None = None


class Facts(Struct, frozen=True, kw_only=True):
    """Everything that an answer is made from."""

    #: what was asked about, as people write it: `app shop`, `Pod shop/web-1`
    about: str
    now: datetime
    #: the object that was asked about; None where it was an app
    asked: ResourceKey | None = None
    #: to whom that object belongs; empty if nobody known claims it
    owner: str = ""
    #: the app as it is recorded; None if nobody of ours owns the object, or no record could be read
    unit: SyncUnit | None = None
    #: where the app comes from, as people write it
    source: str = ""
    #: how the app compares and how it is now, in the words of its status
    standing: str = ""
    is_synced: bool = True
    health: Health = Health(HealthStatus.HEALTHY)
    #: what kept us from looking any further
    trouble: TrimtabError | None = None
    rows: tuple[Row, ...] = ()
    findings: tuple[SourceFinding, ...] = ()
    #: what a sync that prunes would do now
    plan: SyncPlan | None = None
    #: who works on the app at this moment; empty for nobody
    holder: str = ""
    family: Mapping[ResourceKey, Seen] = {}
    events: tuple[Said, ...] = ()
    #: what could not be read of the family
    unread: tuple[TrimtabError, ...] = ()

    @property
    def state(self) -> OperationState | None:
        """How far the app's last operation came."""
        return None if self.unit is None else self.unit.status.operation_state

    @property
    def is_unfinished(self) -> bool:
        """Whether an operation was asked for and has not come to its end."""
        is_asked = self.unit is not None and self.unit.operation is not None
        return is_asked or (self.state is not None and not self.state.phase.final)

    @property
    def is_going(self) -> bool:
        """Whether the app is being deleted: that was asked for, and its record is still there."""
        asked = self.unit.operation if self.unit is not None else None
        last = asked or (self.state.operation if self.state is not None else None)
        return last is not None and last.delete

    @property
    def has_failed(self) -> bool:
        """Whether the last operation came to a bad end."""
        return self.state is not None and self.state.phase in {OperationPhase.FAILED, OperationPhase.ERROR}

    def said_of(self, seen: Seen, *reasons: str) -> Iterator[Said]:
        """What was said of an object, the newest first; of these reasons, if any are given."""
        found = [
            said for said in self.events if said.uid == seen.uid and (said.reason in reasons or not reasons)
        ]
        newest = sorted(found, key=lambda said: (said.last is not None, said.last), reverse=True)
        yield from newest

    def line_of(self, key: ResourceKey) -> tuple[Seen, ...]:
        """An object and what it hangs below, the root first; empty if it was not seen."""
        line: list[Seen] = []
        found = self.family.get(key)
        while found is not None and found not in line:
            line.insert(0, found)
            found = self.family.get(found.parent) if found.parent is not None else None
        return tuple(line)

    def root_of(self, key: ResourceKey) -> ResourceKey:
        """The root that an object hangs below; itself if nothing is known above it."""
        line = self.line_of(key)
        return line[0].key if line else key


class Finding(Struct, frozen=True, kw_only=True):
    """One thing that is the matter: whose, what, since when, what shows it, and what helps.

    Subject and `what` make a sentence. `key` is the object that it befell; None for the app as a whole.
    """

    subject: str
    what: str
    evidence: str = ""
    remedy: str = ""
    since: datetime | None = None
    key: ResourceKey | None = None


def about_object(
    key: ResourceKey, what: str, *, evidence: str = "", remedy: str = "", since: datetime | None = None
) -> Finding:
    """A finding about one object."""
    return Finding(subject=str(key), what=what, evidence=evidence, remedy=remedy, since=since, key=key)
