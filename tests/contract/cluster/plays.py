"""Playing cases: a table's at a time, several side by side, since each has its own namespace."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable
from typing import TypeAlias

from tests.contract.cluster.cases import Case
from tests.contract.cluster.stage import Observation
from tests.contract.cluster.worlds import World

Outcome: TypeAlias = list[Observation] | Exception


class Plays:
    """What the cases of a run were told by one world."""

    def __init__(self, name: str, world: World, cases: Iterable[Case], *, side_by_side: int = 6) -> None:
        self.name = name
        self._world = world
        self._side_by_side = side_by_side
        self._outcomes: dict[str, Outcome] = {}
        self._tables: dict[str, dict[str, Case]] = defaultdict(dict)
        for case in cases:
            self._tables[case.table][case.id] = case

    async def told(self, case: Case) -> list[Observation]:
        """The story of one case; the first one asked for brings its whole table."""
        if case.id not in self._outcomes:
            await self._play(list(self._tables[case.table].values()))
        outcome = self._outcomes[case.id]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def _play(self, cases: list[Case]) -> None:
        waiting = iter(cases)
        async with asyncio.TaskGroup() as players:
            for _ in range(self._side_by_side):
                players.create_task(self._one_after_another(waiting))

    async def _one_after_another(self, waiting: Iterable[Case]) -> None:
        for case in waiting:
            self._outcomes[case.id] = await self._outcome(case)

    async def _outcome(self, case: Case) -> Outcome:
        """The story, or what broke it: that belongs to this case alone."""
        try:
            stage = await self._world.stage()
            await case.play(stage)
        except Exception as error:  # noqa: BLE001 - it is raised where the case is judged
            return error
        return stage.told
