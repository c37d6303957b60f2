"""The names of objects, as programs and as kubectl have them. Pure."""

from __future__ import annotations

from trimtab.resources.keys import ResourceKey


def key_report(key: ResourceKey) -> dict[str, str]:
    """The name of an object, part by part."""
    return {"group": key.group, "kind": key.kind, "namespace": key.namespace, "name": key.name}


def short_name(key: ResourceKey) -> str:
    """The name of an object as kubectl prints and takes it: `deployment.apps/web`."""
    kind = f"{key.kind}.{key.group}" if key.group else key.kind
    return f"{kind.lower()}/{key.name}"
