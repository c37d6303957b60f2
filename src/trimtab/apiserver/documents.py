"""What the server says of itself: its version, its kinds (discovery), and their schemas (OpenAPI). Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from trimtab.apiserver.catalog import Catalog, Served
from trimtab.apiserver.definitions import version_rank
from trimtab.apiserver.openapi import document
from trimtab.kube.discovery import Discovery, Resource
from trimtab.kube.schemas.kinds import Subresource, built_in

Json = dict[str, Any]
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def version_facts() -> Json:
    """What `/version` says."""
    release = built_in().kubernetes
    major, minor = release.removeprefix("v").split(".")[:2]
    return {
        "major": major,
        "minor": minor,
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": str(int(minor) - 1),
        "gitVersion": release,
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "",
        "platform": "linux/amd64",
    }


# -- groups and versions ----------------------------------------------------------------------------------


def groups(catalog: Catalog) -> dict[str, dict[str, list[Served]]]:
    """All kinds by group and version, the versions that the server prefers first."""
    found: dict[str, dict[str, list[Served]]] = {}
    for served in catalog:
        found.setdefault(served.group, {}).setdefault(served.version, []).append(served)
    return {
        group: {version: versions[version] for version in sorted(versions, key=version_rank)}
        for group, versions in found.items()
    }


def discovered(catalog: Catalog) -> Discovery:
    """The same as clients in process like it."""
    every = (served for versions in groups(catalog).values() for many in versions.values() for served in many)
    return Discovery(resources=tuple(map(resource_of, every)))


def resource_of(served: Served) -> Resource:
    """How a client addresses a kind."""
    return Resource(
        group=served.group,
        version=served.version,
        kind=served.kind,
        plural=served.plural,
        namespaced=served.namespaced,
        verbs=served.verbs,
        subresources=tuple(part.name for part in served.subresources),
        singular=served.singular,
        short_names=served.short_names,
        categories=served.categories,
    )


def core_versions() -> Json:
    """What `/api` says."""
    addresses = [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1"}]
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": addresses}


def group_list(catalog: Catalog) -> Json:
    """What `/apis` says."""
    named = [_group(name, versions) for name, versions in groups(catalog).items() if name]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": named}


def one_group(catalog: Catalog, name: str) -> Json | None:
    """What `/apis/<group>` says."""
    versions = groups(catalog).get(name)
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(name, versions)} if versions else None


def _group(name: str, versions: Iterable[str]) -> Json:
    known = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": known, "preferredVersion": known[0]}


def resource_list(catalog: Catalog, group: str, version: str) -> Json | None:
    """What `/apis/<group>/<version>` says."""
    many = groups(catalog).get(group, {}).get(version)
    if many is None:
        return None
    resources = [line for served in many for line in _lines(served)]
    name = f"{group}/{version}" if group else version
    head = {"kind": "APIResourceList", **({"apiVersion": "v1"} if group else {})}
    return {**head, "groupVersion": name, "resources": resources}


def _lines(served: Served) -> Iterator[Json]:
    """A kind and its parts, a line each."""
    line: Json = {
        "name": served.plural,
        "singularName": served.singular,
        "namespaced": served.namespaced,
        "kind": served.kind,
        "verbs": served.verbs,
    }
    if served.short_names:
        line["shortNames"] = served.short_names
    if served.categories:
        line["categories"] = served.categories
    if served.storage_hash:
        line["storageVersionHash"] = served.storage_hash
    yield line
    for part in served.subresources:
        yield {
            "name": f"{served.plural}/{part.name}",
            "singularName": "",
            "namespaced": served.namespaced,
            **_foreign(served, part),
            "kind": part.kind,
            "verbs": part.verbs,
        }


def _foreign(served: Served, part: Subresource) -> dict[str, str]:
    """The group and version of a part that speaks another one than its kind."""
    foreign = (part.group, part.version) not in ((served.group, served.version), ("", ""))
    return {"group": part.group, "version": part.version} if foreign else {}


# -- aggregated -------------------------------------------------------------------------------------------


def aggregated(catalog: Catalog, *, core: bool) -> Json:
    """All of the core group, or of all other groups, in one document."""
    items = [
        {
            "metadata": {"name": name} if name else {},
            "versions": [
                {
                    "version": version,
                    "resources": [_aggregated(served) for served in many],
                    "freshness": "Current",
                }
                for version, many in versions.items()
            ],
        }
        for name, versions in groups(catalog).items()
        if (name == "") is core
    ]
    head = {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}}
    return {**head, "items": items}


def _aggregated(served: Served) -> Json:
    line: Json = {
        "resource": served.plural,
        "responseKind": _response_kind(served, served.group, served.version, served.kind),
        "scope": "Namespaced" if served.namespaced else "Cluster",
        "singularResource": served.singular,
        "verbs": served.verbs,
    }
    if served.short_names:
        line["shortNames"] = served.short_names
    if served.categories:
        line["categories"] = served.categories
    if served.subresources:
        line["subresources"] = [
            {
                "subresource": part.name,
                "responseKind": _response_kind(served, part.group, part.version, part.kind),
                "verbs": part.verbs,
            }
            for part in served.subresources
        ]
    return line


def _response_kind(served: Served, group: str, version: str, kind: str) -> dict[str, str]:
    """The kind that an answer has; built-in kinds leave out a group and version that are their own."""
    own = (group, version) in ((served.group, served.version), ("", ""))
    if own and not served.custom:
        return {"group": "", "version": "", "kind": kind}
    return {"group": group, "version": version, "kind": kind}


# -- OpenAPI ----------------------------------------------------------------------------------------------


def schema_index(catalog: Catalog) -> Json:
    """What `/openapi/v3` says: where the schemas of each group version are, by a name of their content."""
    paths = {}
    for group, versions in groups(catalog).items():
        for version, many in versions.items():
            path = f"apis/{group}/{version}" if group else f"api/{version}"
            paths[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={_content_name(many)}"}
    return {"paths": paths}


def _content_name(many: Iterable[Served]) -> str:
    digest = hashlib.sha512(built_in().kubernetes.encode())
    for served in many:
        digest.update(f"{served.api_version}/{served.plural}".encode())
        if served.custom:
            digest.update(msgspec.json.encode(served.schema.rules))
    return digest.hexdigest().upper()


def group_version_document(catalog: Catalog, api_version: str) -> bytes | None:
    """The schemas of one group version."""
    group, _, version = api_version.rpartition("/")
    many = groups(catalog).get(group, {}).get(version)
    return msgspec.json.encode(document(many)) if many else None


def paths(catalog: Catalog) -> Iterator[str]:
    """Where the server says something of itself."""
    yield from ("/api", "/apis", "/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version")
    for group, versions in groups(catalog).items():
        root = f"/apis/{group}" if group else "/api"
        yield from (f"{root}/{version}" for version in versions)
        if group:
            yield root


def answers_any_method(path: str) -> bool:
    """Whether a document is told however it is asked for: so are the list of paths, and the groups."""
    return path in ("/", "/apis") or (path.startswith("/apis/") and path.count("/") == 2)


def found_document(catalog: Catalog, path: str) -> Mapping[str, Any] | None:
    """The discovery document at a path, if one is there."""
    parts = [part for part in path.split("/") if part]
    match parts:
        case []:
            return {"paths": sorted(paths(catalog))}
        case ["api"]:
            return core_versions()
        case ["apis"]:
            return group_list(catalog)
        case ["api", version]:
            return resource_list(catalog, "", version)
        case ["apis", group]:
            return one_group(catalog, group)
        case ["apis", group, version]:
            return resource_list(catalog, group, version)
        case _:
            return None
