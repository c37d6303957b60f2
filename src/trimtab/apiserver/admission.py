"""What the server checks and adds between a request and an object's storage, looking at other objects.

Namespaces must exist and not be ending; some cannot be deleted. Some kinds are given things: Pods an
identity, Services addresses. Pure but for what it reads of the store, and chance.
"""

from __future__ import annotations

from typing import Any

from trimtab.apiserver import definitions, pods, services
from trimtab.apiserver.catalog import Served
from trimtab.apiserver.refusing import forbidden, not_found
from trimtab.apiserver.requests import Address
from trimtab.apiserver.store import Store
from trimtab.kube.refusals import Cause

Json = dict[str, Any]
NAMESPACES = ("", "namespaces")
IMMORTAL = frozenset({"default", "kube-system", "kube-public"})


def check_namespace(store: Store, address: Address, name: str) -> None:
    """Refuse to create an object in a namespace that is not there, or is about to go."""
    if not address.served.namespaced:
        return
    entry = store.get(NAMESPACES, f"/{address.namespace}")
    if entry is None:
        raise not_found("", "namespaces", address.namespace)
    if entry.decoded()["metadata"].get("deletionTimestamp"):
        raise _terminating(address, name)


def _terminating(address: Address, name: str) -> Exception:
    served, namespace = address.served, address.namespace
    cause = Cause(
        reason="NamespaceTerminating",
        message=f"namespace {namespace} is being terminated",
        field="metadata.namespace",
    )
    why = f"unable to create new content in namespace {namespace} because it is being terminated"
    return forbidden(served.group, served.plural, name, why, [cause])


def admitted(new: Json, served: Served, store: Store, live: Json | None = None) -> Json:
    """A new or changed object with what the server adds to its kind."""
    match (served.group, served.kind):
        case ("", "Pod") if live is None:
            return pods.admitted(new, store)
        case ("", "Service"):
            return services.allocated(new, store, live)
        case (definitions.GROUP, definitions.KIND) if live is not None:
            return definitions.with_stored_versions(new)
        case ("", "PersistentVolumeClaim") if live is None:
            return _guarded(new, "kubernetes.io/pvc-protection")
        case ("", "PersistentVolume") if live is None:
            return _guarded(new, "kubernetes.io/pv-protection")
        case _:
            return new


def _guarded(new: Json, finalizer: str) -> Json:
    """An object that stays while somebody uses it."""
    finalizers = new["metadata"].get("finalizers") or []
    if finalizer in finalizers:
        return new
    return {**new, "metadata": {**new["metadata"], "finalizers": [*finalizers, finalizer]}}


def check_deletion(address: Address) -> None:
    """Refuse to delete what a cluster cannot be without."""
    if address.served.collection == NAMESPACES and address.name in IMMORTAL:
        raise forbidden("", "namespaces", address.name, "this namespace may not be deleted")
