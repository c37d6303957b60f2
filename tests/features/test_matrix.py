"""Every verb in every bad circumstance: one clear message, the right exit code, nothing half-done.

`tests/features/matrix.py` says what is called and what has to be said. Every call is a process of its own.
Calls after which all is as before share a world, and are held to that: not a byte is written to the cluster,
and no file appears. The disk that is full or cannot be written to is a tmpfs of 64 KB in a namespace of
mounts; an ordinary user has one by a namespace of users, and where the machine forbids that, its columns are
skipped.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

import click
import pytest

from testbed.controlplane import ControlPlane
from testbed.gitserver import GitServer
from testbed.toll import Toll
from tests.committing import git
from tests.features.calling import Caller, Heard, disks_can_be_mounted
from tests.features.matrix import COLUMNS, REACHING, ROWS, WRITING, Apart, Cell, Column
from tests.features.scenes import Scene, named
from tests.features.test_sync import shop
from tests.features.worlds import Worlds
from tests.interfaces.cli.test_verbs import commands
from trimtab.interfaces.cli.verbs import VERBS, trimtab

#: somebody who works on an app, and does so for long
BOB = {
    "holderIdentity": "bob@elsewhere",
    "leaseDurationSeconds": 3600,
    "renewTime": "2100-01-01T00:00:00.000000Z",
}
HEADINGS = re.compile(r"[A-Z][A-Z …]*(  +[A-Z][A-Z …]*)+")
NOWHERE = "unanswered.kubeconfig"
#: the apps, and what else lies in their folders; their names and contents are not ASCII where they may be
APPS = ("going", "web", "adrift", "broken", "held", "near", "far", "big")
NON_ASCII = {"web": "Größe-東京"}
MEGABYTES = {f"c{number}": named(f"c{number}", "x" * 950_000) for number in range(11)}
RUNNERS = 2
TEN = "ten-megabytes.yaml"
#: units that are declared: by a file beside a folder, and by a file in a repository
OF_A_FOLDER = "source: {folder: FOLDER}\ndestination: {namespace: of-a-file}\n"
OF_A_REPOSITORY = "source: {spec: {path: .}}\ndestination: {namespace: of-a-file}\n"


class Stage:
    """A scene with a cluster that has one app for each kind of trouble."""

    def __init__(self, scene: Scene, worlds: Worlds, path: str) -> None:
        self.scene = scene
        #: a PATH with the programs that render
        self.path = path
        self.worlds = worlds
        self.sources: dict[str, str] = {}
        #: repositories with the files of an app
        self.repositories: dict[str, str] = {}

    def files(self, app: str) -> Path:
        """The folder that an app's files lie in."""
        return self.scene.folder / "files" / NON_ASCII.get(app, app)

    def spelt(self, column: Column, row: str, cell: Cell) -> tuple[str, ...]:
        """The words of a call."""
        folder = self.files(column.files or column.app)
        source = self.sources.get(column.app, str(folder))
        more = column.more if row in REACHING else ()
        places = {
            "app": column.app,
            "files": folder,
            "source": source,
            "repository": self.repositories.get(column.app, self.repositories["near"]),
            "home": self.scene.home,
            "ten": self.scene.folder / TEN,
        }
        return tuple(word.format(**places) for word in (*(cell.words or ROWS[row]), *more))

    def heard(self, toll: Toll, column: Column, row: str, cell: Cell) -> Heard:
        """What a verb says in a column."""
        places = {"home": self.scene.home, "nowhere": self.scene.folder / NOWHERE, "path": self.path}
        environment = {name: value.format(**places) for name, value in column.environment.items()}
        around = {"disk": column.disk, "columns": column.columns, "encoding": column.encoding}
        words = self.spelt(column, row, cell)
        return self.scene.call(toll, words, environment=environment, until=cell.until, **around)

    def traces(self, toll: Toll) -> tuple[str, list[Path]]:
        """What a write would have changed: the cluster's revision, and the files but for caches."""
        revision = toll.read("/api/v1/namespaces?limit=1")["metadata"]["resourceVersion"]
        # Nor for the cluster in memory, which is started by one row and stopped by the next.
        apart = (self.scene.home / ".cache", self.scene.home / ".local")
        found = self.scene.folder.rglob("*")
        return revision, sorted(each for each in found if not any(map(each.is_relative_to, apart)))


