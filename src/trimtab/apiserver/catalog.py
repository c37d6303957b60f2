"""Which kinds are served, and how: the built-in ones, and those that custom resource definitions add.

A `Served` is one kind in one version. Objects of all versions of a kind lie in one collection of the
store, in the version that is named there. The catalogue changes only through `define` and `forget`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from msgspec import Struct

from trimtab.apiserver.store import Collection
from trimtab.kube.schemas.defaults import EMPTY
from trimtab.kube.schemas.kinds import Resource as Known
from trimtab.kube.schemas.kinds import Subresource, built_in
from trimtab.kube.schemas.schema import ANYTHING, MICRO_TIME, TIME, Schema

# Kinds that two groups show: the objects are kept where the second one says.
SHARED: Mapping[Collection, tuple[Collection, str]] = {
    ("events.k8s.io", "events"): (("", "events"), "v1"),
}
DEPRECATED: Mapping[tuple[str, str], str] = {
    ("", "ComponentStatus"): "v1 ComponentStatus is deprecated in v1.19+",
    ("", "Endpoints"): "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
}
DEEPEST = 8  # structs in structs; schemas may contain themselves


class ScalePaths(Struct, frozen=True, kw_only=True):
    """Where a kind keeps its replicas and their selector."""

    wanted: str
    seen: str
    selector: str = ""


class Served(Struct, frozen=True, kw_only=True, dict=True, eq=False):
    """One kind in one version."""

    group: str
    version: str
    kind: str
    plural: str
    singular: str
    namespaced: bool
    verbs: tuple[str, ...]
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[Subresource, ...] = ()
    storage_hash: str = ""
    list_kind: str = ""
    counts_generation: bool = False
    collection: Collection
    stored_as: str  # the apiVersion in which objects are kept
    declared: Schema | None = None  # of a custom resource
    schemas: Mapping[str, Schema] = {}  # the same for every version of it, also those that are not served
    since: int = 0  # objects kept up to this revision were read by other schemas
    ending: bool = False  # whether its definition is about to go
    scale: ScalePaths | None = None
    selectable: tuple[str, ...] = ()  # JSON paths that a custom resource may be selected by
    deprecation: str = ""  # what users of a deprecated version are warned with

    @cached_property
    def api_version(self) -> str:
        """`apps/v1`, or `v1` for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def custom(self) -> bool:
        """Whether a custom resource definition made it."""
        return self.declared is not None

    @cached_property
    def schema(self) -> Schema:
        """The root node of the kind's schema."""
        return self.declared or built_in().schema(self.group, self.version, self.kind) or ANYTHING

    @cached_property
    def blank(self) -> Mapping[str, Any]:
        """An object with nothing set, as the server holds it: structs of built-in kinds are never absent."""
        head = {"apiVersion": self.api_version, "kind": self.kind}
        return head if self.custom else {**head, **_blank(self.schema)}

    @cached_property
    def has_status(self) -> bool:
        """Whether the status is written apart from the rest."""
        return any(part.name == "status" for part in self.subresources)

    def subresource(self, name: str) -> Subresource | None:
        """The subresource of this name."""
        return next((part for part in self.subresources if part.name == name), None)


class Catalog:
    """All kinds, by address."""

    def __init__(self) -> None:
        self._built_in = {(each.group, each.version, each.plural): each for each in _built_in()}
        self._custom: dict[str, tuple[Served, ...]] = {}
        self._found = dict(self._built_in)
        self._versions: dict[str, frozenset[str]] = {}  # by group, worked out when asked for
        self.generation = 0  # counts changes, for those who keep what they made of it

    def find(self, group: str, version: str, plural: str) -> Served | None:
        """The kind at this address."""
        return self._found.get((group, version, plural))

    def kind(self, group: str, version: str, kind: str) -> Served | None:
        """The kind of this name."""
        return next(
            (each for each in self if (each.kind, each.group, each.version) == (kind, group, version)),
            None,
        )

    def __iter__(self) -> Iterator[Served]:
        yield from list(self._found.values())

    def collections(self) -> dict[Collection, Served]:
        """One version of every kind whose objects are kept, by collection."""
        kept = (each for each in self if "list" in each.verbs or "get" in each.verbs)
        found: dict[Collection, Served] = {}
        for each in kept:
            if each.collection == (each.group, each.plural) and each.api_version == each.stored_as:
                found[each.collection] = each
        return found

    def versions(self, group: str) -> frozenset[str]:
        """The API versions of one group."""
        known = self._versions.get(group)
        if known is None:
            known = frozenset(each.api_version for each in self if each.group == group)
            self._versions[group] = known
        return known

    def define(self, name: str, served: Iterable[Served]) -> None:
        """Serve a custom resource in these versions, in place of what was served under this name."""
        self._custom[name] = tuple(served)
        self._changed()

    def forget(self, name: str) -> None:
        """Serve a custom resource no longer."""
        if self._custom.pop(name, None) is not None:
            self._changed()

    def _changed(self) -> None:
        self._found = dict(self._built_in)
        self._versions = {}
        for many in self._custom.values():
            self._found |= {(each.group, each.version, each.plural): each for each in many}
        self.generation += 1


def _built_in() -> Iterator[Served]:
    known = built_in()
    preferred = {group.group: group.version for group in known.groups if group.preferred}
    for group in known.groups:
        for resource in group.resources:
            yield _served(group.group, group.version, preferred[group.group], resource)


def _served(group: str, version: str, preferred: str, known: Known) -> Served:
    collection, stored = SHARED.get((group, known.name), ((group, known.name), ""))
    return Served(
        group=group,
        version=version,
        kind=known.kind,
        plural=known.name,
        singular=known.singular,
        namespaced=known.namespaced,
        verbs=known.verbs,
        short_names=known.short_names,
        categories=known.categories,
        subresources=known.subresources,
        storage_hash=known.storage_hash,
        list_kind=f"{known.kind}List",
        counts_generation=known.generation,
        collection=collection,
        deprecation=DEPRECATED.get((group, known.kind), ""),
        stored_as=stored or (f"{group}/{preferred}" if group else preferred),
    )


def _blank(schema: Schema, depth: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, node in schema.fields():
        if node.is_struct and depth < DEEPEST:
            found[name] = _blank(node, depth + 1)
        elif node.is_written:
            found[name] = None if node.model in (TIME, MICRO_TIME) else EMPTY.get(node.type)
    return found


def field(manifest: Mapping[str, Any], path: str) -> Any:
    """What stands at a simple path such as `.spec.replicas`; None where nothing does."""
    value: Any = manifest
    for name in path.strip(".").split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value
