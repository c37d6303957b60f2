"""What an API server serves: its kinds, their scope and verbs, and which groups did not answer.

Pure: reads discovery documents, aggregated (one request for all groups) or legacy (one per group version).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from typing import Final
from urllib.parse import quote

import msgspec
from msgspec import Struct, field

from trimtab.errors import InvalidSpec

AGGREGATED = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,"
    "application/json"
)
#: what stands in a URL as it is
_PLAIN = re.compile(r"[A-Za-z0-9._~-]+").fullmatch
#: parts that lead to another place than they name
_ELSEWHERE = frozenset({".", ".."})


class Resource(Struct, frozen=True, kw_only=True):
    """One kind in one version, as it is addressed in URLs."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    verbs: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()

    @property
    def api_version(self) -> str:
        """`apps/v1`, or `v1` for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def full_kind(self) -> str:
        """`Deployment.apps`, or `Pod` for the core group."""
        return f"{self.kind}.{self.group}" if self.group else self.kind

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The URL path of the collection, of one object, or of a part of it."""
        parts = ["namespaces", namespace] if namespace and self.namespaced else []
        parts += [self.plural, *(part for part in (name, subresource) if part)]
        return "/".join([group_version_path(self.api_version), *map(_segment, parts)])


def namespaced_v1(group: str, kind: str, plural: str) -> Resource:
    """A kind that every cluster serves in version v1, within namespaces."""
    return Resource(group=group, version="v1", kind=kind, plural=plural, namespaced=True)


def group_version_path(api_version: str) -> str:
    """`/apis/apps/v1`, or `/api/v1` for the core group."""
    group, slash, version = api_version.partition("/")
    return f"/apis/{_segment(group)}/{_segment(version)}" if slash else f"/api/{_segment(api_version)}"


def _segment(part: str) -> str:
    """One part of a path; refused if it could lead to another place than it names, as Kubernetes does."""
    if _PLAIN(part) and part not in _ELSEWHERE:
        return part  # as nearly all are, and thousands of objects are addressed
    if part in {"", *_ELSEWHERE} or "/" in part or "%" in part:
        raise InvalidSpec(f"the address of {part!r}", "Kubernetes has no such names", "Correct the name.")
    return quote(part, safe="")


class Discovery(Struct, frozen=True, kw_only=True, dict=True):
    """Every resource an API server serves, preferred versions first; `failed` says what did not answer."""

    resources: tuple[Resource, ...]
    failed: Mapping[str, str] = field(default_factory=dict)

    def resource(self, api_version: str, kind: str) -> Resource | None:
        """The resource of exactly this version and kind."""
        return self._by_version.get((api_version, kind))

    def preferred(self, group: str, kind: str) -> Resource | None:
        """The resource of this kind in the version the server prefers."""
        return self._by_group.get((group, kind))

    @cached_property
    def _by_version(self) -> dict[tuple[str, str], Resource]:
        return {(each.api_version, each.kind): each for each in reversed(self.resources)}

    @cached_property
    def _by_group(self) -> dict[tuple[str, str], Resource]:
        return {(each.group, each.kind): each for each in reversed(self.resources)}


class ServerVersion(Struct, frozen=True, kw_only=True, rename="camel"):
    """What an API server says of itself."""

    major: str = ""
    minor: str = ""
    git_version: str = ""
    platform: str = ""


# Go writes null for a list that was never filled, so every list below may be missing or null. Only the one
# that a document is for must be there: in any other JSON one would read that a server serves nothing.

# --- aggregated discovery -----------------------------------------------------------------------------


class _Kind(Struct, frozen=True, kw_only=True):
    group: str = ""
    version: str = ""
    kind: str = ""


class _Subresource(Struct, frozen=True, kw_only=True):
    subresource: str


class _AggregatedResource(Struct, frozen=True, kw_only=True, rename="camel"):
    resource: str
    scope: str
    response_kind: _Kind | None = None
    singular_resource: str = ""
    short_names: tuple[str, ...] | None = None
    categories: tuple[str, ...] | None = None
    verbs: tuple[str, ...] | None = None
    subresources: tuple[_Subresource, ...] | None = None


class _AggregatedVersion(Struct, frozen=True, kw_only=True):
    version: str
    resources: tuple[_AggregatedResource, ...] | None = None
    freshness: str = "Current"


class _Named(Struct, frozen=True, kw_only=True):
    name: str = ""


class _AggregatedGroup(Struct, frozen=True, kw_only=True):
    metadata: _Named = _Named()
    versions: tuple[_AggregatedVersion, ...] | None = None


