"""The finer points of definitions: rules for their schemas, and what becomes of objects when they change."""

from __future__ import annotations

from typing import Any

from tests.contract.cluster.cases import Table
from tests.contract.cluster.kinds import (
    ACCOUNTS,
    BUDGETS,
    CONFIG_MAPS,
    DEFINITIONS,
    DEPLOYMENTS,
    ENDPOINT_SLICES,
    INTEGER,
    JOBS,
    LEASES,
    LIMIT_RANGES,
    NETWORK_POLICIES,
    PODS,
    ROLE_BINDINGS,
    ROLES,
    SECRETS,
    SERVICES,
    STATEFUL_SETS,
    STRING,
    config_map,
    container,
    definition,
    deployment,
    job,
    named,
    pod,
    service,
    templated,
    with_metadata,
    with_spec,
)
from tests.contract.cluster.stage import Stage
from tests.contract.cluster.tables.defining import defined, spec_of, things
from trimtab.kube.cluster import FieldValidation, PatchType, Write
from trimtab.kube.discovery import Resource

TABLE = Table(__name__)
case = TABLE.case
TRIED = Write(dry_run=True)
WRONG = definition("Thing", "judged.trimtab.dev")
FREE = "x-kubernetes-preserve-unknown-fields"
EMBEDDED = "x-kubernetes-embedded-resource"
EITHER = "x-kubernetes-int-or-string"
LIST, KEYS, MAP = "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type"


def struct(**fields: Any) -> dict[str, Any]:
    """The schema of an object with these fields."""
    return {"type": "object", "properties": fields}


def listed(items: Any, **words: Any) -> dict[str, Any]:
    """The schema of a list; words are spelt with underscores."""
    return {
        "type": "array",
        "items": items,
        **{f"x-kubernetes-{name.replace('_', '-')}": said for name, said in words.items()},
    }


def of_spec(**spec: Any) -> dict[str, Any]:
    """A definition with other fields in its spec."""
    return with_spec(WRONG, **spec)


def of_schema(schema: Any, **version: Any) -> dict[str, Any]:
    """A definition of this schema."""
    served = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return of_spec(versions=[{**served, **version}])


def versioned(name: str, *, storage: bool, more: tuple[str, ...] = ()) -> dict[str, Any]:
    """A version with a field that bears its name, one that all versions have, and more fields of text."""
    schema = struct(spec=struct(**dict.fromkeys((name, "both", *more), STRING)))
    return {"name": name, "storage": storage, "served": True, "schema": {"openAPIV3Schema": schema}}


def of_community(approval: str) -> dict[str, Any]:
    """A definition in a group of the community."""
    body = with_spec(definition("Thing", "x.k8s.io"), group="x.k8s.io")
    return with_metadata(body, annotations={"api-approved.kubernetes.io": approval})


