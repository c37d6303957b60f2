"""The main job: what a folder or a repository declares becomes what a cluster runs."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.committing import git
from tests.features.conftest import Person

ROOT = Path(__file__).parents[2]
SETTINGS = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {colour: blue}
"""
WEB = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {argocd.argoproj.io/sync-wave: "1"}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "registry.example/web:1"}]}
"""
MIGRATION = """
apiVersion: batch/v1
kind: Job
metadata: {name: migrate, annotations: {argocd.argoproj.io/hook: PreSync}}
spec:
  template:
    spec: {restartPolicy: Never, containers: [{name: migrate, image: "registry.example/migrate:1"}]}
"""


def shop(folder: Path, **files: str) -> Path:
    """A folder with these files."""
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text)
    return folder


def actions(person: Person, *arguments: str) -> list[tuple[str, str]]:
    """What a plan would do, by kind."""
    told = person.trimtab("plan", *arguments, "-o", "json")
    assert told.code == 0, told.err
    return [(step["action"], step["object"]["kind"]) for step in told.json["steps"]]


def test_a_folder_is_planned_synced_in_waves_and_becomes_healthy(person: Person, tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop", settings=SETTINGS, web=WEB, migration=MIGRATION)
    asked = (str(folder), "-n", person.namespace, "--create-namespace")
    wanted = [
        ("create namespace", "Namespace"),
        ("run hook", "Job"),
        ("apply", "ConfigMap"),
        ("apply", "Deployment"),
    ]
    assert actions(person, *asked) == wanted
    assert person.trimtab("status", "-o", "json").json == []  # a plan leaves nothing behind

    told = person.trimtab("sync", *asked)
    assert (told.code, told.out.splitlines()[-1].split(" at ")[0]) == (0, "shop is Synced and Healthy")
    synced = [line.split()[0] for line in told.err.splitlines() if " Synced: " in line]
    assert synced == ["Namespace", "Job.batch", "ConfigMap", "Deployment.apps"]
    assert person.kubectl("get", "deployment", "web", "-o", "jsonpath={.status.availableReplicas}") == "2"

    (listed,) = person.trimtab("status", "-o", "json").json
    assert (listed["app"], listed["sync"], listed["health"]) == ("shop", "Synced", "Healthy")


def test_drift_is_seen_and_healed(person: Person, tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop", settings=SETTINGS)
    asked = (str(folder), "-n", person.namespace)
    assert person.trimtab("sync", *asked, "--create-namespace").code == 0
    assert actions(person, "shop") == []
    person.kubectl("patch", "configmap", "settings", "--type=merge", "-p", '{"data":{"colour":"red"}}')

    now = person.trimtab("status", "shop", "-o", "json").json
    assert (now["sync"], [each["status"] for each in now["resources"]]) == ("OutOfSync", ["OutOfSync"])
    assert actions(person, "shop") == [("apply", "ConfigMap")]
    assert person.trimtab("sync", "shop").code == 0
    assert person.kubectl("get", "configmap", "settings", "-o", "jsonpath={.data.colour}") == "blue"


@pytest.mark.parametrize("person", ["embedded"], indirect=True)
def test_what_lies_beside_the_manifests_may_be_of_any_size(person: Person, tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop", settings=SETTINGS)
    with (folder / "disk.img").open("wb") as image:
        image.truncate(1 << 40)
    told = person.trimtab("sync", str(folder), "-n", person.namespace, "--create-namespace")
    assert told.code == 0, told.err

    (folder / "disk.img").rename(folder / "disk.yaml")
    refused = person.trimtab("plan", "shop")
    assert (refused.code, refused.out) == (2, "")
    assert "file 'disk.yaml': it is larger than 512 MiB. Move it out of the folder." in refused.err


def test_what_is_no_longer_declared_goes_only_when_asked(person: Person, tmp_path: Path) -> None:
    more = SETTINGS.replace("settings", "more")
    folder = shop(tmp_path / "shop", settings=SETTINGS, more=more)
    assert person.trimtab("sync", str(folder), "-n", person.namespace, "--create-namespace").code == 0
    (folder / "more.yaml").write_text("colour: red\n")
    left_out = "more.yaml holds no manifest and was left out"
    assert person.trimtab("plan", "shop").err.splitlines() == [f"warning: its source: {left_out}."]
    (told,) = person.trimtab("status", "shop", "-o", "json").json["conditions"]
    assert (told["type"], told["message"]) == ("SourceWarning", left_out)
    (folder / "more.yaml").unlink()
    assert actions(person, "shop") == [("keep", "ConfigMap")]
    assert person.trimtab("sync", "shop").code == 0
    assert "configmap/more" in person.kubectl("get", "configmaps", "-o", "name")

    assert person.trimtab("sync", "shop", "--prune").code == 0
    assert "configmap/more" not in person.kubectl("get", "configmaps", "-o", "name")


def test_a_bad_commit_that_would_delete_most_of_an_app_is_held(person: Person, tmp_path: Path) -> None:
    many = {f"c{number}": SETTINGS.replace("settings", f"settings-{number}") for number in range(12)}
    folder = shop(tmp_path / "shop", settings=SETTINGS, **many)
    assert person.trimtab("sync", str(folder), "-n", person.namespace, "--create-namespace").code == 0
    for name in many:
        (folder / f"{name}.yaml").unlink()

    held = person.trimtab("sync", "shop", "--prune", "--yes")
    assert held.code == 2
    assert "12 deletions need consent: 12 of 13 objects would be deleted" in held.err
    assert "configmap/settings-0" in person.kubectl("get", "configmaps", "-o", "name")
    assert person.trimtab("sync", "shop", "--prune", "--yes", "--confirm-deletions").code == 0
    assert "configmap/settings-0" not in person.kubectl("get", "configmaps", "-o", "name")


def test_another_folder_of_the_same_name_is_another_app(person: Person, tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    first = shop(tmp_path / "one" / "deploy", settings=SETTINGS)
    second = shop(tmp_path / "two" / "deploy", more=SETTINGS.replace("settings", "more"))
    asked = ("-n", person.namespace, "--create-namespace", "--prune")
    assert person.trimtab("sync", str(first), *asked).code == 0

    refused = person.trimtab("sync", str(second), *asked)
    assert (refused.code, refused.out) == (2, "")
    assert f"app deploy: this app comes from {first}, not from {second}" in refused.err
    with person.at_terminal("sync", str(second), "--app", "deploy", *asked, columns=200) as terminal:
        terminal.until("Do this? [y/N]: ")
        terminal.enter("n")
        terminal.end()
    moves = f"warning: this moves deploy from {first} to {second}"
    assert terminal.screen.text()[0] == moves, "whoever reads the plan knows it already"
    moved = person.trimtab("sync", str(second), "--app", "deploy", *asked)
    assert (moved.code, moved.err.splitlines()[0]) == (0, moves)
    assert "configmap/settings" not in person.kubectl("get", "configmaps", "-o", "name")

    other = f"{person.namespace}-other"
    elsewhere = person.trimtab("plan", str(second), "--app", "deploy", "-n", other, "--create-namespace")
    moves = f"warning: this moves deploy from namespace {person.namespace} to namespace {other}"
    assert (elsewhere.code, elsewhere.err.splitlines()[0]) == (0, moves)


def test_an_automated_app_is_moved_to_another_source_only_by_whoever_says_so(
    person: Person, tmp_path: Path
) -> None:
    origin = tmp_path / "origin"
    origin.mkdir()
    shop(origin / "old", settings=SETTINGS)
    here = shop(origin / "new", settings=SETTINGS.replace("blue", "red"))
    git(origin, "init", "--initial-branch=main")
    git(origin, "add", ".")
    git(origin, "commit", "-m", "Two shops")
    url, allowed = f"file://{origin}", {"TRIMTAB_REPOSITORIES__ALLOW_SCHEMES": "https,ssh,file"}
    old, new = (("--app", "shop", "--path", path) for path in ("old", "new"))
    where = ("-n", person.namespace, "--create-namespace", "--auto")
    assert person.trimtab("sync", url, *old, *where, **allowed).code == 0

    def colour() -> str:
        return person.kubectl("get", "configmap", "settings", "-o", "jsonpath={.data.colour}")

    moves = f"warning: this moves shop, which is automated, from {url} at HEAD, old to {url} at HEAD, new"
    planned = person.trimtab("plan", url, *new, **allowed)
    assert (planned.code, planned.err.splitlines()) == (0, [moves]), "looking is free"
    assert person.trimtab("sync", url, *new, "--dry-run", **allowed).err.splitlines() == [moves]
    assert person.trimtab("diff", str(here), "--app", "shop").code == 1
    would = f"it is automated, and this would move it from {url} at HEAD, old to {url} at HEAD, new"
    for refused in (
        person.trimtab("sync", url, *new, "--yes", **allowed),
        person.trimtab("plan", url, *new, "--out", str(tmp_path / "shop.plan"), **allowed),
    ):
        assert (refused.code, refused.out) == (2, "")
        assert refused.err == f"Error: app shop: {would}. Add --move if it shall.\n"
    assert (colour(), (tmp_path / "shop.plan").exists()) == ("blue", False)

    lost = person.trimtab("sync", str(here), "--app", "shop", "--yes", "--move")
    assert (lost.code, "a runner cannot follow a folder of your machine" in lost.err) == (2, True)
    moved = person.trimtab("sync", url, *new, "--yes", "--move", **allowed)
    assert (moved.code, moved.err.splitlines()[0], colour()) == (0, moves, "red")


def test_what_somebody_else_manages_is_refused_and_named(person: Person, tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop", settings=SETTINGS)
    asked = (str(folder), "-n", person.namespace, "--create-namespace")
    assert person.trimtab("sync", *asked).code == 0
    told = person.trimtab("sync", *asked, "--app", "other")
    assert (told.code, told.out) == (2, "")
    assert f"ConfigMap {person.namespace}/settings: it is managed by trimtab" in told.err


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL])
def test_a_sync_that_was_stopped_is_finished_by_the_next(
    person: Person, tmp_path: Path, ending: signal.Signals
) -> None:
    # A gate that only a person opens: the Job waits until it is no longer suspended.
    gate = MIGRATION.replace("spec:\n  template", "spec:\n  suspend: true\n  template", 1)
    folder = shop(tmp_path / "shop", settings=SETTINGS, migration=gate)
    with person.begun("sync", str(folder), "-n", person.namespace, "--create-namespace") as process:
        assert process.stderr is not None
        told = [next(line for line in process.stderr if line.startswith("waiting"))]
        process.send_signal(ending)
        told += process.stderr.readlines()
        code = process.wait()
    stopped = "Stopped. What was begun goes on with: trimtab sync shop\n"
    assert (code, stopped in told) == {signal.SIGINT: (130, True), signal.SIGKILL: (-9, False)}[ending]

    before = person.kubectl("get", "job", "migrate", "-o", "jsonpath={.metadata.uid}")
    assert person.trimtab("status", "shop").code == 0  # looking does not go on with it
    assert "configmap/settings" not in person.kubectl("get", "configmaps", "-o", "name")
    person.kubectl("patch", "job", "migrate", "--type=merge", "-p", '{"spec":{"suspend":false}}')
    finished = person.trimtab("sync", "shop")
    assert finished.code == 0, finished.err
    assert "An earlier sync of this app was not seen through" in finished.err
    assert [line.split(" at ")[0] for line in finished.out.splitlines()] == ["shop is Synced and Healthy"]
    assert "configmap/settings" in person.kubectl("get", "configmaps", "-o", "name")
    assert person.kubectl("get", "job", "migrate", "-o", "jsonpath={.metadata.uid}") == before


def test_at_a_terminal_a_sync_asks_draws_its_waves_in_place_and_can_be_stopped(
    person: Person, tmp_path: Path
) -> None:
    gate = MIGRATION.replace("spec:\n  template", "spec:\n  suspend: true\n  template", 1)
    folder = shop(tmp_path / "shop", settings=SETTINGS, migration=gate, web=WEB)
    asked = ("sync", str(folder), "-n", person.namespace, "--create-namespace")
    with person.at_terminal(*asked) as terminal:
        terminal.until("2 apply, 1 create namespace, 1 run hook. Do this? [y/N]: ")
        terminal.enter("n")
        assert terminal.end() == 130
    assert person.trimtab("status", "-o", "json").json == []

    with person.at_terminal(*asked, columns=60) as terminal:
        terminal.until("[y/N]: ")
        terminal.enter("y")
        terminal.until("waiting for completion")
        terminal.interrupt()
        assert terminal.end() == 130
    shown = terminal.screen.text()
    first, *rest = shown[next(row for row, line in enumerate(shown) if "PreSync wave 0 " in line) :]
    assert first == "● PreSync wave 0       2 of 2  waiting for completion of h…"
    assert [line for line in rest if line.startswith("·")] == [
        "· Sync wave 0          0 of 1",
        "· Sync wave 1          0 of 1",
    ]
    assert shown[-2:] == ["Stopped. What was begun goes on with: trimtab sync shop", ""]

    told = person.trimtab("sync", "shop", "--timeout", "5")
    assert (told.code, told.out) == (4, "")
    held = f"its sync has waited 5 s for completion of hook Job.batch {person.namespace}/migrate"
    assert f"app shop: {held}. It goes on with: trimtab sync shop" in told.err
    person.kubectl("patch", "job", "migrate", "--type=merge", "-p", '{"spec":{"suspend":false}}')
    assert person.trimtab("sync", "shop", "--no-wait").code == 0


def test_what_was_agreed_to_is_not_finished_with_other_files(person: Person, tmp_path: Path) -> None:
    gate = MIGRATION.replace("spec:\n  template", "spec:\n  suspend: true\n  template", 1)
    folder = shop(tmp_path / "shop", settings=SETTINGS, migration=gate)
    with person.begun("sync", str(folder), "-n", person.namespace, "--create-namespace") as process:
        assert process.stderr is not None
        next(line for line in process.stderr if line.startswith("waiting"))
    (folder / "migration.yaml").unlink()

    refused = person.trimtab("sync", "shop")
    assert refused.code == 2
    assert "its folder no longer holds what was agreed to" in refused.err
    assert "configmap/settings" not in person.kubectl("get", "configmaps", "-o", "name")
    assert person.trimtab("sync", "shop").code == 0
    assert "configmap/settings" in person.kubectl("get", "configmaps", "-o", "name")


def test_a_branch_of_a_repository_is_synced(person: Person, tmp_path: Path) -> None:
    origin = tmp_path / "origin"
    shop(origin, settings=SETTINGS)

    git(origin, "init", "--initial-branch=main")
    git(origin, "add", ".")
    git(origin, "commit", "-m", "A shop")
    allowed = {"TRIMTAB_REPOSITORIES__ALLOW_SCHEMES": "https,ssh,file"}
    asked = (f"file://{origin}", "-n", person.namespace, "--create-namespace", "--revision", "main")
    told = person.trimtab("sync", *asked, **allowed)
    assert told.code == 0, told.err
    commit = git(origin, "rev-parse", "HEAD")
    assert told.out.splitlines()[-1] == f"origin is Synced and Healthy at {commit}"


def test_mistakes_are_one_sentence_and_an_exit_code(person: Person, tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "web.yaml").write_text("kind: [")
    mistakes = {
        ("status", "nobody"): (3, "app nobody: there is no such app."),
        ("sync", "nobody"): (3, "app nobody: there is no such app, nor a folder of this name."),
        ("plan", "./nowhere"): (2, "source ./nowhere: there is no such folder."),
        ("plan", "./broken"): (2, "web.yaml"),
        ("status", "--context", "nowhere"): (3, "nowhere"),
    }
    for arguments, (code, sentence) in mistakes.items():
        told = person.trimtab(*arguments)
        assert (told.code, told.out) == (code, ""), arguments
        assert sentence in told.err
        assert len(told.err.splitlines()) == 1


@pytest.mark.parametrize("person", [pytest.param("real", marks=pytest.mark.real)], indirect=True)
def test_the_first_success_in_the_readme_is_true_on_a_real_cluster_too(person: Person) -> None:
    readme = (ROOT / "README.md").read_text()
    asked = ("sync", str(ROOT / "examples" / "shop"), "-n", person.namespace, "--create-namespace")
    told = person.trimtab(*asked)
    assert told.code == 0, told.err
    shown = [line.replace(person.namespace, "shop").split() for line in told.out.splitlines()]
    promised = [line.split() for line in readme.splitlines()]
    # The first line and the last one carry digests of what is there.
    assert all(line in promised for line in shown[1:-1])
    assert shown[-1][:5] == ["shop", "is", "Synced", "and", "Healthy"]
