"""Where an app comes from, and how the engine gets its manifests: sources behind the engine's role."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Struct

from trimtab.app.standby import on_standby
from trimtab.errors import Conflict, Damaged, InvalidSpec
from trimtab.resources.manifests import Found
from trimtab.settings import RepositoriesSettings, Settings
from trimtab.sources import ChartOrigin, CredentialFile, FolderOrigin, Renderer, Request, RevisionOrigin
from trimtab.sources.charts.wishes import Brought, ChartRevision, WantedChart
from trimtab.sources.rendering.rendered import Rendered
from trimtab.sources.rendering.specs import Capabilities, SourceSpec
from trimtab.sources.repositories.credentials import Belonging
from trimtab.sources.repositories.revisions import Revision, Wanted

if TYPE_CHECKING:
    from trimtab.engine.units import Generated, SyncUnit
    from trimtab.sources import Charts, Repositories

#: how the revision of a folder begins, which has no commits: the digest of what it renders to follows
_FILES: Final = "files:"
#: the cluster at hand, as records name it
HERE: Final = "here"
#: what charts are told when no cluster is at hand: what helm itself assumes
ASSUMED: Final = Capabilities()


class AppSource(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A folder of the machine at hand, or a repository and what of it; and how manifests are made of it.

    With a chart in its spec, the repository is one of charts: https://… or oci://….
    """

    folder: str = ""
    repo_url: str = msgspec.field(default="", name="repoURL")
    target_revision: str = "HEAD"
    spec: SourceSpec = SourceSpec()

    def __str__(self) -> str:
        chart = f"chart {self.spec.chart} of " if self.spec.chart else ""
        place = self.folder or f"{chart}{self.repo_url} at {self.target_revision}"
        return f"{place}, {self.spec.path}" if self.spec.path else place


def source_of(unit: SyncUnit) -> AppSource:
    """The source that a unit's record names."""
    return source_in(unit.source, f"app {unit.id}")


def source_in(record: Any, subject: str = "history") -> AppSource:
    """The source that a record holds."""
    try:
        return msgspec.convert(record, AppSource)
    except msgspec.ValidationError as error:
        raise InvalidSpec(subject, f"its source cannot be read: {error}", "Sync it anew") from error


def recorded(source: AppSource) -> dict[str, Any]:
    """The source as a unit's record holds it."""
    built: dict[str, Any] = msgspec.to_builtins(source)
    return built


@asynccontextmanager
async def open_manifests(settings: Settings, *, path: str) -> AsyncIterator[SourceManifests]:
    """Get ready to make manifests; `path` is where outside programs are looked for first."""

    def repositories() -> Repositories:
        from trimtab.sources import Repositories  # a folder needs none, nor what they need

        return Repositories(settings.repositories, path=path)

    async with (
        on_standby(repositories) as standby,
        on_standby(lambda: _charts(settings.repositories)) as charts,
        Renderer(
            settings.rendering,
            settings.programs,
            path=path,
            bases=_bringing(standby.get),
            charts=_bringing_charts(charts.get),
        ) as renderer,
    ):
        yield SourceManifests(renderer, standby.get, charts.get, Wishes(settings.repositories), ASSUMED)


def _checked_out(folder: Path, target: str) -> tuple[RevisionOrigin, str]:
    """The files of a folder as a revision of its repository has them, and the commit."""
    from trimtab.sources.checkouts import revision_in  # few folders are asked for their past

    revision, below = revision_in(folder, target)
    return RevisionOrigin(revision=revision, below=below), revision.commit


def _bringing(reach: Callable[[], Awaitable[Repositories]]) -> Callable[[Wanted], Awaitable[Revision]]:
    """Fetches what is wanted, with repositories that are opened for the first who wants something."""

    async def bring(wanted: Wanted) -> Revision:
        return await (await reach()).fetch(wanted)

    return bring


def _bringing_charts(
    reach: Callable[[], Awaitable[Charts]],
) -> Callable[[WantedChart], Awaitable[Brought]]:
    """The same for charts that others need."""

    async def bring(wanted: WantedChart) -> Brought:
        return await (await reach()).bring(wanted)

    return bring


def _charts(settings: RepositoriesSettings) -> Charts:
    from trimtab.sources import Charts  # which few sources need

    return Charts(settings)


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


