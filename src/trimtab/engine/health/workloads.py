"""Health of what keeps pods running or brings work to an end. Pure.

Deployment, StatefulSet, DaemonSet, ReplicaSet, Job, CronJob, and Argo's Workflow; each rule reads only the
fields of its own small view of the object.
"""

from __future__ import annotations

from msgspec import Struct

from trimtab.engine.health.values import (
    Condition,
    Health,
    Meta,
    degraded,
    healthy,
    progressing,
    suspended,
    unknown,
)
from trimtab.resources.counting import counted


class RollingUpdate(Struct, frozen=True, kw_only=True, gc=False):
    """Parameters of a rolling update."""

    partition: int | None = None


class Strategy(Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """How an update is rolled out."""

    type: str | None = None
    rolling_update: RollingUpdate | None = None


class WorkloadSpec(Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """What is wanted of a workload."""

    paused: bool | None = None
    replicas: int | None = None
    update_strategy: Strategy | None = None


class WorkloadStatus(Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """What the controllers of workloads report; each uses some of it."""

    observed_generation: int | None = None
    replicas: int | None = None
    ready_replicas: int | None = None
    updated_replicas: int | None = None
    available_replicas: int | None = None
    current_revision: str | None = None
    update_revision: str | None = None
    desired_number_scheduled: int | None = None
    updated_number_scheduled: int | None = None
    number_available: int | None = None
    conditions: tuple[Condition, ...] | None = None


class Workload(Struct, frozen=True, kw_only=True, gc=False):
    """A Deployment, StatefulSet, DaemonSet or ReplicaSet."""

    metadata: Meta = Meta()
    spec: WorkloadSpec | None = None
    status: WorkloadStatus | None = None

    @property
    def wanted(self) -> WorkloadSpec:
        """The spec; empty if there is none."""
        return self.spec or WorkloadSpec()

    @property
    def seen(self) -> WorkloadStatus:
        """The status; empty if there is none."""
        return self.status or WorkloadStatus()

    @property
    def is_unobserved(self) -> bool:
        """Whether the controller has yet to see the newest spec."""
        return (self.metadata.generation or 0) > (self.seen.observed_generation or 0)


UNOBSERVED = progressing("Waiting for the controller to observe the latest generation")


def deployment(view: Workload) -> Health:
    """Rolled out and available."""
    if view.wanted.paused:
        return suspended("Deployment is paused")
    if view.is_unobserved:
        return UNOBSERVED
    status, wanted = view.seen, view.wanted.replicas
    if any(each.type == "Progressing" and each.reason == "ProgressDeadlineExceeded" for each in _lines(view)):
        return degraded(f"Deployment {view.metadata.name or ''} exceeded its progress deadline")
    updated, available = status.updated_replicas or 0, status.available_replicas or 0
    if wanted is not None and updated < wanted:
        return progressing(f"{updated} of {wanted} new replicas have been updated")
    if (status.replicas or 0) > updated:
        old = (status.replicas or 0) - updated
        return progressing(f"{old} old replicas are pending termination")
    if available < updated:
        return progressing(f"{available} of {updated} updated replicas are available")
    return healthy()


def stateful_set(view: Workload) -> Health:
    """Ready, and rolled out as far as its strategy wants."""
    status = view.seen
    if not status.observed_generation or view.is_unobserved:
        return UNOBSERVED
    wanted, strategy = view.wanted.replicas, view.wanted.update_strategy or Strategy()
    ready, updated = status.ready_replicas or 0, status.updated_replicas or 0
    if wanted is not None and ready < wanted:
        return progressing(f"Waiting for {counted(wanted - ready, 'pod')} to be ready")
    if strategy.type == "RollingUpdate" and strategy.rolling_update is not None:
        partition = strategy.rolling_update.partition
        if wanted is not None and partition is not None and updated < wanted - partition:
            return progressing(f"{updated} of {wanted - partition} new pods have been updated")
        return healthy(f"{counted(updated, 'new pod has', 'new pods have')} been updated")
    if strategy.type == "OnDelete":
        pods = counted(ready, "pod is", "pods are")
        return healthy(f"{pods} ready; they are updated when they are deleted")
    if status.update_revision != status.current_revision:
        pods = counted(updated, "pod")
        return progressing(f"Waiting for {pods} to be at revision {status.update_revision}")
    return healthy()


def daemon_set(view: Workload) -> Health:
    """Updated and available on every node it wants."""
    if view.is_unobserved:
        return UNOBSERVED
    status, strategy = view.seen, view.wanted.update_strategy or Strategy()
    wanted = status.desired_number_scheduled or 0
    updated, available = status.updated_number_scheduled or 0, status.number_available or 0
    if strategy.type == "OnDelete":
        return healthy(f"{updated} of {wanted} pods are updated; the rest when they are deleted")
    if updated < wanted:
        return progressing(f"{updated} of {wanted} pods have been updated")
    if available < wanted:
        return progressing(f"{available} of {wanted} updated pods are available")
    return healthy()


def replica_set(view: Workload) -> Health:
    """As many pods as it wants are available."""
    if view.is_unobserved:
        return UNOBSERVED
    for each in _lines(view):
        if each.type == "ReplicaFailure" and each.is_true:
            return degraded(each.message or "")
    wanted, available = view.wanted.replicas, view.seen.available_replicas or 0
    if wanted is not None and available < wanted:
        return progressing(f"{available} of {wanted} replicas are available")
    return healthy()


def _lines(view: Workload) -> tuple[Condition, ...]:
    return view.seen.conditions or ()


class JobStatus(Struct, frozen=True, kw_only=True, gc=False):
    """What the Job controller reports."""

    conditions: tuple[Condition, ...] | None = None


class Job(Struct, frozen=True, kw_only=True, gc=False):
    """A Job."""

    metadata: Meta = Meta()
    status: JobStatus | None = None


def job(view: Job) -> Health:
    """Complete, failed, suspended or still at work; a condition decides by being there."""
    lines = (view.status.conditions if view.status else None) or ()
    found = {each.type: each for each in lines}
    if "Failed" in found:
        return degraded(found["Failed"].message or "")
    if "Suspended" in found and found["Suspended"].is_true:
        return suspended(found["Suspended"].message or "")
    if "Complete" in found:
        return healthy(found["Complete"].message or "")
    return progressing("The job is running")


class CronJobSpec(Struct, frozen=True, kw_only=True, gc=False):
    """What is wanted of a CronJob."""

    suspend: bool | None = None


class CronJobStatus(Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """What the CronJob controller reports."""

    active: tuple[object, ...] | None = None
    last_schedule_time: str | None = None
    last_successful_time: str | None = None


class CronJob(Struct, frozen=True, kw_only=True, gc=False):
    """A CronJob."""

    metadata: Meta = Meta()
    spec: CronJobSpec | None = None
    status: CronJobStatus | None = None


def cron_job(view: CronJob) -> Health:
    """Whether its last run succeeded; times of one form sort as they follow each other."""
    if view.spec and view.spec.suspend:
        return healthy("CronJob is suspended")
    status = view.status
    if status is None:
        return progressing("Waiting for the controller to report")
    if status.last_successful_time is None:
        return healthy("No job has been completed yet")
    if status.active:
        return healthy("A job is running")
    if status.last_schedule_time is not None and status.last_successful_time < status.last_schedule_time:
        return degraded("The last scheduled job did not succeed")
    return healthy()


class WorkflowStatus(Struct, frozen=True, kw_only=True, gc=False):
    """What Argo's workflow controller reports."""

    phase: str | None = None
    message: str | None = None


class Workflow(Struct, frozen=True, kw_only=True, gc=False):
    """A Workflow of Argo."""

    metadata: Meta = Meta()
    status: WorkflowStatus | None = None


def workflow(view: Workflow) -> Health:
    """By its phase."""
    status = view.status or WorkflowStatus()
    match status.phase or "":
        case "" | "Pending" | "Running":
            return progressing(status.message or "")
        case "Succeeded":
            return healthy(status.message or "")
        case "Failed" | "Error":
            return degraded(status.message or "")
        case _:
            return unknown(status.message or "")
