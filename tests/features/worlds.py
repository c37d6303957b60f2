"""An embedded cluster whose present can be lived many times: each life begins where the preparations ended.

    with Worlds(folder) as worlds:
        with worlds.lasting() as kubeconfig: ...    what is done here is there ever after
        with worlds.passing() as kubeconfig: ...    and what is done here never was

Run as a program, this keeps one cluster in memory and serves it, itself or as a fork, as it is asked to.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Self

from trimtab.apiserver import MemoryCluster, kubeconfig, serve
from trimtab.apiserver.behaviours import Timing, behaviours_of

ROOT = Path(__file__).parents[2]
LASTING, PASSING, END = b"lasting\n", b"passing\n", b"end\n"
AT_ONCE = timedelta(milliseconds=20)


class Worlds:
    """The program, from the outside."""

    def __init__(self, folder: Path) -> None:
        self._kubeconfig = folder / "world.kubeconfig"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.features.worlds", str(self._kubeconfig)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._process as process:
            assert process.stdin is not None
            process.stdin.close()

    @contextmanager
    def lasting(self) -> Iterator[Path]:
        """The cluster; what is done stays done."""
        with self._served(LASTING) as found:
            yield found

    @contextmanager
    def passing(self) -> Iterator[Path]:
        """The cluster as it was left; what is done is forgotten afterwards."""
        with self._served(PASSING) as found:
            yield found

    @contextmanager
    def _served(self, how: bytes) -> Iterator[Path]:
        self._ask(how)
        try:
            yield self._kubeconfig
        finally:
            self._ask(END)

    def _ask(self, word: bytes) -> None:
        """Say something, and wait until it has been done."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(word)
        self._process.stdin.flush()
        if not self._process.stdout.readline():
            raise RuntimeError("the program that keeps the cluster has ended")


async def serve_until_told(cluster: MemoryCluster, config: Path) -> None:
    """Serve the cluster until the next line is there."""
    told, timing = asyncio.Event(), Timing(start=AT_ONCE, ready=AT_ONCE, run=AT_ONCE)
    asyncio.get_running_loop().add_reader(0, told.set)
    async with serve(cluster.api) as served, behaviours_of(cluster, timing=timing):
        _tell(config, json.dumps(kubeconfig(served)))
        await told.wait()
    asyncio.get_running_loop().remove_reader(0)


def _tell(config: Path, text: str) -> None:
    config.write_text(text)
    os.write(1, b"served\n")


def main() -> None:
    """Serve as asked until nobody asks any more."""
    cluster, config = MemoryCluster(), Path(sys.argv[1])
    while asked := os.read(0, 64):
        child = os.fork() if asked == PASSING else 0
        if child == 0:
            asyncio.run(serve_until_told(cluster, config))
            if asked == PASSING:
                os._exit(0)
        else:
            os.waitpid(child, 0)
        os.read(0, 64)
        os.write(1, b"ended\n")


if __name__ == "__main__":
    main()
