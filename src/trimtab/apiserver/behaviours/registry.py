"""Every behaviour there is. Pure."""

from __future__ import annotations

from trimtab.apiserver.behaviours.changes import Behaviour
from trimtab.apiserver.behaviours.cronjobs import CRON_JOBS
from trimtab.apiserver.behaviours.daemonsets import DAEMON_SETS
from trimtab.apiserver.behaviours.deployments import DEPLOYMENTS
from trimtab.apiserver.behaviours.disruptions import DISRUPTIONS
from trimtab.apiserver.behaviours.endpoints import SERVICES
from trimtab.apiserver.behaviours.expiry import EXPIRY
from trimtab.apiserver.behaviours.garbage import GARBAGE
from trimtab.apiserver.behaviours.jobs import JOBS
from trimtab.apiserver.behaviours.namespaces import namespaces_with
from trimtab.apiserver.behaviours.nodes import NODES
from trimtab.apiserver.behaviours.placement import SCHEDULER
from trimtab.apiserver.behaviours.pods import KUBELET
from trimtab.apiserver.behaviours.replicasets import REPLICA_SETS, REPLICATION_CONTROLLERS
from trimtab.apiserver.behaviours.statefulsets import STATEFUL_SETS
from trimtab.apiserver.behaviours.strays import STRAYS
from trimtab.apiserver.behaviours.taints import TAINTS
from trimtab.apiserver.behaviours.volumes import CLAIMS, CLASSES, VOLUMES


def every_behaviour(root_ca: str = "") -> tuple[Behaviour, ...]:
    """All behaviours; pods trust this certificate authority."""
    return (
        NODES,
        TAINTS,
        CLASSES,
        DEPLOYMENTS,
        REPLICA_SETS,
        REPLICATION_CONTROLLERS,
        STATEFUL_SETS,
        DAEMON_SETS,
        CRON_JOBS,
        JOBS,
        SERVICES,
        DISRUPTIONS,
        CLAIMS,
        VOLUMES,
        SCHEDULER,
        KUBELET,
        STRAYS,
        EXPIRY,
        # Whoever counts what is going looks before it is gone.
        GARBAGE,
        namespaces_with(root_ca),
    )