def write_unanswered(toll: Toll, folder: Path) -> None:
    """Write the way to a server that is not there."""
    config = json.loads(toll.kubeconfig.read_text())
    config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    (folder / NOWHERE).write_text(json.dumps(config))


def hold(toll: Toll, records: str) -> None:
    """Have somebody else work on every app."""
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{records}/leases"
    for lease in toll.read(leases)["items"]:
        toll.read(f"{leases}/{lease['metadata']['name']}", patch={"spec": BOB})


def tables_in(said: str) -> Iterator[str]:
    """The lines of tables: headings, and what stands below them in their columns."""
    starts: list[int] = []
    for line in said.splitlines():
        if HEADINGS.fullmatch(line):
            starts = [found.start() for found in re.finditer(r"(?<=  )\S", line)]
        elif any(line[start - 2 : start].strip() for start in starts) or not line.strip():
            starts = []
        if starts:
            yield line


def complaints(cell: Cell, heard: Heard, columns: int | None = None) -> list[str]:
    """What is wrong with an answer: one sentence says what, why and what to do; and the exit code fits."""
    said = click.unstyle(heard.out + heard.err)
    errors = [line for line in said.splitlines() if line.startswith("Error: ")]
    found = {
        f"exit code {heard.code}, not {cell.code}": heard.code != cell.code,
        f"it does not say {cell.says!r}": cell.says not in said,
        "a traceback": "Traceback" in said or "bug in Trimtab" in said,
        f"{len(errors)} errors": len(errors) != (cell.code in {2, 3, 4}) + cell.is_shown,
        "the error is not the last word": bool(errors) and not said.rstrip().endswith(errors[-1]),
        "a table is too wide": any(len(line) > columns for line in tables_in(said)) if columns else False,
        "the error is no sentence": any(not line.rstrip().endswith((".", "?")) for line in errors),
    }
    return [complaint for complaint, holds in found.items() if holds]


def grouped(column: Column) -> Iterator[dict[str, Cell]]:
    """The cells of a column by the world that they share: whoever writes has one alone."""
    tried = {row: cell for row, cell in column.cells.items() if isinstance(cell, Cell)}
    alone = {row for row, cell in tried.items() if cell.code == 0 and row in WRITING}
    yield {row: cell for row, cell in tried.items() if row not in alone}
    for row in sorted(alone):
        yield {row: tried[row]}


def wrong(stage: Stage, column: Column, toll: Toll, cells: dict[str, Cell]) -> Iterable[object]:
    """What is wrong with the answers in one world."""
    if column.held:
        hold(toll, stage.scene.records)
    for row, cell in cells.items():
        before = stage.traces(toll)
        heard = stage.heard(toll, column, row, cell)
        found = complaints(cell, heard, column.columns)
        if not (cell.code == 0 and row in WRITING) and stage.traces(toll) != before:
            found.append("something was written")
        if found:
            yield row, found, heard


@pytest.fixture(scope="module")
def stage(
    caller: Caller, tmp_path_factory: pytest.TempPathFactory, helm: Path, kustomize: Path
) -> Iterator[Stage]:
    """Apps that were well once; each is left with a plan that was made then."""
    scene = Scene(caller, tmp_path_factory.mktemp("matrix"))
    with Worlds(scene.folder) as worlds:
        found = Stage(scene, worlds, f"{helm.parent}:{kustomize.parent}:/usr/local/bin:/usr/bin:/bin")
        with GitServer(anonymous_read=True) as server:
            settle(found, server)
        broken = found.files("broken")
        shop(broken, one=named("one") + "other: [")
        for each in ("units", "declared"):
            shop(broken / each, **{"of-a-file": "source: {"})
        committed(broken)
        found.repositories["broken"] = f"file://{broken}"
        shutil.rmtree(found.files("adrift"))
        try:
            yield found
        finally:
            scene.call_with(scene.folder, ("cluster", "down"))


def is_removal(method: str, target: str) -> bool:
    """Whether an object of an app is deleted."""
    return method == "DELETE" and "/configmaps/" in target


def committed(folder: Path) -> None:
    """Have everything in a folder be a commit."""
    for each in (("init",), ("add", "."), ("commit", "--message", "A shop")):
        git(folder, *each)


