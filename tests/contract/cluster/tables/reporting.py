"""Events of both groups: who reports them, where they are, and what of them may change."""

from __future__ import annotations

from typing import Any

from tests.contract.cluster.cases import Table
from tests.contract.cluster.kinds import EVENTS, NEW_EVENTS, named, with_metadata
from tests.contract.cluster.stage import Stage
from trimtab.kube.cluster import Write
from trimtab.kube.discovery import Resource

TABLE = Table(__name__)
HERE = "<here>"  # the namespace of the case
TIME = "2026-01-02T03:04:05.000006Z"
SECOND = "2026-01-02T03:04:05Z"
#: an event as events.k8s.io calls its fields
REPORTED: dict[str, Any] = {
    "regarding": {"kind": "Pod", "name": "p", "namespace": HERE},
    "reportingController": "example.com/x",
    "reportingInstance": "x-1",
    "action": "Do",
    "reason": "Done",
    "type": "Normal",
    "note": "It is done.",
    "eventTime": TIME,
}
#: how the core group calls them
OLD_NAMES = {
    "regarding": "involvedObject",
    "reportingController": "reportingComponent",
    "note": "message",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
    "deprecatedSource": "source",
}
SERIES = {"count": 2, "lastObservedTime": TIME}
#: what is otherwise; nothing leaves a field out
CHANGES: dict[str, dict[str, Any]] = {
    "nothing wrong": {},
    "an object elsewhere": {"regarding": {"kind": "Pod", "name": "p", "namespace": "elsewhere"}},
    "an object nowhere": {"regarding": {"kind": "Node", "name": "n"}},
    "no object": {"regarding": None},
    "no time": {"eventTime": None},
    "no time and an object elsewhere": {
        "eventTime": None,
        "regarding": {"kind": "Pod", "name": "p", "namespace": "elsewhere"},
    },
    "nobody who reports": {"reportingController": None, "reportingInstance": None},
    "a bad name of who reports": {"reportingController": "a b"},
    "nothing done": {"action": None, "reason": None},
    "no type": {"type": None},
    "an odd type": {"type": "Odd"},
    "words too long": dict.fromkeys(("reportingInstance", "action", "reason"), "x" * 129),
    "a note too long": {"note": "x" * 1025},
    "a series": {"series": SERIES},
    "a series of one": {"series": {**SERIES, "count": 1}},
    "a series of no time": {"series": {"count": 2}},
    "fields of old": {
        "deprecatedFirstTimestamp": SECOND,
        "deprecatedLastTimestamp": SECOND,
        "deprecatedCount": 1,
        "deprecatedSource": {"component": "x", "host": "y"},
    },
    "only fields of old": {
        **dict.fromkeys(("reportingController", "reportingInstance", "action", "eventTime")),
        "deprecatedFirstTimestamp": SECOND,
        "deprecatedLastTimestamp": SECOND,
        "deprecatedCount": 1,
        "deprecatedSource": {"component": "x", "host": "y"},
    },
    "everything wrong": {
        "regarding": None,
        "reportingController": "",
        "reportingInstance": "x" * 129,
        "action": "",
        "type": "",
        "note": "x" * 1025,
        "series": {"count": 0},
        "deprecatedCount": 3,
    },
}


def _event(stage: Stage, kind: Resource, changes: dict[str, Any]) -> dict[str, Any]:
    fields = {name: value for name, value in {**REPORTED, **changes}.items() if value is not None}
    if (fields.get("regarding") or {}).get("namespace") == HERE:
        fields["regarding"] = {**fields["regarding"], "namespace": stage.namespace}
    if kind is EVENTS:
        fields = {OLD_NAMES.get(name, name): value for name, value in fields.items()}
    return named(kind, "a", **fields)


async def _reported(stage: Stage, kind: Resource, changes: dict[str, Any]) -> None:
    """Such an event is created, or one becomes such."""
    await stage.create(kind, _event(stage, kind, changes), write=Write(dry_run=True))
    await stage.given(kind, _event(stage, kind, {}))
    await stage.update(kind, "a", _event(stage, kind, changes))
    wrong = with_metadata(_event(stage, kind, changes), finalizers=["A b"])
    await stage.update(kind, "a", wrong)


for _kind in (EVENTS, NEW_EVENTS):
    for _what, _changes in CHANGES.items():
        _name = f"{_kind.api_version}: {_what}"
        TABLE.add("create", "invalid Event", _name, _reported, _kind, _changes)
