"""The embedded cluster in a process of its own, over HTTPS on loopback: `Embedded` starts and stops it.

    with Embedded() as server:
        subprocess.run([kubectl, f"--kubeconfig={server.kubeconfig}", "get", "namespaces"])

Run as a program, `python -m testbed.embedded FOLDER [controllers]`, this serves until it is killed and leaves
a kubeconfig in the folder once it answers.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path

from testbed.part import Part
from testbed.processes import Process
from trimtab.errors import TrimtabError
from trimtab.tasks.loops import run_main

ROOT = Path(__file__).parents[1]
KUBECONFIG = "kubeconfig"
_log = logging.getLogger(__name__)
BRIEFLY = timedelta(milliseconds=100)  # what pods take to start and to become ready


class Embedded(Part):
    """One embedded cluster: reach it with `kubeconfig`."""

    def __init__(self, *, controllers: bool = False) -> None:
        """With `controllers` the stand-ins for Kubernetes' controllers run, so that rollouts become ready."""
        super().__init__("em")
        self.kubeconfig = self.folder / KUBECONFIG
        self.server = Process(
            "embedded",
            [sys.executable, "-m", "testbed.embedded", str(self.folder), *["controllers"] * controllers],
            folder=self.folder,
            env={"PYTHONPATH": str(ROOT)},
        )

    @property
    def processes(self) -> tuple[Process, ...]:
        """The one process that it is."""
        return (self.server,)

    def _bring_up(self) -> None:
        self.server.start()
        self.server.wait_until(self.kubeconfig.exists, what="serving")


def told(title: str, name: tuple[str, str], error: Exception) -> None:
    """What a stand-in could not do is no news; what it did not expect is a defect, and is told whole."""
    if not isinstance(error, TrimtabError):
        _log.error("%s could not look after %s", title, name, exc_info=error)


async def serve_forever(folder: Path, *, controllers: bool) -> None:
    """Serve a fresh cluster, telling how to reach it."""
    from trimtab.apiserver import MemoryCluster, kubeconfig, serve

    cluster = MemoryCluster()
    async with AsyncExitStack() as stack:
        served = await stack.enter_async_context(serve(cluster.api))
        if controllers:
            from trimtab.apiserver.behaviours import Timing, behaviours_of

            timing = Timing(start=BRIEFLY, ready=BRIEFLY)
            await stack.enter_async_context(behaviours_of(cluster, timing=timing, on_failure=told))
        made = folder / f".{KUBECONFIG}"
        made.touch(mode=0o600)
        made.write_text(json.dumps(kubeconfig(served)))
        made.rename(folder / KUBECONFIG)
        await asyncio.Event().wait()


if __name__ == "__main__":
    run_main(serve_forever(Path(sys.argv[1]), controllers="controllers" in sys.argv[2:]))
