"""Label selectors inside objects: what is wrong with one, and whether it matches.

Selectors as query parameters are the business of others; this is the structured form in specs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trimtab.kube.schemas.validation.causes import (
    Causes,
    each_invalid,
    entries,
    forbidden,
    invalid,
    required,
)
from trimtab.kube.schemas.validation.names import label_causes, label_value, qualified_name

OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


def label_selector(selector: Mapping[str, Any] | None, path: str) -> Causes:
    """What is wrong with a selector."""
    if not selector:
        return
    yield from label_causes(selector.get("matchLabels"), f"{path}.matchLabels")
    for number, expression in entries(selector.get("matchExpressions")):
        yield from _expression(expression, f"{path}.matchExpressions[{number}]")


def _expression(expression: Mapping[str, Any], path: str) -> Causes:
    operator, values = expression.get("operator", ""), expression.get("values") or []
    if operator in ("In", "NotIn") and not values:
        yield required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist") and values:
        yield forbidden(
            f"{path}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        )
    elif operator not in OPERATORS:
        yield invalid(f"{path}.operator", operator, "not a valid selector operator")
    key = expression.get("key", "")
    yield from each_invalid(f"{path}.key", key, qualified_name(key))
    for number, value in enumerate(values):
        yield from each_invalid(f"{path}.values[{number}]", value, label_value(value))


def is_usable(selector: Mapping[str, Any] | None) -> bool:
    """Whether a selector can be evaluated at all."""
    return not any(True for _ in label_selector(selector, ""))


def selects(selector: Mapping[str, Any] | None, carried: Mapping[str, str] | None) -> bool:
    """Whether a selector matches labels; no selector matches nothing, an empty one everything."""
    if selector is None:
        return False
    carried = carried or {}
    by_label = all(carried.get(key) == value for key, value in (selector.get("matchLabels") or {}).items())
    return by_label and all(_matches(each, carried) for each in selector.get("matchExpressions") or ())


def _matches(expression: Mapping[str, Any], carried: Mapping[str, str]) -> bool:
    key, values = expression["key"], expression.get("values") or ()
    match expression["operator"]:
        case "In":
            return key in carried and carried[key] in values
        case "NotIn":
            return carried.get(key) not in values
        case "Exists":
            return key in carried
        case _:
            return key not in carried
