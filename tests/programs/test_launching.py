"""Launchers that are forked: cheap to start, as well walled, and gone with whoever asked for them."""

from __future__ import annotations

import asyncio
import functools
import gc
import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from testbed.scarcity import PIPES_ARE_CLOSED, failures_without_files, open_files
from trimtab.errors import TrimtabError, Unavailable
from trimtab.programs import Finished, Launches, Limits, run, walls
from trimtab.programs.launch import descendants
from trimtab.tasks.loops import run_main

from .conftest import Wire

TOOLS = {"PATH": "/usr/bin:/bin"}


async def test_many_programs_share_one_server_and_nothing_is_left() -> None:
    before = set(descendants(os.getpid()))
    async with Launches() as launches, asyncio.TaskGroup() as group:
        runs = [
            group.create_task(run(["/bin/sh", "-c", f"echo {n}"], environment=TOOLS, launches=launches))
            for n in range(8)
        ]
    assert [task.result().stdout for task in runs] == [f"{n}\n".encode() for n in range(8)]
    assert set(descendants(os.getpid())) <= before


async def test_a_server_that_was_killed_is_replaced() -> None:
    async with Launches() as launches:
        await run(["/bin/true"], launches=launches)
        server = launches.pid
        os.kill(server, signal.SIGKILL)
        # Whoever comes before the death is noticed is told to come again.
        finished: Finished | None = None
        async with asyncio.timeout(60):
            while finished is None:
                with suppress(Unavailable):
                    finished = await run(["/bin/true"], launches=launches)
        assert (finished.code, launches.pid != server) == (0, True)


async def test_programs_die_with_a_server_that_is_killed(wire: Wire) -> None:
    async with Launches() as launches:
        async with asyncio.TaskGroup() as group:
            held = group.create_task(_ending(wire, launches))
            await wire.up()
            os.kill(launches.pid, signal.SIGKILL)
        await wire.dead()
        assert isinstance(held.result(), Unavailable)


async def _ending(wire: Wire, launches: Launches) -> TrimtabError | None:
    try:
        await run(["/bin/sh", "-c", wire.hold()], environment=TOOLS, launches=launches)
    except TrimtabError as error:
        return error
    return None


OWNER = """
import asyncio, sys
from trimtab.programs import Launches, run
async def main():
    async with Launches() as launches:
        await run(["/bin/sh", "-c", sys.argv[1]], environment={"PATH": "/usr/bin:/bin"}, launches=launches)
asyncio.run(main())
"""


async def test_programs_and_server_die_with_an_owner_that_is_killed(wire: Wire) -> None:
    owner = subprocess.Popen([sys.executable, "-c", OWNER, wire.hold()])  # noqa: ASYNC220 - it is killed below
    await wire.up()
    below = list(descendants(owner.pid))
    owner.kill()
    owner.wait()
    await wire.dead()
    assert below
    for pid in below:
        await asyncio.to_thread(_gone, pid)


def _gone(pid: int) -> None:
    try:
        file = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    poller = select.poll()
    poller.register(file, select.POLLIN)
    ended = poller.poll(30_000)
    os.close(file)
    assert ended, "a process outlived its owner"


async def test_a_server_that_was_stopped_dies_with_its_owner_too(wire: Wire) -> None:
    owner = subprocess.Popen([sys.executable, "-c", OWNER, wire.hold()])  # noqa: ASYNC220 - it is killed below
    await wire.up()
    server = next(descendants(owner.pid))
    os.kill(server, signal.SIGSTOP)
    owner.kill()
    owner.wait()
    await wire.dead()
    await asyncio.to_thread(_gone, server)


# --- a narrow view ---------------------------------------------------------------------------------------


async def seen(helm: Path, folder: Path, path: str, *, namespaces: bool = True) -> tuple[bool, bool]:
    """Whether helm, told to look at a path, finds it; and whether the wall around files stood."""
    finished = await run(
        [str(helm), "show", "chart", path],
        environment={"HOME": str(folder)},
        cwd=folder,
        view=folder,
        limits=Limits(),
        namespaces="auto" if namespaces else "never",
    )
    return b"not found" not in finished.stderr, finished.walls.files


async def test_a_static_program_sees_its_folder_and_nothing_else(helm: Path, tmp_path: Path) -> None:
    if not (await walls()).files:
        pytest.skip("this machine allows no wall around files")
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for folder in (inside, outside):
        folder.mkdir()
        (folder / "Chart.yaml").write_text("apiVersion: v2\nname: a\nversion: 1.0.0\n")
    assert await seen(helm, inside, str(inside)) == (True, True)
    assert await seen(helm, inside, ".") == (True, True)
    for path in (str(outside), "../outside", "/etc", f"/proc/self/root{outside}"):
        assert await seen(helm, inside, path) == (False, True), path


async def test_without_namespaces_the_view_is_not_narrowed_and_says_so(helm: Path, tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for folder in (inside, outside):
        folder.mkdir()
    (outside / "Chart.yaml").write_text("apiVersion: v2\nname: a\nversion: 1.0.0\n")
    assert await seen(helm, inside, str(outside), namespaces=False) == (True, False)


async def test_a_program_that_needs_libraries_sees_everything_and_says_so(tmp_path: Path) -> None:
    finished = await run(["/bin/ls", "/etc"], environment=TOOLS, cwd=tmp_path, view=tmp_path)
    assert (finished.code, finished.walls.files) == (0, False)


@pytest.mark.skipif(not PIPES_ARE_CLOSED, reason="this Python leaves pipes open")
async def test_a_program_that_cannot_be_started_leaves_no_open_files() -> None:
    async with Launches() as launches:
        for server in (launches, None):
            start = functools.partial(run, ["/bin/true"], stdin=b"x", launches=server)
            assert await failures_without_files(start) > 5


async def test_a_server_that_cannot_be_started_leaves_no_open_files() -> None:
    async def serve() -> None:
        async with Launches():
            pass

    assert await failures_without_files(serve) > 0


def test_on_our_own_loop_a_start_that_is_cancelled_closes_every_file_once() -> None:
    async def cancelled_after(turns: int, launches: Launches) -> None:
        async with asyncio.TaskGroup() as group:
            running = group.create_task(run(["/bin/sleep", "60"], stdin=b"x", launches=launches))
            for _ in range(turns):
                await asyncio.sleep(0)
            running.cancel()

    async def main() -> None:
        async with Launches() as launches:
            await run(["/bin/true"], launches=launches)
            before = open_files()
            for turns in range(12):
                await cancelled_after(turns, launches)
                gc.collect()  # an object left behind would complain, and close a number a second time
                assert (await run(["/bin/true"], launches=launches)).code == 0
            assert open_files() <= before

    run_main(main())
