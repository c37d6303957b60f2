"""Somebody else works on an app: whoever waits is told for whom, and that nothing was begun meanwhile."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.features.conftest import Person
from tests.features.scenes import named
from tests.features.test_sync import MIGRATION, shop
from trimtab.app.shards import app_lease

BOB = {
    "holderIdentity": "bob@elsewhere",
    "leaseDurationSeconds": 3600,
    "renewTime": "2100-01-01T00:00:00.000000Z",
}
COMMANDS = (
    ("sync", "shop"),
    ("apply", "shop.plan"),
    ("rollback", "shop", "1"),
    ("delete", "shop"),
    ("delete", "shop", "--abandon"),
)
NOTHING = "Nothing was begun: run the same command again"


@pytest.fixture
def shopkeeper(person: Person, tmp_path: Path) -> Person:
    """Somebody whose app Bob works on, and which has something to be synced, applied and gone back from."""
    folder = shop(tmp_path / "shop", one=named("one"))
    assert person.trimtab("sync", str(folder), "-n", person.namespace, "--create-namespace").code == 0
    shop(folder, one=named("one", "red"))
    assert person.trimtab("sync", "shop").code == 0
    shop(folder, one=named("one", "green"))
    assert person.trimtab("plan", "shop", "--out", "shop.plan").code == 0
    held_by_bob(person)
    return person


def held_by_bob(person: Person) -> None:
    """Have Bob work on the app from now on."""
    records, patch = f"{person.namespace}-records", json.dumps({"spec": BOB})
    person.kubectl("patch", "lease", app_lease("shop"), "-n", records, "--type=merge", "-p", patch)


def record(person: Person) -> str:
    """The app's record, as it is kept."""
    return person.kubectl("get", "secrets", "-n", f"{person.namespace}-records", "-o", "json")


@pytest.mark.parametrize("person", ["embedded"], indirect=True)
def test_whoever_has_waited_for_somebody_else_is_told_for_whom_and_that_nothing_was_begun(
    shopkeeper: Person,
) -> None:
    before = record(shopkeeper)
    late = f"Error: app shop: bob@elsewhere works on it, and was waited for 1 s. {NOTHING}."
    for words in COMMANDS:
        told = shopkeeper.trimtab(*words, "--timeout", "1")
        assert (told.code, told.err.splitlines()[-1]) == (4, late), words
    assert record(shopkeeper) == before

    records = f"{shopkeeper.namespace}-records"
    shopkeeper.kubectl("delete", "lease", app_lease("shop"), "-n", records)
    assert [shopkeeper.trimtab(*words).code for words in COMMANDS[:3]] == [0, 0, 0]


@pytest.mark.parametrize("words", COMMANDS)
@pytest.mark.parametrize("person", ["embedded"], indirect=True)
def test_whoever_stops_waiting_for_somebody_else_is_told_that_nothing_was_begun(
    shopkeeper: Person, words: tuple[str, ...]
) -> None:
    before = record(shopkeeper)
    with shopkeeper.begun(*words) as process:
        assert process.stderr is not None
        next(line for line in process.stderr if "bob@elsewhere works on this app; waiting" in line)
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == f"Stopped. {NOTHING}\n"
        assert process.wait() == 130
    assert record(shopkeeper) == before


@pytest.mark.parametrize(
    "words", [("terminate", "shop"), ("rollback", "shop", "1"), ("delete", "shop"), COMMANDS[-1]]
)
@pytest.mark.parametrize("person", ["embedded"], indirect=True)
def test_whoever_stops_while_somebody_elses_operation_is_ended_is_told_that_it_stays_told_to_end(
    person: Person, tmp_path: Path, words: tuple[str, ...]
) -> None:
    folder = shop(tmp_path / "shop", one=named("one"))
    assert person.trimtab("sync", str(folder), "-n", person.namespace, "--create-namespace").code == 0
    gate = MIGRATION.replace("spec:\n  template", "spec:\n  suspend: true\n  template", 1)
    shop(folder, migration=gate)
    assert person.trimtab("sync", "shop", "--timeout", "1").code == 4
    held_by_bob(person)
    with person.begun(*words) as process:
        assert process.stderr is not None
        next(line for line in process.stderr if "bob@elsewhere works on this app; waiting" in line)
        process.send_signal(signal.SIGINT)
        stays = "What is under way stays told to end; see it through with: trimtab terminate shop"
        assert process.stderr.read() == f"Stopped. {stays}\n"
        assert process.wait() == 130
    person.kubectl("delete", "lease", app_lease("shop"), "-n", f"{person.namespace}-records")
    ended = person.trimtab("terminate", "shop")
    assert (ended.code, "terminated" in ended.out) == (0, True)
