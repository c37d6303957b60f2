"""Small stand-ins for Kubernetes' controllers, scheduler and kubelets: what makes rollouts become ready.

    async with behaviours_of(cluster, clock=clock, timing=Timing()) as behaviours:
        await cluster.create(deployments, manifest, namespace="shop")
        await behaviours.settled()

Each behaviour decides in a pure module; `run` alone reads and writes. They run on anything that speaks the
`Cluster` protocol.
"""

from typing import TYPE_CHECKING

from trimtab.doors import opened_when_asked

if TYPE_CHECKING:
    from trimtab.apiserver.behaviours.run import Behaviours, behaviours_of
    from trimtab.apiserver.behaviours.timing import Timing
else:  # the server itself needs single modules of this room, and may run without the others
    __getattr__ = opened_when_asked(__name__, {"run": ("Behaviours", "behaviours_of"), "timing": ("Timing",)})

__all__ = ["Behaviours", "Timing", "behaviours_of"]
