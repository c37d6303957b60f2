"""Record how the real controllers behave, for tests without them: `python -m scripts.record_behaviours`.

The tests marked `real` play every story again and compare, so a recording never grows stale unseen.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from pathlib import Path
from typing import Any

from testbed.controlplane import ControlPlane
from tests.contract.behaviours.stage import RealTime, staged
from tests.contract.behaviours.stories import STORIES, comparable
from tests.kube.world import connect_to

RECORDED = Path(__file__).parents[1] / "tests" / "contract" / "behaviours" / "recorded"
QUIET = 3.0  # seconds after which a cluster that says nothing more has come to rest


def main() -> None:
    """Play the stories named on the command line, or all, and write down how each went."""
    with ControlPlane(nodes=2) as plane:
        for title in sys.argv[1:] or STORIES:
            told = asyncio.run(_played(plane, title))
            path = RECORDED / f"{slug(title)}.json"
            path.write_text(json.dumps(told, indent=1, sort_keys=True) + "\n")
            print(title)


def slug(title: str) -> str:
    """A title as a file is called."""
    return re.sub("[^a-z]+", "_", title)


async def _played(plane: ControlPlane, title: str) -> dict[str, Any]:
    namespace = f"story-{slug(title).replace('_', '-')}"
    plane.add_namespace(namespace)
    async with connect_to(plane) as cluster, staged(cluster, namespace, RealTime(), real=True) as stage:
        await STORIES[title](stage)
        while True:
            before = stage.told()
            await asyncio.sleep(QUIET)
            if stage.told() == before:
                return comparable(title, before)


if __name__ == "__main__":
    main()
