"""What is wrong with HorizontalPodAutoscalers: what they scale, by which metrics, and how fast."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from trimtab.kube.quantity import parse_quantity
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
from trimtab.kube.schemas.validation.names import path_segment
from trimtab.kube.schemas.validation.references import kind_and_name

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


def autoscaler(manifest: Json) -> Causes:
    """What is wrong with a HorizontalPodAutoscaler."""
    spec = part(manifest, "spec")
    least, most = spec.get("minReplicas"), spec.get("maxReplicas", 0)
    if least is not None and least < 1:
        yield invalid("spec.minReplicas", least, "must be greater than or equal to 1")
    if not most:
        yield required("spec.maxReplicas", "must be set and greater than 0")
    elif most < 0:
        yield invalid("spec.maxReplicas", most, "must be greater than or equal to 1")
    if least is not None and most < least:
        yield invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`")
    yield from _scaled(part(spec, "scaleTargetRef"))
    for number, metric in entries(spec.get("metrics")):
        yield from _metric(metric, f"spec.metrics[{number}]")
    scales_to_zero = any(
        metric.get("type") in ("Object", "External") for _, metric in entries(spec.get("metrics"))
    )
    if least == 0 and not scales_to_zero:
        told = "must specify at least one Object or External metric to support scaling to zero replicas"
        yield forbidden("spec.metrics", told)
    for name in ("scaleUp", "scaleDown"):
        if part(spec, "behavior").get(name) is not None:
            yield from _rules(spec["behavior"][name], f"spec.behavior.{name}")


def _scaled(reference: Json) -> Causes:
    yield from kind_and_name(reference, "spec.scaleTargetRef")
    version = reference.get("apiVersion", "")
    if "/" not in version and version != "v1":
        yield invalid("spec.scaleTargetRef.apiVersion", version, "apiVersion must specify API group")


# -- metrics ----------------------------------------------------------------------------------------------


def _metric(metric: Json, path: str) -> Causes:
    kind = metric.get("type", "")
    if not kind:
        yield required(f"{path}.type", "must specify a metric source type")
        return
    if kind not in METRICS:
        yield from [not_supported(f"{path}.type", kind, sorted(METRICS))] * 2  # the server says it twice
        return
    source = METRICS[kind]
    if metric.get(source) is None:
        yield required(f"{path}.{source}", "must populate information for the given metric source")
        return
    yield from SOURCES[kind](metric[source], f"{path}.{source}")


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
    yield from kind_and_name(part(source, "describedObject"), f"{path}.describedObject")
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
    if parse_quantity(target.get("averageValue") or "0").nanos <= 0:
        yield required(f"{path}.target.averageValue", "must specify a positive target averageValue")


def _container_resource(source: Json, path: str) -> Causes:
    if not source.get("name"):
        yield required(f"{path}.name", "must specify a resource name")
    if not source.get("container"):
        yield required(f"{path}.container", "must specify a container")
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


SOURCES: Mapping[str, Callable[[Json, str], Causes]] = {
    "ContainerResource": _container_resource,
    "External": _external,
    "Object": _object,
    "Pods": _pods,
    "Resource": _resource,
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


def _policy(policy: Json, path: str) -> Causes:
    if policy.get("type") not in ("Percent", "Pods"):
        yield not_supported(f"{path}.type", policy.get("type", ""), ("Percent", "Pods"))
    for name in ("value", "periodSeconds"):
        if policy.get(name, 0) <= 0:
            yield invalid(f"{path}.{name}", policy.get(name, 0), "must be greater than zero")
    if policy.get("periodSeconds", 0) > LONGEST_PERIOD:
        told = f"must be less than or equal to {LONGEST_PERIOD}"
        yield invalid(f"{path}.periodSeconds", policy["periodSeconds"], told)
