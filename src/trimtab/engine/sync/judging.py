"""What the world says about a step that was done: still running, ended well or badly, gone. Pure.

The cache hears of a write a moment after the server answered it. So an object counts only if it is at least
as new as our own write; until the cache has it, what the server itself last said counts, and from time to
time the server is asked again. An object that was just updated is never taken for healthy because the cache
still shows how it was before.
"""

from __future__ import annotations

import enum
from datetime import datetime, timedelta
from typing import TypeAlias

from msgspec.structs import replace

from trimtab.engine.health import HealthStatus
from trimtab.engine.live import Change, Live
from trimtab.engine.marks import Mark
from trimtab.engine.operations import StepPhase, StepResult, StepStatus
from trimtab.engine.sync.acts import Facts
from trimtab.engine.sync.hooks import phase_from
from trimtab.engine.sync.steps import Expected, Prune, RunHook, Step
from trimtab.resources.keys import ResourceKey

_FIRST_LOOK = timedelta(seconds=2)
_LONGEST_LOOK = timedelta(seconds=30)
#: how the words end that say why a step was not done, because what it was planned on had moved
SINCE_PLANNED = "since the plan was made"
WHILE_HELD = "it was changed while its deletion waited for consent"
#: the same of a whole plan
AGREED_OTHERWISE = "the plan that was agreed to is not what would be done now"
#: how long a definition may take until its kind is served; afterwards its objects are tried all the same
ESTABLISHED_WITHIN = timedelta(seconds=10)


#: what to do about a stranger's object under a hook's name
RENAME_HOOK = "Rename the hook, or ask for adoption."


class Absence(enum.Enum):
    """Why there is nothing to judge."""

    UNSEEN = "neither the cache nor the server has shown it yet"
    GONE = "the object was there and is gone"


Seen: TypeAlias = Live | Absence


def seen(result: StepResult, facts: Facts) -> Seen:
    """The object as it was written or later, by the cache or else by the server's own word."""
    cached = facts.live(result.key)
    if cached is not None and is_newer(cached.resource_version, result.resource_version):
        return cached if _is_same(cached, result) else Absence.GONE
    sighting = facts.sightings.get(result.key)
    if sighting is None or not sighting.known or (result.at is not None and sighting.at < result.at):
        return Absence.UNSEEN
    if sighting.live is None or not _is_same(sighting.live, result):
        return Absence.GONE
    return sighting.live


def _is_same(found: Live, result: StepResult) -> bool:
    return not result.uid or found.uid == result.uid


def is_newer(version: str, than: str) -> bool:
    """Whether one resource version is as new as another; where they are no numbers nobody can tell."""
    if version == than:
        return True
    if version.isdigit() and than.isdigit():
        # Numbers without leading zeros: the longer one is larger.
        return (len(version), version) >= (len(than), than)
    return True


def is_unheard(result: StepResult, live: Live | None) -> bool:
    """Whether a cache that shows this has not heard of the write yet."""
    if result.status is StepStatus.PRUNED:
        return live is not None and live.uid == result.uid and not live.deleting
    if result.status is not StepStatus.SYNCED or not result.resource_version:
        return False
    return live is None or not is_newer(live.resource_version, result.resource_version)


def judged(step: Step, result: StepResult, facts: Facts) -> StepResult:
    """The result of a step that still ran when it was last looked at."""
    match seen(result, facts):
        case Absence.UNSEEN:
            return result
        case Absence.GONE:
            missing = "the object is missing: it was deleted, or another one has taken its name"
            return replace(result, status=StepStatus.SYNC_FAILED, phase=StepPhase.ERROR, message=missing)
        case Live() as found:
            return _by_health(step, result, found)


def _by_health(step: Step, result: StepResult, found: Live) -> StepResult:
    phase = phase_from(found.health) if isinstance(step, RunHook) else _object_phase(found)
    if phase is StepPhase.RUNNING:
        return result
    why = found.health.message if found.health else ""
    return replace(result, phase=phase, message=why or result.message)


def _object_phase(found: Live) -> StepPhase:
    match found.health.status if found.health else HealthStatus.HEALTHY:
        case HealthStatus.HEALTHY:
            return StepPhase.SUCCEEDED
        case HealthStatus.DEGRADED:
            return StepPhase.FAILED
        case _:
            return StepPhase.RUNNING


