"""The operation processor: what becomes of operations whose voyage is cut short."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from trimtab.engine.control.operating import Operator
from trimtab.engine.events import Events
from trimtab.engine.operations import Operation
from trimtab.engine.units import Destination, SyncUnit
from trimtab.tasks import ManualClock, plain_group

UNIT = SyncUnit(id="web", source={}, destination=Destination(cluster="here"), operation=Operation())


class Known:
    """A ledger of one unit."""

    def get(self, unit_id: str) -> SyncUnit | None:
        return UNIT if unit_id == UNIT.id else None


async def test_an_operation_that_is_abandoned_before_its_first_step_is_over_and_is_begun_again() -> None:
    again: list[tuple[str, float]] = []
    nobody: Any = None
    operator = Operator(
        cast(Any, Known()),
        nobody,
        nobody,
        Events(),
        clock=ManualClock(),
        on_ended=lambda *_: None,
        again=lambda unit, after: again.append((unit, after)),
    )
    async with plain_group() as group:
        operator.begin(group)
        run = group.create_task(operator.run("", "web"))
        await asyncio.sleep(0)
        assert operator.control("web") is not None
        abandoned = operator.abandon("web")
        await run
    assert abandoned is not None
    assert abandoned.cancelled()
    assert (again, operator.control("web")) == ([("web", 0)], None)
