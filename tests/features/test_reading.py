"""Looking: what differs, what belongs to what, how it stands and stood; none of it changes anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.features.conftest import Person
from tests.features.test_sync import SETTINGS, WEB, shop

SECRET = """
apiVersion: v1
kind: Secret
metadata: {name: keys}
stringData: {token: canary-in-the-mine}
"""


def test_drift_is_shown_field_by_field_and_the_tree_reaches_the_pods(person: Person, tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop", settings=SETTINGS, web=WEB, keys=SECRET)
    asked = (str(folder), "-n", person.namespace)
    new = person.trimtab("diff", *asked)
    assert (new.code, "+  colour: blue" in new.out, "canary" in new.out) == (1, True, False)
    assert person.trimtab("sync", *asked, "--create-namespace").code == 0
    same = person.trimtab("diff", "shop")
    assert (same.code, same.out) == (0, ""), same.err

    person.kubectl("patch", "configmap", "settings", "--type=merge", "-p", '{"data":{"colour":"red"}}')
    person.kubectl("patch", "secret", "keys", "--type=merge", "-p", '{"stringData":{"token":"canary two"}}')
    differs = person.trimtab("diff", "shop", "-o", "json")
    assert differs.code == 1
    assert "canary" not in differs.out
    config, secret = differs.json
    assert (config["object"]["name"], config["change"]) == ("settings", "update")
    (field,) = config["fields"]
    assert (field["path"], field["live"], field["desired"]) == ("/data/colour", "red", "blue")
    assert field["manager"].startswith("kubectl")
    assert [each["path"] for each in secret["fields"]] == ["/data/token"]

    grown = person.trimtab("tree", "shop", "-o", "json").json
    (web,) = (each for each in grown["objects"] if each["kind"] == "Deployment")
    (replicas,) = web["children"]
    assert (replicas["kind"], [pod["kind"] for pod in replicas["children"]]) == ("ReplicaSet", ["Pod", "Pod"])
    late = person.trimtab("wait", "shop", "--timeout", "0.1")
    assert (late.code, late.out) == (4, "")
    assert "OutOfSync and Healthy" in late.err


@pytest.mark.parametrize("person", ["embedded"], indirect=True)
def test_an_app_is_waited_for_and_remembers_its_syncs(person: Person, tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop", settings=SETTINGS)
    assert person.trimtab("sync", str(folder), "-n", person.namespace, "--create-namespace").code == 0
    with person.begun("wait", "shop", "--for", "synced", "--for", "progressing") as waiting:
        assert waiting.stderr is not None
        next(waiting.stderr)  # it has looked, and waits for what is not so yet
        person.kubectl("patch", "configmap", "settings", "--type=merge", "-p", '{"data":{"colour":"red"}}')
        assert " OutOfSync " in next(line for line in waiting.stderr if "OutOfSync" in line)
    waited = person.trimtab("wait", "shop", "--for", "healthy")
    assert (waited.code, waited.out.split(":")[0]) == (0, "shop is OutOfSync and Healthy")
    assert person.trimtab("wait", "nobody", "--for", "deleted").out == "nobody is deleted\n"

    (entry,) = person.trimtab("history", "shop", "-o", "json").json
    assert (entry["id"], entry["revision"][:6], entry["source"]) == (1, "files:", str(folder))
    assert person.trimtab("status", "-o", "name").out == "app/shop\n"
    typed = {"_TRIMTAB_COMPLETE": "bash_complete", "COMP_WORDS": "trimtab tree s", "COMP_CWORD": "2"}
    offered = person.trimtab(**typed, TRIMTAB_APPS__COMPLETE_WITHIN="1m")
    assert offered.out == "plain,shop\n"
