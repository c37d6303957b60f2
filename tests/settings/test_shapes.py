"""Each type of setting, read from a file and from text, described and written."""

from __future__ import annotations

import enum
from datetime import timedelta
from typing import Annotated, Any, Literal

import pytest
from msgspec import Meta
from msgspec.inspect import type_info

from trimtab.settings import Count, Size, Words
from trimtab.settings.shapes import Nothing, Shape, shape_of


class Mode(enum.Enum):
    SLOW = "slow"
    FAST = "fast"


def shape(kind: Any) -> Shape:
    return shape_of(type_info(kind))


@pytest.mark.parametrize(
    ("kind", "raw", "value"),
    [
        (bool, True, True),
        (bool, "true", None),
        (bool, 1, None),
        (int, 7, 7),
        (int, -7, -7),
        (int, True, None),
        (int, 7.0, None),
        (int, "7", None),
        (int, 2**63 - 1, 2**63 - 1),
        (int, 2**63, None),
        (timedelta, 10**30, None),
        (Size, "9" * 5000 + "GiB", None),
        (Count, 1, 1),
        (Count, 0, None),
        (Annotated[int, Meta(gt=0, lt=10)], 9, 9),
        (Annotated[int, Meta(gt=0, lt=10)], 10, None),
        (Annotated[int, Meta(gt=0, lt=10)], 0, None),
        (float, 7, 7.0),
        (float, 0.5, 0.5),
        (float, False, None),
        (Annotated[float, Meta(ge=0, le=1)], 1.5, None),
        (Size, "64MiB", 64 * 2**20),
        (Size, 4096, 4096),
        (Size, -1, None),
        (Size, True, None),
        (Size, 1.5, None),
        (Annotated[int, Meta(ge=1024, extra={"unit": "bytes"})], "1kB", None),
        (timedelta, "1h30m", timedelta(minutes=90)),
        (timedelta, 30, timedelta(seconds=30)),
        (timedelta, 0.5, timedelta(seconds=0.5)),
        (timedelta, 0, None),
        (timedelta, "-5", None),
        (timedelta, True, None),
        (timedelta, [], None),
        (str, "as it is", "as it is"),
        (str, 5, None),
        (str, "", ""),
        (Words, "", None),
        (Words | None, "", None),
        (Words | None, "none", Nothing.NOTHING),
        (str | None, "there", "there"),
        (str | None, "none", Nothing.NOTHING),
        (Size | None, "none", Nothing.NOTHING),
        (Size | None, "1KiB", 1024),
        (Size | None, "plenty", None),
        (None | timedelta, 5, timedelta(seconds=5)),
        (Mode, "fast", Mode.FAST),
        (Mode, "FAST", None),
        (Literal["a", "b"], "b", "b"),
        (Literal[1, 2], 2, 2),
        (Literal["a", "b"], "c", None),
        (tuple[str, ...], ["a", "b"], ("a", "b")),
        (tuple[Count, ...], [1, 0], None),
        (tuple[str, ...], "a", None),
        (tuple[str, ...], [], ()),
    ],
)
def test_an_entry_of_a_file_is_read_or_refused(kind: Any, raw: object, value: object) -> None:
    assert shape(kind).read(raw) == value


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (bool, "yes", True),
        (bool, "OFF", False),
        (bool, "1", True),
        (bool, "maybe", None),
        (int, "-7", -7),
        (int, "7.5", None),
        (int, "0x10", None),
        (int, "9" * 5000, None),
        (int, "", None),
        (Count, "0", None),
        (float, "0.5", 0.5),
        (float, "half", None),
        (float, "nan", None),
        (float, "inf", None),
        (Size, "64MiB", 64 * 2**20),
        (timedelta, "5m", timedelta(minutes=5)),
        (timedelta, "0s", None),
        (str, "text", "text"),
        (Words, "text", "text"),
        (Words, "", None),
        (Mode | None, "slow", Mode.SLOW),
        (Count | None, "none", Nothing.NOTHING),
        (Count | None, "0", None),
        (Literal[1, 2], "2", 2),
        (tuple[str, ...], "a, b", ("a", "b")),
        (tuple[int, ...], "1,x", None),
    ],
)
def test_a_variable_or_flag_is_read_or_refused(kind: Any, text: str, value: object) -> None:
    assert shape(kind).read_text(text) == value


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (bool, "true or false"),
        (Count, "a whole number of at least 1"),
        (Annotated[int, Meta(gt=0, le=10)], "a whole number above 0 and of at most 10"),
        (float, "a number"),
        (Size, "a size of at least 0, such as 64MiB"),
        (timedelta, "a duration longer than zero, such as 30s, 5m or 1h30m"),
        (Mode, "one of slow, fast"),
        (tuple[Count, ...], "a list, each item a whole number of at least 1"),
        (str | None, "text, or none"),
        (Words, "text with at least one character"),
        (Count | None, "a whole number of at least 1, or none"),
    ],
)
def test_a_shape_says_what_it_expects(kind: Any, words: str) -> None:
    assert shape(kind).expected == words


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (bool, False, "false"),
        (int, 7, "7"),
        (float, 0.5, "0.5"),
        (Size, 2**26, "64MiB"),
        (timedelta, timedelta(seconds=90), "1m30s"),
        (str, "text", "text"),
        (Mode, Mode.FAST, "fast"),
        (tuple[int, ...], (1, 2), "1,2"),
        (Size | None, 2**26, "64MiB"),
    ],
)
def test_a_written_value_reads_back(kind: Any, value: object, text: str) -> None:
    assert shape(kind).written(value) == text
    assert shape(kind).read_text(text) == value


def test_none_is_written_as_the_word_that_reads_as_none() -> None:
    assert shape(Count | None).written(None) == "none"


@pytest.mark.parametrize("kind", [bytes, dict[str, str], int | str, int | str | None])
def test_a_type_that_no_variable_can_say_is_refused_when_settings_are_described(kind: Any) -> None:
    with pytest.raises(TypeError, match="settings cannot hold"):
        shape(kind)
