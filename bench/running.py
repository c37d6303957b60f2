"""Runs what is measured: programs in processes of their own, and our own client on a server."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from bench.chapters import ROOT
from testbed.processes import leashed
from trimtab.kube import Cluster, connect, from_kubeconfig
from trimtab.settings import ClusterSettings
from trimtab.tasks.clock import SystemClock
from trimtab.tasks.loops import run_main

RUN_LIMIT = 900.0  # seconds
#: for control planes: Pods need no service account here, for nobody runs the controller that would make one
FLAGS = ("--disable-admission-plugins=ServiceAccount",)
_T = TypeVar("_T")


class Reachable(Protocol):
    """Something with a kubeconfig."""

    kubeconfig: Path


def with_cluster(server: Reachable, work: Callable[[Cluster], Coroutine[Any, Any, _T]]) -> _T:
    """Do something to a server with a client of this process."""
    settings = ClusterSettings()

    async def doing() -> _T:
        access = from_kubeconfig([server.kubeconfig], settings=settings, clock=SystemClock(), environment={})
        async with connect(access, settings) as cluster:
            return await work(cluster)

    return run_main(doing())


def environment_in(home: Path) -> dict[str, str]:
    """What a measured program sees: nothing, so that nobody's GOGC or PYTHON… counts."""
    return {"HOME": str(home), "PATH": ""}


def printed(command: Sequence[str], *, home: Path) -> bytes:
    """What a program printed; its failure ends the benchmark with its words."""
    done = subprocess.run(
        leashed(command),
        cwd=ROOT,
        env=environment_in(home),
        capture_output=True,
        check=False,
        timeout=RUN_LIMIT,
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr.decode()}")
    return done.stdout
