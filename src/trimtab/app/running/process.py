"""A runner as a process: from settings to a runner that is served, until somebody asks it to end.

It can be asked how it is before the cluster with its records answers. SIGTERM and SIGINT end it in order:
engines stop, leases are let go, and what was under way goes on wherever the next runner is.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from trimtab.app.appsources import HERE
from trimtab.app.installation import Installation, find_installation, record_installation
from trimtab.app.running.clusters import Clusters, Connect, named
from trimtab.app.running.declaring import Declarations, follow_folder, follow_repository
from trimtab.app.running.events import AnyEvent, HomeUnreachable, Stopping, complaint_in
from trimtab.app.running.figures import RunnerFigures
from trimtab.app.running.following import Commits, FollowedManifests, TimedManifests, keep_credentials
from trimtab.app.running.runner import Home, Runner
from trimtab.app.running.serving import questions, secret_files, served, webhooks
from trimtab.app.running.showing import status_json, unready
from trimtab.app.running.versions import Versions
from trimtab.app.sources import Wishes
from trimtab.app.unitfiles import Origin
from trimtab.errors import Conflict, Unavailable
from trimtab.kube.cluster import Cluster
from trimtab.settings import Settings
from trimtab.sources import Charts, Renderer, Repositories
from trimtab.sources.hints.changes import Change
from trimtab.tasks import Clock, SystemClock, plain_group, run_together
from trimtab.tasks.loops import hear_complaints

_AGAIN = 5.0


class Process(Struct, frozen=True, kw_only=True):
    """What a runner is started with."""

    #: how each cluster is reached; `here` has the records
    connections: Mapping[str, Connect]
    settings: Settings
    #: where outside programs are looked for first
    path: str
    #: the name of this one process to all others
    me: str
    #: where unit files are kept, if units are declared in files
    origin: Origin | None
    tell: Callable[[AnyEvent], None]
    #: what is counted; connections may tell it of their requests
    figures: RunnerFigures = field(default_factory=RunnerFigures)
    clock: Clock = SystemClock()


class _View:
    """What can be asked, from the first moment on."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self.runner: Runner | None = None
        self.commits: Commits | None = None

    def unready(self) -> tuple[str, ...]:
        """What is missing before the runner does its work."""
        if self.runner is None:
            return ("the records have not been found yet",)
        declarations = self.runner.declarations
        declared = declarations is None or declarations.current is not None
        return unready(self.runner.stands(), declared=declared)

    def status(self) -> Callable[[], dict[str, Any]]:
        """How everything stands now, to be written down in a thread."""
        stands = self.runner.stands() if self.runner is not None else ()
        declarations = self.runner.declarations if self.runner is not None else None
        units = [unit.id for each in stands for unit in each.units]
        commits = self.commits
        problems = {unit_id: commits.problem(unit_id) for unit_id in units} if commits is not None else {}
        return partial(
            status_json,
            self._process.me,
            stands,
            problems,
            declared_in=str(self._process.origin or ""),
            trouble=declarations.trouble if declarations is not None else "",
            refused=dict(declarations.refused) if declarations is not None else {},
        )

    def figures(self) -> Callable[[], bytes]:
        """The metrics of now, to be written down in a thread."""
        return self._process.figures.reading(self.runner.metrics() if self.runner is not None else {})

    def look(self, unit_id: str) -> None:
        """Have a unit looked at soon."""
        if self.runner is not None:
            self.runner.look(unit_id)

    def hint(self, change: Change) -> int:
        """Look soon at what has changed; nobody follows anything before the runner is there."""
        return self.commits.hint(change) if self.commits is not None else 0


async def keep_running(process: Process) -> None:
    """Run until a signal asks to end."""
    process = replace(process, tell=_both(process.figures.tell, process.tell))
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    hear_complaints(loop, lambda context: process.tell(complaint_in(context, process.clock.now())))
    for asked in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(asked, stop.set)
    async with plain_group() as group:
        running = group.create_task(_run(process))
        await stop.wait()
        process.tell(Stopping(at=process.clock.now()))
        running.cancel()


