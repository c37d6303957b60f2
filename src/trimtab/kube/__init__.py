"""Kubernetes: speaking to it, and knowing its objects.

    access = from_kubeconfig([Path("~/.kube/config").expanduser()], ...)
    async with connect(access) as cluster:
        pods = (await cluster.discover()).preferred("", "Pod")
        async for news in follow(cluster, pods, namespace="shop"):
            ...

Doers come from here; values and pure functions from their own modules: `cluster` (the protocol and its
options), `objects`, `discovery`, `failures`.
"""

from typing import TYPE_CHECKING

from trimtab.doors import opened_when_asked

if TYPE_CHECKING:
    from trimtab.kube.auth import Access, Impersonation, from_kubeconfig, from_tenant_kubeconfig, in_cluster
    from trimtab.kube.cluster import Cluster
    from trimtab.kube.http import HttpCluster, connect
    from trimtab.kube.leases import Lease
    from trimtab.kube.watch import follow
else:
    __getattr__ = opened_when_asked(
        __name__,
        {
            "auth": ("Access", "Impersonation", "from_kubeconfig", "from_tenant_kubeconfig", "in_cluster"),
            "cluster": ("Cluster",),
            "http": ("HttpCluster", "connect"),
            "leases": ("Lease",),
            "watch": ("follow",),
        },
    )

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
