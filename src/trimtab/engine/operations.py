"""Operations: what was asked of a unit, and how far it has come. Pure.

These values are stored, printed as JSON and read back by the process that goes on after a crash, so they hold
names, identities and words, never manifests. Deciding what follows is the business of `plan` and `progress`.
"""

from __future__ import annotations

import enum
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from trimtab.resources.keys import ResourceKey


class OperationPhase(enum.Enum):
    """Where an operation stands; the last three are final."""

    RUNNING = "Running"
    TERMINATING = "Terminating"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    ERROR = "Error"

    @property
    def final(self) -> bool:
        """Whether nothing more will happen."""
        return self is not OperationPhase.RUNNING and self is not OperationPhase.TERMINATING


class SyncPhase(enum.Enum):
    """The phases of an operation, in their order; the last one runs only when a sync failed.

    Those of a deletion are its own two and, between them, `SYNC`, in which objects go.
    """

    PRE_DELETE = "PreDelete"
    PRE_SYNC = "PreSync"
    SYNC = "Sync"
    POST_SYNC = "PostSync"
    POST_DELETE = "PostDelete"
    SYNC_FAIL = "SyncFail"

    # Results are looked up by it all the time, and there is only one of each.
    __hash__ = object.__hash__


#: names one step of an operation: what becomes of one object in one phase
StepName: TypeAlias = tuple[ResourceKey, SyncPhase]


class Strategy(enum.Enum):
    """Whether hooks take part."""

    HOOK = "hook"
    APPLY = "apply"


class Rehearsal(enum.Enum):
    """Whether the writes of an operation are tried as server dry-runs before the first one is made.

    `AUTO` rehearses what a failure in the middle would leave half done: plans of more than one wave, with
    hooks or with prunes. A plan of one wave of writes is its own rehearsal: every write is refused or made by
    itself, and trying each twice would halve the speed.
    """

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


class StepStatus(enum.Enum):
    """What became of one object."""

    SYNCED = "Synced"
    SYNC_FAILED = "SyncFailed"
    PRUNED = "Pruned"
    PRUNE_SKIPPED = "PruneSkipped"


class StepPhase(enum.Enum):
    """Whether what was written has come to its end: hooks run to completion, objects become healthy."""

    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    ERROR = "Error"

    @property
    def final(self) -> bool:
        """Whether nothing more will happen to this step."""
        return self is not StepPhase.RUNNING

    @property
    def bad(self) -> bool:
        """Whether it ended badly."""
        return self is StepPhase.FAILED or self is StepPhase.ERROR


