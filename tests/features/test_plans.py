"""Plans that are kept, sent around and carried out later, and plans of what a pull request changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.committing import git
from tests.features.conftest import Person
from tests.features.test_sync import SETTINGS, shop


@pytest.mark.parametrize("person", [pytest.param("real", marks=pytest.mark.real)], indirect=True)
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


@pytest.mark.parametrize("person", ["embedded"], indirect=True)
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
