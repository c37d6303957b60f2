"""Is an object what it must be? What the server would say of it, on creation and on update. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trimtab.apiserver.catalog import Served, field
from trimtab.apiserver.definitions import CLEANUP, GROUP, KIND
from trimtab.apiserver.scales import LARGEST, not_a_number
from trimtab.kube.gotext import quoted
from trimtab.kube.refusals import Cause
from trimtab.kube.schemas import validation
from trimtab.kube.schemas.validation.causes import invalid
from trimtab.kube.schemas.validation.definitions import definition
from trimtab.kube.schemas.validation.metadata import IMMUTABLE, metadata_update

Json = dict[str, Any]
WHOLE = "[]"  # how the server names the object as a whole
#: kinds that leave the judgement of metadata to the rule for all
ONCE = frozenset({("", "PersistentVolume"), ("", "LimitRange"), ("policy", "PodDisruptionBudget")})


def creation_causes(manifest: Json, served: Served) -> list[Cause]:
    """What is wrong with a new object."""
    found = validation.creation_causes(manifest, served.schema, namespaced=served.namespaced)
    return list(map(_told, [*found, *_scale_causes(manifest, served, ("wanted", "seen"))]))


def update_causes(new: Json, live: Json, served: Served, subresource: str = "") -> list[Cause]:
    """What is wrong with a change; metadata is judged twice, once for all kinds and once for each.

    The server's own finalizer of definitions is no name that others may use.
    """
    before = live["metadata"]
    if (served.group, served.kind) in ONCE:
        return list(map(_told, validation.update_causes(new, live, served.schema)))
    general = [*_fixed_end(new["metadata"], before), *metadata_update(new["metadata"], before)]
    status_only = served.custom and subresource == "status"
    own = [
        *_fixed_end(new["metadata"], before),
        *validation.update_causes(new, live, served.schema, status_only=status_only),
        *_scale_causes(new, served, ("seen",) if status_only else ("wanted", "seen")),
    ]
    if (served.group, served.kind) == (GROUP, KIND):
        own.extend(definition(new))
    return [_told(cause) for cause in (*general, *own) if quoted(CLEANUP) not in cause.message]


def _scale_causes(manifest: Json, served: Served, parts: tuple[str, ...]) -> Iterator[validation.Cause]:
    """What is wrong with the numbers that the scale of a custom resource is made of."""
    if not served.custom or served.scale is None:
        return
    for part in parts:
        path: str = getattr(served.scale, part)
        if told := not_a_number(manifest, path):
            yield invalid(path, 0, told)
            continue
        number = field(manifest, path) or 0
        if number < 0:
            yield invalid(path, number, "should be a non-negative integer")
        elif number > LARGEST:
            yield invalid(path, number, f"should be less than or equal to {LARGEST}")


def _fixed_end(new: Json, before: Json) -> Iterator[validation.Cause]:
    """Only a deletion says when an object ends."""
    for name in ("deletionTimestamp", "deletionGracePeriodSeconds"):
        if new.get(name) != before.get(name):
            yield invalid(f"metadata.{name}", new.get(name), IMMUTABLE)


def _told(cause: validation.Cause) -> Cause:
    return Cause(reason=cause.reason, message=cause.message, field=cause.field or WHOLE)
