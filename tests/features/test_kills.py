"""Every verb is really killed, by kill -9, on its way: another process goes on, or refuses in one sentence.

A verb that writes dies when its n-th write has been answered and before it hears so; then the same verb is
called again, and all is as if nobody had died. A verb that only looks dies half-way, and leaves nothing.
`make judge-kills` tries every write; here they are a few, spread over the whole way.
"""

from __future__ import annotations

import secrets
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from testbed.controlplane import ControlPlane
from testbed.toll import Toll, is_any, is_write
from tests.committing import git
from tests.features.calling import Caller, Heard
from tests.features.scenes import Scene, named
from tests.features.test_sync import MIGRATION, shop
from tests.features.worlds import Worlds
from trimtab.interfaces.cli.verbs import VERBS

GATE = MIGRATION.replace("spec:\n  template", "spec:\n  suspend: true\n  template", 1)
#: how many of a verb's writes are tried as its last
A_FEW, ALL = 2, 1000


class Story(Struct, frozen=True, kw_only=True):
    """A verb that is killed, and what is called then."""

    words: tuple[str, ...]
    #: done before, in the same world
    before: tuple[tuple[str, ...], ...] = ()
    #: what the next one may say instead of succeeding, because there is nothing left to do
    refusal: str = ""
    #: done afterwards: what only waits for the app's next operation to be tidied up is tidied up by that
    then: tuple[tuple[str, ...], ...] = ()


#: verbs that write to a cluster; {shop} is a folder that has changed since `web` was synced
WRITING = {
    "apply": Story(words=("apply", "{plan}", "--yes")),
    "delete": Story(words=("delete", "web", "--yes"), refusal="app web: there is no such app"),
    "delete --abandon": Story(
        words=("delete", "web", "--abandon", "--yes"), refusal="app web: there is no such app"
    ),
    "install": Story(words=("install", "--apply", "--yes", "-n", "runners")),
    "install --remove": Story(
        words=("install", "--remove", "--yes", "-n", "runners"),
        before=(("install", "--apply", "--yes", "-n", "runners"),),
    ),
    "pause": Story(words=("pause", "web", "--reason", "lunch")),
    "resume": Story(words=("resume", "web"), before=(("pause", "web"),)),
    "rollback": Story(words=("rollback", "web", "1", "--prune", "--yes")),
    "sync": Story(words=("sync", "web", "--prune", "--yes")),
    "sync of a new app": Story(
        words=("sync", "{shop}", "--app", "new", "-n", "new", "--create-namespace", "--yes")
    ),
    "terminate": Story(
        words=("terminate", "stuck"),
        refusal="app stuck: no operation is under way",
        then=(("delete", "stuck", "--yes"),),
    ),
}
#: verbs that only look, and the answer that comes too late: in the middle of what they ask
LOOKING = {
    "diff": (("diff", "web"), 8),
    "doctor": (("doctor",), 5),
    "history": (("history", "web"), 3),
    "plan": (("plan", "web"), 8),
    "status": (("status", "web"), 8),
    "tree": (("tree", "web"), 20),
    "wait": (("wait", "web", "--for", "degraded"), 8),
    "why": (("why", "web"), 20),
}
#: verbs that ask no cluster, and what they say; {repository} was never fetched before
ALONE = {
    "completion": (("completion", "fish"), "trimtab"),
    "health": (("health", "-f", "{shop}/one.yaml"), "ConfigMap"),
    "render": (("render", "{repository}", "--app", "web"), "kind: ConfigMap"),
    "settings": (("settings",), "apps.namespace"),
    "version": (("version",), "trimtab"),
}
#: the cluster in memory is killed below; `run` and `demo` are killed in their own stories
ELSEWHERE = {"cluster", "demo", "run"}


def standing(toll: Toll, scene: Scene) -> dict[str, Any]:
    """How a cluster stands, without what differs between two runs of the same story."""
    found: dict[str, Any] = {}
    for path in ("/api/v1/configmaps", "/apis/batch/v1/jobs", "/apis/apps/v1/deployments"):
        for each in toll.read(path)["items"]:
            meta = each["metadata"]
            owner = meta.get("annotations", {}).get("trimtab.dev/owner", "").partition("/")[2]
            found[f"{path} {meta['namespace']}/{meta['name']}"] = (each.get("data"), owner)
    secrets_ = toll.read(f"/api/v1/namespaces/{scene.records}/secrets")["items"]
    found["records"] = sorted(each["metadata"]["name"] for each in secrets_)
    apps = scene.call(toll, ("status", "-o", "json")).json
    found["apps"] = [(each["app"], each["sync"], each["health"], bool(each["held"])) for each in apps]
    return found


