"""What follows for a unit by itself: syncing, healing, trying again, remembering, looking again. Pure.

Every decision is a value with its reason, so that whatever waits can say on what. Deciding how a sync goes is
the business of `plan` and `progress`; here is only whether one begins.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias

from msgspec import Struct, to_builtins

from trimtab.engine.operations import Operation, OperationPhase, OperationState, Selected, Strategy
from trimtab.engine.rows import Verdict
from trimtab.engine.units import (
    Attempt,
    Automated,
    Condition,
    ConditionType,
    Deployed,
    ResourceSummary,
    SyncUnit,
    UnitHeld,
    UnitStatus,
)
from trimtab.errors import Conflict, Missing
from trimtab.resources.counting import counted
from trimtab.resources.digests import digest

HEAL_FIRST: Final = timedelta(seconds=2)
HEAL_FACTOR: Final = 3
HEAL_CAP: Final = timedelta(minutes=5)


class Leave(Struct, frozen=True):
    """Nothing is to be done, for this reason."""

    reason: str


class Refuse(Struct, frozen=True):
    """Something would have to be done and is not, which somebody should know."""

    message: str


class Later(Struct, frozen=True):
    """Something is to be done, and not before then."""

    at: datetime
    reason: str


class Start(Struct, frozen=True):
    """An operation is to begin."""

    operation: Operation
    reason: str


AutoSync: TypeAlias = Leave | Refuse | Later | Start


def auto_sync(unit: SyncUnit, now: datetime) -> AutoSync:
    """What to do about a unit that has just been compared, without anybody asking."""
    automated, status = unit.policy.automated, unit.status
    if unit.hold:
        return Leave(f"the unit is {unit.hold}")
    if automated is None or not automated.enabled:
        return Leave("the unit is not automated")
    if unit.operation is not None:
        return Leave("an operation is under way")
    if status.operation_state is not None and status.operation_state.operation.delete:
        return Leave("it was to be deleted: sync it by hand, or delete it to the end")
    if status.verdict is not Verdict.OUT_OF_SYNC:
        return Leave(f"the unit is {status.verdict.value}")
    differing = [row for row in status.resources if row.verdict is Verdict.OUT_OF_SYNC]
    going = [row for row in differing if row.prune and row.deleting]
    if going and len(going) == len(differing):
        return Leave(_waits_for(going))
    differing = [row for row in differing if row not in going]
    if not automated.prune and all(row.prune for row in differing):
        return Leave("all that differs would have to be pruned, and pruning is off")
    if _would_empty(automated, status):
        return Refuse(
            "every object of the unit would be pruned: confirm it with a sync, or allow the unit to be empty"
        )
    return _next_sync(unit, automated, differing, now)


def check_hold(unit: SyncUnit, operation: Operation) -> None:
    """Refuse what somebody asks of a unit that is held; trying out, and going to where it is pinned, are not.

    Ending a hold is somebody's own decision, so no operation does it in passing.
    """
    to_the_pin = unit.pinned is not None and unit.pinned.entry == operation.entry
    if operation.dry_run or not unit.hold or (to_the_pin and unit.paused is None):
        return
    raise UnitHeld(f"unit {unit.id}", f"it is {unit.hold}", "Resume it first")


def is_overtaken(before: SyncUnit, after: SyncUnit) -> bool:
    """Whether an operation ended while a unit was looked at: what was seen may lack what it wrote."""
    if after.operation is not None:
        return False
    return before.operation is not None or _started_at(before) != _started_at(after)


def _started_at(unit: SyncUnit) -> datetime | None:
    state = unit.status.operation_state
    return state.started_at if state is not None else None


def _waits_for(going: list[ResourceSummary]) -> str:
    more = f" and {len(going) - 1} more" if len(going) > 1 else ""
    return f"{going[0].key}{more} is being deleted, and is waited for"


def _would_empty(automated: Automated, status: UnitStatus) -> bool:
    rows = [row for row in status.resources if row.verdict is not None]
    return automated.prune and not automated.allow_empty and bool(rows) and all(row.prune for row in rows)


def _next_sync(
    unit: SyncUnit, automated: Automated, differing: list[ResourceSummary], now: datetime
) -> AutoSync:
    last = unit.status.operation_state
    if last is None or not _attempted(unit):
        return Start(_operation(unit, automated), f"revision {unit.status.revision} is not in the cluster")
    if automated.self_heal:
        return _heal(unit, automated, last, differing, now)
    if last.phase is not OperationPhase.SUCCEEDED:
        return Refuse(f"the last sync to {unit.status.revision} failed, and is not repeated: {last.message}")
    return Leave(f"it was synced to {unit.status.revision} already, and self-heal is off")


def attempt_at(unit: SyncUnit) -> Attempt:
    """What a sync of the unit, as it was compared last, would try to reach."""
    return Attempt(
        revision=unit.status.revision, rendered=unit.status.rendered, source=source_digest(unit.source)
    )


def source_digest(source: Any) -> str:
    """Tells sources apart."""
    return digest(source)


def _attempted(unit: SyncUnit) -> bool:
    """Whether the last sync tried to reach just this: the same source, rendered to the same."""
    tried, wanted = unit.status.attempted, attempt_at(unit)
    if tried is None or tried.source != wanted.source:
        return False
    if tried.rendered and wanted.rendered:
        return tried.rendered == wanted.rendered
    return tried.revision == wanted.revision


def _heal(
    unit: SyncUnit,
    automated: Automated,
    last: OperationState,
    differing: list[ResourceSummary],
    now: datetime,
) -> AutoSync:
    ended = last.finished_at or last.started_at
    attempts = last.operation.heal_attempts
    if last.phase is OperationPhase.SUCCEEDED and now - ended > HEAL_CAP:
        attempts = 0  # it was well for a while: this is a new affair
    at = ended + heal_wait(attempts)
    if ended - now > HEAL_CAP:
        at = now  # by the clock of whoever wrote that, which is ahead of ours; the next end is by our own
    if now < at:
        return Later(at, f"healing was tried {counted(attempts, 'time')}, and waits")
    rows = [row for row in differing if automated.prune or not row.prune]
    resources = () if automated.heal_with_hooks else tuple(_selected(row) for row in rows)
    operation = _operation(unit, automated, resources=resources, heal_attempts=attempts + 1)
    return Start(operation, f"{counted(len(rows), 'object')} drifted")


def heal_wait(attempts: int) -> timedelta:
    """How long after the end of the last sync healing may begin, when it was tried so often."""
    if attempts <= 0:
        return timedelta(0)
    growth: int = HEAL_FACTOR ** min(attempts - 1, 20)
    return min(HEAL_FIRST * growth, HEAL_CAP)


def _selected(row: ResourceSummary) -> Selected:
    key = row.key
    return Selected(group=key.group, kind=key.kind, namespace=key.namespace, name=key.name)


def _operation(
    unit: SyncUnit,
    automated: Automated,
    *,
    resources: tuple[Selected, ...] = (),
    heal_attempts: int = 0,
) -> Operation:
    return Operation(
        revision=unit.status.revision,
        prune=automated.prune,
        options=unit.policy.options,
        retry=unit.policy.retry,
        adopt=unit.policy.adopt,
        resources=resources,
        automated=True,
        heal_attempts=heal_attempts,
    )


def history_after(unit: SyncUnit, state: OperationState) -> tuple[Deployed, ...]:
    """The history once this operation has ended: one goes back only to a sync of everything, for real."""
    operation, history = state.operation, unit.status.history
    if unit.policy.history_limit <= 0:
        return ()
    if state.phase is not OperationPhase.SUCCEEDED or state.finished_at is None:
        return history
    if not is_remembered(unit, operation):
        return history
    entry = Deployed(
        id=history[-1].id + 1 if history else 1,
        revision=state.revision,
        source=unit.source if operation.source is None else operation.source,
        started_at=state.started_at,
        deployed_at=state.finished_at,
        asked_by=operation.asked_by or ("the unit's own policy" if operation.automated else ""),
        person=operation.person,
        rendered=unit.status.attempted.rendered if unit.status.attempted else "",
    )
    return _trimmed((*history, entry), unit)


def _trimmed(history: tuple[Deployed, ...], unit: SyncUnit) -> tuple[Deployed, ...]:
    """As many entries as are kept: the newest, and the one that the unit is pinned to."""
    pinned = unit.pinned.entry if unit.pinned else 0
    spare = [entry for entry in history if entry.id != pinned]
    gone = {entry.id for entry in spare[: max(0, len(history) - unit.policy.history_limit)]}
    return tuple(entry for entry in history if entry.id not in gone)


def is_remembered(unit: SyncUnit, operation: Operation) -> bool:
    """Whether one may want to come back to what an operation reaches."""
    is_whole = not operation.dry_run and not operation.resources and not operation.delete
    return is_whole and unit.policy.history_limit > 0


def entry_of(unit: SyncUnit, history_id: int) -> Deployed:
    """An entry of a unit's history."""
    entry = next((entry for entry in unit.status.history if entry.id == history_id), None)
    if entry is None:
        known = ", ".join(str(entry.id) for entry in unit.status.history) or "nothing"
        raise Missing(f"app {unit.id}", f"its history has no entry {history_id}", f"It has {known}")
    return entry


