"""What a fresh cluster holds before anybody writes to it."""

from __future__ import annotations

from typing import Any

from trimtab.apiserver.api import Api
from trimtab.apiserver.decoding import Body
from trimtab.apiserver.requests import Address, WriteOptions

NAMESPACES = ("kube-system", "kube-public", "kube-node-lease", "default")
SYSTEM = WriteOptions(manager="kube-apiserver")
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
    "metadata": {"name": "kubernetes", "labels": {"component": "apiserver", "provider": "kubernetes"}},
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
    """Make what every cluster has."""
    namespaces = Address(served=api.served("v1", "namespaces"))
    for name in NAMESPACES:
        api.create(namespaces, Body({"metadata": {"name": name}}), SYSTEM)
    priorities = Address(served=api.served("scheduling.k8s.io/v1", "priorityclasses"))
    for priority in PRIORITIES:
        api.create(priorities, Body(priority), SYSTEM)
    services = Address(served=api.served("v1", "services"), namespace="default")
    api.create(services, Body(SERVICE), SYSTEM)
