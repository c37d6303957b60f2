"""Every verb in every bad circumstance: one clear message, the right exit code, nothing half-done.

A row is a verb as somebody would call it; a column is a circumstance, with the exit code and the words that
have to be said. A verb that is in no table fails the last test.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from testbed.controlplane import ControlPlane
from testbed.embedded import Embedded
from tests.features.calling import Call, Caller, Heard
from tests.features.test_sync import SETTINGS, shop
from trimtab.interfaces.cli.verbs import VERBS

#: verbs that ask a cluster about an app that has to be known: {app}
OF_AN_APP = {
    "delete": ("delete", "{app}", "--yes"),
    "diff": ("diff", "{app}"),
    "history": ("history", "{app}"),
    "pause": ("pause", "{app}"),
    "resume": ("resume", "{app}"),
    "rollback": ("rollback", "{app}", "--yes"),
    "status": ("status", "{app}"),
    "terminate": ("terminate", "{app}"),
    "tree": ("tree", "{app}"),
    "wait": ("wait", "{app}", "--timeout", "5"),
    "why": ("why", "{app}"),
}
#: verbs that compare a source with a cluster: {source} is a folder or an address
OF_A_SOURCE = {
    "plan": ("plan", "{source}"),
    "sync": ("sync", "{source}", "--app", "{app}", "--yes"),
}
#: verbs that need no cluster
ALONE = {
    "cluster": ("cluster", "status"),
    "completion": ("completion", "bash"),
    "health": ("health", "-f", "{source}/settings.yaml"),
    "install": ("install",),
    "render": ("render", "{source}"),
    "settings": ("settings",),
    "version": ("version",),
}
#: verbs that these tables say nothing of, because tests of their own do
ELSEWHERE = {"apply", "demo", "doctor", "run"}
REACHING = {**OF_AN_APP, **OF_A_SOURCE, "install": ("install", "--apply"), "status of all": ("status",)}


def there(table: dict[str, tuple[str, ...]]) -> list[Any]:
    """The rows of a table whose verbs there are."""
    return [pytest.param(words, id=name) for name, words in table.items() if words[0] in VERBS]


class Place:
    """Somebody's home, folder and cluster."""

    def __init__(self, caller: Caller, kubeconfig: Path, home: Path) -> None:
        self._caller = caller
        self.home = home
        self.namespace = f"bad-{secrets.token_hex(4)}"
        self.records = f"{self.namespace}-records"
        self.source = shop(home.parent / "shop", settings=SETTINGS)
        self.environment = {
            "HOME": str(home),
            "KUBECONFIG": str(kubeconfig),
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "USER": "ann",
            "TERM": "xterm",
            "TRIMTAB_APPS__NAMESPACE": self.records,
            "TRIMTAB_REPOSITORIES__ALLOW_HOSTS": "127.0.0.1",
        }

    def call(self, words: tuple[str, ...], *, app: str = "shop", source: str = "", **around: Any) -> Heard:
        """Call the command in these surroundings."""
        spelt = tuple(word.format(app=app, source=source or self.source) for word in words)
        environment = self.environment | around.pop("environment", {})
        folder = str(self.home.parent)
        return self._caller.call(Call(arguments=spelt, environment=environment, folder=folder, **around))

    def synced(self, app: str = "shop") -> None:
        """Have an app in the cluster."""
        told = self.call(("sync", "{source}", "--app", app, "-n", self.namespace, "--create-namespace"))
        assert told.code == 0, told.err

    def apps(self) -> list[str]:
        """The apps that are recorded."""
        return [each["app"] for each in self.call(("status", "-o", "json")).json]


def assert_clear(told: Heard, code: int, *words: str) -> None:
    """Hold an answer to the rule: one sentence that says what, why and what to do; and the exit code."""
    assert told.code == code, (told.out, told.err)
    lines = [line for line in told.err.splitlines() if line.startswith("Error: ")]
    assert len(lines) == 1, told.err
    (line,) = lines
    assert told.err.endswith(f"{line}\n"), "the last word is the error"
    assert line.endswith((".", "?")), line
    assert "Traceback" not in told.err
    assert "bug in Trimtab" not in line
    assert [word for word in words if word not in line] == [], line