def assert_refused(told: Heard, refusal: str, at: str) -> None:
    """One sentence says why nothing is done."""
    assert refusal, f"{at}: {told}"
    (line,) = told.err.splitlines()
    assert (told.code in {2, 3}, line.startswith(f"Error: {refusal}")) == (True, True), told


@pytest.fixture(scope="module")
def scene(caller: Caller, tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return Scene(caller, tmp_path_factory.mktemp("kills"))


@pytest.fixture(scope="module")
def worlds(scene: Scene) -> Iterator[Worlds]:
    """A cluster with an app that has a history and is out of date, and one whose sync was left half-way."""
    with Worlds(scene.folder) as found:
        with found.lasting() as kubeconfig, Toll(kubeconfig, scene.folder) as toll:
            asked = ("sync", str(scene.shop), "--app", "web", "-n", "web", "--create-namespace", "--yes")
            scene.done(toll, *asked)
            shop(scene.shop, one=named("one", "red"), three=named("three"))
            scene.done(toll, "sync", "web", "--yes")
            (scene.shop / "two.yaml").unlink()
            shop(scene.shop, one=named("one", "green"), four=named("four"))
            scene.done(toll, "plan", "web", "--prune", "--out", str(scene.plan))
            stuck = str(shop(scene.folder / "stuck", gate=GATE, after=named("after")))
            left = ("sync", stuck, "-n", "stuck", "--create-namespace", "--yes")
            assert scene.call(toll, left, until="waiting").code == 130
        yield found


def spread(writes: int, few: int) -> list[int]:
    """So many of the writes, evenly over the whole way."""
    few = min(few, writes)
    return [round(each * (writes + 1) / (few + 1)) for each in range(1, few + 1)]


def tried(scene: Scene, worlds: Worlds, story: Story, few: int) -> None:
    """Tell a story undisturbed, and then with its hero dying at one write after another."""
    wanted, writes = undisturbed(scene, worlds, story)
    assert writes > 0
    for number in spread(writes, few):
        with worlds.passing() as kubeconfig, Toll(kubeconfig, scene.folder) as toll:
            for each in story.before:
                scene.done(toll, *each)
            toll.strike(is_write, number, scene.kill)
            died = scene.call(toll, story.words)
            assert (died.code == -signal.SIGKILL) == (len(toll.passed) >= number), (number, died)
            at = f"killed after write {number}: {toll.passed[-1]}"
            scene.bury(toll)
            again = scene.seen_through(toll, story.words)
            if again.code != 0:
                assert_refused(again, story.refusal, at)
            for each in story.then:
                scene.done(toll, *each)
            assert standing(toll, scene) == wanted, (at, again.err)


def undisturbed(scene: Scene, worlds: Worlds, story: Story) -> tuple[dict[str, Any], int]:
    """How the world stands after a story in which nobody dies, and the writes that it took."""
    with worlds.passing() as kubeconfig, Toll(kubeconfig, scene.folder) as toll:
        for each in story.before:
            scene.done(toll, *each)
        toll.strike(is_write, 0, scene.kill)
        scene.done(toll, *story.words)
        writes = len(toll.passed)
        for each in story.then:
            scene.done(toll, *each)
        return standing(toll, scene), writes


@pytest.mark.timeout(300)
@pytest.mark.parametrize("story", WRITING.values(), ids=WRITING)
def test_whoever_is_killed_at_a_write_is_succeeded(scene: Scene, worlds: Worlds, story: Story) -> None:
    tried(scene, worlds, story, A_FEW)


@pytest.mark.judge
@pytest.mark.timeout(1800)  # on a starved machine, too
@pytest.mark.parametrize("story", WRITING.values(), ids=WRITING)
def test_whoever_is_killed_at_any_write_is_succeeded(scene: Scene, worlds: Worlds, story: Story) -> None:
    tried(scene, worlds, story, ALL)


def traces(toll: Toll, scene: Scene) -> tuple[list[str], list[str]]:
    """Everything that somebody may have left behind: objects of the records by their version, and files."""
    paths = (f"/api/v1/namespaces/{scene.records}/secrets", "/apis/coordination.k8s.io/v1/leases")
    met = [each["metadata"] for path in paths for each in toll.read(path)["items"]]
    objects = [f"{each['name']} {each['resourceVersion']}" for each in met]
    return objects, sorted(str(each) for each in scene.folder.rglob("*"))


def test_whoever_is_killed_while_looking_leaves_nothing(scene: Scene, worlds: Worlds) -> None:
    with worlds.passing() as kubeconfig, Toll(kubeconfig, scene.folder) as toll:
        before = traces(toll, scene)
        for words, number in LOOKING.values():
            toll.strike(is_any, number, scene.kill)
            assert scene.call(toll, words).code == -signal.SIGKILL, (words, toll.passed)
            assert traces(toll, scene) == before, words


def test_whoever_is_killed_while_storing_a_plan_leaves_none_or_a_whole_one(
    scene: Scene, worlds: Worlds
) -> None:
    file, counter = scene.folder / "kept.plan", scene.folder / "asked"
    words = ("plan", "web", "--prune", "--out", str(file))
    with worlds.passing() as kubeconfig, Toll(kubeconfig, scene.folder) as toll:
        whole = scene.call(toll, words, asked=str(counter))
        asked = int(counter.read_text())
        assert whole.code == 0, whole.err
        for number in (*spread(asked, A_FEW), *range(asked - 3, asked + 1)):
            file.unlink(missing_ok=True)
            died = scene.call(toll, words, asked=str(counter), dies_before=number)
            # How often it asks depends on how quickly it is answered.
            code = -signal.SIGKILL if int(counter.read_text()) >= number else 0
            assert died.code == code, (number, died)
            left = scene.call(toll, ("apply", str(file), "--dry-run"))
            assert left.code == (0 if file.exists() else 3), (number, left)
            assert scene.call(toll, words) == whole
            assert scene.call(toll, ("apply", str(file), "--dry-run")).code == 0
    file.unlink()


def test_whoever_is_killed_while_the_first_plan_records_the_installation_is_succeeded(
    scene: Scene, worlds: Worlds
) -> None:
    file, first = scene.folder / "first.plan", {"TRIMTAB_APPS__NAMESPACE": "first-records"}
    words = ("plan", "{shop}", "--app", "new", "-n", "new", "--create-namespace", "--out", str(file))
    for number in (1, 2):
        with worlds.passing() as kubeconfig, Toll(kubeconfig, scene.folder) as toll:
            toll.strike(is_write, number, scene.kill)
            assert scene.call(toll, words, environment=first).code == -signal.SIGKILL, toll.passed
            assert not file.exists()
            scene.bury(toll)
            assert scene.call(toll, words, environment=first).code == 0
            applied = scene.call(toll, ("apply", str(file), "--yes"), environment=first)
            assert (applied.code, "new is Synced and Healthy" in applied.out) == (0, True), applied
            file.unlink()


def counted(scene: Scene, home: Path, words: tuple[str, ...], dies_before: int = 0) -> tuple[Heard, int]:
    """What a verb says that asks no cluster, and how often it asked the machine for something."""
    counter = scene.folder / "asked"
    heard = scene.call_with(
        Path("/nowhere"),
        words,
        environment={"HOME": str(home)},
        dies_before=dies_before,
        asked=str(counter),
    )
    return heard, int(counter.read_text() or "0")


@pytest.mark.parametrize(("words", "says"), ALONE.values(), ids=ALONE)
def test_whoever_is_killed_without_a_cluster_is_succeeded(
    scene: Scene, tmp_path: Path, words: tuple[str, ...], says: str
) -> None:
    repository = shop(tmp_path / "repository", one=named("one"))
    for each in (("init",), ("add", "."), ("commit", "--message", "A shop")):
        git(repository, *each)
    spelt = tuple(word.replace("{repository}", f"file://{repository}") for word in words)
    whole, asked = counted(scene, home_in(tmp_path, "whole"), spelt)
    assert (whole.code, says in whole.out) == (0, True), whole
    for number in spread(asked, A_FEW):
        home = home_in(tmp_path, f"home-{number}")
        died, times = counted(scene, home, spelt, dies_before=number)
        # How often it asks depends on how quickly its programs answer: it may be done before it is to die.
        code = -signal.SIGKILL if times >= number else 0
        assert (died.code, died.out in {"", whole.out}) == (code, True), (number, times, died)
        assert counted(scene, home, spelt)[0] == whole


def home_in(folder: Path, name: str) -> Path:
    """A fresh home."""
    home = folder / name
    home.mkdir()
    return home


def processes_of(home: Path) -> list[str]:
    """The clusters whose state is in a home, by where they write their log."""
    found = []
    for each in Path("/proc").glob("[0-9]*/fd/1"):
        with suppress(OSError):  # it has just ended
            log = str(each.readlink())
            found += [log] if log.startswith(f"{home}/") else []
    return found


UP, DOWN, STATUS = (("cluster", word) for word in ("up", "down", "status"))


def started(scene: Scene, home: Path, number: int) -> None:
    """Start a cluster after somebody has died at starting one: there is that one and no other."""
    assert counted(scene, home, UP, dies_before=number)[0].code == -signal.SIGKILL
    again = counted(scene, home, UP)[0]
    assert (again.code, "The cluster is up" in again.out) == (0, True), (number, again)
    assert len(processes_of(home)) == 1, number
    assert counted(scene, home, STATUS)[0].code == 0, number


def assert_down(home: Path) -> None:
    """Nothing is left of a cluster but its log."""
    left = {each.name for each in (home / ".local/state/trimtab/cluster").iterdir()}
    assert (processes_of(home), left) == ([], {"lock", "log.txt"})


@pytest.mark.timeout(300)
def test_whoever_is_killed_while_starting_or_stopping_a_cluster_is_succeeded(
    scene: Scene, tmp_path: Path
) -> None:
    steps = counted(scene, home := home_in(tmp_path, "whole"), UP)[1]
    whole, asked = counted(scene, home, DOWN)
    assert whole.code == 0, whole.err
    early, late = spread(steps, A_FEW)

    started(scene, home := home_in(tmp_path, "early"), early)
    assert counted(scene, home, DOWN, dies_before=1)[0].code == -signal.SIGKILL
    assert counted(scene, home, STATUS)[0].code == 0, "it has not begun"
    assert counted(scene, home, DOWN, dies_before=asked)[0].code == -signal.SIGKILL
    assert_refused(counted(scene, home, STATUS)[0], "cluster: none is running", "it is down")
    assert_down(home)
    started(scene, home := home_in(tmp_path, "late"), late)
    assert counted(scene, home, DOWN)[0] == whole
    assert_down(home)


@pytest.mark.judge
@pytest.mark.timeout(1800)  # on a starved machine, too
def test_whoever_is_killed_anywhere_while_starting_a_cluster_is_succeeded(
    scene: Scene, tmp_path: Path
) -> None:
    steps = counted(scene, tmp_path, UP)[1]
    assert counted(scene, tmp_path, DOWN)[0].code == 0
    for number in range(1, steps + 1):
        started(scene, home := home_in(tmp_path, f"home-{number}"), number)
        assert counted(scene, home, DOWN)[0].code == 0
        assert_down(home)


def test_every_verb_is_killed_somewhere() -> None:
    writing = {story.words[0] for story in WRITING.values()}
    killed = writing | {words[0] for words, _ in (*LOOKING.values(), *ALONE.values())}
    assert set(VERBS) - killed == ELSEWHERE


@pytest.mark.real
@pytest.mark.timeout(300)
def test_whoever_is_killed_on_a_real_cluster_is_succeeded(
    caller: Caller, control_plane: ControlPlane, tmp_path: Path
) -> None:
    space = f"kill-{secrets.token_hex(4)}"
    scene = Scene(caller, tmp_path, records=f"{space}-records")

    def died_and_again(toll: Toll, number: int, *words: str, refusal: str = "") -> None:
        toll.strike(is_write, number, scene.kill)
        assert scene.call(toll, words).code == -signal.SIGKILL, toll.passed
        scene.bury(toll)
        again = scene.call(toll, words)
        if again.code != 0:
            assert_refused(again, refusal, " ".join(words))

    with Toll(control_plane.kubeconfig, tmp_path) as toll:

        def colours() -> dict[str, str]:
            found = toll.read(f"/api/v1/namespaces/{space}/configmaps")["items"]
            ours = [each for each in found if each["metadata"]["name"] != "kube-root-ca.crt"]
            return {each["metadata"]["name"]: each["data"]["colour"] for each in ours}

        (scene.shop / "migration.yaml").unlink()
        scene.done(toll, "sync", "{shop}", "--app", "web", "-n", space, "--create-namespace", "--yes")
        (scene.shop / "two.yaml").unlink()
        shop(scene.shop, one=named("one", "red"))
        scene.done(toll, "plan", "web", "--prune", "--out", "{plan}")
        died_and_again(toll, 6, "apply", "{plan}", "--yes")
        assert colours() == {"one": "red"}

        died_and_again(toll, 1, "pause", "web")
        died_and_again(toll, 1, "resume", "web")
        died_and_again(toll, 7, "rollback", "web", "1", "--yes")
        assert colours() == {"one": "blue", "two": "blue"}
        scene.done(toll, "resume", "web")

        shop(scene.shop, gate=GATE)
        assert scene.call(toll, ("sync", "web", "--yes"), until="waiting").code == 130
        died_and_again(toll, 2, "terminate", "web", refusal="app web: no operation is under way")
        died_and_again(
            toll, 2, "delete", "web", "--abandon", "--yes", refusal="app web: there is no such app"
        )
        assert colours() == {"one": "blue", "two": "blue"}

        install = ("install", "-n", f"{space}-run", "--scope", f"namespaces={space}", "--apply", "--yes")
        died_and_again(toll, 4, *install)
    for each in ("", "-records", "-run"):
        control_plane.call("DELETE", f"/api/v1/namespaces/{space}{each}")
