"""Field sets: FieldsV1 both ways, order, and set algebra."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.kube.merging.fields import EMPTY, BadFields, FieldSet, Path, item, key, path, shown

#: as a real server wrote it, byte for byte
RECORDED = (
    r'{"f:metadata":{"f:labels":{".":{},"f:a":{}}},"f:spec":{"f:strategy":{"f:rollingUpdate":{".":{},'
    r'"f:maxSurge":{}},"f:type":{}},"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},'
    r'"f:env":{".":{},"k:{\"name\":\"a\\u003cb\\u0026\\\"c\\\\d\"}":{".":{},"f:name":{},"f:value":{}}},'
    r'"f:image":{},"f:ports":{".":{},"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},'
    r'"f:containerPort":{},"f:protocol":{}}}}},"f:dnsPolicy":{}}}}}'
)


def test_what_a_server_wrote_is_written_again_in_the_same_order() -> None:
    fields = FieldSet.from_json(json.loads(RECORDED))
    assert json.dumps(fields.to_json(), separators=(",", ":")) == RECORDED


def test_entries_are_ordered_by_kind_then_by_value() -> None:
    shuffled = [
        "i:10", "i:2", 'v:"a"', "v:true", "v:10", "v:9", 'v:"B"', 'k:{"name":"b"}', 'k:{"name":"a"}',
        'k:{"name":2}', 'k:{"a":1,"z":1}', "f:b", "f:B", "f:a", "v:null", "v:1.5", 'k:{"name":"a","x":1}',
    ]  # fmt: skip
    assert list(FieldSet.from_json({text: {} for text in shuffled}).to_json()) == [
        "f:B", "f:a", "f:b", 'k:{"a":1,"z":1}', 'k:{"name":2}', 'k:{"name":"a"}', 'k:{"name":"a","x":1}',
        'k:{"name":"b"}', "v:1.5", "v:9", "v:10", 'v:"B"', 'v:"a"', "v:true", "v:null", "i:2", "i:10",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "canonical"),
    [
        ({'k:{"b": 1, "a" : "x"}': {}}, {'k:{"a":"x","b":1}': {}}),
        ({'v:"\\u0061"': {}}, {'v:"a"': {}}),
        ({"v:1.0": {}}, {"v:1": {}}),
        ({"i:07": {}}, {"i:7": {}}),
        ({"f:a": {"q:unknown": {}}}, {"f:a": {}}),
        ({"q:unknown": {"f:a": {}}}, {}),
        ({"f:a": {".": {}}}, {"f:a": {}}),
        ({"f:a": {"f:b": {}, ".": {}}}, {"f:a": {".": {}, "f:b": {}}}),
        ({"f:": {}, "f:with:colon": {}}, {"f:": {}, "f:with:colon": {}}),
    ],
)
def test_other_spellings_are_read_and_written_the_canonical_way(given: Any, canonical: Any) -> None:
    assert FieldSet.from_json(given).to_json() == canonical


@pytest.mark.parametrize("bad", ["x", "xyz", "k:1", "k:{", "v:x", "i:x"])
def test_an_element_that_cannot_be_read_is_refused(bad: str) -> None:
    with pytest.raises(BadFields):
        FieldSet.from_json({bad: {}})


def test_anything_but_maps_is_refused() -> None:
    with pytest.raises(BadFields):
        FieldSet.from_json({"f:a": 1})


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ((*path("a", "b"), key({"name": "web"}), *path("image")), '.a.b[name="web"].image'),
        ((key({"protocol": "TCP", "port": 80}),), '[port=80,protocol="TCP"]'),
        ((item("a\n"),), '[="a\\n"]'),
        ((item(True), item(1.5), item(None)), "[=true][=1.5][=null]"),
        (("i:3",), "[3]"),
    ],
)
def test_paths_are_shown_as_people_read_them(place: Path, text: str) -> None:
    assert shown(place) == text


def test_a_set_is_shown_a_line_for_each_member_those_of_a_level_first() -> None:
    fields = FieldSet.of(path("b", "x"), path("c"), path("a"), path("b", "a", "z"), path("b"))
    assert str(fields) == ".a\n.b\n.c\n.b.x\n.b.a.z"


def test_nobody_owns_the_whole() -> None:
    assert FieldSet.of(()) == EMPTY
    assert not FieldSet.of(path("a")).has(())


PATHS = st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map(lambda names: path(*names))
SETS = st.frozensets(PATHS, max_size=6)


@given(SETS, SETS)
def test_field_sets_are_sets_of_paths(left: frozenset[Path], right: frozenset[Path]) -> None:
    one, two = FieldSet.of(*left), FieldSet.of(*right)
    assert set((one | two).paths()) == left | right
    assert set((one & two).paths()) == left & right
    assert set((one - two).paths()) == left - right
    assert one.is_empty == (not left)
    assert all(one.has(each) == (each in left) for each in right)
    assert (one == two) == (left == right)


@given(SETS, SETS)
def test_outside_leaves_what_is_neither_in_nor_beneath(left: frozenset[Path], right: frozenset[Path]) -> None:
    kept = {each for each in left if not any(each[: len(other)] == other for other in right)}
    assert set(FieldSet.of(*left).outside(FieldSet.of(*right)).paths()) == kept


@given(SETS)
def test_leaves_have_nothing_beneath_them(paths: frozenset[Path]) -> None:
    leaves = {each for each in paths if not any(other[: len(each)] == each for other in paths - {each})}
    assert set(FieldSet.of(*paths).leaves().paths()) == leaves


@given(SETS)
def test_what_is_written_is_read_again(paths: frozenset[Path]) -> None:
    fields = FieldSet.of(*paths)
    assert FieldSet.from_json(fields.to_json()) == fields
    assert fields.below("f:a") == FieldSet.of(*(each[1:] for each in paths if each[0] == "f:a"))
