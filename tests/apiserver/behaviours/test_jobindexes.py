"""Indexes of a Job back off each for itself, and their next pods say how often they failed."""

from __future__ import annotations

from typing import Any

from tests.apiserver.behaviours.making import after, made
from trimtab.apiserver.behaviours.jobindexes import failure_marks, last_failures, tried_again_at
from trimtab.apiserver.behaviours.jobpods import INDEX, INDEX_FAILURES, INDEX_IGNORED_FAILURES
from trimtab.apiserver.behaviours.timing import Timing
from trimtab.kube.times import seconds_text

Json = dict[str, Any]
IGNORING = {"rules": [{"action": "Ignore", "onExitCodes": {"operator": "In", "values": [42]}}]}


def job(**spec: Any) -> Json:
    return made("batch/v1", "Job", "work", spec={"completions": 3, "backoffLimitPerIndex": 5, **spec})


def failed(
    name: str, index: int, *, at: float = 0, code: int = 1, counted: int = 0, ignored: int = 0
) -> Json:
    end = {"exitCode": code, "finishedAt": seconds_text(after(seconds=at))}
    marks = {INDEX: str(index), INDEX_FAILURES: str(counted), INDEX_IGNORED_FAILURES: str(ignored)}
    status = {"phase": "Failed", "containerStatuses": [{"name": "main", "state": {"terminated": end}}]}
    return made("v1", "Pod", name, metadata={"annotations": marks}, status=status)


def test_the_last_failure_of_an_index_is_the_one_that_counts_most() -> None:
    first, second = failed("a", 0, at=1), failed("b", 0, at=2, counted=1)
    other, fine = failed("c", 2), made("v1", "Pod", "d", status={"phase": "Succeeded"})
    assert last_failures([second, first, other, fine]) == {0: second, 2: other}


def test_each_index_waits_by_its_own_failures_and_the_ignored_ones_count() -> None:
    once, often = failed("a", 0, at=5), failed("b", 1, at=1, counted=1, ignored=1)
    assert tried_again_at({0: once, 1: often}, Timing()) == {0: after(seconds=15), 1: after(seconds=41)}


def test_the_next_pod_says_how_often_its_index_failed() -> None:
    assert failure_marks(job(), None) == {INDEX_FAILURES: "0"}
    assert failure_marks(job(), failed("a", 0, counted=1)) == {INDEX_FAILURES: "2"}
    ignored = failure_marks(job(podFailurePolicy=IGNORING), failed("a", 0, code=42))
    assert ignored == {INDEX_FAILURES: "0", INDEX_IGNORED_FAILURES: "1"}
    assert failure_marks(job(backoffLimitPerIndex=None), failed("a", 0)) == {}
