"""Charts by their names: finds the version that is wanted, and has its archive on the shelf.

What a repository offers is asked for once for all who have the same credential, and remembered as long as
what a Git remote offers. Nothing is asked before somebody wants a chart, and no archive is fetched twice.
What each wish was last given is noted, for whoever goes on while a repository is out of reach.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from contextlib import AsyncExitStack, suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Final, Self
from urllib.parse import urljoin

import msgspec
from msgspec import Struct, structs

from trimtab.errors import SourceRefused, Unavailable
from trimtab.resources.sealing import KEY_SIZE, NONCE_SIZE
from trimtab.settings import RepositoriesSettings
from trimtab.sources.charts import jobs
from trimtab.sources.charts.asking import Conversation, led
from trimtab.sources.charts.offers import Offer, is_exact
from trimtab.sources.charts.registries import (
    MANIFEST_TYPE,
    layer_in,
    next_page,
    tag_of,
    tags_in,
    version_of_tag,
)
from trimtab.sources.charts.shelf import Shelf
from trimtab.sources.charts.wishes import (
    OCI,
    Access,
    Brought,
    ChartRevision,
    WantedChart,
    access_of,
    in_registry,
)
from trimtab.sources.rendering.sealing import Seal
from trimtab.sources.repositories.complaints import RepositoryMissing, RevisionMissing
from trimtab.sources.repositories.credentials import fingerprint, trust_digest
from trimtab.sources.repositories.flights import Flights
from trimtab.sources.repositories.reaching import Gate
from trimtab.tasks import Clock, PoolPolicy, SystemClock, WorkerProcesses, plain_group

#: bytes that a note may have
_LARGEST_NOTE = 1 << 20
#: pages of tags that a registry may tell
_MOST_PAGES = 64
#: and the tags of one chart
_MOST_TAGS = 100_000
_REVISION: Final = msgspec.msgpack.Decoder(ChartRevision)
_CHOSEN: Final = msgspec.msgpack.Decoder(jobs.Chosen)


class _Index(Struct, frozen=True, kw_only=True):
    """What a chart repository offered when it was last asked."""

    at: float
    #: what the server calls this state of it, so that it need not be sent again
    tag: str
    offers: dict[str, bytes]


class _Found(Struct, frozen=True, kw_only=True):
    """The version that a target meant in a registry when it was last asked."""

    at: float
    offer: Offer


class _Unnamed(Struct, frozen=True, kw_only=True):
    """The archive that was fetched when its repository named none by a digest."""

    at: float
    digest: str


class _Noted(Struct, frozen=True, kw_only=True):
    """What was noted of a wish, and when."""

    at: float
    revision: ChartRevision


class Charts:
    """All charts of this process: `async with Charts(settings) as charts:`."""

    def __init__(
        self,
        settings: RepositoriesSettings,
        *,
        clock: Clock | None = None,
        gate: Gate | None = None,
        key: bytes | None = None,
    ) -> None:
        """Take the settings; nothing is opened yet.

        With a key, what was given is noted; whoever has the same key and credential can `recall` it.
        """
        self._settings = settings
        self._clock = clock or SystemClock()
        self._gate = gate or Gate(settings)
        folder, most = Path(settings.folder).expanduser(), settings.largest_mirror
        self._shelf = Shelf(folder, keep=settings.keep_revisions, most=most)
        self._takes_notes = key is not None
        self._key = key or secrets.token_bytes(KEY_SIZE)
        self._seal = Seal(self._key)
        self._indexes: dict[tuple[str, str], _Index] = {}
        self._found: dict[tuple[str, str, str], _Found] = {}
        self._unnamed: dict[tuple[str, str, Offer], _Unnamed] = {}
        self._noted: dict[str, _Noted] = {}
        self._pool = WorkerProcesses(PoolPolicy(size=1, memory_limit=settings.memory))
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        """Get ready."""
        await self._stack.enter_async_context(self._pool)
        self._flights = Flights(await self._stack.enter_async_context(plain_group()))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End everything that is under way."""
        self._flights.cancel()
        await self._stack.aclose()

    async def fetch(self, wanted: WantedChart, *, fresh: bool = False) -> ChartRevision:
        """The chart that is wanted, with its archive on the shelf.

        What the repository offers is known from the last look, if that is younger than the usual interval;
        `fresh` asks in any case.
        """
        access = access_of(wanted)
        found = await self._wanted(wanted, access, fresh=fresh)
        for target in {wanted.target, found.version}:
            await self._note(structs.replace(wanted, target=target), access, found)
        return found

    async def bring(self, wanted: WantedChart) -> Brought:
        """The same; or what was given last, and why, while the repository is out of reach."""
        try:
            return Brought(revision=await self.fetch(wanted))
        except Unavailable as error:
            last = self.recall(wanted)
            if last is None:
                raise
            return Brought(revision=last, warning=f"{error} Version {last.version} stays in force.")

    def recall(self, wanted: WantedChart) -> ChartRevision | None:
        """What was last given for a wish and a credential, by whichever process; asks nobody."""
        if not self._takes_notes:
            return None
        access = access_of(wanted)
        name = self._name(wanted, access)
        note = self._shelf.note(self._shelf_of(wanted, access), name)
        content = None if note is None else self._seal.opened(name, note, _LARGEST_NOTE)
        if content is None:
            return None
        found = _REVISION.decode(content)
        if not access.is_registry and found.url.startswith(OCI):  # who opened the index need not open that
            return self.recall(structs.replace(wanted, url=found.url, name=found.name, target=found.version))
        return found if self._shelf.keeps(Path(found.archive), now=self._clock.now()) else None

    async def _wanted(self, wanted: WantedChart, access: Access, *, fresh: bool) -> ChartRevision:
        talk = Conversation(wanted, access, self._gate, self._settings)
        find = self._in_registry if access.is_registry else self._in_repository
        offer = await find(wanted, access, talk, fresh=fresh)
        if offer.url.startswith(OCI):  # an index may send us to a registry
            return await self.fetch(in_registry(wanted, offer.url), fresh=fresh)
        digest, archive = await self._archive(wanted, access, talk, offer)
        return ChartRevision(
            url=wanted.url,
            name=wanted.name,
            version=offer.version,
            digest=digest,
            archive=str(archive),
            largest=self._settings.largest_chart,
        )

    async def _note(self, wanted: WantedChart, access: Access, found: ChartRevision) -> None:
        """Note what a wish was given; that the disk is full must not cost what was found."""
        name = self._name(wanted, access)
        known = self._noted.get(name)
        is_known = known is not None and known.revision == found and self._is_young(known.at)
        if is_known or not self._takes_notes:
            return
        note = self._seal.sealed(name, msgspec.msgpack.encode(found), secrets.token_bytes(NONCE_SIZE))
        shelf = self._shelf_of(wanted, access)
        with suppress(Unavailable):
            await asyncio.to_thread(self._shelf.put_note, shelf, name, note)
            self._noted[name] = _Noted(at=self._clock.monotonic(), revision=found)

    def _name(self, wanted: WantedChart, access: Access) -> str:
        """Names a wish and whose it is."""
        return self._seal.name([wanted.url, wanted.name, wanted.target, self._who(access)])

    # --- which version -----------------------------------------------------------------------------------

    async def _in_repository(
        self, wanted: WantedChart, access: Access, talk: Conversation, *, fresh: bool
    ) -> Offer:
        """The version that is meant in the index of a chart repository."""
        key = access.place.identity, self._who(access)
        known = self._indexes.get(key)
        if fresh or known is None or not self._is_young(known.at):
            known = await self._flights.join(("index", key), partial(self._index, wanted, access, talk, key))
        if wanted.name not in known.offers:
            raise RepositoryMissing(wanted.subject, "the repository has no chart of this name", "Mend it")
        return await self._chosen(wanted, known.offers[wanted.name])

    async def _chosen(self, wanted: WantedChart, offers: bytes) -> Offer:
        choice = jobs.Choice(subject=wanted.subject, target=wanted.target, offers=offers)
        told = await self._worked(jobs.choose, choice)
        found = _CHOSEN.decode(told)
        if found.offer is None:
            reason = f"none of its {found.versions} versions is {wanted.target or 'a release'}"
            raise RevisionMissing(wanted.subject, reason, "Name another version or range")
        return found.offer

    async def _index(
        self, wanted: WantedChart, access: Access, talk: Conversation, key: tuple[str, str]
    ) -> _Index:
        """Ask a chart repository what it offers, unless it says that this is what it was."""
        known, most = self._indexes.get(key), self._settings.largest_chart
        headers = {"If-None-Match": known.tag} if known and known.tag else {}
        told = await talk.file(access.place.url, headers)
        if told.status == 304 and known is not None:
            found = structs.replace(known, at=self._clock.monotonic())
        else:
            read = jobs.Text(subject=wanted.subject, name="index.yaml", content=told.content, most=most)
            offers = jobs.index_in(await self._worked(jobs.read_index, read))
            tag = told.headers.get("ETag", "")
            tag = tag if tag.isascii() and tag.isprintable() else ""
            found = _Index(at=self._clock.monotonic(), tag=tag, offers=offers)
        self._forget()
        self._indexes[key] = found
        return found

    async def _in_registry(
        self, wanted: WantedChart, access: Access, talk: Conversation, *, fresh: bool
    ) -> Offer:
        """The version that is meant in a registry."""
        key = access.place.identity, self._who(access), wanted.target
        known = self._found.get(key)
        if fresh or known is None or not self._is_young(known.at):
            known = await self._flights.join(("tag", key), partial(self._tagged, wanted, access, talk))
            self._forget()
            self._found[key] = known
        return known.offer

    async def _tagged(self, wanted: WantedChart, access: Access, talk: Conversation) -> _Found:
        version = wanted.target
        if not is_exact(version):
            tags = await self._tags(wanted, access, talk)
            offers = [Offer(version=version_of_tag(tag), url="") for tag in tags]
            version = (await self._chosen(wanted, msgspec.msgpack.encode(offers))).version
        url = _registry_url(access, f"manifests/{tag_of(version)}")
        try:
            told = await talk.words(url, {"Accept": MANIFEST_TYPE})
        except RepositoryMissing as error:
            raise RevisionMissing(error.subject, error.reason, "Mend the version, or the address") from error
        layer = layer_in(told.content, wanted.subject)
        self._check_size(layer.size, wanted)
        offer = Offer(
            version=version, url=_registry_url(access, f"blobs/sha256:{layer.digest}"), digest=layer.digest
        )
        return _Found(at=self._clock.monotonic(), offer=offer)

    async def _tags(self, wanted: WantedChart, access: Access, talk: Conversation) -> list[str]:
        """All tags that a registry tells, page by page."""
        first = url = _registry_url(access, "tags/list")
        tags: list[str] = []
        for _ in range(_MOST_PAGES):
            told = await talk.words(url)
            tags += tags_in(told.content, wanted.subject)
            more = next_page(told.headers)
            if len(tags) > _MOST_TAGS:
                break
            if not more:
                return tags
            url = led(first, more, wanted.subject)
        raise SourceRefused(wanted.subject, "its registry never stops telling tags", "Look at the registry")

    def _who(self, access: Access) -> str:
        """Who asks: two may have the same credential from different places, and each hears of his own."""
        return f"{fingerprint(access.credential, self._key)} {access.name}"

    def _is_young(self, at: float) -> bool:
        return self._clock.monotonic() - at < self._settings.poll_every.total_seconds()

    def _forget(self) -> None:
        """Forget what was told so long ago that nobody can have wanted it lately."""
        long_ago = self._clock.monotonic() - self._settings.access_lasts.total_seconds()
        self._indexes = {key: each for key, each in self._indexes.items() if each.at > long_ago}
        self._found = {key: each for key, each in self._found.items() if each.at > long_ago}
        self._unnamed = {key: each for key, each in self._unnamed.items() if each.at > long_ago}
        self._noted = {name: each for name, each in self._noted.items() if each.at > long_ago}

    # --- its archive -------------------------------------------------------------------------------------

    async def _archive(
        self, wanted: WantedChart, access: Access, talk: Conversation, offer: Offer
    ) -> tuple[str, Path]:
        """The digest of an archive and its place; one with a known digest may be on the shelf already."""
        shelf = self._shelf_of(wanted, access)
        key = shelf, self._who(access), offer
        last = self._unnamed.get(key)
        digest = offer.digest or (last.digest if last and self._is_young(last.at) else "")
        here = self._shelf.find(shelf, digest, now=self._clock.now()) if digest else None
        if here is not None:
            return digest, here
        fetched = await self._flights.join(key, partial(self._fetched, wanted, access, talk, offer))
        if not offer.digest:
            self._unnamed[key] = _Unnamed(at=self._clock.monotonic(), digest=fetched[0])
        return fetched

    async def _fetched(
        self, wanted: WantedChart, access: Access, talk: Conversation, offer: Offer
    ) -> tuple[str, Path]:
        """Fetch an archive, prove it, look through it, and keep it."""
        most = self._settings.largest_chart
        told = await talk.archive(led(access.place.url, offer.url, wanted.subject))
        digest = hashlib.sha256(told.content).hexdigest()
        if offer.digest not in {"", digest}:
            reason = f"the archive of {offer.version} is not the one that the repository names"
            raise SourceRefused(wanted.subject, reason, "Have it published anew")
        name = f"{wanted.name}-{offer.version}.tgz"
        text = jobs.Text(subject=wanted.subject, name=name, content=told.content, most=most)
        await self._worked(jobs.check_archive, text)
        shelf = self._shelf_of(wanted, access)
        return digest, await asyncio.to_thread(self._shelf.put, shelf, told.content, now=self._clock.now())

    def _shelf_of(self, wanted: WantedChart, access: Access) -> str:
        """Whose archives may be taken: of the same repository, told by servers that are trusted alike.

        Where the credential goes to other hosts, too, nobody knows what it opens there: that is its own.
        """
        passed = fingerprint(access.credential, self._key) if wanted.pass_credentials else ""
        return f"{access.place.identity} {trust_digest(access.credential.trust)} {passed}".rstrip()

    def _check_size(self, size: int, wanted: WantedChart) -> None:
        most = self._settings.largest_chart
        if size > most:
            reason = f"its archive has more than {most >> 20} MiB"
            raise SourceRefused(wanted.subject, reason, "Raise repositories.largest_chart")

    async def _worked(self, function: jobs.Function, told: jobs.Text | jobs.Choice) -> bytes:
        payload = msgspec.msgpack.encode(told)
        return await self._pool.run(function, payload, deadline=self._settings.list_timeout)


def _registry_url(access: Access, what: str) -> str:
    place = access.place
    return urljoin(place.url, f"/v2{place.path}/{what}")
