"""Schemas of definitions: what the many cases of the contract do not say one by one."""

from __future__ import annotations

from typing import Any

import pytest

from trimtab.kube.schemas.validation.openapi import WORDS, schema_causes, shown_schema
from trimtab.kube.schemas.validation.structural import is_representable, structural

STRING = {"type": "string"}


def told(schema: dict[str, Any]) -> list[str]:
    return [str(cause) for cause in schema_causes(schema, "s", has_status=False)]


def test_a_schema_with_every_shape_of_list_and_map_is_fine() -> None:
    element = {"type": "object", "required": ["k"], "properties": {"k": STRING}}
    keyed = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
    schema = {
        "type": "object",
        "properties": {
            "set": {"type": "array", "items": STRING, "x-kubernetes-list-type": "set"},
            "map": {"type": "array", "items": element, **keyed},
            "either": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, STRING]},
            "free": {"x-kubernetes-preserve-unknown-fields": True},
            "filled": {"type": "object", "properties": {"a": STRING}, "default": {"a": "x"}},
        },
    }
    assert told(schema) == []


def test_structural_problems_are_told_in_the_order_of_their_words_and_before_all_others() -> None:
    schema = {
        "type": "object",
        "properties": {"b": {"type": "array"}, "a": {}, "c": {**STRING, "x-kubernetes-list-type": "x"}},
    }
    assert told(schema)[:2] == [
        "s.properties[a].type: Required value: must not be empty for specified object fields",
        "s.properties[b].items: Required value: must be specified",
    ]
    assert len(told(schema)) == 4


def test_defaults_are_judged_only_where_the_structure_is_sound() -> None:
    wrong = {"type": "integer", "default": "x"}
    assert any("default" in each for each in told({"type": "object", "properties": {"a": wrong}}))
    assert not any(
        "default" in each for each in told({"type": "object", "properties": {"a": wrong, "b": {}}})
    )


@pytest.mark.parametrize("word", ["$ref", "id", "definitions", "patternProperties"])
def test_a_schema_with_words_that_have_no_form_is_not_judged_by_its_structure(word: str) -> None:
    schema = {"type": "object", "properties": {"a": {word: "x"}}}
    assert not is_representable(schema)
    assert told(schema) == [f"s.properties[a].{word}: Forbidden: {word} is not supported"]


def test_alternatives_may_only_narrow_what_is_declared() -> None:
    branch = {"properties": {"a": {"minLength": 1}, "b": {"minLength": 1}}}
    schema = {"type": "object", "properties": {"a": STRING}, "anyOf": [branch]}
    why = "because it is defined in s.anyOf[0].properties[b]"
    assert [str(each) for each in structural(schema, "s")] == [f"s.properties[b]: Required value: {why}"]


def test_a_schema_is_shown_with_every_word() -> None:
    shown = shown_schema({"type": "array", "items": STRING})
    assert len(shown) == len(WORDS)
    assert shown["Items"]["Schema"]["Type"] == "string"
    assert shown["XListType"] is None
