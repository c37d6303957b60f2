"""A commit has exactly the units looked at that it concerns, and unit files in Git are followed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.committing import git
from tests.sources.githost import basic_header, git_host
from trimtab.app.running.declared import Origin
from trimtab.app.running.declaring import Declarations, follow_folder, follow_repository, keep_records
from trimtab.app.running.events import (
    AnyEvent,
    CommitFound,
    SourceTrouble,
    UnitFileRefused,
    UnitsRead,
    UnitsUnread,
    UnitWithdrawn,
)
from trimtab.app.running.following import Commits, FollowedManifests, keep_credentials
from trimtab.app.running.versions import Versions
from trimtab.app.shards import Shard
from trimtab.app.sources import Wishes
from trimtab.engine import MemoryStore
from trimtab.engine.units import Destination, Gone, Stored, SyncUnit
from trimtab.errors import SourceRefused, TrimtabError, Unavailable
from trimtab.settings import ProgramsSettings, RenderingSettings, RepositoriesSettings
from trimtab.sources import Charts, Renderer, Repositories, Request
from trimtab.sources.charts.wishes import ChartRevision, WantedChart
from trimtab.sources.hints.changes import Change
from trimtab.sources.rendering.rendered import Rendered, Tool
from trimtab.sources.rendering.specs import Capabilities
from trimtab.sources.repositories.addresses import address_of
from trimtab.tasks import SystemClock, plain_group

CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {value: '%s'}\n"
PATH = os.environ["PATH"]  # noqa: TID251 - git is found where the tests find it


class Upstream:
    """A repository to commit to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = f"file://{folder}"
        folder.mkdir()
        git(folder, "init", "--initial-branch=main")

    def commit(self, files: dict[str, str | None]) -> str:
        """A commit that writes these files, or removes them."""
        for name, text in files.items():
            place = self.folder / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.unlink() if text is None else place.write_text(text)
        git(self.folder, "add", "--all")
        git(self.folder, "commit", "--message", "A change")
        return git(self.folder, "rev-parse", "HEAD")


@pytest.fixture
def origin(tmp_path: Path) -> Upstream:
    return Upstream(tmp_path / "origin")


class Hearing:
    """What was told, and waiting for it."""

    def __init__(self) -> None:
        self.told: list[AnyEvent] = []
        self._news = asyncio.Event()

    def tell(self, event: AnyEvent) -> None:
        self.told.append(event)
        self._news.set()

    def of(self, *kinds: type[Any]) -> list[Any]:
        return [event for event in self.told if isinstance(event, kinds)]

    async def until(self, holds: Callable[[], object]) -> None:
        async with asyncio.timeout(60):
            while not holds():
                self._news.clear()
                await self._news.wait()


@asynccontextmanager
async def repositories(tmp_path: Path) -> AsyncIterator[Repositories]:
    settings = RepositoriesSettings(
        folder=str(tmp_path / "mirrors"), allow_schemes=("file",), poll_every=OFTEN
    )
    async with Repositories(settings, path=PATH) as made:
        yield made


def change_of(origin: Upstream) -> Change:
    return Change(places=(address_of(origin.url).place,), ref="refs/heads/main")


def unit(name: str, origin: Upstream) -> SyncUnit:
    source = {"repoURL": origin.url, "targetRevision": "main", "spec": {"path": name}}
    return SyncUnit(id=name, source=source, destination=Destination(cluster="here"))


PLAIN = Wishes(RepositoriesSettings(lfs=False))


async def no_chart(wanted: WantedChart) -> ChartRevision:
    raise AssertionError(f"nobody wants {wanted}")


NO_CHARTS = Versions(
    no_chart, PLAIN, RepositoriesSettings(), clock=SystemClock(), look=print, tell=print, chance=lambda: 0.0
)


async def nothing_special(_cluster: str) -> Capabilities:
    return Capabilities()


