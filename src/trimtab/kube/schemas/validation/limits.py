"""What is wrong with LimitRanges and ResourceQuotas, and what may not be changed in them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from trimtab.kube.gotext import Shown
from trimtab.kube.quantity import Quantity, parse_quantity
from trimtab.kube.schemas.validation.causes import (
    Causes,
    duplicate,
    each_invalid,
    entries,
    forbidden,
    invalid,
    part,
    required,
)
from trimtab.kube.schemas.validation.metadata import IMMUTABLE
from trimtab.kube.schemas.validation.names import qualified_name
from trimtab.kube.schemas.validation.resources import (
    container_resource,
    is_quota_resource,
    may_overcommit,
    quantity_of,
    quota_resource,
    resource_name,
)

Json = Mapping[str, Any]
LIMIT_TYPES = ("Pod", "Container", "PersistentVolumeClaim")
SIDES = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
LARGEST_MILLI = ((1 << 63) - 1) // 1000
_POD_ONLY = frozenset({"Terminating", "NotTerminating", "BestEffort", "NotBestEffort"})
_EXISTING = _POD_ONLY | {"CrossNamespacePodAffinity"}  # of these a pod has one or has it not
SCOPES = _EXISTING | {"PriorityClass", "VolumeAttributesClass"}
_PODS = frozenset({"pods"})
_COMPUTING = _PODS | {"cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"}
_STORING = frozenset({"persistentvolumeclaims", "requests.storage"})
_UNSUITABLE = "unsupported scope applied to resource"


# -- LimitRanges -----------------------------------------------------------------------------------------


def limit_range(manifest: Json) -> Causes:
    """What is wrong with a LimitRange."""
    seen: set[str] = set()
    for number, limit in entries(part(manifest, "spec").get("limits")):
        path, kind = f"spec.limits[{number}]", limit.get("type", "")
        yield from each_invalid(f"{path}.type", kind, qualified_name(kind))
        if "/" not in kind and kind not in LIMIT_TYPES and not qualified_name(kind):
            yield invalid(f"{path}.type", kind, "must be a standard limit type or fully qualified")
        if kind in seen:
            yield duplicate(f"{path}.type", kind)
        seen.add(kind)
        yield from _limited(limit, kind, path)


def _limited(limit: Json, kind: str, path: str) -> Causes:
    """What one entry of a LimitRange limits, and by how much."""
    sides = [side for side in SIDES if kind != "Pod" or not side.startswith("default")]
    judged = container_resource if kind in ("Pod", "Container") else resource_name
    for side in SIDES:
        if side == "maxLimitRequestRatio" and kind == "PersistentVolumeClaim":
            yield from _storage(limit, path)
        if side not in sides and limit.get(side):
            yield forbidden(f"{path}.{side}", "may not be specified when `type` is 'Pod'")
        for name in part(limit, side) if side in sides else ():
            yield from judged(name, f"{path}.{side}[{name}]")
    for name in sorted({name for side in sides for name in part(limit, side)}):
        at = {side: parse_quantity(limit[side][name]) for side in sides if name in part(limit, side)}
        yield from _order(at, name, path)
        yield from _ratio(at, f"{path}.maxLimitRequestRatio[{name}]")
        yield from _sameness(at, name, path)


def _storage(limit: Json, path: str) -> Causes:
    if not any("storage" in part(limit, side) for side in ("min", "max")):
        told = "either minimum or maximum storage value is required, but neither was provided"
        yield required(f"{path}.limits", told)


def _order(at: Mapping[str, Quantity], name: str, path: str) -> Causes:
    """The minimum, the default request, the default and the maximum of a resource must grow in this order."""
    # What is compared, the field that is blamed, and the value that is shown there.
    orders = (
        ("min", "max", "min", "min", "max value"),
        ("min", "defaultRequest", "defaultRequest", "defaultRequest", "default request value"),
        ("defaultRequest", "max", "defaultRequest", "defaultRequest", "max value"),
        ("defaultRequest", "default", "defaultRequest", "defaultRequest", "default limit value"),
        ("min", "default", "default", "min", "default value"),
        ("default", "max", "default", "max", "max value"),
    )
    words = {"min": "min value", "default": "default value", "defaultRequest": "default request value"}
    for low, high, blamed, value, word in orders:
        if low in at and high in at and at[low] > at[high]:
            told = f"{words[low]} {at[low]} is greater than {word} {at[high]}"
            yield invalid(f"{path}.{blamed}[{name}]", str(at[value]), told)


def _ratio(at: Mapping[str, Quantity], path: str) -> Causes:
    """By how much a limit may exceed its request: at least not at all, at most by what the bounds allow."""
    ratio = at.get("maxLimitRequestRatio")
    if ratio is None:
        return
    if ratio.nanos < 10**9:
        yield invalid(path, str(ratio), f"ratio {ratio} is less than 1")
    if "min" not in at or "max" not in at:
        return
    most = _quotient(at["max"], at["min"], fine=max(each.whole for each in at.values()) < LARGEST_MILLI)
    if ratio.milli / 1000 > most:
        shown = f"{most:f}" if math.isfinite(most) else "-Inf"
        yield invalid(path, str(ratio), f"ratio {ratio} is greater than max/min = {shown}")


def _quotient(above: Quantity, below: Quantity, *, fine: bool) -> float:
    """One amount by another, each in thousandths or, where these are too many, as whole numbers."""
    top, bottom = (each.milli if fine else each.whole for each in (above, below))
    if not bottom:
        return math.copysign(math.inf, top) if top else math.nan
    return top / bottom


def _sameness(at: Mapping[str, Quantity], name: str, path: str) -> Causes:
    """What cannot be promised twice is requested as it is limited."""
    limit, request = at.get("default"), at.get("defaultRequest")
    if limit is None or request is None or limit == request or may_overcommit(name):
        return
    told = f"default value {limit} must equal to defaultRequest value {request} in {name}"
    yield invalid(f"{path}.defaultRequest[{name}]", str(request), told)


# -- ResourceQuotas --------------------------------------------------------------------------------------


def resource_quota(manifest: Json) -> Causes:
    """What is wrong with a ResourceQuota."""
    spec = part(manifest, "spec")
    for name, amount in part(spec, "hard").items():
        path = f"spec.hard[{name}]"
        yield from quota_resource(name, path)
        yield from quantity_of(name, amount, path)
    names = [name for name in part(spec, "hard") if is_quota_resource(name)]
    scopes = spec.get("scopes") or []
    for scope in scopes:
        if scope not in SCOPES:
            yield invalid("spec.scopes", scopes, "unsupported scope")
        yield from (invalid("spec.scopes", scopes, _UNSUITABLE) for each in names if not _suits(scope, each))
    yield from _conflicts(scopes, "spec.scopes", scopes)
    if spec.get("scopeSelector") is not None:
        yield from _scope_selector(spec, names)


def _suits(scope: str, name: str) -> bool:
    """Whether what a quota counts can have this scope; of unknown scopes something else is said."""
    if scope == "BestEffort":
        return name in _PODS
    if scope == "VolumeAttributesClass":
        return name in _STORING
    return name in _COMPUTING or scope not in SCOPES


def _conflicts(scopes: Sequence[str], path: str, shown: Any) -> Causes:
    for pair in ({"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"}):
        if pair <= {*scopes}:
            yield invalid(path, shown, "conflicting scopes")


def _scope_selector(spec: Json, names: Sequence[str]) -> Causes:
    """What is wrong with the selector of scopes; the server tells no numbers of its expressions."""
    path = "spec.scopeSelector.matchExpressions"
    given = [each for _, each in entries(part(spec, "scopeSelector").get("matchExpressions"))]
    whole = Shown({"MatchExpressions": [_as_kept(each) for each in given]})
    for each in given:
        scope, operator = each.get("scopeName", ""), each.get("operator", "")
        if scope not in SCOPES:
            yield invalid(f"{path}.scopeName", scope, "unsupported scope")
        yield from (invalid(path, whole, _UNSUITABLE) for name in names if not _suits(scope, name))
        if scope in _EXISTING and operator != "Exists":
            told = ", ".join(f"ResourceQuotaScope{name}" for name in ("Terminating", "NotTerminating"))
            told = f"{told}, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort"
            last = "ResourceQuotaScopeCrossNamespacePodAffinity"
            yield invalid(
                f"{path}.operator", operator, f"must be 'Exists' when scope is any of {told} or {last}"
            )
        yield from _scope_values(operator, each.get("values") or [], path)
    yield from _conflicts([each.get("scopeName", "") for each in given], path, spec.get("scopes"))


def _as_kept(expression: Json) -> Shown:
    """An expression as the server keeps it inside, with the names that its fields have there."""
    names = {"ScopeName": "scopeName", "Operator": "operator"}
    words = {inside: expression.get(name, "") for inside, name in names.items()}
    return Shown({**words, "Values": expression.get("values")})


def _scope_values(operator: str, values: Sequence[str], path: str) -> Causes:
    if operator in ("In", "NotIn"):
        if not values:
            told = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            yield required(f"{path}.values", told)
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            told = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
            yield invalid(f"{path}.values", values, told)
    else:
        yield invalid(f"{path}.operator", operator, "not a valid selector operator")


def resource_quota_update(new: Json, old: Json) -> Causes:
    """What may not be changed in a ResourceQuota: what it counts."""
    yield from resource_quota(new)
    scopes = part(new, "spec").get("scopes")
    if {*(scopes or ())} != {*(part(old, "spec").get("scopes") or ())}:
        yield invalid("spec.scopes", scopes, IMMUTABLE)
