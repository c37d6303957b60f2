"""CustomResourceDefinitions: how they come to be served, prune, default, validate, and go."""

from __future__ import annotations

from typing import Any

from tests.contract.cluster.cases import Table
from tests.contract.cluster.kinds import (
    DEFINITIONS,
    INTEGER,
    SCALE,
    STRING,
    definition,
    is_established,
    named,
    with_metadata,
    with_spec,
)
from tests.contract.cluster.stage import Stage
from trimtab.kube.cluster import FieldValidation, PatchType, Selection, Write, Written
from trimtab.kube.discovery import Resource

TABLE = Table(__name__)
case = TABLE.case


def things(group: str, kind: str = "Thing", version: str = "v1", *, namespaced: bool = True) -> Resource:
    """The resource that a definition of this suite makes."""
    return Resource(group=group, version=version, kind=kind, plural=f"{kind.lower()}s", namespaced=namespaced)


async def defined(stage: Stage, body: dict[str, Any]) -> None:
    """Make a definition and wait until it is served."""
    await stage.given(DEFINITIONS, body)
    await stage.until(DEFINITIONS, body["metadata"]["name"], is_established)
    await stage.served(body)


def spec_of(written: Written) -> Any:
    """What the object says that was written."""
    return written.object.manifest()["spec"]


def _schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


@case("definitions", "life")
async def a_definition_is_accepted_and_established(stage: Stage) -> None:
    body = definition("Thing", "life.trimtab.dev")
    await defined(stage, body)
    await stage.get(DEFINITIONS, "things.life.trimtab.dev")
    found = await stage.discovered("life.trimtab.dev/v1", "Thing")
    stage.say("discovered", [found.plural, found.singular, sorted(found.verbs)])
    await stage.create(things("life.trimtab.dev"), named(things("life.trimtab.dev"), "a"))


@case("definitions", "life")
async def a_definition_goes_with_its_instances(stage: Stage) -> None:
    kind = things("gone.trimtab.dev")
    await defined(stage, definition("Thing", "gone.trimtab.dev"))
    await stage.given(kind, named(kind, "a"), named(kind, "b"))
    since = await stage.version_of(kind, "b")
    async with stage.watching(kind, since=since) as ear:
        await stage.delete(DEFINITIONS, "things.gone.trimtab.dev")
        await ear.hear(2)


@case("definitions", "life")
async def a_definition_waits_for_instances_that_are_held(stage: Stage) -> None:
    kind, name = things("held.trimtab.dev"), "things.held.trimtab.dev"
    await defined(stage, definition("Thing", "held.trimtab.dev"))
    await stage.given(kind, with_metadata(named(kind, "a"), finalizers=["t.dev/1"]))
    await stage.cluster.delete(DEFINITIONS, name)
    await stage.until(kind, "a", lambda manifest: "deletionTimestamp" in manifest["metadata"])
    await stage.until_tried(kind, named(kind, "trial"), lambda tried: tried is None)
    await stage.create(kind, named(kind, "late"))
    await stage.get(kind, "a")
    await stage.patch(kind, "a", {"metadata": {"finalizers": None}}, how=PatchType.MERGE)
    await stage.gone(DEFINITIONS, name)


@case("definitions", "life")
async def a_cluster_wide_kind(stage: Stage) -> None:
    kind = things("wide.trimtab.dev", namespaced=False)
    await defined(stage, with_spec(definition("Thing", "wide.trimtab.dev"), scope="Cluster"))
    await stage.create(kind, named(kind, "a"))
    await stage.create(kind, with_metadata(named(kind, "b"), namespace="x"))
    await stage.list(kind)


@case("definitions", "names")
async def names_are_accepted_with_their_defaults(stage: Stage) -> None:
    names = {"kind": "Thing", "plural": "things", "shortNames": ["th"], "categories": ["all"]}
    await defined(stage, with_spec(definition("Thing", "named.trimtab.dev"), names=names))
    await stage.get(DEFINITIONS, "things.named.trimtab.dev")


