"""Go's spellings of values, recorded from Go."""

from __future__ import annotations

from typing import Any

import pytest

from trimtab.kube.gotext import plain, quoted, quoted_bytes, syntax, to_json, type_name


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "<nil>"),
        (True, "true"),
        (1, "1"),
        (1.0, "1"),
        (1.5, "1.5"),
        (1e20, "100000000000000000000"),
        (123456789012345678901.0, "123456789012345680000"),
        (-0.25, "-0.25"),
        (1e21, "1e+21"),
        (1.25e-5, "1.25e-05"),
        (0.0001, "0.0001"),
        ("a b", "a b"),
        ({"b": [1, None], "a": {}}, "map[a:map[] b:[1 <nil>]]"),
    ],
)
def test_plain(value: Any, text: str) -> None:
    assert plain(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "interface {}(nil)"),
        ("x", '"x"'),
        ({"d": 1}, 'map[string]interface {}{"d":1}'),
        ([1, "a"], '[]interface {}{1, "a"}'),
    ],
)
def test_syntax(value: Any, text: str) -> None:
    assert syntax(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ('a"b\\', r'"a\"b\\"'),
        ("\a\n\x00", r'"\a\n\x00"'),
        ("é\u200b\U000e0001", '"é\\u200b\\U000e0001"'),
    ],
)
def test_quoted(value: str, text: str) -> None:
    assert quoted(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [True, None]}, '{"a":[true,null],"b":1}'),
        ("<a & b>é\u2028", '"\\u003ca \\u0026 b\\u003eé\\u2028"'),
        (1.0, "1"),
        (1e21, "1e+21"),
        (1e-7, "1e-7"),
        (0.000001, "0.000001"),
        (1.2345678e-5, "0.000012345678"),
    ],
)
def test_to_json(value: Any, text: str) -> None:
    assert to_json(value) == text


def test_type_names() -> None:
    values: list[Any] = [None, True, 1, 1.5, "", [], {}]
    names = ["<nil>", "bool", "int64", "float64", "string"]
    assert [type_name(value) for value in values] == [*names, "[]interface {}", "map[string]interface {}"]


def test_times_quote_what_is_no_ascii_byte_by_byte() -> None:
    assert quoted_bytes('1\u00b2 "s\\\t') == '"1\\xc2\\xb2 \\"s\\\\\\x09"'
