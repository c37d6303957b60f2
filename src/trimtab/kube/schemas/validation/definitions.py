"""What is wrong with a CustomResourceDefinition, and what may not be changed in one.

The server judges its own form of a definition: what all versions share stands once, at the top of the spec.
Schemas are judged by `openapi`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from trimtab.kube.gotext import Shown
from trimtab.kube.schemas.validation.causes import (
    Causes,
    duplicate,
    entries,
    forbidden,
    invalid,
    not_supported,
    part,
    required,
    too_many,
)
from trimtab.kube.schemas.validation.metadata import IMMUTABLE
from trimtab.kube.schemas.validation.names import dns_1035_label, dns_subdomain
from trimtab.kube.schemas.validation.openapi import schema_causes, shown_schema
from trimtab.kube.schemas.validation.webhooks import client_config, review_versions

Json = Mapping[str, Any]
SCOPES = ("Cluster", "Namespaced")
STRATEGIES = ("None", "Webhook")
COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
SELECTABLE = ("boolean", "integer", "string")
MOST_SELECTABLE = 8
#: what a path is cut into: texts in quotes, dots, brackets, and what stands between them
STEP = re.compile(r"'.*?(?<!\\)'|'.*|[.\[\]]|[^.\[\]]+", re.DOTALL)
#: fields to select by stand where the schema stands, at a version or at the top; the words are the server's
WITHOUT_SCHEMA = {
    "schema": "`version.schema.openAPIV3Schema` is not included",
    "validation": "validations.schema is included",
}
LONGEST_WARNING = 256
APPROVAL = "api-approved.kubernetes.io"
PROTECTED = ("k8s.io", "kubernetes.io")
WHY_APPROVED = "see https://github.com/kubernetes/enhancements/pull/1111"
#: what stands at the top of the spec if all versions agree, by its name in a version
SHARED = {
    "schema": "validation",
    "subresources": "subresources",
    "additionalPrinterColumns": "additionalPrinterColumns",
    "selectableFields": "selectableFields",
}


def definition(manifest: Json) -> Causes:
    """What is wrong with a new CRD."""
    spec = part(manifest, "spec")
    name = part(manifest, "metadata").get("name", "")
    if name != f"{part(spec, 'names').get('plural', '')}.{spec.get('group', '')}":
        yield invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')
    yield from _spec(spec)
    yield from _status(manifest)
    yield from _approval(manifest, {})


def definition_update(new: Json, old: Json) -> Causes:
    """What is wrong with a changed CRD; what names its objects stays."""
    spec, before = part(new, "spec"), part(old, "spec")
    names, former = part(spec, "names"), part(before, "names")
    yield from _spec(spec)
    fixed = [("spec.group", spec.get("group"), before.get("group"))]
    fixed.append(("spec.names.plural", names.get("plural"), former.get("plural")))
    if _is_established(old):
        fixed.append(("spec.scope", spec.get("scope"), before.get("scope")))
        fixed.append(("spec.names.kind", names.get("kind"), former.get("kind")))
    for path, value, other in fixed:
        if value != other:
            yield invalid(path, value, IMMUTABLE)
    yield from _status(new)
    yield from _approval(new, old)


def accepted_names(new: Json, _old: Json) -> Causes:
    """What is wrong with the status of a CRD."""
    yield from _names(part(part(new, "status"), "acceptedNames"), "status.acceptedNames")


def _is_established(manifest: Json) -> bool:
    conditions = part(manifest, "status").get("conditions") or ()
    return any((each.get("type"), each.get("status")) == ("Established", "True") for each in conditions)


# -- the spec ---------------------------------------------------------------------------------------------


def _spec(given: Json) -> Causes:
    spec = _shared(given)
    yield from _group(spec.get("group") or "")
    yield from _one_of("spec.scope", spec.get("scope"), SCOPES)
    if part(spec, "validation").get("openAPIV3Schema") is None:
        for number, version in entries(spec.get("versions")):
            if "openAPIV3Schema" not in part(version, "schema"):
                yield required(f"spec.versions[{number}].schema.openAPIV3Schema")
    for number, version in entries(spec.get("versions")):
        yield from _version(version, f"spec.versions[{number}]", has_status=_has_status(spec, version))
    yield from _all_versions(spec.get("versions") or [])
    name = spec.get("version")
    yield from _labels("spec.version", name) if name else ()
    for field in ("plural", "singular", "kind", "listKind"):
        if not part(spec, "names").get(field):
            yield required(f"spec.names.{field}")
    yield from _names(part(spec, "names"), "spec.names")
    yield from _shared_parts(spec)
    yield from _kept_at_the_root(spec)
    yield from _conversion(spec.get("conversion"))


def _shared(spec: Json) -> Json:
    """The spec as the server holds it: what all versions share stands at its top."""
    versions = spec.get("versions") or []
    if not versions:
        return spec
    shared: dict[str, Any] = {"version": versions[0].get("name", "")}
    left = [dict(version) for version in versions]
    for name, above in SHARED.items():
        if all(version.get(name) == versions[0].get(name) for version in versions):
            shared[above] = versions[0].get(name)
            for version in left:
                version.pop(name, None)
    return {**spec, **shared, "versions": left}


def _group(group: str) -> Causes:
    if not group:
        yield required("spec.group")
    elif wrong := dns_subdomain(group):
        yield invalid("spec.group", group, ",".join(wrong))
    elif "." not in group:
        yield invalid("spec.group", group, "should be a domain with at least one dot")


def _one_of(path: str, value: Any, allowed: Sequence[str]) -> Causes:
    if not value:
        yield required(path)
    elif value not in allowed:
        yield not_supported(path, value, allowed)


def _has_status(spec: Json, version: Json) -> bool:
    return "status" in (part(version, "subresources") or part(spec, "subresources"))


def _version(version: Json, path: str, *, has_status: bool) -> Causes:
    yield from _labels(f"{path}.name", version.get("name", ""))
    yield from _warning(version, f"{path}.deprecationWarning")
    yield from _parts(version, path, "schema", has_status=has_status)


def _labels(path: str, name: str) -> Causes:
    if wrong := dns_1035_label(name):
        yield invalid(path, name, ",".join(wrong))


def _warning(version: Json, path: str) -> Causes:
    text = version.get("deprecationWarning")
    if text is None:
        return
    if not version.get("deprecated"):
        yield invalid(path, text, "can only be set for deprecated versions")
        return
    if len(text.encode()) > LONGEST_WARNING:
        yield invalid(path, text, f"must be <= {LONGEST_WARNING} characters long")
    if not text:
        yield invalid(path, text, "must not be an empty string")
    for place, char in enumerate(text):
        if not char.isprintable():
            told = "must only contain printable UTF-8 characters; non-printable character found at index"
            yield invalid(path, text, f"{told} {len(text[:place].encode())}")
            return


def _all_versions(versions: list[Json]) -> Causes:
    names = [version.get("name", "") for version in versions]
    shown = [_shown(version) for version in versions]
    if len(set(names)) != len(names):
        yield invalid("spec.versions", shown, "must contain unique version names")
    if sum(bool(version.get("storage")) for version in versions) != 1:
        yield invalid("spec.versions", shown, "must have exactly one version marked as storage version")


def _shown(version: Json) -> Shown:
    """A version as the server shows its own type."""
    names = ("name", "served", "storage", "deprecated", "deprecationWarning", "schema", "subresources")
    given = {name: version.get(name) for name in (*names, "additionalPrinterColumns", "selectableFields")}
    given |= {"name": version.get("name", ""), "deprecated": bool(version.get("deprecated"))}
    given |= {name: bool(version.get(name)) for name in ("served", "storage")}
    if given["schema"] is not None:
        given["schema"] = Shown(
            {"OpenAPIV3Schema": shown_schema(given["schema"].get("openAPIV3Schema") or {})}
        )
    return Shown({name[0].upper() + name[1:]: value for name, value in given.items()})


def _names(names: Json, path: str) -> Causes:
    for field in ("plural", "singular", "kind", "listKind"):
        name = names.get(field) or ""
        mixed = field in ("kind", "listKind")
        wrong = dns_1035_label(name.lower() if mixed else name) if name else ()
        if wrong:
            told = "may have mixed case, but should otherwise match: " if mixed else ""
            yield invalid(f"{path}.{field}", name, f"{told}{','.join(wrong)}")
    for number, name in entries(names.get("shortNames")):
        yield from _labels(f"{path}.shortNames[{number}]", name or "")
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        yield invalid(f"{path}.listKind", names["listKind"], "kind and listKind may not be the same")
    for number, name in entries(names.get("categories")):
        yield from _labels(f"{path}.categories[{number}]", name or "")


# -- what a version, or all of them, may have -------------------------------------------------------------


def _shared_parts(spec: Json) -> Causes:
    has_status = any(_has_status(spec, version) for version in spec.get("versions") or ())
    yield from _parts(spec, "spec", "validation", has_status=has_status)


def _parts(holder: Json, path: str, schema: str, *, has_status: bool) -> Causes:
    """The schema, the subresources and the columns of a version, or of all versions."""
    declared = part(holder, schema).get("openAPIV3Schema")
    if isinstance(declared, dict):
        yield from schema_causes(declared, f"{path}.{schema}.openAPIV3Schema", has_status=has_status)
    scale = part(holder, "subresources").get("scale")
    if isinstance(scale, dict):
        yield from _scale(scale, f"{path}.subresources.scale")
    for number, column in entries(holder.get("additionalPrinterColumns")):
        yield from _column(column, f"{path}.additionalPrinterColumns[{number}]")
    fields, where = holder.get("selectableFields"), f"{path}.selectableFields"
    if fields and isinstance(declared, dict):
        yield from _selectable(fields, declared, where)
    elif fields:
        yield invalid(where, "", f"may only be set when {WITHOUT_SCHEMA[schema]}")


def _scale(scale: Json, path: str) -> Causes:
    for name, roots in (
        ("specReplicasPath", (".spec.",)),
        ("statusReplicasPath", (".status.",)),
        ("labelSelectorPath", (".spec.", ".status.")),
    ):
        text, where = scale.get(name) or "", f"{path}.{name}"
        if not text:
            yield from (required(where),) if name != "labelSelectorPath" else ()
        elif not text.startswith("."):
            yield invalid(where, text, "must be a simple json path starting with .")
        elif not text.startswith(roots):
            under = " or ".join(root.rstrip(".") for root in roots)
            either = "either " if len(roots) > 1 else ""
            yield invalid(where, text, f"should be a json path under {either}{under}")


def _column(column: Json, path: str) -> Causes:
    if not column.get("name"):
        yield required(f"{path}.name")
    kind, told = column.get("type") or "", f"must be one of {','.join(COLUMN_TYPES)}"
    if not kind:
        yield required(f"{path}.type", told)
    elif kind not in COLUMN_TYPES:
        yield invalid(f"{path}.type", kind, told)
    if column.get("format") and column["format"] not in COLUMN_FORMATS:
        yield invalid(f"{path}.format", column["format"], f"must be one of {','.join(COLUMN_FORMATS)}")
    where, text = f"{path}.JSONPath", column.get("jsonPath") or ""
    if not text:
        yield required(where)
    elif not text.startswith("."):
        yield invalid(where, text, "must be a simple json path starting with .")


def _selectable(fields: Sequence[Json], schema: Json, path: str) -> Causes:
    seen: set[str] = set()
    for number, field in enumerate(fields):
        text, where = field.get("jsonPath") or "", f"{path}[{number}].jsonPath"
        if not text:
            yield required(where)
            continue
        steps = STEP.findall(text)
        found = _declared(steps, schema)
        if isinstance(found, str):
            yield invalid(where, text, f"is an invalid path: {found}")
            continue
        if steps[1] == "metadata":
            yield invalid(where, text, "must not point to fields in metadata")
        if found.get("type") not in SELECTABLE:
            told = "must point to a field of type string, boolean or integer."
            yield invalid(where, text, f"{told} Enum string fields and strings with formats are allowed.")
        if text in seen:
            yield duplicate(where, text)
        seen.add(text)
    if len(seen) > MOST_SELECTABLE:
        yield too_many(path, len(seen), MOST_SELECTABLE)


def _declared(steps: Sequence[str], schema: Json) -> Json | str:
    """The schema that a path leads to, or why it leads nowhere.

    A dot takes whatever follows for a name, be it another dot; of a map any name will do.
    """
    left = iter(steps)
    for step in left:
        if step == "[":
            return "array notation is not allowed"
        if step != ".":
            return f"expected [ or . but got: {step}"
        name = next(left, None)
        if name is None:
            return "unexpected end of JSON path"
        inner = schema.get("properties") or {}
        if not inner and "additionalProperties" in schema:
            any_other = schema["additionalProperties"]
            schema = any_other if isinstance(any_other, dict) else {}
        elif name in inner:
            schema = inner[name]
        else:
            return "does not refer to a valid field"
    return schema


# -- unknown fields that are kept everywhere --------------------------------------------------------------


def _kept_at_the_root(spec: Json) -> Causes:
    """What older versions of the API allowed."""
    path = "spec.preserveUnknownFields"
    if not spec.get("preserveUnknownFields"):
        return
    strategy = part(spec, "conversion").get("strategy", "None")
    if strategy != "None":
        yield invalid("spec.conversion.strategy", strategy, f"must be None if {path} is true")
    told = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true"
    yield invalid(path, True, f"{told} in spec.versions[*].schema instead")
    schemas = [part(spec, "validation"), *(part(each, "schema") for _, each in entries(spec.get("versions")))]
    if any(_has_defaults(part(each, "openAPIV3Schema")) for each in schemas):
        yield invalid(path, True, "must be false in order to use defaults in the schema")


def _has_defaults(schema: Any) -> bool:
    if not isinstance(schema, dict):
        return False
    maps = (part(schema, name).values() for name in ("properties", "patternProperties"))
    lists = (schema.get(name) or () for name in ("allOf", "anyOf", "oneOf"))
    single = (schema.get(name) for name in ("items", "additionalProperties", "not"))
    below = (*single, *(each for group in (*maps, *lists) for each in group))
    return schema.get("default") is not None or any(map(_has_defaults, below))


# -- conversion, status, approval -------------------------------------------------------------------------


def _conversion(conversion: Any) -> Causes:
    if not isinstance(conversion, dict):
        return
    strategy, webhook = conversion.get("strategy"), part(conversion, "webhook")
    client, versions = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or []
    path = "spec.conversion"
    yield from _one_of(f"{path}.strategy", strategy, STRATEGIES)
    if strategy == "Webhook":
        yield from _client(client, f"{path}.webhookClientConfig")
        place = f"{path}.conversionReviewVersions"
        yield from review_versions(versions, place) if versions else iter([required(place)])
        return
    told = "should not be set when strategy is not set to Webhook"
    if client is not None:
        yield forbidden(f"{path}.webhookClientConfig", told)
    if versions:
        yield forbidden(f"{path}.conversionReviewVersions", told)


def _client(client: Any, path: str) -> Causes:
    if not isinstance(client, dict):
        yield required(path, "required when strategy is set to Webhook")
        return
    service = client.get("service")
    if service is not None:  # the server mixes up what is missing
        mixed = {"name": service.get("namespace"), "namespace": service.get("name")}
        client = {**client, "service": {**service, **mixed}}
    yield from client_config(client, path)


def _status(manifest: Json) -> Causes:
    status = part(manifest, "status")
    yield from accepted_names(manifest, {})
    stored, path = status.get("storedVersions") or [], "status.storedVersions"
    if not stored:
        yield invalid(path, None, "must have at least one stored version")
        return
    versions = part(manifest, "spec").get("versions") or []
    missing = {name: number for number, name in enumerate(stored)}
    for version in versions:
        name = version.get("name", "")
        if version.get("storage") and name not in missing:
            yield invalid(path, stored, f"must have the storage version {name}")
        missing.pop(name, None)
    for name, number in missing.items():
        told = (
            f"missing from spec.versions; {name} was previously a storage version, and must remain in "
            "spec.versions until a storage migration ensures no data remains persisted in "
            f"{name} and removes {name} from status.storedVersions"
        )
        yield invalid(f"{path}[{number}]", name, told)


def _approval(new: Json, old: Json) -> Causes:
    """Groups of the community need its consent; one that was let through without may stay."""
    group = part(new, "spec").get("group") or ""
    if not any(group == each or group.endswith(f".{each}") for each in PROTECTED):
        return
    text, state = _approved(new)
    if old and _approved(old)[1] == state:
        return
    path, told = f"metadata.annotations[{APPROVAL}]", "protected groups must have approval annotation"
    if state == "missing":
        yield required(path, f'{told} "{APPROVAL}", {WHY_APPROVED}')
    elif state == "invalid":
        how = 'with either a URL or a reason starting with "unapproved"'
        yield invalid(path, text, f'{told} "{APPROVAL}" {how}, {WHY_APPROVED}')


def _approved(manifest: Json) -> tuple[str, str]:
    text = str((part(manifest, "metadata").get("annotations") or {}).get(APPROVAL) or "")
    parts = urlsplit(text)
    if not text:
        return text, "missing"
    if text.startswith("unapproved"):
        return text, "bypassed"
    return text, "approved" if parts.scheme and parts.netloc else "invalid"
