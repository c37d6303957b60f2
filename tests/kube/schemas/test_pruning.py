"""Unknown fields: dropped, and told about in the server's words."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from scripts.learning import manifests, schema_of
from scripts.refusals import bases, gadget, spoiled
from trimtab.kube.schemas.kinds import built_in
from trimtab.kube.schemas.pruning import duplicate_field, pruned, strict_refusal
from trimtab.kube.schemas.schema import Schema, crd_schema

Json = dict[str, Any]
HERE = Path(__file__).parents[1]
RECORDED = json.loads((HERE / "recorded" / "unknown_refusals.json").read_text())


def known(of: str) -> tuple[Json, Schema]:
    if of != "gadget":
        return bases()[of], schema_of(built_in(), bases()[of])
    told = gadget()
    declared = told["definition"]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return told["object"], crd_schema(declared, built_in().types)


@pytest.mark.parametrize("answer", RECORDED, ids=lambda answer: json.dumps(answer["case"])[:100])
def test_unknown_fields_are_told_as_the_server_tells_them(answer: Json) -> None:
    base, schema = known(answer["case"]["of"])
    found = pruned(spoiled(base, answer["case"]), schema)
    version = base["apiVersion"].rpartition("/")[2]
    assert strict_refusal(base["kind"], version, found.warnings) == answer["message"]


def test_what_is_known_stays_and_the_given_object_is_left_alone() -> None:
    base, schema = known("gadget")
    sent = spoiled(
        base, {"set": {"/spec/foo": 1, "/spec/free": {"x": [1]}, "/spec/map": [{"k": "a", "z": 1}]}}
    )
    before = copy.deepcopy(sent)
    assert pruned(sent, schema).manifest["spec"] == {"name": "abc", "free": {"x": [1]}, "map": [{"k": "a"}]}
    assert sent == before


def test_nothing_of_a_valid_manifest_is_unknown() -> None:
    for manifest in manifests(HERE / "manifests"):
        assert pruned(manifest, schema_of(built_in(), manifest)).dropped == ()


def test_a_field_given_twice_has_its_own_words() -> None:
    assert duplicate_field("spec.replicas") == 'duplicate field "spec.replicas"'
