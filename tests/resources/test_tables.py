"""Tables fit what they are written on, and a line is never broken."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.resources.tables import Column, Paper, fitted, one_line, shortened, table, width_of

COLUMNS = (
    Column("KIND", least=6, spare=1),
    Column("NAME", names=True),
    Column("HEALTH", least=11, painted=True),
    Column("MESSAGE", least=8, spare=2),
)
ROWS = [
    ("Deployment", "web", "Progressing", "1 of 3 new replicas have been updated"),
    ("ConfigMap", "settings-of-the-shop", "-", "-"),
]


def test_columns_stand_below_each_other() -> None:
    assert table([("a", "bb", "c"), ("aaa", "b", "")]) == "a    bb  c\naaa  b"


def test_without_a_limit_everything_is_shown() -> None:
    assert fitted(COLUMNS, ROWS, Paper()).splitlines() == [
        "KIND        NAME                  HEALTH       MESSAGE",
        "Deployment  web                   Progressing  1 of 3 new replicas have been updated",
        "ConfigMap   settings-of-the-shop  -            -",
    ]


def test_the_least_important_column_becomes_narrow_first() -> None:
    assert fitted(COLUMNS, ROWS, Paper(width=60)).splitlines() == [
        "KIND        NAME                  HEALTH       MESSAGE",
        "Deployment  web                   Progressing  1 of 3 new r…",
        "ConfigMap   settings-of-the-shop  -            -",
    ]


def test_where_even_that_is_too_much_a_column_is_left_out() -> None:
    assert fitted(COLUMNS, ROWS, Paper(width=36)).splitlines() == [
        "KIND    NAME             HEALTH",
        "Deplo…  web              Progressing",
        "Confi…  setting…he-shop  -",
    ]


def test_ascii_has_another_ellipsis() -> None:
    drawn = fitted(COLUMNS, ROWS, Paper(width=36, glyphs=False))
    assert drawn.isascii()
    assert "Dep...  web" in drawn


def test_columns_without_headings_have_no_line_for_them() -> None:
    assert fitted((Column(""), Column("")), [("app", "shop")], Paper()) == "app  shop"


def test_only_painted_columns_of_coloured_paper_are_painted_and_stay_aligned() -> None:
    columns = (Column("NAME"), Column("HEALTH", painted=True), Column("MESSAGE"))
    rows = [("web", "Healthy", "-"), ("db", "-", "-")]
    drawn = fitted(columns, rows, Paper(colour=True), lambda word: f"<{word}>").splitlines()
    assert drawn == ["NAME  <HEALTH>   MESSAGE", "web   <Healthy>  -", "db    <->        -"]
    assert "<" not in fitted(columns, rows, Paper(), lambda word: f"<{word}>")


@pytest.mark.parametrize(
    ("text", "width", "end", "middle"),
    [
        ("web-7655c4d564-88rhw", 20, "web-7655c4d564-88rhw", "web-7655c4d564-88rhw"),
        ("web-7655c4d564-88rhw", 11, "web-7655c4…", "web-7…88rhw"),
        ("web", 2, "w…", "w…"),
        ("web", 1, "…", "…"),
        ("web", 0, "", ""),
        ("日本語です", 6, "日本…", "日…す"),
    ],
)
def test_what_is_too_long_loses_its_end_or_its_middle(text: str, width: int, end: str, middle: str) -> None:
    assert shortened(text, width, "…") == end
    assert shortened(text, width, "…", middle=True) == middle


@pytest.mark.parametrize(
    ("text", "shown", "plain"),
    [
        ("two\nlines", "two lines", "two lines"),
        ("\x1b[31mred", "\\x1b[31mred", "\\x1b[31mred"),
        ("né", "né", "n\\xe9"),
        ("\u202eback", "\\u202eback", "\\u202eback"),
    ],
)
def test_a_cell_is_one_line_of_what_a_terminal_can_show(text: str, shown: str, plain: str) -> None:
    assert (one_line(text), one_line(text, glyphs=False)) == (shown, plain)


@settings(deadline=None)
@given(
    st.lists(st.tuples(*[st.text(max_size=30)] * 4), max_size=5),
    st.integers(min_value=1, max_value=120),
    st.booleans(),
)
def test_no_line_is_wider_than_the_paper(
    rows: list[tuple[str, ...]],
    width: int,
    glyphs: bool,  # noqa: FBT001 - drawn
) -> None:
    lines = fitted(COLUMNS, rows, Paper(width=width, glyphs=glyphs)).split("\n")
    assert len(lines) == len(rows) + 1
    assert all(width_of(line) <= width for line in lines)
