"""A gateway in front of an API server that does to requests, at random, all that overloaded servers do.

A request is told to come again, refused, cut before it is done or afterwards, answered by half, or never
answered; and from time to time the server is away for a whole number of requests. What comes is decided by a
seed and the number of the request, so a storm can be had again.
"""

from __future__ import annotations

import asyncio
import enum
import random
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import aiohttp
from aiohttp import web
from yarl import URL

_HOP_BY_HOP = frozenset({"host", "content-length", "transfer-encoding", "content-encoding", "connection"})


class Fate(enum.Enum):
    """What becomes of one request."""

    PASSES = "passes"
    LATER = "429"
    DOWN = "503"
    CUT_BEFORE = "cut before it is done"
    CUT_AFTER = "cut after it is done"
    HALVED = "half an answer"
    SILENT = "done, and never answered"


_TROUBLES = (Fate.LATER, Fate.DOWN, Fate.CUT_BEFORE, Fate.CUT_AFTER, Fate.HALVED)
_AWAY = (Fate.DOWN, Fate.CUT_BEFORE)


class Storm:
    """Decides the fates; `share` of all requests meet trouble, and every so often all of them for a while."""

    def __init__(self, seed: int, *, share: float, silent: float, away_every: int, away_for: int) -> None:
        self._chance = random.Random(seed)
        self._share, self._silent = share, silent
        self._away_every, self._away_for = away_every, away_for
        self._requests = 0
        self.met: Counter[Fate] = Counter()

    def fate(self) -> Fate:
        self._requests += 1
        fate = self._decided()
        self.met[fate] += 1
        return fate

    def _decided(self) -> Fate:
        if self._requests % self._away_every >= self._away_every - self._away_for:
            return self._chance.choice(_AWAY)
        drawn = self._chance.random()
        if drawn < self._silent:
            return Fate.SILENT
        return self._chance.choice(_TROUBLES) if drawn < self._share else Fate.PASSES


class _Gateway:
    def __init__(self, server: str, tls: ssl.SSLContext, away: aiohttp.ClientSession, storm: Storm) -> None:
        self._server, self._tls, self._away, self._storm = server, tls, away, storm
        self.over = asyncio.Event()

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        fate = self._storm.fate()
        match fate:
            case Fate.LATER:
                return _refusal(429, {"Retry-After": "0"})
            case Fate.DOWN:
                return _refusal(503, {})
            case Fate.CUT_BEFORE:
                return _cut(request)
            case _:
                return await self._passed_on(request, fate)

    async def _passed_on(self, request: web.BaseRequest, fate: Fate) -> web.StreamResponse:
        headers = _passed(request.headers)
        url = URL(self._server + request.raw_path, encoded=True)
        body = await request.read()
        async with self._away.request(
            request.method, url, data=body or None, headers=headers, ssl=self._tls
        ) as answer:
            kept = _passed(answer.headers)
            if request.query.get("watch") in {"true", "1"}:
                return await _streamed(request, answer, kept, cut=fate is not Fate.PASSES)
            whole = await answer.read()
            if fate is Fate.CUT_AFTER:
                return _cut(request)
            if fate is Fate.SILENT:
                await self.over.wait()
            if fate is Fate.HALVED:
                return await _halved(request, answer.status, kept, whole)
            return web.Response(status=answer.status, headers=kept, body=whole)


def _passed(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: told for name, told in headers.items() if name.lower() not in _HOP_BY_HOP}


async def _streamed(
    request: web.BaseRequest, answer: aiohttp.ClientResponse, headers: dict[str, str], *, cut: bool
) -> web.StreamResponse:
    """A watch; one that meets trouble is cut in the middle of the first thing it tells."""
    response = web.StreamResponse(status=answer.status, headers=headers)
    await response.prepare(request)
    async for piece in answer.content.iter_any():
        await response.write(piece[: len(piece) // 2] if cut else piece)
        if cut:
            return _cut(request)
    return response


async def _halved(
    request: web.BaseRequest, status: int, headers: dict[str, str], whole: bytes
) -> web.StreamResponse:
    response = web.StreamResponse(status=status, headers=headers)
    response.content_length = len(whole)
    await response.prepare(request)
    await response.write(whole[: len(whole) // 2])
    return _cut(request)


def _cut(request: web.BaseRequest) -> web.StreamResponse:
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


def _refusal(code: int, headers: dict[str, str]) -> web.StreamResponse:
    body = {"kind": "Status", "status": "Failure", "message": "there is a storm", "code": code}
    return web.json_response(body, status=code, headers=headers)


@asynccontextmanager
async def stormy(server: str, tls: ssl.SSLContext, storm: Storm) -> AsyncIterator[str]:
    """The address of a gateway to a server, with a storm in between, for the length of the block."""
    async with aiohttp.ClientSession(auto_decompress=True) as away:
        gateway = _Gateway(server, tls, away, storm)
        server_side = web.Server(gateway.answer, handler_cancellation=True, access_log=None)
        runner = web.ServerRunner(server_side, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        try:
            yield f"http://127.0.0.1:{runner.addresses[0][1]}"
        finally:
            gateway.over.set()
            await runner.cleanup()
