"""CronJobs: a Job at each moment of the schedule, with the rules for overlap and history. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from trimtab.apiserver.behaviours.changes import (
    NOTHING,
    Actor,
    Behaviour,
    Change,
    Create,
    Decision,
    Delete,
    News,
    Update,
)
from trimtab.apiserver.behaviours.cron import Moments, moments_of
from trimtab.apiserver.behaviours.events import CRON_JOB_VOICE
from trimtab.apiserver.behaviours.jobs import is_finished
from trimtab.apiserver.behaviours.kinds import CRON_JOB, JOB
from trimtab.apiserver.behaviours.manifests import (
    Manifest,
    Name,
    age_order,
    controller_of,
    controller_reference,
    created_at,
    full_name,
    is_controlled_by,
    is_going,
    is_true,
    kind_of,
    later,
    moment,
    name_of,
    namespace_of,
    stamp,
    status_of,
    uid_of,
    with_status,
)
from trimtab.apiserver.behaviours.timing import Timing
from trimtab.apiserver.behaviours.world import World
from trimtab.kube.cluster import Propagation
from trimtab.kube.schemas.schedules import BadSchedule

_FORBIDDEN = "Not starting job because prior execution is running and concurrency policy is Forbid"
SCHEDULED = "batch.kubernetes.io/cronjob-scheduled-timestamp"


def decide(world: World, name: Name, now: datetime, timing: Timing) -> Decision:
    """The Job that is due, the Jobs that have been kept long enough, the status, and the next moment."""
    cron_job = world.get(CRON_JOB, *name)
    if cron_job is None:
        return NOTHING
    jobs = sorted(
        (each for each in world.owned(cron_job, JOB) if is_controlled_by(each, cron_job)), key=age_order
    )
    changes: list[Change] = [*_forgotten(cron_job, jobs)]
    schedule = _schedule(cron_job)
    due = _due(cron_job, schedule, now) if schedule else None
    job = world.get(JOB, namespace_of(cron_job), job_name(cron_job, due)) if due else None
    known = {each.get("uid") for each in status_of(cron_job).get("active") or ()}
    running = [each for each in jobs if not is_finished(each)]
    active = [each for each in running if uid_of(each) in known or each is job]
    news = [_unexpected(cron_job, each) for each in running if each not in active]
    if not (job and cron_job["spec"].get("concurrencyPolicy") == "Replace"):
        news += _missing(world, cron_job)
    served = due if due and job and _is_made_for(job, cron_job, due) else None
    status = _status(cron_job, jobs, active, served)
    if status != status_of(cron_job):
        changes.append(Update(body=with_status(cron_job, status), subresource="status"))
    elif due and job is None:
        started = list(_started(cron_job, active, due))
        news += [] if started else [News(cron_job, "JobAlreadyActive", _FORBIDDEN)]
        changes += started
    again = schedule.upcoming(_counted_from(cron_job), now) if schedule else None
    return Decision(changes=tuple(changes), again=again, news=tuple(news))


def _is_made_for(job: Manifest, cron_job: Manifest, due: datetime) -> bool:
    """Whether a Job is that of this very moment: of several moments in one minute only one gets a Job.

    Jobs are called after the minute. The real controller finds the name taken, stumbles, and tries again
    until the minute is over.
    """
    marks = job["metadata"].get("annotations") or {}
    return bool(marks.get(SCHEDULED) == _mark(cron_job, due))


def _mark(cron_job: Manifest, due: datetime) -> str:
    """A moment as Jobs carry it: by the clocks of the CronJob's place."""
    at = due.astimezone(ZoneInfo(cron_job["spec"].get("timeZone") or "UTC")).isoformat()
    return at.replace("+00:00", "Z")


def _unexpected(cron_job: Manifest, job: Manifest) -> News:
    """A Job that somebody else made in this name, as `kubectl create job --from` does."""
    told = f"Saw a job that the controller did not create or forgot: {name_of(job)}"
    return News(cron_job, "UnexpectedJob", told, warning=True)


def _missing(world: World, cron_job: Manifest) -> Iterator[News]:
    """Jobs that ran and that somebody else took away."""
    for each in status_of(cron_job).get("active") or ():
        if world.get(JOB, namespace_of(cron_job), name := each.get("name", "")) is None:
            yield News(cron_job, "MissingJob", f"Active job went missing: {name}")


def job_name(cron_job: Manifest, due: datetime) -> str:
    """The name of the Job of one moment: the minutes since 1970 tell them apart."""
    return f"{name_of(cron_job)}-{int(due.timestamp()) // 60}"


