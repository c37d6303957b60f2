"""Asks chart repositories and registries, through the one way out, within bounds.

A credential is shown to the server that it is for. Whoever that server sends us to is judged like any address
and is shown nothing, unless it gives out the tokens of a registry: then it is shown what the registry itself
could have asked for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from typing import Final
from urllib.parse import urljoin

import aiohttp
from msgspec import Struct, structs
from yarl import URL

from trimtab.errors import SourceRefused, Throttled, TrimtabError, Unavailable
from trimtab.settings import RepositoriesSettings
from trimtab.sources.charts.registries import Challenge, challenge_in, token_in, token_url
from trimtab.sources.charts.wishes import Access, WantedChart
from trimtab.sources.repositories.addresses import Address
from trimtab.sources.repositories.complaints import (
    CredentialRefused,
    Meaning,
    RepositoryMissing,
    with_word_of,
)
from trimtab.sources.repositories.credentials import Basic, Bearer, Credential, credential_for
from trimtab.sources.repositories.pointers import origin_of
from trimtab.sources.repositories.reaching import Gate
from trimtab.sources.repositories.webreach import authorization_of, line_to

_BLOCK: Final = 1 << 16
_MOST_REDIRECTS: Final = 3
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_REFUSED: Final = frozenset({401, 403, 407})
#: bytes that a token, a manifest or a page of tags may have
_LARGEST_WORDS: Final = 4 << 20


class Question(Struct, frozen=True):
    """What is asked, and how much and how long an answer may be waited for."""

    url: str
    headers: Mapping[str, str]
    most: int
    wall: timedelta
    #: whether the bytes are wanted as they are sent: some servers call an archive a packed answer
    as_sent: bool = False


class Answer(Struct, frozen=True, kw_only=True):
    """What a server said."""

    status: int
    headers: Mapping[str, str]
    #: how it wants to be shown who asks
    challenges: tuple[str, ...]
    content: bytes


class Conversation:
    """What is asked of one repository or registry for one consumer, one thing after the other."""

    def __init__(
        self, wanted: WantedChart, access: Access, gate: Gate, settings: RepositoriesSettings
    ) -> None:
        self._wanted = wanted
        self._access = access
        self._gate = gate
        self._settings = settings
        #: what the registry has been content with
        self._proof = ""

    async def words(self, url: str, headers: Mapping[str, str] | None = None) -> Answer:
        """A short answer, which has to come soon."""
        return await self._told(Question(url, headers or {}, _LARGEST_WORDS, self._settings.list_timeout))

    async def file(self, url: str, headers: Mapping[str, str] | None = None) -> Answer:
        """A file that may be as large as a chart may be."""
        most, wall = self._settings.largest_chart, self._settings.fetch_timeout
        return await self._told(Question(url, headers or {}, most, wall))

    async def archive(self, url: str) -> Answer:
        """The same, byte by byte as its digest means it, whatever the server says of how it is packed."""
        most, wall = self._settings.largest_chart, self._settings.fetch_timeout
        return await self._told(Question(url, {"Accept-Encoding": "identity"}, most, wall, as_sent=True))

    async def _told(self, question: Question) -> Answer:
        """The answer of a server that has one: other statuses than 200 and 304 are errors."""
        told = await self._asked(question)
        challenge = challenge_in(told.challenges) if told.status == 401 else None
        if challenge is not None and await self._prove(challenge):
            told = await self._asked(question)
        if told.status not in {200, 304}:
            raise self._error(told.status)
        return told

    async def _prove(self, challenge: Challenge) -> bool:
        """Get what the registry wants to be shown; whether there is something new to show."""
        if not self._access.is_registry or isinstance(self._access.credential.login, Bearer):
            return False
        if not challenge.is_bearer:
            self._proof = authorization_of(self._access.credential)
            return bool(self._proof)
        url = token_url(challenge, self._access.place.path.strip("/"), self._wanted.subject)
        login = self._access.credential.login
        proof = authorization_of(self._access.credential) if isinstance(login, Basic) else ""
        headers = {"Authorization": proof} if proof else {}
        told = await self._once(Question(url, headers, _LARGEST_WORDS, self._settings.list_timeout))
        if told.status != 200:
            raise self._error(told.status)
        self._proof = f"Bearer {token_in(told.content, self._wanted.subject)}"
        return True

    async def _asked(self, question: Question) -> Answer:
        """The answer, wherever it is said to be."""
        url = question.url
        for _ in range(_MOST_REDIRECTS + 1):
            headers = dict(question.headers) | self._shown_at(url, moved=url != question.url)
            told = await self._once(structs.replace(question, url=url, headers=headers))
            if told.status not in _REDIRECTS:
                return told if self._is_its_own(url) else structs.replace(told, challenges=())
            url = led(url, told.headers.get("Location", ""), self._wanted.subject)
        reason = "its server sends us round in circles"
        raise SourceRefused(self._wanted.subject, reason, "Look at the server")

    def _is_its_own(self, url: str) -> bool:
        """Whether an address is the server's own: whoever else answers has no say in who is shown what."""
        return origin_of(url, self._wanted.subject).origin == self._access.place.origin

    def _shown_at(self, url: str, *, moved: bool) -> dict[str, str]:
        """What proves who we are to the server that the credential is for.

        Another is told only if the index names it and the spec passes credentials on; who is redirected to,
        never.
        """
        access = self._access
        is_passed = self._wanted.pass_credentials and not access.is_registry and not moved
        if not self._is_its_own(url) and not is_passed:
            return {}
        if access.is_registry and not isinstance(access.credential.login, Bearer):
            return {"Authorization": self._proof} if self._proof else {}
        proof = authorization_of(access.credential)
        return {"Authorization": proof} if proof else {}

    async def _once(self, question: Question) -> Answer:
        there = origin_of(question.url, self._wanted.subject)
        try:
            async with (
                asyncio.timeout(question.wall.total_seconds()),
                line_to(there, self._credential_at(there), self._gate, self._settings) as line,
                line.session.get(
                    _url(question),
                    headers=question.headers,
                    allow_redirects=False,
                    auto_decompress=not question.as_sent,
                ) as response,
            ):
                return await self._answer(response, question.most)
        except aiohttp.ClientConnectorCertificateError as exc:
            reason = "the server's TLS certificate is not trusted"
            remedy = "Give the certificate of the authority that vouches for the server"
            raise SourceRefused(self._wanted.subject, reason, remedy) from exc
        except (aiohttp.ClientError, TimeoutError, ValueError) as exc:
            reason = f"its server cannot be reached ({type(exc).__name__})"
            raise Unavailable(self._wanted.subject, reason, "Look at the server and the network") from exc

    async def _answer(self, response: aiohttp.ClientResponse, most: int) -> Answer:
        return Answer(
            status=response.status,
            headers=response.headers.copy(),
            challenges=tuple(response.headers.getall("WWW-Authenticate", ())),
            content=await self._content(response, most) if response.status == 200 else b"",
        )

    def _credential_at(self, there: Address) -> Credential:
        """The credential for its own server; elsewhere only whom to trust there counts."""
        if there.origin == self._access.place.origin:
            return self._access.credential
        return Credential(trust=credential_for(there, self._wanted.credentials).trust)

    async def _content(self, response: aiohttp.ClientResponse, most: int) -> bytes:
        content = bytearray()
        async for block in response.content.iter_chunked(_BLOCK):
            content += block
            if len(content) > most:
                reason = f"its server sends more than {most >> 20} MiB"
                raise SourceRefused(self._wanted.subject, reason, "Look at the server")
        return bytes(content)

    def _error(self, status: int) -> TrimtabError:
        """What a server's status means; its words are its own affair."""
        subject, words = self._wanted.subject, f"it answered with status {status}"
        if status in _REFUSED:
            reason = f"{Meaning.REFUSED.value} ({words})"
            refused = CredentialRefused(subject, reason, "Give a credential that may read it")
            return with_word_of(refused, self._access.name)
        if status == 404:
            reason = f"there is no such thing, or it is not shown to this credential ({words})"
            missing = RepositoryMissing(
                subject, reason, "Mend the address, or give a credential that may read it"
            )
            return with_word_of(missing, self._access.name)
        if status == 429:
            return Throttled(subject, f"the server asks for a pause ({words})", "It is asked again later")
        return Unavailable(subject, f"the server fails ({words})", "It is asked again later")


def led(url: str, to: str, subject: str) -> str:
    """Where a link that a server names leads, from the address at which it was named."""
    try:
        return urljoin(url, to)
    except ValueError as exc:
        raise SourceRefused(subject, "its server names a link that may not be followed") from exc


def _url(question: Question) -> URL:
    """The address as it was told: links that are signed are good in one spelling alone."""
    return URL(question.url, encoded=question.url.isascii() and " " not in question.url)
