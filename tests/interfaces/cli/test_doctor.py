"""`trimtab doctor`: its answer as rows."""

from __future__ import annotations

from trimtab.app.doctor.checks import ok, warning
from trimtab.interfaces.cli.doctor import checks_listing
from trimtab.interfaces.cli.output import shown
from trimtab.resources.tables import Paper

CHECKS = [ok("git", "2.47.3"), warning("clock", "7 s apart", "Set it")]


def test_checks_are_rows_with_remedies_for_whoever_wants_more() -> None:
    listing = checks_listing(CHECKS)
    assert shown(listing, "table", Paper()) == (
        "STATE    CHECK  WHAT\nok       git    2.47.3\nwarning  clock  7 s apart"
    )
    assert [line.split("  ")[-1].strip() for line in shown(listing, "wide", Paper()).splitlines()] == [
        "REMEDY", "-", "Set it",
    ]  # fmt: skip
    assert shown(listing, "name", Paper()) == "git\nclock"
    assert listing.value[1] == {"check": "clock", "state": "warning", "what": "7 s apart", "remedy": "Set it"}
