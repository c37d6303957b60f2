"""The pods of Jobs: how they are made, tracked, indexed and given up. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import chain, islice
from typing import Any

from trimtab.apiserver.behaviours.changes import Update
from trimtab.apiserver.behaviours.manifests import (
    Manifest,
    annotations_of,
    condition,
    finalizers_of,
    is_true,
    moment,
    name_of,
    status_of,
    with_metadata,
)
from trimtab.apiserver.behaviours.ownership import pod_from
from trimtab.apiserver.behaviours.readiness import dispensable_first, is_active
from trimtab.kube.integers import whole

FINALIZER = "batch.kubernetes.io/job-tracking"
INDEX = "batch.kubernetes.io/job-completion-index"
INDEX_FAILURES = "batch.kubernetes.io/job-index-failure-count"
MOST_INDEXES = 100_000  # that are told of one Job
INDEX_IGNORED_FAILURES = "batch.kubernetes.io/job-index-ignored-failure-count"


def without_tracking(pod: Manifest) -> Update:
    """The pod without the finalizer that keeps it until it is counted."""
    left = [each for each in finalizers_of(pod) if each != FINALIZER]
    return Update(body=with_metadata(pod, finalizers=left))


def finished_at(pod: Manifest) -> datetime | None:
    """When the pod ended, if it is over: by its containers, by its readiness, or else when it was made."""
    status = status_of(pod)
    if status.get("phase") not in ("Succeeded", "Failed"):
        return None
    ends = [
        at
        for each in status.get("containerStatuses") or ()
        if (at := each.get("state", {}).get("terminated", {}).get("finishedAt"))
    ]
    unready = None if is_true(pod, "Ready") else (condition(pod, "Ready") or {}).get("lastTransitionTime")
    return moment(max(ends, default=unready or pod["metadata"]["creationTimestamp"]))


def surplus(job: Manifest, active: Sequence[Manifest], count: int) -> list[Manifest]:
    """So many pods that the Job can do without."""
    return dispensable_first(active)[:count] if count > 0 else []


def plain_pod(job: Manifest) -> dict[str, Any]:
    """A new pod of a Job whose pods are all alike."""
    return pod_from(job, job["spec"]["template"], finalizers=(FINALIZER,))


def free_indexes(
    job: Manifest, pods: Sequence[Manifest], count: int, given_up: Collection[int] = ()
) -> list[int]:
    """So many of the lowest indexes that are free and not given up."""
    taken = completed_indexes(job, pods) | {index_of(pod) for pod in pods if is_active(pod)} | set(given_up)
    free = (index for index in range(job["spec"]["completions"]) if index not in taken)
    return list(islice(free, count))


def indexed_pod(job: Manifest, index: int, marks: Mapping[str, str]) -> dict[str, Any]:
    """A new pod for an index, with what these annotations say of its past."""
    template, mark = job["spec"]["template"], {INDEX: str(index)}
    pod = pod_from(job, template, labels=mark, annotations={**mark, **marks}, finalizers=(FINALIZER,))
    reference = {"fieldRef": {"apiVersion": "v1", "fieldPath": f"metadata.labels['{INDEX}']"}}
    variable = {"name": "JOB_COMPLETION_INDEX", "valueFrom": reference}
    spec = {"hostname": f"{name_of(job)}-{index}", **template["spec"]}
    for kind in ("initContainers", "containers"):
        if spec.get(kind):
            spec[kind] = [{**each, "env": [*(each.get("env") or ()), variable]} for each in spec[kind]]
    metadata = {**pod["metadata"], "generateName": f"{name_of(job)}-{index}-"}
    return {**pod, "metadata": metadata, "spec": spec}


def index_of(pod: Manifest) -> int:
    """The pod's completion index; -1 if it has none."""
    text = annotations_of(pod).get(INDEX, "")
    number = whole(text)
    return -1 if number is None else number


def completed_indexes(job: Manifest, pods: Iterable[Manifest]) -> set[int]:
    """The indexes that have succeeded, by the status and by the pods."""
    done = {index_of(pod) for pod in pods if status_of(pod).get("phase") == "Succeeded"}
    done |= from_ranges(status_of(job).get("completedIndexes", ""), job)
    return {index for index in done if 0 <= index < job["spec"].get("completions", 0)}


def from_ranges(text: str, job: Manifest) -> set[int]:
    """Those indexes of a Job that are written like `0,2-4,7`.

    What is no range of them is passed over, and so are more of them than a Job has pods here in its life:
    a few letters can name billions.
    """
    ranges = (_range(part, job["spec"].get("completions", 0)) for part in text.split(","))
    return set(islice(chain.from_iterable(ranges), MOST_INDEXES))


def _range(part: str, completions: int) -> range:
    first, *last = (whole(each) for each in part.split("-", 1))
    final = last[0] if last else first
    return range(0) if first is None or final is None else range(max(first, 0), min(final + 1, completions))


def index_ranges(indexes: Iterable[int]) -> str:
    """Indexes as the status writes them: `0,2-4,7`."""
    runs: list[list[int]] = []
    for index in sorted(indexes):
        if runs and index == runs[-1][-1] + 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 2 else ",".join(map(str, run)) for run in runs)
