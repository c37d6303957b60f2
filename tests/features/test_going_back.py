"""Going back to what ran before, and ending what is under way, from any machine and without Git."""

from __future__ import annotations

import re
import signal
from pathlib import Path

from tests.features.conftest import Person
from tests.features.test_sync import MIGRATION, SETTINGS, WEB, shop


def test_an_app_goes_back_after_its_files_are_gone_and_stays_there(person: Person, tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop", settings=SETTINGS)
    asked = (str(folder), "-n", person.namespace, "--create-namespace", "--prune")
    assert person.trimtab("sync", *asked).code == 0
    shop(folder, settings=SETTINGS.replace("blue", "red"), more=SETTINGS.replace("settings", "more"))
    assert person.trimtab("sync", *asked).code == 0

    # Somebody else, elsewhere: no folder, no cache of what was rendered.
    folder.rename(tmp_path / "gone")
    elsewhere = {"HOME": str(tmp_path / "elsewhere"), "USER": "bob"}
    back = person.trimtab("rollback", "shop", "--prune", "--reason", "red hurts", **elsewhere)
    assert back.code == 0, back.err
    assert "shop is Synced and Healthy, pinned to entry 1 of its history" in back.out
    assert person.kubectl("get", "configmap", "settings", "-o", "jsonpath={.data.colour}") == "blue"
    assert "configmap/more" not in person.kubectl("get", "configmaps", "-o", "name")

    assert person.trimtab("history", "shop", "-o", "json").json[-1]["by"] == "trimtab rollback"
    assert "it is compared with that, not with its source" in person.trimtab("diff", "shop").err

    refused = person.trimtab("sync", "shop")
    assert refused.code == 2
    assert "by bob@" in refused.err
    assert "red hurts. Let it go on with: trimtab resume shop" in refused.err
    assert person.trimtab("rollback", "shop", "7").code == 3


def test_a_sync_that_waits_is_ended_by_somebody_else(person: Person, tmp_path: Path) -> None:
    gate = MIGRATION.replace("spec:\n  template", "spec:\n  suspend: true\n  template", 1)
    folder = shop(tmp_path / "shop", settings=SETTINGS, migration=gate)
    with person.begun("sync", str(folder), "-n", person.namespace, "--create-namespace") as process:
        assert process.stderr is not None
        next(line for line in process.stderr if line.startswith("waiting"))
        process.send_signal(signal.SIGSTOP)  # it would end before bob finds anybody to wait for
        with person.begun("terminate", "shop", USER="bob") as ending:
            assert ending.stdout is not None
            assert ending.stderr is not None
            held = rf"ann@\S+ \(process {process.pid}\) works on this app; waiting"
            assert re.fullmatch(held, next(ending.stderr).strip())
            process.send_signal(signal.SIGCONT)
            assert (ending.stdout.read().split(":")[:2], ending.wait()) == (["shop", " Failed"], 0)
        told = process.stderr.read()
        assert process.wait() == 2
    assert "the operation was terminated" in told
    assert "job.batch/migrate" not in person.kubectl("get", "jobs", "-o", "name")
    assert "no operation is under way" in person.trimtab("terminate", "shop").err


def test_a_stored_plan_and_a_rollback_wait_no_longer_than_they_were_told_and_say_how_they_go_on(
    person: Person, tmp_path: Path
) -> None:
    def declared(image: str, colour: str) -> None:
        settings = SETTINGS.replace("settings}", 'settings, annotations: {trimtab.dev/sync-wave: "2"}}')
        shop(folder, web=WEB.replace("web:1", image), settings=settings.replace("blue", colour))

    def hold(held: str) -> None:
        person.kubectl("patch", "deployment", "web", "--type=merge", "-p", f'{{"spec":{{"paused":{held}}}}}')

    folder = tmp_path / "shop"
    declared("web:1", "blue")
    assert person.trimtab("sync", str(folder), "-n", person.namespace, "--create-namespace").code == 0
    hold("true")  # by hand: the first wave never becomes healthy
    declared("web:2", "red")
    waits = f"its sync has waited 1 s for healthy state of Deployment.apps {person.namespace}/web"
    assert person.trimtab("plan", "shop", "--out", "shop.plan").code == 0
    late = person.trimtab("apply", "shop.plan", "--timeout", "1")
    again = "It goes on with: trimtab apply shop.plan."
    assert (late.code, f"app shop: {waits}. {again}" in late.err) == (4, True)
    hold("false")
    assert person.trimtab("apply", "shop.plan").code == 0

    hold("true")
    late = person.trimtab("rollback", "shop", "--timeout", "1")
    again = "It goes on with: trimtab rollback shop 1."
    assert (late.code, f"app shop: {waits}. {again}" in late.err) == (4, True)
    with person.begun("rollback", "shop") as process:
        assert process.stderr is not None
        next(line for line in process.stderr if line.startswith("waiting for healthy state"))
        process.send_signal(signal.SIGTERM)
        again = "Stopped. What was begun goes on with: trimtab rollback shop 1\n"
        assert (process.stderr.read(), process.wait()) == (again, 143)

    assert person.trimtab("terminate", "shop").code == 0
    with person.begun("rollback", "shop") as process:
        assert process.stderr is not None
        next(line for line in process.stderr if line.startswith("waiting for health:"))
        process.send_signal(signal.SIGTERM)
        assert "Stopped waiting: all was applied" in process.stderr.read()
        assert process.wait() == 143
