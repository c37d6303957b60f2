"""Jobs whose pods have numbers: how many may fail, which must succeed, and who looks after them."""

from __future__ import annotations

from typing import Any

from tests.contract.cluster.cases import Table
from tests.contract.cluster.kinds import CRON_JOBS, JOBS, named
from tests.contract.cluster.stage import Stage
from trimtab.kube.cluster import PatchType, Write

TABLE = Table(__name__)
DRY = Write(dry_run=True)
MANY = 100_000
INDEXED: dict[str, Any] = {"completionMode": "Indexed", "completions": 5, "parallelism": 2}


def _spec(restart: str = "Never", **changes: Any) -> dict[str, Any]:
    pod = {"restartPolicy": restart, "containers": [{"name": "a", "image": "a:1"}]}
    given = {**INDEXED, "template": {"spec": pod}, **changes}
    return {name: value for name, value in given.items() if value is not None}


NUMBERED: dict[str, dict[str, Any]] = {
    "nothing more": {},
    "no number": {"completions": None},
    "a limit of each that is negative": {"backoffLimitPerIndex": -1},
    "a limit of each": {"backoffLimitPerIndex": 1},
    "a limit of each without numbers": {"completionMode": None, "backoffLimitPerIndex": 1},
    "a limit of each and pods that start again": {"backoffLimitPerIndex": 1, "restart": "OnFailure"},
    "failed numbers alone": {"maxFailedIndexes": 3},
    "failed numbers without numbers": {"completionMode": "NonIndexed", "maxFailedIndexes": 3},
    "failed numbers without numbers and completions": {
        "completionMode": None,
        "completions": None,
        "maxFailedIndexes": 9,
        "backoffLimitPerIndex": 1,
    },
    "failed numbers that are negative": {"maxFailedIndexes": -1, "backoffLimitPerIndex": 1},
    "as many failed numbers": {"maxFailedIndexes": 5, "backoffLimitPerIndex": 1},
    "more failed numbers": {"maxFailedIndexes": 6, "backoffLimitPerIndex": 1},
    "far too many failed numbers": {"maxFailedIndexes": MANY + 1, "backoffLimitPerIndex": 1},
    "more failed numbers alone": {"maxFailedIndexes": 6},
    "many numbers": {"completions": MANY + 1},
    "many numbers at once": {"completions": MANY + 1, "parallelism": MANY + 1},
    "many at once": {"parallelism": MANY + 1},
    "many numbers with a limit of each": {"completions": MANY + 1, "backoffLimitPerIndex": 1},
    "many numbers, few of which fail": {
        "completions": MANY + 1,
        "backoffLimitPerIndex": 1,
        "maxFailedIndexes": 10,
    },
    "many numbers, many of which fail": {
        "completions": MANY + 1,
        "backoffLimitPerIndex": 1,
        "maxFailedIndexes": 10_001,
        "parallelism": 10_001,
    },
    "as many as go, all of which fail": {
        "completions": MANY,
        "backoffLimitPerIndex": 1,
        "maxFailedIndexes": MANY,
        "parallelism": MANY,
    },
    **{
        f"who looks after it: {who[:24]!r}": {"managedBy": who}
        for who in (
            "",
            "x",
            "example.com/x",
            f"example.com/{'x' * 80}",
            "example.com/x/y",
            "a b/c",
            "/x",
            "example.com/",
            "example.com/a b",
            "kubernetes.io/job-controller",
        )
    },
}
RULES: dict[str, list[dict[str, Any]]] = {
    "no rules": [],
    "an empty rule": [{}],
    **{
        f"the numbers {numbers[:16]!r}": [{"succeededIndexes": numbers}]
        for numbers in (
            "",
            "0",
            "0-2",
            "0,2-4",
            "4",
            "5",
            "0-5",
            "4-2",
            "2-2",
            "a",
            "1-a",
            "a-1",
            "1,1",
            "0-2,2-3",
            "3,1",
            "-1",
            "1-",
            "1,",
            ",1",
            " 1",
            "01",
            "1-2-3",
            "+1",
            "0-99999999999",
            "9" * 65_537,
        )
    },
    "a negative count": [{"succeededCount": -1}],
    "no count": [{"succeededCount": 0}],
    "a count": [{"succeededCount": 1}],
    "all of them": [{"succeededCount": 5}],
    "more than all": [{"succeededCount": 6}],
    "a count of numbers": [{"succeededIndexes": "0-1", "succeededCount": 2}],
    "more than the numbers": [{"succeededIndexes": "0-1", "succeededCount": 3}],
    "more than the numbers, which are wrong": [{"succeededIndexes": "a", "succeededCount": 9}],
    "two rules": [{"succeededIndexes": "5"}, {"succeededCount": 6}],
    "21 rules": [{"succeededCount": 1}] * 21,
}
for what_, rules_ in RULES.items():
    NUMBERED[f"success by {what_}"] = {"successPolicy": {"rules": rules_}}
