"""Indexes of a Job that back off each for itself: who failed last there, and when to try again. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from trimtab.apiserver.behaviours.jobpods import (
    INDEX_FAILURES,
    INDEX_IGNORED_FAILURES,
    finished_at,
    index_of,
)
from trimtab.apiserver.behaviours.jobrules import matched
from trimtab.apiserver.behaviours.manifests import Manifest, annotations_of, created_at, status_of
from trimtab.apiserver.behaviours.timing import Timing, doubled
from trimtab.kube.integers import whole


def last_failures(pods: Iterable[Manifest]) -> dict[int, Manifest]:
    """The pod that failed last at each index: it carries how many failed there before it."""
    last: dict[int, Manifest] = {}
    for pod in pods:
        if status_of(pod).get("phase") == "Failed":
            known = last.get(index_of(pod))
            if known is None or _order(known) <= _order(pod):
                last[index_of(pod)] = pod
    return last


def _order(pod: Manifest) -> tuple[int, datetime]:
    return sum(_counts(pod)), finished_at(pod) or created_at(pod)


def _counts(pod: Manifest) -> tuple[int, int]:
    counted, ignored = (annotations_of(pod).get(key, "0") for key in (INDEX_FAILURES, INDEX_IGNORED_FAILURES))
    return whole(counted) or 0, whole(ignored) or 0


def failure_marks(job: Manifest, last: Manifest | None) -> dict[str, str]:
    """How often an index failed before its next pod, as that pod's annotations say it."""
    if job["spec"].get("backoffLimitPerIndex") is None:
        return {}
    counted, ignored = _counts(last) if last else (0, 0)
    if last is not None and matched(job, last).action == "Ignore":
        ignored += 1
    elif last is not None:
        counted += 1
    marks = {INDEX_FAILURES: str(counted)}
    return {**marks, INDEX_IGNORED_FAILURES: str(ignored)} if ignored else marks


def tried_again_at(last: Mapping[int, Manifest], timing: Timing) -> dict[int, datetime]:
    """When each index that failed may be tried again, whatever became of the others."""
    return {
        index: (finished_at(pod) or created_at(pod))
        + doubled(timing.job_backoff, timing.job_backoff_cap, sum(_counts(pod)))
        for index, pod in last.items()
    }
