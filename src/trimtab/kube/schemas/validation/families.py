"""What is wrong with the cluster addresses of a Service, and with the families that they are of.

The server judges these before it gives anything out, and looks no further where they are unsound; what is
wrong with the rest of a Service is found by `networks`.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from typing import Any

from trimtab.kube.schemas.validation.causes import (
    Causes,
    duplicate,
    each_invalid,
    forbidden,
    invalid,
    not_supported,
)
from trimtab.kube.schemas.validation.names import address

Json = Mapping[str, Any]
HEADLESS, EXTERNAL = "None", "ExternalName"
FAMILIES = ("IPv4", "IPv6")
POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")
PLACE = "spec.clusterIPs"


def addresses_of(spec: Json) -> list[str]:
    """The cluster addresses; the first alone where only that is named."""
    first = spec.get("clusterIP")
    return list(spec.get("clusterIPs") or ([first] if first else []))


def in_step(spec: Json, before: Json) -> dict[str, Any]:
    """A changed spec with its addresses as its first one, where only that was changed."""
    same = spec.get("clusterIPs") == before.get("clusterIPs")
    if same and spec.get("clusterIP") != before.get("clusterIP"):
        return {**spec, "clusterIPs": [spec.get("clusterIP")]}
    return {**spec}


def cluster_addresses(spec: Json) -> Causes:
    """What is wrong with the addresses of a Service, their families, and how the two fit."""
    if spec.get("type") == EXTERNAL:
        return
    found = addresses_of(spec)
    yield from _first(spec, found)
    yield from _families(spec)
    unsound = list(_each(found))
    yield from unsound
    if len(found) > 2:
        yield invalid(PLACE, found, "may only hold up to 2 values")
    if unsound:
        return  # what is no address has no family
    if len(found) > 1 and not _of_each_family(found):
        yield invalid(PLACE, found, "may specify no more than one IP for each IP family")
    yield from _fitting(found, spec.get("ipFamilies") or ())


def _first(spec: Json, found: list[str]) -> Causes:
    first = spec.get("clusterIP")
    if first and found[0] != first:
        yield invalid(PLACE, found, "first value must match `clusterIP`")
    elif found and not first:
        yield invalid(PLACE, found, "must be empty when `clusterIP` is not specified")


def _families(spec: Json) -> Causes:
    seen: set[str] = set()
    for number, family in enumerate(spec.get("ipFamilies") or ()):
        if family not in FAMILIES:
            yield not_supported(f"spec.ipFamilies[{number}]", family, FAMILIES)
        if family in seen:
            yield duplicate(f"spec.ipFamilies[{number}]", family)
        seen.add(family)
    policy = spec.get("ipFamilyPolicy")
    if policy is not None and policy not in POLICIES:
        yield not_supported("spec.ipFamilyPolicy", policy, POLICIES)


def _each(found: list[str]) -> Causes:
    for number, each in enumerate(found):
        if number or each != HEADLESS:
            yield from each_invalid(f"{PLACE}[{number}]", each, address(each))
        elif len(found) > 1:
            yield invalid(PLACE, found, "'None' must be the first and only value")


def _of_each_family(found: list[str]) -> bool:
    return {ipaddress.ip_address(each).version for each in found} == {4, 6}


def _fitting(found: list[str], families: Sequence[str]) -> Causes:
    """Addresses are of the families that are named beside them."""
    for number, (each, family) in enumerate(zip(found, families, strict=False)):
        if each != HEADLESS and family in FAMILIES and f"IPv{ipaddress.ip_address(each).version}" != family:
            told = f"expected an {family} value as indicated by `ipFamilies[{number}]`"
            yield invalid(f"{PLACE}[{number}]", each, told)


def unaddressed(spec: Json) -> Causes:
    """What a name for something outside cannot have: addresses of the cluster."""
    told = "may not be set for ExternalName services"
    if addresses_of(spec):
        yield forbidden(PLACE, told)
    if spec.get("ipFamilies"):
        yield forbidden("spec.ipFamilies", told)
    if spec.get("ipFamilyPolicy") is not None:
        yield forbidden("spec.ipFamilyPolicy", told)
