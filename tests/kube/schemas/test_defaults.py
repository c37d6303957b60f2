"""Defaulting against what a real server keeps of the same manifests."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from scripts.learning import WITHOUT_ADMISSION, manifests, schema_of
from scripts.record_answers import created_objects
from testbed.fixtures import ControlPlanes
from trimtab.kube.schemas.creation import created, resets_status
from trimtab.kube.schemas.defaults import defaulted
from trimtab.kube.schemas.kinds import built_in
from trimtab.kube.schemas.schema import Schema, crd_schema
from trimtab.kube.times import parse_time

HERE = Path(__file__).parents[1]
MANIFESTS = list(manifests(HERE / "manifests"))
RECORDED = json.loads((HERE / "recorded" / "created.json").read_text())
NAMES = [f"{manifest['kind']}-{manifest.get('metadata', {}).get('name', '')}" for manifest in MANIFESTS]
ALLOCATED = ("clusterIP", "clusterIPs", "healthCheckNodePort", "ipFamilies", "ipFamilyPolicy")
ASKER = ("username", "uid", "groups", "extra")  # whoever asks for a certificate, as the server knows them
Json = dict[str, Any]


def expected(kept: Json) -> Json:
    """What the server kept, without what it took from a pool or found out."""
    kept = copy.deepcopy(kept)
    if kept["kind"] == "Service":
        for name in ALLOCATED:
            kept["spec"].pop(name, None)
        for port in kept["spec"].get("ports", ()):
            port.pop("nodePort", None)
    if kept["kind"].endswith("Review"):
        kept.pop("status")
    if kept["kind"] == "CertificateSigningRequest":
        for name in ASKER:
            kept["spec"].pop(name, None)
    return kept


def ours(manifest: Json, kept: Json) -> Json:
    """What we would keep, told the identity, time and namespace that the server gave."""
    group, _, version = manifest["apiVersion"].rpartition("/")
    resource = built_in().resource(group, version, manifest["kind"])
    assert resource is not None
    if "uid" not in kept.get("metadata", {}):
        return expected({**defaulted(manifest, schema_of(built_in(), manifest)), "kind": manifest["kind"]})
    namespace = {"namespace": kept["metadata"]["namespace"]} if resource.namespaced else {}
    has_status = any(sub.name == "status" for sub in resource.subresources)
    return expected(
        created(
            {**manifest, "metadata": {**manifest["metadata"], **namespace}},
            schema_of(built_in(), manifest),
            uid=kept["metadata"]["uid"],
            now=parse_time(kept["metadata"]["creationTimestamp"]),
            resets_status=resets_status(manifest["kind"], has_status_subresource=has_status),
            counts_generation=resource.generation,
        )
    )


@pytest.mark.parametrize(("manifest", "kept"), list(zip(MANIFESTS, RECORDED, strict=True)), ids=NAMES)
def test_an_object_is_kept_as_the_server_keeps_it(manifest: Json, kept: Json) -> None:
    before = copy.deepcopy(manifest)
    assert ours(manifest, kept) == expected(kept)
    assert manifest == before


def test_defaulting_what_is_defaulted_changes_nothing() -> None:
    for manifest in MANIFESTS:
        schema = schema_of(built_in(), manifest)
        once = defaulted(manifest, schema)
        assert defaulted(once, schema) == once


def test_the_corpus_covers_most_kinds_that_can_be_created() -> None:
    kinds = {(manifest["apiVersion"], manifest["kind"]) for manifest in MANIFESTS}
    assert len(kinds) >= 55


@pytest.mark.timeout(300)
def test_the_recording_is_what_the_server_says_today(control_planes: ControlPlanes) -> None:
    plane = control_planes.start(apiserver_flags=WITHOUT_ADMISSION)
    for manifest, kept in zip(MANIFESTS, created_objects(plane, built_in()), strict=True):
        assert ours(manifest, kept) == expected(kept)


# -- custom resources ------------------------------------------------------------------------------------


def widget(**properties: Any) -> Schema:
    spec = {"type": "object", "properties": properties}
    return crd_schema({"type": "object", "properties": {"spec": spec}}, built_in().types)


STRING = {"type": "string", "default": "x"}


@pytest.mark.parametrize(
    ("properties", "sent", "kept"),
    [
        ({"a": STRING}, {}, {"a": "x"}),
        ({"a": STRING}, {"a": "y"}, {"a": "y"}),
        ({"a": STRING}, {"a": None}, {"a": "x"}),
        ({"a": {**STRING, "nullable": True}}, {"a": None}, {"a": None}),
        ({"a": {"type": "string"}}, {"a": None}, {}),
        ({"a": {"type": "string", "nullable": True}}, {"a": None}, {"a": None}),
        ({"o": {"type": "object", "properties": {"a": STRING}}}, {}, {}),
        ({"o": {"type": "object", "properties": {"a": STRING}}}, {"o": {}}, {"o": {"a": "x"}}),
        ({"o": {"type": "object", "default": {}, "properties": {"a": STRING}}}, {}, {"o": {"a": "x"}}),
        (
            {"l": {"type": "array", "items": {"type": "object", "properties": {"a": STRING}}}},
            {"l": [{}]},
            {"l": [{"a": "x"}]},
        ),
        (
            {
                "m": {
                    "type": "object",
                    "additionalProperties": {"type": "object", "properties": {"a": STRING}},
                }
            },
            {"m": {"k": {}}},
            {"m": {"k": {"a": "x"}}},
        ),
        (
            {"m": {"type": "object", "additionalProperties": {"type": "string"}}},
            {"m": {"k": None}},
            {"m": {}},
        ),
        ({"e": {"type": "string"}}, {"e": ""}, {"e": ""}),
    ],
)
def test_a_custom_resource_gets_the_defaults_of_its_schema(properties: Json, sent: Json, kept: Json) -> None:
    manifest = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": sent}
    before = copy.deepcopy(manifest)
    assert defaulted(manifest, widget(**properties))["spec"] == kept
    assert manifest == before


def test_metadata_of_a_custom_resource_is_kept_as_that_of_any_object() -> None:
    metadata: Json = {
        "name": "w",
        "labels": {},
        "annotations": None,
        "creationTimestamp": None,
        "finalizers": [],
    }
    manifest = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata}
    assert defaulted(manifest, widget()) == {**manifest, "metadata": {"name": "w"}}


def test_a_default_is_never_shared_between_objects() -> None:
    schema = widget(
        o={"type": "object", "default": {"deep": [1]}, "x-kubernetes-preserve-unknown-fields": True}
    )
    first = defaulted({"spec": {}}, schema)
    first["spec"]["o"]["deep"].append(2)
    assert defaulted({"spec": {}}, schema) == {"spec": {"o": {"deep": [1]}}}
