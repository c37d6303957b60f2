"""A server of Git LFS for tests, to be put in front of a Git host: the batch interface and the files."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable

from aiohttp import web
from msgspec import Struct

BATCH = "/info/lfs/objects/batch"
FILES = "/lfs-files/"
MEDIA_TYPE = "application/vnd.git-lfs+json"


class Seen(Struct, frozen=True):
    """One request: what it was for, and how whoever asked proved who they are."""

    what: str  # batch or file
    authorization: str
    ticket: str = ""


class LfsServer:
    """Keeps files by their SHA-256, and tells those who are welcome where they are."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.seen: list[Seen] = []
        #: Authorization headers that open the door; None opens it to everybody
        self.welcome: set[str] | None = None
        #: where files are said to be; this server itself if empty
        self.elsewhere = ""
        #: what whoever fetches a file is told to say there
        self.headers: dict[str, str] = {}
        #: answers in place of this server, or leaves it to the server by None
        self.lie: Callable[[web.Request], Awaitable[web.StreamResponse | None]] | None = None

    def keep(self, content: bytes) -> str:
        """Keep a file; the pointer that a repository has in its place."""
        oid = hashlib.sha256(content).hexdigest()
        self.files[oid] = content
        return f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {len(content)}\n"

    async def answer(self, request: web.Request) -> web.StreamResponse | None:
        """The answer to a request of LFS; None for what is Git's own."""
        authorization = request.headers.get("Authorization", "")
        if request.path.endswith(BATCH):
            self.seen.append(Seen("batch", authorization))
        elif request.path.startswith(FILES):
            self.seen.append(Seen("file", authorization, request.headers.get("X-Ticket", "")))
        else:
            return None
        lied = await self.lie(request) if self.lie else None
        if lied is not None:
            return lied
        if self.welcome is not None and authorization not in self.welcome:
            return web.Response(status=401)
        if request.path.endswith(BATCH):
            return await self._batch(request)
        content = self.files.get(request.path.removeprefix(FILES))
        return web.Response(status=404) if content is None else web.Response(body=content)

    async def _batch(self, request: web.Request) -> web.Response:
        asked = await request.json()
        told = [self._told(each["oid"], each["size"], str(request.url.origin())) for each in asked["objects"]]
        return web.json_response({"transfer": "basic", "objects": told}, content_type=MEDIA_TYPE)

    def _told(self, oid: str, size: int, here: str) -> dict[str, object]:
        if oid not in self.files:
            return {"oid": oid, "size": size, "error": {"code": 404, "message": "it is not here"}}
        download = {"href": f"{self.elsewhere or here}{FILES}{oid}?signed=yes", "header": self.headers}
        return {"oid": oid, "size": size, "actions": {"download": download}}
