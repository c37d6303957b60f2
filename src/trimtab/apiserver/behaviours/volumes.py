"""Claims and volumes: a claim is bound to a volume that fits, or to one made for it; both go when unneeded.

Pure. A claim without a class gets the default one; any class with a provisioner makes volumes. Volumes hold
nothing: no pod of this cluster runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from trimtab.apiserver.behaviours.changes import (
    NOTHING,
    Actor,
    Behaviour,
    Create,
    Decision,
    Delete,
    News,
    Update,
    decision,
)
from trimtab.apiserver.behaviours.events import CLAIM_VOICE
from trimtab.apiserver.behaviours.kinds import PERSISTENT_VOLUME, PERSISTENT_VOLUME_CLAIM, POD, STORAGE_CLASS
from trimtab.apiserver.behaviours.manifests import (
    Manifest,
    Name,
    annotations_of,
    finalizers_of,
    full_name,
    is_going,
    kind_of,
    name_of,
    namespace_of,
    status_of,
    uid_of,
    with_metadata,
    with_spec,
    with_status,
)
from trimtab.apiserver.behaviours.placement import claims_of
from trimtab.apiserver.behaviours.readiness import is_over
from trimtab.apiserver.behaviours.timing import Timing
from trimtab.apiserver.behaviours.world import World
from trimtab.kube.quantity import parse_quantity

STANDARD = "standard"
PROVISIONER = "trimtab.dev/embedded"
IS_DEFAULT = "storageclass.kubernetes.io/is-default-class"
CLAIM_FINALIZER = "kubernetes.io/pvc-protection"
VOLUME_FINALIZER = "kubernetes.io/pv-protection"
_STATIC_ONLY = "kubernetes.io/no-provisioner"


def decide_classes(world: World, name: Name, now: datetime, timing: Timing) -> Decision:
    """A default class, where there is no class at all."""
    if world.all(STORAGE_CLASS):
        return NOTHING
    metadata = {"name": name[1], "annotations": {IS_DEFAULT: "true"}}
    kind = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass"}
    return decision([Create({**kind, "metadata": metadata, "provisioner": PROVISIONER})])


def nobody(world: World, changed: Manifest) -> Iterator[Name]:
    """A class that somebody deletes stays away."""
    return iter(())


# -- claims ---------------------------------------------------------------------------------------------


def decide_claim(world: World, name: Name, now: datetime, timing: Timing) -> Decision:
    """Bind the claim, or let it go once no pod needs it."""
    claim = world.get(PERSISTENT_VOLUME_CLAIM, *name)
    if claim is None:
        return NOTHING
    if is_going(claim):
        if CLAIM_FINALIZER in finalizers_of(claim) and not list(_users(world, claim)):
            return decision([_without_finalizer(claim, CLAIM_FINALIZER)])
        return NOTHING
    phase = status_of(claim).get("phase")
    if claim["spec"].get("volumeName"):
        return _settled(world, claim)
    if phase is None:
        return decision([Update(body=with_status(claim, {"phase": "Pending"}), subresource="status")])
    return _bound(world, claim)


def _users(world: World, claim: Manifest) -> Iterator[Manifest]:
    for pod in world.all(POD, namespace_of(claim)):
        if name_of(claim) in claims_of(pod) and not is_over(pod):
            yield pod


def _bound(world: World, claim: Manifest) -> Decision:
    """The volume that fits the claim best takes it; if none does, the class makes one."""
    storage_class = _class_of(world, claim)
    wanted = claim["spec"].get("storageClassName")
    if wanted is None and storage_class is not None:
        return decision([Update(body=with_spec(claim, storageClassName=name_of(storage_class)))])
    if _must_wait(world, claim, storage_class):
        told = "waiting for first consumer to be created before binding"
        return Decision(news=(News(claim, "WaitForFirstConsumer", told),))
    volume = _fitting(world, claim)
    if volume is None:
        return _provisioned(world, claim, storage_class)
    if not _is_meant(volume, claim):
        return decision([Update(body=with_spec(volume, claimRef=_reference(claim)))])
    annotations = {
        **annotations_of(claim),
        "pv.kubernetes.io/bind-completed": "yes",
        "pv.kubernetes.io/bound-by-controller": "yes",
    }
    body = with_spec(with_metadata(claim, annotations=annotations), volumeName=name_of(volume))
    return decision([Update(body=body)])


def _must_wait(world: World, claim: Manifest, storage_class: Manifest | None) -> bool:
    """Some classes bind a claim only when a pod wants it: then it is known where."""
    waits = (storage_class or {}).get("volumeBindingMode") == "WaitForFirstConsumer"
    reserved = any(_is_meant(each, claim) for each in world.all(PERSISTENT_VOLUME))
    return waits and not reserved and not list(_users(world, claim))


def _settled(world: World, claim: Manifest) -> Decision:
    """What a bound claim has."""
    volume = world.get(PERSISTENT_VOLUME, "", claim["spec"]["volumeName"])
    if volume is None:
        lost = {**status_of(claim), "phase": "Lost"}
        known = status_of(claim).get("phase") in ("Lost", None, "Pending")
        return NOTHING if known else decision([Update(body=with_status(claim, lost), subresource="status")])
    if not _is_meant(volume, claim):
        return NOTHING
    status = {
        **status_of(claim),
        "phase": "Bound",
        "accessModes": volume["spec"]["accessModes"],
        "capacity": volume["spec"]["capacity"],
    }
    if status == status_of(claim):
        return NOTHING
    return decision([Update(body=with_status(claim, status), subresource="status")])


def _class_of(world: World, claim: Manifest) -> Manifest | None:
    wanted = claim["spec"].get("storageClassName")
    if wanted is not None:
        return world.get(STORAGE_CLASS, "", wanted)
    defaults = [each for each in world.all(STORAGE_CLASS) if annotations_of(each).get(IS_DEFAULT) == "true"]
    return max(defaults, key=lambda each: each["metadata"]["creationTimestamp"], default=None)


def _fitting(world: World, claim: Manifest) -> Manifest | None:
    """The volume reserved for the claim, or the smallest free one of its class that is big enough."""
    volumes = [each for each in world.all(PERSISTENT_VOLUME) if not is_going(each)]
    reserved = next((each for each in volumes if _is_meant(each, claim)), None)
    free = [each for each in volumes if not each["spec"].get("claimRef") and _suits(each, claim)]
    return reserved or min(
        free, key=lambda each: (_size(each["spec"]["capacity"]), name_of(each)), default=None
    )


def _suits(volume: Manifest, claim: Manifest) -> bool:
    wanted, offered = claim["spec"], volume["spec"]
    return (
        wanted.get("storageClassName", "") == offered.get("storageClassName", "")
        and set(wanted["accessModes"]) <= set(offered["accessModes"])
        and wanted.get("volumeMode", "Filesystem") == offered.get("volumeMode", "Filesystem")
        and _size(wanted["resources"]["requests"]) <= _size(offered["capacity"])
    )


def _size(amounts: dict[str, Any]) -> int:
    return parse_quantity(amounts["storage"]).whole


def _is_meant(volume: Manifest, claim: Manifest) -> bool:
    reference = volume["spec"].get("claimRef")
    if reference is None or (reference.get("namespace"), reference.get("name")) != full_name(claim):
        return False
    return reference.get("uid") in (None, "", uid_of(claim))


def _reference(claim: Manifest) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "name": name_of(claim),
        "namespace": namespace_of(claim),
        "resourceVersion": claim["metadata"]["resourceVersion"],
        "uid": uid_of(claim),
    }


def _provisioned(world: World, claim: Manifest, storage_class: Manifest | None) -> Decision:
    if storage_class is None or storage_class["provisioner"] == _STATIC_ONLY:
        return NOTHING
    name = f"pvc-{uid_of(claim)}"
    spec = {
        "accessModes": claim["spec"]["accessModes"],
        "capacity": {"storage": claim["spec"]["resources"]["requests"]["storage"]},
        "claimRef": _reference(claim),
        "hostPath": {"path": f"/var/lib/trimtab/{name}"},
        "persistentVolumeReclaimPolicy": storage_class.get("reclaimPolicy", "Delete"),
        "storageClassName": name_of(storage_class),
        "volumeMode": claim["spec"].get("volumeMode", "Filesystem"),
    }
    annotations = {"pv.kubernetes.io/provisioned-by": storage_class["provisioner"]}
    kind = {"apiVersion": "v1", "kind": "PersistentVolume"}
    return decision([Create({**kind, "metadata": {"name": name, "annotations": annotations}, "spec": spec})])


def concerned_claims(world: World, changed: Manifest) -> Iterator[Name]:
    """A claim itself; those a pod mounts; with a volume or a class, those that wait or belong to it."""
    kind = kind_of(changed)
    if kind == PERSISTENT_VOLUME_CLAIM:
        yield full_name(changed)
    elif kind == POD:
        yield from ((namespace_of(changed), each) for each in claims_of(changed))
    elif kind in (PERSISTENT_VOLUME, STORAGE_CLASS):
        for claim in world.all(PERSISTENT_VOLUME_CLAIM):
            if claim["spec"].get("volumeName", name_of(changed)) == name_of(changed):
                yield full_name(claim)


# -- volumes --------------------------------------------------------------------------------------------


def decide_volume(world: World, name: Name, now: datetime, timing: Timing) -> Decision:
    """The volume's phase; one whose claim is gone is kept or deleted as it was asked for."""
    volume = world.get(PERSISTENT_VOLUME, *name)
    if volume is None:
        return NOTHING
    phase = _phase(world, volume)
    if is_going(volume):
        if phase != "Bound" and VOLUME_FINALIZER in finalizers_of(volume):
            return decision([_without_finalizer(volume, VOLUME_FINALIZER)])
        return NOTHING
    if phase != status_of(volume).get("phase"):
        status = {**status_of(volume), "phase": phase}
        return decision([Update(body=with_status(volume, status), subresource="status")])
    provisioned = "pv.kubernetes.io/provisioned-by" in annotations_of(volume)
    if (
        phase == "Released"
        and provisioned
        and volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete"
    ):
        return decision([Delete(target=volume)])
    return NOTHING


