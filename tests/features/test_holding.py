"""An app is held: nothing happens to it until somebody lets it go on, whoever asks."""

from __future__ import annotations

from pathlib import Path

from tests.features.conftest import Person
from tests.features.test_sync import SETTINGS, shop


def test_a_paused_app_is_not_synced_until_it_is_resumed(person: Person, tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop", settings=SETTINGS)
    assert person.trimtab("sync", str(folder), "-n", person.namespace, "--create-namespace").code == 0
    paused = person.trimtab("pause", "shop", "--reason", "a migration")
    assert (paused.code, paused.out.split("@")[0]) == (0, "shop is paused by ann")

    shop(folder, settings=SETTINGS.replace("blue", "red"))
    refused = person.trimtab("sync", "shop")
    assert refused.code == 2
    assert "it is paused by ann@" in refused.err
    assert "a migration. Let it go on with: trimtab resume shop" in refused.err
    planned = person.trimtab("plan", "shop")
    until = "a sync is refused until somebody says: trimtab resume shop"
    assert (planned.code, until in planned.err) == (0, True)
    again = person.trimtab("pause", "shop", "--reason", "a migration\x1b[2J\nof tables")
    assert again.out.endswith(": a migration\\x1b[2J of tables\n"), "a reason commands no terminal"
    (listed,) = person.trimtab("status", "-o", "json").json
    assert (listed["sync"], "a migration" in listed["held"]) == ("Synced", True)

    resumed = person.trimtab("resume", "shop").out
    assert ("it was paused by ann@" in resumed, "\x1b" in resumed) == (True, False)
    assert person.trimtab("resume", "shop").out == "shop was neither paused nor pinned\n"
    assert person.trimtab("sync", "shop").code == 0
    assert person.kubectl("get", "configmap", "settings", "-o", "jsonpath={.data.colour}") == "red"
