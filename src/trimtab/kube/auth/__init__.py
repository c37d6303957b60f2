"""How to reach an API server and prove who we are; the only door to files, plugins and certificates."""

from typing import TYPE_CHECKING

from trimtab.doors import opened_when_asked

if TYPE_CHECKING:
    from trimtab.kube.auth.access import Access, from_kubeconfig, from_tenant_kubeconfig, in_cluster
    from trimtab.kube.auth.impersonation import Impersonation
    from trimtab.kube.auth.tls import tls_context
else:
    __getattr__ = opened_when_asked(
        __name__,
        {
            "access": ("Access", "from_kubeconfig", "from_tenant_kubeconfig", "in_cluster"),
            "impersonation": ("Impersonation",),
            "tls": ("tls_context",),
        },
    )

__all__ = [
    "Access",
    "Impersonation",
    "from_kubeconfig",
    "from_tenant_kubeconfig",
    "in_cluster",
    "tls_context",
]
