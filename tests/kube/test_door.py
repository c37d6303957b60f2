"""What the room offers to others."""

from __future__ import annotations

from trimtab import kube


def test_the_door_offers_exactly_these_names() -> None:
    assert kube.__all__ == [
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
