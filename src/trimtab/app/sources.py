"""How the engine gets the manifests of apps: sources behind the engine's role; `appsources` says which."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from msgspec import Struct, structs

from trimtab.app.appsources import (
    AppSource,
    check_sources,
    follower_of,
    is_commit,
    joined,
    lent_to,
    revisions_in,
    sources_of,
    unit_behind,
)
from trimtab.app.standby import on_standby
from trimtab.errors import Conflict, Damaged, InvalidSpec, TrimtabError, Unavailable
from trimtab.programs import Tell, silently
from trimtab.resources.manifests import Found
from trimtab.settings import RepositoriesSettings, Settings
from trimtab.sources import ChartOrigin, CredentialFile, FolderOrigin, Renderer, Request, RevisionOrigin
from trimtab.sources.charts.offers import is_exact
from trimtab.sources.charts.wishes import Brought, ChartRevision, WantedChart
from trimtab.sources.rendering.rendered import Rendered
from trimtab.sources.rendering.specs import Capabilities
from trimtab.sources.repositories.credentials import Belonging
from trimtab.sources.repositories.revisions import Revision, Wanted
from trimtab.tasks import WorkerProcesses, plain_group

if TYPE_CHECKING:
    from trimtab.engine.units import Generated, SyncUnit
    from trimtab.sources import Charts, Repositories

_T = TypeVar("_T")
#: how the revision of a folder begins, which has no commits: the digest of what it renders to follows
_FILES: Final = "files:"
#: what charts are told when no cluster is at hand: what helm itself assumes
ASSUMED: Final = Capabilities()


@asynccontextmanager
async def open_manifests(
    settings: Settings, *, path: str, tell: Tell = silently, workers: WorkerProcesses | None = None
) -> AsyncIterator[SourceManifests]:
    """Get ready to make manifests.

    `path` is where outside programs are looked for first; `tell` hears of those that have to be fetched.
    `workers` may have been started before, and are ended here.
    """

    def repositories() -> Repositories:
        from trimtab.sources import Repositories  # a folder needs none, nor what they need

        return Repositories(settings.repositories, path=path)

    async with (
        on_standby(repositories) as standby,
        on_standby(lambda: _charts(settings)) as charts,
        Renderer(
            settings.rendering,
            settings.programs,
            path=path,
            bases=_bringing(standby.get),
            charts=_bringing_charts(charts.get),
            tell=tell,
            workers=workers,
        ) as renderer,
    ):
        yield SourceManifests(renderer, standby.get, charts.get, Wishes(settings.repositories), ASSUMED)


async def _checked_out(folder: Path, target: str) -> tuple[RevisionOrigin, str]:
    """The files of a folder as a revision of its repository has them, and the commit."""
    from trimtab.sources.checkouts import revision_in  # few folders are asked for their past

    revision, below = await asyncio.to_thread(revision_in, folder, target)
    return RevisionOrigin(revision=revision, below=below), revision.commit


def _bringing(reach: Callable[[], Awaitable[Repositories]]) -> Callable[[Wanted], Awaitable[Revision]]:
    """Fetches what is wanted, with repositories that are opened for the first who wants something."""

    async def bring(wanted: Wanted) -> Revision:
        return (await _fetched_or_kept(await reach(), wanted))[0]

    return bring


def _bringing_charts(
    reach: Callable[[], Awaitable[Charts]],
) -> Callable[[WantedChart], Awaitable[Brought]]:
    """The same for charts that others need."""

    async def bring(wanted: WantedChart) -> Brought:
        return await _brought_or_kept(await reach(), wanted)

    return bring


async def _fetched_or_kept(repositories: Repositories, wanted: Wanted) -> tuple[Revision, str]:
    """The revision that is wanted, and what to say of it.

    While its server is out of reach, a commit that was fetched before will do: it is what it was. What a
    branch, a tag or a range means by now is nobody's to guess.
    """
    try:
        return await repositories.fetch(wanted), ""
    except Unavailable as error:
        kept = repositories.recall(wanted, wanted.target) if is_commit(wanted.target) else None
        if kept is None:
            raise
        return kept, f"{error} The commit is taken as it was fetched before."


async def _brought_or_kept(charts: Charts, wanted: WantedChart) -> Brought:
    """The same for charts: one exact version that was fetched before will do."""
    if is_exact(wanted.target):
        return await charts.bring(wanted)
    return Brought(revision=await charts.fetch(wanted))


def _charts(settings: Settings) -> Charts:
    from trimtab.sources import Charts, key_in  # which few sources need

    return Charts(settings.repositories, key=key_in(Path(settings.rendering.key).expanduser()))


class Wishes:
    """What sources want of repositories, by the rights of whoever runs us."""

    def __init__(self, settings: RepositoriesSettings) -> None:
        self._file = CredentialFile(settings)
        self._lfs, self._submodules = settings.lfs, settings.submodules

    def credentials(self) -> tuple[Belonging, ...]:
        """The credentials as their file holds them now."""
        return self._file.belongings()

    def of(self, url: str, target: str) -> Wanted:
        """The wish for a revision of a repository."""
        return Wanted(
            url=url,
            target=target,
            credentials=self.credentials(),
            lfs=self._lfs,
            submodules=self._submodules,
        )

    def chart(self, source: AppSource, target: str) -> WantedChart:
        """The wish for a version of a chart."""
        helm = source.spec.helm
        return WantedChart(
            url=source.repo_url,
            name=source.spec.chart,
            target=target,
            credentials=self.credentials(),
            pass_credentials=helm is not None and helm.pass_credentials,
        )


class _Read(Struct, frozen=True):
    """A source with its files, and the commit or version they are of; a folder as it is has none."""

    source: AppSource
    tree: FolderOrigin | RevisionOrigin | ChartOrigin
    commit: str


class _Made(Struct, frozen=True, kw_only=True):
    """What requests came to."""

    #: a source that lends to nobody is in no request
    read: tuple[_Read, ...]
    requests: tuple[Request, ...]
    #: name all that it was made from
    keys: tuple[str, ...]
    generated: Generated


class SourceManifests:
    """Makes manifests of folders and repositories.

    What was made last is kept: asked for it again, only whether it would come out the same is found out.
    """

    def __init__(
        self,
        renderer: Renderer,
        reach: Callable[[], Awaitable[Repositories]],
        charts: Callable[[], Awaitable[Charts]],
        wishes: Wishes,
        capabilities: Capabilities,
    ) -> None:
        self._renderer = renderer
        self._reach = reach
        self._charts = charts
        self._wishes = wishes
        self._capabilities = capabilities
        self._last: _Made | None = None
        #: for each unit, why some followers are given what was fetched before
        self._stale: dict[str, dict[str, str]] = {}

    def learn(self, capabilities: Capabilities) -> None:
        """Have charts told this of the cluster from now on."""
        self._capabilities = capabilities

    @property
    def own_key(self) -> bytes:
        """The machine's own key, by which renders are named until another is to be used."""
        return self._renderer.own_key

    def use_key(self, key: bytes) -> None:
        """Name what is rendered from now on by this key, as others do who have it."""
        self._renderer.use_key(key)

    async def generate(self, unit: SyncUnit, revision: str, *, no_cache: bool = False) -> Generated:
        """The manifests of the unit's sources, at a revision or those that the sources name."""
        del no_cache  # a render's key names all it was made from: there is nothing to mistrust
        sources, subject = sources_of(unit), f"app {unit.id}"
        check_sources(sources, subject)
        asked = revisions_in(revision, sources, subject)
        self._stale.pop(unit.id, None)
        read = await _together(
            self._read(follower_of(unit.id, number), source, wanted)
            for number, (source, wanted) in enumerate(zip(sources.entries, asked, strict=True))
        )
        requests = await self._requests(unit, read)
        try:
            made = await self._kept(read, requests) or await self._made(read, requests)
        except Damaged:
            if not await self._mend_all(read):
                raise
            made = await self._made(read, requests)
        _check_agreed(asked, revisions_in(made.revision, sources, subject), subject)
        stale = self._stale.pop(unit.id, {})
        reasons = (stale[each] for each in sorted(stale, key=lambda it: (len(it), it)))
        return structs.replace(made, warnings=(*made.warnings, *reasons)) if stale else made

    def _note_stale(self, follower: str, reason: str) -> None:
        """Say why a source is given what was fetched before."""
        self._stale.setdefault(unit_behind(follower), {})[follower] = reason

    async def _requests(self, unit: SyncUnit, read: Sequence[_Read]) -> tuple[Request, ...]:
        """What has to be rendered: each source that is more than a lender, with the files that it borrows."""
        lenders = {each.source.ref: each.tree for each in read if each.source.ref}
        capabilities, credentials = await self._capabilities_for(unit), self._wishes.credentials()
        return tuple(
            Request(
                name=unit.id,
                namespace=unit.destination.namespace,
                spec=each.source.spec,
                tree=each.tree,
                refs={ref: lenders[ref] for ref in lent_to(each.source.spec)},
                capabilities=capabilities,
                credentials=credentials,
            )
            for each in read
            if each.source.renders
        )

    async def _kept(self, read: tuple[_Read, ...], requests: tuple[Request, ...]) -> Generated | None:
        """What was made last, if it is what these requests would come to."""
        last = self._last
        if last is None or (last.read, last.requests) != (read, requests):
            return None
        return last.generated if await self._renderer.keys(requests) == last.keys else None

    async def _made(self, read: tuple[_Read, ...], requests: tuple[Request, ...]) -> Generated:
        # Rendering begins before the engine is imported.
        from trimtab.engine.units import Generated

        rendered = await _together(self._renderer.render(request) for request in requests)
        self._note(requests, rendered)
        whole = _digest(rendered)
        generated = Generated(
            manifests=tuple(_found(read, rendered)),
            revision=joined(_revisions(read, rendered, whole)),
            digest=whole,
            warnings=tuple(dict.fromkeys(warning for each in rendered for warning in each.warnings)),
        )
        keys = tuple(each.key for each in rendered)
        self._last = _Made(read=read, requests=requests, keys=keys, generated=generated)
        return generated

    async def _read(self, follower: str, source: AppSource, revision: str) -> _Read:
        """The files of a source at a revision, or the one that it names."""
        if source.folder and (not revision or revision.startswith(_FILES)):
            return _Read(source, FolderOrigin(path=source.folder), "")
        if source.folder:
            tree, commit = await _checked_out(Path(source.folder), revision)
            return _Read(source, tree, commit)
        if source.spec.chart:
            if source.spec.path:
                subject = f"app {unit_behind(follower)}"
                raise InvalidSpec(subject, "a chart has no path", "Name a chart or a path")
            wanted = self._wishes.chart(source, revision or source.target_revision)
            chart = await self._chart(follower, wanted)
            return _Read(source, ChartOrigin(revision=chart), chart.version)
        found = await self._fetched(follower, source, revision)
        return _Read(source, RevisionOrigin(revision=found), found.commit)

    async def _chart(self, follower: str, wanted: WantedChart) -> ChartRevision:
        """The version of a chart that is wanted."""
        brought = await _brought_or_kept(await self._charts(), wanted)
        if brought.warning:
            self._note_stale(follower, brought.warning)
        return brought.revision

    async def _fetched(self, follower: str, source: AppSource, revision: str) -> Revision:
        """The revision that is wanted."""
        wanted = self._wishes.of(source.repo_url, revision or source.target_revision)
        found, reason = await _fetched_or_kept(await self._reach(), wanted)
        if reason:
            self._note_stale(follower, reason)
        return found

    async def _mend_all(self, read: Sequence[_Read]) -> bool:
        """Have the mirrors made anew that lack something; whether there are any that could."""
        mirrored = [(each.source, each.tree) for each in read if isinstance(each.tree, RevisionOrigin)]
        for source, tree in mirrored:
            await self._mend(source, tree.revision)
        return bool(mirrored)

    async def _mend(self, source: AppSource, revision: Revision) -> None:
        """Have a mirror made anew that lacks something of a revision, unless somebody was faster."""
        wanted = self._wishes.of(source.repo_url, revision.commit)
        await (await self._reach()).mend(wanted, revision)

    async def _capabilities_for(self, _unit: SyncUnit) -> Capabilities:
        """What charts are told of the unit's cluster."""
        return self._capabilities

    def _note(self, requests: Sequence[Request], rendered: Sequence[Rendered]) -> None:
        """Hear what renders have read; whoever follows commits wants to know."""


