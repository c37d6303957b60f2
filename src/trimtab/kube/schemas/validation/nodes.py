"""What is wrong with nodes and with the classes of what runs containers on them."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from trimtab.kube.gotext import Shown
from trimtab.kube.schemas.validation.causes import (
    Causes,
    duplicate,
    each_invalid,
    entries,
    forbidden,
    invalid,
    not_supported,
    part,
    required,
)
from trimtab.kube.schemas.validation.metadata import IMMUTABLE
from trimtab.kube.schemas.validation.names import (
    address_range,
    dns_label,
    label_causes,
    label_value,
    qualified_name,
)
from trimtab.kube.schemas.validation.pods import TAINT_EFFECTS, toleration
from trimtab.kube.schemas.validation.resources import quantity_of, requirements

Json = Mapping[str, Any]
TWICE = "taints must be unique by key and effect pair"


def node(manifest: Json) -> Causes:
    """What is wrong with a Node."""
    ranges = part(manifest, "spec").get("podCIDRs") or []
    yield from _taints(manifest)
    yield from _amounts(manifest)
    for number, each in enumerate(ranges):
        yield from each_invalid(f"spec.podCIDRs[{number}]", each, address_range(each))
    if len(ranges) > 1 and not is_one_per_family(ranges):
        told = "may specify no more than one CIDR for each IP family"
        yield invalid("spec.podCIDRs", ranges, told)


def is_one_per_family(ranges: Sequence[str]) -> bool:
    """Whether two ranges of addresses are one for IPv4 and one for IPv6."""
    try:
        versions = [ipaddress.ip_network(each, strict=False).version for each in ranges]
    except ValueError:
        return False
    return sorted(versions) == [4, 6]


def _taints(manifest: Json) -> Causes:
    seen: set[tuple[str, str]] = set()
    for number, taint in entries(part(manifest, "spec").get("taints")):
        place = f"metadata.taints[{number}]"
        key, value, effect = (taint.get(name, "") for name in ("key", "value", "effect"))
        yield from each_invalid(f"{place}.key", key, qualified_name(key))
        wrong = label_value(value)
        yield from each_invalid(f"{place}.value", value, (";".join(wrong),) if wrong else ())
        if not effect:
            yield required(f"{place}.effect")
        elif effect not in TAINT_EFFECTS:
            yield not_supported(f"{place}.effect", effect, TAINT_EFFECTS)
        if (key, effect) in seen:
            shown = Shown(
                (("Key", key), ("Value", value), ("Effect", effect), ("TimeAdded", taint.get("timeAdded")))
            )
            again = duplicate(place, shown)
            yield replace(again, message=f"{again.message}: {TWICE}")
        seen.add((key, effect))


def _amounts(manifest: Json) -> Causes:
    for field in ("capacity", "allocatable"):
        for name, amount in part(part(manifest, "status"), field).items():
            yield from quantity_of(name, amount, f"status.{field}.{name}")


def node_update(new: Json, old: Json) -> Causes:
    """What may not be changed in a Node, and what is wrong with it after a change."""
    yield from _amounts(new)
    yield from _addresses(new)
    spec, before = part(new, "spec"), part(old, "spec")
    ranges, had = spec.get("podCIDRs") or [], before.get("podCIDRs") or []
    changes = sum(map(str.__ne__, had, ranges)) if len(had) == len(ranges) else bool(had)
    for _ in range(changes):
        yield forbidden("spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid')
    if before.get("providerID") and before["providerID"] != spec.get("providerID"):
        yield forbidden("spec.providerID", 'node updates may not change providerID except from "" to valid')
    yield from _taints(new)


def _addresses(manifest: Json) -> Causes:
    seen: list[Json] = []
    for number, address in entries(part(manifest, "status").get("addresses")):
        if address in seen:
            shown = Shown((("Type", address.get("type", "")), ("Address", address.get("address", ""))))
            yield duplicate(f"status.addresses[{number}]", shown)
        seen.append(address)


def runtime_class(manifest: Json) -> Causes:
    """What is wrong with a RuntimeClass."""
    handler, scheduling = manifest.get("handler", ""), part(manifest, "scheduling")
    if not handler:
        yield required("handler")
    else:
        yield from each_invalid("handler", handler, dns_label(handler))
    yield from requirements({"limits": part(manifest, "overhead").get("podFixed")}, "overhead")
    yield from label_causes(scheduling.get("nodeSelector"), "scheduling.nodeSelector")
    seen: list[Json] = []
    for number, each in entries(scheduling.get("tolerations")):
        place = f"scheduling.tolerations[{number}]"
        yield from toleration(each, place)
        if each in seen:
            yield duplicate(place, _held(each))
        seen.append(each)


def _held(given: Json) -> Shown:
    """A toleration as the server holds it."""
    texts = ((name.capitalize(), given.get(name, "")) for name in ("key", "operator", "value", "effect"))
    return Shown((*texts, ("TolerationSeconds", given.get("tolerationSeconds"))))


def runtime_class_update(new: Json, old: Json) -> Causes:
    """What may not be changed in a RuntimeClass."""
    if new.get("handler") != old.get("handler"):
        yield invalid("handler", new.get("handler", ""), IMMUTABLE)
