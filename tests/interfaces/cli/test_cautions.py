"""What should be known of an app is said where it matters, and nothing of those where it does not."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from trimtab.app.deletion import DELETION
from trimtab.engine.operations import Operation, OperationPhase, OperationState
from trimtab.engine.units import Automated, Destination, Pause, Pin, Policy, SyncUnit
from trimtab.interfaces.cli.cautions import of_declaration, of_deletion, of_hold, of_move, of_pin

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
PLAIN = SyncUnit(id="shop", source={}, destination=Destination(cluster="here"))
PAUSED = replace(PLAIN, paused=Pause(reason="lunch", by="ann", since=NOW))
PINNED = replace(PLAIN, pinned=Pin(entry=3, revision="r3", reason="4 crashes", by="ann", since=NOW))
GOING = replace(PLAIN, operation=DELETION)
DECLARED = replace(PLAIN, declared_in="/units")
UNTIL = "a sync is refused until somebody says: trimtab resume shop"
THROUGH = (
    "a sync is refused until that goes on with: trimtab delete shop; or ends with: trimtab terminate shop"
)
WITH_WHAT = "it is compared with that, not with its source"
ANEW = "a runner that reads it there makes the app anew, unless its file goes first"


@pytest.mark.parametrize(
    ("unit", "hold", "pin", "declaration"),
    [
        (PLAIN, (), (), ()),
        (PAUSED, (f"shop is {PAUSED.hold}; {UNTIL}",), (), ()),
        (PINNED, (f"shop is {PINNED.hold}; {UNTIL}",), (f"shop is {PINNED.hold}; {WITH_WHAT}",), ()),
        (GOING, (f"somebody began to delete shop; {THROUGH}",), (), ()),
        (DECLARED, (), (), (f"shop is declared in /units: {ANEW}",)),
    ],
)
def test_an_app_that_is_held_or_declared_elsewhere_says_so(
    unit: SyncUnit, hold: tuple[str, ...], pin: tuple[str, ...], declaration: tuple[str, ...]
) -> None:
    assert (of_hold(unit), of_pin(unit), of_declaration(unit)) == (hold, pin, declaration)


def test_an_app_that_was_not_deleted_to_the_end_says_so() -> None:
    ended = OperationState(operation=DELETION, phase=OperationPhase.SUCCEEDED, started_at=NOW)
    left = replace(PLAIN, status=replace(PLAIN.status, operation_state=ended))
    anew = "a sync makes it anew; delete it to the end with: trimtab delete shop"
    assert of_deletion(left) == (f"shop was to be deleted, and not all of it went: {anew}",)
    assert of_deletion(replace(left, operation=DELETION)) == ()  # a sync is refused
    synced = replace(left.status, operation_state=replace(ended, operation=Operation()))
    assert of_deletion(replace(left, status=synced)) == of_deletion(PLAIN) == ()


def test_a_move_says_whence_and_whereto_and_what_it_takes() -> None:
    was, unit = (replace(PLAIN, source={"folder": folder}) for folder in ("/old", "/new"))
    assert of_move(unit, None) == ()
    assert of_move(unit, was) == ("this moves shop from /old to /new",)
    spaces = [replace(PLAIN, destination=replace(PLAIN.destination, namespace=name)) for name in ("a", "b")]
    assert of_move(*reversed(spaces)) == ("this moves shop from namespace a to namespace b",)
    kept = replace(was, policy=Policy(automated=Automated()))
    assert of_move(unit, kept) == ("this moves shop, which is automated, from /old to /new",)
