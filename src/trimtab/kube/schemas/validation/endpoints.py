"""What is wrong with where services lead to, and with addresses that are given away."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any

from trimtab.kube.gotext import Shown
from trimtab.kube.schemas.validation.causes import (
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
from trimtab.kube.schemas.validation.metadata import IMMUTABLE
from trimtab.kube.schemas.validation.names import (
    Problems,
    address,
    address_range,
    dns_label,
    dns_subdomain,
    label_value,
    path_segment,
    port_number,
    qualified_name,
)
from trimtab.kube.schemas.validation.nodes import is_one_per_family

Json = Mapping[str, Any]
PROTOCOLS = ("SCTP", "TCP", "UDP")
FAMILIES = ("FQDN", "IPv4", "IPv6")
MOST_ENDPOINTS, MOST_ADDRESSES, MOST_PORTS, MOST_HINTS = 1000, 100, 20000, 8
MOST_RANGES = 2


def endpoints(manifest: Json) -> Causes:
    """What is wrong with Endpoints."""
    for number, subset in entries(manifest.get("subsets")):
        path = f"subsets[{number}]"
        groups = ("addresses", "notReadyAddresses")
        if not any(subset.get(group) for group in groups):
            yield required(path, "must specify `addresses` or `notReadyAddresses`")
        for group in groups:
            for place, each in entries(subset.get(group)):
                yield from _subset_address(each, f"{path}.{group}[{place}]")
        ports = subset.get("ports") or []
        for place, port in entries(ports):
            yield from _subset_port(port, f"{path}.ports[{place}]", named=len(ports) > 1)


def endpoints_update(new: Json, old: Json) -> Causes:
    """What is wrong with changed Endpoints: what was wrong before may stay."""
    if new.get("subsets") != old.get("subsets"):
        yield from endpoints(new)


def _subset_address(given: Json, path: str) -> Causes:
    where = given.get("ip", "")
    yield from each_invalid(f"{path}.ip", where, address(where))
    if given.get("hostname"):
        yield from each_invalid(f"{path}.hostname", given["hostname"], dns_label(given["hostname"]))
    if given.get("nodeName") is not None:
        yield from each_invalid(f"{path}.nodeName", given["nodeName"], dns_subdomain(given["nodeName"]))
    yield from each_invalid(f"{path}.ip", where, reachable(where))


def reachable(text: str) -> Problems:
    """An address that others can be sent to."""
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return ("must be a valid IP address",)
    local_groups = ipaddress.ip_network("224.0.0.0/24" if found.version == 4 else "ff02::/16")
    checks = (
        (found.is_unspecified, f"may not be unspecified ({text})"),
        (found.is_loopback, "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
        (found.is_link_local, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"),
        (
            found in local_groups,
            "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)",
        ),
    )
    return tuple(told for wrong, told in checks if wrong)


def _subset_port(port: Json, path: str, *, named: bool) -> Causes:
    name, number = port.get("name", ""), port.get("port", 0)
    if named and not name:
        yield required(f"{path}.name")
    elif name:
        yield from each_invalid(f"{path}.name", name, dns_label(name))
    yield from each_invalid(f"{path}.port", number, port_number(number))
    yield from _protocols(port, path)


def _protocols(port: Json, path: str) -> Causes:
    protocol, own = port.get("protocol", ""), port.get("appProtocol")
    if not protocol:
        yield required(f"{path}.protocol")
    elif protocol not in PROTOCOLS:
        yield not_supported(f"{path}.protocol", protocol, PROTOCOLS)
    if own is not None:
        yield from each_invalid(f"{path}.appProtocol", own, qualified_name(own))


# -- slices -----------------------------------------------------------------------------------------------


def endpoint_slice(manifest: Json) -> Causes:
    """What is wrong with an EndpointSlice."""
    yield from _slice_head(manifest)
    yield from _slice_endpoints(manifest)


def _slice_head(manifest: Json) -> Causes:
    family = manifest.get("addressType", "")
    if not family:
        yield required("addressType")
    elif family not in FAMILIES:
        yield not_supported("addressType", family, FAMILIES)
    yield from _slice_ports(manifest.get("ports") or [])


def _slice_endpoints(manifest: Json) -> Causes:
    family = manifest.get("addressType", "")
    given = manifest.get("endpoints") or []
    if len(given) > MOST_ENDPOINTS:
        yield too_many("endpoints", len(given), MOST_ENDPOINTS)
        return
    for number, endpoint in entries(given):
        yield from _endpoint(endpoint, family, f"endpoints[{number}]")


def _slice_ports(ports: list[Any]) -> Causes:
    if len(ports) > MOST_PORTS:
        yield too_many("ports", len(ports), MOST_PORTS)
        return
    seen: set[str] = set()
    for number, port in entries(ports):
        path, name = f"ports[{number}]", port.get("name") or ""
        yield from each_invalid(f"{path}.name", name, dns_label(name) if name else ())
        if name in seen:
            yield duplicate(f"{path}.name", name)
        seen.add(name)
        yield from _protocols(port, path)


def _endpoint(endpoint: Json, family: str, path: str) -> Causes:
    given = endpoint.get("addresses") or []
    if not given:
        yield required(f"{path}.addresses", "must contain at least 1 address")
    elif len(given) > MOST_ADDRESSES:
        yield too_many(f"{path}.addresses", len(given), MOST_ADDRESSES)
    for number, each in enumerate(given):
        yield from _of_family(each, family, f"{path}.addresses", number)
    if endpoint.get("nodeName") is not None:
        yield from each_invalid(f"{path}.nodeName", endpoint["nodeName"], dns_subdomain(endpoint["nodeName"]))
    if endpoint.get("hostname") is not None:
        yield from each_invalid(f"{path}.hostname", endpoint["hostname"], dns_label(endpoint["hostname"]))
    for group in ("forZones", "forNodes"):
        yield from _hints(part(endpoint, "hints").get(group) or [], f"{path}.hints.{group}")


def _of_family(text: str, family: str, path: str, number: int) -> Causes:
    place = f"{path}[{number}]"
    if family == "FQDN":
        yield from each_invalid(place, text, _full_name(text))
        return
    wrong = address(text)
    yield from each_invalid(place, text, wrong)
    if wrong or family not in FAMILIES:
        return
    if f"IPv{ipaddress.ip_address(text).version}" != family:
        yield invalid(path, text, f"must be an {family} address")
    yield from each_invalid(place, text, reachable(text))


def _full_name(text: str) -> Problems:
    wrong = dns_subdomain(text)
    if wrong or "." in text:
        return wrong
    return ("should be a domain with at least two segments separated by dots",)


def _hints(hints: list[Any], path: str) -> Causes:
    if len(hints) > MOST_HINTS:
        yield too_many(path, len(hints), MOST_HINTS)
        return
    seen: set[str] = set()
    for number, hint in entries(hints):
        place, name = f"{path}[{number}].name", hint.get("name", "")
        if name in seen:
            yield duplicate(place, name)
        seen.add(name)
        rule = label_value if path.endswith("Zones") else dns_subdomain
        yield from each_invalid(place, name, rule(name))


def endpoint_slice_update(new: Json, old: Json) -> Causes:
    """What may not be changed in an EndpointSlice, and what is wrong with it; old endpoints may stay."""
    yield from _slice_head(new)
    if new.get("endpoints") != old.get("endpoints"):
        yield from _slice_endpoints(new)
    if new.get("addressType") != old.get("addressType"):
        yield invalid("addressType", new.get("addressType", ""), IMMUTABLE)


# -- addresses --------------------------------------------------------------------------------------------


def ip_address(manifest: Json) -> Causes:
    """What is wrong with an IPAddress."""
    parent, path = part(manifest, "spec").get("parentRef"), "spec.parentRef"
    if parent is None:
        yield required(path)
        return
    if parent.get("group"):
        yield from each_invalid(f"{path}.group", parent["group"], dns_subdomain(parent["group"]))
    for name in ("resource", "name"):
        if not parent.get(name):
            yield required(f"{path}.{name}")
        else:
            yield from each_invalid(f"{path}.{name}", parent[name], path_segment(parent[name]))
    if parent.get("namespace"):
        yield from each_invalid(f"{path}.namespace", parent["namespace"], path_segment(parent["namespace"]))


def ip_address_update(new: Json, old: Json) -> Causes:
    """What may not be changed in an IPAddress."""
    parent, path = part(new, "spec").get("parentRef"), "spec.parentRef"
    if parent != part(old, "spec").get("parentRef"):
        names = ("group", "resource", "namespace", "name")
        shown = parent and Shown((name.capitalize(), parent.get(name, "")) for name in names)
        yield invalid(path, shown, IMMUTABLE)


def service_range(manifest: Json) -> Causes:
    """What is wrong with a ServiceCIDR."""
    ranges, path = part(manifest, "spec").get("cidrs") or [], "spec.cidrs"
    if not ranges:
        yield required(path, "at least one CIDR required")
        return
    if len(ranges) > MOST_RANGES:
        yield invalid(path, Shown((("CIDRs", ranges),)), f"may only hold up to {MOST_RANGES} values")
        return
    for number, each in enumerate(ranges):
        yield from each_invalid(f"{path}[{number}]", each, address_range(each))
    if len(ranges) == MOST_RANGES and not is_one_per_family(ranges):
        told = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
        yield invalid(path, ranges, told)


def service_range_update(new: Json, old: Json) -> Causes:
    """What may not be changed in a ServiceCIDR: a second family may be added, no more."""
    ranges, had = (part(each, "spec").get("cidrs") or [] for each in (new, old))
    if len(ranges) not in (len(had), MOST_RANGES):
        yield invalid("spec.cidrs", ranges, IMMUTABLE)
        return
    for number, (before, after) in enumerate(zip(had, ranges, strict=False)):
        if before != after:
            yield invalid(f"spec.cidrs[{number}]", after, IMMUTABLE)
    if len(ranges) > len(had):
        yield from service_range(new)
