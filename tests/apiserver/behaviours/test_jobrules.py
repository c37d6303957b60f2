"""Which failures end a Job or do not count, and what success is, by the rules that it brings along."""

from __future__ import annotations

from typing import Any

import pytest

from tests.apiserver.behaviours.making import made
from trimtab.apiserver.behaviours.jobpods import INDEX, INDEX_FAILURES
from trimtab.apiserver.behaviours.jobrules import (
    failed_by_index,
    failed_for_good,
    failed_indexes,
    matched,
    succeeded_by_policy,
)

Json = dict[str, Any]


def job(**spec: Any) -> Json:
    return made("batch/v1", "Job", "work", spec={"completions": 3, **spec})


def failed(code: int = 1, *, index: int = 0, failures: int = 0, **status: Any) -> Json:
    ended = {"name": "main", "state": {"terminated": {"exitCode": code}}}
    marks = {"annotations": {INDEX: str(index), INDEX_FAILURES: str(failures)}}
    return made(
        "v1", "Pod", "p", metadata=marks, status={"phase": "Failed", "containerStatuses": [ended], **status}
    )


def rules(*given: Json) -> Json:
    return job(podFailurePolicy={"rules": list(given)})


def on_codes(action: str, operator: str, *values: int, **more: str) -> Json:
    return {"action": action, "onExitCodes": {"operator": operator, "values": list(values), **more}}


@pytest.mark.parametrize(
    ("rule", "action"),
    [
        (on_codes("Ignore", "In", 1, 2), "Ignore"),
        (on_codes("Ignore", "In", 2), "Count"),
        (on_codes("FailIndex", "NotIn", 2), "FailIndex"),
        (on_codes("FailIndex", "NotIn", 1), "Count"),
        (on_codes("Ignore", "In", 1, containerName="other"), "Count"),
        ({"action": "Ignore", "onPodConditions": [{"type": "A", "status": "True"}]}, "Ignore"),
        ({"action": "Ignore", "onPodConditions": [{"type": "A", "status": "False"}]}, "Count"),
    ],
)
def test_a_failure_falls_under_the_rule_that_describes_it(rule: Json, action: str) -> None:
    pod = failed(1, conditions=[{"type": "A", "status": "True"}])
    assert matched(rules(rule), pod).action == action


def test_the_first_rule_that_fits_is_the_one_that_counts() -> None:
    given = rules(on_codes("Count", "In", 1), on_codes("FailJob", "In", 1))
    assert failed_for_good(given, [failed(1)]) is None


def test_a_failure_that_ends_the_job_says_which_container_and_which_rule() -> None:
    told = "Container main for pod shop/p failed with exit code 42 matching FailJob rule at index 0"
    assert failed_for_good(rules(on_codes("FailJob", "In", 42)), [failed(42)]) == ("PodFailurePolicy", told)


@pytest.mark.parametrize(("limit", "failures", "given_up"), [(0, 0, {1}), (1, 0, set()), (1, 1, {1})])
def test_an_index_is_given_up_after_so_many_failures(limit: int, failures: int, given_up: set[int]) -> None:
    pod = failed(index=1, failures=failures)
    assert failed_indexes(job(backoffLimitPerIndex=limit), [pod]) == given_up


@pytest.mark.parametrize(
    ("most", "succeeded", "given_up", "reason"),
    [
        (None, {0}, {1}, None),
        (None, {0, 2}, {1}, "FailedIndexes"),
        (1, {0}, {1}, None),
        (0, set(), {1}, "MaxFailedIndexesExceeded"),
        (None, {0, 1, 2}, set(), None),
    ],
)
def test_an_indexed_job_fails_when_nothing_is_left_to_try_or_too_much_has_failed(
    most: int | None, succeeded: set[int], given_up: set[int], reason: str | None
) -> None:
    given = job() if most is None else job(maxFailedIndexes=most)
    found = failed_by_index(given, succeeded, given_up)
    assert (found[0] if found else None) == reason


@pytest.mark.parametrize(
    ("rule", "enough"),
    [
        ({"succeededIndexes": "0-1"}, True),
        ({"succeededIndexes": "0,2"}, False),
        ({"succeededCount": 2}, True),
        ({"succeededCount": 3}, False),
        ({"succeededIndexes": "1-2", "succeededCount": 1}, True),
    ],
)
def test_a_job_succeeds_when_a_rule_of_its_success_policy_is_met(rule: Json, *, enough: bool) -> None:
    found = succeeded_by_policy(job(successPolicy={"rules": [rule]}), {0, 1})
    assert found == (("SuccessPolicy", "Matched rules at index 0") if enough else None)


def test_indexes_that_nobody_has_are_passed_over() -> None:
    claimed = job(backoffLimitPerIndex=1)
    claimed["status"] = {"failedIndexes": f"a,\u00b2,-,1-{'9' * 4301},2-1,,1-99999999999,0-x"}
    assert failed_indexes(claimed, []) == {1, 2}


@pytest.mark.parametrize("marks", [{INDEX: "\u00b2"}, {INDEX: "9" * 4301}, {INDEX_FAILURES: "many"}])
def test_marks_that_are_no_numbers_say_nothing(marks: Json) -> None:
    pod = failed()
    pod["metadata"]["annotations"] = marks
    assert failed_indexes(job(backoffLimitPerIndex=1), [pod]) == set()
