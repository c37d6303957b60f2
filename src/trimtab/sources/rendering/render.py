"""Renders sources: asks worker processes, runs the programs they call for, never twice for the same thing.

The loop here only moves values. What is rendered follows from the trees, the spec, the tool and the cluster's
capabilities alone, so an answer that is known is given again as long as those say the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeAlias

import msgspec
from msgspec import Struct, structs

from trimtab.errors import RenderFailed, SourceRefused, TrimtabError, Unavailable
from trimtab.programs import (
    Finished,
    Launches,
    Limits,
    Program,
    ProgramStopped,
    Tell,
    Walls,
    find,
    limits_of,
    run,
    silently,
    walls,
)
from trimtab.programs.handover import Namespaces
from trimtab.settings import ProgramsSettings, RenderingSettings
from trimtab.sources.charts.wishes import Brought, WantedChart
from trimtab.sources.rendering import batches, sandbox, work
from trimtab.sources.rendering.cleaning import cleaned
from trimtab.sources.rendering.dependencies import Dependency
from trimtab.sources.rendering.jobs import Bounds, Job, ProgramName
from trimtab.sources.rendering.looking import MAIN
from trimtab.sources.rendering.origins import (
    AnyOrigin,
    ArchiveOrigin,
    Origin,
    RevisionOrigin,
    reads_large_files,
)
from trimtab.sources.rendering.rendered import Rendered
from trimtab.sources.rendering.sandbox import PrivateFolders
from trimtab.sources.rendering.sharing import Member, Sharing
from trimtab.sources.rendering.specs import Capabilities, SourceSpec
from trimtab.sources.rendering.store import key_in
from trimtab.sources.rendering.workers import workers_for
from trimtab.sources.repositories.credentials import Belonging
from trimtab.sources.repositories.revisions import Revision, Wanted
from trimtab.tasks import WorkerProcesses, plain_group

_ENCODER = msgspec.msgpack.Encoder()
_PREPARED: msgspec.msgpack.Decoder[work.Prepared] = msgspec.msgpack.Decoder(work.Prepared)


#: fetches a revision of a repository, for whoever may read it
Bring: TypeAlias = Callable[[Wanted], Awaitable[Revision]]
#: fetches a version of a chart, for whoever may read it
BringChart: TypeAlias = Callable[[WantedChart], Awaitable[Brought]]
#: repositories that the bases of one render may lie in
_MOST_BASES: Final = 32
#: charts that are fetched at once for one render, so that none of its servers is asked for all at once
_CHARTS_AT_ONCE: Final = 4
_NAMES: Final = msgspec.msgpack.Decoder(tuple[str, ...])
_ANSWER: Final = msgspec.msgpack.Decoder(work.Answer)


class Request(Struct, frozen=True, kw_only=True):
    """One source to render, at one revision."""

    #: the app; a release is called like it unless the spec says otherwise
    name: str
    #: where its objects go
    namespace: str
    spec: SourceSpec
    tree: Origin
    #: the trees of sources with a `ref`, which values files may come from
    refs: Mapping[str, Origin] = {}
    capabilities: Capabilities = Capabilities()
    #: the credentials that its charts and bases may be fetched with, from addresses that the operator allows
    credentials: tuple[Belonging, ...] = ()


class _Fetched:
    """What has been fetched for one render, beside what it was asked to render."""

    def __init__(self) -> None:
        #: bases and charts, by the names that they have in the render
        self.trees: dict[str, AnyOrigin] = {}
        self.warnings: list[str] = []


class Renderer:
    """Renders requests; enter it to use it, leave it to end its workers and remove its folders."""

    def __init__(
        self,
        settings: RenderingSettings,
        programs: ProgramsSettings,
        *,
        path: str,
        namespaces: Namespaces = "auto",
        bases: Bring | None = None,
        charts: BringChart | None = None,
        tell: Tell = silently,
        workers: WorkerProcesses | None = None,
    ) -> None:
        """`path` is where programs are looked for; `bases` fetches remote bases, `charts` dependencies.

        `tell` hears how far a program has come that is fetched. `workers` may have been started before.
        """
        self._tell = tell
        self._bring = bases
        self._bring_chart = charts
        self._namespaces = namespaces
        self._settings = settings
        self._programs = programs
        self._path = path
        #: the machine's own key, by which renders are named and sealed until another is used
        self.own_key = key_in(Path(settings.key).expanduser())
        self._keeping = work.Keeping(
            folder=str(Path(settings.cache).expanduser()), key=self.own_key, budget=settings.cache_size
        )
        self._bounds = Bounds(files=settings.source_files, bytes=settings.source_size)
        self._folders = PrivateFolders(sandbox.folder_for(settings))
        self._pool = workers or workers_for(settings)
        self._turns = asyncio.Semaphore(settings.concurrency)
        # Whoever is let in may keep a filled folder while it waits for others to share a process with.
        self._places = asyncio.Semaphore(settings.concurrency * settings.together)
        self._sharing = Sharing(self._turns, most=settings.together, ride=self._ride)
        self._found: dict[str, Program] = {}
        self._under_way: dict[bytes, asyncio.Event] = {}
        self._launches = Launches()
        self._possible: Walls | None = None
        #: seconds of processor time that programs have taken, all together
        self.spent = 0.0
        #: renders that came out of a process which they shared with others
        self.shared = 0
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self._folders.open)
        self._stack.push_async_callback(asyncio.to_thread, self._folders.close)
        await self._stack.enter_async_context(self._pool)
        self._stack.push_async_exit(self._launches)  # which opens when the first program is run
        self._possible = await self.walls() if self._settings.required_walls else None
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    def use_key(self, key: bytes) -> None:
        """Name and seal renders by this key from now on, instead of the machine's own.

        Digests are keyed, so that nobody guesses secrets by them: whoever is to find the same digests on
        several machines needs the same key there.
        """
        self._keeping = structs.replace(self._keeping, key=key)

    async def render(self, request: Request) -> Rendered:
        """The manifests; a render that fails is an error that says what to edit, never an empty result."""
        fetched = _Fetched()
        async with self._alone(request):
            answer = await self._answer(request, fetched)
        if answer.failure is not None:
            raise work.error_of(answer.failure)
        if answer.rendered is None:
            raise RenderFailed(request.name, "the render has no result", "Remove the render cache")
        warnings = (*answer.rendered.warnings, *fetched.warnings)
        return structs.replace(answer.rendered, warnings=warnings)

    async def keys(self, requests: Sequence[Request]) -> tuple[str, ...]:
        """For each request the key of its answer if that is known, else an empty text; renders nothing."""
        payload = _ENCODER.encode([self._task(request) for request in requests])
        told = await self._pool.run(work.known_keys, payload, deadline=self._programs.wall)
        return _NAMES.decode(told)

    async def changed(self, old: Origin, new: Origin) -> tuple[str, ...]:
        """The paths that differ between two trees; `affected.Readers` knows whom they concern."""
        payload = _ENCODER.encode((old, new))
        told = await self._pool.run(work.changed_paths, payload, deadline=self._programs.wall)
        return _NAMES.decode(told)

    async def walls(self) -> Walls:
        """Which walls stand around programs on this machine."""
        return await walls(namespaces=self._namespaces)

    @asynccontextmanager
    async def _alone(self, request: Request) -> AsyncIterator[None]:
        """One render at a time of the same thing; who had to wait finds the answer in the store."""
        name = _ENCODER.encode(self._task(request))
        while name in self._under_way:
            await self._under_way[name].wait()
        ended = self._under_way[name] = asyncio.Event()
        try:
            async with self._places:
                yield
        finally:
            del self._under_way[name]
            ended.set()

    async def _answer(self, request: Request, fetched: _Fetched) -> work.Answer:
        async with self._folder() as folder:
            prepared = await self._begun(request, fetched, folder)
            if isinstance(prepared, work.Answer):
                return prepared
            member = Member(
                subject=request.name,
                program=prepared.program,
                company=self._company(request, prepared, fetched.trees),
                folder=folder,
                arguments=prepared.arguments,
            )
            async with self._sharing.turn(member):
                if member.printed is None:
                    return await self._finished(request, prepared, folder)
                self.shared += 1
                return await self._concluded(request, prepared, folder, stdout=member.printed)

    async def _begun(self, request: Request, fetched: _Fetched, folder: Path) -> work.Answer | work.Started:
        """The answer; or a folder that is ready for a program which others may share.

        What is missing is found and fetched while others have their turn: a slow server costs them none.
        """
        while True:
            async with self._turns:
                prepared = await self._known_or_started(request, fetched.trees, folder)
                if isinstance(prepared, work.Started) and not self._may_share(prepared):
                    return await self._finished(request, prepared, folder)
            match prepared:
                case work.WantedBase(tree=tree):
                    fetched.trees[tree] = await self._base(request, prepared, len(fetched.trees))
                case work.WantedCharts(dependencies=dependencies):
                    await self._fetch(request, dependencies, fetched)
                case work.Answer() | work.Started():
                    return prepared

    async def _known_or_started(
        self, request: Request, more: Mapping[str, AnyOrigin], folder: Path
    ) -> work.Answer | work.WantedBase | work.WantedCharts | work.Started:
        """What a render can begin with; the program that it takes is found first, once for everybody."""
        while isinstance(prepared := await self._prepared(request, more, folder), work.Wanted):
            await self._find(prepared.program)
        return prepared

    def _may_share(self, started: work.Started) -> bool:
        """Whether a render may share a process: a small one, where we have a program."""
        return (
            self._found[started.program].many is not None
            and started.size <= self._settings.source_size // self._settings.together
        )

    def _company(self, request: Request, started: work.Started, more: Mapping[str, AnyOrigin]) -> bytes:
        """Whom a render may share a process with: others of the same trees, which all of them may read.

        What a spec says besides is told to nobody but those in the same namespace.
        """
        says_more = request.spec.helm is not None or request.spec.kustomize is not None
        task = self._task(request)
        namespace = request.namespace if says_more else ""
        return _ENCODER.encode((started.program, {**task.trees, **more}, namespace))

    async def _base(self, request: Request, wanted: work.WantedBase, known: int) -> Origin:
        """The tree of a remote base, opened with the credential of whoever asks."""
        if self._bring is None or known >= _MOST_BASES:
            reason = (
                "remote bases are not fetched here" if self._bring is None else "it has too many remote bases"
            )
            raise SourceRefused(request.name, reason, "Keep them in the repository")
        revision = await self._bring(
            Wanted(
                url=wanted.url,
                target=wanted.target,
                submodules=wanted.submodules,
                credentials=request.credentials,
            )
        )
        return RevisionOrigin(revision=revision)

    async def _fetch(self, request: Request, dependencies: Sequence[Dependency], fetched: _Fetched) -> None:
        """Have the charts that another needs, each opened with the credential of whoever asks.

        They are fetched beside each other; the first that cannot be had ends the others.
        """
        if self._bring_chart is None:
            reason = "dependencies of charts are not fetched here"
            raise SourceRefused(request.name, reason, "Vendor them with `helm dependency build`")
        bring, turns = self._bring_chart, asyncio.Semaphore(_CHARTS_AT_ONCE)

        async def brought(each: Dependency) -> Brought:
            async with turns:
                return await bring(
                    WantedChart(
                        url=each.repository,
                        name=each.name,
                        target=each.target,
                        credentials=request.credentials,
                        pass_credentials=each.pass_credentials,
                    )
                )

        async with plain_group() as group:
            fetches = [(each.tree, group.create_task(brought(each))) for each in dependencies]
        for tree, fetch in fetches:
            found = fetch.result()
            fetched.trees[tree] = ArchiveOrigin(revision=found.revision)
            fetched.warnings += [found.warning] if found.warning else []

    async def _prepared(self, request: Request, more: Mapping[str, AnyOrigin], folder: Path) -> work.Prepared:
        task = self._task(request)
        task = structs.replace(task, trees={**task.trees, **more})
        preparation = work.Preparation(task=task, folder=str(folder))
        told = await self._pool.run(work.prepare, _ENCODER.encode(preparation), deadline=self._programs.wall)
        return _PREPARED.decode(told)

    async def _finished(self, request: Request, started: work.Started, folder: Path) -> work.Answer:
        done = await self._run(request, started, folder)
        return await self._concluded(
            request, started, folder, stdout=done.stdout, code=done.code, stderr=done.stderr
        )

    async def _concluded(
        self,
        request: Request,
        started: work.Started,
        folder: Path,
        *,
        stdout: bytes,
        code: int = 0,
        stderr: bytes = b"",
    ) -> work.Answer:
        """What a program's words amount to."""
        said = work.Said(
            task=self._task(request),
            started=started,
            folder=str(folder),
            code=code,
            stdout=stdout,
            stderr=stderr,
        )
        told = await self._pool.run(work.finish, _ENCODER.encode(said), deadline=self._programs.wall)
        return _ANSWER.decode(told)

    async def _ride(self, members: Sequence[Member]) -> batches.Heard:
        """Have one process render them all: their folders come under one roof, which is all that it sees."""
        if self._possible is not None:
            self._check_walls(members[0].subject, self._possible)
        async with self._folder() as roof:
            places = sandbox.under_one_roof(roof, [member.folder for member in members])
            heard = batches.Heard(printed=())
            try:
                heard = batches.heard(await self._many(members, places, roof), len(members))
            finally:
                for number, (member, place) in enumerate(zip(members, places, strict=True)):
                    if heard.answer(number) is None and not member.left:
                        sandbox.move(place, member.folder)
        return heard

    async def _many(self, members: Sequence[Member], places: Sequence[Path], roof: Path) -> bytes:
        """What one process says when it is asked for many renders, however it ends.

        It has the limits of a single program, and less time. Why it ended early does not matter: whoever got
        no answer will hear from the tool itself.
        """
        limits = self._limits()
        common = _environment(roof)
        orders = [
            batches.Order(
                folder=str(place),
                arguments=(*self._found[member.program].arguments, *member.arguments),
                environment=dict(_environment(place).items() - common.items()),
            )
            for member, place in zip(members, places, strict=True)
        ]
        try:
            finished = await run(
                (str(self._found[members[0].program].many), batches.WORD),
                limits=structs.replace(limits, wall=limits.wall * batches.TIME_SHARE),
                environment=common,
                cwd=roof,
                stdin=batches.told(orders),
                view=roof,
                launches=self._launches,
                namespaces=self._namespaces,
            )
        except ProgramStopped as stopped:
            return stopped.stdout
        except TrimtabError:
            return b""
        self.spent += finished.cpu
        # A process that ran without a wall which is required has said nothing that counts.
        return b"" if self._missing_walls(finished.walls) else finished.stdout

    async def _run(self, request: Request, started: work.Started, folder: Path) -> Finished:
        program = self._found[started.program]
        if self._possible is not None:
            self._check_walls(request.name, self._possible)
        try:
            finished = await run(
                (*program.command, *started.arguments),
                limits=self._limits(),
                environment=_environment(folder),
                cwd=folder,
                view=folder,
                launches=self._launches,
                namespaces=self._namespaces,
            )
        except ProgramStopped as stopped:
            words = cleaned(stopped.stderr_tail, started.secrets, (str(folder),))
            reason = f"{started.program} {stopped.reason}" + (f"; it said:\n{words}" if words else "")
            remedy = f"Give it less to do, or raise programs.{stopped.limit}"
            raise RenderFailed(request.name, reason, remedy) from stopped
        self.spent += finished.cpu
        self._check_walls(request.name, finished.walls)
        return finished

    def _check_walls(self, subject: str, stood: Walls) -> None:
        """Return if every wall stands that the operator insists on."""
        missing = self._missing_walls(stood)
        if missing:
            reason = f"programs are not held by the wall {missing[0]!r}, which is required here"
            raise Unavailable(subject, reason, "Allow user namespaces, or require less")

    def _missing_walls(self, stood: Walls) -> list[str]:
        """The walls that the operator insists on and that did not stand."""
        return [wall for wall in self._settings.required_walls if not getattr(stood, wall, False)]

    def _limits(self) -> Limits:
        limits = limits_of(self._programs, network=False)
        return structs.replace(limits, file_size=limits.file_size or self._settings.source_size)

    @asynccontextmanager
    async def _folder(self) -> AsyncIterator[Path]:
        """A place for a private folder, which is gone afterwards."""
        folder = self._folders.next()
        try:
            yield folder
        finally:
            if folder.exists():
                await asyncio.to_thread(sandbox.remove, folder)

    async def _find(self, name: ProgramName) -> None:
        if name not in self._found:
            self._found[name] = await find(name, path=self._path, settings=self._programs, tell=self._tell)

    def _task(self, request: Request) -> work.Task:
        job = Job(
            name=request.name,
            namespace=request.namespace,
            spec=request.spec,
            capabilities=request.capabilities,
            bounds=self._bounds,
            remotes=self._settings.remotes,
            lfs=any(map(reads_large_files, (request.tree, *request.refs.values()))),
            programs={name: _dotted(program) for name, program in self._found.items()},
        )
        return work.Task(job=job, trees={MAIN: request.tree, **request.refs}, keeping=self._keeping)


def _dotted(program: Program) -> str:
    return ".".join(map(str, program.version or ()))


def _environment(folder: Path) -> dict[str, str]:
    """All that a program is told: a home of its own, no plugins, and no way out."""
    home = str(folder / sandbox.HOME)
    return {
        "HOME": home,
        "TMPDIR": str(folder),
        "PATH": "",
        "HELM_CACHE_HOME": f"{home}/cache",
        "HELM_CONFIG_HOME": f"{home}/config",
        "HELM_DATA_HOME": f"{home}/data",
        "HELM_NO_PLUGINS": "1",
        **_QUICK,
        **_NOWHERE,
    }


#: one render is one thread's work, and its garbage is cheaper thrown away with the process than collected
_QUICK = {"GOMAXPROCS": "1", "GOGC": "400"}
#: where a program is led that goes out although nothing may
_NOWHERE = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), "http://127.0.0.1:9")