REQUIRED_KEY = {"type": "object", "required": ["k"], "properties": {"k": STRING}}
JUDGED: dict[str, dict[str, Any]] = {
    "a null version": of_spec(versions=[None]),
    "a list kind like the kind": of_spec(names={"kind": "Thing", "plural": "things", "listKind": "Thing"}),
    "a bad category": of_spec(names={"kind": "Thing", "plural": "things", "categories": ["A B"]}),
    "anything at the root": of_schema({"type": "object", "additionalProperties": True}),
    "values at the root": of_schema({"type": "object", "additionalProperties": STRING}),
    "a root that may be null": of_schema({"type": "object", "nullable": True}),
    "a reference": of_schema(struct(a={"$ref": "#/x"})),
    "words that are not supported": of_schema(
        struct(
            a={"type": "object", "id": "x", "patternProperties": {"a": STRING}, "definitions": {"b": STRING}}
        )
    ),
    "a list of schemas for items": of_schema(struct(a={"type": "array", "items": [STRING, STRING]})),
    "the type null": of_schema(struct(a={"type": "null"})),
    "unique items": of_schema(struct(a=listed(STRING) | {"uniqueItems": True})),
    "a shorter name": of_schema(struct(metadata=struct(name={**STRING, "maxLength": 5}))),
    "metadata of text": of_schema(struct(metadata=STRING)),
    "a kind that is a number": of_schema(struct(kind=INTEGER, apiVersion=STRING)),
    "a default name": of_schema(struct(metadata=struct(name={**STRING, "default": "x"}))),
    "a default kind": of_schema(struct(kind={**STRING, "default": "x"})),
    "an embedded object without fields": of_schema(struct(a={"type": "object", EMBEDDED: True})),
    "an embedded text": of_schema(struct(a={**STRING, EMBEDDED: True})),
    "an embedded object without a type": of_schema(struct(a={EMBEDDED: True, FREE: True})),
    "an embedded map": of_schema(
        struct(a={"type": "object", EMBEDDED: True, "additionalProperties": STRING})
    ),
    "embedded in embedded metadata": of_schema(
        struct(a={**struct(metadata={"type": "object", EMBEDDED: True, FREE: True}), EMBEDDED: True})
    ),
    "a number or a text that is free": of_schema(struct(a={EITHER: True, FREE: True})),
    "a number or a text that is a text": of_schema(struct(a={EITHER: True, **STRING})),
    "a number or a text, spelt out": of_schema(struct(a={EITHER: True, "anyOf": [INTEGER, STRING]})),
    "a number or a text, and more": of_schema(
        struct(a={EITHER: True, "allOf": [{"anyOf": [INTEGER, STRING]}, {"pattern": "x"}]})
    ),
    "fields that are not kept": of_schema(struct(a={"type": "object", FREE: False})),
    "a text that merges like a map": of_schema(struct(a={**STRING, MAP: "atomic"})),
    "an unknown map type": of_schema(struct(a={"type": "object", MAP: "x"})),
    "a text that merges like a list": of_schema(struct(a={**STRING, LIST: "atomic"})),
    "keys without a list type": of_schema(struct(a=listed(struct(k=STRING), list_map_keys=["k"]))),
    "keys of a set": of_schema(struct(a=listed(STRING, list_type="set", list_map_keys=["k"]))),
    "a list map of texts": of_schema(struct(a=listed(STRING, list_type="map", list_map_keys=["k"]))),
    "keys that are missing and doubled": of_schema(
        struct(a=listed(REQUIRED_KEY, list_type="map", list_map_keys=["k", "k", "z"]))
    ),
    "a key that is an object": of_schema(
        struct(
            a=listed(
                {**struct(k={"type": "object"}), "required": ["k"]}, list_type="map", list_map_keys=["k"]
            )
        )
    ),
    "a key that may be null": of_schema(
        struct(
            a=listed(
                {**struct(k={**STRING, "nullable": True}), "required": ["k"], "nullable": True},
                list_type="map",
                list_map_keys=["k"],
            )
        )
    ),
    "a set of sets": of_schema(struct(a=listed(listed(STRING, list_type="set"), list_type="set"))),
    "an alternative with a field of its own": of_schema(
        {
            **struct(a=struct(b=STRING)),
            "anyOf": [{"properties": {"a": {"properties": {"c": {"minLength": 1}}}}}],
        }
    ),
    "the same deep inside": of_schema(
        struct(a={**struct(b=STRING), "anyOf": [{"properties": {"c": {"minLength": 1}}}]})
    ),
    "an alternative that says too much": of_schema(
        {
            **struct(a=STRING),
            "oneOf": [
                {
                    "type": "object",
                    "description": "x",
                    "title": "y",
                    "default": {},
                    "nullable": True,
                    "properties": {"a": STRING, "metadata": {}},
                }
            ],
            "not": {"required": ["a"]},
        }
    ),
    "a default with an unknown field": of_schema(
        struct(a={**struct(b=STRING), "default": {"b": "x", "c": 1}})
    ),
    "a default beyond the limits": of_schema(
        struct(a={**struct(b={**INTEGER, "minimum": 3}), "default": {"b": 1}})
    ),
    "a default that lacks something": of_schema(struct(a={**REQUIRED_KEY, "default": {}})),
    "a default of null": of_schema(struct(a={**STRING, "default": None})),
    "a default that is no object": of_schema(
        struct(a={"type": "object", EMBEDDED: True, FREE: True, "default": {"a": 1}})
    ),
    "words that hide the status": of_schema(
        {**struct(a=STRING), "anyOf": [{"required": ["a"]}]}, subresources={"status": {}}
    ),
    "words that leave the status alone": of_schema(
        {**struct(a=STRING), "description": "x", "required": ["a"]}, subresources={"status": {}}
    ),
    "a scale without paths": of_schema({"type": "object"}, subresources={"scale": {}}),
    "a scale with paths elsewhere": of_schema(
        {"type": "object"},
        subresources={
            "scale": {
                "specReplicasPath": ".status.x",
                "statusReplicasPath": ".spec.x",
                "labelSelectorPath": ".x",
            }
        },
    ),
    "bad columns": of_schema(
        {"type": "object"},
        additionalPrinterColumns=[
            {"name": "", "type": "", "jsonPath": ""},
            {"name": "a", "type": "x", "format": "y", "jsonPath": "z"},
        ],
    ),
    "a warning of what is not deprecated": of_schema({"type": "object"}, deprecationWarning="x"),
    "an empty warning": of_schema({"type": "object"}, deprecated=True, deprecationWarning=""),
    "fields that cannot be selected": of_schema(
        struct(spec=struct(a=STRING, o={"type": "object"})),
        selectableFields=[
            {"jsonPath": path}
            for path in (
                ".spec.a",
                ".spec.a",
                ".spec.x",
                ".spec.o",
                "spec.a",
                "",
                ".spec[0]",
                ".metadata.name",
            )
        ],
    ),
    "paths that lead to no field that can be selected": of_schema(
        struct(
            spec=struct(a=STRING, m={"type": "object", "additionalProperties": STRING}, n=struct()),
            metadatas=STRING,
            metadata={"type": "object", "properties": {"name": STRING}},
        ),
        selectableFields=[
            {"jsonPath": path}
            for path in (
                ".spec..a",
                ".spec.a.",
                "..spec.a",
                ".",
                "'spec.a'.x",
                ".spec.'a.b'",
                ".spec]",
                ".spec.[",
                ".spec.a[0]",
                ".spec.m.x.y",
                ".spec.m",
                ".spec.n.x",
                ".metadata.name",
                ".metadata",
            )
        ],
    ),
    "more fields to select by than may be": of_schema(
        struct(spec=struct(m={"type": "object", "additionalProperties": STRING}), metadatas=STRING),
        selectableFields=[
            {"jsonPath": path} for path in (".metadatas", *(f".spec.m.{key}" for key in "abcdefgh."))
        ],
    ),
    "fields to select by apart from the schema that versions share": of_spec(
        versions=[
            {**versioned("v1", storage=True), "selectableFields": [{"jsonPath": ".spec.both"}]},
            {**versioned("v1", storage=False), "name": "v2"},
        ]
    ),
    "fields to select by that versions share apart from their schemas": of_spec(
        versions=[
            {**versioned(name, storage=name == "v1"), "selectableFields": [{"jsonPath": ".spec.both"}]}
            for name in ("v1", "v2")
        ]
    ),
    "two addresses for conversion": of_spec(
        conversion={
            "strategy": "Webhook",
            "webhook": {
                "conversionReviewVersions": ["v1", "v1", "X"],
                "clientConfig": {"url": "https://x", "service": {"name": "a", "namespace": "b"}},
            },
        }
    ),
    "a bad address for conversion": of_spec(
        conversion={
            "strategy": "Webhook",
            "webhook": {
                "conversionReviewVersions": ["v9"],
                "clientConfig": {"url": "http://u@x/?q#f"},
            },
        }
    ),
    "a nameless service for conversion": of_spec(
        conversion={
            "strategy": "Webhook",
            "webhook": {
                "conversionReviewVersions": ["v1"],
                "clientConfig": {"service": {"name": "", "namespace": "", "port": 0}},
            },
        }
    ),
    "an address without conversion": of_spec(
        conversion={
            "strategy": "None",
            "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://x"}},
        }
    ),
    "an unknown conversion": of_spec(conversion={"strategy": "X"}),
    "an approved group": of_community("https://x/y"),
    "a badly approved group": of_community("nope"),
    "an unknown format": of_schema(struct(a={**STRING, "format": "nope"})),
    "two versions, none stored": of_spec(
        versions=[versioned("v1", storage=False), versioned("v2", storage=False)]
    ),
    "one bad schema of two": of_spec(
        versions=[
            {**versioned("v1", storage=True), "schema": {"openAPIV3Schema": STRING}},
            versioned("v2", storage=False),
        ]
    ),
    "rules that say nothing": of_schema(
        struct(a={**STRING, "x-kubernetes-validations": [{"rule": ""}, {"rule": "true", "message": " "}]})
    ),
    "a version that is not served": of_schema({"type": "object"}, served=False),
    "no properties": of_schema({"type": "object", "properties": None}),
    "a property that is null": of_schema({"type": "object", "properties": {"a": None}}),
}


