"""A sync told line by line: names and words of others command no terminal."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from trimtab.engine.events import OperationWaits, StepDone
from trimtab.engine.health import Health, HealthStatus
from trimtab.engine.operations import StepStatus, SyncPhase
from trimtab.engine.units import Destination, SyncUnit, UnitStatus
from trimtab.interfaces.cli.telling import LineByLine
from trimtab.resources.keys import ResourceKey

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
#: clears the screen, names the window, turns the direction of writing, forges a line
HOSTILE = "a\x1b[2J\x1b]0;b\x07\u202ec\nd"


async def test_what_others_say_is_told_on_one_harmless_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    told = LineByLine(None)
    told.hear(
        StepDone(
            at=NOW,
            unit="web",
            key=ResourceKey("rbac.authorization.k8s.io", "Role", "shop", HOSTILE),
            phase=SyncPhase.SYNC,
            status=StepStatus.SYNC_FAILED,
            hook=False,
            message=HOSTILE,
        )
    )
    told.hear(OperationWaits(at=NOW, unit="web", message=HOSTILE))
    told.say(HOSTILE)
    status = UnitStatus(health=Health(HealthStatus.DEGRADED, HOSTILE))
    told.look(SyncUnit(id="web", source="", destination=Destination(cluster="here"), status=status))
    told.write()
    lines = capsys.readouterr().err.splitlines()
    harmless = r"a\x1b[2J\x1b]0;b\x07\u202ec d"
    assert lines == [
        f"Role.rbac.authorization.k8s.io shop/{harmless} SyncFailed: {harmless}",
        harmless,
        harmless,
        f"waiting for health: Degraded: {harmless}",
    ]


async def test_what_is_told_at_one_moment_is_written_once_and_at_the_next_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    told = LineByLine(None)
    told.say("one")
    told.say("two")
    assert capsys.readouterr().err == ""
    await asyncio.sleep(0)
    assert capsys.readouterr().err == "one\ntwo\n"
    told.write()
    assert capsys.readouterr().err == ""
