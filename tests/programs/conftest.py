"""A wire through which tests learn that a process is up, and that it has died."""

from __future__ import annotations

import asyncio
import os
import select
from collections.abc import Iterator
from pathlib import Path

import pytest

DEADLINE = 60.0


class Wire:
    """A FIFO that processes under test hold open: it ends when the last of them has died."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        self._file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    def close(self) -> None:
        os.close(self._file)

    def hold(self, command: str = "sleep 1000") -> str:
        """Shell text: take hold of the wire, say so, and go on with a command."""
        return f"exec 9>{self.path}; echo up >&9; {command}"

    async def up(self, times: int = 1) -> None:
        """Wait until so many processes have said that they are up."""
        await asyncio.to_thread(self._read, b"up\n" * times)

    async def dead(self) -> None:
        """Wait until nobody holds the wire any more."""
        await asyncio.to_thread(self._read, None)

    def _read(self, wanted: bytes | None) -> None:
        said, poller = b"", select.poll()
        poller.register(self._file, select.POLLIN)
        while wanted is None or len(said) < len(wanted):
            assert poller.poll(DEADLINE * 1000), f"nothing within {DEADLINE:.0f} s, after {said!r}"
            block = os.read(self._file, 1024)
            if not block:
                assert wanted is None, f"the wire ended after {said!r}"
                return
            said += block
        assert said == wanted


@pytest.fixture
def wire(tmp_path: Path) -> Iterator[Wire]:
    wire = Wire(tmp_path / "wire")
    yield wire
    wire.close()
