"""An app is called by its name; a namespace that is written beside it has to be the app's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.features.conftest import Person
from tests.features.test_sync import SETTINGS, shop

#: the verbs on an app by its name, in an order in which each can do its work
CALLS = (
    ("sync", "shop"),
    ("plan", "shop"),
    ("diff", "shop"),
    ("why", "shop"),
    ("why", "app/shop"),
    ("status", "shop"),
    ("tree", "shop"),
    ("history", "shop"),
    ("wait", "shop"),
    ("apply", "shop.plan"),
    ("pause", "shop"),
    ("resume", "shop"),
    ("rollback", "shop", "1"),
    ("resume", "app/shop"),
    ("delete", "shop"),
)


@pytest.mark.parametrize("person", ["embedded"], indirect=True)
def test_a_namespace_beside_the_name_of_an_app_has_to_be_its_own(person: Person, tmp_path: Path) -> None:
    folder, space = shop(tmp_path / "deploy", settings=SETTINGS), person.namespace
    assert person.trimtab("sync", str(folder), "--app", "shop", "-n", space, "--create-namespace").code == 0
    assert person.trimtab("plan", "shop", "--out", "shop.plan").code == 0
    before = person.trimtab("status", "-o", "json").json
    refused = f"Error: app shop: its namespace is {space}, not other. Write -n {space}, or leave it out.\n"
    for words in (*CALLS, ("terminate", "shop"), ("wait", "shop", "--for", "deleted")):
        told = person.trimtab(*words, "-n", "other")
        assert (told.code, told.out, told.err) == (3, "", refused), words
    assert person.trimtab("status", "-o", "json").json == before

    assert [person.trimtab(*words, "-n", space).code for words in CALLS] == [0] * len(CALLS)


@pytest.mark.parametrize("person", ["embedded"], indirect=True)
def test_a_namespace_beside_a_source_says_where_its_objects_go(person: Person, tmp_path: Path) -> None:
    folder, space = shop(tmp_path / "shop", settings=SETTINGS), person.namespace
    assert person.trimtab("sync", str(folder), "-n", space, "--create-namespace").code == 0
    planned = person.trimtab("plan", str(folder), "-n", "other", "-o", "json").json
    places = {each["object"]["namespace"] for each in planned["steps"] if each["action"] == "apply"}
    assert places == {"other"}


@pytest.mark.parametrize("person", ["embedded"], indirect=True)
def test_an_object_is_explained_where_it_is_whichever_namespace_its_app_has(
    person: Person, tmp_path: Path
) -> None:
    settings = SETTINGS.replace("{name: settings}", "{name: settings, namespace: default}")
    folder = shop(tmp_path / "shop", settings=settings)
    assert person.trimtab("sync", str(folder), "-n", person.namespace, "--create-namespace").code == 0
    told = person.trimtab("why", "configmap/settings", "-n", "default")
    assert (told.code, "it belongs to app shop" in told.out) == (0, True)
