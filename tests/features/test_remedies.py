"""Whoever does what a message tells him to is helped: each command is run as it was printed, where it was."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.features.conftest import Person
from tests.features.scenes import named
from tests.features.test_sync import SETTINGS, WEB, shop
from tests.interfaces.cli.understanding import told_in

STUCK = named("stuck").replace("{name: stuck}", "{name: stuck, finalizers: [example.org/hold]}")


class Newcomer:
    """Somebody who knows nothing but what the command prints, and does that."""

    def __init__(self, person: Person) -> None:
        self._person = person

    def told(self, words: str, code: int, *, to: str) -> str:
        """Run something that ends with this exit code, and is told to run this then."""
        heard = self._person.trimtab(*shlex.split(words))
        assert heard.code == code, heard
        advice = list(told_in(heard.out + heard.err))
        assert to in advice, (advice, heard)
        return to

    def does(self, words: str, *more: str) -> str:
        """Run what was told, which has to succeed; what it said."""
        heard = self._person.trimtab(*shlex.split(words), *more)
        assert heard.code == 0, heard
        return heard.out


def test_every_remedy_that_is_printed_helps(person: Person, tmp_path: Path) -> None:
    many = {f"c{number}": named(f"c{number}") for number in range(12)}
    folder, space, ann = shop(tmp_path / "shop", **many), person.namespace, Newcomer(person)

    first = ann.told("status", 0, to="sync SOURCE").replace("SOURCE", str(folder))
    ann.does(first, "-n", space, "--create-namespace")
    ann.does(ann.told("status nope", 3, to="status"))
    ann.does(ann.told("terminate shop", 2, to="sync shop"))
    ann.does(ann.told(f"why cm/c0 -n {space}-no", 3, to=f"why cm/c0 -n {space}"))
    ann.does(ann.told("wait shop --for degraded --timeout 0", 4, to="why shop"))
    planned = ann.told("apply near.plan", 3, to="plan SOURCE --out near.plan").replace("SOURCE", "shop")
    ann.does(planned)
    ann.does("apply near.plan")

    ann.does("pause shop")
    ann.does(ann.told("sync shop", 2, to="resume shop"))
    shop(folder, c0=named("c0", "red"))
    ann.does(ann.told("why shop", 1, to="sync shop"))
    ann.does("rollback shop 1")
    person.kubectl("patch", "configmap", "c0", "--type=merge", "-p", '{"data":{"colour":"grey"}}')
    ann.does(ann.told("why shop", 1, to="rollback shop 1"))
    assert person.kubectl("get", "configmap", "c0", "-o", "jsonpath={.data.colour}") == "blue"
    ann.does(ann.told("sync shop", 2, to="resume shop"))

    for number in range(1, 12):
        (folder / f"c{number}.yaml").unlink()
    ann.does(ann.told("why shop", 1, to="sync shop --prune --confirm-deletions"))
    ann.does("why shop")

    held = shop(tmp_path / "held", stuck=STUCK)
    ann.does(f"sync {held} -n {space}")
    ann.told("delete held --timeout 1", 4, to="delete held")
    ann.told("plan held", 0, to="delete held")
    ann.does(ann.told("why held", 1, to="delete held --abandon"))
    ann.does(ann.told("--setting nope.nope=1 status", 2, to="settings"))


@pytest.mark.parametrize("person", ["embedded"], indirect=True)
def test_what_has_only_waited_is_seen_through_by_the_command_that_is_told(
    person: Person, tmp_path: Path
) -> None:
    def declared(image: str, colour: str, *more: str) -> None:
        said = ', annotations: {trimtab.dev/sync-wave: "2", trimtab.dev/sync-options: Prune=confirm}}'
        maps = {name: SETTINGS.replace("settings}", f"{name}{said}") for name in more}
        settings = SETTINGS.replace("settings}", f"settings{said}").replace("blue", colour)
        shop(folder, web=WEB.replace("web:1", image), settings=settings, **maps)

    def hold(held: str) -> None:
        person.kubectl("patch", "deployment", "web", "--type=merge", "-p", f'{{"spec":{{"paused":{held}}}}}')

    def colour() -> str:
        return person.kubectl("get", "configmap", "settings", "-o", "jsonpath={.data.colour}")

    folder, ann = tmp_path / "shop", Newcomer(person)
    declared("web:1", "blue")
    ann.does(f"sync {folder} -n {person.namespace} --create-namespace")
    declared("web:2", "red", "more")
    hold("true")  # by hand: the first wave never becomes healthy
    ann.does("plan shop --out shop.plan")
    again = ann.told("apply shop.plan --timeout 1", 4, to="apply shop.plan")
    hold("false")
    ann.does(again)
    assert colour() == "red"

    hold("true")
    meant = "rollback shop 1 --prune --confirm-deletions"
    again = ann.told(f"{meant} --reason slow --timeout 1", 4, to=meant)
    ann.told("sync shop", 2, to="rollback shop 1 --prune")
    hold("false")
    back = ann.does(again)
    assert "pinned to entry 1 of its history" in back
    assert back.endswith(": slow\n")
    assert colour() == "blue"
    assert "configmap/more" not in person.kubectl("get", "configmap", "-o", "name")
