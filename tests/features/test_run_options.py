"""What `trimtab run` is told by its options: a repository of units, a further cluster, some namespaces alone.

And a runner that is killed while it works: the next one goes on with the same operation.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from testbed.embedded import Embedded
from tests.committing import git
from tests.features.conftest import Person
from tests.features.test_run import ALLOWED, SETTINGS, SOON, UNIT, asked, colour, commit, runner
from tests.features.test_sync import MIGRATION

GATE = MIGRATION.replace("spec:\n  template", "spec:\n  suspend: true\n  template", 1)
EMBEDDED = pytest.mark.parametrize("person", ["embedded"], indirect=True)


def declared(folder: Path, **units: str) -> Path:
    """A folder of unit files, beside that of a shop."""
    (folder / "shop").mkdir(exist_ok=True)
    (folder / "shop" / "settings.yaml").write_text(SETTINGS % "blue")
    (folder / "units").mkdir()
    for name, text in units.items():
        (folder / "units" / f"{name}.yaml").write_text(text)
    return folder / "units"


def test_a_runner_killed_in_the_middle_of_an_operation_is_succeeded_by_one_that_sees_it_through(
    person: Person, tmp_path: Path
) -> None:
    units = declared(tmp_path, shop=UNIT % person.namespace)
    (tmp_path / "shop" / "migration.yaml").write_text(GATE)
    with runner(person, "-f", str(units), **SOON) as first:
        first.until("OperationWaits", unit="shop")
        made = person.kubectl("get", "job", "migrate", "-o", "jsonpath={.metadata.uid}")
        first.process.kill()
    with runner(person, "-f", str(units), **SOON) as second:
        second.until("ShardTaken")
        second.until("OperationWaits", unit="shop")
        assert "configmap/settings" not in person.kubectl("get", "configmaps", "-o", "name")
        person.kubectl("patch", "job", "migrate", "--type=merge", "-p", '{"spec":{"suspend":false}}')
        second.until("OperationEnded", unit="shop", phase="Succeeded")
        assert colour(person) == "blue"
        assert person.kubectl("get", "job", "migrate", "-o", "jsonpath={.metadata.uid}") == made
        assert second.end() == 0
    assert len(person.trimtab("history", "shop", "-o", "json").json) == 1


def test_a_runner_follows_the_units_that_a_branch_of_a_repository_declares(
    person: Person, tmp_path: Path
) -> None:
    origin = tmp_path / "origin"
    (origin / "units").mkdir(parents=True)
    git(origin, "init", "--initial-branch=live")
    unit = UNIT.replace("{folder: ../shop}", "{spec: {path: live}}") % person.namespace
    (origin / "units" / "shop.yaml").write_text(unit)
    blue = commit(origin, "blue")
    told = ("--repo", f"file://{origin}", "--path", "units", "--revision", "live")
    often = {"TRIMTAB_REPOSITORIES__POLL_EVERY": "1s"}
    with runner(person, *told, **ALLOWED, **often) as kept:
        kept.until("UnitsRead")
        kept.until("OperationEnded", unit="shop", phase="Succeeded", revision=blue)
        git(origin, "checkout", "-b", "elsewhere")
        commit(origin, "grey")
        git(origin, "checkout", "live")
        red = commit(origin, "red")
        kept.until("OperationEnded", unit="shop", phase="Succeeded", revision=red)
        assert colour(person) == "red"
        assert kept.end() == 0
    (listed,) = person.trimtab("status", "-o", "json").json
    assert (listed["app"], listed["sync"]) == ("shop", "Synced")


@EMBEDDED
def test_a_unit_lives_in_a_further_cluster_that_the_runner_was_told_of(
    person: Person, embedded_with_controllers: Embedded, tmp_path: Path
) -> None:
    units = declared(tmp_path, shop=UNIT % f"{person.namespace}, cluster: prod")
    with Embedded() as further:
        both = json.loads(embedded_with_controllers.kubeconfig.read_text())
        theirs = json.loads(further.kubeconfig.read_text())
        for kind, name in (("clusters", "cluster"), ("users", "user"), ("contexts", "context")):
            both[kind].append({"name": "prod-admin", name: theirs[kind][0][name]})
        both["contexts"][-1]["context"] = {"cluster": "prod-admin", "user": "prod-admin"}
        config = tmp_path / "both.kubeconfig"
        config.write_text(json.dumps(both))
        access = {"KUBECONFIG": str(config)}
        with runner(person, "-f", str(units), "--cluster", "prod=prod-admin", **access) as kept:
            answers = kept.until("Listening")["address"]
            kept.until("OperationEnded", unit="shop", phase="Succeeded")
            names = {each["name"] for each in json.loads(asked(answers, "/status")[1])["clusters"]}
            assert kept.end() == 0
        assert "prod" in names
        there = (
            "--kubeconfig",
            str(config),
            "--context",
            "prod-admin",
            "get",
            "configmaps",
            "-A",
            "-o",
            "name",
        )
        assert "configmap/settings" in person.kubectl(*there)
    assert person.kubectl("get", "configmaps", "-o", "name") == "", "nothing of it is here"


def test_a_runner_for_some_namespaces_leaves_all_others_alone(person: Person, tmp_path: Path) -> None:
    inside = UNIT.replace(", options: [CreateNamespace=true]", "") % person.namespace
    stray = UNIT.replace("automated:", "retry: {limit: 0}, automated:") % f"{person.namespace}-stray"
    person.kubectl("create", "namespace", person.namespace)
    units = declared(tmp_path, shop=inside, stray=stray)
    with runner(person, "-f", str(units), "--namespaces", f"{person.namespace},default") as kept:
        kept.until("UnitRefreshed", unit="shop", verdict="Synced")
        assert colour(person) == "blue"
        while not any(each["event"] == "OperationEnded" and each["unit"] == "stray" for each in kept.told):
            kept.until("OperationEnded", unit="stray")
        assert kept.end() == 0
    refused = f"Namespace {person.namespace}-stray: the namespace is not among those allowed"
    ends = [each for each in kept.told if (each["event"], each.get("unit")) == ("OperationEnded", "stray")]
    for ended in ends:
        assert (ended["phase"], refused in ended["message"]) == ("Failed", True), ended
    assert f"namespace/{person.namespace}-stray" not in person.kubectl("get", "namespaces", "-o", "name")
