"""Causes between a commit and the cluster: the plan, the operation, what the server answered. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from trimtab.app.remedies import remedy_of
from trimtab.app.why.facts import Facts, Finding, about_object
from trimtab.app.why.reaching import no_right
from trimtab.app.why.running import ended_badly, lacks_pods
from trimtab.app.why.words import NoRight, NoRoom, NotAdmitted, OtherIdentity, meaning_of
from trimtab.engine.compare.matching import FindingKind
from trimtab.engine.compare.tracking import OUR_MANAGER
from trimtab.engine.control.policy import Later, Leave, Refuse, Start, auto_sync
from trimtab.engine.health import HealthStatus
from trimtab.engine.operations import StepPhase, StepResult, StepStatus
from trimtab.engine.rows import Difference, Verdict
from trimtab.engine.sync.judging import tells_of_a_move
from trimtab.engine.sync.messages import clean
from trimtab.engine.sync.steps import Prune
from trimtab.resources.counting import counted
from trimtab.resources.keys import ResourceKey
from trimtab.resources.sentences import joined

_MOST_TOLD = 3
#: what controllers say when the server refuses what they want to make
_FAILED_TO_MAKE = ("FailedCreate", "FailedUpdate")


class Words(Struct, frozen=True, kw_only=True):
    """What the server said when it refused to write one object."""

    key: ResourceKey
    text: str
    since: datetime | None = None
    #: what could not be done with it
    what: str = "could not be written"


def refusals(facts: Facts) -> Iterator[Words]:
    """Everything that was refused: to us in the last sync or when comparing, and to controllers."""
    for result in failed_results(facts):
        # What was written and became degraded was not refused: its own family says what is wrong with it.
        if result.status is StepStatus.SYNC_FAILED:
            yield Words(key=result.key, text=result.message, since=result.at)
    for row in facts.rows:
        if row.refusal:
            yield Words(key=row.key, text=clean(row.refusal))
        elif row.problem:
            yield Words(key=row.key, text=row.problem, what="could not be compared with its source")
    for seen in facts.family.values():
        if lacks_pods(seen):
            said = next(facts.said_of(seen, *_FAILED_TO_MAKE), None)
            if said is not None:
                yield Words(key=seen.key, text=said.message, since=said.first)


def failed_results(facts: Facts) -> Iterator[StepResult]:
    """What went wrong in the last operation and still is: an object that is as wanted now is forgiven."""
    state = facts.state
    well = {row.key for row in facts.rows if row.verdict is Verdict.SYNCED}
    for result in state.results if state is not None else ():
        if result.phase.bad and (result.hook or result.key not in well):
            yield result


def no_rights(facts: Facts) -> Iterator[Finding]:
    """Somebody lacks the right to write or to read an object: which verb on which kind."""
    for words in refusals(facts):
        match meaning_of(words.text):
            case NoRight() as right:
                yield replace(no_right(right, words.text), key=words.key, since=words.since)
            case _:
                continue


def quota(facts: Facts) -> Iterator[Finding]:
    """A ResourceQuota or LimitRange of the namespace has no room for an object."""
    for words in refusals(facts):
        match meaning_of(words.text):
            case NoRoom(limit=limit, why=why):
                remedy = "Raise the quota, ask for less, or remove what is no longer needed"
                what = f"does not fit into the quota {limit}"
                yield about_object(words.key, what, evidence=why, remedy=remedy, since=words.since)
            case _:
                continue


def admission(facts: Facts) -> Iterator[Finding]:
    """A policy or webhook that is asked before objects are written said no, or did not answer."""
    for words in refusals(facts):
        match meaning_of(words.text):
            case NotAdmitted(by=by, why=why, is_silent=True):
                remedy = "Look at the webhook's own pods, or at its failurePolicy"
                what = f"cannot be written because the {by} does not answer"
                yield about_object(words.key, what, evidence=why, remedy=remedy, since=words.since)
            case NotAdmitted(by=by, why=why):
                remedy = "Change the object as the policy wants it, or ask whoever keeps the policy"
                what = f"is refused by the {by}"
                yield about_object(words.key, what, evidence=why, remedy=remedy, since=words.since)
            case _:
                continue


def moved(facts: Facts) -> Iterator[Finding]:
    """What was there when a plan was agreed to had changed before it was carried out."""
    state, remedy = facts.state, f"Plan anew, with what is there now: {_bringing(facts)}"
    for result in failed_results(facts):
        if tells_of_a_move(result.message) or isinstance(meaning_of(result.message), OtherIdentity):
            what = "was not written, because it had moved since the plan was made"
            yield about_object(result.key, what, evidence=result.message, remedy=remedy, since=result.at)
    if state is None or state.results or facts.is_synced or not facts.has_failed:
        return
    if tells_of_a_move(state.message):
        what = "was not synced, because the world had moved since its plan was agreed to"
        yield _about_app(facts, what, evidence=state.message, remedy=remedy, since=state.finished_at)


def refused(facts: Facts) -> Iterator[Finding]:
    """The server does not take an object as it is declared."""
    destination = facts.unit.destination.namespace if facts.unit is not None else ""
    explained = {row.key for row in facts.rows if row.claimed_by is not None} | _of_no_kind(facts)
    for words in refusals(facts):
        if words.key in explained or meaning_of(words.text) is not None or tells_of_a_move(words.text):
            continue
        if facts.root_of(words.key) != words.key:
            continue
        otherwise = "See what the server says, and correct the object in its source"
        remedy = remedy_of(words.text, otherwise, destination=destination)
        yield about_object(words.key, words.what, evidence=words.text, remedy=remedy, since=words.since)


def unplannable(facts: Facts) -> Iterator[Finding]:
    """An object cannot even be planned: what it asks for contradicts itself, or its namespace is going."""
    known = {row.key for row in facts.rows if row.claimed_by is not None or row.problem} | _of_no_kind(facts)
    for each in facts.plan.refused if facts.plan is not None else ():
        if each.key not in known:
            what = "cannot be synced"
            yield about_object(each.key, what, evidence=each.reason, remedy=each.remedy)


def _of_no_kind(facts: Facts) -> set[ResourceKey | None]:
    """Objects of kinds that nobody serves: their manifests are told, and what follows is not."""
    return {each.key for each in facts.findings if each.kind is FindingKind.UNKNOWN_KIND}


def foreign_owner(facts: Facts) -> Iterator[Finding]:
    """An object that the app declares carries somebody else's mark."""
    for row in facts.rows:
        if row.claimed_by is not None and row.desired is not None:
            remedy = f"Release it there, or take it over: {_syncing(facts, '--adopt')}"
            evidence = "its mark says so, and a mark of somebody else is never overwritten unasked"
            yield about_object(row.key, f"is managed by {row.claimed_by}", evidence=evidence, remedy=remedy)


