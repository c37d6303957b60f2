"""The embedded cluster: a Kubernetes API in memory that clients cannot tell from the real one.

    cluster = MemoryCluster()                      the `Cluster` protocol, in process
    async with serve(cluster.api) as server: ...   the same over HTTPS on loopback

Doers come from here. The store publishes every change to its subscribers in order
(`cluster.api.store.subscribe`): that is where behaviours stand.
"""

from trimtab.apiserver.api import Api
from trimtab.apiserver.memory import MemoryCluster
from trimtab.apiserver.serve import kubeconfig, serve

__all__ = ["Api", "MemoryCluster", "kubeconfig", "serve"]