@case("definitions", "pruning")
async def unknown_fields_are_pruned(stage: Stage) -> None:
    kind = things("prune.trimtab.dev")
    schema = _schema(
        known=STRING,
        inner=_schema(known=STRING),
        items={"type": "array", "items": _schema(known=STRING)},
        open={
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
            "properties": {"in": _schema(a=STRING)},
        },
        map={"type": "object", "additionalProperties": _schema(a=STRING)},
        anything={"x-kubernetes-preserve-unknown-fields": True},
        raw={
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "properties": {"spec": _schema(a=STRING)},
        },
    )
    await defined(stage, definition("Thing", "prune.trimtab.dev", spec=schema))
    spec = {
        "known": "1",
        "unknown": "2",
        "inner": {"known": "1", "unknown": "2"},
        "items": [{"known": "1", "unknown": "2"}],
        "open": {"free": {"x": 1}, "in": {"a": "1", "b": "2"}},
        "map": {"k": {"a": "1", "b": "2"}},
        "anything": [{"x": {"y": None}}],
        "raw": {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p", "junk": 1},
            "spec": {"a": "1", "b": "2"},
        },
    }
    for validation in FieldValidation:
        write = Write(validation=validation)
        await stage.create(kind, named(kind, validation.name.lower(), spec=spec, extra=1), write=write)


@case("definitions", "pruning")
async def embedded_objects_need_their_names(stage: Stage) -> None:
    kind = things("embed.trimtab.dev")
    raw = {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
    }
    await defined(stage, definition("Thing", "embed.trimtab.dev", spec=_schema(raw=raw)))
    for sent in (
        {},
        {"apiVersion": "v1"},
        {"apiVersion": "v1", "kind": "Pod"},
        {"kind": "x y", "apiVersion": "a/b/c"},
    ):
        await stage.create(kind, named(kind, "a", spec={"raw": sent}), write=Write(dry_run=True))


@case("definitions", "pruning")
async def metadata_of_embedded_objects_must_be_readable(stage: Stage) -> None:
    kind = things("embed-meta.trimtab.dev")
    raw = {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
    }
    schema = _schema(raw=raw, many={"type": "array", "items": raw})
    await defined(stage, definition("Thing", "embed-meta.trimtab.dev", spec=schema))
    await stage.given(kind, named(kind, "b"))
    for metadata in ({"labels": {"a": 1}}, {"name": 5}, "text", {"creationTimestamp": "soon"}, None):
        raw = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
        for spec in ({"raw": raw}, {"many": [raw]}):
            await stage.create(kind, named(kind, "a", spec=spec), write=Write(dry_run=True))
        await stage.patch(kind, "b", {"spec": {"raw": raw}}, how=PatchType.MERGE, write=Write(dry_run=True))


@case("definitions", "validation")
async def values_that_are_nearly_what_they_should_be(stage: Stage) -> None:
    kind = things("nearly.trimtab.dev")
    number = {"type": "number"}
    choice = {**STRING, "enum": ["a", "b"]}
    schema = _schema(
        half={**number, "multipleOf": 0.5, "minimum": 0, "exclusiveMinimum": True},
        more={**number, "multipleOf": 2.5},
        long={**INTEGER, "format": "int64"},
        short={**INTEGER, "format": "int32"},
        plain=INTEGER,
        wait={**STRING, "format": "duration"},
        choice=choice,
        free={**choice, "nullable": True},
    )
    await defined(stage, definition("Thing", "nearly.trimtab.dev", spec=schema))
    tried: dict[str, tuple[Any, ...]] = {
        "half": (0, 0.0, 1, 1.5, 0.3, 1e300, 0.5000000000000001),
        "more": (2, 3, 2.5, 5, 6.0, 7.5, -2.5),
        "long": (1.5, 1.0, 2**63, 2**63 - 1, 1e17, 1e15),
        "short": (1.5, 2**31, 2**40, 1e15),
        "plain": (1.5, 2**63, 1e17, 3.0),
        "wait": ("5s", "x", "", "0", "5", "1.5h3m", "-5m", "3 days", "2 Weeks", "5 fortnights", "1d"),
        "choice": ("a", "c", 5, None),
        "free": ("c", None),
    }
    for field, values in tried.items():
        for value in values:
            body = named(kind, "a", spec={field: value})
            await stage.create(kind, body, write=Write(dry_run=True))
            if value is None:
                await stage.apply(kind, "a", body, write=Write(dry_run=True))


