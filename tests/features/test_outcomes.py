"""What verbs that act or wait answer to programs: one small document on stdout, all else on stderr."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.features.conftest import Person
from tests.features.test_sync import MIGRATION, SETTINGS, shop

NONE = {"applied": 0, "hooks": 0, "pruned": 0, "kept": 0, "failed": 0}


@pytest.mark.parametrize("person", ["embedded"], indirect=True)
def test_what_became_of_an_app_is_one_document(person: Person, tmp_path: Path) -> None:
    def told(*words: str) -> dict[str, Any]:
        heard = person.trimtab(*words, "-o", "json")
        assert heard.code == 0, heard
        found: dict[str, Any] = heard.json
        return found

    def well(found: dict[str, Any], **counts: int) -> None:
        said = tuple(found[word] for word in ("app", "sync", "health", "namespace", "deleted", "operation"))
        assert said == ("shop", "Synced", "Healthy", person.namespace, False, "Succeeded")
        assert found["counts"] == {**NONE, **counts}

    folder = shop(
        tmp_path / "shop", settings=SETTINGS, migration=MIGRATION, more=SETTINGS.replace("settings", "more")
    )
    asked = (str(folder), "-n", person.namespace, "--create-namespace")
    first = told("sync", *asked)
    well(first, applied=3, hooks=1)
    assert first["revision"] == person.trimtab("status", "shop", "-o", "json").json["revision"]

    rows = person.trimtab("wait", "shop", "-o", "table").out.splitlines()
    assert rows[1].endswith("3 applied, 1 hook")

    (folder / "more.yaml").unlink()
    (folder / "migration.yaml").unlink()
    shop(folder, settings=SETTINGS.replace("blue", "red"))
    steps = told("sync", "shop", "--prune", "--dry-run")["steps"]
    assert steps == told("plan", "shop", "--prune", "--out", "shop.plan")["steps"]
    assert steps == told("apply", "shop.plan", "--dry-run")["steps"]
    heard = person.trimtab("apply", "shop.plan", "-o", "yaml")
    assert (heard.code, heard.out.splitlines()[0], "differs at /data/colour" in heard.err) == (
        0,
        "app: shop",
        True,
    )
    well(told("apply", "shop.plan"), applied=1, pruned=1)
    well(told("wait", "shop"), applied=1, pruned=1)
    assert person.trimtab("sync", "shop", "-o", "name").out == "app/shop\n"
    assert person.trimtab("wait", "shop", "--for", "idle", "-o", "wide").out.splitlines()[0].split()[:2] == [
        "APP",
        "SYNC",
    ]

    back = told("rollback", "shop", "1")
    well(back, applied=2)
    assert "pinned to entry 1" in back["held"]
    assert person.trimtab("resume", "shop").code == 0
    gone = told("delete", "shop")
    assert (gone["app"], gone["deleted"], gone["operation"]) == ("shop", True, "Succeeded")
    assert gone["counts"] == {**NONE, "pruned": 3}  # the hook's Job was still there
    assert told("wait", "shop", "--for", "deleted")["deleted"]


@pytest.mark.parametrize("person", ["embedded"], indirect=True)
def test_of_several_plans_there_is_a_list(person: Person, tmp_path: Path) -> None:
    for app in ("one", "two"):
        shop(tmp_path / app, settings=SETTINGS.replace("settings", app))
    person.kubectl("create", "namespace", person.namespace)
    assert person.trimtab("plan", "./one", "./two", "-n", person.namespace, "--out", "both.plan").code == 0
    done = person.trimtab("apply", "both.plan", "-o", "json")
    assert [(each["app"], each["sync"]) for each in done.json] == [("one", "Synced"), ("two", "Synced")]
    for output in ("json", "yaml"):
        again = person.trimtab("apply", "both.plan", "--dry-run", "-o", output)
        assert (again.code, again.out) == (0, "[]\n"), "nothing of it is left to be done"
    again = person.trimtab("apply", "both.plan", "--dry-run", "-o", "name")
    assert (again.code, again.out) == (0, "")
