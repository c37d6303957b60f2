"""What somebody else declares of an object, or writes into its status, makes no behaviour stumble."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

from tests.apiserver.behaviours.making import AtWork, at_work, conditions, pod_template
from trimtab.kube.cluster import PatchType

Json = dict[str, Any]
LONG_AGO, NEVER = "0001-01-02T00:00:00Z", "9999-12-31T23:59:59Z"
LONGEST = (1 << 63) - 1  # seconds
TICK: Json = {
    "apiVersion": "batch/v1",
    "kind": "CronJob",
    "metadata": {"name": "tick"},
    "spec": {
        "schedule": "* * * * *",
        "jobTemplate": {"spec": {"template": pod_template(restartPolicy="Never")}},
    },
}
LONE: Json = {"apiVersion": "v1", "kind": "Pod", **pod_template()}
LONE["metadata"]["name"] = "lone"


async def told(stage: AtWork, kind: str, name: str, status: Json) -> None:
    """Somebody writes a status; whoever looks after the object has looked at it when this returns."""
    body = {"status": status}
    await stage.cluster.patch(
        stage.resource(kind), name, body, how=PatchType.MERGE, namespace="default", subresource="status"
    )
    await stage.wait(60)


@pytest.mark.parametrize(
    "status",
    [{"lastScheduleTime": LONG_AGO}, {"lastScheduleTime": NEVER}, {"active": [{"kind": "Job"}]}],
    ids=str,
)
async def test_a_cron_job_with_a_strange_status_stays_looked_after(status: Json) -> None:
    async with at_work() as stage:
        await stage.create(TICK)
        await told(stage, "CronJob", "tick", status)
        await told(stage, "CronJob", "tick", {"lastScheduleTime": None})
        assert await stage.all("Job")


async def test_deadlines_that_no_calendar_holds_are_never_missed() -> None:
    async with at_work() as stage:
        template = {
            "spec": {"template": pod_template(restartPolicy="Never"), "activeDeadlineSeconds": LONGEST}
        }
        spec = {**TICK["spec"], "startingDeadlineSeconds": LONGEST, "jobTemplate": template}
        await stage.create({**TICK, "spec": spec})
        await stage.wait(90)
        assert [conditions(each).get("Complete") for each in await stage.all("Job")] == [
            ("True", "CompletionsReached")
        ]


@pytest.mark.parametrize(
    "status",
    [
        {"startTime": NEVER, "containerStatuses": None},
        {"startTime": LONG_AGO, "containerStatuses": None},
        {"containerStatuses": [{"name": "main", "state": {"running": {}}}]},
        {"containerStatuses": [{"name": "main", "restartCount": -5}]},
        {
            "containerStatuses": [
                {
                    "name": "main",
                    "restartCount": -5,
                    "state": {"waiting": {"reason": "CrashLoopBackOff"}},
                    "lastState": {"terminated": {"finishedAt": LONG_AGO}},
                }
            ]
        },
    ],
    ids=str,
)
async def test_a_pod_with_a_strange_status_lives_on(status: Json) -> None:
    async with at_work() as stage:
        await stage.create(LONE)
        await told(stage, "Pod", "lone", status)
        assert (await stage.get("Pod", "lone"))["status"]["phase"] in ("Pending", "Running")


async def test_a_pod_that_may_take_for_ever_to_stop_goes_as_others_do() -> None:
    async with at_work() as stage:
        await stage.create({**LONE, "spec": {**LONE["spec"], "terminationGracePeriodSeconds": LONGEST}})
        await stage.delete("Pod", "lone")
        await stage.wait(60)
        assert await stage.all("Pod") == []


async def test_indexes_that_a_few_letters_name_by_the_billion_take_no_memory() -> None:
    all_of_them, most = "0-1999999998", 2_000_000_000
    spec = {
        "completionMode": "Indexed",
        "completions": most,
        "parallelism": 2,
        "successPolicy": {"rules": [{"succeededIndexes": all_of_them}]},
        "template": pod_template(restartPolicy="Never"),
    }
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "many"}, "spec": spec}
    async with at_work() as stage:
        await stage.create(job)
        tracemalloc.start()
        try:
            await told(stage, "Job", "many", {"completedIndexes": all_of_them})
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 100_000_000
