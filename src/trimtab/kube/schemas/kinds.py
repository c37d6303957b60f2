"""The built-in kinds of Kubernetes: how they are served, and their schemas; loaded when first asked for.

The data is made by `scripts/make_kinds.py` from a real API server and shipped inside the package.
`docs/kinds-data.md` says what is in it. Descriptions are a second file, since only `explain` wants them.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from trimtab.kube.schemas.schema import Schema

DATA = Path(__file__).parent / "data"
_DESCRIPTIONS: Final = msgspec.json.Decoder(dict[str, dict[str, str]])


class Resource(Struct, frozen=True, kw_only=True, gc=False):
    """One resource of one group version, as discovery tells it."""

    name: str
    singular: str
    kind: str
    namespaced: bool
    verbs: tuple[str, ...]
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    storage_hash: str = ""
    generation: bool = False  # whether its objects count the changes of their spec
    subresources: tuple[Subresource, ...] = ()


class Subresource(Struct, frozen=True, kw_only=True, gc=False):
    """One subresource, such as `status` or `scale`, with the kind that it speaks."""

    name: str
    group: str
    version: str
    kind: str
    verbs: tuple[str, ...]


class GroupVersion(Struct, frozen=True, kw_only=True):
    """One group version that is served by default."""

    group: str
    version: str
    preferred: bool
    resources: tuple[Resource, ...]


class Kinds(Struct, frozen=True, kw_only=True, dict=True):
    """Everything that is known of the built-in kinds of one Kubernetes version."""

    kubernetes: str
    groups: tuple[GroupVersion, ...]
    types: dict[str, dict[str, Any]]

    def schema(self, group: str, version: str, kind: str) -> Schema | None:
        """The root node of a built-in kind; None for a kind that is not built in."""
        model = self.models.get((group, version, kind))
        return self.type(model) if model else None

    def type(self, model: str) -> Schema:
        """The node of a type by its OpenAPI name."""
        if model not in self._nodes:
            self._nodes[model] = Schema({"$ref": model}, self.types)
        return self._nodes[model]

    def resource(self, group: str, version: str, kind: str) -> Resource | None:
        """How a kind is served; None for a kind that is no resource of its own."""
        return self._resources.get((group, version, kind))

    @cached_property
    def models(self) -> Mapping[tuple[str, str, str], str]:
        """Which type each group, version and kind is, those that are no resources included."""
        return {
            (kind["group"], kind["version"], kind["kind"]): model
            for model, raw in self.types.items()
            for kind in raw.get("x-kubernetes-group-version-kind", ())
        }

    @cached_property
    def _nodes(self) -> dict[str, Schema]:
        return {}

    @cached_property
    def _resources(self) -> dict[tuple[str, str, str], Resource]:
        return {
            (group.group, group.version, resource.kind): resource
            for group in self.groups
            for resource in group.resources
        }


_KINDS: Final = msgspec.json.Decoder(Kinds)


@cache
def built_in() -> Kinds:
    """The built-in kinds of the Kubernetes version that this package knows."""
    return _KINDS.decode(unpacked("kinds.json.z"))


@cache
def descriptions() -> Mapping[str, Mapping[str, str]]:
    """What each type (under the empty name) and its fields are for, in the server's words."""
    return _DESCRIPTIONS.decode(unpacked("descriptions.json.z"))


def unpacked(name: str) -> bytes:
    """A file of the data beside this module."""
    return zlib.decompress((DATA / name).read_bytes())
