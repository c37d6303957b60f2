"""Reading: positions, refusals and bounds. What values mean is judged by test_oracle."""

from __future__ import annotations

import contextlib
import json
import time

import pytest
import yaml as pyyaml
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.errors import InvalidSpec
from trimtab.resources.yaml import (
    MAX_DEPTH,
    TOO_HEAVY,
    Document,
    Excessive,
    Forgiven,
    Limits,
    Twin,
    Unread,
    documents,
    each_document,
    forgiven,
    load,
)


def refusal(text: bytes | str, limits: Limits | None = None) -> str:
    with pytest.raises(InvalidSpec) as caught:
        documents(text, "app.yaml", limits or Limits())
    return str(caught.value)


def test_documents_know_their_source_their_line_and_their_place() -> None:
    text = "# first\n\na: 1\n---\n---\n# nothing\n---\n- b\n"
    assert documents(text, "app.yaml") == (
        Document(value={"a": 1}, source="app.yaml", line=3, index=0),
        Document(value=["b"], source="app.yaml", line=8, index=1),
    )


def test_json_documents_know_their_lines_too() -> None:
    text = '\n{"a": 1}\n{"b": 2}\n'
    assert [(one.value, one.line) for one in documents(text, "x")] == [({"a": 1}, 2), ({"b": 2}, 3)]


def test_yaml_after_json_keeps_counting_lines() -> None:
    found = documents('{"a":\n1}\n---\n# c\nb: 2\n', "x")
    assert [(one.value, one.line) for one in found] == [({"a": 1}, 1), ({"b": 2}, 5)]


def test_a_document_says_where_it_is() -> None:
    assert documents("a: 1\n---\nb: 2\n", "app.yaml")[1].where == "app.yaml, document 2, line 3"


def test_bytes_and_text_read_alike() -> None:
    assert documents("a: é\n".encode(), "x") == documents("a: é\n", "x")


def test_loading_gives_the_only_document_or_none() -> None:
    assert load("a: 1\n---\n", "x") == {"a": 1}
    assert load("# nothing\n", "x") is None


def test_loading_refuses_a_second_document() -> None:
    with pytest.raises(InvalidSpec, match="config, line 3, column 1: a second document begins here"):
        load("a: 1\n---\nb: 2\n", "config")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\n---\nb: 1\nb: 2\n", "app.yaml, line 4, column 1: the key 'b' is set twice in one map"),
        ("1: a\n'1': b\n", "app.yaml, line 2, column 1: the key '1' is set twice in one map"),
        ('{"a": 1,\n "a": 2}', "app.yaml, line 2, column 2: the key 'a' is set twice in one map"),
        ('{}{}{"a": 1, "a": 2}', "app.yaml, line 1, column 1: the key 'a' is set twice in one map"),
        ('{}\n{}\n{"a": }', "app.yaml, line 3, column 7: it is not JSON: Expecting value"),
        ("a:\n\t- b\n", "app.yaml, line 2, column 1: while scanning for the next token, found character"),
        ("a: b: c\n", "app.yaml, line 1, column 5: mapping values are not allowed in this context"),
        ("a: 'b\n", "app.yaml, line 2, column 1: while scanning a quoted scalar"),
        ("---\nx: 1\n--- y\n", "app.yaml, line 3, column 4: something follows `---` on its line"),
        ("a: 1\n...\nb: 2\n", "app.yaml, line 3, column 1: did not find expected <document start>"),
        ("a: *x\n", "app.yaml, line 1, column 4: the anchor &x is not defined before"),
        ("a: &x [*x]\n", "app.yaml, line 1, column 8: the anchor &x contains itself"),
        ("<<: 5\n", "app.yaml, line 1, column 5: << merges only maps and lists of maps"),
        ("? [a]\n: b\n", "app.yaml, line 1, column 3: this cannot be a key"),
        ("~: b\n", "app.yaml, line 1, column 1: this cannot be a key"),
        ("a: .nan\n", "app.yaml, line 1, column 4: JSON has no infinity and no NaN"),
        ("a: !!int x\n", "app.yaml, line 1, column 4: the value does not fit its tag !!int"),
        ("a: !!binary x\n", "app.yaml, line 1, column 4: !!binary needs base64"),
        ("a: 1\nb: \x7f\n", "app.yaml, line 2, column 4: control characters are not allowed"),
        (b"a: 1\nb: \xff\n", "app.yaml, line 2: it is not UTF-8"),
        ("a: \ud800\n", "app.yaml: it holds half a surrogate pair"),
        ('{"a": 1e400}', "app.yaml, line 1: a number is too large for 64 bits"),
        ('{"a": ' + "9" * 5000 + "}", "app.yaml, line 1: a number is too large for 64 bits"),
    ],
)
def test_a_refusal_says_where_and_what(text: bytes | str, message: str) -> None:
    assert refusal(text).startswith(message)


