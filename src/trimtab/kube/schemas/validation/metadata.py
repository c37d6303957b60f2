"""What is wrong with an object's metadata, on creation and on update."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trimtab.kube.schemas.validation.causes import (
    Causes,
    each_invalid,
    entries,
    forbidden,
    invalid,
    quoted,
    required,
)
from trimtab.kube.schemas.validation.names import (
    NameRule,
    annotation_causes,
    at_least_zero,
    dns_label,
    label_causes,
    qualified_name,
)

STANDARD_FINALIZERS = frozenset({"kubernetes", "orphan", "foregroundDeletion"})
IMMUTABLE = "field is immutable"


def metadata(meta: Mapping[str, Any], rule: NameRule, *, namespaced: bool) -> Causes:
    """What is wrong with the metadata of any object."""
    yield from _names(meta, rule)
    namespace = meta.get("namespace", "")
    if namespaced and not namespace:
        yield required("metadata.namespace")
    elif namespaced:
        yield from each_invalid("metadata.namespace", namespace, dns_label(namespace))
    elif namespace:
        yield forbidden("metadata.namespace", "not allowed on this type")
    yield from at_least_zero(meta.get("generation"), "metadata.generation")
    yield from label_causes(meta.get("labels"), "metadata.labels")
    yield from annotation_causes(meta.get("annotations"), "metadata.annotations")
    yield from _owners(meta.get("ownerReferences"))
    yield from _finalizers(meta.get("finalizers") or [])


def _names(meta: Mapping[str, Any], rule: NameRule) -> Causes:
    prefix = meta.get("generateName", "")
    if prefix:
        # What is appended is letters and digits, so a prefix may end in a hyphen.
        yield from each_invalid(
            "metadata.generateName", prefix, rule(f"{prefix[:-1]}a" if prefix.endswith("-") else prefix)
        )
    if not meta.get("name"):
        yield required("metadata.name", "name or generateName is required")
    else:
        yield from each_invalid("metadata.name", meta["name"], rule(meta["name"]))


def _owners(references: Any) -> Causes:
    path, controller = "metadata.ownerReferences", ""
    for _, owner in entries(references):
        group, _, version = owner.get("apiVersion", "").rpartition("/")
        if not version:
            yield invalid(f"{path}.apiVersion", owner.get("apiVersion", ""), "version must not be empty")
        for name in ("kind", "name", "uid"):
            if not owner.get(name):
                yield invalid(f"{path}.{name}", "", "must not be empty")
        if not group and owner.get("kind") == "Event":
            yield invalid(path, owner, f"{group}/{version}, Kind=Event is disallowed from being an owner")
        if owner.get("controller"):
            named = f"{owner.get('kind')}/{owner.get('name')}"
            if controller:
                yield invalid(path, references, _two_controllers(controller, named))
            controller = controller or named


def _two_controllers(first: str, second: str) -> str:
    found = f'Found "true" in references for {first} and {second}'
    return f"Only one reference can have Controller set to true. {found}"


def _finalizers(finalizers: list[str]) -> Causes:
    path = "metadata.finalizers"
    for each in finalizers:
        yield from each_invalid(path, each, qualified_name(each))
    if {"orphan", "foregroundDeletion"} <= set(finalizers):
        yield invalid(path, finalizers, "finalizer orphan and foregroundDeletion cannot be both set")


def finalizers_are_qualified(finalizers: list[str]) -> Causes:
    """Built-in kinds want a domain in finalizers that are not the server's own."""
    for number, each in enumerate(finalizers):
        if "/" not in each and each not in STANDARD_FINALIZERS:
            told = "name is neither a standard finalizer name nor is it fully qualified"
            yield invalid(f"metadata.finalizers[{number}]", each, told)


def metadata_update(new: Mapping[str, Any], old: Mapping[str, Any]) -> Causes:
    """What may not be changed in any object's metadata."""
    if old.get("deletionTimestamp"):
        added = sorted(set(new.get("finalizers") or ()) - set(old.get("finalizers") or ()))
        if added:
            told = ", ".join(quoted(each) for each in added)
            yield forbidden(
                "metadata.finalizers",
                "no new finalizers can be added if the object is being deleted, "
                f"found new finalizers []string{{{told}}}",
            )
    if not new.get("resourceVersion"):
        yield invalid("metadata.resourceVersion", "", "must be specified for an update")
    if (new.get("generation") or 0) < (old.get("generation") or 0):
        yield invalid("metadata.generation", new.get("generation") or 0, "must not be decremented")
    for name in ("name", "namespace", "uid", "creationTimestamp"):
        if new.get(name) != old.get(name):
            yield invalid(f"metadata.{name}", new.get(name) or "", IMMUTABLE)
    yield from label_causes(new.get("labels"), "metadata.labels")
    yield from annotation_causes(new.get("annotations"), "metadata.annotations")
    yield from _owners(new.get("ownerReferences"))
