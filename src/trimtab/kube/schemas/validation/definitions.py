"""What is wrong with a CustomResourceDefinition, and what may not be changed in one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trimtab.kube.gotext import Shown
from trimtab.kube.schemas.validation.causes import (
    Causes,
    each_invalid,
    entries,
    invalid,
    not_supported,
    part,
    required,
)
from trimtab.kube.schemas.validation.metadata import IMMUTABLE
from trimtab.kube.schemas.validation.names import dns_1035_label, dns_subdomain
from trimtab.kube.schemas.validation.structural import structural

Json = Mapping[str, Any]
SCOPES = ("Cluster", "Namespaced")


def definition(manifest: Json) -> Causes:
    """What is wrong with a CRD."""
    spec = part(manifest, "spec")
    names, group = part(spec, "names"), spec.get("group", "")
    if part(manifest, "metadata").get("name") != f"{names.get('plural', '')}.{group}":
        told = 'must be spec.names.plural+"."+spec.group'
        yield invalid("metadata.name", part(manifest, "metadata").get("name", ""), told)
    yield from _group(group)
    if not spec.get("scope"):
        yield required("spec.scope")
    elif spec["scope"] not in SCOPES:
        yield not_supported("spec.scope", spec["scope"], SCOPES)
    yield from _versions(spec)
    yield from _names(names)
    yield from _schemas(spec)
    stored = [version for version in spec.get("versions") or () if version.get("storage")]
    if len(stored) != 1:
        yield invalid("status.storedVersions", None, "must have at least one stored version")


def _group(group: str) -> Causes:
    if not group:
        yield required("spec.group")
        return
    wrong = dns_subdomain(group)
    yield from each_invalid("spec.group", group, wrong)
    if not wrong and "." not in group:
        yield invalid("spec.group", group, "should be a domain with at least one dot")


def _versions(spec: Json) -> Causes:
    versions = spec.get("versions") or []
    for number, version in entries(versions):
        path = f"spec.versions[{number}]"
        if "openAPIV3Schema" not in part(version, "schema"):
            yield required(f"{path}.schema.openAPIV3Schema")
        name = version.get("name", "")
        yield from each_invalid(f"{path}.name", name, dns_1035_label(name))
    if sum(bool(version.get("storage")) for version in versions) != 1:
        shown = [_shown(version) for version in versions]
        yield invalid("spec.versions", shown, "must have exactly one version marked as storage version")
    for version in versions[:1]:
        name = version.get("name", "")
        yield from each_invalid("spec.version", name, dns_1035_label(name))


def _shown(version: Json) -> Shown:
    """A version as the server shows its own type."""
    names = ("name", "served", "storage", "deprecated", "deprecationWarning", "schema", "subresources")
    given = {name: version.get(name) for name in (*names, "additionalPrinterColumns", "selectableFields")}
    given |= {"deprecated": bool(version.get("deprecated")), "schema": None}
    return Shown({name[0].upper() + name[1:]: value for name, value in given.items()})


def _names(names: Json) -> Causes:
    for field in ("plural", "singular", "kind", "listKind"):
        name, path = names.get(field, ""), f"spec.names.{field}"
        if not name:
            yield required(path)
        elif field in ("plural", "singular"):
            yield from each_invalid(path, name, dns_1035_label(name))
        else:
            wrong = dns_1035_label(name.lower())
            told = (f"may have mixed case, but should otherwise match: {', '.join(wrong)}",) if wrong else ()
            yield from each_invalid(path, name, told)


def _schemas(spec: Json) -> Causes:
    """Schemas, blamed where the server blames them: at the top if all versions share one."""
    found = [part(version, "schema").get("openAPIV3Schema") for _, version in entries(spec.get("versions"))]
    if found and all(each == found[0] for each in found):
        if found[0] is not None:
            yield from structural(found[0], "spec.validation.openAPIV3Schema")
        return
    for number, schema in enumerate(found):
        if schema is not None:
            yield from structural(schema, f"spec.versions[{number}].schema.openAPIV3Schema")


def definition_update(new: Json, old: Json) -> Causes:
    """What may not be changed in a CRD that is established."""
    spec, before = part(new, "spec"), part(old, "spec")
    for path, value, other in (
        ("spec.group", spec.get("group"), before.get("group")),
        ("spec.scope", spec.get("scope"), before.get("scope")),
        ("spec.names.kind", part(spec, "names").get("kind"), part(before, "names").get("kind")),
        ("spec.names.plural", part(spec, "names").get("plural"), part(before, "names").get("plural")),
    ):
        if value != other:
            yield invalid(path, value, IMMUTABLE)