@pytest.mark.parametrize(
    "text", ["a: !!int s3cr3t\n", "a: !!binary s3cr3t!\n", "a: 's3cr3t\n", "s3cr3t: s3: c\n"]
)
def test_a_refusal_does_not_repeat_values(text: str) -> None:
    assert "s3" not in refusal(text)


def test_every_refusal_says_what_to_do() -> None:
    with pytest.raises(InvalidSpec) as caught:
        documents("a:\n\t- b\n", "app.yaml")
    assert caught.value.remedy == "Indent with spaces, not tabs, and quote text that begins with @, ` or %"


def laughs(levels: int) -> str:
    lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x,x]"]
    lines += [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]" for n in range(1, levels)]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    "text",
    [
        laughs(9),
        laughs(200),
        "a: &a [" + "x," * 1000 + "]\nb: [" + "*a," * 1000 + "]\n",
        "a: &a " + "x" * 100_000 + "\nb: [" + "*a," * 10_000 + "]\n",
        "---\n".join(["a: &a [" + "x," * 1000 + "]\nb: [" + "*a," * 300 + "]\n"] * 3),
        "a: &a {" + ",".join(f"k{n}: x" for n in range(1000)) + "}\nb:\n" + "- <<: *a\n" * 1000,
    ],
    ids=[
        "billion laughs",
        "many levels",
        "one wide list",
        "one long text",
        "spread over documents",
        "merges",
    ],
)
def test_aliases_that_would_fill_the_memory_are_refused_at_once(text: str) -> None:
    begun = time.process_time()
    assert "aliases repeat more than 400000 values" in refusal(text)
    assert time.process_time() - begun < 5


def test_aliases_within_the_budget_are_written_out_as_copies() -> None:
    value = load("a: &a [1]\nb: *a\n", "x")
    value["a"].append(2)
    assert value == {"a": [1, 2], "b": [1]}


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "{a: " * 100_000,
        "- " * 100_000,
        "? " * 100_000,
        '{"a":' * 100_000,
        '{"a":' * 300 + "1" + "}" * 300,
        "\n".join(" " * n + "a:" for n in range(300)),
        "a: &a " + "[" * 200 + "]" * 200 + "\nb: " + "[" * 100 + "*a" + "]" * 100,
        "".join(f"a{n}: &a{n} [*a{n - 1}]\n" if n else "a0: &a0 []\n" for n in range(300)),
    ],
    ids=[
        "lists",
        "maps",
        "block lists",
        "keys",
        "open json",
        "json",
        "block maps",
        "alias",
        "chain of aliases",
    ],
)
def test_nesting_beyond_the_bound_is_refused_without_exhausting_the_interpreter(text: str) -> None:
    assert "maps and lists are nested deeper than 256" in refusal(text)


def test_steps_through_what_is_deep_are_counted_if_they_are_bounded() -> None:
    deep = "[" * 2_000 + "1" + "]" * 2_000
    limits = Limits(depth=3_000, steps=10_000_000)
    assert forgiven(f"a: {deep}", "x", limits).value["a"]
    with pytest.raises(Excessive, match=TOO_HEAVY):
        forgiven(f"a: [{deep}, {deep}, {deep}]", "x", limits)
    with pytest.raises(Excessive, match=TOO_HEAVY):
        forgiven("a: " + "[" * 2_000 + "1," * 10_000 + "]" * 2_000, "x", limits)


def test_nesting_up_to_the_bound_is_read() -> None:
    text = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    assert json.dumps(load(text, "x")) == text
    assert json.dumps(load('{"a":' * MAX_DEPTH + "1" + "}" * MAX_DEPTH, "x"))