def _schedule(cron_job: Manifest) -> Moments | None:
    """The schedule, unless the CronJob is suspended, going or not to be understood."""
    if is_going(cron_job) or cron_job["spec"].get("suspend"):
        return None
    try:
        return moments_of(cron_job["spec"]["schedule"], cron_job["spec"].get("timeZone", ""))
    except BadSchedule:
        return None


def _due(cron_job: Manifest, schedule: Moments, now: datetime) -> datetime | None:
    """The latest moment that has come and was not served yet."""
    since = _counted_from(cron_job)
    deadline = cron_job["spec"].get("startingDeadlineSeconds")
    if deadline is not None:
        since = max(since, later(now, -deadline))
    found = schedule.last(since, now)
    return None if found == moment(status_of(cron_job).get("lastScheduleTime")) else found


def _counted_from(cron_job: Manifest) -> datetime:
    """From when on moments count: the last one that was served, or the beginning."""
    return moment(status_of(cron_job).get("lastScheduleTime")) or created_at(cron_job)


def _started(cron_job: Manifest, active: Sequence[Manifest], due: datetime) -> Iterator[Change]:
    policy = cron_job["spec"].get("concurrencyPolicy", "Allow")
    if policy == "Forbid" and active:
        return
    if policy == "Replace":
        for job in active:
            yield Delete(target=job, propagation=Propagation.BACKGROUND)
    yield Create(_job(cron_job, due))


def _job(cron_job: Manifest, due: datetime) -> dict[str, Any]:
    template = cron_job["spec"]["jobTemplate"]
    metadata = template.get("metadata") or {}
    made = {
        "name": job_name(cron_job, due),
        "namespace": namespace_of(cron_job),
        "labels": metadata.get("labels") or {},
        "annotations": {**(metadata.get("annotations") or {}), SCHEDULED: _mark(cron_job, due)},
        "ownerReferences": [controller_reference(cron_job)],
    }
    kind = {"apiVersion": "batch/v1", "kind": "Job"}
    return {
        **kind,
        "metadata": {key: value for key, value in made.items() if value},
        "spec": template["spec"],
    }


def _status(
    cron_job: Manifest, jobs: Iterable[Manifest], active: Iterable[Manifest], served: datetime | None
) -> dict[str, Any]:
    """Which of its Jobs run, when the last one was started, and when the last one succeeded."""
    jobs, before = list(jobs), status_of(cron_job)
    known = {each.get("uid"): each for each in before.get("active") or ()}
    status = {key: value for key, value in before.items() if key != "active"}
    if running := [known.get(uid_of(each)) or _reference(each) for each in active]:
        status["active"] = running
    if served is not None:
        status["lastScheduleTime"] = stamp(served)
    ends = [status_of(each).get("completionTime") for each in jobs if is_true(each, "Complete")]
    latest = max(filter(None, [*ends, before.get("lastSuccessfulTime")]), default=None)
    return status if latest is None else {**status, "lastSuccessfulTime": latest}


def _reference(job: Manifest) -> dict[str, Any]:
    return {
        "apiVersion": job["apiVersion"],
        "kind": job["kind"],
        "name": name_of(job),
        "namespace": namespace_of(job),
        "resourceVersion": job["metadata"]["resourceVersion"],
        "uid": uid_of(job),
    }


def _forgotten(cron_job: Manifest, jobs: Sequence[Manifest]) -> Iterator[Delete]:
    """Finished Jobs beyond the history that is kept, the oldest first."""
    for kind, field, default in (
        ("Complete", "successfulJobsHistoryLimit", 3),
        ("Failed", "failedJobsHistoryLimit", 1),
    ):
        ended = [each for each in jobs if is_true(each, kind)]
        ended.sort(key=lambda job: status_of(job).get("startTime") or "")
        for job in ended[: max(0, len(ended) - cron_job["spec"].get(field, default))]:
            if not is_going(job):
                yield Delete(target=job, propagation=Propagation.BACKGROUND)


def concerned(world: World, changed: Manifest) -> Iterator[Name]:
    """A CronJob itself, or the one that made the Job; Jobs are never adopted."""
    if kind_of(changed) == CRON_JOB:
        yield full_name(changed)
    elif kind_of(changed) == JOB:
        controller = controller_of(changed)
        if controller is not None and controller["kind"] == "CronJob":
            yield namespace_of(changed), controller["name"]


CRON_JOBS = Behaviour(
    title="cron jobs", actor=Actor.CONTROLLERS, decide=decide, concerned=concerned, voice=CRON_JOB_VOICE
)
