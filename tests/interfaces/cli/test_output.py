"""One way to print rows, for every verb: a table that fits, names, JSON and YAML."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import termios
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from trimtab.interfaces.cli.output import Listing, encoded, facts, paper_for, shown
from trimtab.resources.tables import Column, Paper

TRIMTAB = str(Path(sys.executable).with_name("trimtab"))
LISTING = Listing(
    columns=(Column("APP"), Column("SYNC", painted=True), Column("OBJECTS", wide=True)),
    rows=[("shop", "OutOfSync", "3")],
    names=["app/shop"],
    value=[{"app": "shop", "sync": "OutOfSync", "objects": 3}],
)


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ("table", "APP   SYNC\nshop  OutOfSync"),
        ("wide", "APP   SYNC       OBJECTS\nshop  OutOfSync  3"),
        ("name", "app/shop"),
        ("yaml", "- app: shop\n  objects: 3\n  sync: OutOfSync"),
    ],
)
def test_rows_have_a_form_for_everybody(output: str, text: str) -> None:
    assert shown(LISTING, output, Paper()) == text


def test_programs_get_json() -> None:
    assert json.loads(shown(LISTING, "json", Paper())) == LISTING.value


def test_words_that_judge_have_colour_where_there_is_any() -> None:
    assert shown(LISTING, "table", Paper(colour=True)) == "APP   SYNC\nshop  \x1b[33mOutOfSync\x1b[0m"


def test_nothing_is_no_table_but_may_have_a_title() -> None:
    empty = LISTING._replace(rows=[], names=[], value=[])
    assert [shown(empty, output, Paper()) for output in ("table", "name", "json")] == ["", "", "[]"]
    assert shown(empty._replace(title="app  shop"), "table", Paper()) == "app  shop"
    titled = LISTING._replace(title="app  shop")
    assert shown(titled, "table", Paper()) == "app  shop\n\nAPP   SYNC\nshop  OutOfSync"


def test_long_facts_go_on_below_themselves() -> None:
    pairs = [("app", "shop"), ("message", "one of three new replicas is there")]
    assert facts(pairs, Paper()).splitlines() == [
        "app      shop",
        "message  one of three new replicas is there",
    ]
    assert facts(pairs, Paper(width=30)).splitlines() == [
        "app      shop",
        "message  one of three new",
        "         replicas is there",
    ]


@pytest.mark.parametrize(
    ("environment", "encoding", "width", "paper"),
    [
        ({}, "utf-8", 0, Paper()),
        ({"LANG": "C.UTF-8"}, "UTF-8", 80, Paper(width=80, colour=True)),
        ({"NO_COLOR": "1"}, "utf-8", 80, Paper(width=80)),
        ({"TERM": "dumb"}, "utf-8", 80, Paper(width=80)),
        ({}, "ascii", 0, Paper(glyphs=False)),
        ({"LANG": "C"}, "utf-8", 0, Paper(glyphs=False)),
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, "utf-8", 0, Paper(glyphs=False)),
        ({"LC_ALL": "POSIX", "LANG": "de_DE.UTF-8"}, "utf-8", 0, Paper(glyphs=False)),
        ({"LC_CTYPE": "de_DE.UTF-8", "LANG": "C"}, "utf-8", 0, Paper()),
    ],
)
def test_paper_is_what_the_terminal_and_the_locale_say(
    environment: Mapping[str, str], encoding: str, width: int, paper: Paper
) -> None:
    assert paper_for(environment, encoding=encoding, terminal_width=width) == paper


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_letters_that_stdout_cannot_take_are_escaped_and_mean_the_same(output: str) -> None:
    code = f"from trimtab.interfaces.cli.output import encoded; print(encoded(['né'], {output!r}))"
    said = subprocess.check_output([sys.executable, "-c", code], env={"PYTHONIOENCODING": "ascii"})
    assert yaml.safe_load(said) == ["né"]
    assert encoded(["né"], output) in {'[\n  "né"\n]', "- né"}


#: what terminals obey, and what turns the order of what they show
COMMANDS = [*map(chr, (*range(9), *range(11, 32), *range(127, 160))), "\u202e", "\u2066"]


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_what_is_for_programs_does_not_command_a_terminal_and_means_the_same(output: str) -> None:
    value = {**{f"a{char}b": f"c{char}d\n" for char in COMMANDS}, "z": "the last lines\n\n\n"}
    said = encoded(value, output) + "\n"
    raw = {char for char in said if not char.isprintable() and char != "\n"}
    # In a pipe YAML shows as they are what it counts among letters.
    assert raw <= ({"\u202e", "\u2066"} if output == "yaml" else set())
    assert yaml.safe_load(said) == value


def test_names_are_as_they_are_in_a_pipe_and_harmless_on_a_terminal() -> None:
    listing = Listing((), (), ["app/we\x1b[2Jb"], None)
    assert shown(listing, "name", Paper()) == "app/we\x1b[2Jb"
    assert shown(listing, "name", Paper(width=80)) == "app/we\\x1b[2Jb"


def seen(columns: int, *arguments: str, **environment: str) -> str:
    """What somebody sees at a terminal of this width."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, columns))
    command = subprocess.Popen([TRIMTAB, *arguments], env=environment, stdout=theirs, stderr=theirs)
    os.close(theirs)
    said = b""
    try:
        while got := os.read(ours, 65536):
            said += got
    except OSError:  # how Linux says that nobody writes any more
        pass
    assert command.wait() == 0
    os.close(ours)
    return said.decode()


def test_a_narrow_terminal_without_utf8_stays_readable() -> None:
    lines = seen(40, "settings", LANG="C", TERM="xterm").splitlines()
    assert lines[0].split() == ["SETTING", "VALUE", "ORIGIN"]
    assert max(map(len, lines)) <= 40
    assert all(line.isascii() for line in lines)
    assert any("..." in line for line in lines)


def test_a_pipe_gets_whole_lines_and_letters_are_no_reason_to_fail(tmp_path: Path) -> None:
    environment = {"PYTHONIOENCODING": "ascii", "XDG_CONFIG_HOME": str(tmp_path / "né"), "COLUMNS": "40"}
    (tmp_path / "né" / "trimtab").mkdir(parents=True)
    (tmp_path / "né" / "trimtab" / "config.toml").write_text("[cluster]\npage_size = 7\n")
    said = subprocess.check_output([TRIMTAB, "settings"], env=environment, text=True)
    (line,) = (line for line in said.splitlines() if line.startswith("cluster.page_size"))
    assert line.endswith("n\\xe9/trimtab/config.toml: cluster.page_size")
