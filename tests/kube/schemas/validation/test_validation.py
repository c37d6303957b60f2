"""Refusals against what a real server was seen to say to the same objects."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from scripts import refusals
from scripts.learning import WITHOUT_ADMISSION, schema_of
from scripts.refusals import bases, gadget, spoiled
from testbed.fixtures import ControlPlanes
from trimtab.kube.schemas.creation import created, resets_status
from trimtab.kube.schemas.decoding import unreadable
from trimtab.kube.schemas.defaults import defaulted
from trimtab.kube.schemas.kinds import built_in
from trimtab.kube.schemas.pruning import pruned
from trimtab.kube.schemas.schema import crd_schema
from trimtab.kube.schemas.validation import Cause, creation_causes, refusal, update_causes
from trimtab.kube.times import parse_time

Json = dict[str, Any]
RECORDED = Path(__file__).parents[2] / "recorded"
CREATIONS = json.loads((RECORDED / "create_refusals.json").read_text())
UPDATES = json.loads((RECORDED / "update_refusals.json").read_text())
CUSTOM = json.loads((RECORDED / "custom_refusals.json").read_text())
BASES = bases()
# Words of Go's own that are not imitated: its JSON errors, dumps of its structs.
OTHER_WORDS = ("invalid character 'o'", '"Volumes":null', "\n@@ ")


def name_of(answer: Json) -> str:
    case = answer["case"]
    what = case.get("set") or case.get("then") or case.get("drop")
    return f"{case.get('of', 'gadget')} {json.dumps(what)}"[:150]


def plain(causes: Any) -> list[Json]:
    return [{"field": cause.field, "reason": cause.reason, "message": cause.message} for cause in causes]


def answered(kind: str, group: str, name: str, causes: tuple[Cause, ...], *, success: int) -> Json:
    if not causes:
        return {"code": success}
    message = refusal(kind, group, name, causes)
    return {"code": 422, "reason": "Invalid", "message": message, "causes": plain(causes)}


def comparable(answer: Json) -> Json:
    """An answer, reduced to fields and reasons where it holds words that are Go's alone."""
    told = {key: value for key, value in answer.items() if key != "case"}
    if any(words in answer.get("message", "") for words in OTHER_WORDS):
        told["causes"] = [(cause["field"], cause["reason"]) for cause in told["causes"]]
        del told["message"]
    return told


def reduced(ours: Json, theirs: Json) -> Json:
    if "message" in theirs or "causes" not in ours:
        return ours
    causes = [(cause["field"], cause["reason"]) for cause in ours["causes"]]
    return {"code": ours["code"], "reason": ours["reason"], "causes": causes}


def our_creation(answer: Json) -> Json:
    manifest = spoiled(BASES[answer["case"]["of"]], answer["case"])
    group, _, version = manifest["apiVersion"].rpartition("/")
    schema, resource = schema_of(built_in(), manifest), built_in().resource(group, version, manifest["kind"])
    assert resource is not None
    problem = unreadable(manifest, schema)
    if problem:
        return {"code": 400, "reason": "BadRequest", "message": problem, "causes": []}
    uid = re.search(r'controller-uid":"([^"]*)"', answer.get("message", ""))
    metadata = {**({"namespace": "default"} if resource.namespaced else {}), **manifest.get("metadata", {})}
    has_status = any(sub.name == "status" for sub in resource.subresources)
    kept = created(
        {**manifest, "metadata": metadata},
        schema,
        uid=uid.group(1) if uid else "some-uid",
        now=parse_time("2026-01-01T00:00:00Z"),
        counts_generation=resource.generation,
        resets_status=resets_status(manifest["kind"], has_status_subresource=has_status),
    )
    if "generation" in metadata:
        kept["metadata"]["generation"] = metadata["generation"]
    causes = creation_causes(kept, schema, namespaced=resource.namespaced)
    return answered(manifest["kind"], group, kept["metadata"].get("name", ""), causes, success=201)


def our_update(answer: Json, kept: Json) -> Json:
    old = kept[answer["case"]["of"]]
    if old["kind"] == "CustomResourceDefinition":  # by the time of the change it was established
        established = {"conditions": [{"type": "Established", "status": "True"}]}
        old = {**old, "status": {**old["status"], **established}}
    schema = schema_of(built_in(), old)
    new = defaulted(spoiled(old, answer["case"]), schema)
    group = old["apiVersion"].rpartition("/")[0]
    return answered(old["kind"], group, old["metadata"]["name"], update_causes(new, old, schema), success=200)


def our_custom(answer: Json) -> Json:
    told = gadget()
    declared = told["definition"]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema = crd_schema(declared, built_in().types)
    manifest = spoiled(told["object"], answer["case"])
    manifest["metadata"]["namespace"] = "default"
    kept = defaulted(pruned(manifest, schema).manifest, schema)
    causes = creation_causes(kept, schema, namespaced=True)
    return answered("Gadget", "example.com", kept["metadata"]["name"], causes, success=201)


def check_creation(answer: Json) -> None:
    theirs = comparable(answer)
    assert reduced(our_creation(answer), theirs) == theirs


def check_update(answer: Json, kept: Json) -> None:
    theirs = comparable(answer)
    assert reduced(our_update(answer, kept), theirs) == theirs


@pytest.mark.parametrize("answer", CREATIONS, ids=name_of)
def test_an_object_is_refused_on_creation_as_the_server_refuses_it(answer: Json) -> None:
    check_creation(answer)


@pytest.mark.parametrize("answer", UPDATES["answers"], ids=name_of)
def test_a_change_is_refused_as_the_server_refuses_it(answer: Json) -> None:
    check_update(answer, UPDATES["kept"])


@pytest.mark.parametrize("answer", CUSTOM, ids=name_of)
def test_a_custom_resource_is_refused_as_the_server_refuses_it(answer: Json) -> None:
    assert our_custom(answer) == comparable(answer)


@pytest.mark.parametrize("base", BASES)
def test_a_valid_object_is_not_refused(base: str) -> None:
    assert our_creation({"case": {"of": base}}) == {"code": 201}


@pytest.mark.timeout(300)
def test_the_recordings_are_what_the_server_says_today(control_planes: ControlPlanes) -> None:
    plane = control_planes.start(apiserver_flags=WITHOUT_ADMISSION)
    for answer in refusals.create_refusals(plane):
        check_creation(answer)
    updates = refusals.update_refusals(plane)
    for answer in updates["answers"]:
        check_update(answer, updates["kept"])
    refusals.define_gadgets(plane)
    assert refusals.custom_refusals(plane) == CUSTOM
    assert refusals.unknown_refusals(plane) == json.loads((RECORDED / "unknown_refusals.json").read_text())


def test_labels_that_are_wrong_twice_are_told_twice_but_in_one_sentence_once() -> None:
    twice = (Cause("spec.x", "FieldValueInvalid", "no"), Cause("spec.x", "FieldValueInvalid", "no"))
    assert refusal("Pod", "", "p", twice) == 'Pod "p" is invalid: spec.x: no'