class _Made(Struct, frozen=True, kw_only=True):
    """What a request came to."""

    request: Request
    #: names all that it was made from
    key: str
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

    def learn(self, capabilities: Capabilities) -> None:
        """Have charts told this of the cluster from now on."""
        self._capabilities = capabilities

    def use_key(self, key: bytes) -> None:
        """Name what is rendered from now on by this key, as others do who have it."""
        self._renderer.use_key(key)

    async def get_ready(self) -> None:
        """Have a worker start that the first render would else have to wait for."""
        await self._renderer.get_ready()

    async def generate(self, unit: SyncUnit, revision: str, *, no_cache: bool = False) -> Generated:
        """The manifests of the unit's source, at a revision or the one that the source names."""
        del no_cache  # a render's key names all it was made from: there is nothing to mistrust
        source = source_of(unit)
        tree, commit = await self._tree(unit.id, source, revision)
        request = Request(
            name=unit.id,
            namespace=unit.destination.namespace,
            spec=source.spec,
            tree=tree,
            capabilities=await self._capabilities_for(unit),
            credentials=self._wishes.credentials(),
        )
        try:
            made = await self._kept(request) or await self._made(request, commit)
        except Damaged:
            if not isinstance(tree, RevisionOrigin):
                raise
            await self._mend(source, tree.revision)
            made = await self._made(request, commit)
        if revision.startswith(_FILES) and revision != made.revision:
            reason = f"its folder no longer holds what was agreed to, {revision}"
            raise Conflict(f"app {unit.id}", reason, "Sync it anew, or put the files back")
        return made

    async def _kept(self, request: Request) -> Generated | None:
        """What was made last, if it is what this request would come to."""
        last = self._last
        if last is None or last.request != request:
            return None
        (key,) = await self._renderer.keys((request,))
        return last.generated if key == last.key else None

    async def _made(self, request: Request, commit: str) -> Generated:
        # Rendering begins before the engine is imported.
        from trimtab.engine.units import Generated

        rendered = await self._renderer.render(request)
        self._note(request.name, request.tree, rendered)
        generated = Generated(
            manifests=tuple(Found(manifest=each.manifest(), where=each.where) for each in rendered.manifests),
            revision=commit or f"{_FILES}{rendered.digest[:12]}",
            digest=rendered.digest,
            warnings=rendered.warnings,
        )
        self._last = _Made(request=request, key=rendered.key, generated=generated)
        return generated

    async def _tree(
        self, unit_id: str, source: AppSource, revision: str
    ) -> tuple[FolderOrigin | RevisionOrigin | ChartOrigin, str]:
        """The files, and the commit or version they are of; a folder as it is has none."""
        if source.folder and (not revision or revision.startswith(_FILES)):
            return FolderOrigin(path=source.folder), ""
        if source.folder:
            return await asyncio.to_thread(_checked_out, Path(source.folder), revision)
        if source.spec.chart:
            if source.spec.path:
                raise InvalidSpec(f"app {unit_id}", "a chart has no path", "Name a chart or a path")
            wanted = self._wishes.chart(source, revision or source.target_revision)
            chart = await self._chart(unit_id, wanted)
            return ChartOrigin(revision=chart), chart.version
        found = await self._fetched(unit_id, source, revision)
        return RevisionOrigin(revision=found), found.commit

    async def _chart(self, _unit_id: str, wanted: WantedChart) -> ChartRevision:
        """The version of a chart that is wanted."""
        return await (await self._charts()).fetch(wanted)

    async def _fetched(self, _unit_id: str, source: AppSource, revision: str) -> Revision:
        """The revision that is wanted."""
        wanted = self._wishes.of(source.repo_url, revision or source.target_revision)
        return await (await self._reach()).fetch(wanted)

    async def _mend(self, source: AppSource, revision: Revision) -> None:
        """Have a mirror made anew that lacks something of a revision, unless somebody was faster."""
        wanted = self._wishes.of(source.repo_url, revision.commit)
        await (await self._reach()).mend(wanted, revision)

    async def _capabilities_for(self, _unit: SyncUnit) -> Capabilities:
        """What charts are told of the unit's cluster."""
        return self._capabilities

    def _note(
        self, unit_id: str, tree: FolderOrigin | RevisionOrigin | ChartOrigin, rendered: Rendered
    ) -> None:
        """Hear what a render has read; whoever follows commits wants to know."""