async def test_a_commit_has_only_those_units_looked_at_whose_render_read_what_changed(
    tmp_path: Path, origin: Upstream
) -> None:
    first = origin.commit({f"{name}/a.yaml": CONFIG_MAP % (name, 1) for name in ("web", "api", "cart")})
    heard, looked = Hearing(), list[str]()
    rendering = RenderingSettings(cache=str(tmp_path / "renders"), key=str(tmp_path / "key"), concurrency=1)
    async with (
        repositories(tmp_path) as repos,
        Charts(RepositoriesSettings(folder=str(tmp_path))) as charts,
        Renderer(rendering, ProgramsSettings(), path=PATH) as renderer,
        plain_group() as group,
    ):
        commits = Commits(
            repos, renderer, PLAIN, NO_CHARTS, clock=SystemClock(), look=looked.append, tell=heard.tell
        )
        manifests = FollowedManifests(renderer, repos, charts, PLAIN, commits, nothing_special)
        running = group.create_task(commits.run())
        units = [unit(name, origin) for name in ("web", "api", "cart")]
        for each in units:
            commits.hear(Stored(each))
        await heard.until(lambda: looked == ["web", "api", "cart"])
        for each in units:
            assert (await manifests.generate(each, "")).revision == first
        looked.clear()

        second = origin.commit({"api/a.yaml": CONFIG_MAP % ("api", 2)})
        assert commits.hint(change_of(origin)) == 3
        await heard.until(lambda: [each for each in heard.of(CommitFound) if each.revision == second])
        assert looked == ["api"]
        assert (await manifests.generate(units[1], "")).revision == second

        commits.hear(Gone("api"))
        assert commits.hint(change_of(origin)) == 2

        # A mirror that was damaged is made anew when somebody meets that.
        for pack in (tmp_path / "mirrors").rglob("*.pack"):
            pack.chmod(0o600)
            pack.write_bytes(pack.read_bytes()[:40])
        assert (await manifests.generate(replace(units[0], id="new"), second)).revision == second

        # While the remote is away the last good revision stays in force, also for one who names it: he heals.
        origin.folder.rename(tmp_path / "away")
        await heard.until(lambda: heard.of(SourceTrouble))
        (trouble,) = heard.of(SourceTrouble)
        assert (trouble.source, trouble.units) == (origin.url, 2), "it is told once, for both"
        assert trouble.reason.endswith(f"Revision {second[:8]} stays in force.")
        assert (await manifests.generate(units[0], "")).revision == second
        healed = await manifests.generate(units[0], second)
        assert (healed.revision, len(healed.manifests)) == (second, 1)
        assert healed.warnings[0].endswith(f"Revision {second[:8]} stays in force.")
        with pytest.raises(TrimtabError):
            await manifests.generate(units[0], "1" * 40)
        running.cancel()


FOUND = ChartRevision(
    url="https://charts.example", name="web", version="1.2.0", digest="", archive="", largest=1
)


class Shelf(Charts):
    """Charts of a repository that may be away."""

    away: TrimtabError | None = None

    def recall(self, wanted: WantedChart) -> ChartRevision | None:
        return FOUND if wanted.target in {"^1", "1.2.0"} else None

    async def fetch(self, wanted: WantedChart, *, fresh: bool = False) -> ChartRevision:
        del fresh
        if self.away is not None:
            raise self.away
        return FOUND


class Told(Renderer):
    """Renders nothing, whatever it is asked."""

    async def render(self, request: Request) -> Rendered:
        del request
        return Rendered(manifests=(), digest="d", key="k", read=(), tool=Tool.HELM, tool_version="4")

    async def keys(self, requests: Sequence[Request]) -> tuple[str, ...]:
        return ("k",) * len(requests)


