"""Units: one synced thing each, what is wanted of it and how it stands; and the roles that consumers fill.

Values and protocols only. A unit is stored by a `SyncUnitStore`, its manifests come from a
`ManifestGenerator`, its cluster from a `CredentialsStore`: the engine knows no more of Git, files or
kubeconfigs than these.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from functools import lru_cache
from typing import Any, Protocol, TypeAlias

from msgspec import Struct

from trimtab.engine.cache.filters import USUAL, ResourceFilter
from trimtab.engine.compare.ignoring import IgnoreRule
from trimtab.engine.compare.tracking import INSTANCE
from trimtab.engine.health import Health, HealthStatus
from trimtab.engine.operations import Operation, OperationState, RetryLimits
from trimtab.engine.places import Place
from trimtab.engine.rows import Verdict
from trimtab.engine.sync.prunes import PruneBudget
from trimtab.errors import Conflict, InvalidSpec, Missing, TrimtabError
from trimtab.kube.cluster import Cluster
from trimtab.resources.keys import ResourceKey
from trimtab.resources.manifests import Found, Manifest

_ID = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._/-]*[A-Za-z0-9])?")
LONGEST_ID = 180


@lru_cache(maxsize=65536)
def _is_id(text: str) -> bool:
    """Whether units may be called so; units are copied far more often than they are made."""
    return len(text) <= LONGEST_ID and bool(_ID.fullmatch(text)) and "//" not in text and ".." not in text


class UnitMissing(Missing):
    """There is no unit of this name."""


class UnitExists(Conflict):
    """There is a unit of this name already."""


class OperationUnderWay(Conflict):
    """The unit is busy with another operation."""


class UnitHeld(Conflict):
    """The unit is paused, or pinned to an entry of its history: nothing is synced until it is resumed."""


class Destination(Struct, frozen=True, kw_only=True, gc=False):
    """Where a unit's objects live: the cluster by its name in the credentials, and the default namespace."""

    cluster: str
    namespace: str = "default"


class Automated(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What may happen without being asked."""

    #: delete what Git no longer asks for
    prune: bool = False
    #: put back what was changed in the cluster
    self_heal: bool = False
    #: let self-heal run the whole sync with its hooks, not only the objects that drifted
    heal_with_hooks: bool = False
    #: let a unit become empty
    allow_empty: bool = False
    #: false keeps the rest of this on file without acting on it
    enabled: bool = True


class NamespaceMetadata(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Labels and annotations of the destination namespace, where the unit makes it."""

    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}


