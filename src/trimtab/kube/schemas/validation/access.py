"""What is wrong with roles and bindings, and what may not be changed in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trimtab.kube.gotext import Shown
from trimtab.kube.schemas.validation.causes import (
    Causes,
    each_invalid,
    entries,
    invalid,
    not_supported,
    part,
    required,
)
from trimtab.kube.schemas.validation.names import dns_subdomain, path_segment
from trimtab.kube.schemas.validation.selectors import label_selector

Json = Mapping[str, Any]
GROUP = "rbac.authorization.k8s.io"


def role(manifest: Json) -> Causes:
    """What is wrong with a Role."""
    for number, rule in entries(manifest.get("rules")):
        yield from _rule(rule, f"rules[{number}]", namespaced=True)


def cluster_role(manifest: Json) -> Causes:
    """What is wrong with a ClusterRole."""
    for number, rule in entries(manifest.get("rules")):
        yield from _rule(rule, f"rules[{number}]", namespaced=False)
    aggregation = manifest.get("aggregationRule")
    if aggregation is None:
        return
    if not aggregation.get("clusterRoleSelectors"):
        yield required(
            "aggregationRule.clusterRoleSelectors",
            "at least one clusterRoleSelector required if aggregationRule is non-nil",
        )
    for number, selector in entries(aggregation.get("clusterRoleSelectors")):
        yield from label_selector(selector, f"aggregationRule.clusterRoleSelectors[{number}]")


def _rule(rule: Json, path: str, *, namespaced: bool) -> Causes:
    if not rule.get("verbs"):
        yield required(f"{path}.verbs", "verbs must contain at least one value")
    urls = rule.get("nonResourceURLs")
    if urls:
        if namespaced:
            yield invalid(
                f"{path}.nonResourceURLs", urls, "namespaced rules cannot apply to non-resource URLs"
            )
        if any(rule.get(name) for name in ("apiGroups", "resources", "resourceNames")):
            told = "rules cannot apply to both regular resources and non-resource URLs"
            yield invalid(f"{path}.nonResourceURLs", urls, told)
        return
    if not rule.get("apiGroups"):
        yield required(f"{path}.apiGroups", "resource rules must supply at least one api group")
    if not rule.get("resources"):
        yield required(f"{path}.resources", "resource rules must supply at least one resource")


def role_binding(manifest: Json) -> Causes:
    """What is wrong with a RoleBinding."""
    yield from _binding(manifest, ("Role", "ClusterRole"), namespaced=True)


def cluster_role_binding(manifest: Json) -> Causes:
    """What is wrong with a ClusterRoleBinding."""
    yield from _binding(manifest, ("ClusterRole",), namespaced=False)


def _binding(manifest: Json, kinds: tuple[str, ...], *, namespaced: bool) -> Causes:
    reference = part(manifest, "roleRef")
    if reference.get("apiGroup") != GROUP:
        yield not_supported("roleRef.apiGroup", reference.get("apiGroup", ""), (GROUP,))
    if reference.get("kind") not in kinds:
        yield not_supported("roleRef.kind", reference.get("kind", ""), kinds)
    name = reference.get("name", "")
    if not name:
        yield required("roleRef.name")
    else:
        yield from each_invalid("roleRef.name", name, path_segment(name))
    for number, subject in entries(manifest.get("subjects")):
        yield from _subject(subject, f"subjects[{number}]", namespaced=namespaced)


def _subject(subject: Json, path: str, *, namespaced: bool) -> Causes:
    kind, name, group = (subject.get(field, "") for field in ("kind", "name", "apiGroup"))
    if not name:
        yield required(f"{path}.name")
    if kind == "ServiceAccount":
        if name:
            yield from each_invalid(f"{path}.name", name, dns_subdomain(name))
        if group:
            yield not_supported(f"{path}.apiGroup", group, ("",))
        if not namespaced and not subject.get("namespace"):
            yield required(f"{path}.namespace")
    elif kind in ("User", "Group"):
        if group != GROUP:
            yield not_supported(f"{path}.apiGroup", group, (GROUP,))
    else:
        yield not_supported(f"{path}.kind", kind, ("ServiceAccount", "User", "Group"))


def role_reference_is_fixed(new: Json, old: Json) -> Causes:
    """A binding binds the same role as long as it lives."""
    reference = part(new, "roleRef")
    if reference != part(old, "roleRef"):
        shown = {
            "APIGroup": reference.get("apiGroup"),
            "Kind": reference.get("kind"),
            "Name": reference.get("name"),
        }
        yield invalid("roleRef", Shown(shown), "cannot change roleRef")
