"""Small stand-ins for Kubernetes' controllers, scheduler and kubelets: what makes rollouts become ready.

    async with behaviours_of(cluster, clock=clock, timing=Timing()) as behaviours:
        await cluster.create(deployments, manifest, namespace="shop")
        await behaviours.settled()

Each behaviour decides in a pure module; `run` alone reads and writes. They run on anything that speaks the
`Cluster` protocol.
"""

from trimtab.apiserver.behaviours.run import Behaviours, behaviours_of
from trimtab.apiserver.behaviours.timing import Timing

__all__ = ["Behaviours", "Timing", "behaviours_of"]
