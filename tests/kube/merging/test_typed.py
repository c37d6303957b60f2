"""Values through their shape: owned, merged, compared, taken apart."""

from __future__ import annotations

import json
from itertools import pairwise
from random import Random
from typing import Any

import pytest

from tests.kube.merging.samples import META_TYPES, gadget, gadget_shape
from trimtab.kube.merging.fields import EMPTY, FieldSet, item, key, path
from trimtab.kube.merging.shapes import ANYTHING
from trimtab.kube.merging.typed import ABSENT, compared, extracted, merged, problems, same, set_of, without

SHAPE = gadget_shape(META_TYPES)
RANDOM_GADGETS = [gadget(Random(seed)) for seed in range(60)]
PAIRS = [*pairwise(RANDOM_GADGETS)]


def spec(**fields: Any) -> dict[str, Any]:
    return {"spec": fields}


def changes(left: Any, right: Any) -> dict[str, str]:
    found = compared(left, right, SHAPE)
    sets = {"removed": found.removed, "modified": found.modified, "added": found.added}
    return {name: str(fields) for name, fields in sets.items() if not fields.is_empty}


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (spec(size=1), spec(size=1.0), {}),
        (spec(on=True), spec(on=1), {"modified": ".spec.on"}),
        (spec(size=1), spec(size=2), {"modified": ".spec.size"}),
        (spec(size=1), {"spec": {}}, {"removed": ".spec.size"}),
        ({}, spec(inner={"a": "x"}), {"added": ".spec\n.spec.inner\n.spec.inner.a"}),
        (spec(tags={}), spec(tags=None), {"modified": ".spec.tags"}),
        (spec(tags={}), spec(tags={"k": "v"}), {"added": ".spec.tags.k"}),
        (spec(selector={"a": "b"}), spec(selector={"a": "c"}), {"modified": ".spec.selector"}),
        (spec(steps=[]), spec(steps=[{"run": "x"}]), {"modified": ".spec.steps"}),
        (
            spec(colors=["red", "blue"]),
            spec(colors=["blue", "green"]),
            {"removed": '.spec.colors[="red"]', "added": '.spec.colors[="green"]'},
        ),
        (spec(colors=["red", "blue"]), spec(colors=["blue", "red"]), {}),
        (
            spec(items=[{"name": "a", "image": "i"}]),
            spec(items=[{"name": "a", "image": "j"}, {"name": "b"}]),
            {
                "modified": '.spec.items[name="a"].image',
                "added": '.spec.items[name="b"]\n.spec.items[name="b"].name',
            },
        ),
        (
            spec(free={"a": 1}),
            spec(free={"a": {"b": 1}}),
            {"modified": ".spec.free.a", "added": ".spec.free.a.b"},
        ),
        (spec(free={"a": [1]}), spec(free={"a": [2]}), {"modified": ".spec.free.a"}),
        # items that share a key are one thing
        (spec(colors=["a", "a"]), spec(colors=["a", "a"]), {}),
        (spec(colors=["a", "a"]), spec(colors=["a", "a", "a"]), {"modified": '.spec.colors[="a"]'}),
        (
            spec(items=[{"name": "a", "image": "i"}]),
            spec(items=[{"name": "a", "image": "i"}, {"name": "a"}]),
            {
                "removed": '.spec.items[name="a"]\n.spec.items[name="a"].image\n.spec.items[name="a"].name',
                "added": '.spec.items[name="a"]',
            },
        ),
        (
            spec(items=[{"name": "a"}, {"name": "a"}]),
            spec(items=[{"name": "a"}]),
            {
                "removed": '.spec.items[name="a"]',
                "added": '.spec.items[name="a"]\n.spec.items[name="a"].name',
            },
        ),
        (
            spec(colors=["a", "a"]),
            spec(colors=["b"]),
            {"removed": '.spec.colors[="a"]', "added": '.spec.colors[="b"]'},
        ),
        ({"spec": {}}, spec(colors=["a", "a"]), {"added": '.spec.colors\n.spec.colors[="a"]'}),
    ],
)
def test_two_values_differ_in_these_fields(left: Any, right: Any, expected: dict[str, str]) -> None:
    assert changes(left, right) == expected