async def _judged(stage: Stage, body: dict[str, Any]) -> None:
    await stage.create(DEFINITIONS, body, write=TRIED)


for what, body_ in JUDGED.items():
    TABLE.add("definitions", "schemas", f"a definition with {what}", _judged, body_)


HOLES: dict[str, tuple[Resource, dict[str, Any]]] = {
    "containers": (DEPLOYMENTS, deployment("a", None)),  # type: ignore[arg-type]  # a hole is no container
    "ports": (SERVICES, service("a", None)),  # type: ignore[arg-type]  # nor a port
    "volumes": (DEPLOYMENTS, deployment("a", volumes=[None])),
    "lists of a container": (
        DEPLOYMENTS,
        deployment(
            "a",
            container(env=[None], ports=[None], volumeMounts=[None]),
            imagePullSecrets=[None],
            tolerations=[None],
        ),
    ),
    "subjects": (
        ROLE_BINDINGS,
        named(
            ROLE_BINDINGS,
            "a",
            subjects=[None],
            roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "x"},
        ),
    ),
    "rules": (ROLES, named(ROLES, "a", rules=[None])),
    "owners": (CONFIG_MAPS, with_metadata(config_map("a"), ownerReferences=[None])),
    "peers": (
        NETWORK_POLICIES,
        named(NETWORK_POLICIES, "a", spec={"podSelector": {}, "ingress": [None], "egress": [{"to": [None]}]}),
    ),
}


