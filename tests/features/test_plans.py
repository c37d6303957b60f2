"""Plans that are kept, sent around and carried out later, and plans of what a pull request changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.committing import git
from tests.features.conftest import Person
from tests.features.scenes import named
from tests.features.test_remedies import STUCK
from tests.features.test_sync import SETTINGS, shop


def test_a_stored_plan_is_applied_unless_something_moved(person: Person, tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop", settings=SETTINGS)
    asked = (str(folder), "-n", person.namespace, "--create-namespace")
    assert person.trimtab("sync", *asked).code == 0
    shop(folder, settings=SETTINGS.replace("blue", "red"))
    shown = person.trimtab("plan", "shop", "--out", "shop.plan", "-o", "markdown")
    assert shown.code == 0, shown.err
    assert f"| apply | `ConfigMap {person.namespace}/settings` | 0 | differs at /data/colour |" in shown.out

    person.kubectl("patch", "configmap", "settings", "--type=merge", "-p", '{"data":{"colour":"green"}}')
    refused = person.trimtab("apply", "shop.plan")
    assert refused.code == 2
    assert f"ConfigMap {person.namespace}/settings in Sync: it was changed in the cluster" in refused.err
    assert person.kubectl("get", "configmap", "settings", "-o", "jsonpath={.data.colour}") == "green"

    assert person.trimtab("plan", "shop", "--out", "shop.plan").code == 0
    done = person.trimtab("apply", "shop.plan")
    assert (done.code, done.out.splitlines()[-1].split(" at ")[0]) == (0, "shop is Synced and Healthy")
    assert person.kubectl("get", "configmap", "settings", "-o", "jsonpath={.data.colour}") == "red"


def test_a_plan_says_beforehand_that_its_namespace_is_missing(person: Person, tmp_path: Path) -> None:
    asked = (str(shop(tmp_path / "shop", settings=SETTINGS)), "-n", f"{person.namespace}-not")
    missing = f"namespace {person.namespace}-not: it is not there. Make the namespace"
    planned = person.trimtab("plan", *asked)
    assert (planned.code, missing in planned.err) == (0, True)
    planned = person.trimtab("plan", *asked, "--create-namespace")
    assert (planned.code, missing in planned.err) == (0, False)


IMMUTABLE = """apiVersion: v1
kind: ConfigMap
metadata: {name: fixed}
immutable: true
data: {colour: blue}
"""


def test_a_plan_says_beforehand_what_the_server_is_known_to_refuse(person: Person, tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop", fixed=IMMUTABLE)
    assert person.trimtab("sync", str(folder), "-n", person.namespace, "--create-namespace").code == 0
    shop(folder, fixed=IMMUTABLE.replace("blue", "red"))
    planned = person.trimtab("plan", "shop")
    refused = f"warning: ConfigMap {person.namespace}/fixed: the server refuses it: "
    assert (planned.code, refused in planned.err) == (0, True), planned
    assert "Put the field back, or have the object deleted and made anew" in planned.err
    assert "Correct the object" not in planned.err, "one remedy is enough"

    forced = "metadata: {name: fixed, annotations: {trimtab.dev/sync-options: Force=true}}"
    shop(folder, fixed=IMMUTABLE.replace("blue", "red").replace("metadata: {name: fixed}", forced))
    planned = person.trimtab("plan", "shop")
    assert (planned.code, refused in planned.err) == (0, False), planned
    assert person.trimtab("sync", "shop").code == 0


def test_a_dry_run_of_any_verb_shows_its_plan_and_changes_nothing(person: Person, tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop", settings=SETTINGS)
    asked = (str(folder), "-n", person.namespace, "--create-namespace")
    shown = person.trimtab("sync", *asked, "--dry-run")
    assert (shown.code, f"ConfigMap {person.namespace}/settings  missing" in shown.out) == (0, True)
    assert person.trimtab("status", "-o", "json").json == []

    assert person.trimtab("sync", *asked).code == 0
    shop(folder, settings=SETTINGS.replace("blue", "red"))
    planned = person.trimtab("plan", "shop", "--out", "shop.plan").out
    shown = person.trimtab("apply", "shop.plan", "--dry-run", "--yes")
    assert (shown.code, shown.out) == (0, planned)
    assert person.kubectl("get", "configmap", "settings", "-o", "jsonpath={.data.colour}") == "blue"

    assert person.trimtab("apply", "shop.plan").code == 0
    shown = person.trimtab("rollback", "shop", "--dry-run", "--yes")
    assert (shown.code, "differs at /data/colour" in shown.out) == (0, True)
    assert person.kubectl("get", "configmap", "settings", "-o", "jsonpath={.data.colour}") == "red"
    assert person.trimtab("status", "-o", "json").json[0]["held"] == ""


@pytest.mark.parametrize("person", ["embedded"], indirect=True)
def test_what_a_pull_request_changes_is_planned_without_a_cluster(person: Person, tmp_path: Path) -> None:
    origin = shop(tmp_path / "origin", settings=SETTINGS)

    def commit(branch: str) -> None:
        for arguments in (("checkout", "-B", branch), ("add", "."), ("commit", "-m", branch)):
            git(origin, *arguments)

    git(origin, "init")
    commit("main")
    shop(origin, more=SETTINGS.replace("settings", "more"))
    commit("fix")
    allowed = {"TRIMTAB_REPOSITORIES__ALLOW_SCHEMES": "https,ssh,file", "KUBECONFIG": "/nowhere"}
    asked = (f"file://{origin}", "--app", "shop", "-n", "shop", "--base", "main", "--head", "fix")
    told = person.trimtab("plan", *asked, "-o", "json", **allowed)
    assert told.code == 0, told.err
    assert [(step["action"], step["object"]["name"]) for step in told.json["steps"]] == [("apply", "more")]


@pytest.mark.parametrize("person", ["embedded"], indirect=True)
def test_of_several_stored_plans_none_is_begun_if_one_cannot_be_carried_out(
    person: Person, tmp_path: Path
) -> None:
    asked = ("-n", person.namespace, "--create-namespace")
    confirmed = named("asked").replace(
        "{name: asked}", "{name: asked, annotations: {trimtab.dev/sync-options: Prune=confirm}}"
    )
    stuck = STUCK.replace("finalizers:", 'annotations: {trimtab.dev/sync-wave: "1"}, finalizers:')
    files = {"one": {"a": named("a")}, "two": {"b": named("b"), "stuck": stuck, "asked": confirmed}}
    for app, declared in files.items():
        assert person.trimtab("sync", str(shop(tmp_path / app, **declared)), *asked).code == 0

    def colours() -> str:
        return person.kubectl("get", "configmaps", "a", "b", "-o", "jsonpath={.items[*].data.colour}")

    def refused(*more: str, says: str) -> None:
        told = person.trimtab("apply", "both.plan", "--yes", *more)
        assert (told.code, says in told.err, told.out) == (2, True, ""), told
        assert colours() == "blue blue"

    shop(tmp_path / "one", a=named("a", "red"))
    shop(tmp_path / "two", b=named("b", "red"))
    table = person.trimtab("plan", "./one", "./two")
    assert [line.split()[3] for line in table.out.splitlines() if line.startswith("plan ")] == ["one", "two"]
    listed = person.trimtab("plan", "one", "two", "-o", "json").json
    assert [(each["unit"], len(each["steps"])) for each in listed] == [("one", 1), ("two", 1)]
    shown = person.trimtab("plan", "one", "two", "-o", "markdown", "--out", "both.plan")
    assert shown.out.count("| apply | `ConfigMap ") == 2

    assert person.trimtab("pause", "two").code == 0
    refused(says="app two: it is paused by ann")
    assert person.trimtab("resume", "two").code == 0

    (tmp_path / "two" / "asked.yaml").unlink()
    assert person.trimtab("plan", "./one", "./two", "--prune", "--out", "both.plan").code == 0
    refused(says="app two: 1 deletion needs consent")

    assert person.trimtab("plan", "./one", "./two", "--out", "both.plan").code == 0
    assert person.trimtab("delete", "two", "--timeout", "1", "--confirm-deletions").code == 4
    refused(says="app two: somebody began to delete it")
    going = "somebody began to delete two; a sync is refused until that goes on with: trimtab delete two"
    for looking in (("plan", "./two"), ("sync", "./two", "--dry-run")):
        told = person.trimtab(*looking)
        assert (told.code, going in told.err) == (0, True), told


@pytest.mark.parametrize("person", ["embedded"], indirect=True)
def test_several_stored_plans_are_carried_out_one_after_the_other(person: Person, tmp_path: Path) -> None:
    for app in ("one", "two"):
        shop(tmp_path / app, settings=named(f"of-{app}"))
    asked = ("plan", "./one", "./two", "-n", person.namespace, "--out", "both.plan")
    refused = person.trimtab(*asked, "--create-namespace")
    both = f"Namespace {person.namespace}: the plans of one and two touch it"
    assert (refused.code, both in refused.err, (tmp_path / "both.plan").exists()) == (2, True, False)

    person.kubectl("create", "namespace", person.namespace)
    assert person.trimtab(*asked).code == 0
    done = person.trimtab("apply", "both.plan")
    ends = [line.split(" at ")[0] for line in done.out.splitlines() if " is " in line]
    assert (done.code, ends) == (0, ["one is Synced and Healthy", "two is Synced and Healthy"])


def test_at_a_terminal_several_stored_plans_are_all_shown_and_asked_for_once(
    person: Person, tmp_path: Path
) -> None:
    for app in ("one", "two"):
        shop(tmp_path / app, settings=named(f"of-{app}"))
    person.kubectl("create", "namespace", person.namespace)
    assert person.trimtab("plan", "./one", "./two", "-n", person.namespace, "--out", "both.plan").code == 0
    with person.at_terminal("apply", "both.plan", columns=120) as terminal:
        terminal.until("2 plans: 2 apply. Do this? [y/N]: ")
        terminal.enter("n")
        assert terminal.end() == 130
    assert all(any(f"/of-{app}" in line for line in terminal.screen.text()) for app in ("one", "two"))
    assert person.trimtab("status", "-o", "json").json == []

    with person.at_terminal("apply", "both.plan", columns=120) as terminal:
        terminal.until("2 plans: 2 apply. Do this? [y/N]: ")
        terminal.enter("y")
        terminal.until("one is Synced and Healthy")
        terminal.until("two is Synced and Healthy")
        assert terminal.end() == 0
    assert sum("[y/N]" in line for line in terminal.screen.text()) == 1
