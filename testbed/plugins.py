"""Credential plugins for tests: small shell scripts, and something that really runs them."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from msgspec import Struct

from trimtab.kube.auth.plugin import PluginStopped


class Ended(Struct, frozen=True, kw_only=True):
    """How a plugin ended and what it printed."""

    code: int
    stdout: bytes
    stderr: bytes


async def run_plugin(argv: Sequence[str], *, environment: Mapping[str, str], wall: timedelta) -> Ended:
    """Run a program in its own process group and kill the group when the time is over."""
    program = await asyncio.create_subprocess_exec(
        *argv,
        env=dict(environment),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(wall.total_seconds()):
            stdout, stderr = await program.communicate()
    except TimeoutError:
        raise PluginStopped(f"it did not end within {wall.total_seconds():g} s") from None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)
        await program.wait()
    return Ended(code=program.returncode or 0, stdout=stdout, stderr=stderr)


def plugin_script(path: Path, *lines: str) -> Path:
    """A shell script at this path, ready to be run."""
    path.write_text("\n".join(("#!/bin/sh", *lines, "")))
    path.chmod(0o755)
    return path
