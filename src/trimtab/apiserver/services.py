"""What Services are given: addresses and node ports. Pure but for lots, and for what it reads of the store.

A Service keeps what it has for as long as it needs one; what another Service holds cannot be had.
"""

from __future__ import annotations

import ipaddress
import secrets
from typing import Any

from trimtab.apiserver.nodeports import (
    NodePorts,
    Taken,
    changed_ports,
    first_ports,
    health_port,
    ports_of,
    with_own_ports,
)
from trimtab.apiserver.store import Store
from trimtab.kube.gotext import quoted
from trimtab.kube.refusals import Cause
from trimtab.kube.schemas.validation.causes import shown
from trimtab.kube.schemas.validation.families import (
    EXTERNAL,
    HEADLESS,
    addresses_of,
    cluster_addresses,
    in_step,
)

Json = dict[str, Any]
SERVICES = ("", "services")
ADDRESSES = ipaddress.IPv4Network("10.96.0.0/16")
ON_NODES = ("NodePort", "LoadBalancer")
FAMILY = ("ipFamilies", "ipFamilyPolicy")
CLUSTER = ("clusterIP", "clusterIPs", *FAMILY)


def allocated(service: Json, store: Store, live: Json | None = None, *, dry_run: bool = False) -> Json:
    """The Service with everything that it needs; what it holds already (`live`) is its own."""
    before = live["spec"] if live else {}
    spec = _kept(service["spec"], before)
    if causes := list(cluster_addresses(spec)):
        raise Taken(*(Cause(reason=each.reason, message=each.message, field=each.field) for each in causes))
    own = f"{service['metadata'].get('namespace', '')}/{service['metadata'].get('name', '')}"
    others = [entry.decoded()["spec"] for entry in store.entries(SERVICES) if entry.key != own]
    if spec.get("type") != EXTERNAL:
        taken = {address for each in others for address in addresses_of(each)}
        keeps = bool(before) and before.get("type") != EXTERNAL
        named = dry_run or bool(service["metadata"].get("name"))
        spec = _with_address(spec, taken, keeps=keeps, named=named, dry_run=dry_run)
    free = NodePorts(ports_of(others), dry_run=dry_run)
    if spec.get("type") in ON_NODES:
        ports = changed_ports(spec, before, free) if live else first_ports(spec, free)
        spec = {**spec, "ports": ports}
    spec = _with_health_port(spec, before, free)
    return _unbalanced({**service, "spec": spec}) if live else {**service, "spec": spec}


def left_alone(service: Json) -> Json:
    """A Service that is made through its status, where nothing is given: it must bring what it needs."""
    spec = service["spec"]
    needs = {"clusterIPs": bool(spec.get("clusterIP")), "healthCheckNodePort": _asks_for_health(spec)}
    lacks = [f"spec.{name}" for name, needed in needs.items() if needed and not spec.get(name)]
    if lacks:
        told = "Required value"
        raise Taken(*(Cause(reason="FieldValueRequired", message=told, field=each) for each in lacks))
    return service


def _unbalanced(service: Json) -> Json:
    """A Service that is no load balancer any more is not reached through one."""
    if service["spec"].get("type") == "LoadBalancer" or not (service.get("status") or {}).get("loadBalancer"):
        return service
    return {**service, "status": {**service["status"], "loadBalancer": {}}}


# -- what it has already ----------------------------------------------------------------------------------


def _kept(spec: Json, before: Json) -> Json:
    """The spec with what the Service holds, where the request leaves it out and the type still needs it."""
    if not before:
        return dict(spec)
    spec = _without_leftovers(spec, before)
    if EXTERNAL not in (spec.get("type"), before.get("type")):
        for name in CLUSTER:
            unsaid = spec.get(name) is None if name == "ipFamilyPolicy" else not spec.get(name)
            if name in before and unsaid:
                spec[name] = before[name]
        spec = in_step(spec, before)
    if spec.get("type") in ON_NODES and before.get("type") in ON_NODES:
        spec["ports"] = with_own_ports(spec.get("ports") or [], before.get("ports") or [])
    if _asks_for_health(spec) and _asks_for_health(before) and not spec.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = before["healthCheckNodePort"]
    return spec


def _asks_for_health(spec: Json) -> bool:
    """Whether this is a load balancer that looks for local Pods: it asks each node at a port of its own."""
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def _is_reached_from_outside(spec: Json) -> bool:
    kind = spec.get("type")
    return kind in ON_NODES or (kind == "ClusterIP" and bool(spec.get("externalIPs")))


def _without_leftovers(spec: Json, before: Json) -> Json:
    """The spec without what another type had and this one cannot have, if the request just left it there."""
    old, new = before.get("type"), spec.get("type")
    gone: set[str] = set()
    if new == EXTERNAL != old:
        gone |= {*CLUSTER, "internalTrafficPolicy"}
    if _is_reached_from_outside(before) and not _is_reached_from_outside(spec):
        gone |= {"externalTrafficPolicy"}
    if old == "LoadBalancer" != new:
        gone |= {"allocateLoadBalancerNodePorts", "loadBalancerClass"}
    if _asks_for_health(before) and not _asks_for_health(spec):
        gone |= {"healthCheckNodePort"}
    left = {name: value for name, value in spec.items() if name not in gone or value != before.get(name)}
    if old in ON_NODES and new not in ON_NODES and _numbers(spec) <= _numbers(before):
        left["ports"] = [
            {name: value for name, value in port.items() if name != "nodePort"}
            for port in spec.get("ports") or []
        ]
    return left


