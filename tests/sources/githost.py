"""A Git host inside the test's own event loop: it serves honestly, counts, and lies on request."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeAlias

from aiohttp import web
from msgspec import Struct

from tests.sources.upstream import ENVIRONMENT

#: answers in the host's stead, or leaves it to the host by None
Lie: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse | None]]
REFS = "application/x-git-upload-pack-advertisement"
PACK = "application/x-git-upload-pack-result"


class Asked(Struct, frozen=True):
    """One request."""

    what: str  # info, ls-refs or fetch
    path: str
    authorization: str
    host: str


def basic_header(user: str, password: str) -> str:
    return f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"


class GitHost:
    """Serves the bare repositories of one folder by smart HTTP."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.log: list[Asked] = []
        #: Authorization headers that open the door; None opens it to everybody
        self.welcome: set[str] | None = None
        self.lie: Lie | None = None
        self.url = ""
        self._asked = asyncio.Event()

    def count(self, what: str) -> int:
        """How often something was asked."""
        return sum(asked.what == what for asked in self.log)

    def fetches(self) -> int:
        """How many fetches were made: each run of git asks for info once, and only a listing for refs."""
        return self.count("info") - self.count("ls-refs")

    async def until(self, what: str, times: int) -> None:
        """Wait until something was asked so often."""
        async with asyncio.timeout(60):
            while self.count(what) < times:
                self._asked.clear()
                await self._asked.wait()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Answer one request, honestly unless a lie is set."""
        body = await request.read()
        what = next((word for word in ("ls-refs", "fetch") if f"command={word}".encode() in body), "info")
        headers = request.headers
        authorization = headers.get("Authorization", "")
        self.log.append(Asked(what, request.path, authorization, headers.get("Host", "")))
        self._asked.set()
        lied = await self.lie(request) if self.lie else None
        if lied is not None:
            return lied
        if self.welcome is not None and authorization not in self.welcome:
            return web.Response(status=401, headers={"WWW-Authenticate": 'Basic realm="tests"'})
        return await self._honest(request, body)

    async def _honest(self, request: web.Request, body: bytes) -> web.Response:
        name, _, service = request.path.lstrip("/").partition(".git/")
        repository = self.root / f"{name}.git"
        if not repository.exists():
            return web.Response(status=404)
        protocol = request.headers.get("Git-Protocol", "")
        if service == "info/refs":
            said = await _upload_pack(repository, protocol, b"", "--http-backend-info-refs")
            return web.Response(body=b"001e# service=git-upload-pack\n0000" + said, content_type=REFS)
        return web.Response(body=await _upload_pack(repository, protocol, body), content_type=PACK)


async def _upload_pack(repository: Path, protocol: str, body: bytes, *more: str) -> bytes:
    process = await asyncio.create_subprocess_exec(
        *("git", "upload-pack", "--stateless-rpc", *more, str(repository)),
        env={**ENVIRONMENT, "GIT_PROTOCOL": protocol},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    said, _ = await process.communicate(body)
    return said


@asynccontextmanager
async def git_host(
    root: Path, *, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1"
) -> AsyncIterator[GitHost]:
    """Run a Git host for the length of the block."""
    serving = GitHost(root)
    app = web.Application(client_max_size=1 << 26)
    app.router.add_route("*", "/{path:.*}", serving.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, 0, ssl_context=tls).start()
        scheme = "https" if tls else "http"
        serving.url = f"{scheme}://{host}:{runner.addresses[0][1]}"
        yield serving
    finally:
        await runner.cleanup()
