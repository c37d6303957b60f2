"""What is wrong with volumes, claims and storage classes, and what may not be changed in them."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from typing import Any

from trimtab.kube.quantity import parse_quantity
from trimtab.kube.schemas.inner import difference
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
from trimtab.kube.schemas.validation.claims import (
    POSITIVE,
    VOLUME_MODES,
    access_modes,
    amount_held,
    claim_spec,
    provisioner_name,
)
from trimtab.kube.schemas.validation.metadata import IMMUTABLE
from trimtab.kube.schemas.validation.names import dns_subdomain, qualified_name
from trimtab.kube.schemas.validation.scheduling import node_selector
from trimtab.kube.schemas.validation.sources import host_path

Json = Mapping[str, Any]
# Those fields of a PersistentVolume's spec that are no source of a volume.
NO_SOURCE = frozenset(
    {
        "accessModes",
        "capacity",
        "claimRef",
        "mountOptions",
        "nodeAffinity",
        "persistentVolumeReclaimPolicy",
        "storageClassName",
        "volumeAttributesClassName",
        "volumeMode",
    }
)


def claim(manifest: Json) -> Causes:
    """What is wrong with a PersistentVolumeClaim."""
    yield from claim_spec(part(manifest, "spec"), "spec")


CLAIM_CHANGES = (
    "spec is immutable after creation except resources.requests "
    "and volumeAttributesClassName for bound claims"
)


def claim_update(new: Json, old: Json) -> Causes:
    """What may not be changed in a claim: all but growing, once it is bound."""
    yield from claim(new)
    spec, before = part(new, "spec"), part(old, "spec")
    held, asked = dict(before), _growable(new, old)
    if not before.get("volumeName"):  # it may be bound once
        held["volumeName"] = spec.get("volumeName")
    if _plain(asked) != _plain(held):
        told = difference(held, asked, "PersistentVolumeClaimSpec")
        yield forbidden("spec", f"{CLAIM_CHANGES}\n{told}")
    yield from _shrunk(spec, before, part(old, "status"))
    if spec.get("volumeMode") != before.get("volumeMode"):
        yield invalid("volumeMode", spec.get("volumeMode"), IMMUTABLE)
    yield from _unattributed(spec, before, part(old, "status"))


def _unattributed(spec: Json, before: Json, status: Json) -> Causes:
    """A claim whose volume has attributes cannot do without a class of them."""
    wanted, had = (each.get("volumeAttributesClassName") for each in (spec, before))
    if wanted or wanted == had or status.get("currentVolumeAttributesClassName") is None:
        return
    lost = "nil" if wanted is None else "empty string"
    told = f"update to {lost} is forbidden when status.currentVolumeAttributesClassName is not nil"
    yield forbidden("spec.volumeAttributesClassName", told)


def _plain(spec: Json) -> dict[str, Any]:
    """The spec of a claim as it is compared: nothing is empty, and amounts are what they are worth."""
    resources = {
        side: {name: parse_quantity(amount).nanos for name, amount in amounts.items()}
        for side, amounts in part(spec, "resources").items()
        if amounts
    }
    plain = {**spec, "resources": resources, "accessModes": spec.get("accessModes") or None}
    return {name: value for name, value in plain.items() if value is not None}


def _growable(new: Json, old: Json) -> dict[str, Any]:
    """The spec of a claim with what may change as it was before."""
    spec, before = dict(part(new, "spec")), part(old, "spec")
    annotations = part(old, "metadata").get("annotations") or {}
    if (
        before.get("storageClassName") is None
        and "volume.beta.kubernetes.io/storage-class" not in annotations
    ):
        spec["storageClassName"] = None
    if part(new, "status").get("phase") != "Bound":
        return spec
    resources = part(spec, "resources")
    if resources.get("requests"):
        size = part(part(before, "resources"), "requests").get("storage")
        spec["resources"] = {**resources, "requests": {**resources["requests"], "storage": size}}
    spec["volumeAttributesClassName"] = before.get("volumeAttributesClassName")
    return spec


def _shrunk(spec: Json, before: Json, status: Json) -> Causes:
    asked, had = (
        parse_quantity(part(part(each, "resources"), "requests").get("storage", "0"))
        for each in (spec, before)
    )
    capacity = parse_quantity(part(status, "capacity").get("storage", "0"))
    if asked < had and asked <= capacity:
        told = "field can not be less than status.capacity"
        yield forbidden("spec.resources.requests.storage", told)


def volume(manifest: Json) -> Causes:
    """What is wrong with a PersistentVolume."""
    spec = part(manifest, "spec")
    modes = spec.get("accessModes") or []
    if not modes:
        yield required("spec.accessModes")
    yield from access_modes(modes, "spec")
    yield from _capacity(spec.get("capacity"))
    policy = spec.get("persistentVolumeReclaimPolicy")
    if policy not in ("Delete", "Recycle", "Retain"):
        yield not_supported("spec.persistentVolumeReclaimPolicy", policy, ("Delete", "Recycle", "Retain"))
    if (affinity := spec.get("nodeAffinity")) is not None:
        yield from _volume_affinity(affinity, "spec.nodeAffinity")
    yield from _volume_source(spec)
    if policy == "Recycle" and _is_root(part(spec, "hostPath").get("path", "")):
        told = "may not be 'recycle' for a hostPath mount of '/'"
        yield forbidden("spec.persistentVolumeReclaimPolicy", told)
    if name := spec.get("storageClassName"):
        yield from each_invalid("spec.storageClassName", name, dns_subdomain(name))
    if spec.get("volumeMode") not in VOLUME_MODES:
        yield not_supported("spec.volumeMode", spec.get("volumeMode"), VOLUME_MODES)
    yield from _volume_attributes(spec)


def _capacity(capacity: Any) -> Causes:
    if not capacity:
        yield required("spec.capacity")
    if set(capacity or {}) != {"storage"}:
        yield not_supported("spec.capacity", capacity, ("storage",))
    for name, amount in (capacity or {}).items():
        yield from amount_held(amount, f"spec.capacity[{name}]")
        if parse_quantity(amount).nanos <= 0:
            yield invalid(f"spec.capacity[{name}]", amount, POSITIVE)


def _is_root(path: str) -> bool:
    return path != "" and posixpath.normpath(path) in ("/", "//")


def _volume_affinity(affinity: Json, path: str) -> Causes:
    if affinity.get("required") is None:
        yield required(f"{path}.required", "must specify required node constraints")
    else:
        yield from node_selector(affinity["required"], f"{path}.required")


def _volume_attributes(spec: Json) -> Causes:
    """The class of a volume's attributes, which only drivers know what to do with."""
    name, path = spec.get("volumeAttributesClassName"), "spec.volumeAttributesClassName"
    if name is None:
        return
    if not name:
        yield required(path, "an empty string is disallowed")
    else:
        yield from each_invalid(path, name, dns_subdomain(name))
    if spec.get("csi") is None:
        yield required("spec.csi", "has to be specified when using volumeAttributesClassName")


