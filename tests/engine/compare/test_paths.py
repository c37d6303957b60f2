"""Taking jq paths out of values, as jq itself would."""

from __future__ import annotations

import copy
from typing import Any

import jq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.engine.compare.paths import NoPath, without_paths

VALUE = {"a": {"b": [1, 2, 3, 4, {"c": 5}], "d": None}, "e": [[1, 2], [3]], "f": True}
EXPRESSIONS = (
    *(".a", ".a.b[0]", ".a.b[-1]", ".a.b[1:3]", ".a.b[:-2]", ".a.b[1:4][0]", ".a.b[1:][-1]", ".a.b[9]"),
    *(".a.b[-9]", ".a.b[]", ".a.b[4].c", ".a.b[0, 2, 4]", ".a.b[0], .a.b[0:2]", ".a.d.x.y", ".nowhere"),
    *(".nowhere[3].b", ".e[][0]", ".e[0], .e[0][1]", '.a["b"]', ".. | .c?", ".a.b[1.5]", "empty"),
    *(".a.b | .[length - 1]", "(.a, .e) | .[0]?", "to_entries[].key", ".e[:9][1:][]"),
)


def taken_out_by_jq(expression: str, value: Any) -> Any:
    return jq.compile(f"del({expression})").input_value(value).first()


def paths_of(expression: str, value: Any) -> Any:
    return jq.compile(f"[path({expression})]").input_value(value).first()


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_what_is_left_is_what_jq_would_leave(expression: str) -> None:
    try:
        expected = taken_out_by_jq(expression, VALUE)
    except ValueError:
        with pytest.raises(ValueError):  # noqa: PT011 - what jq refuses is refused, in whatever words
            without_paths(copy.deepcopy(VALUE), paths_of(expression, VALUE))
        return
    assert without_paths(copy.deepcopy(VALUE), paths_of(expression, VALUE)) == expected


values = st.recursive(
    st.integers(0, 9) | st.none() | st.text("ab", max_size=1),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from("abc"), values, min_size=1, max_size=3), st.data())
def test_any_choice_of_paths_leaves_what_jq_leaves(value: dict[str, Any], data: st.DataObject) -> None:
    every = [path for path in paths_of("..", value) if path]
    chosen = data.draw(st.lists(st.sampled_from(every), max_size=5))
    expected = jq.compile("delpaths($paths)", args={"paths": chosen}).input_value(value).first()
    assert without_paths(copy.deepcopy(value), chosen) == expected


@pytest.mark.parametrize("path", [[], ["a", 0], ["f", "x"], ["e", "x"], ["e", True]])
def test_what_is_no_path_into_the_value_is_refused(path: Any) -> None:
    with pytest.raises(NoPath):
        without_paths(copy.deepcopy(VALUE), [path])