class _Aggregated(Struct, frozen=True, kw_only=True):
    items: tuple[_AggregatedGroup, ...] | None


_AGGREGATED: Final = msgspec.json.Decoder(_Aggregated)


def is_aggregated(body: bytes) -> bool:
    """Whether the server answered with the aggregated form that was asked for first."""
    return _KIND_ONLY.decode(body).kind == "APIGroupDiscoveryList"


class _KindOnly(Struct, frozen=True):
    kind: str = ""


_KIND_ONLY: Final = msgspec.json.Decoder(_KindOnly)


def aggregated(*bodies: bytes) -> Discovery:
    """The discovery in aggregated documents, of `/api` and `/apis`."""
    groups = [group for body in bodies for group in _AGGREGATED.decode(body).items or ()]
    failed = {
        _joined(group.metadata.name, version.version): "its server does not answer"
        for group in groups
        for version in group.versions or ()
        if version.freshness == "Stale"
    }
    resources = tuple(
        _resource_from_aggregated(group.metadata.name, version.version, each)
        for group in groups
        for version in group.versions or ()
        for each in version.resources or ()
        if each.response_kind is not None
    )
    return Discovery(resources=resources, failed=failed)


def _resource_from_aggregated(group: str, version: str, served: _AggregatedResource) -> Resource:
    return Resource(
        group=group,
        version=version,
        kind=served.response_kind.kind if served.response_kind else "",
        plural=served.resource,
        namespaced=served.scope == "Namespaced",
        verbs=served.verbs or (),
        subresources=tuple(each.subresource for each in served.subresources or ()),
        singular=served.singular_resource,
        short_names=served.short_names or (),
        categories=served.categories or (),
    )


# --- legacy discovery ---------------------------------------------------------------------------------


class _GroupVersion(Struct, frozen=True, kw_only=True, rename={"group_version": "groupVersion"}):
    group_version: str


class _Group(Struct, frozen=True, kw_only=True, rename="camel"):
    versions: tuple[_GroupVersion, ...] | None = None
    preferred_version: _GroupVersion | None = None


class _Groups(Struct, frozen=True, kw_only=True):
    groups: tuple[_Group, ...] | None


_GROUPS: Final = msgspec.json.Decoder(_Groups)


class _CoreVersions(Struct, frozen=True, kw_only=True):
    versions: tuple[str, ...] | None


_CORE_VERSIONS: Final = msgspec.json.Decoder(_CoreVersions)


class _LegacyResource(Struct, frozen=True, kw_only=True, rename="camel"):
    name: str
    kind: str
    namespaced: bool = False
    singular_name: str = ""
    verbs: tuple[str, ...] | None = None
    short_names: tuple[str, ...] | None = None
    categories: tuple[str, ...] | None = None


class _LegacyResources(Struct, frozen=True, kw_only=True):
    resources: tuple[_LegacyResource, ...] | None


_LEGACY_RESOURCES: Final = msgspec.json.Decoder(_LegacyResources)


def group_versions(core: bytes, groups: bytes) -> tuple[str, ...]:
    """The group versions to ask one by one: core first, each group's preferred version before its others."""
    named = _GROUPS.decode(groups).groups or ()
    return (
        *(_CORE_VERSIONS.decode(core).versions or ()),
        *(version for group in named for version in _preferred_first(group)),
    )


def _preferred_first(group: _Group) -> Iterator[str]:
    preferred = group.preferred_version.group_version if group.preferred_version else ""
    if preferred:
        yield preferred
    yield from (each.group_version for each in group.versions or () if each.group_version != preferred)


def legacy(api_version: str, body: bytes) -> tuple[Resource, ...]:
    """The resources in the document of one group version."""
    return tuple(_legacy(api_version, _LEGACY_RESOURCES.decode(body).resources or ()))


def _legacy(api_version: str, served: Collection[_LegacyResource]) -> Iterator[Resource]:
    group, _, version = api_version.rpartition("/")
    for each in served:
        if "/" in each.name:
            continue
        prefix = f"{each.name}/"
        yield Resource(
            group=group,
            version=version,
            kind=each.kind,
            plural=each.name,
            namespaced=each.namespaced,
            verbs=each.verbs or (),
            subresources=tuple(part.name[len(prefix) :] for part in served if part.name.startswith(prefix)),
            singular=each.singular_name,
            short_names=each.short_names or (),
            categories=each.categories or (),
        )


def _joined(group: str, version: str) -> str:
    return f"{group}/{version}" if group else version
