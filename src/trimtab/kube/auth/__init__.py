"""How to reach an API server and prove who we are; the only door to files, plugins and certificates."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
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

#: where each name is at home
_HOMES: Final = {
    "Access": "trimtab.kube.auth.access",
    "Impersonation": "trimtab.kube.auth.impersonation",
    "from_kubeconfig": "trimtab.kube.auth.access",
    "from_tenant_kubeconfig": "trimtab.kube.auth.access",
    "in_cluster": "trimtab.kube.auth.access",
    "tls_context": "trimtab.kube.auth.tls",
}

if not TYPE_CHECKING:  # so that the imports above stay what the names are checked against

    def __getattr__(name: str) -> object:
        """A name of the door, loaded when it is first asked for: pure modules need none of it."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(_HOMES[name]), name)
