"""What is wrong with where a pod wants to be: affinities and topology spread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
from trimtab.kube.schemas.validation.names import dns_subdomain, label_value, qualified_name
from trimtab.kube.schemas.validation.selectors import label_selector

Json = Mapping[str, Any]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
NODE_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")


def affinity(given: Json, path: str) -> Causes:
    """What is wrong with the affinities of a pod."""
    node = part(given, "nodeAffinity")
    if node.get(REQUIRED) is not None:
        yield from node_selector(node[REQUIRED], f"{path}.nodeAffinity.{REQUIRED}")
    for number, term in entries(node.get(PREFERRED)):
        place = f"{path}.nodeAffinity.{PREFERRED}[{number}]"
        yield from _weight(term, place)
        yield from _node_term(part(term, "preference"), f"{place}.preference", values=False)
    for name in ("podAffinity", "podAntiAffinity"):
        for number, term in entries(part(given, name).get(REQUIRED)):
            yield from _pod_term(term, f"{path}.{name}.{REQUIRED}[{number}]")
        for number, term in entries(part(given, name).get(PREFERRED)):
            place = f"{path}.{name}.{PREFERRED}[{number}]"
            yield from _weight(term, place)
            yield from _pod_term(part(term, "podAffinityTerm"), f"{place}.podAffinityTerm")


def _weight(term: Json, path: str) -> Causes:
    weight = term.get("weight", 0)
    if not 1 <= weight <= 100:
        yield invalid(f"{path}.weight", weight, "must be in the range 1-100")


def node_selector(selector: Json, path: str) -> Causes:
    """What is wrong with a choice of nodes."""
    if not selector.get("nodeSelectorTerms"):
        yield required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")
    for number, term in entries(selector.get("nodeSelectorTerms")):
        yield from _node_term(term, f"{path}.nodeSelectorTerms[{number}]")


def _node_term(term: Json, path: str, *, values: bool = True) -> Causes:
    """A term that selects nodes; bad values of a mere preference are warned of, not refused."""
    for number, expression in entries(term.get("matchExpressions")):
        place = f"{path}.matchExpressions[{number}]"
        yield from _node_expression(expression, place)
        for index, value in entries(expression.get("values") if values else None):
            yield from each_invalid(f"{place}.values[{index}]", value, label_value(value))
    for number, field in entries(term.get("matchFields")):
        yield from _node_field(field, f"{path}.matchFields[{number}]")


def _node_field(field: Json, path: str) -> Causes:
    """A condition on a field of a node: that it has one name."""
    key, operator, values = field.get("key", ""), field.get("operator", ""), field.get("values") or []
    if operator not in ("In", "NotIn"):
        yield invalid(f"{path}.operator", operator, "not a valid selector operator")
    elif len(values) != 1:
        told = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        yield required(f"{path}.values", told)
    if key != "metadata.name":
        yield invalid(f"{path}.key", key, "not a valid field selector key")
        return
    for number, value in enumerate(values):
        yield from each_invalid(f"{path}.values[{number}]", value, dns_subdomain(value))


def _node_expression(expression: Json, path: str) -> Causes:
    operator, values = expression.get("operator", ""), expression.get("values") or []
    if operator in ("In", "NotIn") and not values:
        yield required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist") and values:
        yield forbidden(
            f"{path}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        )
    elif operator in ("Gt", "Lt") and len(values) != 1:
        yield required(f"{path}.values", "must be specified single value when `operator` is 'Lt' or 'Gt'")
    elif operator not in NODE_OPERATORS:
        yield invalid(f"{path}.operator", operator, "not a valid selector operator")
    key = expression.get("key", "")
    yield from each_invalid(f"{path}.key", key, qualified_name(key))


def _pod_term(term: Json, path: str) -> Causes:
    yield from label_selector(term.get("labelSelector"), f"{path}.labelSelector")
    key = term.get("topologyKey", "")
    if not key:
        yield required(f"{path}.topologyKey", "can not be empty")
    yield from each_invalid(f"{path}.topologyKey", key, qualified_name(key))


def spread_constraints(constraints: Any, path: str) -> Causes:
    """What is wrong with how pods are to be spread."""
    for number, constraint in entries(constraints):
        place = f"{path}[{number}]"
        if constraint.get("maxSkew", 0) <= 0:
            yield invalid(f"{place}.maxSkew", constraint.get("maxSkew", 0), "must be greater than zero")
        if not constraint.get("topologyKey"):
            yield required(f"{place}.topologyKey", "can not be empty")
        else:
            key = constraint["topologyKey"]
            yield from each_invalid(f"{place}.topologyKey", key, qualified_name(key))
        action = constraint.get("whenUnsatisfiable", "")
        if action not in ("DoNotSchedule", "ScheduleAnyway"):
            yield not_supported(f"{place}.whenUnsatisfiable", action, ("DoNotSchedule", "ScheduleAnyway"))
        yield from label_selector(constraint.get("labelSelector"), f"{place}.labelSelector")