def _numbers(spec: Json) -> set[int]:
    return set(ports_of([spec]))


# -- addresses --------------------------------------------------------------------------------------------


def _with_address(spec: Json, taken: set[str], *, keeps: bool, named: bool, dry_run: bool) -> Json:
    """The spec with an address and families; a dry run answers with one that nobody can have.

    An address is kept under the name of its Service. One that had none before (`keeps`) is given none.
    """
    found = addresses_of(spec)
    families = _families(spec, found, open_to_all=found == [HEADLESS] and not spec.get("selector"))
    if not keeps:
        for each in found:
            _check_address(each, found, taken, named=named, dry_run=dry_run)
    if keeps and not found:
        return {**spec, **families}
    found = found or [str(ADDRESSES[0]) if dry_run else _free_address(taken)]
    if not named and found != [HEADLESS]:
        raise Taken(_cause("spec.clusterIPs", [""], f"failed to allocate IP: {_nobodys(found[0])}"))
    return {**spec, "clusterIP": found[0], "clusterIPs": found, **families}


def _families(spec: Json, found: list[str], *, open_to_all: bool) -> Json:
    """The families of addresses; the cluster has IPv4 alone, which binds whoever gets an address from it."""
    policy = spec.get("ipFamilyPolicy") or ("RequireDualStack" if open_to_all else "SingleStack")
    families = list(spec.get("ipFamilies") or ())
    _check_policy(policy, found, families)
    families = families or ["IPv4"]
    if open_to_all:
        if len(families) == 1 and policy != "SingleStack":
            families = [*families, "IPv6" if families == ["IPv4"] else "IPv4"]
        return {"ipFamilies": families, "ipFamilyPolicy": policy}
    causes = []
    if policy == "RequireDualStack":
        why = "this cluster is not configured for dual-stack services"
        causes.append(_cause("spec.ipFamilyPolicy", policy, why))
    for number, family in enumerate(families):
        if family != "IPv4":
            causes.append(_cause(f"spec.ipFamilies[{number}]", family, "not configured on this cluster"))
    if causes:
        raise Taken(*causes)
    return {"ipFamilies": families, "ipFamilyPolicy": policy}


def _check_policy(policy: str, found: list[str], families: list[str]) -> None:
    """Refuse several addresses or families where one is asked for, and addresses that nobody has."""
    causes = []
    for many, what in ((found, "`clusterIPs`"), (families, "IP families")):
        if policy == "SingleStack" and len(many) > 1:
            why = f"must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified"
            causes.append(_cause("spec.ipFamilyPolicy", policy, why))
    for number, each in enumerate(found):
        if each != HEADLESS and number >= len(families) and ":" in each:
            why = "IPv6 is not configured on this cluster"
            causes.append(_cause(f"spec.clusterIPs[{number}]", found, why))
    if causes:
        raise Taken(*causes)


def _cause(field: str, value: Any, why: str) -> Cause:
    return Cause(reason="FieldValueInvalid", message=f"Invalid value: {shown(value)}: {why}", field=field)


def _free_address(taken: set[str]) -> str:
    while True:
        address = str(ADDRESSES[256 + secrets.randbelow(ADDRESSES.num_addresses - 258)])
        if address not in taken:
            return address


def _nobodys(address: str) -> str:
    """What is wrong with an address for a Service without a name."""
    return f"IPAddress.networking.k8s.io {quoted(address)} is invalid: spec.parentRef.name: Required value"


def _check_address(address: str, found: list[str], taken: set[str], *, named: bool, dry_run: bool) -> None:
    """Refuse an address that cannot be had; a dry run does not look at what others have."""
    if address == HEADLESS:
        return
    why, asked = "", ipaddress.ip_address(address)
    outside = asked not in ADDRESSES or asked in (ADDRESSES.network_address, ADDRESSES.broadcast_address)
    if outside and dry_run:
        told = f"The range of valid IPs is {ADDRESSES}"
        why = f"the provided IP ({address}) is not in the valid range. {told}"
    elif outside:
        why = "the provided network does not match the current range"
    elif not named:
        why = _nobodys(address)
    elif address in taken and not dry_run:
        why = "provided IP is already allocated"
    if why:
        raise Taken(_cause("spec.clusterIPs", found, f"failed to allocate IP {address}: {why}"))


# -- health -----------------------------------------------------------------------------------------------


def _with_health_port(spec: Json, before: Json, free: NodePorts) -> Json:
    if not _asks_for_health(spec) or _asks_for_health(before):
        return spec
    return {**spec, "healthCheckNodePort": health_port(spec.get("healthCheckNodePort") or 0, free)}