def being_deleted(facts: Facts) -> Iterator[Finding]:
    """The app is being deleted, and some of it is still there."""
    if not facts.is_going or facts.unit is None:
        return
    left = [row.key for row in facts.rows if row.live is not None]
    refused = [] if facts.plan is None else [each.key for each in facts.plan.refused]
    unknown = [key for key in refused if key not in left]  # whoever asks may not read their kinds
    name = facts.unit.id
    yield _about_app(
        facts,
        f"is being deleted, and {_left_words(left, unknown)}",
        evidence=_named([*left, *unknown]),
        remedy=f"Finish it: trimtab delete {name}; or leave them: trimtab delete {name} --abandon",
        since=facts.state.started_at if facts.state is not None else None,
    )


def _left_words(left: list[ResourceKey], unknown: list[ResourceKey]) -> str:
    """How many objects are still there, as far as that is known."""
    there = f"{counted(len(left), 'object')} of it {_is(left)} still there"
    if not unknown:
        return there
    hidden = f"whether {counted(len(unknown), 'object')} of it {_is(unknown)} still there is not known"
    return f"{there}; {hidden}" if left else hidden


def _is(many: list[ResourceKey]) -> str:
    return "is" if len(many) == 1 else "are"


def held(facts: Facts) -> Iterator[Finding]:
    """Somebody paused the app, or pinned it to an entry of its history: its source is not followed."""
    unit = facts.unit
    for each in (unit.paused, unit.pinned) if unit is not None else ():
        if each is not None and unit is not None:
            remedy = f"Let it follow its source again: trimtab resume {unit.id}"
            yield _about_app(facts, f"is {each}", evidence="", remedy=remedy, since=each.since)


def prune_held(facts: Facts) -> Iterator[Finding]:
    """More would be deleted than is deleted without somebody's word."""
    deletions = facts.plan.held if facts.plan is not None else ()
    if not deletions or facts.unit is None or facts.is_going:
        return
    reasons = "; ".join(dict.fromkeys(step.hold for step in deletions))
    waits = facts.state is not None and facts.is_unfinished and "consent" in facts.state.message
    yield _about_app(
        facts,
        f"would delete {counted(len(deletions), 'object')}, and nobody has agreed to that",
        evidence=f"{reasons}: {_named([step.key for step in deletions])}",
        remedy=f"If it is meant: {_bringing(facts, '--prune --confirm-deletions')}; else put it back",
        since=facts.state.waiting_since if waits and facts.state else None,
    )


