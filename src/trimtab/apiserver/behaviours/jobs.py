"""Jobs: pods until enough succeeded or too many failed, each counted exactly once. Pure.

A pod that ended is first noted in the status as not counted yet, then loses its finalizer, then is counted:
so nothing is counted twice or lost wherever the work is interrupted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct

from trimtab.apiserver.behaviours.changes import (
    NOTHING,
    Actor,
    Behaviour,
    Change,
    Create,
    Decision,
    Delete,
    Update,
    decision,
)
from trimtab.apiserver.behaviours.events import JOB_VOICE
from trimtab.apiserver.behaviours.jobindexes import failure_marks, last_failures, tried_again_at
from trimtab.apiserver.behaviours.jobpods import (
    FINALIZER,
    completed_indexes,
    finished_at,
    free_indexes,
    index_ranges,
    indexed_pod,
    plain_pod,
    surplus,
    without_tracking,
)
from trimtab.apiserver.behaviours.jobrules import (
    failed_by_index,
    failed_for_good,
    failed_indexes,
    matched,
    succeeded_by_policy,
)
from trimtab.apiserver.behaviours.kinds import JOB, POD
from trimtab.apiserver.behaviours.manifests import (
    Condition,
    Manifest,
    Name,
    condition,
    controller_of,
    finalizers_of,
    is_going,
    is_true,
    later,
    moment,
    stamp,
    status_of,
    uid_of,
    with_status,
)
from trimtab.apiserver.behaviours.ownership import claims, own_or_owner
from trimtab.apiserver.behaviours.readiness import is_active, is_ready, is_terminating, restarts
from trimtab.apiserver.behaviours.room import makeable, retry_at
from trimtab.apiserver.behaviours.timing import Timing, doubled
from trimtab.apiserver.behaviours.world import World
from trimtab.kube.cluster import Propagation

_SUCCESS = ("CompletionsReached", "Reached expected number of succeeded pods")
_TOO_MANY = ("BackoffLimitExceeded", "Job has reached the specified backoff limit")
_TOO_LATE = ("DeadlineExceeded", "Job was active longer than specified deadline")


def decide(world: World, name: Name, now: datetime, timing: Timing) -> Decision:
    """Make or remove pods, count those that ended, and say how the Job stands."""
    job = world.get(JOB, *name)
    if job is None:
        return decision(_released(world, name))
    if job["spec"].get("managedBy", "kubernetes.io/job-controller") != "kubernetes.io/job-controller":
        return NOTHING
    if is_finished(job):
        return _kept_for_a_while(world, job, now)
    claimed = claims(world, job, POD)
    if claimed.changes:
        return Decision(changes=claimed.changes)
    return _Sync(world, job, claimed.owned, now, timing).decided()


def is_finished(job: Manifest) -> bool:
    """Whether the Job has come to its end, good or bad."""
    return is_true(job, "Complete") or is_true(job, "Failed")


def _released(world: World, name: Name) -> Iterator[Change]:
    """Pods of a Job that is gone need not be counted any more."""
    for pod in world.all(POD, name[0]):
        controller = controller_of(pod)
        if (
            controller
            and (controller["kind"], controller["name"]) == ("Job", name[1])
            and FINALIZER in finalizers_of(pod)
        ):
            yield without_tracking(pod)


def _kept_for_a_while(world: World, job: Manifest, now: datetime) -> Decision:
    """A finished Job frees its pods, and goes when its time to live is over."""
    freed = [without_tracking(pod) for pod in world.owned(job, POD) if FINALIZER in finalizers_of(pod)]
    ttl = job["spec"].get("ttlSecondsAfterFinished")
    if ttl is None or is_going(job):
        return decision(freed)
    end = condition(job, "Complete") or condition(job, "Failed") or {}
    due = later(moment(end.get("lastTransitionTime")) or now, ttl)
    if now < due:
        return decision(freed, due)
    return decision([*freed, Delete(target=job, propagation=Propagation.FOREGROUND)])


def _given_up(pods: Sequence[Manifest]) -> list[Change]:
    """Pods that a Job does without: they are no failures, so nobody counts them."""
    return [
        change
        for pod in pods
        for change in ((without_tracking(pod),) if FINALIZER in finalizers_of(pod) else ())
        + (Delete(target=pod),)
    ]


class _Counts(Struct, frozen=True, kw_only=True):
    """What the pods add up to."""

    succeeded: int
    failed: int
    succeeded_uids: tuple[str, ...]  # ended, and not counted in the status yet
    failed_uids: tuple[str, ...]
    ignored_uids: tuple[str, ...]  # failed, and never to be counted


class _Sync:
    """One look at a Job that is not finished."""

    def __init__(
        self, world: World, job: Manifest, pods: Sequence[Manifest], now: datetime, timing: Timing
    ) -> None:
        self._world = world
        self._job, self._spec, self._pods, self._now, self._timing = job, job["spec"], pods, now, timing
        self._before = status_of(job)
        self._suspended = bool(self._spec.get("suspend"))
        self._indexed = self._spec.get("completionMode") == "Indexed"
        self._given_up = failed_indexes(job, pods)
        self._active = [pod for pod in pods if is_active(pod)]
        self._terminating = sum(is_terminating(pod) for pod in pods)
        self._again: datetime | None = None

    def decided(self) -> Decision:
        """The changes, and when to look again."""
        counts = self._counted()
        verdict = self._verdict(counts)
        changes: list[Change] = []
        active = list(self._active)
        if verdict is not None:
            won = verdict["type"] == "SuccessCriteriaMet"
            changes += _given_up(active) if won else [Delete(target=pod) for pod in active]
            self._terminating += len(active)
            active = []
        elif not is_going(self._job):
            changes, active = self._managed(counts, active)
            if self._is_complete(counts, active):
                verdict = self._condition("SuccessCriteriaMet", *_SUCCESS)
        made = sum(isinstance(each, Create) for each in changes)
        status = self._status(counts, verdict, active, made)
        if status != self._before:
            changes.append(Update(body=with_status(self._job, status), subresource="status"))
        changes += self._untracked(counts, ended=verdict is not None)
        return Decision(changes=tuple(changes), again=self._again, on_behalf_of=uid_of(self._job))

    # -- counting -----------------------------------------------------------------------------------------

    def _counted(self) -> _Counts:
        """Pods that ended; those whose finalizer is off have been counted, or are counted now."""
        uncounted = self._before.get("uncountedTerminatedPods") or {}
        tracked = {uid_of(pod) for pod in self._pods if FINALIZER in finalizers_of(pod)}
        done = {
            key: [uid for uid in uncounted.get(key) or () if uid not in tracked]
            for key in ("succeeded", "failed")
        }
        succeeded, failed = (
            [uid for uid in uncounted.get(key) or () if uid in tracked] for key in ("succeeded", "failed")
        )
        ignored: list[str] = []
        for pod in self._pods:
            uid = uid_of(pod)
            if uid not in tracked or uid in succeeded or uid in failed:
                continue
            if status_of(pod).get("phase") == "Succeeded":
                succeeded.append(uid)
            elif self._has_failed(pod):
                (ignored if matched(self._job, pod).action == "Ignore" else failed).append(uid)
        return _Counts(
            succeeded=self._before.get("succeeded", 0) + len(done["succeeded"]),
            failed=self._before.get("failed", 0) + len(done["failed"]),
            succeeded_uids=tuple(succeeded),
            failed_uids=tuple(failed),
            ignored_uids=tuple(ignored),
        )

    def _has_failed(self, pod: Manifest) -> bool:
        if self._spec.get("podReplacementPolicy") == "Failed":
            return bool(status_of(pod).get("phase") == "Failed")
        return status_of(pod).get("phase") == "Failed" or is_going(pod)

    def _succeeded(self, counts: _Counts) -> int:
        if self._indexed:
            return len(completed_indexes(self._job, self._pods))
        return counts.succeeded + len(counts.succeeded_uids)

    # -- judging ------------------------------------------------------------------------------------------

    def _verdict(self, counts: _Counts) -> dict[str, Any] | None:
        """What the Job comes to, if that is decided: success, or the reason of its failure."""
        for known in ("SuccessCriteriaMet", "FailureTarget"):
            if is_true(self._job, known):
                return dict(condition(self._job, known) or {})
        if (end := failed_for_good(self._job, self._pods)) is not None:
            return self._condition("FailureTarget", *end)
        limit = self._spec.get("backoffLimit", 6)
        if counts.failed + len(counts.failed_uids) > limit or self._restarted_too_often(limit):
            return self._condition("FailureTarget", *_TOO_MANY)
        deadline = self._spec.get("activeDeadlineSeconds")
        started = moment(self._before.get("startTime"))
        if deadline is not None and started is not None and not self._suspended:
            due = later(started, deadline)
            if self._now >= due:
                return self._condition("FailureTarget", *_TOO_LATE)
            self._look_at(due)
        return self._verdict_by_index() if self._indexed else None

    def _verdict_by_index(self) -> dict[str, Any] | None:
        succeeded = completed_indexes(self._job, self._pods)
        if (end := failed_by_index(self._job, succeeded, self._given_up)) is not None:
            return self._condition("FailureTarget", *end)
        end = succeeded_by_policy(self._job, succeeded)
        return None if end is None else self._condition("SuccessCriteriaMet", *end)

    def _restarted_too_often(self, limit: int) -> bool:
        if self._spec["template"]["spec"].get("restartPolicy") != "OnFailure":
            return False
        total = sum(restarts(pod) for pod in self._pods if is_active(pod))
        return total > 0 if limit == 0 else total >= limit

    def _is_complete(self, counts: _Counts, active: Sequence[Manifest]) -> bool:
        succeeded, wanted = self._succeeded(counts), self._spec.get("completions")
        return not active and (succeeded > 0 if wanted is None else succeeded >= wanted)

    # -- pods ---------------------------------------------------------------------------------------------

    def _managed(self, counts: _Counts, active: list[Manifest]) -> tuple[list[Change], list[Manifest]]:
        """The pods to make or to give up, and those that stay; pods to be made count as active."""
        if self._suspended:
            self._terminating += len(active)
            return _given_up(active), []
        wanted = self._wanted(counts, len(active))
        gone = surplus(self._job, active, len(active) - wanted)
        if gone:
            self._terminating += len(gone)
            return _given_up(gone), [pod for pod in active if pod not in gone]
        missing = wanted - len(active)
        if self._spec.get("podReplacementPolicy") == "Failed":
            missing -= self._terminating
        most = makeable(self._world, self._job, missing, self._now, self._timing)
        if missing > 0 and (retry := retry_at(self._world, self._job, self._now, self._timing)):
            self._look_at(retry)
        return [Create(body) for body in self._new_pods(most)], active

    def _new_pods(self, count: int) -> Iterator[dict[str, Any]]:
        """The missing pods that need not wait after failures."""
        by_index = self._spec.get("backoffLimitPerIndex") is not None
        if not count or (not by_index and self._must_wait()):
            return
        if not self._indexed:
            yield from (plain_pod(self._job) for _ in range(count))
            return
        last = last_failures(self._pods)
        waits = tried_again_at(last, self._timing) if by_index else {}
        for index in free_indexes(self._job, self._pods, count, self._given_up):
            if (due := waits.get(index, self._now)) > self._now:
                self._look_at(due)
            else:
                yield indexed_pod(self._job, index, failure_marks(self._job, last.get(index)))

    def _wanted(self, counts: _Counts, active: int) -> int:
        succeeded, parallelism = self._succeeded(counts), self._spec.get("parallelism", 1)
        wanted = self._spec.get("completions")
        if wanted is None:
            return active if succeeded else int(parallelism)
        return max(0, min(int(wanted) - succeeded - len(self._given_up), int(parallelism)))

    def _must_wait(self) -> bool:
        """After failures the next pod waits, longer each time, until one succeeds."""
        ended = [(at, pod) for pod in self._pods if (at := finished_at(pod)) is not None]
        last_success = max((at for at, pod in ended if status_of(pod)["phase"] == "Succeeded"), default=None)
        failures = [
            at for at, pod in ended
            if status_of(pod)["phase"] == "Failed" and (last_success is None or at > last_success)
        ]  # fmt: skip
        if not failures:
            return False
        wait = doubled(self._timing.job_backoff, self._timing.job_backoff_cap, len(failures) - 1)
        due = max(failures) + wait
        if self._now < due:
            self._look_at(due)
            return True
        return False

    def _untracked(self, counts: _Counts, *, ended: bool) -> list[Change]:
        """Pods that are noted in the status lose their finalizer; once the end is known, all do."""
        noted = {*counts.succeeded_uids, *counts.failed_uids, *counts.ignored_uids}
        return [
            without_tracking(pod)
            for pod in self._pods
            if FINALIZER in finalizers_of(pod) and (uid_of(pod) in noted or (ended and not is_active(pod)))
        ]

    def _look_at(self, due: datetime) -> None:
        self._again = due if self._again is None else min(due, self._again)

    # -- status -------------------------------------------------------------------------------------------

    def _status(
        self, counts: _Counts, verdict: Condition | None, active: Sequence[Manifest], made: int
    ) -> dict[str, Any]:
        status = {
            key: value for key, value in self._before.items() if key not in ("active", "succeeded", "failed")
        }
        if not self._suspended:
            status.setdefault("startTime", stamp(self._now))
        uncounted = {
            key: list(uids)
            for key, uids in (("succeeded", counts.succeeded_uids), ("failed", counts.failed_uids))
            if uids and not (self._indexed and key == "succeeded")
        }
        succeeded = self._succeeded(counts) if self._indexed else counts.succeeded
        status |= {
            "ready": sum(is_ready(pod) for pod in active),
            "terminating": self._terminating,
            "uncountedTerminatedPods": uncounted,
            **{
                key: value
                for key, value in (
                    ("active", len(active) + made),
                    ("succeeded", succeeded),
                    ("failed", counts.failed),
                )
                if value
            },
        }
        if self._indexed:
            status["completedIndexes"] = index_ranges(completed_indexes(self._job, self._pods))
        if self._spec.get("backoffLimitPerIndex") is not None:
            status["failedIndexes"] = index_ranges(self._given_up)
        return self._with_end(self._with_suspension(status, verdict), counts, verdict)

    def _with_suspension(self, status: dict[str, Any], verdict: Condition | None) -> dict[str, Any]:
        current = condition(self._job, "Suspended")
        is_so = current is not None and current["status"] == "True"
        if verdict is not None or is_so == self._suspended:
            return status
        words = (
            ("True", "JobSuspended", "Job suspended")
            if self._suspended
            else ("False", "JobResumed", "Job resumed")
        )
        made = {**self._condition("Suspended", *words[1:]), "status": words[0]}
        others = [each for each in status.get("conditions") or () if each["type"] != "Suspended"]
        status = {**status, "conditions": [*others, made]}
        if self._suspended:
            status.pop("startTime", None)
            return status
        return {**status, "startTime": stamp(self._now)}

    def _with_end(
        self, status: dict[str, Any], counts: _Counts, verdict: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        """The reason of the end as soon as it is known, and the end itself when all is counted."""
        if verdict is None:
            return status
        conditions = list(status.get("conditions") or ())
        if not is_true(self._job, verdict["type"]):
            conditions.append(verdict)
        uncounted = status["uncountedTerminatedPods"] or counts.succeeded_uids
        if not uncounted and not self._terminating:
            success = verdict["type"] == "SuccessCriteriaMet"
            end = self._condition("Complete" if success else "Failed", verdict["reason"], verdict["message"])
            conditions.append(end)
            if success:
                status = {**status, "completionTime": end["lastTransitionTime"]}
        return {**status, "conditions": conditions}

    def _condition(self, kind: str, reason: str, message: str) -> dict[str, Any]:
        at = stamp(self._now)
        return {
            "type": kind,
            "status": "True",
            "lastProbeTime": at,
            "lastTransitionTime": at,
            "reason": reason,
            "message": message,
        }


def concerned(world: World, changed: Manifest) -> Iterator[Name]:
    """A Job itself, or whoever owns the pod."""
    return own_or_owner(world, changed, kind=JOB, dependent=POD)


JOBS = Behaviour(title="jobs", actor=Actor.CONTROLLERS, decide=decide, concerned=concerned, voice=JOB_VOICE)
