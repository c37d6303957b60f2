"""The example agent does what it says, and is as short as it says."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.engine.stage import Stage, config_map
from trimtab.apiserver import MemoryCluster, kubeconfig, serve
from trimtab.apiserver.behaviours import behaviours_of
from trimtab.apiserver.behaviours.timing import AT_ONCE
from trimtab.resources import yaml

AGENT = Path(__file__).parents[2] / "examples" / "agent.py"


@asynccontextmanager
async def agent(*arguments: str) -> AsyncIterator[asyncio.StreamReader]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-W", "error", str(AGENT), *arguments, stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        yield process.stdout
    finally:
        process.kill()
        await process.wait()


async def heard(lines: asyncio.StreamReader, event: str, **fields: Any) -> None:
    """Wait for an event with these fields."""
    async with asyncio.timeout(60):
        async for line in lines:
            told = json.loads(line)
            if told["event"] == event and fields.items() <= told.items():
                return
    raise AssertionError(f"the agent ended without {event}")


async def test_the_agent_keeps_a_namespace_as_its_folder_says(tmp_path: Path) -> None:
    cluster, folder = MemoryCluster(), tmp_path / "wanted"
    folder.mkdir()
    (folder / "a.yaml").write_text(yaml.dump_all([config_map("a"), config_map("b")]))
    (folder / "c.yaml").write_text(yaml.dump(config_map("c")))
    stage = Stage(cluster, "default")
    async with serve(cluster.api) as served, behaviours_of(cluster, timing=AT_ONCE):
        config = tmp_path / "kubeconfig"
        config.write_text(json.dumps(kubeconfig(served)))
        async with agent(str(folder), str(config), "default") as lines:
            await heard(lines, "OperationEnded", phase="Succeeded")
            await heard(lines, "UnitRefreshed", verdict="Synced")
            assert await stage.names("ConfigMap") >= {"a", "b", "c"}
            await stage.patch("ConfigMap", "a", {"data": {"value": "mine"}})
            (folder / "c.yaml").unlink()
            await heard(lines, "OperationEnded", phase="Succeeded")
            await heard(lines, "StepDone", status="Pruned")
            await heard(lines, "UnitRefreshed", verdict="Synced")
        found = await stage.get("ConfigMap", "a")
        assert found is not None
        assert found["data"] == {"value": "1"}
        assert "c" not in await stage.names("ConfigMap")


def test_the_agent_is_sixty_lines_long() -> None:
    assert len(AGENT.read_text().splitlines()) <= 60
