"""What is wrong with Jobs and CronJobs, and what may not be changed in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from trimtab.kube.schemas.inner import inner
from trimtab.kube.schemas.schedules import BadSchedule, parse_schedule
from trimtab.kube.schemas.validation.causes import Causes, invalid, not_supported, part, required, too_long
from trimtab.kube.schemas.validation.failures import failure_policy, held_policy
from trimtab.kube.schemas.validation.indexes import held_success, limits, numbering, success_policy
from trimtab.kube.schemas.validation.metadata import IMMUTABLE
from trimtab.kube.schemas.validation.names import at_least_zero, domain_prefixed
from trimtab.kube.schemas.validation.pods import pod_template
from trimtab.kube.schemas.validation.selectors import is_usable, label_selector, selects
from trimtab.kube.schemas.validation.workloads import MISMATCH

Json = Mapping[str, Any]
#: the labels by which a Job knows its pods, and the metadata that they say, in the server's order
OWN_LABELS = {
    "controller-uid": "uid",
    "job-name": "name",
    "batch.kubernetes.io/controller-uid": "uid",
    "batch.kubernetes.io/job-name": "name",
}
LONGEST_MANAGER = 63
COUNTS = ("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished")


def job(manifest: Json) -> Causes:
    """What is wrong with a Job, its selector already made."""
    yield from _own_selector(manifest)
    yield from _selecting_spec(part(manifest, "spec"))


def _selecting_spec(spec: Json) -> Causes:
    yield from _job_spec(spec, "spec")
    carried = part(part(spec, "template"), "metadata").get("labels")
    selector = spec.get("selector")
    if selector is None:
        yield required("spec.selector")
    else:
        yield from label_selector(selector, "spec.selector")
    if not selects(selector, carried):
        yield invalid("spec.template.metadata.labels", carried, MISMATCH)


def _own_selector(manifest: Json) -> Causes:
    """Unless a selector of one's own was asked for, it is made from the Job's uid alone."""
    spec, metadata = part(manifest, "spec"), part(manifest, "metadata")
    selector = spec.get("selector")
    if spec.get("manualSelector") or selector is None:
        return
    expected = {label: metadata.get(source, "") for label, source in OWN_LABELS.items()}
    carried = part(part(spec, "template"), "metadata").get("labels") or {}
    for label, value in expected.items():
        path, told = f"spec.template.metadata.labels[{label}]", f"must be '{value}'"
        if label not in carried:
            yield required(path, told)
        elif carried[label] != value:
            yield invalid(path, carried, told)
    if is_usable(selector) and not selects(selector, expected):
        yield invalid("spec.selector", selector, "`selector` not auto-generated")


def _job_spec(spec: Json, path: str) -> Causes:
    for name in COUNTS:
        yield from at_least_zero(spec.get(name), f"{path}.{name}")
    yield from limits(spec, path)
    if (manager := spec.get("managedBy")) is not None:
        yield from domain_prefixed(manager, f"{path}.managedBy")
        if len(manager.encode()) > LONGEST_MANAGER:
            yield too_long(f"{path}.managedBy", LONGEST_MANAGER)
    yield from numbering(spec, path)
    yield from _rules(spec, path)
    yield from pod_template(part(spec, "template"), f"{path}.template")
    yield from _ends(spec, f"{path}.template.spec.restartPolicy")


def _ends(spec: Json, path: str) -> Causes:
    """A pod of a job is not started again for ever; one whose failure is judged, not at all."""
    policy = part(part(spec, "template"), "spec").get("restartPolicy", "Always")
    if policy in ("", "Always"):
        yield required(path, 'valid values: "OnFailure", "Never"')
    elif policy not in ("OnFailure", "Never"):
        yield not_supported(path, policy, ("OnFailure", "Never"))
    elif policy != "Never" and spec.get("podFailurePolicy") is not None:
        yield invalid(path, policy, 'only "Never" is supported when podFailurePolicy is specified')


def _rules(spec: Json, path: str) -> Causes:
    """What is wrong with when pods count as failed, and the Job as done."""
    judges = spec.get("podFailurePolicy") is not None
    if judges:
        yield from failure_policy(spec, f"{path}.podFailurePolicy")
    if spec.get("successPolicy") is not None:
        yield from success_policy(spec, f"{path}.successPolicy")
    policy = spec.get("podReplacementPolicy")
    policies = ("Failed",) if judges else ("Failed", "TerminatingOrFailed")
    if policy is not None and policy not in policies:
        yield not_supported(f"{path}.podReplacementPolicy", policy, policies)


def job_update(new: Json, old: Json) -> Causes:
    """What may not be changed in a Job."""
    yield from job(new)
    spec, before = part(new, "spec"), part(old, "spec")
    yield from _selecting_spec(spec)  # the server looks twice, and so says everything twice
    yield from _completions(spec, before)
    for name in FIXED:
        free = name == "template" and before.get("suspend")
        if spec.get(name) != before.get(name) and not free:
            yield invalid(f"spec.{name}", _held(spec.get(name), name), IMMUTABLE)


def _held(value: Any, name: str) -> Any:
    """What may not change, as the server holds it."""
    if name == "template":
        return inner(value, "PodTemplateSpec")
    if name == "podFailurePolicy" and value is not None:
        return held_policy(value)
    return held_success(value) if name == "successPolicy" and value is not None else value


#: what no update may change, in the server's order
FIXED = (
    "selector",
    "template",
    "completionMode",
    "podFailurePolicy",
    "backoffLimitPerIndex",
    "managedBy",
    "successPolicy",
)


def _completions(spec: Json, before: Json) -> Causes:
    """The number of completions stays, but for indexed Jobs that change their parallelism with it."""
    wanted = spec.get("completions")
    if wanted == before.get("completions"):
        return
    if spec.get("completionMode") != "Indexed":
        yield invalid("spec.completions", wanted, IMMUTABLE)
    elif wanted is not None and wanted != spec.get("parallelism"):
        told = "can only be modified in tandem with spec.parallelism"
        yield invalid("spec.completions", wanted, told)


# -- schedules -------------------------------------------------------------------------------------------


def cron_job(manifest: Json) -> Causes:
    """What is wrong with a CronJob."""
    spec = part(manifest, "spec")
    yield from _schedule(spec.get("schedule", ""))
    yield from at_least_zero(spec.get("startingDeadlineSeconds"), "spec.startingDeadlineSeconds")
    zone = spec.get("timeZone")
    if zone is not None:
        yield from _zone(zone)
    policy = spec.get("concurrencyPolicy", "")
    if policy not in ("Allow", "Forbid", "Replace"):
        yield not_supported("spec.concurrencyPolicy", policy, ("Allow", "Forbid", "Replace"))
    template = part(part(spec, "jobTemplate"), "spec")
    yield from _job_spec(template, "spec.jobTemplate.spec")
    for name in ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        yield from at_least_zero(spec.get(name), f"spec.{name}")


def _schedule(schedule: str) -> Causes:
    if not schedule:
        yield required("spec.schedule")
        return
    if "TZ" in schedule:
        told = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        yield invalid("spec.schedule", schedule, told)
        return
    try:
        parse_schedule(schedule)
    except BadSchedule as exc:
        yield invalid("spec.schedule", schedule, str(exc))


def _zone(zone: str) -> Causes:
    if not zone:
        yield invalid("spec.timeZone", zone, "timeZone must be nil or non-empty string")
    elif zone.lower() == "local":
        yield invalid(
            "spec.timeZone",
            zone,
            "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones",
        )
    elif not _is_zone(zone):
        yield invalid("spec.timeZone", zone, f"unknown time zone {zone}")


def _is_zone(zone: str) -> bool:
    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


NAME_LIMIT = 52  # a Job's name is made of a CronJob's name and eleven more characters


def short_enough(name: str) -> tuple[str, ...]:
    """A CronJob's name leaves room for those of its Jobs."""
    return (f"must be no more than {NAME_LIMIT} characters",) if len(name) > NAME_LIMIT else ()
