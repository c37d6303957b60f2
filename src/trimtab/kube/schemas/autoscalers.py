"""HorizontalPodAutoscalers in autoscaling/v1 and v2: what v1 has no fields for, it keeps in annotations.

v1 knows one metric, how busy processors are. Other metrics, the behaviour, and what is observed stand in
annotations, as JSON in the spelling of Go; whoever writes v1 back thereby keeps them. An annotation that
cannot be read means nothing. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from trimtab.kube.gojson import decoded
from trimtab.kube.gotext import html_safe
from trimtab.kube.quantity import parse_quantity
from trimtab.kube.schemas.decoding import unreadable
from trimtab.kube.schemas.kinds import built_in

Json = Mapping[str, Any]
_PREFIX = "autoscaling.alpha.kubernetes.io/"
METRICS, BEHAVIOR = f"{_PREFIX}metrics", f"{_PREFIX}behavior"
OBSERVED, CONDITIONS = f"{_PREFIX}current-metrics", f"{_PREFIX}conditions"
ANNOTATIONS = frozenset(
    {METRICS, BEHAVIOR, OBSERVED, CONDITIONS} | {f"{_PREFIX}scale-{way}-tolerance" for way in ("down", "up")}
)
#: kinds of metrics in the order in which Go writes them
SOURCES = ("object", "pods", "resource", "containerResource", "external")
SHARE = "targetCPUUtilizationPercentage"
_RULE_FIELDS = ("StabilizationWindowSeconds", "SelectPolicy", "Policies", "Tolerance")
_POLICY_FIELDS = ("Type", "Value", "PeriodSeconds")
_CONDITION_FIELDS = ("type", "status", "lastTransitionTime", "reason", "message")


def in_v2(autoscaler: Json) -> dict[str, Any]:
    """One of v2, which needs no annotations and loses those of v1."""
    return _annotated(autoscaler, {})


def _annotated(autoscaler: Json, more: Json) -> dict[str, Any]:
    """The object with these annotations instead of those that v1 needs."""
    metadata = autoscaler.get("metadata") or {}
    given = metadata.get("annotations") or {}
    annotations = {name: text for name, text in given.items() if name not in ANNOTATIONS} | dict(more)
    rest = {name: value for name, value in metadata.items() if name != "annotations"}
    return {
        **autoscaler,
        **(
            {"metadata": {**rest, **({"annotations": annotations} if annotations else {})}}
            if metadata
            else {}
        ),
    }


def as_given(completed: Json, given: Json) -> dict[str, Any]:
    """One of v1 with its defaults, but for what v2 tells in other fields: that gets them when it is kept."""
    percentage = {SHARE: (given.get("spec") or {}).get(SHARE)}
    told = {"annotations": (given.get("metadata") or {}).get("annotations")}
    return {
        **completed,
        "metadata": _filled({**completed["metadata"], **told}),
        "spec": _filled({**completed["spec"], **percentage}),
    }


# -- to v2 ------------------------------------------------------------------------------------------------


def v2_from_v1(autoscaler: Json) -> dict[str, Any]:
    """The object in v2."""
    notes = (autoscaler.get("metadata") or {}).get("annotations") or {}
    spec = _without_nulls(autoscaler.get("spec") or {})
    percentage = spec.pop(SHARE, None)
    metrics = [] if percentage is None else [_cpu(percentage)]
    metrics = [*(_noted(notes, METRICS, _each(_metric_to_v2), "spec", "metrics") or ()), *metrics]
    spec["metrics"] = metrics or [_cpu(80)]
    if behavior := _noted(notes, BEHAVIOR, _behavior_to_v2, "spec", "behavior"):
        spec["behavior"] = behavior
    status = _without_nulls(autoscaler.get("status") or {})
    return {**in_v2(autoscaler), "spec": spec, "status": _status_to_v2(status, notes)}


def _cpu(percentage: Any) -> dict[str, Any]:
    target = {"type": "Utilization", "averageUtilization": percentage}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def _noted(notes: Json, name: str, convert: Callable[[Any], Any], part: str, field: str) -> Any:
    """What an annotation says, as v2 says it in a field; None where Go could not read it."""
    if name not in notes:
        return None
    try:
        made = convert(decoded(notes[name].encode()))
    except (AttributeError, TypeError, ValueError):  # no JSON, or of another shape altogether
        return None
    schema = built_in().schema("autoscaling", "v2", "HorizontalPodAutoscaler")
    return None if schema is None or unreadable({part: {field: made}}, schema) else made


def _each(convert: Callable[[Json], dict[str, Any]]) -> Callable[[Any], list[dict[str, Any]] | None]:
    """A list, converted one by one; a null among them is an empty one."""
    return lambda value: [convert(each or {}) for each in value] if isinstance(value, list) else None


def _status_to_v2(status: Json, notes: Json) -> dict[str, Any]:
    kept = {"currentMetrics": None, **status}
    percentage = kept.pop("currentCPUUtilizationPercentage", None)
    if percentage is not None:
        current = {"averageUtilization": percentage}
        kept["currentMetrics"] = [{"type": "Resource", "resource": {"name": "cpu", "current": current}}]
    observed = _noted(notes, OBSERVED, _each(_observed_to_v2), "status", "currentMetrics")
    if observed is not None:
        kept["currentMetrics"] = observed
    if conditions := _noted(notes, CONDITIONS, _each(_condition), "status", "conditions"):
        kept["conditions"] = conditions
    return {name: value for name, value in kept.items() if value or name != "currentReplicas"}


def _metric_to_v2(metric: Json) -> dict[str, Any]:
    sources = {name: _source_to_v2(name, metric[name]) for name in SOURCES if metric.get(name) is not None}
    return {"type": metric.get("type", ""), **sources}


def _source_to_v2(name: str, source: Json) -> dict[str, Any]:
    match name:
        case "object":
            average, whole = _given(source.get("averageValue")), _amount(source.get("targetValue"))
            wanted = _filled(
                {
                    "type": "Value" if average is None else "AverageValue",
                    "value": whole if average is None or whole != "0" else None,
                    "averageValue": average,
                }
            )
            return {"describedObject": source.get("target") or {}, "target": wanted, **_metric_named(source)}
        case "pods":
            wanted = {"type": "AverageValue", "averageValue": _amount(source.get("targetAverageValue"))}
            return {**_metric_named(source), "target": wanted}
        case "external":
            value, average = (_given(source.get(name)) for name in ("targetValue", "targetAverageValue"))
            kind = "AverageValue" if value is None else "Value"
            wanted = _filled({"type": kind, "value": value, "averageValue": average})
            return {**_metric_named(source, "metricSelector"), "target": wanted}
        case _:
            share, average = source.get("targetAverageUtilization"), _given(source.get("targetAverageValue"))
            kind = "AverageValue" if share is None else "Utilization"
            wanted = _filled({"type": kind, "averageValue": average, "averageUtilization": share})
            return {**_resource_named(source), "target": wanted}


def _observed_to_v2(metric: Json) -> dict[str, Any]:
    sources = {
        name: _observation_to_v2(name, metric[name]) for name in SOURCES if metric.get(name) is not None
    }
    return {"type": metric.get("type", ""), **sources}


def _observation_to_v2(name: str, source: Json) -> dict[str, Any]:
    match name:
        case "object":
            current = {
                "value": _amount(source.get("currentValue")),
                "averageValue": _given(source.get("averageValue")),
            }
            described = {"describedObject": source.get("target") or {}}
            return {**_metric_named(source), "current": _filled(current), **described}
        case "pods":
            current = {"averageValue": _amount(source.get("currentAverageValue"))}
            return {**_metric_named(source), "current": current}
        case "external":
            average = _given(source.get("currentAverageValue"))
            current = {"value": _amount(source.get("currentValue")), "averageValue": average}
            return {**_metric_named(source, "metricSelector"), "current": _filled(current)}
        case _:
            current = {
                "averageValue": _amount(source.get("currentAverageValue")),
                "averageUtilization": source.get("currentAverageUtilization"),
            }
            return {**_resource_named(source), "current": _filled(current)}


def _metric_named(source: Json, selector: str = "selector") -> dict[str, Any]:
    return {"metric": _filled({"name": source.get("metricName", ""), "selector": source.get(selector)})}


def _resource_named(source: Json) -> dict[str, Any]:
    return _filled({"name": source.get("name", ""), "container": source.get("container")})


def _condition(given: Json) -> dict[str, Any]:
    return _filled({"type": "", "status": "", **given})


def _behavior_to_v2(given: Any) -> dict[str, Any]:
    """The behaviour, written with the names that Go has inside, and read in any case of letters."""
    found = {
        name: _rules_to_v2(_any_case(given or {}).get(name.lower())) for name in ("scaleUp", "scaleDown")
    }
    return _filled(found)


def _rules_to_v2(rules: Any) -> dict[str, Any] | None:
    if rules is None:
        return None
    given = _any_case(rules)
    found = {_small(name): given.get(name.lower()) for name in _RULE_FIELDS}
    policies = [_policy_to_v2(_any_case(each or {})) for each in found["policies"] or ()]
    return _filled({**found, "policies": policies or None, "tolerance": _given(found["tolerance"])})


def _policy_to_v2(given: Json) -> dict[str, Any]:
    said = {_small(name): given.get(name.lower()) for name in _POLICY_FIELDS}
    return {"type": "", "value": 0, "periodSeconds": 0, **_filled(said)}


def _any_case(value: Json) -> dict[str, Any]:
    return {name.lower(): each for name, each in value.items()}


def _small(name: str) -> str:
    return name[:1].lower() + name[1:]


def _filled(value: Json) -> dict[str, Any]:
    return {name: each for name, each in value.items() if each is not None}


def _without_nulls(value: Any) -> Any:
    """A value as Go holds it once it is read: fields that are null are not there."""
    match value:
        case dict():
            return {name: _without_nulls(each) for name, each in value.items() if each is not None}
        case list():
            return [_without_nulls(each) for each in value]
        case _:
            return value


def _amount(value: Any) -> str:
    return str(parse_quantity("0" if value is None else value))


# -- to v1 ------------------------------------------------------------------------------------------------


def v1_from_v2(autoscaler: Json) -> dict[str, Any]:
    """The object in v1."""
    spec, status = (_without_nulls(autoscaler.get(part) or {}) for part in ("spec", "status"))
    metrics, behavior = spec.pop("metrics", None) or [], spec.pop("behavior", None)
    observed, conditions = status.pop("currentMetrics", None) or [], status.pop("conditions", None)
    shares = [_share(metric, "target") for metric in metrics]
    spec |= _filled({SHARE: next((each for each in shares if each is not None), None)})
    seen = [share for metric in observed if (share := _share(metric, "current")) is not None]
    status |= {"currentCPUUtilizationPercentage": seen[-1]} if seen else {}
    others = [metric for metric, share in zip(metrics, shares, strict=True) if share is None]
    notes = {
        METRICS: [_metric_to_v1(metric, _source_to_v1) for metric in others],
        OBSERVED: [_metric_to_v1(metric, _observation_to_v1) for metric in observed],
        BEHAVIOR: None if behavior is None else _behavior_to_v1(behavior),
        CONDITIONS: [_in_order(each, _CONDITION_FIELDS) for each in conditions or ()],
    }
    return {
        **_annotated(autoscaler, {name: _written(value) for name, value in notes.items() if value}),
        "spec": spec,
        "status": {"currentReplicas": 0, "desiredReplicas": 0, **status},
    }


def _share(metric: Json, place: str) -> Any:
    """How busy processors are, or shall be, if that is what a metric tells."""
    resource = metric.get("resource") or {}
    if metric.get("type") != "Resource" or resource.get("name") != "cpu":
        return None
    return (resource.get(place) or {}).get("averageUtilization")


def _written(value: Any) -> str:
    return html_safe(json.dumps(value, separators=(",", ":"), ensure_ascii=False))


def _metric_to_v1(metric: Json, convert: Callable[[str, Json], dict[str, Any]]) -> dict[str, Any]:
    sources = {name: convert(name, metric[name]) for name in SOURCES if metric.get(name) is not None}
    return {"type": metric.get("type", ""), **sources}


def _source_to_v1(name: str, source: Json) -> dict[str, Any]:
    target, metric = source.get("target") or {}, source.get("metric") or {}
    selector, average = metric.get("selector"), _given(target.get("averageValue"))
    match name:
        case "object":
            value = {
                "targetValue": _amount(target.get("value")),
                "selector": selector,
                "averageValue": average,
            }
            return {**_described(source), **_filled(value)}
        case "pods":
            value = {"targetAverageValue": _amount(target.get("averageValue")), "selector": selector}
            return {"metricName": metric.get("name", ""), **_filled(value)}
        case "external":
            value = {
                "metricSelector": selector,
                "targetValue": _given(target.get("value")),
                "targetAverageValue": average,
            }
            return {"metricName": metric.get("name", ""), **_filled(value)}
        case _:
            value = {
                "targetAverageUtilization": target.get("averageUtilization"),
                "targetAverageValue": average,
            }
            return {"name": source.get("name", ""), **_filled(value), **_container(name, source)}


def _observation_to_v1(name: str, source: Json) -> dict[str, Any]:
    current, metric = source.get("current") or {}, source.get("metric") or {}
    selector, average = metric.get("selector"), _given(current.get("averageValue"))
    match name:
        case "object":
            value = {
                "currentValue": _amount(current.get("value")),
                "selector": selector,
                "averageValue": average,
            }
            return {**_described(source), **_filled(value)}
        case "pods":
            value = {"currentAverageValue": _amount(current.get("averageValue")), "selector": selector}
            return {"metricName": metric.get("name", ""), **_filled(value)}
        case "external":
            value = {
                "metricSelector": selector,
                "currentValue": _amount(current.get("value")),
                "currentAverageValue": average,
            }
            return {"metricName": metric.get("name", ""), **_filled(value)}
        case _:
            value = {
                "currentAverageUtilization": current.get("averageUtilization"),
                "currentAverageValue": _amount(current.get("averageValue")),
            }
            return {"name": source.get("name", ""), **_filled(value), **_container(name, source)}


def _described(source: Json) -> dict[str, Any]:
    reference = {"kind": "", "name": "", **(source.get("describedObject") or {})}
    target = {name: reference[name] for name in ("kind", "name", "apiVersion") if name in reference}
    return {"target": target, "metricName": (source.get("metric") or {}).get("name", "")}


def _container(name: str, source: Json) -> dict[str, Any]:
    return {"container": source.get("container", "")} if name == "containerResource" else {}


def _given(amount: Any) -> str | None:
    return None if amount is None else _amount(amount)


def _behavior_to_v1(behavior: Json) -> dict[str, Any]:
    return {name: _rules_to_v1(behavior.get(_small(name))) for name in ("ScaleUp", "ScaleDown")}


def _rules_to_v1(rules: Json | None) -> dict[str, Any] | None:
    if rules is None:
        return None
    found = {name: rules.get(_small(name)) for name in _RULE_FIELDS}
    if found["Policies"] is not None:
        found["Policies"] = [
            {name: each.get(_small(name)) for name in _POLICY_FIELDS} for each in found["Policies"]
        ]
    return found


def _in_order(value: Json, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value.get(name) for name in names if value.get(name) or name == "lastTransitionTime"}