@pytest.mark.parametrize(
    "text",
    ["[1, 2, 3]", '["a", {"b": 1}]', "a: 1\nb: 2\n", '{"a": [1, 2]}', "- &a x\n- [*a]\n", "x" * 400],
)
def test_a_document_may_hold_so_many_values_and_no_more(text: str) -> None:
    assert documents(text, "app.yaml", Limits(values=5))
    with pytest.raises(Excessive, match="it holds more than 3 values"):
        documents(text, "app.yaml", Limits(values=3))


@pytest.mark.parametrize("text", ["---\n---\n---\n", "a: 1\n---\nb: 2\n---\n---\n", "\n---\n#\n---\n---"])
def test_a_text_may_be_cut_so_often_and_no_more(text: str) -> None:
    assert documents(text, "app.yaml", Limits(separators=3)) == documents(text, "app.yaml")
    with pytest.raises(Excessive, match="more than 2 lines of it begin with `---`"):
        documents(text, "app.yaml", Limits(separators=2))


def test_a_text_over_the_size_bound_is_refused_unread() -> None:
    assert refusal("[" * 11, Limits(size=10)) == (
        "app.yaml: it is larger than 10 bytes. Split the file, or keep large data elsewhere."
    )


@settings(deadline=None)
@given(st.binary(max_size=60))
def test_rubbish_is_read_or_refused_and_nothing_else(text: bytes) -> None:
    with contextlib.suppress(InvalidSpec):
        assert isinstance(documents(text, "x"), tuple)


FRAGMENTS = [
    "a",
    "b: ",
    "- ",
    "\n",
    "\n  ",
    "[",
    "]",
    "{",
    "}",
    ", ",
    "? ",
    ": ",
    "#",
    "&a ",
    "*a",
    "<<: ",
    "!t ",
]
MORE = [
    "!!int ",
    "|",
    ">",
    "'",
    '"',
    "\\",
    "\n---\n",
    "\n...\n",
    "1",
    "yes",
    "~",
    "\t",
    "\r",
    "\x85",
    "%",
    '{"a":',
]


@settings(deadline=None)
@given(st.lists(st.sampled_from(FRAGMENTS + MORE), max_size=20).map("".join))
def test_fragments_of_yaml_are_read_or_refused_and_nothing_else(text: str) -> None:
    with contextlib.suppress(InvalidSpec):
        assert all(one.value is not None for one in documents(text, "x"))


def test_the_c_parser_is_there() -> None:
    assert pyyaml.__with_libyaml__


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("a: 1\nb: 2\n", Forgiven({"a": 1, "b": 2})),
        ("a: 1\na: 2\n---\nb: 1\n", Forgiven({"a": 2}, (Twin(2, "a"),))),
        ("m: {k: 1,\n k: 2, k: 3}\n", Forgiven({"m": {"k": 3}}, (Twin(2, "k"), Twin(2, "k")))),
        ('{"a": 1,\n "a": {"b": 1}}', Forgiven({"a": {"b": 1}}, (Twin(2, "a"),))),
        ("a: &x {k: 1}\nb: {<<: *x, k: 2}\n", Forgiven({"a": {"k": 1}, "b": {"k": 2}})),
        ("", Forgiven(None)),
    ],
)
def test_a_server_lets_the_last_of_equal_keys_win_and_says_which_stood_twice(
    text: str, read: Forgiven
) -> None:
    assert forgiven(text, "body") == read


def test_what_cannot_be_read_keeps_nothing_else_from_being_read() -> None:
    found = each_document("a: 1\n---\nb: [\n---\n---\nc: 3\n", "app.yaml")
    assert [(one.index, one.line, isinstance(one, Document)) for one in found] == [
        (0, 1, True),
        (1, 3, False),
        (2, 6, True),
    ]
    assert found[1].where == "app.yaml, document 2, line 3"


def test_json_that_breaks_off_is_one_more_document() -> None:
    found = each_document('{"a": 1}\n{"b": 2}\n{"c": [', "x")
    assert [isinstance(one, Document) for one in found] == [True, True, False]


def test_what_is_too_much_is_refused_whole() -> None:
    with pytest.raises(Excessive):
        each_document("a: 1\n---\nb: 2\n", "x", Limits(size=4))


@given(st.text(alphabet="a:[]{}-\n #'", max_size=60))
def test_whatever_can_be_read_whole_is_read_the_same_one_by_one(text: str) -> None:
    try:
        whole = documents(text, "x")
    except InvalidSpec:
        assert any(isinstance(one, Unread) for one in each_document(text, "x"))
    else:
        assert each_document(text, "x") == whole
