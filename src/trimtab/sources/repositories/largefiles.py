"""Fetches files that a repository keeps in Git LFS, and keeps them beside its mirror.

The batch interface is spoken directly: it is one question and one download for each file, every byte is
proven by the pointer, and another program would have to be trusted with the credential, the network and the
repository's own configuration. The credential of the repository is shown to its own server alone; wherever
else that server sends us is judged like any address, and is told only what the server gave us to say there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import urljoin

import aiohttp
from msgspec import Struct, structs

from trimtab.errors import GitUnreachable, SourceRefused, TrimtabError
from trimtab.settings import RepositoriesSettings
from trimtab.sources.repositories.addresses import Address
from trimtab.sources.repositories.complaints import Meaning, error_of
from trimtab.sources.repositories.credentials import Belonging, Credential, credential_for
from trimtab.sources.repositories.largestore import LargeStore
from trimtab.sources.repositories.pointers import (
    AT_ONCE,
    MEDIA_TYPE,
    Download,
    Pointer,
    downloads_in,
    origin_of,
    question,
)
from trimtab.sources.repositories.reaching import Gate
from trimtab.sources.repositories.webreach import Line, line_to
from trimtab.tasks import plain_group

_BLOCK: Final = 1 << 16
_LARGEST_ANSWER: Final = 4 << 20
_DOWNLOADS_AT_ONCE: Final = 4
_MOST_REDIRECTS: Final = 3
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_MEANINGS: Final = {
    401: Meaning.REFUSED,
    403: Meaning.REFUSED,
    404: Meaning.NO_REPOSITORY,
    407: Meaning.REFUSED,
    429: Meaning.THROTTLED,
}


class LargeServer(Struct, frozen=True, kw_only=True):
    """The server that keeps the files of one repository, for one consumer."""

    endpoint: Address
    repository: Address
    #: what is shown to this server, beside what it gave us itself to say
    credential: Credential
    headers: Mapping[str, str] = {}
    #: all that the consumer has; what of it says whom to trust counts at other servers, too
    known: tuple[Belonging, ...] = ()

    @property
    def subject(self) -> str:
        """Whom a message is about."""
        return f"Git LFS of {self.repository}"

    def trust_at(self, address: Address) -> Credential:
        """A credential for another server: it proves nothing, and only says whom to trust there."""
        return Credential(trust=credential_for(address, self.known).trust)


def large_server(
    repository: Address, endpoint: Address, credential: Credential, known: tuple[Belonging, ...]
) -> LargeServer:
    """The server that keeps a repository's files; one that is reached another way gets its own credential."""
    if endpoint.origin != repository.origin:
        there = structs.replace(endpoint, path=f"/{repository.path.strip('/')}")
        credential = credential_for(there, known)
    return LargeServer(endpoint=endpoint, repository=repository, credential=credential, known=known)


