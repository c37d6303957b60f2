"""A way to a Kubernetes API that counts what is asked over it, and can have one answer come too late.

    with Toll(server.kubeconfig, folder) as toll:
        toll.strike(is_write, 3, kill)    # when the third write has been answered, before anybody hears it
        subprocess.run([kubectl, f"--kubeconfig={toll.kubeconfig}", "apply", "-f", file])

Clients speak plain HTTP to it, without credentials; it adds those of the kubeconfig.
"""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
import threading
import urllib.parse
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeAlias

_CHUNK = 1 << 16
#: whether a request counts, by its method and target
Counts: TypeAlias = Callable[[str, str], bool]
_Streams: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]
_WRITING = frozenset({"POST", "PUT", "PATCH", "DELETE"})


def is_any(_method: str, _target: str) -> bool:
    """Every request counts."""
    return True


def is_write(method: str, target: str) -> bool:
    """Whether something changes: neither a dry run nor a question that happens to be a POST."""
    return method in _WRITING and "dryRun=" not in target and "/apis/authorization.k8s.io/" not in target


class Toll:
    """One such way, in a thread of its own."""

    def __init__(self, kubeconfig: Path, folder: Path) -> None:
        config = json.loads(kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.server: str = cluster["server"]
        self.kubeconfig = folder / "toll.kubeconfig"
        self._token: str = user["token"]
        self._tls = ssl.create_default_context(cadata=_authority(cluster))
        self._counts: Counts = is_any
        self._last = 0
        self._act: Callable[[], None] = lambda: None
        #: what was answered of the kind that is counted
        self.passed: list[str] = []
        self._loop = asyncio.new_event_loop()
        self._ready, self._ended = threading.Event(), asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="toll")

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join()
        self._loop.close()

    def strike(self, counts: Counts, number: int, act: Callable[[], None]) -> None:
        """Begin to count anew; do this in place of the number-th answer; 0 for never."""
        self.passed = []
        self._counts, self._last, self._act = counts, number, act

    def read(self, path: str, *, method: str = "GET", patch: Any = None) -> Any:
        """What the server answers to whoever asks past the toll; a patch is a JSON merge patch."""
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/merge-patch+json"}
        data = None if patch is None else json.dumps(patch).encode()
        request = urllib.request.Request(  # noqa: S310 - the server is ours
            f"{self.server}{path}", data=data, headers=headers, method=method if patch is None else "PATCH"
        )
        with urllib.request.urlopen(request, timeout=30, context=self._tls) as answer:  # noqa: S310 - likewise
            return json.load(answer)

    def _run(self) -> None:
        self._loop.run_until_complete(self._serve())

    async def _serve(self) -> None:
        #: every connection, from whoever asks and to the server
        writers: list[asyncio.StreamWriter] = []
        async with asyncio.TaskGroup() as room:
            carrying: set[asyncio.Task[None]] = set()

            def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                writers.append(writer)
                if not self._ended.is_set():
                    opening = room.create_task(self._opened(writers))
                    task = room.create_task(self._carry(reader, writer, opening))
                    carrying.add(task)
                    task.add_done_callback(carrying.discard)

            listening = await asyncio.start_server(accept, "127.0.0.1", 0)
            self._write_config(listening.sockets[0].getsockname()[1])
            self._ready.set()
            await self._ended.wait()
            for task in tuple(carrying):
                task.cancel()
        while coming := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(coming)  # whoever is just let in when it closes would be let in half
        listening.close()
        for writer in writers:
            await _hung_up(writer)

    def _write_config(self, port: int) -> None:
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "toll", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
            "users": [{"name": "toll", "user": {}}],
            "contexts": [{"name": "toll", "context": {"cluster": "toll", "user": "toll"}}],
            "current-context": "toll",
        }
        self.kubeconfig.write_text(json.dumps(config))

    async def _opened(self, writers: list[asyncio.StreamWriter]) -> _Streams | None:
        """A connection to the server, if it answers."""
        address = urllib.parse.urlsplit(self.server)
        with suppress(OSError):
            opened = await asyncio.open_connection(address.hostname, address.port, ssl=self._tls)
            writers.append(opened[1])
            return opened
        return None

    async def _carry(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        opening: asyncio.Task[_Streams | None],
    ) -> None:
        """Carry one connection: requests come one after another, each when the last was answered."""
        try:
            # A handshake that is cancelled leaves its socket open: it is seen through.
            if opened := await asyncio.shield(opening):
                await self._carry_over(reader, writer, *opened)
        finally:
            await _hung_up(writer)  # whoever asked must not wait for an answer that nobody can give

    async def _carry_over(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        to: asyncio.StreamReader,
        out: asyncio.StreamWriter,
    ) -> None:
        line = _Line()
        try:
            async with asyncio.TaskGroup() as both:
                asking = both.create_task(self._ask(reader, out, line))
                with suppress(OSError):
                    await self._answer(to, writer, line)
                asking.cancel()
        finally:
            await _hung_up(out)

    async def _ask(self, reader: asyncio.StreamReader, out: asyncio.StreamWriter, line: _Line) -> None:
        with suppress(OSError):
            while chunk := await reader.read(_CHUNK):
                if not line.request:
                    first, rest = chunk.split(b"\r\n", 1)
                    line.request = first.decode()
                    chunk = first + f"\r\nAuthorization: Bearer {self._token}\r\n".encode() + rest
                out.write(chunk)
                await out.drain()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, line: _Line) -> None:
        while chunk := await reader.read(_CHUNK):
            request, line.request = line.request, ""
            if request and self._is_last(request):
                self._act()
                return
            writer.write(chunk)
            await writer.drain()

    def _is_last(self, request: str) -> bool:
        method, target, _ = request.split(" ")
        if not self._counts(method, target):
            return False
        self.passed.append(f"{method} {target}")
        return len(self.passed) == self._last


class _Line:
    """The request that is under way on a connection: its first line, empty between two requests."""

    def __init__(self) -> None:
        self.request = ""


async def _hung_up(writer: asyncio.StreamWriter) -> None:
    """End a connection now, and wait until its socket is closed: the loop may end right after."""
    writer.transport.abort()
    with suppress(OSError):
        await writer.wait_closed()


def _authority(cluster: dict[str, str]) -> str:
    if "certificate-authority-data" in cluster:
        return base64.b64decode(cluster["certificate-authority-data"]).decode()
    return Path(cluster["certificate-authority"]).read_text()
