"""A proxy between a client and a server that cuts, delays, truncates and stalls, as networks do.

Bytes pass through untouched until a connection's fate strikes. Clients speak plain TCP to it; towards the
server it can speak TLS, so that fates strike inside HTTP messages and not only inside TLS records.
"""

from __future__ import annotations

import asyncio
import random
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import TypeAlias

from msgspec import Struct

_CHUNK = 1 << 14


class Fate(Struct, frozen=True, kw_only=True):
    """What becomes of one connection: after so many bytes of answers it is cut, or falls silent."""

    after: int | None = None
    stalls: bool = False
    delay: float = 0.0


UNTROUBLED = Fate()
Fates: TypeAlias = Callable[[], Fate]


def random_fates(seed: int) -> Fates:
    """A repeatable sequence of fates: most connections die or fall silent, some limp, a few are left be."""
    source = random.Random(seed)  # noqa: S311 - a repeatable sequence, not a secret

    def fate() -> Fate:
        kind = source.random()
        after = int(2 ** source.uniform(6, 17))
        if kind < 0.5:
            return Fate(after=after)
        if kind < 0.65:
            return Fate(after=after, stalls=True)
        if kind < 0.9:
            return Fate(after=after, delay=source.uniform(0, 0.01))
        return UNTROUBLED

    return fate


class Proxy:
    """A running proxy: where to reach it, and how many connections met which end."""

    def __init__(self, host: str, port: int, tls: ssl.SSLContext | None, fates: Fates) -> None:
        self._host = host
        self._port = port
        self._tls = tls
        self.fates = fates
        self.cut = 0
        self.stalled = 0
        self.port = 0
        self._connections: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    @property
    def url(self) -> str:
        """Where clients reach it."""
        return f"http://127.0.0.1:{self.port}"

    def cut_all(self) -> None:
        """Cut every connection now; what becomes of new ones is up to the fates."""
        for task in tuple(self._connections):
            task.cancel()

    async def run(self, started: asyncio.Event) -> None:
        """Accept connections until cancelled; none outlives this."""
        async with asyncio.TaskGroup() as room:

            def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                task = room.create_task(self.serve(reader, writer))
                self._connections[task] = writer
                task.add_done_callback(self._ended)

            server = await asyncio.start_server(accept, "127.0.0.1", 0)
            self.port = server.sockets[0].getsockname()[1]
            started.set()
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                server.close()

    def _ended(self, task: asyncio.Task[None]) -> None:
        writer = self._connections.pop(task)  # one that nobody holds complains before it is closed
        writer.transport.abort()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry one connection to its fate."""
        fate = self.fates()
        with suppress(OSError):
            away_reader, away_writer = await asyncio.open_connection(self._host, self._port, ssl=self._tls)
            try:
                async with asyncio.TaskGroup() as both:
                    asking = both.create_task(_carry(reader, away_writer))
                    with suppress(OSError):
                        await self._answer(away_reader, writer, fate)
                    asking.cancel()
            finally:
                away_writer.transport.abort()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, fate: Fate) -> None:
        left = fate.after
        while chunk := await reader.read(_CHUNK):
            await asyncio.sleep(fate.delay)
            writer.write(chunk if left is None else chunk[:left])
            await writer.drain()
            left = None if left is None else left - len(chunk)
            if left is not None and left <= 0:
                await self._strike(fate)
                return

    async def _strike(self, fate: Fate) -> None:
        if fate.stalls:
            self.stalled += 1
            await asyncio.get_running_loop().create_future()
        self.cut += 1


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass on what the client asks until it hangs up."""
    with suppress(OSError):
        while chunk := await reader.read(_CHUNK):
            writer.write(chunk)
            await writer.drain()


@asynccontextmanager
async def unruly_proxy(
    host: str, port: int, *, tls: ssl.SSLContext | None = None, fates: Fates = lambda: UNTROUBLED
) -> AsyncIterator[Proxy]:
    """Run a proxy in front of a server for the length of the block."""
    proxy, started = Proxy(host, port, tls, fates), asyncio.Event()
    async with asyncio.TaskGroup() as room:
        running = room.create_task(proxy.run(started))
        await started.wait()
        try:
            yield proxy
        finally:
            running.cancel()
