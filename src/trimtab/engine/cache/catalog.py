"""Which kinds a cluster serves, kept up to date from the very objects that declare them. Pure.

A whole discovery is read at the start and rarely afterwards. What a CustomResourceDefinition declares can be
read from it, so its coming and going changes the catalog without asking the server anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

import msgspec
from msgspec import Struct

from trimtab.errors import InvalidSpec, Missing
from trimtab.kube.discovery import Discovery, Resource

CRD_GROUP, CRD_KIND = "apiextensions.k8s.io", "CustomResourceDefinition"
SERVICE_GROUP, SERVICE_KIND = "apiregistration.k8s.io", "APIService"

_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_VERSION = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")
_STAGES = {None: 2, "beta": 1, "alpha": 0}


class Catalog(Struct, frozen=True):
    """Every kind by group and name: all versions it is served in, the preferred one first."""

    kinds: Mapping[tuple[str, str], tuple[Resource, ...]] = {}

    def resources(self) -> Iterator[Resource]:
        """Every version of every kind."""
        for versions in self.kinds.values():
            yield from versions

    def preferred_ones(self) -> Iterator[Resource]:
        """Every kind, in the version the server prefers."""
        for versions in self.kinds.values():
            yield versions[0]

    def preferred(self, group: str, kind: str) -> Resource | None:
        """The kind in the version the server prefers."""
        versions = self.kinds.get((group, kind))
        return versions[0] if versions else None

    def namespaced(self, group: str, kind: str) -> bool | None:
        """Whether objects of this kind live in namespaces; None where nobody knows."""
        found = self.preferred(group, kind)
        return None if found is None else found.namespaced

    def resource(self, api_version: str, kind: str, verb: str = "") -> Resource:
        """The kind in exactly this version; with a `verb`, only if the server offers that."""
        group = api_version.rpartition("/")[0]
        versions = self.kinds.get((group, kind), ())
        found = next((each for each in versions if each.api_version == api_version), None)
        if found is None:
            served = ", ".join(each.api_version for each in versions)
            reason = f"it is served as {served} only" if served else "the cluster serves no such kind"
            raise Missing(f"{kind} {api_version}", reason, "Install what declares it, or correct apiVersion.")
        if verb and verb not in {each.lower() for each in found.verbs}:
            reason = f"the cluster does not offer {verb} for it"
            raise InvalidSpec(f"{kind} {api_version}", reason, "Choose another kind.")
        return found


def catalog_of(found: Discovery, before: Catalog | None = None) -> Catalog:
    """The catalog in a discovery; groups that did not answer keep what was known of them before."""
    lost = [each for each in (before.resources() if before else ()) if each.api_version in found.failed]
    return Catalog(_by_kind((*found.resources, *lost)))


def _by_kind(resources: Iterable[Resource]) -> dict[tuple[str, str], tuple[Resource, ...]]:
    kinds: dict[tuple[str, str], dict[str, Resource]] = {}
    for each in resources:
        kinds.setdefault((each.group, each.kind), {}).setdefault(each.version, each)
    return {kind: tuple(versions.values()) for kind, versions in kinds.items()}


class Definition(Struct, frozen=True):
    """What one CustomResourceDefinition makes the server serve; no resources while it does not."""

    group: str
    kind: str
    resources: tuple[Resource, ...]


def with_definitions(catalog: Catalog, definitions: Iterable[Definition]) -> Catalog:
    """The catalog with these definitions as they are now.

    Two may declare the same kind; the server lets one have it, and what it says of the other hides nothing.
    """
    kinds = dict(catalog.kinds)
    for each in sorted(definitions, key=lambda one: bool(one.resources)):
        if each.resources:
            kinds[each.group, each.kind] = each.resources
        else:
            kinds.pop((each.group, each.kind), None)
    return Catalog(kinds)


class _Names(Struct, frozen=True, rename="camel"):
    plural: str = ""
    kind: str = ""
    singular: str = ""
    short_names: tuple[str, ...] | None = None
    categories: tuple[str, ...] | None = None


class _Version(Struct, frozen=True):
    name: str = ""
    served: bool = False
    subresources: dict[str, msgspec.Raw] | None = None


class _Spec(Struct, frozen=True):
    group: str = ""
    names: _Names = _Names()
    scope: str = "Namespaced"
    versions: tuple[_Version, ...] = ()


class _Condition(Struct, frozen=True):
    type: str = ""
    status: str = ""


class _Status(Struct, frozen=True):
    conditions: tuple[_Condition, ...] | None = None


class _Definition(Struct, frozen=True):
    spec: _Spec
    status: _Status = _Status()


_definition = msgspec.json.Decoder(_Definition)


def definition_from(raw: bytes) -> Definition:
    """What a CustomResourceDefinition says that the server serves: nothing before it is established."""
    read = _definition.decode(raw)
    spec, names = read.spec, read.spec.names
    served = [each for each in spec.versions if each.served] if _holds(read.status, "Established") else []
    served.sort(key=lambda each: priority(each.name), reverse=True)
    return Definition(
        spec.group,
        names.kind,
        tuple(
            Resource(
                group=spec.group,
                version=each.name,
                kind=names.kind,
                plural=names.plural,
                namespaced=spec.scope == "Namespaced",
                verbs=_VERBS,
                subresources=tuple(each.subresources or ()),
                singular=names.singular,
                short_names=names.short_names or (),
                categories=names.categories or (),
            )
            for each in served
        ),
    )


def _holds(status: _Status, condition: str) -> bool:
    return any(each.type == condition and each.status == "True" for each in status.conditions or ())


def priority(version: str) -> tuple[int, ...]:
    """How a server ranks versions: finished before beta before alpha, then by number; others come last."""
    found = _VERSION.fullmatch(version)
    if found is None:
        return (-1, *(-ord(letter) for letter in version), 1)  # of those, the first in the alphabet
    return (_STAGES[found[2]], int(found[1]), int(found[3] or 0))


class ApiService(Struct, frozen=True):
    """A group version that another server answers for, and whether it does."""

    group: str
    version: str
    is_local: bool
    is_available: bool


class _ServiceSpec(Struct, frozen=True):
    group: str = ""
    version: str = ""
    service: dict[str, msgspec.Raw] | None = None


class _Service(Struct, frozen=True):
    spec: _ServiceSpec
    status: _Status = _Status()


_service = msgspec.json.Decoder(_Service)


def api_service_from(raw: bytes) -> ApiService:
    """What an APIService says; it counts as available only if it says so."""
    read = _service.decode(raw)
    # Without a service the API server itself answers: such entries tell nothing that CRDs do not.
    is_local = read.spec.service is None
    return ApiService(read.spec.group, read.spec.version, is_local, _holds(read.status, "Available"))


_GIT_VERSION = re.compile(r"v?(\d+)\.(\d+)\.(\d+)")


def plain_version(git_version: str) -> str:
    """A server's version as `v1.36.3`, without what vendors append."""
    found = _GIT_VERSION.match(git_version)
    return f"v{found[1]}.{found[2]}.{found[3]}" if found else git_version
