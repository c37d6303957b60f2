"""Is an object what it must be? What the server would say of it, on creation and on update. Pure."""

from __future__ import annotations

from typing import Any

from trimtab.apiserver.catalog import Served
from trimtab.apiserver.requests import Address
from trimtab.kube.refusals import Cause

Json = dict[str, Any]


def creation_causes(manifest: Json, served: Served) -> list[Cause]:
    """What is wrong with a new object."""
    del served
    if not manifest["metadata"].get("name"):
        told = "Required value: name or generateName is required"
        return [Cause(reason="FieldValueRequired", message=told, field="metadata.name")]
    return []


def update_causes(new: Json, live: Json, address: Address) -> list[Cause]:
    """What is wrong with a change."""
    del new, live, address
    return []
