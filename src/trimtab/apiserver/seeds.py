"""What a fresh cluster holds before anybody writes to it."""

from __future__ import annotations

import uuid
from typing import Any

from trimtab.apiserver.api import Api
from trimtab.apiserver.catalog import Served
from trimtab.apiserver.requests import Address
from trimtab.apiserver.writing import new_object

NAMESPACES = ("kube-system", "kube-public", "kube-node-lease", "default")
MANAGER = "kube-apiserver"
PRIORITIES: tuple[dict[str, Any], ...] = (
    {
        "metadata": {"name": "system-node-critical"},
        "value": 2000001000,
        "description": "Used for system critical pods that must not be moved from their current node.",
    },
    {
        "metadata": {"name": "system-cluster-critical"},
        "value": 2000000000,
        "description": "Used for system critical pods that must run in the cluster, but can be moved to "
        "another node if necessary.",
    },
)
SERVICE: dict[str, Any] = {
    "metadata": {
        "name": "kubernetes",
        "namespace": "default",
        "labels": {"component": "apiserver", "provider": "kubernetes"},
    },
    "spec": {
        "clusterIP": "10.96.0.1",
        "clusterIPs": ["10.96.0.1"],
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
        "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}],
        "type": "ClusterIP",
    },
}


def seed(api: Api) -> None:
    """Make what every cluster has; these objects are the server's own, so nobody judges them."""
    for name in NAMESPACES:
        _plant(api, api.served("v1", "namespaces"), {"metadata": {"name": name}})
    for priority in PRIORITIES:
        _plant(api, api.served("scheduling.k8s.io/v1", "priorityclasses"), priority)
    _plant(api, api.served("v1", "services"), SERVICE)


def _plant(api: Api, served: Served, manifest: dict[str, Any]) -> None:
    typed = {"apiVersion": served.api_version, "kind": served.kind, **manifest}
    new = new_object(
        typed,
        Address(served=served),
        manager=MANAGER,
        versions=api.catalog.versions(served.group),
        uid=str(uuid.uuid4()),
        now=api.clock.now(),
    )
    metadata = new["metadata"]
    api.store.put(served.collection, f"{metadata.get('namespace', '')}/{metadata['name']}", new)
