"""The names of apps and objects, as programs and as kubectl have them. Pure."""

from __future__ import annotations

from typing import Final

from trimtab.resources.keys import ResourceKey

_APP: Final = "app/"


def app_name(app: str) -> str:
    """The name of an app as it is printed where all names say their kind: `app/shop`."""
    return f"{_APP}{app}"


def app_printed(name: str) -> str:
    """The app whose name was printed so; empty if it is no such name."""
    return name.removeprefix(_APP) if name.startswith(_APP) else ""


def key_report(key: ResourceKey) -> dict[str, str]:
    """The name of an object, part by part."""
    return {"group": key.group, "kind": key.kind, "namespace": key.namespace, "name": key.name}


def short_name(key: ResourceKey) -> str:
    """The name of an object as kubectl prints and takes it: `deployment.apps/web`."""
    kind = f"{key.kind}.{key.group}" if key.group else key.kind
    return f"{kind.lower()}/{key.name}"
