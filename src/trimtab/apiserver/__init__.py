"""The embedded cluster: a Kubernetes API in memory that clients cannot tell from the real one.

    cluster = MemoryCluster()                      the `Cluster` protocol, in process
    async with serve(cluster.api) as server: ...   the same over HTTPS on loopback

Doers come from here. The store publishes every change to its subscribers in order
(`cluster.api.store.subscribe`): that is where behaviours stand.
"""

from trimtab.doors import opened_when_asked

TYPE_CHECKING = False  # as `typing` has it, which takes longer to import than all that is done here
if TYPE_CHECKING:
    from trimtab.apiserver.api import Api
    from trimtab.apiserver.memory import MemoryCluster
    from trimtab.apiserver.serving import kubeconfig, serve
else:  # whoever starts or finds a cluster in another process needs none of it
    __getattr__ = opened_when_asked(
        __name__, {"api": ("Api",), "memory": ("MemoryCluster",), "serving": ("kubeconfig", "serve")}
    )

__all__ = ["Api", "MemoryCluster", "kubeconfig", "serve"]
