"""What should be known of an app is said where it matters, and nothing of those where it does not."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from trimtab.engine.units import Destination, Pause, Pin, SyncUnit
from trimtab.interfaces.cli.cautions import of_declaration, of_hold, of_pin

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
PLAIN = SyncUnit(id="shop", source={}, destination=Destination(cluster="here"))
PAUSED = replace(PLAIN, paused=Pause(reason="lunch", by="ann", since=NOW))
PINNED = replace(PLAIN, pinned=Pin(entry=3, revision="r3", reason="4 crashes", by="ann", since=NOW))
DECLARED = replace(PLAIN, declared_in="/units")
UNTIL = "a sync is refused until somebody says: trimtab resume shop"
WITH_WHAT = "it is compared with that, not with its source"
ANEW = "a runner that reads it there makes the app anew, unless its file goes first"


@pytest.mark.parametrize(
    ("unit", "hold", "pin", "declaration"),
    [
        (PLAIN, (), (), ()),
        (PAUSED, (f"shop is {PAUSED.hold}; {UNTIL}",), (), ()),
        (PINNED, (f"shop is {PINNED.hold}; {UNTIL}",), (f"shop is {PINNED.hold}; {WITH_WHAT}",), ()),
        (DECLARED, (), (), (f"shop is declared in /units: {ANEW}",)),
    ],
)
def test_an_app_that_is_held_or_declared_elsewhere_says_so(
    unit: SyncUnit, hold: tuple[str, ...], pin: tuple[str, ...], declaration: tuple[str, ...]
) -> None:
    assert (of_hold(unit), of_pin(unit), of_declaration(unit)) == (hold, pin, declaration)
