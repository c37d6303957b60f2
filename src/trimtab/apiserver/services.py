"""What Services are given: addresses and node ports, from pools. Pure but for what it reads of the store.

A Service keeps what it has for as long as it needs one; what another Service holds cannot be had.
"""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Iterator
from typing import Any

from trimtab.apiserver.store import Store
from trimtab.kube.refusals import Cause
from trimtab.kube.schemas.validation.causes import shown

Json = dict[str, Any]
SERVICES = ("", "services")
ADDRESSES = ipaddress.IPv4Network("10.96.0.0/16")
PORTS = range(30000, 32768)
DRAWN_PORTS = range(30086, 32768)  # those below are left to whoever asks for one
EXTERNAL = "ExternalName"
ON_NODES = ("NodePort", "LoadBalancer")
FAMILY = ("ipFamilies", "ipFamilyPolicy")
CLUSTER = ("clusterIP", "clusterIPs", *FAMILY)


class Taken(Exception):
    """Something that was asked for cannot be had."""

    def __init__(self, *causes: Cause) -> None:
        super().__init__(causes[0].message)
        self.causes = causes


def allocated(service: Json, store: Store, live: Json | None = None) -> Json:
    """The Service with everything that it needs; what it holds already (`live`) is its own."""
    spec = _kept(service["spec"], live["spec"] if live else {})
    own = f"{service['metadata'].get('namespace', '')}/{service['metadata'].get('name', '')}"
    others = [entry.decoded()["spec"] for entry in store.entries(SERVICES) if entry.key != own]
    if spec.get("type") != EXTERNAL:
        spec = _with_address(spec, {each.get("clusterIP", "") for each in others})
    taken = set(_ports_of(others))
    if _wants_ports(spec):
        spec = _with_ports(spec, taken)
    return {**service, "spec": _with_health_port(spec, taken)}


def left_alone(service: Json) -> Json:
    """A Service that is made through its status, where nothing is given: it must bring its addresses."""
    spec = service["spec"]
    if spec.get("clusterIP") and not spec.get("clusterIPs"):
        raise Taken(Cause(reason="FieldValueRequired", message="Required value", field="spec.clusterIPs"))
    return service


def _wants_ports(spec: Json) -> bool:
    asked = spec.get("allocateLoadBalancerNodePorts") is not False
    return spec.get("type") in ON_NODES and (asked or spec["type"] != "LoadBalancer")


# -- what it has already ----------------------------------------------------------------------------------


def _kept(spec: Json, before: Json) -> Json:
    """The spec with what the Service holds, where the request leaves it out and the type still needs it."""
    if not before:
        return dict(spec)
    spec = dict(spec)
    spec = _without_leftovers(spec, before)
    if EXTERNAL not in (spec.get("type"), before.get("type")):
        for name in CLUSTER:
            if name in before and not spec.get(name):
                spec[name] = before[name]
    if spec.get("type") in ON_NODES and before.get("type") in ON_NODES:
        spec["ports"] = list(_with_own_ports(spec.get("ports") or [], before.get("ports") or []))
    return spec


def _without_leftovers(spec: Json, before: Json) -> Json:
    """The spec without what another type had and this one cannot have, if the request just left it there."""
    old, new = before.get("type"), spec.get("type")
    gone: set[str] = set()
    if new == EXTERNAL != old:
        gone |= {*CLUSTER, "internalTrafficPolicy"}
    if old in ON_NODES and new not in ON_NODES:
        gone |= {"externalTrafficPolicy"}
    if old == "LoadBalancer" != new:
        gone |= {"allocateLoadBalancerNodePorts", "loadBalancerClass", "healthCheckNodePort"}
    left = {name: value for name, value in spec.items() if name not in gone or value != before.get(name)}
    if old in ON_NODES and new not in ON_NODES and _numbers(spec) <= _numbers(before):
        left["ports"] = [
            {name: value for name, value in port.items() if name != "nodePort"}
            for port in spec.get("ports") or []
        ]
    return left


