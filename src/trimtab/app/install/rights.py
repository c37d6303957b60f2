"""The least rights that a runner can do its work with, as RBAC rules. Pure.

No rule names every verb or every kind unless the user asked for that in so many words. Roles and bindings may
be managed: Kubernetes itself refuses to let anybody grant rights that he does not have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

Rule: TypeAlias = dict[str, Any]

READING: Final = ("get", "list", "watch")
MANAGING: Final = (*READING, "create", "update", "patch", "delete")

#: kinds in namespaces that apps are made of, by API group
MANAGED: Final[Mapping[str, tuple[str, ...]]] = {
    "": (
        "configmaps",
        "endpoints",
        "limitranges",
        "persistentvolumeclaims",
        "pods",
        "replicationcontrollers",
        "resourcequotas",
        "secrets",
        "serviceaccounts",
        "services",
    ),
    "apps": ("daemonsets", "deployments", "replicasets", "statefulsets"),
    "autoscaling": ("horizontalpodautoscalers",),
    "batch": ("cronjobs", "jobs"),
    "networking.k8s.io": ("ingresses", "networkpolicies"),
    "policy": ("poddisruptionbudgets",),
    "rbac.authorization.k8s.io": ("rolebindings", "roles"),
}
#: kinds in namespaces that tell how apps are, and are written by others
WATCHED: Final[Mapping[str, tuple[str, ...]]] = {
    "": ("events",),
    "apps": ("controllerrevisions",),
    "discovery.k8s.io": ("endpointslices",),
}
#: kinds of the whole cluster that tell which kinds there are
DECLARING: Final[Mapping[str, tuple[str, ...]]] = {
    "apiextensions.k8s.io": ("customresourcedefinitions",),
    "apiregistration.k8s.io": ("apiservices",),
}


def rule(group: str, resources: Sequence[str], verbs: Sequence[str]) -> Rule:
    """One rule of a role."""
    return {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}


def _rules(kinds: Mapping[str, tuple[str, ...]], verbs: Sequence[str]) -> list[Rule]:
    return [rule(group, resources, verbs) for group, resources in kinds.items()]


def keeping_records() -> list[Rule]:
    """What the runner does in its own namespace: it keeps records, and agrees with other runners."""
    return [
        rule("", ["namespaces"], ["get"]),
        rule("", ["secrets"], MANAGING),
        rule("coordination.k8s.io", ["leases"], MANAGING),
    ]


def in_one_namespace(also: Iterable[str] = ()) -> list[Rule]:
    """What the runner does in a namespace that was given to it."""
    return [
        rule("", ["namespaces"], ["get"]),
        *_rules(MANAGED, MANAGING),
        *_rules(WATCHED, READING),
        *managing(also),
    ]


def in_the_whole_cluster(also: Iterable[str] = ()) -> list[Rule]:
    """What the runner does when any namespace may hold apps, which it may make."""
    return [
        rule("", ["namespaces"], MANAGING),
        *_rules(MANAGED, MANAGING),
        *_rules(WATCHED, READING),
        *_rules(DECLARING, READING),
        *managing(also),
    ]


def managing(also: Iterable[str]) -> list[Rule]:
    """Further kinds, as `certificates.cert-manager.io`, a rule each."""
    split = (each.partition(".") for each in also)
    return [rule(group, [resource], MANAGING) for resource, _, group in split]


def everything(*, cluster: bool) -> list[Rule]:
    """All there is, which only somebody who asked for it gets."""
    objects = rule("*", ["*"], ["*"])
    return [objects, {"nonResourceURLs": ["*"], "verbs": ["*"]}] if cluster else [objects]
