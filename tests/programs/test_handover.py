"""Reports are read strictly: whatever makes no sense says nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.programs.handover import Report, report_of
from trimtab.programs.limits import Walls


@pytest.mark.parametrize(
    ("text", "report"),
    [
        (b"", Report()),
        (b"wall network\nended 0\n", Report(walls=Walls(network=True), code=0)),
        (b"wall moon\nwall\nstopped moon 1\nfailed moon 1\nended 1 2\n", Report()),
        (b"used x inf\n", Report()),
        (b"\xff\xfe\0\nended 3\n", Report(code=3)),
    ],
)
def test_a_report_is_what_its_lines_say(text: bytes, report: Report) -> None:
    assert report_of(text) == report


@given(st.binary())
def test_rubbish_never_breaks_the_reader(text: bytes) -> None:
    assert isinstance(report_of(text), Report)