async def _with_a_hole(stage: Stage, kind: Resource, body: dict[str, Any]) -> None:
    await stage.create(kind, body, write=TRIED)


for what, (kind_, body_) in HOLES.items():
    TABLE.add("create", "nulls in lists", f"a null among {what}", _with_a_hole, kind_, body_)


# -- objects of definitions that change -------------------------------------------------------------------


async def _redefined(stage: Stage, body: dict[str, Any], kind: Resource) -> None:
    """Change a definition and wait until its new default `now` is filled in."""
    versions = {"spec": {"versions": body["spec"]["versions"]}}
    await stage.cluster.patch(DEFINITIONS, body["metadata"]["name"], versions, how=PatchType.MERGE)
    trial = named(kind, "trial", spec={})
    await stage.until_tried(kind, trial, lambda tried: tried is not None and "now" in spec_of(tried))


def _narrowing(text: dict[str, Any], *, strict: bool) -> dict[str, Any]:
    now = {"now": {**STRING, "default": "z"}} if strict else {}
    element = {"type": "object", "required": ["k"], "properties": {"k": STRING, "v": text}}
    return struct(
        a=text,
        b=INTEGER,
        l=listed(element, list_type="map", list_map_keys=["k"]),
        s=listed(text),
        o={**struct(x=text, y=STRING), **({"required": ["y"]} if strict else {})},
        **now,
    )


