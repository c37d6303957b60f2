"""The loop of our own programs behaves as `asyncio.run` does, and no program takes another."""

from __future__ import annotations

import ast
import asyncio
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest
import uvloop

import trimtab
from trimtab.tasks.loops import hear_complaints, run_main

OTHER_DOORS = re.compile(r"\basyncio\.(?:run|Runner)\b")
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


LATE = "Fatal error on SSL protocol"


class Wire(asyncio.Transport):
    def __init__(self, *, closing: bool) -> None:
        super().__init__()
        self._closing = closing

    def is_closing(self) -> bool:
        return self._closing


@pytest.mark.parametrize(
    ("message", "error", "closing", "told"),
    [
        pytest.param(
            LATE, RuntimeError("the handler is closed"), True, False, id="a late word on a closed one"
        ),
        pytest.param(LATE, RuntimeError("what is this"), True, False, id="another late word on a closed one"),
        pytest.param(
            LATE,
            RuntimeError("no; the handler is closed"),
            False,
            False,
            id="on one that forgot it",
        ),
        pytest.param(LATE, RuntimeError("what is this"), False, True, id="the same on an open one"),
        pytest.param(LATE, ValueError("wrong"), True, True, id="another error"),
        pytest.param("Task was destroyed", RuntimeError("gone"), True, True, id="another complaint"),
    ],
)
async def test_a_loop_complains_of_everything_but_late_words_on_connections_that_we_closed(
    *, message: str, error: Exception, closing: bool, told: bool
) -> None:
    loop, heard = asyncio.get_running_loop(), list[dict[str, Any]]()
    hear_complaints(loop, heard.append)
    loop.call_exception_handler({"message": message, "exception": error, "transport": Wire(closing=closing)})
    assert [context["message"] for context in heard] == ([message] if told else [])


async def test_a_complaint_without_a_connection_is_told() -> None:
    loop, heard = asyncio.get_running_loop(), list[dict[str, Any]]()
    hear_complaints(loop, heard.append)
    loop.call_exception_handler({"message": LATE})
    assert heard == [{"message": LATE}]


def test_nothing_of_ours_begins_a_loop_by_another_door() -> None:
    others = [
        f"{path.relative_to(SOURCES)}:{node.lineno}"
        for path in sorted(SOURCES.rglob("*.py"))
        if OTHER_DOORS.search(text := path.read_text())  # parsing them all would take seconds
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and OTHER_DOORS.fullmatch(f"{node.value.id}.{node.attr}")
        and path != SOURCES / "tasks" / "loops.py"
    ]
    assert others == []
