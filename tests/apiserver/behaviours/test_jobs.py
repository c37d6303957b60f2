"""Jobs and CronJobs on a clock that stands still until it is moved."""

from __future__ import annotations

from typing import Any

import pytest

from tests.apiserver.behaviours.making import AtWork, at_work, conditions, pod_template
from trimtab.apiserver.behaviours.jobpods import index_ranges

Json = dict[str, Any]


def job(simulate: str = "", *, restart: str = "Never", **spec: Any) -> Json:
    template = pod_template("work", simulate=simulate, restartPolicy=restart)
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "work"},
        "spec": {"template": template, **spec},
    }


async def phases(stage: AtWork) -> list[str]:
    return sorted(pod["status"]["phase"] for pod in await stage.all("Pod"))


async def test_a_job_that_fails_is_tried_again_ever_more_slowly_until_its_limit() -> None:
    async with at_work() as stage:
        await stage.create(job("fail", backoffLimit=2))
        pods = []
        for wait in (3, 10, 3, 20, 3):  # a pod fails after three seconds; the next waits ten, then twenty
            await stage.wait(wait)
            pods.append(await phases(stage))
        assert pods[0] == ["Failed"]
        assert pods[1] == ["Failed", "Pending"]
        assert pods[2] == ["Failed", "Failed"]
        assert pods[3] == ["Failed", "Failed", "Pending"]
        found = await stage.get("Job", "work")
        assert conditions(found) == {
            "FailureTarget": ("True", "BackoffLimitExceeded"),
            "Failed": ("True", "BackoffLimitExceeded"),
        }
        assert (found["status"]["failed"], found["status"].get("active")) == (3, None)


async def test_containers_that_restart_count_towards_the_limit() -> None:
    async with at_work() as stage:
        await stage.create(job("fail", restart="OnFailure", backoffLimit=2))
        await stage.wait(60)
        assert conditions(await stage.get("Job", "work"))["Failed"] == ("True", "BackoffLimitExceeded")


async def test_a_job_that_takes_too_long_is_ended() -> None:
    async with at_work() as stage:
        await stage.create(job("slow", activeDeadlineSeconds=5))
        await stage.wait(5)
        found = await stage.get("Job", "work")
        assert conditions(found)["Failed"] == ("True", "DeadlineExceeded")
        assert await stage.all("Pod") == []


async def test_no_more_pods_run_at_once_than_asked_for() -> None:
    async with at_work() as stage:
        await stage.create(job(completions=5, parallelism=2))
        most = 0
        for _ in range(12):
            await stage.wait(1)
            most = max(most, sum(phase in ("Pending", "Running") for phase in await phases(stage)))
        assert most == 2
        assert (await stage.get("Job", "work"))["status"]["succeeded"] == 5


async def test_an_indexed_job_does_each_index_once() -> None:
    async with at_work() as stage:
        await stage.create(job(completions=4, parallelism=3, completionMode="Indexed"))
        await stage.wait(10)
        found = await stage.get("Job", "work")
        assert (found["status"]["completedIndexes"], found["status"]["succeeded"]) == ("0-3", 4)
        hosts = sorted(pod["spec"]["hostname"] for pod in await stage.all("Pod"))
        assert hosts == ["work-0", "work-1", "work-2", "work-3"]


@pytest.mark.parametrize(
    ("indexes", "text"), [([], ""), ([3], "3"), ([0, 1], "0,1"), ([0, 2, 3, 4, 7], "0,2-4,7")]
)
def test_indexes_are_written_as_ranges(indexes: list[int], text: str) -> None:
    assert index_ranges(indexes) == text


# -- CronJobs ---------------------------------------------------------------------------------------------


def cron_job(policy: str = "Allow", simulate: str = "", **spec: Any) -> Json:
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "clock"},
        "spec": {
            "schedule": "*/10 * * * *",
            "concurrencyPolicy": policy,
            "jobTemplate": {"spec": job(simulate)["spec"]},
            **spec,
        },
    }


async def names(stage: AtWork) -> list[str]:
    first = 29453760  # minutes from 1970 to the first of January 2026
    parts = [each["metadata"]["name"].rpartition("-") for each in await stage.all("Job")]
    return sorted(f"{name}+{int(minute) - first}" for name, _, minute in parts)


async def test_a_cron_job_fires_at_each_moment_and_keeps_the_last_three() -> None:
    async with at_work() as stage:
        await stage.create(cron_job())
        await stage.wait(599)
        assert await names(stage) == []
        await stage.wait(1)
        assert await names(stage) == ["clock+10"]
        await stage.wait(3610)
        assert await names(stage) == ["clock+50", "clock+60", "clock+70"]
        status = (await stage.get("CronJob", "clock"))["status"]
        assert status["lastScheduleTime"] == "2026-01-01T01:10:00Z"


@pytest.mark.parametrize(
    ("policy", "left"),
    [("Allow", ["clock+10", "clock+20"]), ("Forbid", ["clock+10"]), ("Replace", ["clock+20"])],
)
async def test_what_happens_when_a_job_is_still_running(policy: str, left: list[str]) -> None:
    async with at_work() as stage:
        await stage.create(cron_job(policy, "never-ready"))
        running = {"spec": {"jobTemplate": {"spec": {"suspend": True}}}}
        await stage.patch("CronJob", "clock", running)  # a suspended Job never ends
        await stage.wait(1200)
        assert await names(stage) == left


async def test_moments_at_a_fixed_distance_are_counted_from_the_last_one() -> None:
    async with at_work() as stage:
        await stage.create(cron_job(schedule="@every 1m"))
        await stage.wait(30)
        await stage.patch("CronJob", "clock", {"metadata": {"labels": {"looked": "at"}}})
        await stage.wait(30)
        assert await names(stage) == ["clock+1"]
        await stage.wait(61)
        assert await names(stage) == ["clock+1", "clock+2"]


async def test_of_several_moments_in_one_minute_one_gets_a_job() -> None:
    async with at_work() as stage:
        await stage.create(cron_job(schedule="@every 20s"))
        await stage.wait(55)
        assert await names(stage) == ["clock+0"]
        status = (await stage.get("CronJob", "clock"))["status"]
        assert status["lastScheduleTime"] == "2026-01-01T00:00:20Z"
        await stage.wait(5)
        assert await names(stage) == ["clock+0", "clock+1"]


async def test_a_suspended_cron_job_does_not_fire() -> None:
    async with at_work() as stage:
        await stage.create(cron_job(suspend=True))
        await stage.wait(3600)
        assert await names(stage) == []
