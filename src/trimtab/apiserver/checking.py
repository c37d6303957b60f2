"""Is an object what it must be? What the server would say of it, on creation and on update. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trimtab.apiserver.catalog import Served
from trimtab.kube import validation
from trimtab.kube.refusals import Cause
from trimtab.kube.validation.causes import invalid
from trimtab.kube.validation.metadata import IMMUTABLE, metadata_update

Json = dict[str, Any]


def creation_causes(manifest: Json, served: Served) -> list[Cause]:
    """What is wrong with a new object."""
    found = validation.creation_causes(manifest, served.schema, namespaced=served.namespaced)
    return list(map(_told, found))


def update_causes(new: Json, live: Json, served: Served) -> list[Cause]:
    """What is wrong with a change; metadata is judged twice, once for all kinds and once for each."""
    before = live["metadata"]
    general = [*_fixed_end(new["metadata"], before), *metadata_update(new["metadata"], before)]
    own = [*_fixed_end(new["metadata"], before), *validation.update_causes(new, live, served.schema)]
    return list(map(_told, (*general, *own)))


def _fixed_end(new: Json, before: Json) -> Iterator[validation.Cause]:
    """Only a deletion says when an object ends."""
    for name in ("deletionTimestamp", "deletionGracePeriodSeconds"):
        if new.get(name) != before.get(name):
            yield invalid(f"metadata.{name}", new.get(name), IMMUTABLE)


def _told(cause: validation.Cause) -> Cause:
    return Cause(reason=cause.reason, message=cause.message, field=cause.field)
