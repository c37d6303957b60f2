"""Custom resource definitions: the kinds they add, and the state the server reports of them. Pure."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

import msgspec

from trimtab.apiserver.catalog import ScalePaths, Served
from trimtab.kube.schemas.kinds import Subresource, built_in
from trimtab.kube.schemas.schema import Schema, crd_schema
from trimtab.kube.times import seconds_text

Json = dict[str, Any]
GROUP, PLURAL, KIND = "apiextensions.k8s.io", "customresourcedefinitions", "CustomResourceDefinition"
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
PART_VERBS = ("get", "patch", "update")
#: the names of a kind, in the order in which they are judged, and what each must differ from
NAMES = {"plural": "words", "singular": "words", "shortNames": "words", "kind": "kinds", "listKind": "kinds"}
ESTABLISHED, ACCEPTED, TERMINATING = "Established", "NamesAccepted", "Terminating"


def kinds_of(definition: Mapping[str, Any], since: int = 0) -> Iterator[Served]:
    """The kinds that a definition adds: one for each version that it serves, as read since then."""
    spec = definition["spec"]
    versions = spec.get("versions") or ()
    schemas = {f"{spec['group']}/{each['name']}": _schema(each) for each in versions}
    ending = "deletionTimestamp" in definition["metadata"]
    for version in versions:
        if version["served"]:
            kind = _kind(spec, version, _stored(spec), _deprecation(spec, version))
            yield msgspec.structs.replace(
                kind, declared=schemas[kind.api_version], schemas=schemas, since=since, ending=ending
            )


def _stored(spec: Json) -> str:
    return next((str(each["name"]) for each in spec.get("versions") or () if each["storage"]), "")


def schemas_of(definition: Mapping[str, Any]) -> list[Any]:
    """Everything of a definition that says how its objects are read."""
    spec = definition["spec"]
    versions = spec.get("versions") or ()
    return [_stored(spec), *((each["name"], each.get("schema")) for each in versions)]


def _schema(version: Json) -> Schema:
    return crd_schema((version.get("schema") or {}).get("openAPIV3Schema") or {}, built_in().types)


def _kind(spec: Json, version: Json, stored: str, deprecation: str) -> Served:
    names, group = spec["names"], spec["group"]
    parts = version.get("subresources") or {}
    return Served(
        group=group,
        version=version["name"],
        kind=names["kind"],
        plural=names["plural"],
        singular=names.get("singular", ""),
        namespaced=spec["scope"] == "Namespaced",
        verbs=VERBS,
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        subresources=tuple(_parts(parts, group, version["name"], names["kind"])),
        storage_hash=_digest(f"{group}/{stored}/{names['kind']}"),
        list_kind=names.get("listKind") or f"{names['kind']}List",
        counts_generation=True,
        collection=(group, names["plural"]),
        stored_as=f"{group}/{stored}",
        scale=_scale(parts.get("scale")),
        selectable=tuple(each["jsonPath"] for each in version.get("selectableFields") or ()),
        deprecation=deprecation,
    )


def _parts(parts: Json, group: str, version: str, kind: str) -> Iterator[Subresource]:
    if "status" in parts:
        yield Subresource(name="status", group=group, version=version, kind=kind, verbs=PART_VERBS)
    if "scale" in parts:
        yield Subresource(name="scale", group="autoscaling", version="v1", kind="Scale", verbs=PART_VERBS)


def _scale(declared: Json | None) -> ScalePaths | None:
    if declared is None:
        return None
    return ScalePaths(
        wanted=declared["specReplicasPath"],
        seen=declared["statusReplicasPath"],
        selector=declared.get("labelSelectorPath") or "",
    )


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()[:8]).decode()


def _deprecation(spec: Json, version: Json) -> str:
    if not version.get("deprecated"):
        return ""
    if version.get("deprecationWarning"):
        return str(version["deprecationWarning"])
    kind, group = spec["names"]["kind"], spec["group"]
    told = f"{group}/{version['name']} {kind} is deprecated"
    newer = [each["name"] for each in spec["versions"] if each["served"] and not each.get("deprecated")]
    best = sorted(newer, key=version_rank)
    if best and version_rank(best[0]) < version_rank(version["name"]):
        return f"{told}; use {group}/{best[0]} {kind}"
    return told


def version_rank(name: str) -> tuple[int, int, int, str]:
    """Versions in the order the server prefers: v2, v1, v2beta1, v1alpha1, then others by name."""
    found = re.fullmatch(r"v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?", name)
    if found is None:
        return (3, 0, 0, name)
    stage = {None: 0, "beta": 1, "alpha": 2}[found[2]]
    return (stage, -int(found[1]), -int(found[3] or 0), "")


# -- what the server reports ------------------------------------------------------------------------------


def first_status(definition: Json) -> Json:
    """A definition as it is kept first: nothing is accepted yet."""
    versions = definition["spec"].get("versions") or ()
    stored = [each.get("name", "") for each in versions if each.get("storage")][:1]
    status = {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": stored}
    return {**definition, "status": status}


def with_stored_versions(definition: Json) -> Json:
    """The definition with every version on record in which objects may have been kept."""
    status = definition.get("status") or {}
    known = status.get("storedVersions") or []
    versions = definition["spec"].get("versions") or ()
    more = [each["name"] for each in versions if each["storage"] and each["name"] not in known]
    return {**definition, "status": {**status, "storedVersions": [*known, *more]}} if more else definition


def is_established(definition: Mapping[str, Any]) -> bool:
    """Whether the kinds of a definition are served."""
    return _condition(definition, ESTABLISHED).get("status") == "True"


def accepted(definition: Json, others: Iterable[Mapping[str, Any]], now: datetime) -> Json:
    """The definition with its names judged: each is accepted unless another one of its group has it."""
    names, clash = _judged(definition["spec"]["names"], [each["status"]["acceptedNames"] for each in others])
    if clash:
        reason, word = clash
        judged = _with(definition, now, ACCEPTED, "False", reason, f'"{word}" is already in use')
        if not is_established(judged):
            judged = _with(judged, now, ESTABLISHED, "False", "NotAccepted", "not all names are accepted")
    else:
        judged = _with(definition, now, ACCEPTED, "True", "NoConflicts", "no conflicts found")
        if not is_established(judged):
            told = "the initial names have been accepted"
            judged = _with(judged, now, ESTABLISHED, "False", "Installing", told)
    return {**judged, "status": {**judged["status"], "acceptedNames": names}}


def _judged(names: Json, taken: list[Json]) -> tuple[Json, tuple[str, str] | None]:
    """The names that nobody else has, and the last one that somebody has."""
    words = {word for each in taken for word in (each.get("plural"), each.get("singular"))}
    words |= {word for each in taken for word in each.get("shortNames") or ()}
    kinds = {word for each in taken for word in (each.get("kind"), each.get("listKind"))}
    found: Json = {**names, "plural": "", "kind": ""}
    clash = None
    for name, pool in NAMES.items():
        given = names.get(name)
        several = given if isinstance(given, list) else [given] if given else []
        used = words if pool == "words" else kinds
        taken_word = next((word for word in several if word in used), None)
        if taken_word is not None:
            clash = (f"{name[0].upper()}{name[1:]}Conflict", taken_word)
            if name not in ("plural", "kind"):
                found.pop(name, None)
        elif given:
            found[name] = given
    return found, clash


def established(definition: Json, now: datetime) -> Json:
    """The definition with its kinds served."""
    told = "the initial names have been accepted"
    return _with(definition, now, ESTABLISHED, "True", "InitialNamesAccepted", told)


def ending(definition: Json, now: datetime) -> Json:
    """A definition that is to go, once its objects are gone."""
    told = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
    marked = _with(definition, now, TERMINATING, "True", "InstanceDeletionPending", told)
    finalizers = [*(marked["metadata"].get("finalizers") or []), CLEANUP]
    metadata = {**marked["metadata"], "deletionTimestamp": seconds_text(now), "finalizers": finalizers}
    return {**marked, "metadata": metadata}


def emptying(definition: Json, now: datetime) -> Json:
    """A definition whose objects are being deleted."""
    told = "CustomResource deletion is in progress"
    return _with(definition, now, TERMINATING, "True", "InstanceDeletionInProgress", told)


def emptied(definition: Json) -> Json:
    """A definition whose objects are gone: it may go too."""
    left = [each for each in definition["metadata"].get("finalizers") or () if each != CLEANUP]
    metadata = {name: value for name, value in definition["metadata"].items() if name != "finalizers"}
    return {**definition, "metadata": {**metadata, **({"finalizers": left} if left else {})}}


def _condition(definition: Mapping[str, Any], kind: str) -> Json:
    conditions = (definition.get("status") or {}).get("conditions") or ()
    return next((each for each in conditions if each["type"] == kind), {})


def _with(definition: Json, now: datetime, kind: str, state: str, reason: str, message: str) -> Json:
    """The definition with a condition set; its time is that of the last change of state."""
    before = _condition(definition, kind)
    since = before["lastTransitionTime"] if before.get("status") == state else seconds_text(now)
    condition = {
        "type": kind,
        "status": state,
        "lastTransitionTime": since,
        "reason": reason,
        "message": message,
    }
    status = definition.get("status") or {}
    old = status.get("conditions") or []
    kept = [condition if each["type"] == kind else each for each in old]
    conditions = kept if before else [*kept, condition]
    return {**definition, "status": {**status, "conditions": conditions}}
