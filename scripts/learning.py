"""Learn defaults from a server's answers: what it filled in wherever nothing was given.

Pure but for `manifests` and `answer`. A field of a type has an unconditional default when every manifest that
left it out got the same value back. What the hand-written rules decide, what admission does and what storage
allocates is left out; `docs/kinds-data.md` lists it.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from testbed.controlplane import ControlPlane
from trimtab.kube.schemas.default_rules import RULES
from trimtab.kube.schemas.defaults import defaulted, means_nothing
from trimtab.kube.schemas.kinds import Kinds
from trimtab.kube.schemas.schema import Schema

Json = dict[str, Any]
# Admission that changes objects, or that wants other objects to exist first.
ADMISSION = (
    "DefaultIngressClass",
    "DefaultStorageClass",
    "DefaultTolerationSeconds",
    "LimitRanger",
    "NamespaceLifecycle",
    "PodTopologyLabels",
    "Priority",
    "RuntimeClass",
    "ServiceAccount",
    "StorageObjectInUseProtection",
    "TaintNodesByCondition",
)
WITHOUT_ADMISSION = (f"--disable-admission-plugins={','.join(ADMISSION)}",)
# What a kind's storage sets when an object is created: allocation, or who asks for it; not defaulting.
ALLOCATED = {
    "io.k8s.api.core.v1.NamespaceSpec": {"finalizers"},
    "io.k8s.api.core.v1.ServiceSpec": {
        "clusterIP",
        "clusterIPs",
        "healthCheckNodePort",
        "ipFamilies",
        "ipFamilyPolicy",
    },
    "io.k8s.api.core.v1.ServicePort": {"nodePort"},
    "io.k8s.api.batch.v1.JobSpec": {"selector"},
    "io.k8s.api.certificates.v1.CertificateSigningRequestSpec": {"username", "uid", "groups", "extra"},
}
POOLED = frozenset().union(*ALLOCATED.values())
NOTHING = object()
Seen = dict[tuple[str, str], list[Any]]


def manifests(folder: Path) -> Iterator[Json]:
    """Every manifest of a folder of YAML files."""
    for path in sorted(folder.glob("*.yaml")):
        yield from yaml.safe_load_all(path.read_text())


def path_of(kinds: Kinds, manifest: Mapping[str, Any]) -> str:
    """Where an object is created."""
    group, _, version = manifest["apiVersion"].rpartition("/")
    resource = kinds.resource(group, version, manifest["kind"])
    if resource is None:
        raise SystemExit(f"no resource serves {manifest['apiVersion']} {manifest['kind']}")
    base = f"/apis/{group}/{version}" if group else f"/api/{version}"
    namespace = manifest.get("metadata", {}).get("namespace", "default")
    return (
        f"{base}/namespaces/{namespace}/{resource.name}" if resource.namespaced else f"{base}/{resource.name}"
    )


def answer(plane: ControlPlane, kinds: Kinds, manifest: Json) -> Json:
    """What the server would keep of a manifest."""
    path = path_of(kinds, manifest)
    kept: Json = plane.call("POST", f"{path}?dryRun=All&fieldValidation=Strict", manifest)
    return kept


def schema_of(kinds: Kinds, manifest: Mapping[str, Any]) -> Schema:
    """The schema of a manifest's kind."""
    group, _, version = manifest["apiVersion"].rpartition("/")
    schema = kinds.schema(group, version, manifest["kind"])
    if schema is None:
        raise SystemExit(f"no schema of {manifest['apiVersion']} {manifest['kind']}")
    return schema


def learned_defaults(pairs: list[tuple[Json, Json]], kinds: Kinds) -> dict[tuple[str, str], Any]:
    """Per type and field, the value that was filled in every time the field was left out."""
    seen: Seen = defaultdict(list)
    for sent, kept in pairs:
        schema = schema_of(kinds, sent)
        _observe(_without_head(sent), defaulted(sent, schema), _without_head(kept), schema, seen)
    return {
        place: values[0]
        for place, values in sorted(seen.items())
        if NOTHING not in values and all(value == values[0] for value in values)
    }


def _without_head(manifest: Json) -> Json:
    return {name: value for name, value in manifest.items() if name not in ("metadata", "status")}


def _observe(sent: Any, base: Any, kept: Any, schema: Schema | None, seen: Seen) -> None:
    """Compare what was sent, what we would make of it without defaults, and what the server kept."""
    if schema is None or schema.preserves_unknown:
        return
    if isinstance(kept, list) and isinstance(sent, list):
        for own, ours, theirs in zip(sent, base, kept, strict=False):
            _observe(own, ours, theirs, schema.element, seen)
    elif isinstance(kept, dict) and schema.type == "object":
        for name in schema.properties if schema.values is None else kept:
            _observe_field(name, sent if isinstance(sent, dict) else {}, base, kept, schema, seen)


def _observe_field(name: str, sent: Json, base: Any, kept: Json, schema: Schema, seen: Seen) -> None:
    field, ours = schema.child(name), base.get(name) if isinstance(base, dict) else None
    given = sent.get(name)
    if means_nothing(given, field) and not (field is not None and field.is_struct):
        if not _is_left_alone(schema.model, name):
            value = kept.get(name, NOTHING)
            seen[schema.model, name].append(NOTHING if value == ours or name not in kept else value)
    elif name in kept:
        _observe(given, ours, kept[name], field, seen)


def _is_left_alone(model: str, name: str) -> bool:
    decided = RULES[model].decides if model in RULES else ()
    return name in decided or name in ALLOCATED.get(model, ())


# -- the judge -------------------------------------------------------------------------------------------


def unexplained(sent: Json, kept: Json, kinds: Kinds) -> list[str]:
    """Where the object that we would make differs from the server's, allocation and metadata left out."""
    ours = defaulted(sent, schema_of(kinds, sent))
    found = _differences(_without_head(ours), _without_head(kept), "")
    return [line for line in found if line.partition(":")[0].rpartition(".")[2] not in POOLED]


def _differences(ours: Any, theirs: Any, path: str) -> Iterator[str]:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name in sorted({*ours, *theirs}):
            below = f"{path}.{name}"
            if name not in ours or name not in theirs:
                yield f"{below}: ours {_text(ours, name)}, the server's {_text(theirs, name)}"
            else:
                yield from _differences(ours[name], theirs[name], below)
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            yield from _differences(one, other, f"{path}[{number}]")
    elif ours != theirs:
        yield f"{path}: ours {json.dumps(ours)}, the server's {json.dumps(theirs)}"


def _text(value: Json, name: str) -> str:
    return json.dumps(value[name]) if name in value else "missing"
