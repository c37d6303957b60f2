"""Made-up objects by the million, as a server would tell them: few shapes, every object its own. Pure.

Of ten objects six are Pods, two Deployments and two ConfigMaps, all with managedFields. Deployments and
ConfigMaps carry the marks of units of about a thousand objects; Pods belong to ReplicaSets.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from bench.caches import INSTALLATION, OUR_MARK, UNITS
from bench.client import CONFIG_MAPS, PODS
from bench.shapes import config_map, deployment, owned_by, pod, pod_status, workload_status
from trimtab.engine.cache.index import Scope
from trimtab.kube.discovery import Resource
from trimtab.kube.objects import KubeObject, object_from

DEPLOYMENTS = Resource(group="apps", version="v1", kind="Deployment", plural="deployments", namespaced=True)
SCOPES = {resource: Scope(resource.group, resource.kind) for resource in (CONFIG_MAPS, PODS, DEPLOYMENTS)}
MIX = (PODS, PODS, PODS, DEPLOYMENTS, CONFIG_MAPS)
SHAPES = 200
NAMESPACES = 500
_PAGE = 500


def synthetic_pages(count: int) -> Iterator[tuple[Resource, list[KubeObject]]]:
    """So many objects, by kind and page."""
    shapes = {resource: [_shape(resource, number) for number in range(SHAPES)] for resource in SCOPES}
    units = max(count // 1000, UNITS)
    for begin in range(0, count, _PAGE * len(MIX)):
        for place, resource in enumerate(MIX):
            numbers = range(begin + place * _PAGE, min(begin + (place + 1) * _PAGE, count))
            yield resource, [_told(resource, shapes[resource], number, units) for number in numbers]


def _told(resource: Resource, shapes: list[bytes], number: int, units: int) -> KubeObject:
    """One object: a shape with names of its own in the places of the shape's."""
    raw = (
        shapes[number % SHAPES]
        .replace(b"@NAME@", b"%s-%08d" % (resource.plural.encode(), number))
        .replace(b"@UID@", b"%08x-5a5a-4b4b-8c8c-%012x" % (number, number * 7919))
        .replace(b"@OWNER@", b"%08x-6a6a-4b4b-8c8c-%012x" % (number // 2, number // 2))
        .replace(b"@SPACE@", b"space-%03d" % (number % NAMESPACES))
        .replace(b"@UNIT@", b"unit-%05d" % (number % units))
        .replace(b"@VERSION@", b"%d" % (10_000_000 + number))
    )
    return object_from(raw, api_version=resource.api_version, kind=resource.kind)


def _shape(resource: Resource, number: int) -> bytes:
    whole = _whole(resource, number)
    metadata: dict[str, Any] = {
        **whole["metadata"],
        "name": "@NAME@",
        "namespace": "@SPACE@",
        "uid": "@UID@",
        "resourceVersion": "@VERSION@",
        "creationTimestamp": "2024-05-01T10:00:00Z",
        "managedFields": [
            {
                "manager": "trimtab",
                "operation": "Apply",
                "apiVersion": resource.api_version,
                "time": "2024-05-01T10:00:00Z",
                "fieldsType": "FieldsV1",
                "fieldsV1": _owned({name: whole[name] for name in ("spec", "data") if name in whole}),
            }
        ],
    }
    if resource is PODS:
        metadata["ownerReferences"] = [owned_by("ReplicaSet", "apps/v1", "@SPACE@-set", "@OWNER@")]
    else:
        metadata["annotations"] = {OUR_MARK: f"{INSTALLATION}/@UNIT@"}
    return msgspec.json.encode({**whole, "metadata": metadata})


def _whole(resource: Resource, number: int) -> dict[str, Any]:
    if resource is PODS:
        return {**pod(number), **pod_status(number)}
    if resource is DEPLOYMENTS:
        return {**deployment(number), **workload_status()}
    return config_map(number)


def _owned(value: Any) -> Any:
    """The fields of a value as managedFields tell them."""
    if isinstance(value, dict):
        return {f"f:{name}": _owned(item) for name, item in value.items()}
    return {}
