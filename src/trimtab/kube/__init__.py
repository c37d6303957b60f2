"""Kubernetes: speaking to it, and knowing its objects.

    access = from_kubeconfig([Path("~/.kube/config").expanduser()], ...)
    async with connect(access) as cluster:
        pods = (await cluster.discover()).preferred("", "Pod")
        async for news in follow(cluster, pods, namespace="shop"):
            ...

Doers come from here; values and pure functions from their own modules: `cluster` (the protocol and its
options), `objects`, `discovery`, `failures`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from trimtab.kube.auth import Access, Impersonation, from_kubeconfig, from_tenant_kubeconfig, in_cluster
    from trimtab.kube.cluster import Cluster
    from trimtab.kube.http import HttpCluster, connect
    from trimtab.kube.leases import Lease
    from trimtab.kube.watch import follow

__all__ = [
    "Access",
    "Cluster",
    "HttpCluster",
    "Impersonation",
    "Lease",
    "connect",
    "follow",
    "from_kubeconfig",
    "from_tenant_kubeconfig",
    "in_cluster",
]

#: where each name is at home
_HOMES: Final = {
    "Access": "trimtab.kube.auth",
    "Cluster": "trimtab.kube.cluster",
    "HttpCluster": "trimtab.kube.http",
    "Impersonation": "trimtab.kube.auth",
    "Lease": "trimtab.kube.leases",
    "connect": "trimtab.kube.http",
    "follow": "trimtab.kube.watch",
    "from_kubeconfig": "trimtab.kube.auth",
    "from_tenant_kubeconfig": "trimtab.kube.auth",
    "in_cluster": "trimtab.kube.auth",
}

if not TYPE_CHECKING:  # so that the imports above stay what the names are checked against

    def __getattr__(name: str) -> object:
        """A name of the door, loaded when it is first asked for: pure modules need none of it."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(_HOMES[name]), name)