@case("definitions", "changes")
async def what_was_valid_before_may_stay(stage: Stage) -> None:
    group = "ratchet.trimtab.dev"
    kind = things(group)
    parts: dict[str, Any] = {"status": {}}
    before = definition("Thing", group, spec=_narrowing(STRING, strict=False), subresources=parts)
    await defined(stage, before)
    spec = {"a": "long", "b": 1, "l": [{"k": "1", "v": "long"}], "s": ["long", "x"], "o": {"x": "long"}}
    await stage.given(kind, named(kind, "old", spec=spec))
    status = {"status": {"replicas": 5, "selector": "s"}}
    await stage.patch(kind, "old", status, how=PatchType.MERGE, subresource="status")
    narrow = _narrowing({**STRING, "maxLength": 2}, strict=True)
    after = definition("Thing", group, spec=narrow, subresources=parts)
    schema = after["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["status"] = struct(replicas={**INTEGER, "maximum": 3}, selector=STRING)
    await _redefined(stage, after, kind)
    for change in (
        {"b": 2},
        {"a": "longer"},
        {"l": [{"k": "1", "v": "long"}, {"k": "2"}]},
        {"l": [{"k": "1", "v": "longer"}]},
        {"l": [{"k": "2", "v": "long"}]},
        {"s": ["long", "y"]},
        {"o": {"x": "long2"}},
        {"o": {"y": "1"}},
    ):
        await stage.patch(kind, "old", {"spec": change}, how=PatchType.MERGE, write=TRIED)
    for change in ({"selector": "t"}, {"replicas": 6}, {"replicas": "x"}):
        patch = {"status": change}
        await stage.patch(kind, "old", patch, how=PatchType.MERGE, subresource="status", write=TRIED)
    await stage.apply(kind, "old", named(kind, "old", spec={"b": 3}), force=True, write=TRIED)


OPEN: dict[str, dict[str, Any]] = {
    "unknown fields of a declared object": {"open": {"in": {"a": "1", "b": 2}, "x": {"y": None}}},
    "unknown fields of elements": {"open": {"l": [{"b": "1", "c": [None]}]}},
    "anything": {"any": {"a": {"b": 1}, "c": [1]}},
    "a number for anything": {"any": 5},
    "a list for anything": {"any": [{"a": 1}]},
    "null for anything": {"any": None},
    "free values": {"map": {"k": {"x": 1}, "z": {}}},
    "values of which nothing is said": {"values": {"k": {"x": 1}, "z": [1], "n": None}},
    "an object of which nothing is said": {"bare": {"x": 1}},
    "an object for a number or a text": {"either": {"a": 1}},
    "a list for a number or a text": {"either": [1]},
    "true for a number or a text": {"either": True},
    "half a number for a number or a text": {"either": 1.5},
    "null for a free object": {"open": None},
    "nothing in a free object": {"open": {}},
}


async def _opened(stage: Stage, spec: dict[str, Any], group: str) -> None:
    kind = things(group)
    inner = {"in": struct(a=STRING), "l": listed(struct(b=STRING))}
    schema = {
        "open": {**struct(**inner), FREE: True},
        "any": {FREE: True},
        "map": {"type": "object", "additionalProperties": {"type": "object", FREE: True}},
        "values": {"type": "object", "additionalProperties": True},
        "bare": {"type": "object"},
        "either": {EITHER: True},
    }
    await defined(stage, definition("Thing", group, spec=struct(**schema)))
    body = named(kind, "a", spec=spec)
    await stage.apply(kind, "a", body)
    await stage.apply(kind, "a", body, manager="two")
    await stage.apply(kind, "a", named(kind, "a", spec={}))
    await stage.create(kind, named(kind, "b", spec=spec))
    await stage.patch(kind, "b", {"spec": {"open": {"in": {"b": 3}}}}, how=PatchType.MERGE)


for number_, (what, spec_) in enumerate(OPEN.items()):
    TABLE.add("apply", "open schemas", f"applied: {what}", _opened, spec_, f"open{number_}.trimtab.dev")


@case("apply", "several versions")
async def owners_in_several_versions(stage: Stage) -> None:
    group = "owners.trimtab.dev"
    versions = [versioned("v1", storage=True), versioned("v1beta1", storage=False)]
    await defined(stage, with_spec(definition("Thing", group), versions=versions))
    new, old = things(group), things(group, version="v1beta1")
    await stage.apply(new, "a", named(new, "a", spec={"both": "x", "v1": "1"}))
    await stage.apply(old, "a", named(old, "a", spec={"both": "x"}), manager="two")
    await stage.apply(old, "a", named(old, "a", spec={"v1beta1": "q"}), manager="two")
    await stage.apply(new, "a", named(new, "a", spec={"both": "x"}))
    hand = Write(manager="three")
    for kind, change in (
        (old, {"metadata": {"labels": {"l": "1"}}}),
        (new, {"spec": {"v1": "9"}}),
        (old, {"spec": {"both": "9"}}),
    ):
        await stage.patch(kind, "a", change, how=PatchType.MERGE, write=hand)
        await stage.get(new, "a")
    await stage.apply(old, "a", named(old, "a", spec={"both": "z"}), force=True)
    await stage.apply(new, "a", named(new, "a", spec={"v1": "z"}), force=True)
    await stage.get(new, "a")


@case("apply", "several versions")
async def one_owner_moves_to_another_version(stage: Stage) -> None:
    group = "moves.trimtab.dev"
    versions = [versioned("v1", storage=True), versioned("v1beta1", storage=False)]
    await defined(stage, with_spec(definition("Thing", group), versions=versions))
    new, old = things(group), things(group, version="v1beta1")
    await stage.apply(old, "b", named(old, "b", spec={"both": "x"}))
    await stage.apply(new, "b", named(new, "b", spec={"both": "y", "v1": "1"}), manager="two")
    await stage.apply(new, "b", named(new, "b", spec={"both": "y"}), manager="two", force=True)
    await stage.apply(new, "b", named(new, "b", spec={"v1": "2"}))
    await stage.get(old, "b")


@case("apply", "several versions")
async def an_owner_in_a_version_that_is_gone(stage: Stage) -> None:
    group = "left.trimtab.dev"
    versions = [versioned("v1", storage=True), versioned("v1beta1", storage=False)]
    await defined(stage, with_spec(definition("Thing", group), versions=versions))
    new, old = things(group), things(group, version="v1beta1")
    await stage.apply(old, "a", named(old, "a", spec={"both": "x"}))
    left = {"spec": {"versions": [versioned("v1", storage=True, more=("fresh",))]}}
    await stage.cluster.patch(DEFINITIONS, f"things.{group}", left, how=PatchType.MERGE)
    # The old version is refused before the new schema counts.
    trial = named(new, "trial", spec={"fresh": "x"})
    await stage.until_tried(new, trial, lambda tried: tried is not None and not tried.warnings)
    await stage.apply(new, "a", named(new, "a", spec={"both": "y"}), manager="two")
    patch = {"spec": {"v1": "1"}}
    await stage.patch(new, "a", patch, how=PatchType.MERGE, write=Write(manager="three"))
    await stage.apply(new, "a", named(new, "a", spec={"v1": "2"}))
    await stage.get(new, "a")


@case("apply", "one manager")
async def what_was_written_empty_is_written_anew(stage: Stage) -> None:
    kind = GADGETS
    empty = with_metadata(named(kind, "a", spec={}), labels={}, annotations={"n": "1"})
    await stage.apply(kind, "a", empty)
    await stage.patch(kind, "a", {"spec": {}}, how=PatchType.MERGE)
    await stage.patch(kind, "a", {"spec": {}}, how=PatchType.MERGE)
    await stage.patch(kind, "a", {"metadata": {"managedFields": []}}, how=PatchType.MERGE)
    await stage.patch(kind, "a", {"metadata": {"managedFields": [{}]}}, how=PatchType.MERGE)


# -- objects that are not what they should be -------------------------------------------------------------

HEADS: dict[str, list[dict[str, Any]]] = {
    "its version goes": [{"op": "remove", "path": "/apiVersion"}],
    "its kind goes": [{"op": "remove", "path": "/kind"}],
    "both go": [{"op": "remove", "path": "/kind"}, {"op": "remove", "path": "/apiVersion"}],
    "its version is empty": [{"op": "replace", "path": "/apiVersion", "value": ""}],
    "its kind is empty": [{"op": "replace", "path": "/kind", "value": ""}],
    "its version is of another group": [{"op": "replace", "path": "/apiVersion", "value": "apps/v1"}],
    "its version is unknown": [{"op": "replace", "path": "/apiVersion", "value": "v9"}],
    "its kind is unknown": [{"op": "replace", "path": "/kind", "value": "Foo"}],
    "its version is none": [{"op": "replace", "path": "/apiVersion", "value": "a/b/c"}],
}


async def _beheaded(stage: Stage, kind: Resource, patch: list[dict[str, Any]]) -> None:
    await stage.given(kind, named(kind, "a"))
    await stage.patch(kind, "a", patch, how=PatchType.JSON, write=TRIED)


GADGETS = things("contract.trimtab.dev", kind="Gadget")
for what, patch_ in HEADS.items():
    for kind_ in (CONFIG_MAPS, GADGETS):
        TABLE.add("patch json", "heads", f"{kind_.kind}: {what}", _beheaded, kind_, patch_)


@case("patch strategic", "heads")
async def a_strategic_patch_cannot_change_what_it_is(stage: Stage) -> None:
    await stage.given(CONFIG_MAPS, config_map("a"))
    for patch in ({"kind": "Secret"}, {"apiVersion": "v9"}, {"kind": None}, {"kind": 5}):
        await stage.patch(CONFIG_MAPS, "a", patch, how=PatchType.STRATEGIC, write=TRIED)


SHAPES: dict[str, dict[str, Any]] = {
    "a number among parts": {"parts": [1]},
    "a text and a null among parts": {"parts": ["x", None]},
    "a list among parts": {"parts": [[{"name": "x"}]]},
    "an object for parts": {"parts": {"name": "x"}},
    "an object among tags": {"tags": [{"a": 1}]},
    "nulls among tags": {"tags": [None, None, None]},
    "numbers among tags": {"tags": [1, 1]},
    "parts without names": {"parts": [{"name": None}, {"count": 1}]},
    "a port with and without its default": {"ports": [{"port": 1}, {"port": 1, "protocol": "TCP"}]},
    "objects for lists and lists for objects": {
        "steps": {"q": 1},
        "limits": [{"a": 1}],
        "size": {"b": 1},
        "nested": [{"x": 1}],
    },
}


async def _misshapen(stage: Stage, spec: dict[str, Any]) -> None:
    for asked in FieldValidation:
        body, write = named(GADGETS, "a", spec=spec), Write(dry_run=True, validation=asked)
        await stage.create(GADGETS, body, write=write)
    await stage.given(GADGETS, named(GADGETS, "a"))
    await stage.patch(GADGETS, "a", {"spec": spec}, how=PatchType.MERGE)
    await stage.update(GADGETS, "a", named(GADGETS, "a", metadata="", spec=spec))


for what, spec_ in SHAPES.items():
    TABLE.add("create", "wrong shapes", what, _misshapen, spec_)


@case("update", "wrong shapes")
async def bytes_one_by_one(stage: Stage) -> None:
    await stage.given(SECRETS, named(SECRETS, "a", data={"k": "MQ=="}))
    for value in ([1, 255], [None], [], ["x"], [256], [1.5]):
        await stage.update(SECRETS, "a", named(SECRETS, "a", data={"k": value}))


@case("create", "wrong shapes")
async def base64_that_is_spelled_otherwise(stage: Stage) -> None:
    for value in ("YWI=\n", "Y\r\nWI=", "YWJ=", "YW I=", "YWI", "\n"):
        await stage.create(SECRETS, named(SECRETS, "a", data={"k": value}), write=TRIED)
    await stage.apply(SECRETS, "a", named(SECRETS, "a", data={"k": "YWI=\n"}))
    await stage.apply(SECRETS, "a", named(SECRETS, "a", data={"k": "YWI="}), manager="two")


@case("apply", "wrong shapes")
async def an_account_whose_secrets_have_no_names_belongs_to_nobody(stage: Stage) -> None:
    await stage.given(ACCOUNTS, named(ACCOUNTS, "a", secrets=[{}]))
    await stage.apply(ACCOUNTS, "a", named(ACCOUNTS, "a"))
    await stage.apply(ACCOUNTS, "a", named(ACCOUNTS, "a", secrets=[{"uid": "x"}]))


BODIES: tuple[tuple[Resource, dict[str, Any]], ...] = (
    (CONFIG_MAPS, config_map("a")),
    (SECRETS, named(SECRETS, "a")),
    (SERVICES, service("a")),
    (ACCOUNTS, named(ACCOUNTS, "a")),
    (PODS, pod("a")),
    (LIMIT_RANGES, named(LIMIT_RANGES, "a", spec={"limits": []})),
    (DEPLOYMENTS, deployment("a")),
    (STATEFUL_SETS, templated(STATEFUL_SETS, "a", serviceName="s")),
    (JOBS, job("a")),
    (ROLES, named(ROLES, "a")),
    (NETWORK_POLICIES, named(NETWORK_POLICIES, "a", spec={"podSelector": {}})),
    (BUDGETS, named(BUDGETS, "a", spec={"minAvailable": 1})),
    (LEASES, named(LEASES, "a")),
    (ENDPOINT_SLICES, named(ENDPOINT_SLICES, "a", addressType="IPv4", endpoints=[])),
    (GADGETS, named(GADGETS, "a")),
)
ODD_METADATA: tuple[dict[str, Any], ...] = (
    {"labels": {"$x": "1"}},
    {"annotations": {"$x": "1"}},
    {"finalizers": ["a b"]},
    {"ownerReferences": [{"uid": "x"}]},
)


async def _oddly_marked(stage: Stage, kind: Resource, body: dict[str, Any]) -> None:
    await stage.given(kind, body)
    for metadata in ODD_METADATA:
        await stage.patch(kind, "a", {"metadata": metadata}, how=PatchType.MERGE)


for kind_, body_ in BODIES:
    TABLE.add("update", "invalid metadata", f"{kind_.kind}: bad metadata comes", _oddly_marked, kind_, body_)