def _volume_source(spec: Json) -> Causes:
    given = sorted((name for name in spec if name not in NO_SOURCE), key=lambda name: name != "hostPath")
    if not given:
        yield required("spec", "must specify a volume type")
    if "hostPath" in spec:
        yield from host_path(spec["hostPath"], "spec.hostPath")
    for name in given[1:]:
        yield forbidden(f"spec.{name}", "may not specify more than 1 volume type")


def volume_update(new: Json, old: Json) -> Causes:
    """What may not be changed in a PersistentVolume: where its data is."""
    spec, before = part(new, "spec"), part(old, "spec")
    sources = [
        {name: value for name, value in each.items() if name not in NO_SOURCE} for each in (spec, before)
    ]
    if sources[0] != sources[1]:
        told = "spec.persistentvolumesource is immutable after creation"
        changed = difference(sources[1], sources[0], "PersistentVolumeSource")
        yield forbidden("spec.persistentvolumesource", f"{told}\n{changed}")
    if spec.get("volumeMode") != before.get("volumeMode"):
        yield invalid("volumeMode", spec.get("volumeMode"), IMMUTABLE)


def storage_class(manifest: Json) -> Causes:
    """What is wrong with a StorageClass."""
    yield from provisioner_name(manifest.get("provisioner", ""), "provisioner")
    if "" in (manifest.get("parameters") or {}):
        yield invalid("parameters", "", "field can not be empty.")
    for name, allowed in (
        ("reclaimPolicy", ("Delete", "Retain")),
        ("volumeBindingMode", ("Immediate", "WaitForFirstConsumer")),
    ):
        if manifest.get(name) not in allowed:
            yield not_supported(name, manifest.get(name), allowed)
    yield from _topologies(manifest.get("allowedTopologies"))


def _topologies(given: Any) -> Causes:
    """What is wrong with where volumes may be made.

    The server compares each term with as many empty ones as there are terms, too.
    """
    terms = [term for _, term in entries(given)]
    known: list[dict[str, set[str]]] = [{} for _ in terms]
    for number, term in enumerate(terms):
        path = f"allowedTopologies[{number}].matchLabelExpressions"
        meant: dict[str, set[str]] = {}
        for place, each in entries(term.get("matchLabelExpressions")):
            key, values = each.get("key", ""), each.get("values") or []
            yield from _topology(key, values, f"{path}[{place}]")
            if key in meant:
                yield duplicate(f"{path}[{place}].key", key)
            meant[key] = {*values}
        yield from (duplicate(path, "") for each in known if each == meant)
        known.append(meant)


def _topology(key: str, values: Sequence[str], path: str) -> Causes:
    if not values:
        yield required(f"{path}.values")
    for number, value in enumerate(values):
        if value in values[:number]:
            yield duplicate(f"{path}.values[{number}]", value)
    yield from each_invalid(f"{path}.key", key, qualified_name(key))


def storage_class_update(new: Json, old: Json) -> Causes:
    """What may not be changed in a StorageClass."""
    for name in ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"):
        if new.get(name) != old.get(name):
            yield invalid(name, new.get(name), IMMUTABLE)
