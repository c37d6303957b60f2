"""Ignore rules: what they name, whom they are about, and what is wrong with them."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.engine.compare.ignoring import (
    NO_RULES,
    NOTHING_IGNORED,
    IgnoreRule,
    KeyRules,
    Rules,
    pointer_of,
    tokens_of,
    without,
)
from trimtab.engine.compare.owners import ownership
from trimtab.resources.keys import ResourceKey

WEB = ResourceKey("apps", "Deployment", "shop", "web")
OBJECT = {"a": {"b": [{"c": 1}, {"d": 2}], "x/y~z": 3}, "e": None}


@pytest.mark.parametrize(
    ("pointer", "expected"),
    [
        ("/a/b/0/c", {"a": {"b": [{}, {"d": 2}], "x/y~z": 3}, "e": None}),
        ("/a/b/1", {"a": {"b": [{"c": 1}], "x/y~z": 3}, "e": None}),
        ("/a/x~1y~0z", {"a": {"b": [{"c": 1}, {"d": 2}]}, "e": None}),
        ("/e", {"a": OBJECT["a"]}),
    ],
)
def test_a_pointer_takes_out_what_it_names(pointer: str, expected: Any) -> None:
    before = copy.deepcopy(OBJECT)
    assert without(OBJECT, [tokens_of(pointer)]) == expected
    assert before == OBJECT


@pytest.mark.fact("D32")
@pytest.mark.parametrize(
    "pointer",
    [
        *("/nowhere", "/nowhere/at/all", "/a/b/7", "/a/b/-", "/a/b/c", "/e/f", "/a/b/0/c/d", "/"),
        *("/a/b/-1", "/a/b/2", "/a/b/10", f"/a/b/{'9' * 5000}", "/a" * 3000, "/a/b/00"),
    ],
)
def test_a_pointer_to_nothing_is_silent_and_the_others_still_hold(pointer: str) -> None:
    assert without(OBJECT, [tokens_of(pointer)]) == OBJECT
    assert without(OBJECT, [tokens_of(pointer), ("e",)]) == {"a": OBJECT["a"]}


@pytest.mark.fact("D32")
@pytest.mark.parametrize("pointer", ["/a/01", "/a/٣", "/a/+1", "/a/1_0"])
def test_a_place_in_a_list_is_spelled_in_one_way_only(pointer: str) -> None:
    many = {"a": list(range(20))}
    assert without(many, [tokens_of(pointer)]) == many


@given(st.lists(st.text("a~/01", max_size=5), min_size=1, max_size=4).map(tuple))
def test_a_pointer_is_read_as_it_was_written(tokens: tuple[str, ...]) -> None:
    assert tokens_of(pointer_of(tokens)) == tokens


@pytest.mark.fact("D33")
@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (IgnoreRule(group="apps", kind="Deployment"), True),
        (IgnoreRule(group="*", kind="*"), True),
        (IgnoreRule(group="ap*", kind="D*t"), True),
        (IgnoreRule(group="", kind="Deployment"), False),
        (IgnoreRule(group="apps", kind="deployment"), False),
        (IgnoreRule(group="*", kind="*", name="web", namespace="shop"), True),
        (IgnoreRule(group="*", kind="*", name="we*"), False),
        (IgnoreRule(group="*", kind="*", namespace="sho?"), False),
    ],
)
def test_group_and_kind_may_be_globs_and_names_are_taken_by_the_letter(
    *, rule: IgnoreRule, expected: bool
) -> None:
    assert rule.matches(WEB) is expected


@pytest.mark.fact("D36")
def test_the_rules_of_a_kind_of_all_kinds_and_of_the_unit_add_up_without_repeating() -> None:
    kind = IgnoreRule(group="apps", kind="Deployment", json_pointers=("/spec/replicas",))
    everything = IgnoreRule(
        group="*", kind="*", json_pointers=("/metadata/labels",), managed_fields_managers=("m",)
    )
    unit = IgnoreRule(
        group="apps",
        kind="Deployment",
        json_pointers=("/spec/replicas", "/spec/paused"),
        jq_path_expressions=(".spec.x",),
        managed_fields_managers=("m", "n"),
    )
    rules = Rules([kind, everything], [unit, kind])
    assert rules.for_key(WEB) == KeyRules(
        pointers=(("spec", "replicas"), ("metadata", "labels"), ("spec", "paused")),
        expressions=(".spec.x",),
        managers=("m", "n"),
    )
    assert rules.for_key(ResourceKey("", "Service", "shop", "web")).pointers == (("metadata", "labels"),)
    assert rules.expressions == (".spec.x",)
    assert Rules([kind, kind]).digest == Rules([kind]).digest != rules.digest


def test_without_rules_nothing_is_ignored() -> None:
    assert NO_RULES.for_key(WEB) is NOTHING_IGNORED
    assert NO_RULES.problems == ()


def test_an_unreadable_rule_is_told_and_binds_only_whom_it_is_about() -> None:
    rules = Rules([IgnoreRule(group="apps", kind="*", json_pointers=("spec", "", "/ok"))])
    assert rules.problems == (
        "ignore rule 'spec': a JSON pointer begins with / and names a field",
        "ignore rule '': a JSON pointer begins with / and names a field",
    )
    assert rules.for_key(WEB).pointers == (("ok",),)
    assert rules.for_key(WEB).problem == "; ".join(rules.problems)
    assert rules.for_key(ResourceKey("", "Service", "shop", "web")) == KeyRules()


@pytest.mark.parametrize("pointer", ["/a~", "/a~2b", "/~~0", "/a/~/b"])
def test_a_pointer_with_an_escape_that_means_nothing_is_told(pointer: str) -> None:
    rules = Rules([IgnoreRule(group="apps", kind="*", json_pointers=(pointer, "/a~0b~1c"))])
    told = f"ignore rule {pointer!r}: in a JSON pointer ~ is written ~0, and / inside of a name ~1"
    assert rules.problems == (told,)
    assert rules.for_key(WEB) == KeyRules(pointers=(("a~b/c",),), problem=told)


@pytest.mark.parametrize("pattern", ["[" * 100_000, "*a" * 50_000])
def test_a_pattern_that_would_take_minutes_to_read_is_told_and_may_be_about_anything(pattern: str) -> None:
    for rule in (IgnoreRule(group=pattern, kind="*"), IgnoreRule(group="", kind=pattern)):
        rules = Rules([rule])
        (told,) = rules.problems
        assert "a group or kind of more than 512 characters names nothing" in told
        assert len(told) < 200
        assert rules.for_key(WEB).problem == told


@pytest.mark.fact("D34")
def test_an_expression_known_to_be_bad_is_a_problem_of_the_rules() -> None:
    rules = Rules([IgnoreRule(group="apps", kind="*", jq_path_expressions=(".a[", ".b"))])
    bad = rules.with_bad_expressions({".a[": "unexpected end"})
    assert bad.problems == ("ignore rule '.a[': unexpected end",)
    assert bad.for_key(WEB) == KeyRules(expressions=(".b",), problem="ignore rule '.a[': unexpected end")
    assert rules.with_bad_expressions({}) is rules
    assert bad.digest != rules.digest


def owned(manager: str, fields: dict[str, Any]) -> dict[str, Any]:
    return {"manager": manager, "operation": "Update", "apiVersion": "apps/v1", "fieldsV1": fields}


@pytest.mark.fact("D37", "D38", "D39")
def test_a_field_is_left_to_a_manager_that_is_trusted_with_it() -> None:
    items: dict[str, Any] = {'k:{"name":"a"}': {".": {}, "f:image": {}}}
    fields = {"f:spec": {"f:replicas": {}, "f:containers": items, "f:selector": {}}}
    owners = ownership({"metadata": {"managedFields": [owned("hpa", fields)]}}, "trimtab")
    trusting = KeyRules(managers=("hpa",))
    for path in (
        ("f:spec", "f:replicas"),
        ("f:spec", "f:containers", 'k:{"name":"a"}', "f:image"),
        ("f:spec", "f:selector", "f:app"),
    ):
        assert trusting.trusts(owners, path)
        assert not KeyRules(managers=("other",)).trusts(owners, path)
        assert not KeyRules().trusts(owners, path)
    assert not trusting.trusts(owners, ("f:spec", "f:paused"))
    assert not trusting.trusts(owners, ("f:spec", "f:containers"))
    assert not trusting.trusts(ownership({}, "trimtab"), ("f:spec", "f:replicas"))
