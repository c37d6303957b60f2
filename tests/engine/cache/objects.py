"""Objects as a server would tell them, for the tests of the cache."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from trimtab.engine.cache.holdings import Holdings
from trimtab.engine.cache.index import Scope
from trimtab.engine.cache.records import Recorder, judged_by
from trimtab.engine.compare.tracking import OwnerAnnotation
from trimtab.engine.live import Change
from trimtab.kube.discovery import Resource
from trimtab.kube.objects import KubeObject, object_from
from trimtab.resources.keys import ResourceKey

Json = dict[str, Any]
TRACKING = OwnerAnnotation("here")
VERBS = ("create", "delete", "get", "list", "patch", "update", "watch")
CLUSTER_WIDE = {
    "Namespace",
    "ClusterRole",
    "CustomResourceDefinition",
    "APIService",
    "Provider",
    "PersistentVolume",
}


def kind(name: str, group: str = "", version: str = "v1", *, namespaced: bool = True) -> Resource:
    return Resource(
        group=group, version=version, kind=name, plural=f"{name.lower()}s", namespaced=namespaced, verbs=VERBS
    )


CONFIG_MAPS, PODS, SECRETS = kind("ConfigMap"), kind("Pod"), kind("Secret")
NAMESPACES = kind("Namespace", namespaced=False)
DEPLOYMENTS, REPLICA_SETS = kind("Deployment", "apps"), kind("ReplicaSet", "apps")
WIDGETS = kind("Widget", "example.com")
CRDS = kind("CustomResourceDefinition", "apiextensions.k8s.io", namespaced=False)


def key(name: str, of: str = "ConfigMap", group: str = "", namespace: str = "shop") -> ResourceKey:
    return ResourceKey(group, of, "" if of in CLUSTER_WIDE else namespace, name)


def manifest(
    of: ResourceKey,
    *,
    version: str = "1",
    uid: str = "",
    owners: Sequence[ResourceKey] = (),
    unit: str = "",
    api: str = "v1",
    annotations: dict[str, str] | None = None,
    **fields: Any,
) -> Json:
    """An object; its uid is its name unless told otherwise, and so are those of its owners."""
    metadata: Json = {"name": of.name, "uid": uid or uid_of(of), "resourceVersion": version}
    if of.namespace:
        metadata["namespace"] = of.namespace
    if annotations:
        metadata["annotations"] = annotations
    if owners:
        metadata["ownerReferences"] = [reference(owner) for owner in owners]
    whole = {"apiVersion": f"{of.group}/{api}" if of.group else api, "kind": of.kind, "metadata": metadata}
    return {**(TRACKING.marked(whole, unit) if unit else whole), **fields}


def uid_of(of: ResourceKey) -> str:
    return f"{of.kind}-{of.namespace}-{of.name}".lower()


def reference(owner: ResourceKey, uid: str | None = None) -> Json:
    return {
        "apiVersion": f"{owner.group}/v1" if owner.group else "v1",
        "kind": owner.kind,
        "name": owner.name,
        "uid": uid_of(owner) if uid is None else uid,
    }


def told(whole: Json) -> KubeObject:
    return object_from(msgspec.json.encode(whole))


def resource_of(whole: KubeObject) -> Resource:
    group, slash, version = whole.api_version.partition("/")
    return kind(
        whole.kind, group if slash else "", version or group, namespaced=whole.kind not in CLUSTER_WIDE
    )


def scopes(_: str, of: str) -> bool | None:
    return None if of == "Unheard" else of not in CLUSTER_WIDE


class Shelved:
    """Holdings that objects are put into by their manifests."""

    def __init__(self, limit: int | None = None) -> None:
        self.holdings = Holdings(Recorder(TRACKING, judged_by(), scopes), limit)
        self.index = self.holdings.index

    def put(self, *wholes: Json, namespace: str = "") -> tuple[Change, ...]:
        changes: tuple[Change, ...] = ()
        for whole in wholes:
            object_ = told(whole)
            resource = resource_of(object_)
            scope = Scope(resource.group, resource.kind, namespace)
            changes += self.holdings.put(scope, resource, object_)
        return changes

    def remove(self, of: ResourceKey, namespace: str = "") -> tuple[Change, ...]:
        return self.holdings.remove(Scope(of.group, of.kind, namespace), of)


def config_map(name: str, unit: str = "", **data: str) -> Json:
    whole = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}
    return TRACKING.marked(whole, unit) if unit else whole


def definition(*versions: str, of: str = "Widget", served: str = "") -> Json:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    names = {"plural": f"{of.lower()}s", "kind": of, "singular": of.lower(), "listKind": f"{of}List"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{of.lower()}s.example.com"},
        "spec": {
            "group": "example.com",
            "names": names,
            "scope": "Namespaced",
            "versions": [
                {
                    "name": each,
                    "served": not served or each == served,
                    "storage": place == 0,
                    "schema": schema,
                }
                for place, each in enumerate(versions)
            ],
        },
    }


def widget(name: str, version: str = "v1") -> Json:
    return {"apiVersion": f"example.com/{version}", "kind": "Widget", "metadata": {"name": name}}
