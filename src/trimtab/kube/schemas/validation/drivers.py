"""What is wrong with drivers of storage, what they attach, and what they can hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trimtab.kube.gotext import Shown
from trimtab.kube.quantity import parse_quantity
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
    too_long,
)
from trimtab.kube.schemas.validation.claims import provisioner_name
from trimtab.kube.schemas.validation.metadata import IMMUTABLE
from trimtab.kube.schemas.validation.names import at_least_zero, dns_subdomain, qualified_name
from trimtab.kube.schemas.validation.selectors import label_selector
from trimtab.kube.schemas.validation.sources import LONGEST_TOKEN, SHORTEST_TOKEN, driver_name

Json = Mapping[str, Any]
LIVES = ("Persistent", "Ephemeral")
GROUP_POLICIES = ("File", "None", "ReadWriteOnceWithFSType")
#: what stays as it is, and how it is called where that is told
FIXED = {"attachRequired": "attachedRequired", "volumeLifecycleModes": "volumeLifecycleModes"}
LONGEST_ID = 192
ONE_SOURCE = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"


def driver(manifest: Json) -> Causes:
    """What is wrong with a CSIDriver."""
    spec = part(manifest, "spec")
    for name in ("attachRequired", "podInfoOnMount", "storageCapacity"):
        if spec.get(name) is None:
            yield required(f"spec.{name}")
    policy = spec.get("fsGroupPolicy")
    if policy is None:
        yield required("spec.fsGroupPolicy")
    elif policy not in GROUP_POLICIES:
        yield not_supported("spec.fsGroupPolicy", policy, GROUP_POLICIES)
    yield from _tokens(spec.get("tokenRequests"))
    for _, life in entries(spec.get("volumeLifecycleModes")):
        if life not in LIVES:
            yield not_supported("spec.volumeLifecycleModes", life, LIVES)


def _tokens(requests: Any) -> Causes:
    seen: set[str] = set()
    for number, request in entries(requests):
        path = f"spec.tokenRequests[{number}]"
        audience, seconds = request.get("audience", ""), request.get("expirationSeconds")
        if audience in seen:
            yield duplicate(f"{path}.audience", audience)
        seen.add(audience)
        if seconds is not None and seconds < SHORTEST_TOKEN:
            told = "may not specify a duration less than 10 minutes"
            yield invalid(f"{path}.expirationSeconds", seconds, told)
        if seconds is not None and seconds > LONGEST_TOKEN:
            told = "may not specify a duration larger than 2^32 seconds"
            yield invalid(f"{path}.expirationSeconds", seconds, told)


def driver_update(new: Json, old: Json) -> Causes:
    """What may not be changed in a CSIDriver."""
    spec, before = part(new, "spec"), part(old, "spec")
    for name, called in FIXED.items():
        if spec.get(name) != before.get(name):
            yield invalid(f"spec.{called}", spec.get(name), IMMUTABLE)


def driver_node(manifest: Json) -> Causes:
    """What is wrong with a CSINode: the drivers that a node has."""
    seen: set[str] = set()
    for number, each in entries(part(manifest, "spec").get("drivers")):
        path, name = f"spec.drivers[{number}]", each.get("name", "")
        yield from driver_name(name, f"{path}.name")
        if not each.get("nodeID"):
            yield required(f"{path}.nodeID")
        elif len(each["nodeID"]) > LONGEST_ID:
            yield too_long(f"{path}.nodeID", LONGEST_ID)
        yield from at_least_zero(part(each, "allocatable").get("count"), f"{path}.allocatable.count")
        keys: set[str] = set()
        for key in each.get("topologyKeys") or ():
            if key in keys:
                yield duplicate(path, key)
            keys.add(key)
            yield from each_invalid(path, key, qualified_name(key))
        if name in seen:
            yield duplicate(f"{path}.name", name)
        seen.add(name)


def driver_node_update(new: Json, old: Json) -> Causes:
    """What may not be changed in a CSINode: a driver that stays, stays as it is."""
    had = {each.get("name", ""): each for _, each in entries(part(old, "spec").get("drivers"))}
    for _, each in entries(part(new, "spec").get("drivers")):
        before = had.get(each.get("name", ""))
        if before is not None and {**each, "allocatable": None} != {**before, "allocatable": None}:
            shown = Shown((above, each.get(here)) for above, here in DRIVER.items())
            yield invalid("spec.drivers", shown, IMMUTABLE)


#: a driver of a node, and a volume that is attached, as the server holds them: names there and here
DRIVER = {"Name": "name", "NodeID": "nodeID", "TopologyKeys": "topologyKeys", "Allocatable": "allocatable"}
SOURCE = {"PersistentVolumeName": "persistentVolumeName", "InlineVolumeSpec": "inlineVolumeSpec"}


def capacity(manifest: Json) -> Causes:
    """What is wrong with a CSIStorageCapacity."""
    yield from label_selector(manifest.get("nodeTopology"), "nodeTopology")
    name = manifest.get("storageClassName", "")
    yield from each_invalid("storageClassName", name, dns_subdomain(name))
    amount = manifest.get("capacity")
    if amount is not None and parse_quantity(amount).nanos < 0:
        yield invalid("capacity", amount, "must be greater than or equal to 0")


def capacity_update(new: Json, old: Json) -> Causes:
    """What may not be changed in a CSIStorageCapacity."""
    for name in ("nodeTopology", "storageClassName"):
        if new.get(name) != old.get(name):
            yield invalid(name, new.get(name), IMMUTABLE)


def attachment(manifest: Json) -> Causes:
    """What is wrong with a VolumeAttachment."""
    spec = part(manifest, "spec")
    yield from driver_name(spec.get("attacher", ""), "spec.attacher")
    source = part(spec, "source")
    volume, inline = source.get("persistentVolumeName"), source.get("inlineVolumeSpec")
    if volume is None and inline is None:
        yield required("spec.source", ONE_SOURCE)
    elif volume is not None and inline is not None:
        yield forbidden("spec.source", ONE_SOURCE)
    elif volume is not None and not volume:
        yield required("spec.source.persistentVolumeName", "must specify non empty persistentVolumeName")
    name = spec.get("nodeName", "")
    yield from each_invalid("spec.nodeName", name, dns_subdomain(name))
    if volume and inline is None:
        yield from each_invalid("spec.source.persistentVolumeName", volume, dns_subdomain(volume))


def attachment_update(new: Json, old: Json) -> Causes:
    """What may not be changed in a VolumeAttachment: all that is asked."""
    spec = part(new, "spec")
    if spec != part(old, "spec"):
        source = Shown((above, part(spec, "source").get(here)) for above, here in SOURCE.items())
        held = {"Attacher": spec.get("attacher", ""), "Source": source, "NodeName": spec.get("nodeName", "")}
        yield invalid("spec", Shown(held.items()), IMMUTABLE)


def attributes_class(manifest: Json) -> Causes:
    """What is wrong with a VolumeAttributesClass."""
    yield from provisioner_name(manifest.get("driverName", ""), "driverName")
    parameters = manifest.get("parameters") or {}
    if not parameters:
        yield required("parameters", "must contain at least one key/value pair")
    if "" in parameters:
        yield invalid("parameters", "", "field can not be empty.")


def attributes_class_update(new: Json, old: Json) -> Causes:
    """What may not be changed in a VolumeAttributesClass."""
    for name in ("driverName", "parameters"):
        if new.get(name) != old.get(name):
            yield forbidden(name, f"updates to {name} are forbidden.")
    yield from attributes_class(new)
