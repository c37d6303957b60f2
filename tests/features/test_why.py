"""Somebody asks why, and whether all is in order: through the command."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.features.conftest import Person
from tests.features.test_sync import SETTINGS, WEB, shop

#: what a real server says is told in process, in tests/app: these are about the command alone
on_the_embedded_one = pytest.mark.parametrize("person", ["embedded"], indirect=True)


def test_why_names_the_first_cause_and_goes_quiet_once_it_is_mended(person: Person, tmp_path: Path) -> None:
    picky = WEB.replace("spec: {containers:", "spec: {nodeSelector: {disk: fast}, containers:")
    folder = shop(tmp_path / "shop", settings=SETTINGS, web=picky)
    asked = (str(folder), "-n", person.namespace, "--create-namespace")
    assert person.trimtab("sync", *asked, "--timeout", "5").code == 4
    person.kubectl("wait", "deployment/web", "--for=jsonpath={.status.replicas}=2", "--timeout=60s")
    person.kubectl("wait", "--for=condition=PodScheduled=false", "pod", "-l", "app=web", "--timeout=60s")

    told = person.trimtab("why", "shop")
    assert (told.code, told.err) == (1, "")
    first, _, top, *rest = told.out.splitlines()
    assert first.startswith(f"Pod {person.namespace}/web-")
    assert first.endswith(" finds no node that takes it.")
    assert top.startswith("app shop is Synced and Progressing at files:")
    links = [line.split()[1] for line in rest if line.lstrip().startswith("because ")]
    assert links == ["Deployment.apps", "ReplicaSet.apps", "Pod"]
    assert rest[-1].lstrip() == "What to do: Ask for less, widen where it may run, or add a node that fits."

    of_object = person.trimtab("why", "deploy/web", "-n", person.namespace, "-o", "json")
    assert (of_object.code, of_object.json["well"]) == (1, False)
    (cause,) = of_object.json["causes"]
    assert (cause["cause"], cause["chain"][0]["object"]) == ("unschedulable", "app shop")

    shop(folder, web=WEB)
    assert person.trimtab("sync", "shop").code == 0
    well = person.trimtab("why", "shop")
    assert (well.code, well.err) == (0, "")
    assert well.out.startswith("App shop is well: it is Synced and Healthy at files:")


@on_the_embedded_one
def test_why_says_what_it_cannot_be_asked(person: Person, tmp_path: Path) -> None:
    nobody = person.trimtab("why", "nobody")
    assert (nobody.code, nobody.out) == (3, "")
    assert "app nobody: there is no such app" in nobody.err
    gone = tmp_path / "config"
    gone.write_text(
        "{apiVersion: v1, kind: Config, current-context: a, users: [{name: a, user: {token: x}}], clusters:"
        " [{name: a, cluster: {server: 'https://127.0.0.1:1', insecure-skip-tls-verify: true}}],"
        " contexts: [{name: a, context: {cluster: a, user: a}}]}"
    )
    unreachable = person.trimtab("why", "shop", TRIMTAB_CLUSTER__ATTEMPTS="1", KUBECONFIG=str(gone))
    assert (unreachable.code, unreachable.out.splitlines()[0]) == (1, "The cluster does not answer.")


@on_the_embedded_one
def test_the_doctor_finds_a_sound_cluster_sound_and_says_what_is_wrong(
    person: Person, tmp_path: Path
) -> None:
    sound = person.trimtab("doctor", "-n", person.namespace)
    assert sound.code == 0, sound.out
    assert sound.err == ""
    assert {line.split()[0] for line in sound.out.splitlines()} <= {"ok", "warning"}

    told = person.trimtab("doctor", "-o", "json", KUBECONFIG=str(tmp_path / "none"), PATH="")
    wrong = {each["check"]: each["remedy"] for each in told.json if each["state"] == "wrong"}
    assert told.code == 1
    assert wrong == {
        "access": "Name one that is there",
        "git": "Install git on PATH.",
    }