@pytest.mark.parametrize(
    ("live", "config", "expected"),
    [
        (spec(tags={"a": "1"}), spec(tags=None), spec(tags={"a": "1"})),
        (spec(tags={}), spec(tags=None), spec(tags=None)),
        (spec(size=1), spec(size=None), spec(size=None)),
        (spec(selector={"a": "1"}), spec(selector={"b": "2"}), spec(selector={"b": "2"})),
        (spec(steps=[{"run": "a"}]), spec(steps=[]), spec(steps=[])),
        (spec(amount=1), spec(amount="1"), spec(amount="1")),
        (spec(free={"a": [1]}), spec(free={"a": {"b": 1}}), spec(free={"a": {"b": 1}})),
        (ABSENT, spec(size=1), spec(size=1)),
        (spec(size=1), ABSENT, spec(size=1)),
    ],
)
def test_a_configuration_is_laid_over_the_live_value(live: Any, config: Any, expected: Any) -> None:
    assert merged(live, config, SHAPE) == expected


@pytest.mark.parametrize(("live", "config"), PAIRS)
def test_merging_loses_nothing_and_changes_nothing_given(live: Any, config: Any) -> None:
    before = json.dumps([live, config])
    result = merged(live, config, SHAPE)
    assert json.dumps([live, config]) == before
    assert changes(merged(result, config, SHAPE), result) == {}
    assert compared(live, result, SHAPE).removed.is_empty


@pytest.mark.parametrize("value", RANDOM_GADGETS)
def test_what_is_owned_can_be_extracted_and_taken_out(value: Any) -> None:
    owned = set_of(value, SHAPE)
    assert list(problems(value, SHAPE)) == []
    assert set_of(extracted(value, owned, SHAPE), SHAPE) == owned
    rest = without(value, owned, SHAPE) or {}
    assert (set_of(rest, SHAPE) & owned).leaves().is_empty or rest == {}


def test_only_what_is_asked_for_is_extracted_with_the_keys_of_its_items() -> None:
    items = [{"name": "a", "image": "i"}, {"name": "b"}]
    value = spec(size=1, tags={"k": "v", "l": "w"}, items=items, selector={"s": "t"})
    image = (*path("spec", "items"), key({"name": "a"}), *path("image"))
    wanted = FieldSet.of(path("spec", "tags", "k"), image, path("spec", "selector"))
    assert extracted(value, wanted, SHAPE) == spec(
        tags={"k": "v"}, items=[{"name": "a", "image": "i"}], selector={"s": "t"}
    )


def test_what_is_emptied_becomes_null() -> None:
    value = spec(tags={"k": "v"}, colors=["red"], size=1)
    gone = FieldSet.of(path("spec", "tags", "k"), (*path("spec", "colors"), item("red")))
    assert without(value, gone, SHAPE) == spec(tags=None, colors=None, size=1)
    assert without(value, FieldSet.of(path("spec")), SHAPE) is None
    assert without(value, EMPTY, SHAPE) == value


def test_values_without_a_schema_are_owned_key_by_key_and_their_lists_as_a_whole() -> None:
    assert str(set_of({"a": {"b": [1, {"c": 2}], "d": None, "e": {}}}, ANYTHING)) == ".a\n.a.b\n.a.d\n.a.e"


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        (None, 0, False),
        ([1, {"a": 1}], [1, {"a": 1}], True),
        ([1], [1, 2], False),
        ({"a": 1}, {"a": True}, False),
        ({"a": None}, {}, False),
        ("1", 1, False),
    ],
)
def test_equality_of_json_values(left: Any, right: Any, expected: bool) -> None:  # noqa: FBT001  (a table)
    assert same(left, right) is expected
