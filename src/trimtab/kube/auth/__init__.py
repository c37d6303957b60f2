"""How to reach an API server and prove who we are; the only door to files, plugins and certificates."""

from trimtab.kube.auth.access import Access, from_kubeconfig, from_tenant_kubeconfig, in_cluster
from trimtab.kube.auth.impersonation import Impersonation
from trimtab.kube.auth.tls import tls_context

__all__ = [
    "Access",
    "Impersonation",
    "from_kubeconfig",
    "from_tenant_kubeconfig",
    "in_cluster",
    "tls_context",
]
