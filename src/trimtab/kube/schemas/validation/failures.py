"""What is wrong with the rules by which a Job judges pods that fail, and how the server holds them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trimtab.kube.gotext import Shown
from trimtab.kube.schemas.validation.causes import (
    Cause,
    Causes,
    duplicate,
    each_invalid,
    entries,
    invalid,
    not_supported,
    part,
    required,
    too_many,
)
from trimtab.kube.schemas.validation.names import qualified_name

Json = Mapping[str, Any]
ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
OPERATORS = ("In", "NotIn")
STATUSES = ("False", "True", "Unknown")
MOST_RULES, MOST_CODES, MOST_CONDITIONS = 20, 255, 20


def failure_policy(spec: Json, path: str) -> Causes:
    """What is wrong with a Job's rules for pods that fail."""
    rules = list(entries(part(spec, "podFailurePolicy").get("rules")))
    if len(rules) > MOST_RULES:
        yield too_many(f"{path}.rules", len(rules), MOST_RULES)
    pod = part(part(spec, "template"), "spec")
    kinds = ("containers", "initContainers")
    names = {each.get("name") for kind in kinds for _, each in entries(pod.get(kind))}
    for number, rule in rules:
        where = f"{path}.rules[{number}]"
        yield from _action(rule.get("action", ""), spec, f"{where}.action")
        yield from _matches(rule, names, where)


def _action(action: str, spec: Json, path: str) -> Causes:
    if action == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
        yield invalid(path, action, "requires the backoffLimitPerIndex to be set")
    else:
        yield from _one_of(action, ACTIONS, path)


def _one_of(value: str, allowed: tuple[str, ...], path: str) -> Causes:
    if not value:
        listed = " ".join(f'"{each}"' for each in allowed)
        yield required(path, f"valid values: [{listed}]")
    elif value not in allowed:
        yield not_supported(path, value, allowed)


def _matches(rule: Json, names: set[Any], path: str) -> Causes:
    """A rule matches by exit codes or by conditions."""
    codes, conditions = rule.get("onExitCodes"), list(entries(rule.get("onPodConditions")))
    if codes is not None:
        yield from _exit_codes(codes, names, f"{path}.onExitCodes")
    if len(conditions) > MOST_CONDITIONS:
        yield too_many(f"{path}.onPodConditions", len(conditions), MOST_CONDITIONS)
    for number, condition in conditions:
        where, kind = f"{path}.onPodConditions[{number}]", condition.get("type", "")
        yield from each_invalid(f"{where}.type", kind, qualified_name(kind))
        yield from _one_of(condition.get("status", ""), STATUSES, f"{where}.status")
    if codes is not None and conditions:
        yield _as_a_whole(path, "specifying both OnExitCodes and OnPodConditions is not supported")
    if codes is None and not conditions:
        yield _as_a_whole(path, "specifying one of OnExitCodes and OnPodConditions is required")


def _as_a_whole(path: str, told: str) -> Cause:
    """A fault of a whole rule, which is not shown."""
    return Cause(path, "FieldValueInvalid", f"Invalid value: {told}")


def _exit_codes(codes: Json, names: set[Any], path: str) -> Causes:
    yield from _one_of(codes.get("operator", ""), OPERATORS, f"{path}.operator")
    name, values = codes.get("containerName"), codes.get("values") or []
    if name is not None and name not in names:
        told = "must be one of the container or initContainer names in the pod template"
        yield invalid(f"{path}.containerName", name, told)
    if not values:
        yield invalid(f"{path}.values", values, "at least one value is required")
    if len(values) > MOST_CODES:
        yield too_many(f"{path}.values", len(values), MOST_CODES)
    seen: set[int] = set()
    for number, value in enumerate(values):
        if value == 0 and codes.get("operator") == "In":
            yield invalid(f"{path}.values[{number}]", value, "must not be 0 for the In operator")
        if value in seen:
            yield duplicate(f"{path}.values[{number}]", value)
        seen.add(value)
    if values != sorted(values):
        yield invalid(f"{path}.values", values, "must be ordered")


# -- as the server holds them -----------------------------------------------------------------------------


def held_policy(policy: Json) -> Shown:
    """A Job's rules for pods that fail, with the names and the order that they have inside."""
    return Shown(Rules=[_held_rule(rule) for _, rule in entries(policy.get("rules"))])


def _held_rule(rule: Json) -> Shown:
    codes = rule.get("onExitCodes")
    shown = codes and Shown(
        ContainerName=codes.get("containerName"), Operator=codes.get("operator"), Values=codes.get("values")
    )
    conditions = [
        Shown(Type=each.get("type"), Status=each.get("status"))
        for _, each in entries(rule.get("onPodConditions"))
    ]
    return Shown(Action=rule.get("action"), OnExitCodes=shown, OnPodConditions=conditions or None)
