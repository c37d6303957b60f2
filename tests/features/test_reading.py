"""Looking: what differs, what belongs to what, how it stands and stood; none of it changes anything."""

from __future__ import annotations

from pathlib import Path

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
    assert person.trimtab("sync", str(folder), "-n", person.namespace, "--create-namespace").code == 0
    same = person.trimtab("diff", "shop")
    assert (same.code, same.out) == (0, ""), same.err

    person.kubectl("patch", "configmap", "settings", "--type=merge", "-p", '{"data":{"colour":"red"}}')
    person.kubectl("patch", "secret", "keys", "--type=merge", "-p", '{"stringData":{"token":"canary two"}}')
    differs = person.trimtab("diff", "shop", "-o", "json")
    assert (differs.code, "canary" in differs.out) == (1, False)
    config, secret = differs.json
    (field,) = config["fields"]
    assert (field["path"], field["live"], field["desired"]) == ("/data/colour", "red", "blue")
    assert field["manager"].startswith("kubectl")
    assert [each["path"] for each in secret["fields"]] == ["/data/token"]

    grown = person.trimtab("tree", "shop", "-o", "json").json
    (web,) = (each for each in grown["objects"] if each["kind"] == "Deployment")
    (replicas,) = web["children"]
    assert (replicas["kind"], [pod["kind"] for pod in replicas["children"]]) == ("ReplicaSet", ["Pod", "Pod"])


def test_what_is_rendered_can_be_given_to_kubectl_in_every_form_for_programs(
    person: Person, tmp_path: Path
) -> None:
    folder = shop(tmp_path / "shop", settings=SETTINGS, keys=SECRET)
    person.kubectl("create", "namespace", person.namespace)
    for form in ("yaml", "json"):
        told = person.trimtab("render", str(folder), "-n", person.namespace, "-o", form)
        (tmp_path / form).write_text(told.out)
        applied = person.kubectl("apply", "-f", str(tmp_path / form)).splitlines()
        assert [line.split()[0] for line in applied] == ["secret/keys", "configmap/settings"], told.err


def test_an_app_is_waited_for_remembers_its_syncs_and_completes(person: Person, tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop", settings=SETTINGS)
    assert person.trimtab("sync", str(folder), "-n", person.namespace, "--create-namespace").code == 0
    waited = person.trimtab("wait", "shop")
    assert (waited.code, waited.out) == (0, "shop is Synced and Healthy\n")
    late = person.trimtab("wait", "shop", "--for", "degraded", "--timeout", "0")
    assert (late.code, late.out) == (4, "")
    assert "app shop: after 0 s it is Synced and Healthy" in late.err

    (entry,) = person.trimtab("history", "shop", "-o", "json").json
    assert (entry["id"], entry["revision"][:6], entry["source"]) == (1, "files:", str(folder))
    assert entry["person"].startswith("ann@")
    assert person.trimtab("status", "-o", "name").out == "app/shop\n"
    assert person.trimtab("plan", "app/shop", "-o", "name").out == "", "what is printed is taken"
    assert person.trimtab("wait", "app/shop", "--for", "idle", "--timeout", "0").code == 0
    assert completed(person, "tree", "s") == ["plain,shop"]
    assert completed(person, "tree", "app/") == ["plain,app/shop"]
    assert completed(person, "sync", "s") == ["dir,s"], "here this is the folder"
    assert completed(person, "sync", "a") == ["plain,app/shop"]
    assert completed(person, "sync", "app/s") == ["plain,app/shop"]
    (folder.parent / "apples").mkdir()
    assert completed(person, "sync", "ap") == ["plain,apples", "plain,app/shop"]


def completed(person: Person, verb: str, typed: str) -> list[str]:
    """What bash is told when somebody has typed this, and waits."""
    asked = {"_TRIMTAB_COMPLETE": "bash_complete", "COMP_WORDS": f"trimtab {verb} {typed}", "COMP_CWORD": "2"}
    return person.trimtab(**asked, TRIMTAB_APPS__COMPLETE_WITHIN="1m").out.splitlines()
