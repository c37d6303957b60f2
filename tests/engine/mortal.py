"""A process that runs an engine and dies after its n-th write: by kill -9, before anybody hears the answer.

Run as a program it is a nursery: it imports everything once and then, for each line of JSON it reads, forks a
child that lives one `Life`; it answers with how the child ended. Nothing of a life survives its child.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct

from trimtab.engine import Engine, GivenClusters, Keyring, RecordStore
from trimtab.engine.cache.filters import ResourceFilter, Rule
from trimtab.engine.clusters import opened
from trimtab.engine.units import Generated, ReconciliationSettings, SyncUnit
from trimtab.kube import connect, from_kubeconfig
from trimtab.kube.cluster import Cluster
from trimtab.resources.digests import digest
from trimtab.resources.manifests import Found
from trimtab.settings import ClusterSettings, EngineSettings
from trimtab.tasks import SystemClock

INSTALLATION = "mortal"
KEY = b"k" * 32
SETTINGS = EngineSettings(
    installation=INSTALLATION, refresh_every=timedelta(0), settle=timedelta(milliseconds=20)
)
#: a life is short: what the units are not made of need not be read
FEW_KINDS = ReconciliationSettings(
    resources_filter=ResourceFilter(inclusions=(Rule(kinds=("ConfigMap", "Deployment", "Job")),))
)
_log = logging.getLogger(__name__)
_WRITES = frozenset({"create", "update", "patch", "apply", "delete"})


class Life(Struct, frozen=True, kw_only=True):
    """What one child has to do: finish the unit's operation, or die after so many writes."""

    kubeconfig: str
    namespace: str
    unit: str
    manifests: list[dict[str, Any]]
    #: none means that it lives to the end
    dies_after: int | None = None


class End(Struct, frozen=True, kw_only=True):
    """How a child ended: the signal that ended it, or its exit code; and the writes it made."""

    signal: int
    code: int
    writes: int


class Mortal:
    """A cluster whose n-th answer to a write nobody lives to hear."""

    def __init__(self, cluster: Any, dies_after: int | None, tally: Path) -> None:
        self._cluster = cluster
        self._dies_after = dies_after
        self._tally = tally
        self._writes = 0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._cluster, name)
        return self._counted(found) if name in _WRITES else found

    def _counted(self, act: Any) -> Any:
        async def acting(*arguments: Any, **options: Any) -> Any:
            answer = await act(*arguments, **options)
            how = options.get("write") or options.get("how")
            if how is None or not how.dry_run:
                self._count()
            return answer

        return acting

    def _count(self) -> None:
        self._writes += 1
        self._tally.write_text(str(self._writes))
        if self._writes == self._dies_after:
            os.kill(os.getpid(), signal.SIGKILL)


class Given:
    """What Git would say, once and for all."""

    def __init__(self, manifests: list[dict[str, Any]]) -> None:
        self._manifests = manifests

    async def generate(self, unit: SyncUnit, revision: str, *, no_cache: bool = False) -> Generated:
        return Generated(
            manifests=tuple(Found(manifest=each, where=unit.id) for each in self._manifests),
            revision="4f2c9e1",
            digest=digest(self._manifests),
        )


async def live(life: Life, tally: Path) -> None:
    """Run an engine until the unit's operation is done."""
    clock, settings = SystemClock(), ClusterSettings()
    access = from_kubeconfig([Path(life.kubeconfig)], settings=settings, clock=clock, environment={})
    async with connect(access, settings) as connected:
        cluster = cast(Cluster, Mortal(connected, life.dies_after, tally))
        units = RecordStore(cluster, namespace=life.namespace, keys=Keyring(KEY))
        clusters = GivenClusters()
        clusters.put(opened("here", cluster, namespaces=[life.namespace]))
        engine = Engine(SETTINGS, clusters, Given(life.manifests), units, reconciliation=FEW_KINDS, key=KEY)
        engine.events.subscribe(lambda event: _log.info("%s: %s", type(event).__name__, event))
        async with asyncio.timeout(60), asyncio.TaskGroup() as group:
            task = group.create_task(engine.run())
            await engine.known()
            await engine.wait_for_sync(life.unit)
            task.cancel()


def born(life: Life, tally: Path) -> End:
    """Have a child live, and say how it ended."""
    tally.write_text("0")
    child = os.fork()
    if child == 0:
        try:
            asyncio.run(live(life, tally))
        except BaseException:  # noqa: BLE001 - a child must never come back to its parent's code
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return End(
        signal=os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0,
        code=os.WEXITSTATUS(status) if os.WIFEXITED(status) else 0,
        writes=int(tally.read_text()),
    )


class Nursery:
    """The program, from the outside."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def have(self, life: Life) -> End:
        """One life, to its end."""
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise RuntimeError("the nursery has no ears")
        stdin.write(msgspec.json.encode(life) + b"\n")
        await stdin.drain()
        return msgspec.json.decode(await stdout.readline(), type=End)


@asynccontextmanager
async def nursery(tally: Path) -> AsyncIterator[Nursery]:
    """A nursery that is closed at the end of the block."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.engine.mortal",
        str(tally),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=1 << 24,
    )
    try:
        yield Nursery(process)
    finally:
        if process.stdin is not None:
            process.stdin.close()
        await process.wait()


def main() -> None:
    """Have children, one after another, until nobody asks any more."""
    tally = Path(sys.argv[1])
    for line in sys.stdin.buffer:
        end = born(msgspec.json.decode(line, type=Life), tally)
        sys.stdout.buffer.write(msgspec.json.encode(end) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