def _phase(world: World, volume: Manifest) -> str:
    reference = volume["spec"].get("claimRef")
    if reference is None or not reference.get("uid"):
        return "Available"
    claim = world.by_uid(reference["uid"])
    if claim is None:
        return "Released"
    return "Bound" if claim["spec"].get("volumeName") == name_of(volume) else "Available"


def concerned_volumes(world: World, changed: Manifest) -> Iterator[Name]:
    """A volume itself, or the one a claim is bound to."""
    if kind_of(changed) == PERSISTENT_VOLUME:
        yield full_name(changed)
    elif kind_of(changed) == PERSISTENT_VOLUME_CLAIM and changed["spec"].get("volumeName"):
        yield "", changed["spec"]["volumeName"]


def _without_finalizer(found: Manifest, finalizer: str) -> Update:
    left = [each for each in finalizers_of(found) if each != finalizer]
    return Update(body=with_metadata(found, finalizers=left))


CLASSES = Behaviour(
    title="storage classes",
    actor=Actor.CONTROLLERS,
    decide=decide_classes,
    concerned=nobody,
    at_start=(("", STANDARD),),
)
CLAIMS = Behaviour(
    title="claims",
    actor=Actor.CONTROLLERS,
    decide=decide_claim,
    concerned=concerned_claims,
    voice=CLAIM_VOICE,
)
VOLUMES = Behaviour(
    title="volumes", actor=Actor.CONTROLLERS, decide=decide_volume, concerned=concerned_volumes
)