@case("definitions", "defaulting")
async def defaults_are_filled_in_on_write_and_on_read(stage: Stage) -> None:
    kind, name = things("fill.trimtab.dev"), "things.fill.trimtab.dev"
    before = _schema(a=STRING)
    await defined(stage, definition("Thing", "fill.trimtab.dev", spec=before))
    await stage.given(kind, named(kind, "old", spec={}), named(kind, "bare"))
    after = _schema(
        a={**STRING, "default": "x"},
        b={
            "type": "object",
            "default": {"c": 1},
            "properties": {"c": INTEGER, "d": {**INTEGER, "default": 2}},
        },
        e={"type": "array", "items": _schema(f={**STRING, "default": "y"})},
        n={**STRING, "nullable": True, "default": "z"},
        o=_schema(p={**INTEGER, "default": 3}),
    )
    versions = definition("Thing", "fill.trimtab.dev", spec=after)["spec"]["versions"]
    await stage.cluster.patch(DEFINITIONS, name, {"spec": {"versions": versions}}, how=PatchType.MERGE)
    trial = named(kind, "trial", spec={})
    await stage.until_tried(kind, trial, lambda tried: tried is not None and "a" in spec_of(tried))
    await stage.get(kind, "old")
    await stage.get(kind, "bare")
    await stage.create(kind, named(kind, "new", spec={"e": [{}, {"f": "1"}], "n": None, "o": {}, "b": {}}))
    await stage.create(kind, named(kind, "null", spec={"a": None, "b": None}))


@case("definitions", "validation")
async def combined_schemas(stage: Stage) -> None:
    kind = things("combine.trimtab.dev")
    schema = {
        "type": "object",
        "required": ["need"],
        "properties": {
            "need": STRING,
            "one": INTEGER,
            "two": INTEGER,
            "when": {"type": "string", "format": "date-time"},
            "url": {"type": "string", "format": "uri"},
            "many": {"type": "array", "items": INTEGER, "minItems": 2, "uniqueItems": False},
            "step": {"type": "integer", "multipleOf": 3},
            "over": {"type": "number", "minimum": 1, "exclusiveMinimum": True},
            "map": {
                "type": "object",
                "additionalProperties": INTEGER,
                "maxProperties": 2,
                "minProperties": 1,
            },
        },
        "oneOf": [{"required": ["one"]}, {"required": ["two"]}],
        "not": {"required": ["one", "two", "many"]},
    }
    await defined(stage, definition("Thing", "combine.trimtab.dev", spec=schema))
    for spec in (
        {"need": "x", "one": 1},
        {"one": 1},
        {"need": "x"},
        {"need": "x", "one": 1, "two": 2},
        {"need": "x", "one": 1, "when": "yesterday"},
        {"need": "x", "one": 1, "when": "2001-01-01T00:00:00Z"},
        {"need": "x", "one": 1, "many": [1]},
        {"need": "x", "one": 1, "step": 4},
        {"need": "x", "one": 1, "over": 1},
        {"need": "x", "one": 1, "map": {}},
        {"need": "x", "one": 1, "map": {"a": 1, "b": 2, "c": 3}},
        {"need": "x", "one": 1, "map": {"a": "1"}},
    ):
        await stage.create(kind, named(kind, "a", spec=spec), write=Write(dry_run=True))


def _version(name: str, *, storage: bool, served: bool = True, **more: Any) -> dict[str, Any]:
    schema = _schema(spec=_schema(**{name: STRING, "both": STRING}))
    return {"name": name, "storage": storage, "served": served, "schema": {"openAPIV3Schema": schema}, **more}