def not_pruned(facts: Facts) -> Iterator[Finding]:
    """What the source no longer declares is still there: pruning was not asked for, or is not wanted."""
    if facts.plan is None or facts.unit is None or facts.plan.held or facts.is_going:
        return
    going = {row.key for row in facts.rows if row.live is not None and row.live.deleting}
    extra = [step for step in facts.plan.steps if isinstance(step, Prune) and step.key not in going]
    left, kept = [step for step in extra if not step.skip], [step for step in extra if step.skip]
    if left:
        what = f"still has {counted(len(left), 'object')} that the source no longer declares"
        remedy = f"Delete {'it' if len(left) == 1 else 'them'}: {_bringing(facts, '--prune')}"
        yield _about_app(facts, what, evidence=_named([step.key for step in left]), remedy=remedy)
    if kept:
        what = f"keeps {counted(len(kept), 'object')} that the source no longer declares"
        reasons = ", ".join(dict.fromkeys(step.skip for step in kept))
        evidence = f"{_named([step.key for step in kept])}: {reasons}"
        yield _about_app(facts, what, evidence=evidence, remedy="Delete by hand what is not meant")


def hook_failed(facts: Facts) -> Iterator[Finding]:
    """A hook of the last sync, or of the deletion, ended badly."""
    delete = f"trimtab delete {facts.unit.id}" if facts.unit is not None else ""
    for result in failed_results(facts):
        if result.hook and result.status is not StepStatus.SYNC_FAILED:
            evidence = joined((result.message, *_endings(facts, result.key)))
            again = f"sync again: {_syncing(facts)}"
            if facts.is_going:
                again = f"go on: {delete}; or leave hooks out: {delete} --skip-hooks"
            remedy = f"Mend what it runs, see its pods' logs, and {again}"
            stopped = "deletion" if facts.is_going else "sync"
            what = f"failed as {result.sync_phase.value} hook, so the {stopped} stopped"
            yield about_object(result.key, what, evidence=evidence, remedy=remedy, since=result.at)


def _endings(facts: Facts, root: ResourceKey) -> Iterator[str]:
    """How the containers of a hook's pods ended."""
    for seen in facts.family.values():
        if seen.key.kind == "Pod" and facts.root_of(seen.key) == root:
            yield from (f"{seen.key}: {words}" for words in ended_badly(seen))


def interrupted(facts: Facts) -> Iterator[Finding]:
    """A sync was begun, and nobody carries it on."""
    if facts.unit is None or not facts.is_unfinished or facts.holder or facts.is_going:
        return
    state = facts.state
    message = state.message if state is not None else ""
    yield _about_app(
        facts,
        "has a sync that was begun and that nobody carries on",
        evidence=message or "its record says that it is under way, and nobody holds its lease",
        remedy=f"Finish it: {_bringing(facts)}",
        since=state.started_at if state is not None else None,
    )


def wave_waits(facts: Facts) -> Iterator[Finding]:
    """The sync waits for an object to become healthy, for a hook to end, or for something to be gone."""
    state = facts.state
    if not facts.is_unfinished:
        return
    results = state.results if state is not None else ()
    running = [each for each in results if each.phase is StepPhase.RUNNING and each.status is not None]
    if state is None or not running:
        words = state.message if state is not None else "it has not begun yet"
        since = state.waiting_since or state.started_at if state is not None else None
        yield _about_app(facts, "is being synced", evidence=words, since=since)
        return
    for result in running:
        awaited = "to end" if result.hook else "to become healthy"
        what = f"is what the {result.sync_phase.value} phase waits for {awaited}"
        yield about_object(
            result.key,
            what,
            evidence=state.message,
            remedy="See what it lacks; a newer revision or `trimtab terminate` ends the wait",
            since=state.waiting_since,
        )


def field_owner(facts: Facts) -> Iterator[Finding]:
    """Somebody else set a field of a live object to another value than the source wants."""
    for row in facts.rows:
        foreign = [each for each in row.differences if _is_foreign(each)]
        if not foreign or row.desired is None or row.claimed_by is not None:
            continue
        managers = ", ".join(dict.fromkeys(each.manager for each in foreign))
        yield about_object(
            row.key,
            f"differs from its source in {counted(len(foreign), 'field')} that {managers} set",
            evidence=_told(foreign),
            remedy=f"Put it back: {_bringing(facts)}; or leave the field to them: take it out of the source",
        )


