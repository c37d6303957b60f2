"""Stories of pods that are asked for trouble: they crash, are never ready, or take their time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.contract.behaviours.stage import Stage
from tests.contract.behaviours.stories import (
    Story,
    asked_to,
    has,
    job,
    rolled_out,
    service,
    template,
    workload,
)

Json = dict[str, Any]


def asking(app: str, word: str) -> Json:
    """A pod template that asks for trouble."""
    made = template(app)
    return {**made, "metadata": {**made["metadata"], **asked_to(word)["metadata"]}}


def _restarts(stage: Stage) -> list[int]:
    """How often containers were started again."""
    pods = stage.audience.all("Pod")
    return sorted(
        each["restartCount"] for pod in pods for each in pod["status"].get("containerStatuses") or ()
    )


def _running(stage: Stage) -> int:
    return sum(each["status"]["phase"] == "Running" for each in stage.audience.all("Pod"))


def _reason(kind: str, reason: str) -> Callable[[Json], bool]:
    return lambda status: any(
        each["type"] == kind and each.get("reason") == reason for each in status.get("conditions") or ()
    )


async def crash_loop(stage: Stage) -> None:
    """An update whose first pod crashes takes nothing from those that serve."""
    await stage.create(service("web"))
    await stage.create(workload("Deployment", "web", replicas=2, progressDeadlineSeconds=20))
    await stage.until_status("Deployment", "web", rolled_out(2, generation=1))
    await stage.patch("Deployment", "web", {"spec": {"template": asked_to("crash-loop")}})
    await stage.until(lambda: _restarts(stage) == [0, 0, 1], "the new container is started again")
    await stage.until_status("Deployment", "web", _reason("Progressing", "ProgressDeadlineExceeded"))
    await stage.until(lambda: _restarts(stage) == [0, 0, 2], "and once more")


async def crash_loop_and_back(stage: Stage) -> None:
    """What crashes from the beginning is replaced by what does not."""
    await stage.create(workload("Deployment", "web", replicas=2, template=asking("web", "crash-loop")))
    await stage.until(lambda: _restarts(stage) == [1, 1], "the containers are started again")
    quiet: Json = {"metadata": {"annotations": {"trimtab.dev/simulate": None}}}
    await stage.patch("Deployment", "web", {"spec": {"template": quiet}})
    await stage.until_status("Deployment", "web", rolled_out(2, generation=2))


async def never_ready(stage: Stage) -> None:
    """Pods that run and are not ready have addresses, and serve nobody."""
    await stage.create(service("web"))
    trouble = asking("web", "never-ready")
    await stage.create(
        workload("Deployment", "web", replicas=2, progressDeadlineSeconds=10, template=trouble)
    )
    await stage.until_status("Deployment", "web", _reason("Progressing", "ProgressDeadlineExceeded"))


async def stateful_set_never_ready(stage: Stage) -> None:
    """The second pod waits for the first; one that is replaced and never ready holds up the update."""
    await stage.create(
        workload(
            "StatefulSet", "cold", replicas=2, serviceName="cold", template=asking("cold", "never-ready")
        )
    )
    await stage.until(lambda: _running(stage) == 1, "its first pod runs")
    await stage.create(workload("StatefulSet", "db", replicas=2, serviceName="db"))
    await stage.until_status("StatefulSet", "db", lambda status: status.get("availableReplicas") == 2)
    await stage.patch("StatefulSet", "db", {"spec": {"template": asked_to("never-ready")}})
    await stage.until_status("StatefulSet", "db", lambda status: status.get("updatedReplicas") == 1)


async def stateful_set_that_crashes(stage: Stage) -> None:
    """A crashed pod stays and is started again."""
    await stage.create(
        workload("StatefulSet", "db", replicas=2, serviceName="db", template=asking("db", "crash-loop"))
    )
    await stage.until(lambda: _restarts(stage) == [1], "the first pod is started again")


async def daemon_set_never_ready(stage: Stage) -> None:
    """An update of a pod that serves waits for the one that takes its place."""
    somewhere = template("agent", nodeSelector={"kubernetes.io/hostname": "node-0"})
    await stage.create(workload("DaemonSet", "agent", template=somewhere))
    await stage.until_status("DaemonSet", "agent", lambda status: status.get("numberAvailable") == 1)
    await stage.patch("DaemonSet", "agent", {"spec": {"template": asked_to("never-ready")}})
    await stage.until_status("DaemonSet", "agent", lambda status: status.get("numberUnavailable") == 1)
    await stage.until_status("DaemonSet", "agent", lambda status: status.get("updatedNumberScheduled") == 1)


async def slow_rollout(stage: Stage) -> None:
    """Progress that takes its time is progress."""
    await stage.create(service("web"))
    await stage.create(
        workload("Deployment", "web", replicas=2, progressDeadlineSeconds=60, template=asking("web", "slow"))
    )
    await stage.until_status("Deployment", "web", rolled_out(2, generation=1))


async def slow_job(stage: Stage) -> None:
    await stage.create(job("work", asked_to("slow")))
    await stage.until_status("Job", "work", has("Complete"))


async def job_started_again_too_often(stage: Stage) -> None:
    """Restarts in the same pod count like failures."""
    crashes = asked_to("crash-loop")
    await stage.create(job("work", {**crashes, "spec": {"restartPolicy": "OnFailure"}}, backoffLimit=1))
    await stage.until_status("Job", "work", has("Failed"))
    await stage.until(lambda: not stage.audience.all("Pod"), "its pod is gone")


async def job_that_crashes(stage: Stage) -> None:
    """A container that is not started again fails its pod."""
    await stage.create(job("work", asked_to("crash-loop"), backoffLimit=0))
    await stage.until_status("Job", "work", has("Failed"))


TROUBLES: Mapping[str, Story] = {
    "a crash loop": crash_loop,
    "a crash loop and back": crash_loop_and_back,
    "a rollout that is never ready": never_ready,
    "a stateful set that is never ready": stateful_set_never_ready,
    "a stateful set that crashes": stateful_set_that_crashes,
    "a daemon set that is never ready": daemon_set_never_ready,
    "a slow rollout": slow_rollout,
    "a slow job": slow_job,
    "a job started again too often": job_started_again_too_often,
    "a job that crashes": job_that_crashes,
}