@case("definitions", "versions")
async def one_object_in_several_versions(stage: Stage) -> None:
    versions = [
        _version("v1", storage=True),
        _version("v1beta1", storage=False),
        _version("v2", storage=False, served=False),
    ]
    await defined(stage, with_spec(definition("Thing", "many.trimtab.dev"), versions=versions))
    v1, v1beta1, v2 = (things("many.trimtab.dev", version=name) for name in ("v1", "v1beta1", "v2"))
    spec = {"both": "x", "v1": "y", "v1beta1": "z"}
    await stage.create(v1beta1, named(v1beta1, "a", spec=spec))
    await stage.get(v1, "a")
    await stage.get(v1beta1, "a")
    await stage.get(v2, "a")
    await stage.apply(v1, "a", named(v1, "a", spec={"both": "w"}))
    await stage.apply(v1beta1, "a", named(v1beta1, "a", spec={"both": "w"}), manager="two")
    await stage.list(v1, whole=True)
    await stage.get(DEFINITIONS, "things.many.trimtab.dev")


@case("definitions", "versions")
async def a_deprecated_version_warns(stage: Stage) -> None:
    versions = [
        _version("v1", storage=True),
        _version("v1beta1", storage=False, deprecated=True),
        _version("v1alpha1", storage=False, deprecated=True, deprecationWarning="use v1"),
    ]
    await defined(stage, with_spec(definition("Thing", "old.trimtab.dev"), versions=versions))
    for version in ("v1beta1", "v1alpha1"):
        kind = things("old.trimtab.dev", version=version)
        await stage.create(kind, named(kind, version))


@case("definitions", "subresources")
async def without_a_status_subresource_the_status_is_a_field(stage: Stage) -> None:
    kind = things("plain.trimtab.dev")
    await defined(stage, definition("Thing", "plain.trimtab.dev"))
    await stage.create(kind, named(kind, "a", status={"replicas": 2}))
    await stage.update(kind, "a", named(kind, "a", status={"replicas": 3}))
    await stage.patch(kind, "a", {"metadata": {"labels": {"x": "1"}}}, how=PatchType.MERGE)
    await stage.get(kind, "a", subresource="status")
    await stage.get(kind, "a", subresource="scale")


@case("definitions", "subresources")
async def a_scale_without_replicas(stage: Stage) -> None:
    kind = things("scaled.trimtab.dev")
    spec = _schema(replicas=INTEGER)
    body = definition("Thing", "scaled.trimtab.dev", spec=spec, subresources={"status": {}, "scale": SCALE})
    await defined(stage, body)
    await stage.given(kind, named(kind, "a"), named(kind, "b", spec={"replicas": 2}))
    await stage.get(kind, "a", subresource="scale")
    await stage.get(kind, "b", subresource="scale")
    await stage.patch(kind, "a", {"spec": {"replicas": 1}}, how=PatchType.MERGE, subresource="scale")
    status = {"status": {"replicas": 2, "selector": "x=1"}}
    await stage.patch(kind, "b", status, how=PatchType.MERGE, subresource="status")
    await stage.get(kind, "b", subresource="scale")


ORIGINAL = definition("Thing", "wrong.trimtab.dev")


def _wrong(**spec: Any) -> dict[str, Any]:
    return with_spec(ORIGINAL, **spec)


def _wrongly(schema: Any, **version: Any) -> dict[str, Any]:
    served = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return _wrong(versions=[{**served, **version}])