def _numbers(spec: Json) -> set[int]:
    return set(_ports_of([spec]))


def _with_own_ports(ports: list[Json], before: list[Json]) -> Iterator[Json]:
    held = {(each.get("protocol"), each.get("port")): each.get("nodePort") for each in before}
    for port in ports:
        own = held.get((port.get("protocol"), port.get("port")))
        yield {**port, "nodePort": own} if own and not port.get("nodePort") else port


# -- addresses --------------------------------------------------------------------------------------------


def _with_address(spec: Json, taken: set[str]) -> Json:
    address = spec.get("clusterIP") or next(iter(spec.get("clusterIPs") or ()), "")
    if address and address != "None":
        _check_address(address, taken)
    address = address or _free_address(taken)
    return {
        **spec,
        "clusterIP": address,
        "clusterIPs": spec.get("clusterIPs") or [address],
        **_families(spec, open_to_all=address == "None" and not spec.get("selector")),
    }


def _families(spec: Json, *, open_to_all: bool) -> Json:
    """The families of addresses; the cluster has IPv4 alone, which binds whoever gets an address from it."""
    policy = spec.get("ipFamilyPolicy") or ("RequireDualStack" if open_to_all else "SingleStack")
    families = spec.get("ipFamilies") or ["IPv4"]
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


def _cause(field: str, value: str, why: str) -> Cause:
    return Cause(reason="FieldValueInvalid", message=f"Invalid value: {shown(value)}: {why}", field=field)


def _free_address(taken: set[str]) -> str:
    while True:
        address = str(ADDRESSES[256 + secrets.randbelow(ADDRESSES.num_addresses - 258)])
        if address not in taken:
            return address


def _check_address(address: str, taken: set[str]) -> None:
    why = ""
    try:
        inside = ipaddress.ip_address(address) in ADDRESSES
    except ValueError:
        return  # others say what is wrong with it
    if not inside:
        why = "the provided network does not match the current range"
    elif address in taken:
        why = "provided IP is already allocated"
    if why:
        told = f"Invalid value: {shown([address])}: failed to allocate IP {address}: {why}"
        raise Taken(Cause(reason="FieldValueInvalid", message=told, field="spec.clusterIPs"))


# -- node ports -------------------------------------------------------------------------------------------


def _ports_of(specs: list[Json]) -> Iterator[int]:
    for spec in specs:
        for port in spec.get("ports") or ():
            if port.get("nodePort"):
                yield port["nodePort"]
        if spec.get("healthCheckNodePort"):
            yield spec["healthCheckNodePort"]


def _with_ports(spec: Json, taken: set[int]) -> Json:
    ports = []
    for number, port in enumerate(spec.get("ports") or []):
        wanted = port.get("nodePort")
        if wanted:
            _check_port(wanted, taken, f"spec.ports[{number}].nodePort")
        given = wanted or _free_port(taken)
        taken.add(given)
        ports.append({**port, "nodePort": given})
    return {**spec, "ports": ports}


def _with_health_port(spec: Json, taken: set[int]) -> Json:
    """A load balancer that looks for local Pods asks each node at a port of its own."""
    local = spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"
    if not local or spec.get("healthCheckNodePort"):
        return spec
    return {**spec, "healthCheckNodePort": _free_port(taken)}


def _free_port(taken: set[int]) -> int:
    while True:
        port = DRAWN_PORTS[secrets.randbelow(len(DRAWN_PORTS))]
        if port not in taken:
            return port


def _check_port(port: int, taken: set[int], field: str) -> None:
    why = ""
    if port not in PORTS:
        told = f"The range of valid ports is {PORTS.start}-{PORTS.stop - 1}"
        why = f"provided port is not in the valid range. {told}"
    elif port in taken:
        why = "provided port is already allocated"
    if why:
        message = f"Invalid value: {port}: {why}"
        raise Taken(Cause(reason="FieldValueInvalid", message=message, field=field))
