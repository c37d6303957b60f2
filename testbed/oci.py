"""A registry of charts for tests, as much of the OCI distribution interface as `helm push` and `pull` use."""

from __future__ import annotations

import hashlib
import re
import secrets
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

PATH = re.compile(r"/v2/(?P<name>.+)/(?P<what>manifests|blobs|tags)/(?P<rest>.*)")


class Registry:
    """Keeps blobs by their digest and manifests by name and tag, in memory."""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}
        #: where blobs are said to be, if they are elsewhere
        self.elsewhere = ""
        #: by name, then by tag and by digest: media type and content
        self.manifests: dict[str, dict[str, tuple[str, bytes]]] = {}
        #: Authorization headers that open the door; None opens it to everybody
        self.welcome: set[str] | None = None
        #: where tokens are given out, if they are: a password then opens nothing else
        self.realm = ""
        self.tokens: set[str] = set()
        self.asked: list[str] = []
        self.host = ""

    async def answer(self, request: web.Request) -> web.Response:
        """Answer one request."""
        self.asked.append(f"{request.method} {request.path}")
        if request.path == "/token":
            return self._token(request)
        authorization = request.headers.get("Authorization", "")
        if self.welcome is not None and authorization not in (self.tokens if self.realm else self.welcome):
            wanted = f'Bearer realm="{self.realm}",service="charts"' if self.realm else 'Basic realm="charts"'
            return web.Response(status=401, headers={"WWW-Authenticate": wanted})
        if request.path == "/v2/":
            return web.Response()
        match = PATH.fullmatch(request.path)
        if match is None:
            return web.Response(status=404)
        if match["what"] == "tags":
            return self._tags(match["name"])
        if match["what"] == "manifests":
            return await self._manifest(request, match["name"], match["rest"])
        return await self._blob(request, match["name"], match["rest"])

    def _token(self, request: web.Request) -> web.Response:
        """A token for whoever is welcome, good for what is asked."""
        if self.welcome is not None and request.headers.get("Authorization", "") not in self.welcome:
            return web.Response(status=401)
        token = f"{request.query.get('scope', '')}-{secrets.token_hex(4)}"
        self.tokens.add(f"Bearer {token}")
        return web.json_response({"token": token})

    def _tags(self, name: str) -> web.Response:
        if not self.manifests.get(name):
            return web.Response(status=404)
        tags = [tag for tag in self.manifests[name] if not tag.startswith("sha256:")]
        return web.json_response({"name": name, "tags": tags})

    async def _manifest(self, request: web.Request, name: str, reference: str) -> web.Response:
        known = self.manifests.setdefault(name, {})
        if request.method == "PUT":
            kept = request.headers["Content-Type"], await request.read()
            digest = _digest(kept[1])
            known[reference] = known[digest] = kept
            return web.Response(status=201, headers={"Docker-Content-Digest": digest})
        if reference not in known:
            return web.Response(status=404)
        kind, content = known[reference]
        return web.Response(
            body=content, content_type=kind, headers={"Docker-Content-Digest": _digest(content)}
        )

    async def _blob(self, request: web.Request, name: str, rest: str) -> web.Response:
        if request.method == "POST":
            place = f"/v2/{name}/blobs/uploads/{secrets.token_hex(8)}"
            return web.Response(status=202, headers={"Location": place})
        if request.method == "PUT":
            content = await request.read()
            self.blobs[_digest(content)] = content
            return web.Response(status=201, headers={"Docker-Content-Digest": _digest(content)})
        if self.elsewhere:
            return web.Response(status=307, headers={"Location": self.elsewhere})
        if rest not in self.blobs:
            return web.Response(status=404)
        return web.Response(body=self.blobs[rest], content_type="application/octet-stream")


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


@asynccontextmanager
async def registry(tls: ssl.SSLContext) -> AsyncIterator[Registry]:
    """Run a registry for the length of the block."""
    serving = Registry()
    app = web.Application(client_max_size=1 << 26)
    app.router.add_route("*", "/{path:.*}", serving.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
        serving.host = f"127.0.0.1:{runner.addresses[0][1]}"
        yield serving
    finally:
        await runner.cleanup()
