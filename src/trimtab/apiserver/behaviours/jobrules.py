"""The rules that a Job may bring along: which failures end it or do not count, and what success is. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from trimtab.apiserver.behaviours.jobpods import INDEX_FAILURES, from_ranges, index_of
from trimtab.apiserver.behaviours.manifests import (
    Manifest,
    annotations_of,
    name_of,
    namespace_of,
    status_of,
)
from trimtab.kube.integers import whole

Reason = tuple[str, str]  # in a word, and in a sentence
_FAILED_INDEXES = ("FailedIndexes", "Job has failed indexes")
_TOO_MANY_INDEXES = (
    "MaxFailedIndexesExceeded",
    "Job has exceeded the specified maximal number of failed indexes",
)


class Matched(Struct, frozen=True):
    """The rule of a pod failure policy that a failed pod falls under."""

    action: str = "Count"
    message: str = ""


COUNTED = Matched()


def matched(job: Manifest, pod: Manifest) -> Matched:
    """What the Job's policy makes of a failed pod; without a rule for it, it counts."""
    rules = (job["spec"].get("podFailurePolicy") or {}).get("rules") or ()
    who = f"{namespace_of(pod)}/{name_of(pod)}"
    for number, rule in enumerate(rules):
        ending = f"matching {rule['action']} rule at index {number}"
        if codes := rule.get("onExitCodes"):
            for name, code in _exits(pod, codes):
                told = f"Container {name} for pod {who} failed with exit code {code} {ending}"
                return Matched(rule["action"], told)
        elif kind := _condition(pod, rule.get("onPodConditions") or ()):
            return Matched(rule["action"], f"Pod {who} has condition {kind} {ending}")
    return COUNTED


def _exits(pod: Manifest, codes: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """The containers that ended with one of these codes, or with none of them."""
    status = status_of(pod)
    for each in (*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ())):
        ended = (each.get("state") or {}).get("terminated")
        if ended is None or codes.get("containerName", each["name"]) != each["name"]:
            continue
        code = ended.get("exitCode", 0)
        if code and (code in codes["values"]) == (codes["operator"] == "In"):
            yield each["name"], code


def _condition(pod: Manifest, wanted: Iterable[Mapping[str, Any]]) -> str:
    found = {each["type"]: each["status"] for each in status_of(pod).get("conditions") or ()}
    return next((each["type"] for each in wanted if found.get(each["type"]) == each["status"]), "")


def failed_for_good(job: Manifest, pods: Iterable[Manifest]) -> Reason | None:
    """The end of a Job whose policy says that one of these failures is its end."""
    for pod in pods:
        if status_of(pod).get("phase") == "Failed" and (rule := matched(job, pod)).action == "FailJob":
            return "PodFailurePolicy", rule.message
    return None


def failed_indexes(job: Manifest, pods: Iterable[Manifest]) -> set[int]:
    """The indexes that may not be tried again, by the status and by the pods."""
    limit = job["spec"].get("backoffLimitPerIndex")
    if limit is None:
        return set()
    found = from_ranges(status_of(job).get("failedIndexes", ""), job)
    for pod in pods:
        if status_of(pod).get("phase") == "Failed":
            rule = matched(job, pod).action
            before = whole(annotations_of(pod).get(INDEX_FAILURES, "")) or 0
            if rule == "FailIndex" or (rule != "Ignore" and before >= limit):
                found.add(index_of(pod))
    return found


def failed_by_index(job: Manifest, succeeded: Collection[int], failed: Collection[int]) -> Reason | None:
    """The end of an indexed Job with too many failed indexes, or with nothing left to try."""
    most = job["spec"].get("maxFailedIndexes")
    if most is not None and len(failed) > most:
        return _TOO_MANY_INDEXES
    if failed and len(failed) + len(succeeded) >= job["spec"].get("completions", 0):
        return _FAILED_INDEXES
    return None


def succeeded_by_policy(job: Manifest, succeeded: Collection[int]) -> Reason | None:
    """The success of an indexed Job of which enough indexes have succeeded."""
    rules: Sequence[Mapping[str, Any]] = (job["spec"].get("successPolicy") or {}).get("rules") or ()
    for number, rule in enumerate(rules):
        asked = rule.get("succeededIndexes")
        chosen = set(succeeded) if asked is None else set(succeeded) & from_ranges(asked, job)
        enough = rule.get("succeededCount")
        if enough is None:
            enough = len(from_ranges(asked or "", job))
        if len(chosen) >= enough:
            return "SuccessPolicy", f"Matched rules at index {number}"
    return None
