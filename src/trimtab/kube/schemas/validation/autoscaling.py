"""What is wrong with HorizontalPodAutoscalers: what they scale, by which metrics, and how fast."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from trimtab.kube.quantity import parse_quantity
from trimtab.kube.schemas.autoscalers import v2_from_v1
from trimtab.kube.schemas.validation.causes import (
    Causes,
    each_invalid,
    entries,
    forbidden,
    invalid,
    not_supported,
    part,
    required,
)
from trimtab.kube.schemas.validation.names import dns_label, path_segment
from trimtab.kube.schemas.validation.references import kind_and_name
from trimtab.kube.schemas.validation.resources import container_resource

Json = Mapping[str, Any]
METRICS = {
    "ContainerResource": "containerResource",
    "External": "external",
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
}
SELECTIONS = ("Disabled", "Max", "Min")
LONGEST_WINDOW, LONGEST_PERIOD = 3600, 1800  # seconds


class _Leniency(Struct, frozen=True, kw_only=True):
    """What an object may be because it was so before."""

    fewest: int = 1
    target_version: bool = False
    object_versions: bool = False


def autoscaler(manifest: Json) -> Causes:
    """What is wrong with a HorizontalPodAutoscaler."""
    yield from _judged(part(manifest, "spec"), _Leniency())


def autoscaler_update(new: Json, old: Json) -> Causes:
    """The same of a changed one, of which some things may stay as they were."""
    spec, before = part(new, "spec"), part(old, "spec")
    target, earlier = part(spec, "scaleTargetRef"), part(before, "scaleTargetRef")
    described = (
        part(part(metric, "object"), "describedObject")
        for _, metric in entries(before.get("metrics"))
        if metric.get("type") == "Object" and metric.get("object") is not None
    )
    leniency = _Leniency(
        fewest=0 if before.get("minReplicas") == 0 else 1,
        target_version=all(target.get(name, "") == earlier.get(name, "") for name in ("apiVersion", "kind")),
        object_versions=any(_version_problem(each, group=False) for each in described),
    )
    yield from _judged(spec, leniency)


def old_autoscaler(manifest: Json) -> Causes:
    """What is wrong with one of autoscaling/v1: it is judged by what it means in v2."""
    yield from autoscaler(v2_from_v1(manifest))


def old_autoscaler_update(new: Json, old: Json) -> Causes:
    """The same of a changed one."""
    yield from autoscaler_update(v2_from_v1(new), v2_from_v1(old))


def _judged(spec: Json, leniency: _Leniency) -> Causes:
    least, most = spec.get("minReplicas"), spec.get("maxReplicas", 0)
    if least is not None and least < leniency.fewest:
        yield invalid("spec.minReplicas", least, f"must be greater than or equal to {leniency.fewest}")
    if not most:
        yield required("spec.maxReplicas", "must be set and greater than 0")
    elif most < 0:
        yield invalid("spec.maxReplicas", most, "must be greater than or equal to 1")
    if least is not None and most < least:
        yield invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`")
    yield from _scaled(part(spec, "scaleTargetRef"), any_version=leniency.target_version)
    for number, metric in entries(spec.get("metrics")):
        yield from _metric(metric, f"spec.metrics[{number}]", any_version=leniency.object_versions)
    scales_to_zero = any(
        metric.get("type") in ("Object", "External") for _, metric in entries(spec.get("metrics"))
    )
    if least == 0 and not scales_to_zero:
        told = "must specify at least one Object or External metric to support scaling to zero replicas"
        yield forbidden("spec.metrics", told)
    for name in ("scaleUp", "scaleDown"):
        if part(spec, "behavior").get(name) is not None:
            yield from _rules(spec["behavior"][name], f"spec.behavior.{name}")


def _scaled(reference: Json, *, any_version: bool) -> Causes:
    path = "spec.scaleTargetRef"
    yield from kind_and_name(reference, path)
    # Of all that can be scaled, only this has no group.
    group = reference.get("kind") != "ReplicationController"
    if not any_version:
        yield from _version(reference, path, group=group)


def _version(reference: Json, path: str, *, group: bool) -> Causes:
    if told := _version_problem(reference, group=group):
        yield invalid(f"{path}.apiVersion", reference.get("apiVersion", ""), told)


def _version_problem(reference: Json, *, group: bool) -> str:
    """What is wrong with the version of another object; `group` says whether one must be named."""
    version = reference.get("apiVersion", "")
    if version.count("/") > 1:
        return f"unexpected GroupVersion string: {version}"
    return "apiVersion must specify API group" if group and not version.rpartition("/")[0] else ""


# -- metrics ----------------------------------------------------------------------------------------------


def _metric(metric: Json, path: str, *, any_version: bool) -> Causes:
    kind = metric.get("type", "")
    unknown = not_supported(f"{path}.type", kind, sorted(METRICS))
    if not kind:
        yield required(f"{path}.type", "must specify a metric source type")
    if kind not in METRICS:
        yield unknown
    given = [source for source in SOURCES if metric.get(source) is not None]
    if given:
        yield from _source(metric[given[0]], given[0], path, any_version=any_version)
    if kind not in METRICS:
        yield unknown  # the server says it twice
    elif METRICS[kind] not in given:
        yield required(f"{path}.{METRICS[kind]}", "must populate information for the given metric source")
    if len(given) > 1:
        for source in given:
            if source != METRICS.get(kind):
                yield forbidden(f"{path}.{source}", "must populate the given metric source only")


def _source(source: Json, name: str, path: str, *, any_version: bool) -> Causes:
    """What is wrong with the first source that is given, whatever the type says."""
    if name == "object":
        yield from kind_and_name(part(source, "describedObject"), f"{path}.object.describedObject")
        if not any_version:
            described = part(source, "describedObject")
            yield from _version(described, f"{path}.object.describedObject", group=False)
    yield from SOURCES[name](source, f"{path}.{name}")


def _named(metric: Json, path: str) -> Causes:
    name = metric.get("name", "")
    if not name:
        yield required(f"{path}.name", "must specify a metric name")
    else:
        yield from each_invalid(f"{path}.name", name, path_segment(name))


def _target(target: Json, path: str) -> Causes:
    kind = target.get("type", "")
    if not kind:
        yield required(f"{path}.type", "must specify a metric target type")
    if kind not in ("Utilization", "Value", "AverageValue"):
        yield invalid(f"{path}.type", kind, "must be either Utilization, Value, or AverageValue")
    for name in ("value", "averageValue"):
        if target.get(name) is not None and parse_quantity(target[name]).nanos <= 0:
            yield invalid(f"{path}.{name}", target[name], "must be positive")
    share = target.get("averageUtilization")
    if share is not None and share < 1:
        yield invalid(f"{path}.averageUtilization", share, "must be greater than 0")


def _has_neither(target: Json, *names: str) -> bool:
    return all(target.get(name) is None for name in names)


def _object(source: Json, path: str) -> Causes:
    target = part(source, "target")
    yield from _named(part(source, "metric"), f"{path}.metric")
    yield from _target(target, f"{path}.target")
    if _has_neither(target, "value", "averageValue"):
        yield required(f"{path}.target.averageValue", "must set either a target value or averageValue")


def _external(source: Json, path: str) -> Causes:
    target = part(source, "target")
    yield from _named(part(source, "metric"), f"{path}.metric")
    yield from _target(target, f"{path}.target")
    if _has_neither(target, "value", "averageValue"):
        told = "must set either a target value for metric or a per-pod target"
        yield required(f"{path}.target.averageValue", told)
    elif target.get("value") is not None and target.get("averageValue") is not None:
        told = "may not set both a target value for metric and a per-pod target"
        yield forbidden(f"{path}.target.value", told)


def _pods(source: Json, path: str) -> Causes:
    target = part(source, "target")
    yield from _named(part(source, "metric"), f"{path}.metric")
    yield from _target(target, f"{path}.target")
    if target.get("averageValue") is None:
        yield required(f"{path}.target.averageValue", "must specify a positive target averageValue")


def _container_resource(source: Json, path: str) -> Causes:
    if not source.get("name"):
        yield required(f"{path}.name", "must specify a resource name")
    else:
        yield from container_resource(source["name"], f"{path}.name")
    if not source.get("container"):
        yield required(f"{path}.container", "must specify a container")
    else:
        yield from each_invalid(f"{path}.container", source["container"], dns_label(source["container"]))
    yield from _used(source, path)


def _resource(source: Json, path: str) -> Causes:
    if not source.get("name"):
        yield required(f"{path}.name", "must specify a resource name")
    yield from _used(source, path)


def _used(source: Json, path: str) -> Causes:
    """What is wrong with the amount of a resource that is aimed at."""
    target = part(source, "target")
    yield from _target(target, f"{path}.target")
    if _has_neither(target, "averageUtilization", "averageValue"):
        told = "must set either a target raw value or a target utilization"
        yield required(f"{path}.target.averageUtilization", told)
    elif target.get("averageUtilization") is not None and target.get("averageValue") is not None:
        told = "may not set both a target raw value and a target utilization"
        yield forbidden(f"{path}.target.averageValue", told)


#: in the order in which the server looks at them
SOURCES: Mapping[str, Callable[[Json, str], Causes]] = {
    "object": _object,
    "external": _external,
    "pods": _pods,
    "resource": _resource,
    "containerResource": _container_resource,
}


# -- behaviour --------------------------------------------------------------------------------------------


def _rules(rules: Json, path: str) -> Causes:
    window, choice = rules.get("stabilizationWindowSeconds"), rules.get("selectPolicy")
    place = f"{path}.stabilizationWindowSeconds"
    if window is not None and window < 0:
        yield invalid(place, window, "must be greater than or equal to zero")
    elif window is not None and window > LONGEST_WINDOW:
        yield invalid(place, window, f"must be less than or equal to {LONGEST_WINDOW}")
    if choice is not None and choice not in SELECTIONS:
        yield not_supported(f"{path}.selectPolicy", choice, SELECTIONS)
    if not rules.get("policies"):
        yield required(f"{path}.policies", "must specify at least one Policy")
    for number, policy in entries(rules.get("policies")):
        yield from _policy(policy, f"{path}.policies[{number}]")
    if rules.get("tolerance") is not None and parse_quantity(rules["tolerance"]).nanos < 0:
        yield invalid(f"{path}.tolerance", rules["tolerance"], "must be greater than or equal to 0")


def _policy(policy: Json, path: str) -> Causes:
    if policy.get("type") not in ("Percent", "Pods"):
        yield not_supported(f"{path}.type", policy.get("type", ""), ("Percent", "Pods"))
    for name in ("value", "periodSeconds"):
        if policy.get(name, 0) <= 0:
            yield invalid(f"{path}.{name}", policy.get(name, 0), "must be greater than zero")
    if policy.get("periodSeconds", 0) > LONGEST_PERIOD:
        told = f"must be less than or equal to {LONGEST_PERIOD}"
        yield invalid(f"{path}.periodSeconds", policy["periodSeconds"], told)