def look_due(result: StepResult, facts: Facts, now: datetime) -> datetime | None:
    """When the server itself should be asked; None while the cache shows what was written."""
    cached = facts.live(result.key)
    if cached is not None and is_newer(cached.resource_version, result.resource_version):
        return None
    wrote = result.at or now
    sighting = facts.sightings.get(result.key)
    last = sighting.at if sighting else wrote
    # Ever longer: as long again as it has been since the write.
    return last + min(max(last - wrote, _FIRST_LOOK), _LONGEST_LOOK)


def standing(key: ResourceKey, facts: Facts) -> Live | None:
    """What stands under a name: by the cache where it knows, else by the server's own word."""
    cached = facts.live(key)
    if cached is not None or facts.knows(key):
        return cached
    sighting = facts.sightings.get(key)
    return sighting.live if sighting else None


def in_the_way(found: Live | None, own: Mark | None) -> str:
    """Why a hook must not take the place of what stands under its name; empty if it is ours, or nothing."""
    if own is None or found is None or found.mark == own:
        return ""
    owner = str(found.mark) if found.mark else "nobody we know"
    return f"the hook would delete an object of its name, which is managed by {owner}"


def question_due(key: ResourceKey, facts: Facts, now: datetime, *, again: bool) -> datetime | None:
    """When the server should be asked what stands under a name; None if that is known.

    Whoever waits for it to change has to ask `again`, where the cache does not tell.
    """
    if facts.live(key) is not None or facts.knows(key):
        return None
    sighting = facts.sightings.get(key)
    if sighting is None:
        return now
    return None if sighting.known and not again else sighting.at + _FIRST_LOOK


def is_established(result: StepResult, facts: Facts, now: datetime) -> bool:
    """Whether the kind that a definition defines can be used, or was waited for long enough."""
    if result.at is None or result.phase.final or now >= result.at + ESTABLISHED_WITHIN:
        return True
    match seen(result, facts):
        case Live(health=health):
            return health is None or health.status is HealthStatus.HEALTHY
        case _:
            return False


def is_gone(step: Prune, facts: Facts) -> bool:
    """Whether a pruned object has left."""
    return not _stands(step.key, step.expected.uid, facts)


def _stands(key: ResourceKey, uid: str, facts: Facts) -> bool:
    found = facts.live(key)
    return found is not None and found.uid == uid


def matters(change: Change) -> bool:
    """Whether a change can mean that a step is over; reports of progress in between cannot."""
    before, after = change.before, change.after
    if before is None or after is None:
        return True
    if before.uid != after.uid or before.deleting != after.deleting:
        return True
    old, new = before.health, after.health
    return (old.status if old else None) is not (new.status if new else None)


def moved(step: Step, found: Live | None, *, exact: bool, digest: str) -> str:
    """Why a step must not be done, because what it was planned on has changed; empty if it may.

    Where somebody agreed to exactly this plan, any change counts. Otherwise only identity does, and only
    where something would be deleted: applying is as right for the object that is there now.
    """
    expected, uid = step.expected, found.uid if found else ""
    if isinstance(step, Prune):
        if found is not None and uid != expected.uid:
            return f"another object has taken its name {SINCE_PLANNED}"
        if found is not None and found.mark != step.mark:
            return f"somebody else has claimed it {SINCE_PLANNED}"
        if step.hold and digest and step.expected.digest and digest != step.expected.digest:
            return WHILE_HELD
    elif not exact:
        return ""
    return _moved_exactly(expected, uid, digest) if exact else ""


def _moved_exactly(expected: Expected, uid: str, digest: str) -> str:
    if uid != expected.uid:
        if not uid:
            return f"the object is gone, {SINCE_PLANNED}"
        why = "another object has taken its name" if expected.uid else "it has been made by somebody"
        return f"{why} {SINCE_PLANNED}"
    if digest and expected.digest and digest != expected.digest:
        return f"it was changed {SINCE_PLANNED}"
    return ""


def tells_of_a_move(message: str) -> bool:
    """Whether recorded words say that something was not done because what it was planned on had moved."""
    return any(words in message for words in (SINCE_PLANNED, WHILE_HELD, AGREED_OTHERWISE))
