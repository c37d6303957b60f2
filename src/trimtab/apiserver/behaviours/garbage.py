"""Owner garbage collection: foreground, background, orphan; owners are matched by identity. Pure.

An owner in another namespace counts as absent, as it does in Kubernetes; an object in the cluster's scope
that names an owner in a namespace is left alone. Before anything goes, the server is asked whether its owner
is really absent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct

from trimtab.apiserver.behaviours.changes import (
    NOTHING,
    Absent,
    Actor,
    Behaviour,
    Change,
    Decision,
    Delete,
    News,
    Update,
)
from trimtab.apiserver.behaviours.events import GARBAGE_VOICE
from trimtab.apiserver.behaviours.kinds import full_kind
from trimtab.apiserver.behaviours.manifests import (
    Manifest,
    Name,
    finalizers_of,
    is_going,
    kind_of,
    name_of,
    namespace_of,
    owners_of,
    uid_of,
    with_metadata,
)
from trimtab.apiserver.behaviours.timing import Timing
from trimtab.apiserver.behaviours.world import World
from trimtab.kube.cluster import Propagation

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"

Reference = Mapping[str, Any]


class _Owners(Struct, frozen=True, kw_only=True):
    """The owners of an object by their fate."""

    solid: tuple[Reference, ...] = ()
    absent: tuple[Reference, ...] = ()
    waiting: tuple[Reference, ...] = ()  # going, as soon as what they own is gone
    unknown: bool = False  # of a kind that is not served, or not fully read yet


def decide(world: World, name: Name, now: datetime, timing: Timing) -> Decision:
    """What becomes of the object with this identity."""
    found = world.by_uid(name[1])
    if found is None:
        return NOTHING
    if is_going(found):
        if ORPHAN in finalizers_of(found):
            return _orphaning(world, found)
        if FOREGROUND in finalizers_of(found) and not _blockers(world, found):
            return Decision(changes=(_without_finalizer(found, FOREGROUND),))
        return NOTHING
    return _collected(world, found) if owners_of(found) else NOTHING


def _orphaning(world: World, owner: Manifest) -> Decision:
    """Its dependents lose it as an owner; then it may go."""
    freed = tuple(
        _without_owners(each, {uid_of(owner)})
        for each in world.dependents(uid_of(owner))
        if namespace_of(each) == namespace_of(owner) or not namespace_of(owner)
    )
    return Decision(changes=freed or (_without_finalizer(owner, ORPHAN),))


def _blockers(world: World, owner: Manifest) -> list[Manifest]:
    return [
        each
        for each in world.dependents(uid_of(owner))
        for reference in owners_of(each)
        if reference["uid"] == uid_of(owner) and reference.get("blockOwnerDeletion")
    ]


def _collected(world: World, found: Manifest) -> Decision:
    owners = _owners(world, found)
    if owners.unknown or not (owners.absent or owners.waiting):
        return NOTHING
    return Decision(
        changes=tuple(_fate(world, found, owners)),
        unless_alive=tuple(_absent(world, found, each) for each in owners.absent),
        news=tuple(_elsewhere(world, found, owners.absent)),
    )


def _fate(world: World, found: Manifest, owners: _Owners) -> Iterator[Change]:
    if owners.solid:
        yield _without_owners(found, {each["uid"] for each in (*owners.absent, *owners.waiting)})
    elif owners.waiting and (below := world.dependents(uid_of(found))):
        if any(is_going(each) and FOREGROUND in finalizers_of(each) for each in below):
            yield _unblocked(found)  # there may be a circle, in which everybody would wait for each other
        yield Delete(target=found, propagation=Propagation.FOREGROUND)
    else:
        yield Delete(target=found, propagation=_propagation(found))


def _propagation(found: Manifest) -> Propagation:
    if ORPHAN in finalizers_of(found):
        return Propagation.ORPHAN
    return Propagation.FOREGROUND if FOREGROUND in finalizers_of(found) else Propagation.BACKGROUND


def _owners(world: World, found: Manifest) -> _Owners:
    sorted_out: dict[str, list[Reference]] = {"solid": [], "absent": [], "waiting": []}
    for reference in owners_of(found):
        kind = full_kind(reference["apiVersion"], reference["kind"])
        resource = world.served.get(kind)
        if resource is None or kind not in world.known_kinds:
            return _Owners(unknown=True)
        if resource.namespaced and not namespace_of(found):
            return _Owners(unknown=True)
        sorted_out[_standing(world, found, reference, kind)].append(reference)
    solid, absent, waiting = (tuple(each) for each in sorted_out.values())
    return _Owners(solid=solid, absent=absent, waiting=waiting)


def _standing(world: World, found: Manifest, reference: Reference, kind: str) -> str:
    owner = world.by_uid(reference["uid"])
    if owner is None or not _is_meant(owner, reference, kind, found):
        return "absent"
    return "waiting" if is_going(owner) and FOREGROUND in finalizers_of(owner) else "solid"


def _is_meant(owner: Manifest, reference: Reference, kind: str, found: Manifest) -> bool:
    here = namespace_of(owner) in ("", namespace_of(found))
    return here and kind_of(owner) == kind and name_of(owner) == reference["name"]


def _absent(world: World, found: Manifest, reference: Reference) -> Absent:
    kind = full_kind(reference["apiVersion"], reference["kind"])
    namespace = namespace_of(found) if world.served[kind].namespaced else ""
    return Absent(kind=kind, name=(namespace, reference["name"]), uid=reference["uid"])


def _without_finalizer(found: Manifest, finalizer: str) -> Update:
    left = [each for each in finalizers_of(found) if each != finalizer]
    return Update(body=with_metadata(found, finalizers=left))


def _without_owners(found: Manifest, uids: set[str]) -> Update:
    left: Sequence[Reference] = [each for each in owners_of(found) if each["uid"] not in uids]
    return Update(body=with_metadata(found, ownerReferences=left))


def _unblocked(found: Manifest) -> Update:
    freed = [{**each, "blockOwnerDeletion": False} for each in owners_of(found)]
    return Update(body=with_metadata(found, ownerReferences=freed))


def _elsewhere(world: World, found: Manifest, references: Iterable[Reference]) -> Iterator[News]:
    """Owners that are there, but in another namespace, where nobody may own this."""
    for each in references:
        owner, here = world.by_uid(each["uid"]), namespace_of(found)
        if owner is not None and namespace_of(owner) not in ("", here):
            who = f"{each['apiVersion']}/{each['kind']}, namespace: {here}, name: {each['name']}"
            told = f'ownerRef [{who}, uid: {each["uid"]}] does not exist in namespace "{here}"'
            yield News(found, "OwnerRefInvalidNamespace", told, warning=True)


def concerned(world: World, changed: Manifest) -> Iterator[Name]:
    """By identity: whatever is going or has an owner that is, and the dependents of what is gone."""
    gone = world.by_uid(uid_of(changed)) is None
    owners = [world.by_uid(each["uid"]) for each in owners_of(changed)]
    here = ("", namespace_of(changed))
    if not gone and (
        is_going(changed)
        or any(owner is None or is_going(owner) or namespace_of(owner) not in here for owner in owners)
    ):
        yield "", uid_of(changed)
    for owner in owners:
        if owner is not None and is_going(owner):
            yield "", uid_of(owner)
    if gone or is_going(changed):
        for dependent in world.dependents(uid_of(changed)):
            yield "", uid_of(dependent)


GARBAGE = Behaviour(
    title="garbage", actor=Actor.CONTROLLERS, decide=decide, concerned=concerned, voice=GARBAGE_VOICE
)
