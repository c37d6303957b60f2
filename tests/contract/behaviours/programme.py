"""Everything that is played, where it is recorded, and what of a telling is compared. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.contract.behaviours.rules import RULES
from tests.contract.behaviours.stories import STORIES, Story
from tests.contract.behaviours.troubles import TROUBLES
from tests.contract.behaviours.upkeep import UPKEEP

Json = dict[str, Any]
PROGRAMME: Mapping[str, Story] = {**STORIES, **RULES, **TROUBLES, **UPKEEP}
RECORDED = Path(__file__).parent / "recorded"
_COMBINED = re.compile(r"(?<=\(combined from similar events\)): .*")
_BY_CHANCE = re.compile("SuccessfulCreate|the object has been modified")


def slug(title: str) -> str:
    """A title in small letters and underscores."""
    return re.sub("[^a-z]+", "_", title)


def recording(title: str) -> Path:
    """The file that says how a story went with the real controllers."""
    return RECORDED / f"{slug(title)}.json"


def comparable(title: str, told: Json) -> Json:
    """The story without what differs from one telling by the real controllers to the next."""
    conditions = _certain(title, told["conditions"])
    told = {**told, "came": _once(told["came"]), "conditions": conditions, "went": _once(told["went"])}
    match title:
        case "a namespace deletion":
            # The real controller empties a namespace in any order; whether it first finds everything fine
            # depends on how quickly pods go.
            kinds = told["conditions"]["Namespace NAMESPACE"]
            lines = {kind: _from_trouble(each) for kind, each in kinds.items()}
            return {**told, "conditions": {"Namespace NAMESPACE": lines}, "went": []}
        case "a rollback":
            # Of many similar Events the real controller combines some that it draws by lot.
            return {**told, "events": sorted({_COMBINED.sub("", each) for each in told["events"]})}
        case "claims that change hands":
            # Whether the real controller tells of a claim depends on how often it has to try; and whether
            # the scheduler once found no place, on whether the claim was bound by then.
            return {**told, "events": [], "objects": _unscheduled(told["objects"])}
        case "claims that go along":
            # And so does whether it tells of the pod: it was seen to make one without a word. It also tells
            # when somebody else was faster to change a claim.
            events = [each for each in told["events"] if not _BY_CHANCE.search(each)]
            return {**told, "events": events}
        case "a claim that waits for a pod":
            # What schedulers write meanwhile differs knowingly: see `differing`.
            return {**told, "objects": _unscheduled(told["objects"])}
        case (
            "an indexed job"
            | "an indexed job that gives up"
            | "an index that backs off for itself"
            | "an index that fails by policy"
            | "a job that succeeds by policy"
            | "a job with too many failed indexes"
        ):
            return {**told, "came": sorted(told["came"]), "went": sorted(told["went"])}
        case "a stateful set in parallel":
            return {**told, "went": sorted(told["went"])}
        case "a stateful set updated in parallel":
            # It is updated one by one, but its first pods come at once.
            return {**told, "came": [*told["came"][:2], *sorted(told["came"][2:5]), *told["came"][5:]]}
        case _:
            return told


def _certain(title: str, conditions: Json) -> Json:
    """The conditions without those that the real controllers tell now and then."""
    match title:
        case "a failed image" | "a crash loop":
            # It depends on whether the one pod that comes is counted already when they tell of its set.
            return _without(conditions, 'ReplicaSetUpdated ReplicaSet "web-HASH2"')
        case "a foreground delete":
            # That pods are missing may come too late for a Deployment that goes with them.
            return _until_available(conditions)
        case "disruption budgets":
            # The real controller may see a pod before its owner, and says then that it cannot count.
            return _without(conditions, "SyncFailed")
        case _:
            return conditions


def _unscheduled(objects: list[Json]) -> list[Json]:
    """The objects without what a scheduler has written into their status."""
    return [
        {**each, "metadata": {**each["metadata"], "managers": _without_scheduler(each["metadata"])}}
        if each["kind"] == "Pod"
        else each
        for each in objects
    ]


def _without_scheduler(metadata: Json) -> Json:
    return {who: fields for who, fields in metadata["managers"].items() if "kube-scheduler" not in who}


def _once(titles: list[str]) -> list[str]:
    """A numbered pod that came or went twice in a row did so once: the real controller's cache lags."""
    before = ["", *titles]
    return [
        title for title, last in zip(titles, before, strict=False) if title != last or title.endswith("*")
    ]


def _from_trouble(lines: list[str]) -> list[str]:
    return lines[1:] if len(lines) > 1 and lines[0].startswith("False") else lines


def _until_available(conditions: Json) -> Json:
    """The conditions without what is said of pods that go, after they had all come."""
    return {
        title: {kind: lines[:2] if kind == "Available" else lines for kind, lines in kinds.items()}
        for title, kinds in conditions.items()
    }


def _without(conditions: Json, reason: str) -> Json:
    """The conditions without the lines of one reason; what is then said twice in a row was said once."""
    left = {
        title: {kind: [line for line in lines if reason not in line] for kind, lines in kinds.items()}
        for title, kinds in conditions.items()
    }
    return {
        title: {kind: list(dict.fromkeys(lines)) for kind, lines in kinds.items()}
        for title, kinds in left.items()
    }