class Selected(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """One object of a selective sync; an empty namespace means any."""

    group: str = ""
    kind: str
    namespace: str = ""
    name: str

    def matches(self, key: ResourceKey) -> bool:
        """Whether this names the object."""
        same = (self.group, self.kind, self.name) == (key.group, key.kind, key.name)
        return same and self.namespace in {"", key.namespace}


class RetryLimits(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """How often a failed operation is tried again, and after how long.

    The first retry comes after `wait`, each later one after `factor` times as long, at most `longest`.
    """

    #: how often at most; negative means without end
    limit: int = 0
    wait: timedelta = timedelta(seconds=5)
    factor: float = 2.0
    longest: timedelta = timedelta(minutes=3)
    #: whether a retry follows the branch to its newest commit instead of staying at the first one's
    refresh: bool = False


class RanBefore(Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    """A hook that an earlier try of a deletion saw through: it is not run again."""

    key: ResourceKey
    sync_phase: SyncPhase
    uid: str


class Operation(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What was asked for."""

    #: the revision to sync to; empty means what the unit's source names
    revision: str = ""
    #: another source than the unit's own, as a rollback needs; None means the unit's
    source: Any = None
    #: the entry of history that it goes back to; 0 for none
    entry: int = 0
    #: delete what Git no longer asks for
    prune: bool = False
    #: delete all of the unit; its source is asked for the hooks of the deletion alone
    delete: bool = False
    #: ask the server what it would do, and change nothing
    dry_run: bool = False
    strategy: Strategy = Strategy.HOOK
    #: delete and create anew what the server refuses to change
    force: bool = False
    #: these objects alone; hooks do not take part
    resources: tuple[Selected, ...] = ()
    #: sync options as in annotations, such as `CreateNamespace=true`
    options: tuple[str, ...] = ()
    retry: RetryLimits = RetryLimits()
    #: what asked for it, such as `trimtab sync`
    asked_by: str = ""
    #: who did, with that: `ann@desk`; empty if it was nobody's hand, or is not known
    person: str = ""
    #: when it was asked for, if it was handed over to another process: tells it from the same said earlier
    asked_at: datetime | None = None
    automated: bool = False
    #: how many self-heals of this revision came before
    heal_attempts: int = 0
    #: when somebody agreed to the deletions; it counts if that was after the operation started, or if the
    #: plan that is carried out is the one whose digest he named
    deletions_approved_at: datetime | None = None
    #: how long all attempts together may take; none means without end
    timeout: timedelta | None = None
    #: take over objects that carry somebody else's mark
    adopt: bool = False
    rehearsal: Rehearsal = Rehearsal.AUTO
    #: the digest of the plan somebody read and agreed to; a plan with another digest is not carried out
    plan_digest: str = ""
    #: who asked that it ends before its time; whoever carries it on ends it
    ended_by: str = ""
    #: hooks of a deletion that an earlier try of it saw through
    ran: tuple[RanBefore, ...] = ()


class StepResult(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, gc=False):
    """What became of one object in one phase."""

    key: ResourceKey
    sync_phase: SyncPhase
    #: None while the step is still to be done
    status: StepStatus | None = None
    phase: StepPhase = StepPhase.RUNNING
    #: the step is a hook of its phase's type
    hook: bool = False
    message: str = ""
    #: the place in the order in which objects were first touched, from 1
    order: int = 0
    version: str = ""
    images: tuple[str, ...] = ()
    #: identity and version right after the write: a cache that shows an older one has not heard of it yet
    uid: str = ""
    resource_version: str = ""
    #: when the write was answered
    at: datetime | None = None


class HookRun(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, gc=False):
    """One run of a hook; recorded before the hook is created, so that a restart knows its own hook again."""

    key: ResourceKey
    sync_phase: SyncPhase
    #: the identity of what stood under this name before and has to go first; anything else there is ours
    replaces: str = ""
    #: what stood there before has been told to go
    cleared: bool = False
    #: our finalizer was taken off this run's object
    released: bool = False
    #: this run's object was deleted by its policy
    deleted: bool = False
    #: why it could not be released or deleted
    problem: str = ""


class OperationState(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """How far an operation has come: all that the next process needs to go on."""

    operation: Operation
    started_at: datetime
    phase: OperationPhase = OperationPhase.RUNNING
    message: str = ""
    #: where it is carried out, by the cluster's name: a unit may move meanwhile
    cluster: str = ""
    #: the commit that is synced; empty until it is resolved
    revision: str = ""
    #: the digest of the plan that is carried out
    plan: str = ""
    finished_at: datetime | None = None
    #: how many attempts failed before this one
    retry_count: int = 0
    #: when the next attempt starts, while one is awaited
    retry_at: datetime | None = None
    #: when this attempt began, if it is not the first: only a later consent is about its plan
    attempt_at: datetime | None = None
    #: the revision that took this one's place while it only waited
    superseded_by: str = ""
    #: since when it waits for what the message says; none while it acts
    waiting_since: datetime | None = None
    results: tuple[StepResult, ...] = ()
    #: objects whose writes have begun, recorded before the first of their wave
    begun: tuple[ResourceKey, ...] = ()
    hooks: tuple[HookRun, ...] = ()
    #: set once what was to be rehearsed has passed
    rehearsed: bool = False
    #: what ended the operation before its time, if that was an error
    failure: str = ""


def is_same_request(one: Operation, other: Operation) -> bool:
    """Whether two operations are one request, whatever was said about it since."""
    if one is other:
        return True
    first, second = (
        # Who made it is no part of it, and processes that came before that field forget it.
        replace(each, timeout=None, deletions_approved_at=None, ended_by="", ran=(), person="")
        for each in (one, other)
    )
    return first == second


def by_whom(person: str, asked_by: str) -> str:
    """Who asked for something, and with what, as far as that is known."""
    return f"{person} with {asked_by}" if person and asked_by else person or asked_by


def taken_up(operation: Operation, last: OperationState | None) -> Operation:
    """The operation, knowing what the unit's last one did for it: hooks of a deletion run once.

    Whatever else was done to the unit since then makes another deletion of it.
    """
    if not operation.delete or last is None or not last.operation.delete or last.operation.dry_run:
        return operation
    ended = (each for each in last.results if each.hook and each.phase is StepPhase.SUCCEEDED and each.uid)
    ran = {(each.key, each.sync_phase): each for each in last.operation.ran}
    ran |= {
        (each.key, each.sync_phase): RanBefore(key=each.key, sync_phase=each.sync_phase, uid=each.uid)
        for each in ended
    }
    return replace(operation, ran=tuple(ran.values()))


def held_runs(state: OperationState | None) -> tuple[HookRun, ...]:
    """The hooks of an operation that may carry our finalizer."""
    return tuple(run for run in state.hooks if not (run.released or run.deleted)) if state else ()


def is_begun(state: OperationState) -> bool:
    """Whether something of an operation may have been done."""
    return bool(state.begun or state.hooks or state.results)


def never_begun(state: OperationState, now: datetime) -> OperationState:
    """The end of an operation that was ended before anything of it was done."""
    return replace(
        state,
        phase=OperationPhase.FAILED,
        message="the operation was terminated before it began",
        finished_at=now,
        retry_at=None,
    )


def started(operation: Operation, revision: str, now: datetime) -> OperationState:
    """The state of an operation that has just been accepted."""
    return OperationState(operation=operation, started_at=now, revision=revision)


def by_our_clock(state: OperationState, now: datetime) -> OperationState:
    """The state without times that are yet to come, written by a process whose clock is ahead of ours.

    Until they had passed, no look at an object and no consent would count as later than them. When it
    started stays: the names of hooks tell it.
    """
    begun = state.attempt_at or state.started_at
    retry_at = state.retry_at and min(state.retry_at, now + state.operation.retry.longest)
    waiting = state.waiting_since and min(state.waiting_since, now)
    ahead = any(each.at is not None and each.at > now for each in state.results)
    if begun <= now and retry_at == state.retry_at and waiting == state.waiting_since and not ahead:
        return state
    return replace(
        state,
        attempt_at=now if begun > now else state.attempt_at,
        retry_at=retry_at,
        waiting_since=waiting,
        results=tuple(
            replace(each, at=now) if each.at is not None and each.at > now else each for each in state.results
        ),
    )