def _is_foreign(each: Difference) -> bool:
    return any(manager.strip() not in {"", OUR_MANAGER} for manager in each.manager.split(","))


def auto_sync_waits(facts: Facts) -> Iterator[Finding]:
    """The app would sync by itself, and does not: it waits, it was refused, or no runner keeps it."""
    unit = facts.unit
    if unit is None or unit.policy.automated is None or facts.is_synced or facts.trouble is not None:
        return
    if facts.is_unfinished or facts.is_going or unit.hold:
        return
    remedy = f"Sync it by hand: trimtab sync {unit.id}"
    match auto_sync(unit, facts.now):
        case Later(at=at, reason=reason):
            what = f"is synced by itself again at {at:%H:%M:%S} UTC"
            yield _about_app(facts, what, evidence=reason, remedy=f"Wait. {remedy}")
        case Refuse(message=reason) | Leave(reason=reason):
            yield _about_app(facts, "is not synced by itself", evidence=reason, remedy=remedy)
        case Start(reason=reason):
            what = "is to be synced by itself, and no runner has done so yet"
            yield _about_app(facts, what, evidence=reason, remedy=f"See that a runner runs. {remedy}")


def not_synced(facts: Facts) -> Iterator[Finding]:
    """The source wants something else than what is there, and nothing keeps it from being synced."""
    unit = facts.unit
    if unit is None or facts.has_failed or facts.is_unfinished or unit.paused is not None:
        return
    remedy = f"{'Sync it' if unit.pinned is None else 'Bring it there'}: {_bringing(facts)}"
    for row in facts.rows:
        if row.verdict is not Verdict.OUT_OF_SYNC or row.desired is None or row.claimed_by is not None:
            continue
        if row.live is not None and any(map(_is_foreign, row.differences)):
            continue
        what = "is not there yet" if row.live is None else "is not as its source wants it"
        yield about_object(row.key, what, evidence=_told(list(row.differences)), remedy=remedy)


def sync_failed(facts: Facts) -> Iterator[Finding]:
    """The last sync came to a bad end, and no cause of its own is known."""
    state = facts.state
    if state is not None and facts.has_failed and not facts.is_synced:
        what = "was not synced: its last sync failed"
        yield _about_app(facts, what, evidence=state.message, since=state.finished_at)


def unexplained(facts: Facts) -> Iterator[Finding]:
    """The app is not as it should be, and nothing that could be read says why."""
    is_well = facts.is_synced and facts.health.status is HealthStatus.HEALTHY
    if facts.unit is not None and facts.asked is None and not is_well:
        remedy = "See the objects that are not well with: trimtab status " + facts.unit.id
        yield _about_app(facts, facts.standing or "is not well", evidence=facts.health.message, remedy=remedy)


def _bringing(facts: Facts, flags: str = "") -> str:
    """The command that brings an app to what is wanted of it now, its pin included."""
    unit = facts.unit
    if unit is None or unit.pinned is None or unit.paused is not None:
        return _syncing(facts, flags)
    return f"trimtab rollback {unit.id} {unit.pinned.entry} {flags}".rstrip()


def _syncing(facts: Facts, flags: str = "") -> str:
    """The command that syncs an app to its source; what holds it has to go first."""
    unit = facts.unit
    if unit is None:
        return f"a sync {flags}".rstrip()
    resumed = f"trimtab resume {unit.id} && " if unit.hold else ""
    return f"{resumed}trimtab sync {unit.id} {flags}".rstrip()


def _about_app(
    facts: Facts, what: str, *, evidence: str, remedy: str = "", since: datetime | None = None
) -> Finding:
    return Finding(subject=facts.about, what=what, evidence=evidence, remedy=remedy, since=since)


def _named(keys: list[ResourceKey]) -> str:
    more = f" and {len(keys) - _MOST_TOLD} more" if len(keys) > _MOST_TOLD else ""
    return ", ".join(map(str, keys[:_MOST_TOLD])) + more


def _told(differences: list[Difference]) -> str:
    more = f"; and {len(differences) - _MOST_TOLD} more" if len(differences) > _MOST_TOLD else ""
    return "; ".join(map(str, differences[:_MOST_TOLD])) + more
