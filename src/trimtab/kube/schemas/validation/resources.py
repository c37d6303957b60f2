"""What is wrong with amounts of resources: names, signs, whole numbers, requests beyond limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trimtab.kube.quantity import Quantity, parse_quantity
from trimtab.kube.schemas.validation.causes import Causes, each_invalid, forbidden, invalid, required
from trimtab.kube.schemas.validation.names import qualified_name

CONTAINER_RESOURCES = frozenset({"cpu", "memory", "ephemeral-storage"})
STANDARD = CONTAINER_RESOURCES | {
    "storage",
    "requests.cpu",
    "requests.memory",
    "requests.storage",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
}
QUOTA = STANDARD - {"storage"}
WHOLE = frozenset(
    {
        "pods",
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    }
)
HUGE = "hugepages-"
HUGE_COUNTED = (HUGE, f"requests.{HUGE}")  # as quotas may say it, too


def requirements(given: Mapping[str, Any], path: str) -> Causes:
    """What is wrong with the requests and limits of a container."""
    limits, requests = given.get("limits") or {}, given.get("requests") or {}
    for name, amount in limits.items():
        yield from _amount(name, amount, f"{path}.limits[{name}]")
    for name, amount in requests.items():
        yield from _amount(name, amount, f"{path}.requests[{name}]")
        yield from _against_limit(name, parse_quantity(amount), limits, path)
    names = {*limits, *requests}
    if any(name.startswith(HUGE) for name in names) and not names & {"cpu", "memory"}:
        yield forbidden(path, "HugePages require cpu or memory")


def _amount(name: str, amount: Any, path: str) -> Causes:
    yield from container_resource(name, path)
    yield from quantity_of(name, amount, path)


def _against_limit(name: str, request: Quantity, limits: Mapping[str, Any], path: str) -> Causes:
    if name not in limits:
        if not may_overcommit(name):
            yield required(f"{path}.limits", "Limit must be set for non overcommitable resources")
        return
    limit = parse_quantity(limits[name])
    if request != limit and not may_overcommit(name):
        yield invalid(f"{path}.requests", str(request), f"must be equal to {name} limit of {limit}")
    elif request > limit:
        yield invalid(
            f"{path}.requests", str(request), f"must be less than or equal to {name} limit of {limit}"
        )


def may_overcommit(name: str) -> bool:
    """Whether less may be requested of a resource than it is limited to."""
    return _is_native(name) and not name.startswith(HUGE)


def _is_native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


def quantity_of(name: str, amount: Any, path: str) -> Causes:
    """An amount must not be negative, and of some resources it must be whole."""
    quantity = parse_quantity(amount)
    if quantity.nanos < 0:
        yield invalid(path, str(quantity), "must be greater than or equal to 0")
    if (name in WHOLE or not _is_native(name)) and not quantity.is_whole:
        yield invalid(path, str(quantity), "must be an integer")


def resource_name(name: str, path: str) -> Causes:
    """A resource has a qualified name, or one of the standard ones."""
    if wrong := qualified_name(name):
        yield from each_invalid(path, name, wrong)
    elif "/" not in name and name not in STANDARD and not name.startswith(HUGE_COUNTED):
        yield invalid(path, name, "must be a standard resource type or fully qualified")


def container_resource(name: str, path: str) -> Causes:
    """A container may ask for the usual resources, huge pages, and what has a domain."""
    yield from resource_name(name, path)
    if "/" not in name and name not in CONTAINER_RESOURCES and not name.startswith(HUGE):
        yield invalid(path, name, "must be a standard resource for containers")
    elif not _is_native(name) and (name.startswith("requests.") or qualified_name(f"requests.{name}")):
        yield invalid(path, name, "doesn't follow extended resource name standard")


def quota_resource(name: str, path: str) -> Causes:
    """A quota may count whatever is counted."""
    yield from resource_name(name, path)
    if "/" not in name and not is_quota_resource(name):
        yield invalid(path, name, "must be a standard resource for quota")


def is_quota_resource(name: str) -> bool:
    """Whether this is one of the resources that every quota knows."""
    return name in QUOTA or name.startswith(HUGE_COUNTED)
