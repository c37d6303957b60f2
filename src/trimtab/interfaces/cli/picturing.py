"""A sync as somebody watches it: from a plan and what is heard to a few lines. Pure.

Waves that are over take one line each; the one under way also names the objects that it waits for, and why.
How lines reach a screen is the business of `screen`.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from msgspec import Struct

from trimtab.engine.events import OperationRetried, OperationWaits, StepDone, UnitEvent
from trimtab.engine.health import Health, HealthStatus
from trimtab.engine.live import Live
from trimtab.engine.operations import StepName, StepStatus, SyncPhase
from trimtab.engine.sync.steps import Prune, Step, SyncPlan
from trimtab.engine.units import SyncUnit
from trimtab.resources.counting import counted
from trimtab.resources.keys import ResourceKey

#: how many objects of a wave are named
MOST_NAMED: Final = 5
_HOOK: Final = "hook"


class Mark(enum.Enum):
    """How a line stands; each has a sign and a colour of its own."""

    DONE = "done"
    ACTIVE = "active"
    FAILED = "failed"
    LATER = "later"
    NOTE = "note"


class Line(Struct, frozen=True):
    """One line of the picture, without its sign."""

    mark: Mark
    text: str


Wave: TypeAlias = tuple[SyncPhase, int | None]


class Picture:
    """What is known of a sync under way; without a plan, as after a crash, waves are not told apart."""

    def __init__(self, plan: SyncPlan | None = None) -> None:
        steps = [step for step in plan.steps if is_done(step)] if plan else []
        self._waves: dict[StepName, Wave] = {
            (step.key, step.phase): (step.phase, step.wave) for step in steps
        }
        self._keys = {step.key for step in steps}
        self._done: dict[StepName, StepDone] = {}
        self._health: dict[ResourceKey, Health] = {}
        self._waiting = ""
        self._ended = False
        self._looked: SyncUnit | None = None

    # -- what is heard -----------------------------------------------------------------------------------

    def hear(self, event: UnitEvent) -> None:
        """Take in one event."""
        match event:
            case StepDone():
                place = (event.key, event.phase)
                self._waves.setdefault(place, (event.phase, None))
                self._keys.add(event.key)
                self._done[place] = event
                self._waiting = ""
            case OperationWaits() | OperationRetried():
                self._waiting = str(event)
            case _:
                return

    def see(self, live: Live) -> None:
        """Take in how an object is now."""
        if live.health is not None and live.key in self._keys:
            self._health[live.key] = live.health

    def say(self, sentence: str) -> None:
        """Take in why nothing happens yet."""
        self._waiting = sentence

    def end(self) -> None:
        """Take in that the operation is over; only health is left to wait for."""
        self._ended, self._waiting = True, ""

    def look(self, unit: SyncUnit) -> None:
        """Take in how the whole app is."""
        self._looked = unit

    @property
    def has_news(self) -> bool:
        """Whether anything was heard at all."""
        return bool(self._done or self._waiting or self._looked)

    # -- what is shown -----------------------------------------------------------------------------------

    def lines(self, seconds: float) -> tuple[Line, ...]:
        """The picture after so many seconds."""
        waves: dict[Wave, list[StepName]] = {}
        for place, wave in self._waves.items():
            waves.setdefault(wave, []).append(place)
        current = self._current(list(waves))
        told = [
            line
            for number, (wave, places) in enumerate(waves.items())
            for line in self._told(wave, places, number - current)
        ]
        if not told and self._waiting:
            told = [Line(Mark.ACTIVE, self._waiting)]
        if self._looked is not None:
            told += _health_lines(self._looked, self._health)
        return (*told, Line(Mark.NOTE, f"{seconds:.1f} s"))

    def counts(self) -> str:
        """What was done, in a few words."""
        words = Counter(_word(event) for event in self._done.values())
        hooks = words.pop(_HOOK, 0)
        told = [f"{number} {word}" for word, number in words.items()]
        told += [counted(hooks, _HOOK)] if hooks else []
        return ", ".join(told) or "nothing to do"

    def warnings(self) -> list[str]:
        """What the server warned of: in a picture there is no room for it."""
        return [
            f"{event.key}: {each}"
            for event in self._done.values()
            for each in event.message.split("; warning: ")[1:]
        ]

    def _current(self, order: list[Wave]) -> int:
        """The place of the last wave that has begun; of the first, if none has."""
        begun = {self._waves[place] for place in self._done}
        return max((number for number, wave in enumerate(order) if wave in begun), default=0)

    def _told(self, wave: Wave, places: list[StepName], away: int) -> Iterable[Line]:
        """One wave, so far away from the one under way."""
        done = [self._done[place] for place in places if place in self._done]
        bad = [event for event in done if event.status is StepStatus.SYNC_FAILED]
        mark = Mark.FAILED if bad else self._mark(away)
        waits = mark is Mark.ACTIVE and self._waiting
        ending = f"  {self._waiting}" if waits else ""
        yield Line(mark, f"{_name(wave):<18}{len(done):>4} of {len(places)}{ending}")
        yield from (Line(Mark.FAILED, f"    {event.key}: {event.message}") for event in bad[:MOST_NAMED])
        if waits:
            yield from _unwell({key: self._health[key] for key, _ in places if key in self._health})

    def _mark(self, away: int) -> Mark:
        if self._ended or away < 0:
            return Mark.DONE
        return Mark.ACTIVE if away == 0 else Mark.LATER


def is_done(step: Step) -> bool:
    """Whether carrying out the plan touches the step's object at all."""
    return not (isinstance(step, Prune) and step.skip)


def _name(wave: Wave) -> str:
    phase, number = wave
    return phase.value if number is None else f"{phase.value} wave {number}"


def _word(event: StepDone) -> str:
    match event.status:
        case StepStatus.SYNC_FAILED:
            return "failed"
        case StepStatus.PRUNED:
            return "pruned"
        case StepStatus.PRUNE_SKIPPED:
            return "kept"
        case StepStatus.SYNCED:
            return _HOOK if event.hook else "applied"


def _health_lines(unit: SyncUnit, seen: Mapping[ResourceKey, Health]) -> Iterable[Line]:
    """How well the app is; of objects seen since it was looked at, what they say now."""
    looked = {each.key: each.health for each in unit.status.resources if each.health is not None}
    judged = {key: seen.get(key, health) for key, health in looked.items()}
    well = sum(health.status is HealthStatus.HEALTHY for health in judged.values())
    is_well = unit.status.health.status is HealthStatus.HEALTHY
    yield Line(Mark.DONE if is_well else Mark.ACTIVE, f"{'Health':<18}{well:>4} of {len(judged)}")
    if not is_well:
        yield from _unwell(judged)


def _unwell(judged: Mapping[ResourceKey, Health]) -> Iterable[Line]:
    """The objects that are not healthy, the first few by name."""
    unwell = [(key, health) for key, health in judged.items() if health.status is not HealthStatus.HEALTHY]
    for key, health in unwell[:MOST_NAMED]:
        mark = Mark.FAILED if health.status is HealthStatus.DEGRADED else Mark.NOTE
        why = f"{health.status.value}: {health.message}" if health.message else health.status.value
        yield Line(mark, f"    {key}  {why}")
    if len(unwell) > MOST_NAMED:
        yield Line(Mark.NOTE, f"    and {len(unwell) - MOST_NAMED} more")