async def test_a_chart_that_was_found_stays_in_force_while_its_repository_is_away_or_refuses_us(
    tmp_path: Path,
) -> None:
    settings = RepositoriesSettings(folder=str(tmp_path))
    rendering = RenderingSettings(cache=str(tmp_path / "renders"), key=str(tmp_path / "key"))
    async with repositories(tmp_path) as repos:
        charts, renderer = Shelf(settings), Told(rendering, ProgramsSettings(), path=PATH)
        commits = Commits(
            repos, renderer, PLAIN, NO_CHARTS, clock=SystemClock(), look=print, tell=Hearing().tell
        )
        manifests = FollowedManifests(renderer, repos, charts, PLAIN, commits, nothing_special)

        def wanting(target: str) -> SyncUnit:
            source = {"repoURL": "https://charts.example", "targetRevision": target, "spec": {"chart": "web"}}
            return SyncUnit(id="web", source=source, destination=Destination(cluster="here"))

        for revision in ("", "1.2.0"):
            assert (await manifests.generate(wanting("^1"), revision)).revision == "1.2.0"
        charts.away = Unavailable("charts.example", "nobody answers")
        for revision in ("", "1.2.0"):  # he who heals names the version
            assert (await manifests.generate(wanting("^1"), revision)).revision == "1.2.0"
        with pytest.raises(Unavailable):
            await manifests.generate(wanting("^1"), "1.1.0")
        with pytest.raises(Unavailable):
            await manifests.generate(wanting("^2"), "")
        charts.away = SourceRefused("charts.example", "the password is wrong")
        kept = await manifests.generate(wanting("^1"), "")
        assert kept.warnings == ("charts.example: the password is wrong. Version 1.2.0 stays in force.",)
        commits.hear(Gone("web"))
        with pytest.raises(SourceRefused):  # nothing is kept of a unit that is gone
            await manifests.generate(wanting("^1"), "")

        # Another process was given nothing yet: it goes on with what was noted, unless it is refused.
        later = FollowedManifests(renderer, repos, charts, PLAIN, commits, nothing_special)
        with pytest.raises(SourceRefused):
            await later.generate(wanting("^1"), "")
        charts.away = Unavailable("charts.example", "nobody answers")
        for revision in ("", "1.2.0"):
            recalled = await later.generate(wanting("^1"), revision)
            assert recalled.revision == "1.2.0"
            assert recalled.warnings == ("charts.example: nobody answers. Version 1.2.0 stays in force.",)
        with pytest.raises(Unavailable):
            await later.generate(wanting("^2"), "")


async def test_a_unit_whose_repository_is_not_there_says_so(tmp_path: Path, origin: Upstream) -> None:
    heard = Hearing()
    gone = SyncUnit(
        id="gone",
        source={"repoURL": f"file://{tmp_path}/nowhere", "spec": {}},
        destination=Destination(cluster="here"),
    )
    rendering = RenderingSettings(cache=str(tmp_path / "renders"), key=str(tmp_path / "key"), concurrency=1)
    async with (
        repositories(tmp_path) as repos,
        Renderer(rendering, ProgramsSettings(), path=PATH) as renderer,
        plain_group() as group,
    ):
        commits = Commits(
            repos, renderer, PLAIN, NO_CHARTS, clock=SystemClock(), look=lambda _: None, tell=heard.tell
        )
        running = group.create_task(commits.run())
        commits.hear(Stored(gone))
        await heard.until(lambda: heard.of(SourceTrouble))
        assert commits.problem("gone") == heard.of(SourceTrouble)[0].reason
        assert heard.of(SourceTrouble)[0].unit == "gone"
        running.cancel()
        commits.hear(Gone("gone"))
        assert commits.problem("gone") == ""
    assert origin.folder.exists()


#: so often that nobody has to wait for a look, and seldom enough to be heard between two of them
OFTEN = timedelta(milliseconds=100)
#: whose objects are to go
NOBODY: list[str] = []
UNIT = "source: {spec: {path: live}}\n"


async def test_unit_files_in_a_repository_are_followed_and_a_bad_commit_changes_nothing(
    tmp_path: Path, origin: Upstream
) -> None:
    origin.commit({"units/web.yaml": UNIT, "units/api.yaml": UNIT})
    heard, store, clock = Hearing(), MemoryStore(), SystemClock()
    from_git = Origin(url=origin.url, target="main", path="units")
    declarations = Declarations(from_git, clock=clock, tell=heard.tell)
    async with repositories(tmp_path) as repos, plain_group() as group:
        loops = [
            group.create_task(follow_repository(declarations, repos, PLAIN)),
            group.create_task(
                keep_records(
                    declarations, store, Shard(0, 1), remove=NOBODY.extend, clock=clock, tell=heard.tell
                )
            ),
        ]

        async def after(files: dict[str, str | None], kind: type[Any]) -> tuple[str, ...]:
            before = len(heard.of(kind))
            origin.commit(files)
            await heard.until(lambda: len(heard.of(kind)) > before)
            return tuple(each.id for each in await store.list())

        await heard.until(lambda: len(heard.told) >= 3)
        assert await after({"units/web.yaml": "source: ["}, UnitFileRefused) == ("api", "web")
        assert await after({"units/api.yaml": None}, UnitWithdrawn) == ("web",)
        assert await after({"units/web.yaml": None, "README": "empty"}, UnitsUnread) == ("web",)
        assert "units" in declarations.problem
        assert await after({"units/web.yaml": UNIT}, UnitsRead) == ("web",)
        assert declarations.problem == ""
        for loop in loops:
            loop.cancel()


