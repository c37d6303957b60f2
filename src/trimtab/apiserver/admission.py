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
DEFINITION = (definitions.GROUP, definitions.KIND)
#: finalizers of what must stay while somebody uses it
GUARDS = {
    ("", "PersistentVolumeClaim"): "kubernetes.io/pvc-protection",
    ("", "PersistentVolume"): "kubernetes.io/pv-protection",
    ("storage.k8s.io", "VolumeAttributesClass"): "kubernetes.io/vac-protection",
}
NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
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


def check_definition(address: Address, name: str) -> None:
    """Refuse to create an object whose definition is about to go."""
    if address.served.ending:
        why = "create not allowed while custom resource definition is terminating"
        raise forbidden(address.served.group, address.served.plural, name, why)


def _terminating(address: Address, name: str) -> Exception:
    served, namespace = address.served, address.namespace
    cause = Cause(
        reason="NamespaceTerminating",
        message=f"namespace {namespace} is being terminated",
        field="metadata.namespace",
    )
    why = f"unable to create new content in namespace {namespace} because it is being terminated"
    return forbidden(served.group, served.plural, name, why, [cause])


def admitted(
    new: Json,
    served: Served,
    store: Store,
    live: Json | None = None,
    *,
    through_status: bool = False,
    dry_run: bool = False,
) -> Json:
    """A new or changed object with what the server adds to its kind."""
    kind = (served.group, served.kind)
    if through_status:
        return services.left_alone(new) if kind == ("", "Service") else new
    if kind == ("", "Service"):
        return services.allocated(new, store, live, dry_run=dry_run)
    if live is not None and kind == ("", "Pod"):
        return pods.readmitted(new, live)
    if live is not None:
        return definitions.with_stored_versions(new) if kind == DEFINITION else new
    if kind in GUARDS:
        return _guarded(new, GUARDS[kind])
    if kind == ("", "Pod"):
        return pods.admitted(new, store)
    return _not_ready(new) if kind == ("", "Node") else new


def forgotten(new: Json, served: Served) -> Json:
    """An object without what is read, and counted as a change, but not kept."""
    if (served.group, served.kind) == ("discovery.k8s.io", "EndpointSlice") and new.get("endpoints"):
        return {**new, "endpoints": [_without(each, "deprecatedTopology") for each in new["endpoints"]]}
    if (served.group, served.kind) == ("", "Node") and "configSource" in (new.get("spec") or {}):
        return {**new, "spec": _without(new["spec"], "configSource")}
    return new


def _without(value: Json, name: str) -> Json:
    return {each: held for each, held in value.items() if each != name}


def warnings(new: Json, served: Served) -> tuple[str, ...]:
    """What is to be said of a new object as it was sent, before anything is added to it."""
    return tuple(pods.warnings(new)) if (served.group, served.kind) == ("", "Pod") else ()


def _not_ready(node: Json) -> Json:
    """A new node takes no Pods before somebody says that it is ready."""
    taints = node["spec"].get("taints") or []
    return {**node, "spec": {**node["spec"], "taints": [*taints, NOT_READY]}}


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
