"""Old Events: the server forgets each an hour after it was last told, as an API server does. Pure.

Events of one minute are looked at together, and only when their time has come: there may be very many.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from trimtab.apiserver.behaviours.changes import NOTHING, Actor, Behaviour, Decision, Delete, decision
from trimtab.apiserver.behaviours.kinds import EVENT
from trimtab.apiserver.behaviours.manifests import Manifest, Name, kind_of
from trimtab.apiserver.behaviours.timing import Timing
from trimtab.apiserver.behaviours.world import World
from trimtab.kube.times import parse_time

KEPT_FOR = timedelta(hours=1)
_MINUTE = timedelta(minutes=1)


def last_told(event: Manifest) -> datetime:
    """When the Event was last written, as far as it says so itself."""
    series = (event.get("series") or {}).get("lastObservedTime")
    times = (
        event["metadata"]["creationTimestamp"],
        event.get("lastTimestamp"),
        event.get("eventTime"),
        series,
    )
    return max(parse_time(each) for each in times if each)


def decide(world: World, name: Name, now: datetime, timing: Timing) -> Decision:
    """Forget the Events of a minute an hour after it."""
    due = datetime.fromtimestamp(int(name[1]) * 60, UTC) + _MINUTE + KEPT_FOR
    if now < due:
        return decision((), due)
    old = [each for each in world.all(EVENT) if last_told(each) + KEPT_FOR <= now]
    return decision([Delete(target=each) for each in old]) if old else NOTHING


def concerned(world: World, changed: Manifest) -> Iterator[Name]:
    """The minute in which an Event was last told."""
    if kind_of(changed) == EVENT and world.by_uid(changed["metadata"]["uid"]) is not None:
        yield "", str(int(last_told(changed).timestamp()) // 60)


EXPIRY = Behaviour(title="expiry", actor=Actor.CONTROLLERS, decide=decide, concerned=concerned)
