"""Every verb of an app that is in trouble: half-deleted, without its repository, with broken files, or held.

A row is a verb, with the exit code and the words that have to be said; where nothing stands in the way, it
works. A verb that is in no row fails the last test. The half-deleted app is asked about at a terminal of 40
columns, the one without a repository where there is no UTF-8.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from testbed.toll import Toll, is_write
from tests.committing import git
from tests.features.calling import Caller, Heard
from tests.features.scenes import Scene, named
from tests.features.test_sync import shop
from tests.features.worlds import Worlds
from trimtab.interfaces.cli.verbs import VERBS

#: how each verb is called; {app} is the app in trouble
CALLS = {
    "apply": ("apply", "{app}.plan", "--yes"),
    "delete": ("delete", "{app}", "--yes"),
    "diff": ("diff", "{app}"),
    "history": ("history", "{app}"),
    "pause": ("pause", "{app}"),
    "plan": ("plan", "{app}"),
    "resume": ("resume", "{app}"),
    "rollback": ("rollback", "{app}", "1", "--yes"),
    "status": ("status", "{app}"),
    "sync": ("sync", "{app}", "--yes"),
    "terminate": ("terminate", "{app}"),
    "tree": ("tree", "{app}"),
    "wait": ("wait", "{app}", "--timeout", "0"),
    "why": ("why", "{app}"),
}
#: those after which all is as before
LOOKING = ("diff", "history", "plan", "resume", "status", "tree", "wait", "why")
#: somebody who works on an app, and does so for long
BOB = {
    "holderIdentity": "bob@elsewhere",
    "leaseDurationSeconds": 3600,
    "renewTime": "2100-01-01T00:00:00.000000Z",
}
#: verbs that are not about an app that is recorded
OF_NO_APP = {
    "cluster", "completion", "demo", "doctor", "health", "install", "render", "run", "settings", "version",
}  # fmt: skip
NOTHING_BEGUN = (2, "no operation is under way. Begin one: trimtab sync")
#: exit code, and what is said
HALF_DELETED = {
    "apply": (2, "somebody began to delete it. See it through with trimtab delete going"),
    "delete": (0, "going is deleted"),
    "diff": (1, "it is not there"),
    "history": (0, "files:"),
    "pause": (0, "going is paused by ann"),
    "plan": (0, "missing"),
    "resume": (0, "going was neither paused nor pinned"),
    "rollback": (0, "pinned to entry 1 of its history"),
    "status": (0, "Missing"),
    "sync": (2, "somebody began to delete it. See it through with trimtab delete going"),
    "terminate": (0, "the operation was terminated"),
    "tree": (0, "Missing"),
    "wait": (4, "Ask why with: trimtab why going"),
    "why": (1, "App going is being deleted"),
}
GONE = "there is no such repository, or it is not shown to this credential"
WITHOUT_REPOSITORY = {
    "apply": (3, GONE),
    "delete": (0, "adrift is deleted"),
    "diff": (3, GONE),
    "history": (0, "trimtab sync"),
    "pause": (0, "adrift is paused by ann"),
    "plan": (3, GONE),
    "resume": (0, "adrift was neither paused nor pinned"),
    "rollback": (0, "adrift is Synced and Healthy, pinned to entry 1 of its history"),
    "status": (0, GONE),
    "sync": (3, GONE),
    "terminate": NOTHING_BEGUN,
    "tree": (0, GONE),
    "wait": (4, GONE),
    "why": (1, GONE),
}
UNREADABLE = "one.yaml, line"
WITH_BROKEN_FILES = {
    "apply": (2, UNREADABLE),
    "delete": (0, "broken is deleted"),
    "diff": (2, UNREADABLE),
    "history": (0, "trimtab sync"),
    "pause": (0, "broken is paused by ann"),
    "plan": (2, UNREADABLE),
    "resume": (0, "broken was neither paused nor pinned"),
    "rollback": (0, "broken is Synced and Healthy, pinned to entry 1 of its history"),
    "status": (0, UNREADABLE),
    "sync": (2, UNREADABLE),
    "terminate": NOTHING_BEGUN,
    "tree": (0, UNREADABLE),
    "wait": (4, UNREADABLE),
    "why": (1, UNREADABLE),
}
WAITS = (130, "bob@elsewhere works on this app; waiting")
HELD_ELSEWHERE = {
    "apply": WAITS,
    "delete": WAITS,
    "diff": (1, "colour: blue"),
    "history": (0, "trimtab sync"),
    "pause": (0, "held is paused by ann"),
    "plan": (0, "differs at /data/colour"),
    "resume": (0, "held was neither paused nor pinned"),
    "rollback": WAITS,
    "status": (0, "OutOfSync"),
    "sync": WAITS,
    "terminate": NOTHING_BEGUN,
    "tree": (0, "OutOfSync"),
    "wait": (4, "Ask why with: trimtab why held"),
    "why": (1, "ConfigMap held/one is not as its source wants it"),
}
TABLES = {
    "deleted half-way": HALF_DELETED,
    "held elsewhere": HELD_ELSEWHERE,
    "with broken files": WITH_BROKEN_FILES,
    "without a repository": WITHOUT_REPOSITORY,
}


def committed(folder: Path) -> None:
    """Have everything in a folder be a commit."""
    for each in (("init",), ("add", "."), ("commit", "--message", "A shop")):
        git(folder, *each)


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    caller = Caller()
    yield Scene(caller, tmp_path_factory.mktemp("trouble"))
    caller.close()


@pytest.fixture(scope="module")
def worlds(scene: Scene) -> Iterator[Worlds]:
    """A cluster with one app for each kind of trouble, each with a plan that was made when all was well."""
    folder = scene.folder
    broken, held, going = (shop(folder / name, one=named("one")) for name in ("broken", "held", "going"))
    origin = shop(folder / "Größe-東京", one=named("one"))
    committed(origin)
    sources = {"broken": broken, "going": going, "adrift": f"file://{origin}", "held": held}
    with Worlds(folder) as found:
        with found.lasting() as kubeconfig, Toll(kubeconfig, folder) as toll:
            for app, source in sources.items():
                scene.done(toll, "sync", str(source), "--app", app, "-n", app, "--create-namespace", "--yes")
                if app == "held":
                    shop(held, one=named("one", "red"))
                scene.done(toll, "plan", app, "--out", f"{app}.plan")
                if app == "going":
                    toll.strike(is_write, 4, scene.kill)
                    assert scene.call(toll, ("delete", app, "--yes")).code < 0
                    scene.bury(toll)
        shop(broken, one=named("one") + "other: [")
        shutil.rmtree(origin)
        yield found


def heard_of(
    scene: Scene, worlds: Worlds, app: str, verbs: Iterable[str], *, held: bool, **around: Any
) -> Iterator[tuple[str, Heard]]:
    """What verbs say of an app, one after another in a world of their own."""
    with worlds.passing() as kubeconfig, Toll(kubeconfig, scene.folder) as toll:
        leases = f"/apis/coordination.k8s.io/v1/namespaces/{scene.records}/leases"
        for lease in toll.read(leases)["items"] if held else ():
            toll.read(f"{leases}/{lease['metadata']['name']}", patch={"spec": BOB})
        for verb in verbs:
            words = tuple(word.format(app=app) for word in CALLS[verb])
            yield verb, scene.call(toll, words, **around)


def wrong(
    scene: Scene,
    worlds: Worlds,
    app: str,
    table: dict[str, tuple[int, str]],
    *,
    held: bool = False,
    **around: Any,
) -> dict[str, Heard]:
    """The verbs that do not say what they should, in one sentence."""
    found = {}
    for verbs in (LOOKING, *((verb,) for verb in sorted(set(table) - set(LOOKING)))):
        for verb, heard in heard_of(scene, worlds, app, verbs, held=held, **around):
            said, (code, words) = heard.out + heard.err, table[verb]
            sentences = said.count("Error:") == (code in {2, 3, 4})
            if not (heard.code == code and words in said and sentences and "Traceback" not in said):
                found[verb] = heard
    return found


@pytest.mark.timeout(300)
def test_an_app_that_was_deleted_half_way(scene: Scene, worlds: Worlds) -> None:
    assert wrong(scene, worlds, "going", HALF_DELETED, columns=40) == {}


@pytest.mark.timeout(300)
def test_an_app_whose_repository_is_gone(scene: Scene, worlds: Worlds) -> None:
    assert wrong(scene, worlds, "adrift", WITHOUT_REPOSITORY, encoding="iso-8859-1") == {}


@pytest.mark.timeout(300)
def test_an_app_whose_files_are_broken(scene: Scene, worlds: Worlds) -> None:
    assert wrong(scene, worlds, "broken", WITH_BROKEN_FILES) == {}


@pytest.mark.timeout(300)
def test_an_app_that_somebody_else_works_on(scene: Scene, worlds: Worlds) -> None:
    assert wrong(scene, worlds, "held", HELD_ELSEWHERE, held=True, until="works on this app") == {}


def test_every_verb_has_met_every_trouble() -> None:
    tried = {name: {*table, *OF_NO_APP} for name, table in TABLES.items()}
    assert tried == {name: set(VERBS) for name in TABLES}
