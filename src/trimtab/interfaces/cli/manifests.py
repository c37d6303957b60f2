"""Manifests as verbs print them: whole, as `kubectl apply` takes them, or one row or name for each. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trimtab.interfaces.cli.output import Listing, encoded, shown
from trimtab.resources.tables import Column, Paper

if TYPE_CHECKING:
    from trimtab.resources.keys import ResourceKey
    from trimtab.resources.manifests import Manifest

_COLUMNS = (
    Column("KIND", least=6, spare=1),
    Column("NAMESPACE", spare=3),
    Column("NAME", names=True),
    Column("API VERSION", spare=2, wide=True),
)


def manifests_shown(manifests: Sequence[Manifest], output: str, paper: Paper) -> str:
    """The manifests in one of the forms of all verbs, with what ends the last line.

    In JSON they are one List, because a file of JSON is one document, and kubectl takes no bare array.
    """
    if output == "yaml":
        return "---\n".join(f"{encoded(each, output)}\n" for each in manifests)
    from trimtab.app.naming import short_name

    rows = [_row(each) for each in manifests]
    names = [short_name(_key(each)) for each in manifests]
    together = {"apiVersion": "v1", "kind": "List", "items": list(manifests)}
    text = shown(Listing(_COLUMNS, rows, names, together), output, paper)
    return f"{text}\n" if text else ""


def _row(manifest: Manifest) -> tuple[str, ...]:
    key = _key(manifest)
    kind = f"{key.kind}.{key.group}" if key.group else key.kind
    return (kind, key.namespace or "-", key.name, str(manifest["apiVersion"]))


def _key(manifest: Manifest) -> ResourceKey:
    """What a manifest is about; of a name that a server is to choose, its beginning."""
    from msgspec.structs import replace

    from trimtab.resources.manifests import generate_name
    from trimtab.sources.rendering.rendered import name_of

    key = name_of(manifest, "")
    return key if key.name else replace(key, name=generate_name(manifest))