NUMBERED["success by nothing"] = {"successPolicy": {}}
NUMBERED["success without numbers"] = {
    "completionMode": None,
    "successPolicy": {"rules": [{"succeededCount": 6}]},
}
NUMBERED["everything wrong"] = {
    "completionMode": None,
    "completions": -1,
    "backoffLimitPerIndex": -1,
    "maxFailedIndexes": -1,
    "managedBy": "x",
    "podFailurePolicy": {"rules": [{"action": "Odd"}]},
    "podReplacementPolicy": "Odd",
    "restart": "OnFailure",
    "successPolicy": {"rules": [{"succeededIndexes": "a"}]},
}
NUMBERED["everything wrong and numbered"] = {
    **NUMBERED["everything wrong"],
    "completionMode": "Indexed",
    "parallelism": MANY + 1,
}


async def _made(stage: Stage, changes: dict[str, Any]) -> None:
    """Such a job is made by hand and by a schedule, and one that is there becomes such."""
    spec = _spec(**changes)
    await stage.create(JOBS, named(JOBS, "a", spec=spec), write=DRY)
    scheduled = {"schedule": "* * * * *", "jobTemplate": {"spec": spec}}
    await stage.create(CRON_JOBS, named(CRON_JOBS, "a", spec=scheduled), write=DRY)
    await stage.given(JOBS, named(JOBS, "b", spec=_spec(suspend=True)))
    fields = {name: value for name, value in changes.items() if name != "restart"}
    await stage.patch(JOBS, "b", {"spec": fields}, how=PatchType.MERGE, write=DRY)


for what_, changes_ in NUMBERED.items():
    TABLE.add("create", "numbered Job", what_, _made, changes_)


async def _changed(stage: Stage, before: dict[str, Any], after: dict[str, Any]) -> None:
    await stage.given(JOBS, named(JOBS, "a", spec=_spec(suspend=True, **before)))
    await stage.patch(JOBS, "a", {"spec": after}, how=PatchType.MERGE, write=DRY)


FAILING = {"backoffLimitPerIndex": 1, "maxFailedIndexes": 3}
SUCCEEDING = {"successPolicy": {"rules": [{"succeededIndexes": "0", "succeededCount": 1}]}}
CHANGED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "fewer may fail": (FAILING, {"maxFailedIndexes": 2}),
    "any may fail": (FAILING, {"maxFailedIndexes": None}),
    "more may fail than there are": (FAILING, {"maxFailedIndexes": 6}),
    "each may fail more often": (FAILING, {"backoffLimitPerIndex": 2}),
    "each may fail as often as it likes": (FAILING, {"backoffLimitPerIndex": None}),
    "somebody else looks after it": ({"managedBy": "example.com/x"}, {"managedBy": "example.com/y"}),
    "nobody else looks after it": ({"managedBy": "example.com/x"}, {"managedBy": None}),
    "it succeeds by other rules": (SUCCEEDING, {"successPolicy": {"rules": [{"succeededCount": 2}]}}),
    "it succeeds by no rules": (SUCCEEDING, {"successPolicy": None}),
    "it has fewer numbers": (SUCCEEDING, {"completions": 1, "parallelism": 1}),
    "it has no numbers": ({}, {"completions": None}),
    "it has other numbers": ({}, {"completions": 3}),
    "it has fewer numbers than may fail": (FAILING, {"completions": 2, "parallelism": 2}),
}
for what_, (before_, after_) in CHANGED.items():
    TABLE.add("patch merge", "numbered Job", what_, _changed, before_, after_)