class Policy(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """How a unit is to be treated."""

    automated: Automated | None = None
    #: sync options, such as `CreateNamespace=true`
    options: tuple[str, ...] = ()
    retry: RetryLimits = RetryLimits(limit=5)
    namespace_metadata: NamespaceMetadata | None = None
    ignore_differences: tuple[IgnoreRule, ...] = ()
    prune_budget: PruneBudget = PruneBudget()
    #: take over objects that carry somebody else's mark
    adopt: bool = False
    #: entries of history that are kept; 0 keeps none
    history_limit: int = 10


class ConditionType(enum.Enum):
    """What may be wrong with a unit."""

    INVALID_SPEC = "InvalidSpecError"
    COMPARISON = "ComparisonError"
    SYNC = "SyncError"
    UNKNOWN = "UnknownError"
    SHARED = "SharedResourceWarning"
    REPEATED = "RepeatedResourceWarning"
    EXCLUDED = "ExcludedResourceWarning"
    ORPHANED = "OrphanedResourceWarning"
    DELETING = "PendingDeletionWarning"
    OPTIONS = "UnknownSyncOptionWarning"
    SOURCE = "SourceWarning"


class Condition(Struct, frozen=True, kw_only=True, gc=False):
    """One thing that is wrong with a unit, and since when it has been put in these words."""

    type: ConditionType
    message: str
    since: datetime


class ResourceSummary(Struct, frozen=True, kw_only=True, gc=False, rename="camel", omit_defaults=True):
    """One object of a unit as its status tells it."""

    key: ResourceKey
    version: str
    #: None for what is not compared: somebody's copy of an object
    verdict: Verdict | None
    health: Health | None = None
    #: it is there and Git no longer asks for it
    prune: bool = False
    #: the server has been told to delete it, and it is still there
    deleting: bool = False
    problem: str = ""


class Attempt(Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """What the last sync tried to reach: judged by what was rendered, not by the name of the commit alone."""

    revision: str
    rendered: str
    source: str
    #: whether it has hooks for its deletion; None if that is not known
    delete_hooks: bool | None = None


class Deployed(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One successful sync of everything, for rolling back."""

    id: int
    revision: str
    source: Any
    started_at: datetime
    deployed_at: datetime
    #: with what it was asked for, and who did so, where it was somebody
    asked_by: str = ""
    person: str = ""
    #: names what it rendered to, which an archive may hold
    rendered: str = ""


class UnitStatus(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """How a unit stands."""

    verdict: Verdict = Verdict.UNKNOWN
    health: Health = Health(HealthStatus.UNKNOWN)
    health_since: datetime | None = None
    #: the commit that was compared, and the digest of what it rendered to
    revision: str = ""
    rendered: str = ""
    resources: tuple[ResourceSummary, ...] = ()
    conditions: tuple[Condition, ...] = ()
    operation_state: OperationState | None = None
    attempted: Attempt | None = None
    history: tuple[Deployed, ...] = ()
    #: the digest of source, destination and policy that were compared
    declared: str = ""
    reconciled_at: datetime | None = None


class Pause(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Nothing begins to happen to the unit until somebody resumes it."""

    reason: str = ""
    by: str = ""
    since: datetime | None = None

    def __str__(self) -> str:
        return f"paused{_told(self.by, self.since, self.reason)}"


class Pin(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The unit is held at an entry of its history: that is what is wanted of it until somebody resumes it."""

    entry: int
    revision: str
    reason: str = ""
    by: str = ""
    since: datetime | None = None

    def __str__(self) -> str:
        told = _told(self.by, self.since, self.reason)
        return f"pinned to entry {self.entry} of its history ({self.revision}){told}"


def _told(by: str, since: datetime | None, reason: str) -> str:
    """Who, since when and why, as far as that is known."""
    when = f" since {since:%Y-%m-%d %H:%M} UTC" if since else ""
    return f"{f' by {by}' if by else ''}{when}{f': {reason}' if reason else ''}"


class OnRemoval(enum.Enum):
    """What becomes of a unit's objects when whoever declared it no longer does."""

    KEEP = "keep"
    DELETE = "delete"


class LeftBehind(Struct, frozen=True, kw_only=True):
    """Hooks that may still be held in a cluster which their unit has left."""

    cluster: str
    #: what is known of the operation that made them: its hooks, and what became of those
    state: OperationState


class SyncUnit(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One synced thing: what is wanted of it, how it stands, and what was asked of it last."""

    id: str
    #: whatever the manifest generator understands
    source: Any
    destination: Destination
    policy: Policy = Policy()
    #: whose it is: tenants take turns
    tenant: str = ""
    #: where somebody keeps the file that says all this; empty for what was asked for by a command
    declared_in: str = ""
    #: what becomes of its objects when that file goes
    on_removal: OnRemoval = OnRemoval.KEEP
    status: UnitStatus = UnitStatus()
    operation: Operation | None = None
    #: nothing begins to happen until somebody resumes it
    paused: Pause | None = None
    #: held at an entry of history, whatever the source says
    pinned: Pin | None = None
    #: what may still be held in clusters that it has left; whoever lets go of it takes it off
    left: tuple[LeftBehind, ...] = ()
    #: where objects may carry its mark, none left out; None if that is not known, and it may be anywhere
    places: tuple[Place, ...] | None = None

    @property
    def hold(self) -> str:
        """Why nothing is synced by itself, and nothing but the pin when asked; empty if that is not so."""
        return "; ".join(str(each) for each in (self.paused, self.pinned) if each is not None)

    def __post_init__(self) -> None:
        if not _is_id(self.id):
            raise InvalidSpec(
                f"unit {self.id[:LONGEST_ID]!r}",
                f"an id has up to {LONGEST_ID} letters, digits, dots, dashes and single slashes",
                "Choose another id",
            )


class Stored(Struct, frozen=True):
    """A unit is there, in this state."""

    unit: SyncUnit


class Gone(Struct, frozen=True):
    """A unit was deleted."""

    id: str


class Unreadable(Struct, frozen=True):
    """A unit is there and cannot be read; whatever was known of it still holds."""

    id: str
    error: TrimtabError


class AllTold(Struct, frozen=True):
    """Everything that was there when following began has been told."""


UnitNews: TypeAlias = Stored | Gone | Unreadable | AllTold


class SyncUnitStore(Protocol):
    """Where units are kept."""

    async def list(self) -> tuple[SyncUnit, ...]:
        """Every unit that can be read, in the order of their ids."""

    async def get(self, unit_id: str) -> SyncUnit:
        """One unit; `UnitMissing` if there is none, whether or not `follow` would tell of it."""

    async def create(self, unit: SyncUnit) -> SyncUnit:
        """Add a unit; `UnitExists` if its id is taken."""

    async def update(self, unit: SyncUnit) -> SyncUnit:
        """Change what is wanted of a unit; its status, operation, pause and pin stay as they are."""

    async def delete(self, unit_id: str, *, is_empty: bool = False) -> None:
        """Forget a unit; its objects stay as they are, unless it `is_empty`: then none is there any more."""

    async def set_status(self, unit_id: str, status: UnitStatus) -> SyncUnit:
        """Record how a unit stands."""

    async def set_operation(
        self, unit_id: str, operation: Operation | None, *, status: UnitStatus | None = None
    ) -> SyncUnit:
        """Ask something of a unit, which forgets the last operation's state; None when it is done.

        With a status, how the unit stands is recorded in the same writing.
        `OperationUnderWay` while another one is there.
        """

    async def amend(self, unit_id: str, change: Callable[[SyncUnit], SyncUnit]) -> SyncUnit:
        """Change a unit's pause, pin or operation by what they are now, in one go with reading them.

        `changing` has the changes; one may be computed several times.
        """

    async def follow(self, told: Callable[[UnitNews], None]) -> None:
        """Tell of everything that is there, `AllTold`, then of every change, for ever."""


class Generated(Struct, frozen=True, kw_only=True):
    """Manifests of one revision, all of them: something that fails half-way raises instead."""

    manifests: tuple[Found, ...]
    revision: str
    #: names the content: equal digests mean equal manifests
    digest: str
    #: what whoever keeps the source should know
    warnings: tuple[str, ...] = ()


class ManifestGenerator(Protocol):
    """Makes manifests of a unit's source."""

    async def generate(self, unit: SyncUnit, revision: str, *, no_cache: bool = False) -> Generated:
        """The manifests at a revision; an empty one means the newest that the source names."""


class RenderArchive(Protocol):
    """Keeps what units rendered to, so that one can go back while their sources are out of reach."""

    async def keep(self, unit_id: str, generated: Generated) -> None:
        """Keep what a unit rendered to."""

    async def find(self, unit_id: str, digest: str) -> Generated | None:
        """What a unit once rendered to, if that is kept."""

    async def drop(self, unit_id: str, but: Collection[str]) -> None:
        """Forget what a unit rendered to, but for these digests."""


class ClusterEntry(Struct, frozen=True, kw_only=True):
    """One cluster: how to reach it, and what of it may be managed."""

    name: str
    #: connects anew each time it is called
    connect: Callable[[], AbstractAsyncContextManager[Cluster]]
    #: only these namespaces; none means all
    namespaces: tuple[str, ...] = ()
    #: whether cluster-wide kinds are managed, where namespaces are named
    cluster_resources: bool = False
    #: what alone is read of all that may be managed; None reads everything
    places: frozenset[Place] | None = None


class ClusterCame(Struct, frozen=True):
    """A cluster is there, or there in another way than before."""

    name: str


class ClusterWent(Struct, frozen=True):
    """A cluster is no longer to be used."""

    name: str


ClusterNews: TypeAlias = ClusterCame | ClusterWent


class CredentialsStore(Protocol):
    """Knows the clusters."""

    async def get_cluster(self, name: str) -> ClusterEntry:
        """The cluster of this name; `Missing` if there is none."""

    async def watch_clusters(self, told: Callable[[ClusterNews], None]) -> None:
        """Tell of clusters that are there, come, change and go, for ever.

        Those that are told and in which no unit lives are looked into once, for what units left there.
        """


class ResourceOverride(Struct, frozen=True, kw_only=True):
    """How objects of some kinds are treated otherwise than usual."""

    #: judges their health; None leaves it to the next rule
    health: Callable[[Manifest], Health | None] | None = None
    ignore_differences: tuple[IgnoreRule, ...] = ()


class ReconciliationSettings(Struct, frozen=True, kw_only=True):
    """What may change while the engine runs."""

    #: the label by which Argo CD's ways of tracking name a unit
    app_instance_label_key: str = INSTANCE
    #: which kinds are looked at
    resources_filter: ResourceFilter = USUAL
    #: by kind: `apps/Deployment`, `ConfigMap`, or with globs
    resource_overrides: Mapping[str, ResourceOverride] = {}
