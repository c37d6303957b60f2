"""What crosses between a pool and its workers."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.errors import Missing, RenderFailed, Throttled
from trimtab.tasks.wire import HEADER_SIZE, JobRaised, Raised, Tag, error_of, header, raised, read_header


class ChartBroken(RenderFailed):
    """A room's own error, unknown elsewhere."""


class Unprintable(Exception):
    def __str__(self) -> str:
        raise KeyError("no words")


@given(st.sampled_from(Tag), st.integers(0, 2**64 - 1))
def test_a_header_is_read_as_it_was_written(tag: Tag, length: int) -> None:
    assert len(header(tag, length)) == HEADER_SIZE
    assert read_header(header(tag, length)) == (tag, length)


def test_rubbish_is_no_header() -> None:
    with pytest.raises(ValueError, match="255 is not a valid Tag"):
        read_header(b"\xff" * HEADER_SIZE)


def test_a_bug_crosses_as_type_message_and_traceback() -> None:
    error = error_of(raised(KeyError("x"), "Traceback …"), "shop:render")
    assert isinstance(error, JobRaised)
    assert str(error) == "shop:render raised KeyError: 'x'"
    assert (error.function, error.type_name, error.message) == ("shop:render", "KeyError", "'x'")
    assert error.__notes__ == ["In a worker process:\nTraceback …"]


def test_an_error_of_the_house_crosses_as_itself() -> None:
    error = error_of(raised(Missing("branch b", "absent", "Push it"), ""), "shop:render")
    assert type(error) is Missing
    assert str(error) == "branch b: absent. Push it."


def test_being_throttled_keeps_for_how_long() -> None:
    error = error_of(raised(Throttled("host", "slow down", after=2.5), ""), "shop:render")
    assert isinstance(error, Throttled)
    assert error.after == 2.5


def test_a_rooms_own_error_crosses_as_its_nearest_ancestor_in_the_tree() -> None:
    told = raised(ChartBroken("chart web", "it has no name"), "")
    assert told.type.endswith("ChartBroken")
    assert type(error_of(told, "shop:render")) is RenderFailed


def test_long_texts_are_cut() -> None:
    told = raised(KeyError("x" * 100_000), "y" * 100_000 + "end")
    assert (len(told.message), len(told.traceback), told.traceback[-3:]) == (16_384, 16_384, "end")


def test_a_name_that_is_not_utf_8_does_not_keep_an_error_from_crossing() -> None:
    told = raised(
        RenderFailed("file caf\udce9", "it cannot be read: caf\udce9", "Rename caf\udce9"), "caf\udce9"
    )
    error = error_of(msgspec.json.decode(msgspec.json.encode(told), type=Raised), "shop:render")
    assert type(error) is RenderFailed
    assert str(error) == r"file caf\udce9: it cannot be read: caf\udce9. Rename caf\udce9."


def test_an_exception_that_cannot_be_printed_is_told_all_the_same() -> None:
    told = raised(Unprintable(), "")
    assert told.message == "(its message cannot be read: KeyError)"
    assert isinstance(told, Raised)
