"""What is wrong with references: to other objects, to fields of a pod, to resources of its containers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trimtab.kube.schemas.validation.causes import Causes, each_invalid, invalid, not_supported, required
from trimtab.kube.schemas.validation.names import path_segment, qualified_name

Json = Mapping[str, Any]
#: what variables may tell of a pod, and what files may
POD_FIELDS = frozenset(
    {
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.nodeName",
        "spec.serviceAccountName",
        "status.hostIP",
        "status.hostIPs",
        "status.podIP",
        "status.podIPs",
    }
)
FILE_FIELDS = frozenset(
    {"metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"}
)
KNOWN_FIELDS = POD_FIELDS | FILE_FIELDS | {"spec.restartPolicy", "spec.schedulerName", "status.phase"}
RESOURCE_FIELDS = tuple(
    f"{side}.{name}" for side in ("limits", "requests") for name in ("cpu", "ephemeral-storage", "memory")
)


def kind_and_name(reference: Json, path: str) -> Causes:
    """What is wrong with the kind and the name of another object; both have to be there."""
    for name in ("kind", "name"):
        text, place = reference.get(name, ""), f"{path}.{name}"
        yield from each_invalid(place, text, path_segment(text)) if text else iter([required(place)])


def pod_field(reference: Json, path: str, *, in_volume: bool = False) -> Causes:
    """What is wrong with a reference to a field of the pod."""
    field, allowed = reference.get("fieldPath", ""), FILE_FIELDS if in_volume else POD_FIELDS
    whole, bracket, rest = field.partition("['")
    if not field:
        yield required(f"{path}.fieldPath")
    elif bracket and rest.endswith("']") and whole in ("metadata.labels", "metadata.annotations"):
        key = rest[:-2] if whole == "metadata.labels" else rest[:-2].lower()
        yield from each_invalid(path, key, qualified_name(key))
    elif field not in KNOWN_FIELDS:
        told = f"error converting fieldPath: field label not supported: {field}"
        yield invalid(f"{path}.fieldPath", field, told)
    elif field not in allowed:
        yield not_supported(f"{path}.fieldPath", field, sorted(allowed))


def container_resource(reference: Json, path: str, *, in_volume: bool = False) -> Causes:
    """What is wrong with a reference to what a container may use."""
    name = reference.get("resource", "")
    if in_volume and not reference.get("containerName"):
        yield required(f"{path}.containerName")
    elif not name:
        yield required(f"{path}.resource")
    elif name not in RESOURCE_FIELDS and not name.startswith(("limits.hugepages-", "requests.hugepages-")):
        yield not_supported(f"{path}.resource", name, RESOURCE_FIELDS)