async def _together(works: Iterable[Coroutine[Any, Any, _T]]) -> tuple[_T, ...]:
    """What all of them come to; of several errors that of the first, so that the same trouble says the same.

    How much is done at once is bounded by those who do it.
    """
    async with plain_group() as group:
        tasks = [group.create_task(_ended(each)) for each in works]
    found: list[_T] = []
    for task in tasks:
        outcome = task.result()
        if isinstance(outcome, TrimtabError):
            raise outcome
        found.append(outcome)
    return tuple(found)


async def _ended(work: Coroutine[Any, Any, _T]) -> _T | TrimtabError:
    try:
        return await work
    except TrimtabError as error:
        return error


def _digest(rendered: Sequence[Rendered]) -> str:
    """Names all manifests together."""
    from trimtab.resources.digests import digest  # which few apps need

    return rendered[0].digest if len(rendered) == 1 else digest([each.digest for each in rendered])


def _found(read: Sequence[_Read], rendered: Sequence[Rendered]) -> Iterator[Found]:
    """All manifests; where several sources are rendered, each says which of them it came from."""
    numbers = [number for number, each in enumerate(read, 1) if each.source.renders]
    for number, each in zip(numbers, rendered, strict=True):
        place = f" of source {number}" if len(rendered) > 1 else ""
        for made in each.manifests:
            yield Found(manifest=made.manifest(), where=f"{made.where}{place}")


def _revisions(read: Sequence[_Read], rendered: Sequence[Rendered], whole: str) -> Iterator[str]:
    """The revision of each source: a folder's is the digest of what it renders to, or helps to render."""
    left = iter(rendered)
    for each in read:
        made = next(left).digest if each.source.renders else whole
        yield each.commit or f"{_FILES}{made[:12]}"


def _check_agreed(asked: Sequence[str], found: Sequence[str], subject: str) -> None:
    """Return if folders hold what they were asked for."""
    for wanted, revision in zip(asked, found, strict=True):
        if wanted.startswith(_FILES) and wanted != revision:
            reason = f"its folder no longer holds what was agreed to, {wanted}"
            raise Conflict(subject, reason, "Sync it anew, or put the files back")