def entry_before(unit: SyncUnit) -> Deployed:
    """The entry that one goes back to without naming one: the last that was something else.

    Of a pinned unit it is the one it is pinned to, until that is reached, and then the one before that.
    """
    history = unit.status.history
    pinned = next((each for each in history if unit.pinned and each.id == unit.pinned.entry), None)
    if pinned is not None:
        if not _is_same(pinned, history[-1]):
            return pinned
        history = history[: history.index(pinned) + 1]
    for entry in reversed(history):
        if not _is_same(entry, history[-1]):
            return entry
    if not history:
        raise Missing(f"unit {unit.id}", "no sync of it has succeeded yet", "Sync it first")
    raise Missing(f"unit {unit.id}", "its history has nothing else to go back to", "Name an entry of it")


def _is_same(one: Deployed, other: Deployed) -> bool:
    return (one.rendered or one.revision) == (other.rendered or other.revision)


def rollback(unit: SyncUnit, history_id: int, *, prune: bool = False) -> Operation:
    """The operation that goes back to an entry of history; refused where it would be undone at once."""
    subject, automated = f"unit {unit.id}", unit.policy.automated
    is_pinned = unit.pinned is not None and unit.pinned.entry == history_id
    if automated is not None and automated.enabled and not is_pinned:
        raise Conflict(
            subject, "auto-sync would undo the rollback at once", "Pin it there, or switch auto-sync off"
        )
    entry = entry_of(unit, history_id)
    return Operation(
        revision=entry.revision,
        source=entry.source,
        entry=entry.id,
        prune=prune,
        strategy=Strategy.APPLY,
        options=unit.policy.options,
    )