async def test_a_password_that_is_replaced_in_its_file_is_shown_from_then_on_for_units_and_their_files(
    tmp_path: Path, origin: Upstream
) -> None:
    file, heard, clock = tmp_path / "credentials.toml", Hearing(), SystemClock()
    origin.commit({"units/web.yaml": UNIT, "web/a.yaml": "1"})

    async with git_host(tmp_path) as host, plain_group() as group:

        def agree(password: str) -> None:
            host.welcome = {basic_header("ci", password)}
            file.write_text(f'[[credential]]\nurl = "{host.url}"\nusername = "ci"\npassword = "{password}"\n')
            file.chmod(0o600)

        agree("one")
        (tmp_path / "origin.git").symlink_to(origin.folder / ".git")
        url = f"{host.url}/origin.git"
        settings = RepositoriesSettings(
            folder=str(tmp_path / "mirrors"),
            allow_schemes=("http",),
            allow_hosts=("127.0.0.1",),
            poll_every=OFTEN,
            credentials_file=str(file),
            lfs=False,
        )
        wishes = Wishes(settings)
        declarations = Declarations(Origin(url=url, path="units"), clock=clock, tell=heard.tell)
        rendering = RenderingSettings(
            cache=str(tmp_path / "renders"), key=str(tmp_path / "key"), concurrency=1
        )
        async with (
            Repositories(settings, path=PATH) as repos,
            Renderer(rendering, ProgramsSettings(), path=PATH) as renderer,
        ):
            commits = Commits(
                repos, renderer, wishes, NO_CHARTS, clock=clock, look=lambda _: None, tell=heard.tell
            )
            loops = (
                follow_repository(declarations, repos, wishes),
                keep_credentials(repos, wishes, every=OFTEN, clock=clock),
                commits.run(),
            )
            tasks = [group.create_task(loop) for loop in loops]
            source = {"repoURL": url, "targetRevision": "main", "spec": {"path": "web"}}
            commits.hear(Stored(SyncUnit(id="web", source=source, destination=Destination(cluster="here"))))
            await heard.until(lambda: heard.of(CommitFound) and heard.of(UnitsRead))
            file.write_text("half of a fi")
            agree("two")
            last = origin.commit({"units/api.yaml": UNIT, "web/a.yaml": "2"})
            await heard.until(lambda: heard.of(CommitFound)[-1].revision == last)
            await heard.until(lambda: heard.of(UnitsRead)[-1].revision == last)
            for task in tasks:
                task.cancel()


async def test_unit_files_in_a_folder_are_followed_and_a_lost_folder_changes_nothing(tmp_path: Path) -> None:
    folder, heard, store, clock = tmp_path / "units", Hearing(), MemoryStore(), SystemClock()
    folder.mkdir()
    (folder / "web.yaml").write_text("source: {folder: ../web}")
    declarations = Declarations(Origin(folder=str(folder)), clock=clock, tell=heard.tell)
    async with plain_group() as group:
        loops = [
            group.create_task(follow_folder(declarations, every=OFTEN, clock=clock)),
            group.create_task(
                keep_records(
                    declarations, store, Shard(0, 1), remove=NOBODY.extend, clock=clock, tell=heard.tell
                )
            ),
        ]
        await heard.until(lambda: len(heard.told) == 2)
        (web,) = await store.list()
        assert (web.id, web.source["folder"]) == ("web", str(tmp_path / "web"))
        folder.rename(tmp_path / "elsewhere")
        await heard.until(lambda: heard.of(UnitsUnread))
        assert await store.list() == (web,)
        (tmp_path / "elsewhere").rename(folder)
        (folder / "web.yaml").unlink()
        await heard.until(lambda: heard.of(UnitWithdrawn))
        assert await store.list() == ()
        for loop in loops:
            loop.cancel()
