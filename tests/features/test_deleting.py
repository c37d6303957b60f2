"""An app goes: its objects first, then its record; and whoever is killed on the way is succeeded."""

from __future__ import annotations

from pathlib import Path

from tests.features.conftest import Person
from tests.features.test_sync import SETTINGS, shop

KEPT = SETTINGS.replace(
    "{name: settings}", "{name: kept, annotations: {trimtab.dev/sync-options: Delete=false}}"
)
HOOK = """apiVersion: batch/v1
kind: Job
metadata: {name: NAME, annotations: {trimtab.dev/hook: TYPE}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: backup:1}]
"""
HELD = '{"metadata": {"finalizers": ["example.com/backup"]}}'
FREE = '{"metadata": {"finalizers": null}}'


def test_an_app_is_deleted_by_the_next_when_somebody_was_killed_at_it(person: Person, tmp_path: Path) -> None:
    before, after = (
        HOOK.replace("NAME", f"{name}-hook").replace("TYPE", hook)
        for name, hook in (("before", "PreDelete"), ("after", "PostDelete"))
    )
    folder = shop(tmp_path / "shop", settings=SETTINGS, kept=KEPT, before=before, after=after)
    assert person.trimtab("sync", str(folder), "-n", person.namespace, "--create-namespace").code == 0
    person.kubectl("patch", "configmap", "settings", "--type=merge", "-p", HELD)
    with person.begun("delete", "shop") as process:
        assert process.stderr is not None
        next(line for line in process.stderr if "deletion of" in line and "settings" in line)
        process.kill()
    first = person.kubectl("get", "jobs", "-o", "jsonpath={.items[*].metadata.uid}").split()
    assert len(first) == 1

    # The lease of the dead runs out by itself; nobody has to wait for that here.
    person.kubectl("delete", "leases", "--all", "--namespace", f"{person.namespace}-records")
    person.kubectl("patch", "configmap", "settings", "--type=merge", "-p", FREE)
    gone = person.trimtab("delete", "shop")
    assert gone.code == 0, gone.err
    assert "It was begun before and not seen through, and is gone on with." in gone.err
    # The first hook had run, and the second one ran after all else was gone; nothing of them is left.
    assert "PreDelete hook; it ran before" in gone.out
    assert "after-hook" in gone.out
    assert person.kubectl("get", "jobs", "-o", "name") == ""
    assert gone.out.splitlines()[-1] == "shop is deleted"
    configmaps = person.kubectl("get", "configmaps", "-o", "name")
    assert ("configmap/settings" in configmaps, "configmap/kept" in configmaps) == (False, True)
    assert person.trimtab("delete", "shop").code == 3


def test_a_dry_run_of_letting_an_app_go_says_for_programs_what_stays(person: Person, tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop", settings=SETTINGS)
    assert person.trimtab("sync", str(folder), "-n", person.namespace, "--create-namespace").code == 0
    asked = ("delete", "shop", "--abandon", "--dry-run")
    shown = person.trimtab(*asked)
    assert (shown.code, shown.out) == (0, "")
    assert "shop is to be forgotten; 1 object stays in the cluster" in shown.err

    plan = person.trimtab(*asked, "-o", "json").json
    (step,) = plan["steps"]
    assert (plan["unit"], step["object"]["name"], step["apiVersion"]) == ("shop", "settings", "v1")
    assert (step["action"], step["skip"]) == ("keep", "it stays: the app is only forgotten")
    assert person.trimtab(*asked, "-o", "name").out == "configmap/settings\n"
    assert [each["app"] for each in person.trimtab("status", "-o", "json").json] == ["shop"]