class LargeFiles:
    """Brings files from servers of Git LFS."""

    def __init__(self, settings: RepositoriesSettings, gate: Gate) -> None:
        """Take the operator's limits, and the one way out."""
        self._settings = settings
        self._gate = gate

    async def bring(self, store: LargeStore, pointers: Iterable[Pointer], server: LargeServer) -> None:
        """Bring the files that are not here; those that the server lacks stay away."""
        wanted = sorted({each for each in pointers if not store.has(each)})
        self._check_size(wanted, server)
        for start in range(0, len(wanted), AT_ONCE):
            try:
                await self._bring_batch(store, tuple(wanted[start : start + AT_ONCE]), server)
            except (aiohttp.ClientError, TimeoutError) as exc:
                reason = f"its server cannot be reached ({type(exc).__name__})"
                raise GitUnreachable(server.subject, reason, "Look at the server and the network") from exc

    def _check_size(self, wanted: Iterable[Pointer], server: LargeServer) -> None:
        most = self._settings.largest_fetch
        if sum(each.size for each in wanted) > most:
            reason = f"its files have more than {most >> 20} MiB together"
            remedy = "Keep what is not deployed elsewhere, or raise repositories.largest_fetch"
            raise SourceRefused(server.subject, reason, remedy)

    async def _bring_batch(self, store: LargeStore, batch: tuple[Pointer, ...], server: LargeServer) -> None:
        async with line_to(server.endpoint, server.credential, self._gate, self._settings) as line:
            answer = await self._asked(line, batch, server)
            turns = asyncio.Semaphore(_DOWNLOADS_AT_ONCE)
            async with plain_group() as group:
                for download in downloads_in(answer, batch, server.subject):
                    group.create_task(self._download(store, download, line, server, turns))

    async def _asked(self, line: Line, batch: tuple[Pointer, ...], server: LargeServer) -> bytes:
        headers = {"Accept": MEDIA_TYPE, "Content-Type": MEDIA_TYPE} | _shown(line, server)
        url = f"{server.endpoint.url}/objects/batch"
        request = line.session.post(url, data=question(batch), headers=headers, allow_redirects=False)
        async with request as response:
            if response.status != 200:
                raise _refusal(response, server)
            answer = bytearray()
            async for block in response.content.iter_chunked(_BLOCK):
                answer += block
                if len(answer) > _LARGEST_ANSWER:
                    raise SourceRefused(server.subject, "its server says more than anybody can mean")
        return bytes(answer)

    async def _download(
        self, store: LargeStore, download: Download, line: Line, server: LargeServer, turns: asyncio.Semaphore
    ) -> None:
        """Fetch one file, over the line that is open if it lies there, and prove it."""
        async with turns:
            for _ in range(_MOST_REDIRECTS + 1):
                there = origin_of(download.href, server.subject)
                if there.origin == server.endpoint.origin:
                    extra = {} if download.says_who else _shown(line, server)
                    moved = await _fetched(store, download, line, extra, server)
                else:
                    trust = server.trust_at(there)
                    async with line_to(there, trust, self._gate, self._settings) as other:
                        moved = await _fetched(store, download, other, {}, server)
                if not moved:
                    return
                # What the server gave us to say was for the place that it named, not for the next one.
                download = structs.replace(download, href=moved, headers={})
            raise SourceRefused(server.subject, "its server sends us round in circles", "Look at the server")


async def _fetched(
    store: LargeStore, download: Download, line: Line, extra: Mapping[str, str], server: LargeServer
) -> str:
    """Keep the file if it is the right one; where else it is said to be, if it is elsewhere."""
    headers = {"Accept-Encoding": "identity", **download.headers, **extra}
    async with line.session.get(download.href, headers=headers, allow_redirects=False) as response:
        if response.status in _REDIRECTS and "Location" in response.headers:
            return urljoin(download.href, response.headers["Location"])
        if response.status != 200:
            raise _refusal(response, server)
        await _kept(store, download.pointer, response.content, server)
    return ""


async def _kept(
    store: LargeStore, pointer: Pointer, content: aiohttp.StreamReader, server: LargeServer
) -> None:
    """Take in at most as much as the pointer says; then it is proven and kept, away from the loop."""
    taken = bytearray()
    async for block in content.iter_chunked(_BLOCK):
        taken += block
        if len(taken) > pointer.size:
            break
    if not await asyncio.to_thread(store.keep, pointer, bytes(taken)):
        reason = f"its server sent another file than {pointer.oid[:12]}…, which the repository names"
        raise SourceRefused(server.subject, reason, "Have the file pushed anew")


def _refusal(response: aiohttp.ClientResponse, server: LargeServer) -> TrimtabError:
    """What a server's status means; its words are its own affair."""
    meaning = _MEANINGS.get(response.status, Meaning.UNREACHABLE)
    if response.status in _REDIRECTS:
        meaning = Meaning.REDIRECT
    return error_of(meaning, server.subject, f"error: it answered with status {response.status}")


def _shown(line: Line, server: LargeServer) -> dict[str, str]:
    """What proves who we are to the server itself."""
    own = {"Authorization": line.authorization} if line.authorization else {}
    return own | dict(server.headers)