@pytest.fixture(scope="session")
def caller() -> Iterator[Caller]:
    found = Caller()
    yield found
    found.close()


@pytest.fixture
def place(caller: Caller, embedded_with_controllers: Embedded, tmp_path: Path) -> Place:
    home = tmp_path / "home"
    home.mkdir()
    return Place(caller, embedded_with_controllers.kubeconfig, home)


# --- clusters -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", there(REACHING))
def test_without_a_cluster_that_answers(place: Place, words: tuple[str, ...]) -> None:
    nobody = place.home / "kubeconfig"
    nobody.write_text(
        re.sub(
            r"https://127\.0\.0\.1:\d+",
            "https://127.0.0.1:1",
            Path(place.environment["KUBECONFIG"]).read_text(),
        )
    )
    told = place.call(words, environment={"KUBECONFIG": str(nobody), "TRIMTAB_CLUSTER__ATTEMPTS": "1"})
    assert_clear(told, 4, "https://127.0.0.1:1 cannot be reached", "Check that the address is right")
    assert told.out == ""


@pytest.mark.parametrize("words", there(REACHING))
def test_with_a_context_that_is_not_there(place: Place, words: tuple[str, ...]) -> None:
    told = place.call((*words, "--context", "nope"))
    assert_clear(
        told, 3, f"kubeconfig {place.environment['KUBECONFIG']}", 'it has no context "nope"', '"trimtab"'
    )
    assert told.out == ""


@pytest.mark.parametrize("words", there(REACHING))
def test_without_a_kubeconfig(place: Place, words: tuple[str, ...]) -> None:
    told = place.call(words, environment={"KUBECONFIG": ""})
    assert_clear(told, 3, f"kubeconfig {place.home}/.kube/config: it does not exist")


@pytest.mark.real
@pytest.mark.parametrize("words", there(REACHING))
def test_without_any_right(
    caller: Caller, control_plane: ControlPlane, tmp_path: Path, words: tuple[str, ...]
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    told = Place(caller, control_plane.kubeconfig_for("nobody"), home).call(words)
    assert_clear(told, 2, 'User "nobody" cannot', "Ask for a role with this verb on this kind.")
    assert told.out == ""


# --- apps -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", there({**OF_AN_APP, "plan": ("plan", "{app}"), "sync": ("sync", "{app}")}))
def test_of_an_app_that_nobody_knows(place: Place, words: tuple[str, ...]) -> None:
    assert_clear(place.call(words, app="nope"), 3, "nope: there is no such app")
    assert place.apps() == []


# --- sources --------------------------------------------------------------------------------------------

READING = {**OF_A_SOURCE, "render": ("render", "{source}"), "diff": ("diff", "{source}")}


@pytest.mark.parametrize("words", there(READING))
@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (SETTINGS + "data: {colour: [", "broken.yaml"),
        ("apiVersion: v1\nkind: ConfigMap\n", "broken.yaml, document 1, line 1: metadata.name is missing"),
    ],
    ids=["no YAML", "no name"],
)
def test_with_a_file_that_is_broken(place: Place, words: tuple[str, ...], text: str, complaint: str) -> None:
    shop(place.source, broken=text)
    told = place.call(words)
    assert_clear(told, 2, complaint)
    assert (told.out, place.apps()) == ("", [])


@pytest.mark.parametrize("words", there(READING))
def test_with_a_git_server_that_does_not_answer(place: Place, words: tuple[str, ...]) -> None:
    address = "https://127.0.0.1:1/team/shop.git"
    told = place.call(words, source=address)
    assert_clear(told, 4, f"repository {address}: the server cannot be reached")
    assert (told.out, place.apps()) == ("", [])


@pytest.mark.parametrize("words", there(READING))
def test_with_an_object_of_ten_megabytes(place: Place, words: tuple[str, ...]) -> None:
    shop(
        place.source,
        settings=SETTINGS,
        huge=SETTINGS.replace("settings", "huge").replace("blue", "x" * 10_000_000),
    )
    told = place.call(words)
    if words[0] == "render":
        assert (told.code, len(told.out) > 10_000_000) == (0, True)
        return
    assert_clear(told, 2, "ConfigMap default/huge: it has 100", "bytes and may have 1572864. Split it")
    assert place.apps() == []
