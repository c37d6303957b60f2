"""What is wrong with the spec of a claim of storage, wherever it stands: in a claim, a template, a pod."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trimtab.kube.quantity import parse_quantity
from trimtab.kube.schemas.validation.causes import (
    Causes,
    each_invalid,
    forbidden,
    invalid,
    not_supported,
    part,
    required,
)
from trimtab.kube.schemas.validation.names import dns_label, dns_subdomain, qualified_name
from trimtab.kube.schemas.validation.selectors import label_selector

Json = Mapping[str, Any]
ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES = ("Block", "Filesystem")
POSITIVE = "must be greater than zero"
SOURCE = ("apiGroup", "kind", "name")


def claim_spec(spec: Json, path: str) -> Causes:
    """What is wrong with the spec of a claim, or of a claim's template."""
    if not spec.get("accessModes"):
        yield required(f"{path}.accessModes", "at least 1 access mode is required")
    yield from label_selector(spec.get("selector"), f"{path}.selector")
    modes = spec.get("accessModes") or []
    yield from access_modes(modes, path)
    requests = part(spec, "resources").get("requests") or {}
    if "storage" not in requests:
        yield required(f"{path}.resources[storage]")
    else:
        amount = parse_quantity(requests["storage"])
        if amount.nanos <= 0:
            yield invalid(f"{path}.resources[storage]", str(amount), POSITIVE)
    name = spec.get("storageClassName")
    if name:
        yield from each_invalid(f"{path}.storageClassName", name, dns_subdomain(name))
    mode = spec.get("volumeMode")
    if mode is not None and mode not in VOLUME_MODES:
        yield not_supported(f"{path}.volumeMode", mode, VOLUME_MODES)
    yield from _data_sources(spec, path)
    if attributes := spec.get("volumeAttributesClassName"):
        yield from each_invalid(f"{path}.volumeAttributesClassName", attributes, dns_subdomain(attributes))


def _data_sources(spec: Json, path: str) -> Causes:
    """What is wrong with what a volume is filled from: two fields that say the same."""
    old, new = spec.get("dataSource"), spec.get("dataSourceRef")
    for source, name in ((old, "dataSource"), (new, "dataSourceRef")):
        if source is not None:
            yield from _data_source(source, f"{path}.{name}")
    if old is None or new is None:
        return
    if new.get("namespace"):
        yield invalid(path, {}, "may not be specified when dataSourceRef.namespace is specified")
    elif any(old.get(each) != new.get(each) for each in SOURCE):
        yield invalid(path, {}, "must match dataSourceRef")


def _data_source(source: Json, path: str) -> Causes:
    group = source.get("apiGroup") or ""
    for name in ("name", "kind"):
        if not source.get(name):
            yield required(f"{path}.{name}")
    if not group and source.get("kind") != "PersistentVolumeClaim":
        told = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        yield invalid(path, source.get("kind", ""), told)
    if group:
        yield from each_invalid(f"{path}.apiGroup", group, dns_subdomain(group))
    if namespace := source.get("namespace"):
        yield from each_invalid(f"{path}.namespace", namespace, dns_label(namespace))


def provisioner_name(name: str, path: str) -> Causes:
    """What is wrong with the name of whoever makes or changes volumes."""
    if not name:
        yield required(path)
    else:
        yield from each_invalid(path, name.lower(), qualified_name(name.lower()))


def access_modes(modes: list[str], path: str) -> Causes:
    """What is wrong with the ways in which a volume may be used."""
    for mode in modes:
        if mode not in ACCESS_MODES:
            yield not_supported(f"{path}.accessModes", mode, ACCESS_MODES)
    if "ReadWriteOncePod" in modes and {*ACCESS_MODES[:3]} & {*modes}:
        yield forbidden(f"{path}.accessModes", "may not use ReadWriteOncePod with other access modes")


def amount_held(amount: str, path: str) -> Causes:
    """What is wrong with an amount that is said to be there: of one below nothing, whole units are told."""
    whole = parse_quantity(amount).nanos // 10**9
    if whole < 0:
        yield invalid(path, whole, "must be a valid resource quantity")
