"""What becomes of an object when it is created or changed: the steps between a body and what is kept. Pure.

new_object        a created object: named, stamped, its owners recorded
changed_object    what an update makes of the live object
patched           the object that a patch describes
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from trimtab.apiserver.catalog import Served
from trimtab.apiserver.refusing import conflict, invalid, modified
from trimtab.apiserver.requests import Address, unreadable_version
from trimtab.apiserver.strategies import (
    as_told,
    is_new_generation,
    respelled,
    strategy_of,
    target_of,
    through_ephemeral,
    through_main,
    through_status,
    unreported,
    with_counter,
    with_stated_counter,
)
from trimtab.kube import trees
from trimtab.kube.merging.apply import created as with_first_owners
from trimtab.kube.merging.apply import updated as with_owners
from trimtab.kube.refusals import Cause, Refused
from trimtab.kube.schemas.creation import created, resets_status, unclaimed
from trimtab.kube.schemas.defaults import as_stated, completed, filled

Json = dict[str, Any]
SYSTEM_FIELDS = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation")


def new_object(
    manifest: Json,
    address: Address,
    *,
    manager: str | None,
    versions: frozenset[str],
    uid: str,
    now: datetime,
) -> Json:
    """A created object, in full; without a manager the owners that it names are kept (it was applied)."""
    served = address.served
    whole = with_counter(_completed(manifest, served, manager), None)
    if manager is not None:
        target = target_of(served, address.subresource, versions)
        whole = {**whole, "metadata": unclaimed(whole["metadata"])}
        owned = with_first_owners(_stated(whole, manifest, served), target, manager=manager, now=now)
        whole = as_told({**whole, "metadata": owned["metadata"]}, whole, served)
    new = created(
        whole,
        served.schema,
        uid=uid,
        now=now,
        resets_status=resets_status(served.kind, has_status_subresource=served.has_status),
        counts_generation=served.counts_generation,
    )
    return unreported(as_told(new, whole, served), served)


def changed_object(
    manifest: Json,
    live: Json,
    address: Address,
    *,
    whole: Json,
    manager: str | None,
    versions: frozenset[str],
    now: datetime,
) -> Json:
    """What an update leaves, in full, as `whole` is the live object; its generation is not counted yet.

    Without a manager the owners that it names are kept (it was applied).
    """
    served = address.served
    if manager is None and whole is not live and _only_owned(manifest, live):
        return {**whole, "metadata": {**whole["metadata"], **_owners(manifest)}}
    new = with_counter(_completed(_identified(manifest, live), served, manager), live)
    if manager is not None:
        target = target_of(served, address.subresource, versions)
        new = new if served.custom else _with_stated_owners(new, manifest)
        stated = with_stated_counter(_stated(new, manifest, served), manifest)
        owned = with_owners(live, stated, target, manager=manager, now=now)
        new = with_counter(as_told({**new, "metadata": owned["metadata"]}, new, served), live)
    new = _identified(new, live)
    if address.subresource == "status":
        return through_status(new, whole, served)
    if address.subresource == "ephemeralcontainers":
        return through_ephemeral(new, live)
    return through_main(new, whole, address)


def _only_owned(manifest: Json, live: Json) -> bool:
    """Whether an apply leaves the object as it is, but for its owners."""
    before, after = (
        {**each, "metadata": {**each["metadata"], "managedFields": []}} for each in (live, manifest)
    )
    return trees.equal(before, after)


def _owners(manifest: Json) -> Json:
    return {name: value for name, value in manifest["metadata"].items() if name == "managedFields"}


def _completed(manifest: Json, served: Served, manager: str | None) -> Json:
    """The object with its defaults; what is applied to a custom resource keeps its nulls."""
    if served.custom and manager is None:
        return filled(manifest, served.schema)
    return as_told(completed(manifest, served.schema), manifest, served)


def _stated(new: Json, manifest: Json, served: Served) -> Json:
    """The object as it is judged for owners: with the empty lists that it states, and does not keep."""
    if served.custom:
        return new
    stated: Json = as_stated(respelled(new, served), {**manifest, "metadata": {}}, served.schema)
    return stated


def _with_stated_owners(new: Json, manifest: Json) -> Json:
    """The object with an empty list of owners where the request has one: that is a wish, not nothing.

    Only of a custom resource it is read as nothing.
    """
    if manifest["metadata"].get("managedFields") != []:
        return new
    return {**new, "metadata": {**new["metadata"], "managedFields": []}}


def _identified(manifest: Json, live: Json) -> Json:
    """The object with what only the server sets, where the request leaves it out."""
    metadata, before = dict(manifest["metadata"]), live["metadata"]
    for name in SYSTEM_FIELDS:
        if name in before and not metadata.get(name):
            metadata[name] = before[name]
    for name in ("generation", "creationTimestamp"):
        metadata.pop(name, None)
        if name in before:
            metadata[name] = before[name]
    metadata["resourceVersion"] = before["resourceVersion"]
    return {**manifest, "metadata": metadata}


def counted(new: Json, live: Json, served: Served) -> Json:
    """A changed object, which still has the generation of the live one, with the number of its own."""
    counts = served.counts_generation or strategy_of(served).begins_with_change
    if not counts or not is_new_generation(new, live, served):
        return new
    generation = live["metadata"].get("generation", 0) + 1
    return {**new, "metadata": {**new["metadata"], "generation": generation}}


# -- conditions -------------------------------------------------------------------------------------------


def check_preconditions(
    manifest: Json, live: Json, address: Address, *, patch: bool = False, through_part: bool = False
) -> None:
    """Refuse a write that expects another version, or another object, than the live one.

    Some kinds want a version in each write, but not in one that goes through another object, such as a Scale.
    """
    served, metadata = address.served, manifest["metadata"]
    version = metadata.get("resourceVersion") or ""
    if version and (told := unreadable_version(version)):
        raise Refused(500, "", told)
    if not patch:
        check_uid(manifest, live, address)
    if version in ("", "0") and not through_part and strategy_of(served).needs_version:
        told = "Invalid value: 0: must be specified for an update"
        cause = Cause(reason="FieldValueInvalid", message=told, field="metadata.resourceVersion")
        raise invalid(served.group, served.plural, address.name, [cause])
    if version and version != "0" and version != live["metadata"]["resourceVersion"]:
        raise modified(served.group, served.plural, address.name)


def check_uid(manifest: Json, live: Json, address: Address) -> None:
    """Refuse a replacement of another object of the same name."""
    served, uid = address.served, manifest["metadata"].get("uid")
    if uid and uid != live["metadata"]["uid"]:
        raise conflict(served.group, served.plural, address.name, _other_uid(uid, live, address))


def check_unborn(manifest: Json, address: Address) -> None:
    """Refuse to apply to an object that is expected to exist, where none does."""
    metadata = manifest.get("metadata")
    uid = metadata.get("uid") if isinstance(metadata, dict) else ""
    if uid:
        why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        raise conflict(address.served.group, address.served.plural, address.name, why)


def _other_uid(uid: str, live: Json, address: Address) -> str:
    served = address.served
    folder = f"{served.group}/{served.plural}" if served.custom else strategy_of(served).folder
    place = "/".join(
        part for part in ("/registry", folder or served.plural, address.namespace, address.name) if part
    )
    told = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {live['metadata']['uid']}"
    return (
        f"StorageError: invalid object, Code: 4, Key: {place}, ResourceVersion: 0, AdditionalErrorMsg: {told}"
    )
