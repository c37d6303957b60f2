"""Is an object what it must be? What the server would say of it, on creation and on update. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trimtab.apiserver import scales
from trimtab.apiserver.catalog import Served
from trimtab.apiserver.definitions import CLEANUP
from trimtab.kube.gotext import quoted
from trimtab.kube.refusals import Cause
from trimtab.kube.schemas import validation
from trimtab.kube.schemas.validation.causes import invalid
from trimtab.kube.schemas.validation.metadata import IMMUTABLE

Json = dict[str, Any]
WHOLE = "[]"  # how the server names the object as a whole
#: kinds that leave it to the rule for all that only a deletion says when an object ends
ONCE = frozenset({("", "PersistentVolume")})
#: lists and maps that are nothing when they are empty, except to those who judge them
STATED: Mapping[tuple[str, str], tuple[tuple[str, ...], ...]] = {
    **dict.fromkeys(
        [("apps", kind) for kind in ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet")],
        (("spec", "template", "metadata", "labels"),),
    ),
    ("", "ConfigMap"): (("binaryData",),),
    ("", "Secret"): (("data",),),
    ("", "Pod"): (
        ("spec", "affinity", "nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution"),
        ("spec", "hostAliases"),
        ("spec", "imagePullSecrets"),
        ("spec", "nodeSelector"),
        ("spec", "topologySpreadConstraints"),
        ("spec", "volumes"),
    ),
    ("", "PersistentVolumeClaim"): (
        ("spec", "accessModes"),
        ("spec", "resources", "limits"),
        ("spec", "resources", "requests"),
    ),
    ("batch", "Job"): (("spec", "successPolicy", "rules"),),
}


def creation_causes(manifest: Json, served: Served) -> list[Cause]:
    """What is wrong with a new object."""
    found = validation.creation_causes(manifest, served.schema, namespaced=served.namespaced)
    return [*map(_told, found), *_scale_causes(manifest, served)]


def as_judged(new: Json, manifest: Json, served: Served) -> Json:
    """An object with the empty lists and maps that the request states, where they count."""
    for place in STATED.get((served.group, served.kind), ()):
        if (empty := _at(manifest, place)) in ([], {}):
            new = _with(new, place, empty)
    return new


def _at(value: Any, place: tuple[str, ...]) -> Any:
    for name in place:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _with(value: Json, place: tuple[str, ...], empty: Any) -> Json:
    """The value with something empty at a place where there is nothing."""
    name, *rest = place
    if rest:
        return {**value, name: _with(value.get(name) or {}, tuple(rest), empty)}
    return value if value.get(name) else {**value, name: empty}


def update_causes(new: Json, live: Json, served: Served, subresource: str = "") -> list[Cause]:
    """What is wrong with a change; metadata is judged twice, once for all kinds and once for each.

    The server's own finalizer of definitions is no name that others may use.
    """
    before = live["metadata"]
    general = [
        *validation.common_causes(new, live, namespaced=served.namespaced),
        *_fixed_end(new["metadata"], before),
    ]
    status_only = subresource == "status"
    own = [
        *(() if (served.group, served.kind) in ONCE else _fixed_end(new["metadata"], before)),
        *validation.update_causes(new, live, served.schema, subresource),
    ]
    told = [_told(cause) for cause in (*general, *own) if quoted(CLEANUP) not in cause.message]
    return [*told, *_scale_causes(new, served, status_only=status_only)]


def _scale_causes(manifest: Json, served: Served, *, status_only: bool = False) -> Iterator[Cause]:
    """What is wrong with the fields that the scale of a custom resource is made of."""
    if served.custom and served.scale is not None:
        yield from scales.causes(manifest, served.scale, status_only=status_only)


def _fixed_end(new: Json, before: Json) -> Iterator[validation.Cause]:
    """Only a deletion says when an object ends."""
    for name in ("deletionTimestamp", "deletionGracePeriodSeconds"):
        if new.get(name) != before.get(name):
            yield invalid(f"metadata.{name}", new.get(name), IMMUTABLE)


def _told(cause: validation.Cause) -> Cause:
    return Cause(reason=cause.reason, message=cause.message, field=cause.field or WHOLE)