REFUSED: dict[str, dict[str, Any]] = {
    "a name that does not fit": with_metadata(ORIGINAL, name="others.wrong.trimtab.dev"),
    "no group": _wrong(group=""),
    "a bad group": _wrong(group="Wrong"),
    "no scope": _wrong(scope=None),
    "a bad scope": _wrong(scope="World"),
    "no names": _wrong(names={}),
    "bad names": _wrong(names={"kind": "thing thing", "plural": "Things", "shortNames": ["A_B"]}),
    "no versions": _wrong(versions=[]),
    "a bad version": _wrongly({"type": "object"}, name="V 1"),
    "a version twice": _wrong(versions=ORIGINAL["spec"]["versions"] * 2),
    "no stored version": _wrongly({"type": "object"}, storage=False),
    "no schema": _wrong(versions=[{"name": "v1", "served": True, "storage": True}]),
    "a schema without a type": _wrongly({"properties": {"spec": {"properties": {"a": {}}}}}),
    "a schema that is no object": _wrongly({"type": "string"}),
    "an unknown type": _wrongly({"type": "object", "properties": {"a": {"type": "thing"}}}),
    "an array without items": _wrongly({"type": "object", "properties": {"a": {"type": "array"}}}),
    "metadata restricted": _wrongly(
        {
            "type": "object",
            "properties": {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}},
        }
    ),
    "a default that does not fit": _wrongly(
        {"type": "object", "properties": {"a": {"type": "integer", "default": "x"}}}
    ),
    "a set of objects": _wrongly(
        {
            "type": "object",
            "properties": {
                "a": {"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "set"}
            },
        }
    ),
    "a list map without keys": _wrongly(
        {
            "type": "object",
            "properties": {
                "a": {"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "map"}
            },
        }
    ),
    "a list map with an optional key": _wrongly(
        {
            "type": "object",
            "properties": {
                "a": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"k": STRING}},
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["k"],
                }
            },
        }
    ),
    "an unknown list type": _wrongly(
        {
            "type": "object",
            "properties": {"a": {"type": "array", "items": STRING, "x-kubernetes-list-type": "x"}},
        }
    ),
    "both properties and additional ones": _wrongly(
        {
            "type": "object",
            "properties": {
                "a": {"type": "object", "properties": {"b": STRING}, "additionalProperties": STRING}
            },
        }
    ),
    "a type inside anyOf": _wrongly(
        {"type": "object", "properties": {"a": {"type": "string", "anyOf": [{"type": "string"}]}}}
    ),
    "unknown fields kept at the root": _wrong(preserveUnknownFields=True),
    "a bad scale path": _wrongly(
        {"type": "object"},
        subresources={"scale": {"specReplicasPath": "x", "statusReplicasPath": ".status.x"}},
    ),
    "a webhook without an address": _wrong(conversion={"strategy": "Webhook"}),
    "a bad pattern": _wrongly({"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}}),
    "a protected group": with_metadata(
        with_spec(definition("Thing", "x.k8s.io"), group="x.k8s.io"), name="things.x.k8s.io"
    ),
    "an unknown field": {**ORIGINAL, "spec": {**ORIGINAL["spec"], "scop": 1}},
}


async def _refused(stage: Stage, body: dict[str, Any]) -> None:
    await stage.create(DEFINITIONS, body, write=Write(dry_run=True))


for what, body_ in REFUSED.items():
    TABLE.add("definitions", "refusals", f"refused: {what}", _refused, body_)


@case("definitions", "changes")
async def what_may_not_change(stage: Stage) -> None:
    name = "things.fixed.trimtab.dev"
    await defined(stage, definition("Thing", "fixed.trimtab.dev"))
    patches: tuple[dict[str, Any], ...] = (
        {"spec": {"scope": "Cluster"}},
        {"spec": {"group": "other.trimtab.dev"}},
        {"spec": {"names": {"plural": "others"}}},
        {"spec": {"names": {"kind": "Other"}}},
        {"spec": {"versions": []}},
        {"status": {"storedVersions": ["v9"]}},
    )
    for patch in patches:
        await stage.patch(DEFINITIONS, name, patch, how=PatchType.MERGE, write=Write(dry_run=True))


@case("definitions", "changes")
async def a_version_that_is_stored_stays(stage: Stage) -> None:
    name = "things.stored.trimtab.dev"
    versions = [_version("v1", storage=True), _version("v2", storage=False)]
    await defined(stage, with_spec(definition("Thing", "stored.trimtab.dev"), versions=versions))
    turned = [_version("v1", storage=False), _version("v2", storage=True)]
    await stage.patch(DEFINITIONS, name, {"spec": {"versions": turned}}, how=PatchType.MERGE)
    await stage.patch(
        DEFINITIONS, name, {"spec": {"versions": [_version("v2", storage=True)]}}, how=PatchType.MERGE
    )


@case("list", "field selectors")
async def what_is_in_no_namespace_is_not_selected_by_one(stage: Stage) -> None:
    group = "worlds.trimtab.dev"
    await defined(stage, with_spec(definition("World", group), scope="Cluster"))
    worlds = things(group, kind="World", namespaced=False)
    for selector in ("metadata.namespace=x", "metadata.namespace=", "metadata.name=x"):
        await stage.list(worlds, select=Selection(fields=selector))
