"""A plan that is stored and applied does what a sync does: told twice, through the command, in a cluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.features.conftest import Person
from tests.features.test_sync import MIGRATION, SETTINGS, WEB, shop

MORE = SETTINGS.replace("settings", "more")
SPACE = """
apiVersion: v1
kind: Namespace
metadata: {name: SPACE-more, labels: {team: shop}}
"""
THERE = SETTINGS.replace("{name: settings}", "{name: there, namespace: SPACE-more}")
RED = SETTINGS.replace("blue", "red")
#: what a folder holds, one sync after another
STORIES = {
    "a rollout, and a prune": (
        {"settings": SETTINGS, "web": WEB, "more": MORE},
        {"settings": RED, "web": WEB.replace("web:1", "web:2").replace("replicas: 2", "replicas: 1")},
    ),
    "a hook, and a namespace": (
        {"migration": MIGRATION, "space": SPACE, "there": THERE},
        {"migration": MIGRATION.replace("migrate:1", "migrate:2"), "space": SPACE, "settings": SETTINGS},
    ),
    "what was there comes back": (
        {"settings": SETTINGS, "web": WEB},
        {"more": MORE},
        {"web": WEB, "more": MORE},
    ),
}
LOOKED_AT = ("configmaps", "deployments", "jobs", "namespaces")
ASKED = ("--create-namespace", "--prune")


def declare(folder: Path, space: str, files: dict[str, str]) -> None:
    """Have a folder hold these files and no others."""
    for each in folder.glob("*.yaml"):
        each.unlink()
    shop(folder, **{name: text.replace("SPACE", space) for name, text in files.items()})


def standing(person: Person, space: str) -> dict[str, Any]:
    """What lives in the namespaces of an app, without what servers and time made of it."""
    found: dict[str, Any] = {}
    for kind in LOOKED_AT:
        for each in json.loads(person.kubectl("get", kind, "-A", "-o", "json"))["items"]:
            meta = each["metadata"]
            where = meta.get("namespace", meta["name"])
            if where not in {space, f"{space}-more"} or meta["name"] == "kube-root-ca.crt":
                continue
            marks = {name: text.split("/")[0] for name, text in meta.get("annotations", {}).items()}
            template = each.get("spec", {}).get("template", {}).get("spec", {}).get("containers")
            images = [container["image"] for container in template or ()]
            replicas = each.get("spec", {}).get("replicas")
            name = f"{kind} {where.removeprefix(space)}/{meta['name'].removeprefix(space)}"
            found[name] = (
                each.get("data"),
                images,
                replicas,
                sorted(marks),
                meta.get("labels", {}).get("team"),
            )
    return found


@pytest.mark.parametrize(
    ("person", "story"),
    [
        *(("embedded", story) for story in STORIES),
        pytest.param("real", "a hook, and a namespace", marks=pytest.mark.real),
    ],
    indirect=["person"],
)
def test_a_plan_that_is_stored_and_applied_is_a_sync(person: Person, tmp_path: Path, story: str) -> None:
    spaces = {name: f"{person.namespace}-{name}" for name in ("synced", "applied")}
    for files in STORIES[story]:
        for name, space in spaces.items():
            declare(tmp_path / name, space, files)
        told = person.trimtab(
            "sync", "./synced", "-n", spaces["synced"], *ASKED, "--yes", "--confirm-deletions"
        )
        assert told.code == 0, told.err
        planned = person.trimtab("plan", "./applied", "-n", spaces["applied"], *ASKED, "--out", "the.plan")
        assert planned.code == 0, planned.err
        done = person.trimtab("apply", "the.plan", "--yes", "--confirm-deletions")
        assert done.code == 0, done.err
        synced, applied = (standing(person, space) for space in spaces.values())
        assert applied == synced
        shown = [
            each.out.replace(spaces[name], "").splitlines()[1:-1]
            for name, each in (("synced", told), ("applied", done))
        ]
        assert [line.split() for line in shown[0]] == [line.split() for line in shown[1]]
        verdicts = {
            each["app"]: (each["sync"], each["health"])
            for each in person.trimtab("status", "-o", "json").json
        }
        assert verdicts == dict.fromkeys(spaces, ("Synced", "Healthy"))
    person.kubectl("delete", "namespace", *spaces.values(), "--wait=false")