def conditions_after(
    before: Iterable[Condition],
    judged: Iterable[ConditionType],
    found: Iterable[tuple[ConditionType, str]],
    now: datetime,
) -> tuple[Condition, ...]:
    """The conditions once some types were judged anew: others stay, and the same words keep their time."""
    old, judged = tuple(before), frozenset(judged)
    since = {(each.type, each.message): each.since for each in old}
    kept = [each for each in old if each.type not in judged]
    new = [
        Condition(type=type_, message=message, since=since.get((type_, message), now))
        for type_, message in dict.fromkeys(found)
    ]
    return tuple(sorted([*kept, *new], key=lambda each: (each.type.value, each.message)))


class Refresh(enum.IntEnum):
    """How thoroughly a unit is looked at; of several requests the most thorough counts."""

    #: live state changed: what is wanted is known
    LIVE = 1
    #: ask the generator, which may answer from memory
    USUAL = 2
    #: ask the generator to forget what it remembers
    HARD = 3


def declared_digest(unit: SyncUnit) -> str:
    """Tells apart what is wanted of a unit; a change of it has the unit looked at."""
    policy = unit.policy
    parts = (policy.ignore_differences, policy.namespace_metadata, policy.options, policy.adopt)
    return digest(to_builtins((unit.source, unit.destination, *parts)))


def refresh_due(unit: SyncUnit, declared: str, now: datetime, interval: timedelta) -> Refresh | None:
    """Whether a unit has to be looked at although nobody asked; an interval of 0 switches repeats off.

    `declared` is its `declared_digest`.
    """
    status = unit.status
    if status.reconciled_at is None or status.declared != declared:
        return Refresh.USUAL
    # Either way: a time far ahead was written by a process with another clock.
    if interval and abs(now - status.reconciled_at) >= interval:
        return Refresh.USUAL
    return None
