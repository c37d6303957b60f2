"""JSON is read, written and compared step by step as it is by C."""

from __future__ import annotations

import json

import pytest

from tests.apiserver.test_depths import maps
from trimtab.apiserver.stacks import on_large_stack
from trimtab.kube import trees

SAMPLES = (
    "null",
    '"a"',
    "[]",
    "{}",
    "[{}]",
    '{"a": {"b": [1, 2.5, true, null, "x{]\\"é"]}, "": {}}',
    ' [ [ ] , { "a" : [ { } , -1e3 ] } ] ',
)


@pytest.mark.parametrize("text", SAMPLES)
def test_what_is_read_step_by_step_is_what_json_says(text: str) -> None:
    assert trees.read(text.encode(), dict) == json.loads(text)


@pytest.mark.parametrize("text", SAMPLES)
def test_what_is_written_and_read_again_is_the_same(text: str) -> None:
    assert trees.decoded(trees.encoded(json.loads(text))) == json.loads(text)


def test_fields_given_twice_are_there_twice_for_whoever_asks() -> None:
    assert trees.read(b'{"a":1,"a":{"b":2}}', tuple) == (("a", 1), ("a", (("b", 2),)))


def test_where_there_is_room_depth_is_no_matter() -> None:
    raw = maps(9_999).encode()

    def there_and_back() -> tuple[bytes, bool, bool]:
        value, other = trees.decoded(raw), trees.decoded(raw.replace(b"1", b"2"))
        return trees.encoded(value), trees.equal(value, trees.read(raw, dict)), trees.equal(value, other)

    assert on_large_stack(there_and_back) == (raw, True, False)


def test_where_there_is_none_it_is_told() -> None:
    assert not trees.has_room()
    with pytest.raises(RecursionError):
        trees.decoded(b"[" * 20_000 + b"]" * 20_000)


@pytest.mark.parametrize(
    ("text", "depth"),
    [("1", 0), ("{}", 1), ('{"a":[[],{"b":[]}]}', 4), (r'"[[\"{{"', 0), ('{"]":"[","a":{}}', 2)],
)
def test_depth_is_counted_outside_of_texts(text: str, depth: int) -> None:
    assert trees.depth_of(text.encode()) == depth


def test_indents_grow_with_every_level() -> None:
    laid_out = json.dumps(json.loads('{"a":[1,2,[3]],"b":{"c":","}}'), indent=2)
    blanks = sum(len(line) - len(line.lstrip()) for line in laid_out.splitlines())
    assert trees.indentation(b'{"a":[1,2,[3]],"b":{"c":","}}') == blanks
