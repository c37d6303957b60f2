"""The loop of our own programs behaves as `asyncio.run` does, and no program takes another."""

from __future__ import annotations

import ast
import asyncio
import os
import signal
from pathlib import Path

import pytest
import uvloop

import trimtab
from trimtab.tasks.loops import run_main

SOURCES = Path(trimtab.__file__).parent


def test_a_program_runs_on_uvloop_and_gives_its_answer() -> None:
    async def main() -> type:
        return type(asyncio.get_running_loop())

    assert run_main(main()) is uvloop.Loop


def test_what_a_program_raises_reaches_whoever_ran_it() -> None:
    async def main() -> None:
        raise LookupError("gone")

    with pytest.raises(LookupError, match="gone"):
        run_main(main())


def test_an_interrupt_ends_the_program_by_cancelling_it() -> None:
    seen: list[str] = []

    async def main() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    with pytest.raises(KeyboardInterrupt):
        run_main(main())
    assert seen == ["cancelled"]


def test_nothing_of_ours_begins_a_loop_by_another_door() -> None:
    others = [
        f"{path.relative_to(SOURCES)}:{node.lineno}"
        for path in sorted(SOURCES.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and (node.value.id, node.attr) in {("asyncio", "run"), ("asyncio", "Runner")}
        and path != SOURCES / "tasks" / "loops.py"
    ]
    assert others == []
