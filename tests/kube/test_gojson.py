"""Bad JSON, told as Go tells it."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.kube.gojson import BadJson, decoded

LOOKING = "looking for beginning of"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "unexpected end of JSON input"),
        ("{bad", f"invalid character 'b' {LOOKING} object key string"),
        ('{"a":}', f"invalid character '}}' {LOOKING} value"),
        ("[1 2]", "invalid character '2' after array element"),
        ('{"a":1 "b":2}', "invalid character '\"' after object key:value pair"),
        ('{"a" 1}', "invalid character '1' after object key"),
        ("tru", "unexpected end of JSON input"),
        ("trux", "invalid character 'x' in literal true (expecting 'e')"),
        ("1.x", "invalid character 'x' after decimal point in numeric literal"),
        ("-x", "invalid character 'x' in numeric literal"),
        ("1ex", "invalid character 'x' in exponent of numeric literal"),
        ('"\\x"', "invalid character 'x' in string escape code"),
        ('"\\u12g4"', "invalid character 'g' in \\u hexadecimal character escape"),
        ('"\n"', "invalid character '\\n' in string literal"),
        ("{} x", "invalid character 'x' after top-level value"),
        ("[" * 10_001, "invalid character '[' exceeded max depth"),
    ],
)
def test_what_is_wrong_is_said_as_go_says_it(text: str, problem: str) -> None:
    with pytest.raises(BadJson) as wrong:
        decoded(text.encode())
    assert str(wrong.value) == problem


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(JSON)
def test_json_is_read(value: object) -> None:
    assert decoded(json.dumps(value).encode()) == value


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    with contextlib.suppress(BadJson):
        json.dumps(decoded(body))


def test_bytes_that_are_no_utf_8_become_the_replacement_character() -> None:
    assert decoded(b'{"a":"\xff"}') == {"a": "\ufffd"}