def settle(stage: Stage, server: GitServer) -> None:
    """Sync every app, and have its trouble begin."""
    (stage.scene.folder / "files").mkdir()
    for app in APPS:
        folder = shop(stage.files(app), one=named("one", "Größe ✓"), **(MEGABYTES if app == "big" else {}))
        shop(folder / "units", **{"of-a-file": OF_A_FOLDER.replace("FOLDER", str(folder))})
        shop(folder / "declared", **{"of-a-file": OF_A_REPOSITORY})
        stage.sources[app] = str(folder)
    for app in ("near", "adrift"):
        committed(stage.files(app))
    bare = server.create_repository()
    git(stage.files("near"), "push", str(bare), "HEAD:main")
    stage.sources |= {app: f"file://{stage.files(app)}" for app in ("near", "adrift")}
    stage.sources["far"] = server.over_http(bare).url
    stage.repositories |= {app: stage.sources[app] for app in ("near", "adrift", "far")}
    scene = stage.scene
    (scene.folder / TEN).write_text("---".join(MEGABYTES.values()))
    with stage.worlds.lasting() as kubeconfig, Toll(kubeconfig, scene.folder) as toll:
        for app, source in stage.sources.items():
            scene.done(toll, "sync", source, "--app", app, "-n", app, "--create-namespace", "--yes")
            if app in {"held", "web", "big"}:
                shop(stage.files(app), one=named("one", "red"))
            scene.done(toll, "plan", app, "--out", f"{app}.plan")
            if app == "going":
                toll.strike(is_removal, 1, scene.kill)
                assert scene.call(toll, ("delete", "going", "--yes")).code < 0
                scene.bury(toll)
        new = ("--app", "nope", "-n", "nope", "--create-namespace")
        scene.done(toll, "plan", stage.sources["web"], *new, "--out", "nope.plan")
        scene.done(toll, "install", "--apply", "--yes", "-n", "former")
        runner = "/apis/apps/v1/namespaces/former/deployments/trimtab-runner"
        while toll.read(runner)["status"].get("availableReplicas") != RUNNERS:
            continue  # what moves by itself would pass for something that a verb has written
        write_unanswered(toll, scene.folder)


@pytest.mark.parametrize("name", [name for name, column in COLUMNS.items() if not column.is_real])
def test_every_verb_says_what_is_the_matter(stage: Stage, name: str) -> None:
    column = COLUMNS[name]
    if column.disk and not disks_can_be_mounted():
        pytest.skip("neither root nor namespaces of users: no disk can be mounted")
    found: list[object] = []
    for cells in grouped(column):
        with stage.worlds.passing() as kubeconfig, Toll(kubeconfig, stage.scene.folder) as toll:
            found += wrong(stage, column, toll, cells)
    assert found == []


@pytest.mark.real
def test_every_verb_says_which_right_is_missing(
    stage: Stage, control_plane: ControlPlane, tmp_path: Path
) -> None:
    (column,) = (column for column in COLUMNS.values() if column.is_real)
    config = control_plane.kubeconfig_for("nobody")
    found = []
    for row, cell in next(grouped(column)).items():
        heard = stage.scene.call_with(config, stage.spelt(column, row, cell), until=cell.until)
        found += [(row, complaint, heard) for complaint in complaints(cell, heard)]
    assert found == []


@pytest.mark.parametrize("name", COLUMNS)
def test_no_verb_is_without_a_cell(name: str) -> None:
    verbs = [path for path in commands(trimtab) if path != ("cluster",)]
    called = {path for path in verbs for words in ROWS.values() if words[: len(path)] == path}
    assert called == set(verbs), "those below `cluster` are verbs of their own"
    assert {words[0] for words in ROWS.values()} == set(VERBS)
    assert set(COLUMNS[name].cells) == set(ROWS)
    assert all(cell.why for cell in COLUMNS[name].cells.values() if isinstance(cell, Apart))


def test_of_what_is_said_the_tables_are_measured() -> None:
    said = """plan 46 of web
ACTION  OBJECT
apply   ConfigMap web/one
a sentence
Done: all of it

KIND  NAME
Job   migrate
"""
    assert list(tables_in(said)) == [
        "ACTION  OBJECT",
        "apply   ConfigMap web/one",
        "KIND  NAME",
        "Job   migrate",
    ]
