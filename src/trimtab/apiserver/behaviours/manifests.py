"""Reading and rewriting manifests: names, labels, owners, conditions, times. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

from trimtab.apiserver.behaviours.kinds import full_kind
from trimtab.kube.times import parse_time, seconds_text

Manifest: TypeAlias = Mapping[str, Any]
Condition: TypeAlias = Mapping[str, Any]
Name: TypeAlias = tuple[str, str]
#: what objects say may lie at either end of the calendar; to times between these, a century can be added
FIRST, LAST = datetime(200, 1, 1, tzinfo=UTC), datetime(9800, 1, 1, tzinfo=UTC)
_CENTURY = timedelta(days=36_525).total_seconds()


def kind_of(manifest: Manifest) -> str:
    """`Deployment.apps`, or `Pod` for the core group."""
    return full_kind(manifest["apiVersion"], manifest["kind"])


def name_of(manifest: Manifest) -> str:
    """The object's name."""
    return str(manifest["metadata"].get("name", ""))


def namespace_of(manifest: Manifest) -> str:
    """The object's namespace; empty in the cluster's scope."""
    return str(manifest["metadata"].get("namespace", ""))


def full_name(manifest: Manifest) -> Name:
    """Namespace and name."""
    return namespace_of(manifest), name_of(manifest)


def uid_of(manifest: Manifest) -> str:
    """The identity of this life of the name."""
    return str(manifest["metadata"].get("uid", ""))


def version_of(manifest: Manifest) -> int:
    """The resource version, which servers count upwards."""
    return int(manifest["metadata"].get("resourceVersion") or 0)


def generation_of(manifest: Manifest) -> int:
    """How often what is wished has changed."""
    return int(manifest["metadata"].get("generation", 0))


def labels_of(manifest: Manifest) -> Mapping[str, str]:
    """The labels, none being an empty mapping."""
    return manifest["metadata"].get("labels") or {}


def annotations_of(manifest: Manifest) -> Mapping[str, str]:
    """The annotations, none being an empty mapping."""
    return manifest["metadata"].get("annotations") or {}


def finalizers_of(manifest: Manifest) -> Sequence[str]:
    """Who wants to be asked before the object goes."""
    return manifest["metadata"].get("finalizers") or ()


def status_of(manifest: Manifest) -> Mapping[str, Any]:
    """What is, as far as somebody wrote it down."""
    return manifest.get("status") or {}


def is_going(manifest: Manifest) -> bool:
    """Whether the object is being deleted."""
    return bool(manifest["metadata"].get("deletionTimestamp"))


def created_at(manifest: Manifest) -> datetime:
    """When the object was made."""
    return parse_time(manifest["metadata"]["creationTimestamp"])


def deleted_at(manifest: Manifest) -> datetime:
    """When the object may go at the latest."""
    return moment(manifest["metadata"]["deletionTimestamp"]) or LAST


def age_order(manifest: Manifest) -> tuple[datetime, str]:
    """Sorts the oldest first."""
    return created_at(manifest), name_of(manifest)


# -- owners ---------------------------------------------------------------------------------------------


def owners_of(manifest: Manifest) -> Sequence[Mapping[str, Any]]:
    """Every owner reference."""
    return manifest["metadata"].get("ownerReferences") or ()


def controller_of(manifest: Manifest) -> Mapping[str, Any] | None:
    """The owner reference of the one controller, if there is one."""
    return next((owner for owner in owners_of(manifest) if owner.get("controller")), None)


def is_controlled_by(manifest: Manifest, owner: Manifest) -> bool:
    """Whether this very life of the owner controls the object."""
    controller = controller_of(manifest)
    return controller is not None and controller["uid"] == uid_of(owner)


def controller_reference(owner: Manifest) -> dict[str, Any]:
    """The owner reference of a controller, as controllers write it."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": name_of(owner),
        "uid": uid_of(owner),
        "controller": True,
        "blockOwnerDeletion": True,
    }


# -- rewriting ------------------------------------------------------------------------------------------


def with_metadata(manifest: Manifest, **changes: Any) -> dict[str, Any]:
    """The manifest with these metadata; None or nothing removes a field."""
    metadata = {**manifest["metadata"], **changes}
    return {**manifest, "metadata": {key: value for key, value in metadata.items() if value}}


def with_status(manifest: Manifest, status: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest with this status."""
    return {**manifest, "status": dict(status)}


def with_spec(manifest: Manifest, **changes: Any) -> dict[str, Any]:
    """The manifest with these fields of its spec."""
    return {**manifest, "spec": {**manifest["spec"], **changes}}


def present(**fields: Any) -> dict[str, Any]:
    """The fields that say something: no None, no zero, nothing empty, as Go leaves them out."""
    return {key: value for key, value in fields.items() if value not in (None, 0, "", [], {}, ())}


# -- conditions -----------------------------------------------------------------------------------------


def condition(manifest: Manifest, kind: str) -> Condition | None:
    """The condition of this type."""
    return condition_in(status_of(manifest).get("conditions") or (), kind)


def condition_in(conditions: Iterable[Condition], kind: str) -> Condition | None:
    """The condition of this type."""
    return next((each for each in conditions if each["type"] == kind), None)


def is_true(manifest: Manifest, kind: str) -> bool:
    """Whether the condition of this type is there and true."""
    found = condition(manifest, kind)
    return found is not None and found["status"] == "True"


def replaced(conditions: Iterable[Condition], new: Condition) -> list[Condition]:
    """The conditions with this one at the end, unless it is there with the same status and reason."""
    conditions = list(conditions)
    current = condition_in(conditions, new["type"])
    if current and current["status"] == new["status"] and current.get("reason") == new.get("reason"):
        return conditions
    if current and current["status"] == new["status"]:
        new = {**new, "lastTransitionTime": current["lastTransitionTime"]}
    return [*without_condition(conditions, new["type"]), new]


def without_condition(conditions: Iterable[Condition], kind: str) -> list[Condition]:
    """The conditions of other types."""
    return [each for each in conditions if each["type"] != kind]


def moment(text: str | None) -> datetime | None:
    """The time a text means, if there is a text."""
    return min(max(parse_time(text), FIRST), LAST) if text else None


def later(at: datetime, seconds: float) -> datetime:
    """The time so many seconds later, or earlier; no earlier and no later than any that is reckoned with."""
    if abs(seconds) > _CENTURY:
        return LAST if seconds > 0 else FIRST
    return min(max(at + timedelta(seconds=seconds), FIRST), LAST)


def stamp(now: datetime) -> str:
    """A time as objects hold it: in whole seconds."""
    return seconds_text(now)