def _both(
    first: Callable[[AnyEvent], None], second: Callable[[AnyEvent], None]
) -> Callable[[AnyEvent], None]:
    def tell(event: AnyEvent) -> None:
        first(event)
        second(event)

    return tell


async def _run(process: Process) -> None:
    view, clock, tell = _View(process), process.clock, process.tell
    settings = process.settings.runner
    agreed = named(settings.webhook_secrets, "setting runner.webhook_secrets", "HOST=FILE")
    files = secret_files(agreed)
    async with AsyncExitStack() as stack:
        asked = served(questions(view), settings.listen, "probes, metrics and status", clock=clock, tell=tell)
        await stack.enter_async_context(asked)
        if files:
            hooks = webhooks(files, view.hint, clock=clock, tell=tell)
            await stack.enter_async_context(
                served(hooks, settings.webhooks, "webhooks", clock=clock, tell=tell)
            )
        home = await stack.enter_async_context(process.connections[HERE]())
        installation = await _installed(process, home)
        async with _loops(process, view, home, installation) as loops:
            await run_together(*loops)


async def _installed(process: Process, home: Cluster) -> Installation:
    """The installation, recorded; a cluster that does not answer is asked again."""
    while True:
        try:
            found = await find_installation(home, process.settings.apps.namespace)
            return await record_installation(home, found)
        except (Unavailable, Conflict) as error:
            process.tell(HomeUnreachable(at=process.clock.now(), reason=str(error)))
        await process.clock.sleep(_AGAIN)


@asynccontextmanager
async def _loops(
    process: Process, view: _View, home: Cluster, installation: Installation
) -> AsyncIterator[list[Coroutine[Any, Any, None]]]:
    """All that runs side by side."""
    settings, clock, tell = process.settings, process.clock, process.tell
    clusters = Clusters(process.connections, namespaces=settings.runner.namespaces, clock=clock)
    async with (
        Repositories(settings.repositories, path=process.path, told=process.figures.git) as repositories,
        Charts(settings.repositories, key=installation.rendering_key) as charts,
        Renderer(
            settings.rendering,
            settings.programs,
            path=process.path,
            bases=repositories.fetch,
            charts=charts.bring,
        ) as renderer,
    ):
        renderer.use_key(installation.rendering_key)
        wishes = Wishes(settings.repositories)
        versions = Versions(
            charts.fetch, wishes, settings.repositories, clock=clock, look=view.look, tell=tell
        )
        commits = Commits(repositories, renderer, wishes, versions, clock=clock, look=view.look, tell=tell)
        followed = FollowedManifests(renderer, repositories, charts, wishes, commits, clusters.capabilities)
        manifests = TimedManifests(followed, process.figures.rendered, clock)
        declarations = _declarations(process)
        view.commits = commits
        view.runner = Runner(
            Home(cluster=home, installation=installation, me=process.me),
            clusters,
            manifests,
            commits,
            settings,
            clock=clock,
            tell=tell,
            declarations=declarations,
        )
        every = settings.runner.look_every
        renewing = keep_credentials(repositories, wishes, every=every, clock=clock)
        loops = [view.runner.run(), commits.run(), versions.run(), renewing]
        if declarations is not None:
            loops.append(_followed(process, declarations, repositories, wishes))
        yield loops


def _declarations(process: Process) -> Declarations | None:
    if process.origin is None:
        return None
    return Declarations(process.origin, clock=process.clock, tell=process.tell)


async def _followed(
    process: Process, declarations: Declarations, repositories: Repositories, wishes: Wishes
) -> None:
    if declarations.origin.folder:
        every = process.settings.runner.look_every
        await follow_folder(declarations, every=every, clock=process.clock)
    else:
        await follow_repository(declarations, repositories, wishes)
