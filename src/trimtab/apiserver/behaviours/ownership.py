"""Whose is it? Controllers keep what they own, adopt orphans that match, release what does not. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from trimtab.apiserver.behaviours.changes import Update
from trimtab.apiserver.behaviours.kinds import REPLICATION_CONTROLLER, full_kind
from trimtab.apiserver.behaviours.manifests import (
    Manifest,
    Name,
    controller_of,
    controller_reference,
    is_controlled_by,
    is_going,
    kind_of,
    labels_of,
    name_of,
    namespace_of,
    owners_of,
    uid_of,
    with_metadata,
)
from trimtab.apiserver.behaviours.world import World
from trimtab.kube.selectors import LabelSelector, label_selector


class Claims(Struct, frozen=True, kw_only=True):
    """What a controller owns, and what it has to write to own the right things."""

    owned: tuple[Manifest, ...]
    changes: tuple[Update, ...] = ()


def selector_of(owner: Manifest) -> LabelSelector:
    """The label selector of a controller; that of a ReplicationController is nothing but labels."""
    selector = owner["spec"].get("selector")
    if kind_of(owner) == REPLICATION_CONTROLLER:
        selector = {"matchLabels": selector} if selector else None
    return label_selector(selector)


def claims(world: World, owner: Manifest, kind: str) -> Claims:
    """What is owned already; what matches and has no controller is adopted, unless the owner is going."""
    selector = selector_of(owner)
    owned, changes = [], []
    for each in world.owned(owner, kind):
        if not is_controlled_by(each, owner):
            continue
        if selector.matches(labels_of(each)):
            owned.append(each)
        elif not is_going(each):
            changes.append(_released(each, owner))
    if not is_going(owner):
        matching = world.selected(kind, namespace_of(owner), selector)
        orphans = [each for each in matching if controller_of(each) is None and not is_going(each)]
        changes += [_adopted(each, owner) for each in orphans]
    return Claims(owned=tuple(owned), changes=tuple(changes))


def _adopted(orphan: Manifest, owner: Manifest) -> Update:
    owners = [*owners_of(orphan), controller_reference(owner)]
    return Update(body=with_metadata(orphan, ownerReferences=owners))


def _released(owned: Manifest, owner: Manifest) -> Update:
    owners = [each for each in owners_of(owned) if each["uid"] != uid_of(owner)]
    return Update(body=with_metadata(owned, ownerReferences=owners))


def pod_from(
    owner: Manifest,
    template: Mapping[str, Any],
    *,
    name: str = "",
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    finalizers: tuple[str, ...] = (),
) -> dict[str, Any]:
    """A pod made from a controller's template."""
    metadata = template.get("metadata") or {}
    made: dict[str, Any] = {
        "generateName": f"{name_of(owner)}-",
        "namespace": namespace_of(owner),
        "labels": {**(metadata.get("labels") or {}), **(labels or {})},
        "annotations": {**(metadata.get("annotations") or {}), **(annotations or {})},
        "finalizers": [*(metadata.get("finalizers") or ()), *finalizers],
        "ownerReferences": [controller_reference(owner)],
    }
    if name:
        made["name"] = name
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {key: value for key, value in made.items() if value},
        "spec": template["spec"],
    }


def own_or_owner(world: World, changed: Manifest, *, kind: str, dependent: str) -> Iterator[Name]:
    """Who of a kind is concerned: the object itself, the controller of a dependent, or who may adopt it."""
    namespace = namespace_of(changed)
    if kind_of(changed) == kind:
        yield namespace, name_of(changed)
    elif kind_of(changed) == dependent:
        controller = controller_of(changed)
        if controller is None:
            for each in world.all(kind, namespace):
                if selector_of(each).matches(labels_of(changed)):
                    yield namespace, name_of(each)
        elif full_kind(controller["apiVersion"], controller["kind"]) == kind:
            yield namespace, controller["name"]
