"""The process that serves a cluster: where somebody looks on, or in the background, as it is told to."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from trimtab.apiserver.background import CONTEXT, State, born, forget, remember
from trimtab.apiserver.behaviours import behaviours_of
from trimtab.apiserver.behaviours.timing import BRISK, Timing
from trimtab.apiserver.credentials import Credentials
from trimtab.apiserver.memory import MemoryCluster
from trimtab.apiserver.orders import Files, Orders, report, take
from trimtab.apiserver.serving import kubeconfig, serve
from trimtab.errors import TrimtabError
from trimtab.tasks.loops import run_main, stay


async def host(
    cluster: MemoryCluster,
    folder: Path,
    config: Path,
    *,
    port: int = 0,
    timing: Timing | None = None,
    credentials: Credentials | None = None,
    leash: int | None = None,
    ready: Callable[[], object] = lambda: None,
) -> None:
    """Serve a cluster until somebody asks this process to end, or until its leash is let go."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    if leash is not None:
        loop.add_reader(leash, stopped.set)
    behaviours = behaviours_of(cluster, clock=cluster.api.clock, timing=timing or Timing())
    async with serve(cluster.api, port=port, credentials=credentials) as server, behaviours:
        since = cluster.api.clock.now().isoformat(timespec="seconds")
        state = State(
            pid=(me := os.getpid()), born=born(me), url=server.url, kubeconfig=str(config), since=since
        )
        remember(folder, state, kubeconfig(server, CONTEXT))
        try:
            ready()
            await stopped.wait()
        finally:
            forget(folder, state)


def serve_as_told() -> None:
    """Serve what whoever began this process says on its standard input; nothing if they have ended."""
    with _line() as line:
        cluster = MemoryCluster()  # all that takes time, while they make up their mind
        told = take(line)
        if told is None:
            return
        orders, files = told
        _move_in(files)
        stay()
        try:
            _serve(cluster, orders, files, line)
        except (TrimtabError, OSError) as exc:
            if line.fileno() < 0:
                raise  # they know that it was served, and the log tells the rest
            with suppress(BrokenPipeError):  # they have been killed: there is nobody to tell
                report(line, exc)


def _line() -> socket.socket:
    try:
        return socket.socket(fileno=os.dup(sys.stdin.fileno()))
    except OSError as exc:
        raise SystemExit(
            "Nobody has begun this process who could tell it what to do: use trimtab cluster up"
        ) from exc


def _move_in(files: Files) -> None:
    """Take the log for what is said from now on, and nothing for what is read."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (files.log, 1), (files.log, 2)):
        os.dup2(source, target)
    os.close(nothing)
    os.close(files.log)


def _serve(cluster: MemoryCluster, orders: Orders, files: Files, line: socket.socket) -> None:
    def ready() -> None:
        report(line, None)
        line.close()

    run_main(
        host(
            cluster,
            Path(orders.folder),
            Path(orders.kubeconfig),
            port=orders.port,
            timing=BRISK if orders.brisk else None,
            credentials=orders.credentials,
            leash=files.leash,
            ready=ready,
        )
    )
