"""Record how the real controllers behave, for tests without them: `python -m scripts.record_behaviours`.

A run with the real parts has some stories told again and compares, `make judge-behaviours` all others: a
recording that has grown stale is found before a release.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterable
from typing import Any

from testbed.controlplane import ControlPlane
from tests.contract.behaviours.programme import PROGRAMME, comparable, recording, slug
from tests.contract.behaviours.stage import RealTime, add_namespace_for_pods, staged
from tests.kube.world import connect_to

SIDE_BY_SIDE = 4  # more would make controllers too busy to notice what lies between
QUIET = 3.0  # seconds after which a cluster that says nothing more has come to rest


def main() -> None:
    """Play the stories named on the command line, or all, and write down how each went."""
    with ControlPlane(nodes=2) as plane:
        asyncio.run(_record(plane, sys.argv[1:] or list(PROGRAMME)))


async def _record(plane: ControlPlane, titles: Iterable[str]) -> None:
    """A few at a time: most of a story is waiting, and each has its own namespace."""
    waiting = iter(titles)

    async def one_after_another() -> None:
        for title in waiting:
            told = await _played(plane, title)
            recording(title).write_text(json.dumps(told, indent=1, sort_keys=True) + "\n")
            print(title, flush=True)

    async with asyncio.TaskGroup() as players:
        for _ in range(SIDE_BY_SIDE):
            players.create_task(one_after_another())


async def _played(plane: ControlPlane, title: str) -> dict[str, Any]:
    namespace = f"story-{slug(title).replace('_', '-')}"
    async with connect_to(plane) as cluster:
        await add_namespace_for_pods(cluster, namespace)
        async with staged(cluster, namespace, RealTime()) as stage:
            await PROGRAMME[title](stage)
            while True:
                before = stage.told()
                await asyncio.sleep(QUIET)
                if stage.told() == before:
                    return comparable(title, before)


if __name__ == "__main__":
    main()
