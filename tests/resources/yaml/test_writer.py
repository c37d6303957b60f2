"""Writing: what the Go oracle cannot say, and that every value survives the round trip."""

from __future__ import annotations

import math
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.errors import InvalidSpec
from trimtab.resources.digests import canonical
from trimtab.resources.yaml import MAX_DEPTH, documents, dump, dump_all, load

TEXTS = st.text(st.characters(exclude_categories=["Cs"])) | st.text(
    st.sampled_from(" \n\t:#-'\"1aé\u2028\x85\ufeff")
)
NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None)
@given(VALUES)
def test_every_json_value_survives_writing_and_reading(value: Any) -> None:
    assert canonical(load(dump(value), "x")) == canonical(value)


@settings(deadline=None)
@given(st.lists(VALUES.filter(lambda value: value is not None), max_size=4))
def test_several_documents_survive_together(values: list[Any]) -> None:
    # A first document in braces would be JSON to kubectl, so each value is put under a key.
    wrapped = [{"v": value} for value in values]
    found = [one.value for one in documents(dump_all(wrapped), "x")]
    assert canonical(found) == canonical(wrapped)


def test_a_manifest_looks_as_kubectl_prints_it() -> None:
    value = {"kind": "ConfigMap", "apiVersion": "v1", "data": {"on": "off", "run": "a\nb\n", "tags": ["1e5"]}}
    assert dump(value) == (
        'apiVersion: v1\ndata:\n  "on": "off"\n  run: |\n    a\n    b\n  tags:\n  - "1e5"\nkind: ConfigMap\n'
    )


def test_documents_are_kept_apart_by_three_dashes() -> None:
    assert dump_all([{"a": 1}, {"b": "x\n\n"}, {}]) == "a: 1\n---\nb: |+\n  x\n\n---\n{}\n"
    assert dump_all([]) == ""


def test_the_order_of_keys_does_not_depend_on_the_order_of_insertion() -> None:
    # Go's order runs in a circle here: v10 < v1beta1 < v2 < v10.
    keys = ["v10", "v1beta1", "v2", "v1"]
    assert dump(dict.fromkeys(keys)) == dump(dict.fromkeys(reversed(keys)))


def test_half_a_surrogate_pair_becomes_the_replacement_character() -> None:
    assert load(dump({"a": "x\ud800 y"}), "x") == {"a": "x\ufffd y"}


def test_nesting_beyond_the_bound_is_refused() -> None:
    value: list[Any] = []
    for _ in range(MAX_DEPTH):
        value = [value]
    with pytest.raises(InvalidSpec, match="nested deeper than 256"):
        dump(value)


@pytest.mark.parametrize("value", [math.nan, [math.inf], {"a": -math.inf}])
def test_what_json_lacks_cannot_be_written(value: Any) -> None:
    with pytest.raises(ValueError, match="JSON has no infinity and no NaN"):
        dump(value)


def test_what_is_not_json_cannot_be_written() -> None:
    with pytest.raises(TypeError, match="set is not a JSON value"):
        dump({"a": {1}})


def test_keys_of_endless_numbers_are_ordered_soon() -> None:
    one, other = f"a1{'0' * 300_000}", f"a2{'0' * 300_000}"
    begun = time.process_time()
    assert load(dump({other: 2, one: 1}), "x") == {one: 1, other: 2}
    assert time.process_time() - begun < 5
