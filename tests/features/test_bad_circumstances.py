"""Bad circumstances that only some verbs can meet: damaged records, a file that is none, output that is lost.

What every verb says in those that all of them can meet is in `tests/features/matrix.py`.
"""

from __future__ import annotations

import secrets
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from testbed.embedded import Embedded
from tests.features.calling import Call, Caller, Heard
from tests.features.test_sync import SETTINGS, shop

#: verbs about an app that is recorded: {app}
RECORDED = {
    "delete": ("delete", "{app}", "--yes"),
    "diff": ("diff", "{app}"),
    "history": ("history", "{app}"),
    "pause": ("pause", "{app}"),
    "plan": ("plan", "{app}"),
    "resume": ("resume", "{app}"),
    "rollback": ("rollback", "{app}", "--yes"),
    "status": ("status", "{app}"),
    "sync": ("sync", "{app}", "--yes"),
    "terminate": ("terminate", "{app}"),
    "tree": ("tree", "{app}"),
    "wait": ("wait", "{app}", "--timeout", "5"),
}
#: verbs that only print: {source} is a folder
PRINTING = {
    "cluster": ("cluster", "--help"),
    "completion": ("completion", "bash"),
    "health": ("health", "-f", "{source}/settings.yaml"),
    "install": ("install",),
    "render": ("render", "{source}", "--app", "a"),
    "settings": ("settings",),
    "status of all": ("status",),
    "version": ("version",),
}


class Place:
    """Somebody's home, folder and cluster."""

    def __init__(self, caller: Caller, kubeconfig: Path, home: Path) -> None:
        self._caller = caller
        self.home = home
        self.app = "web"
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

    def call(self, words: tuple[str, ...], *, app: str = "", source: str = "", **around: Any) -> Heard:
        """Call the command in these surroundings."""
        spelt = tuple(word.format(app=app or self.app, source=source or self.source) for word in words)
        environment = self.environment | around.pop("environment", {})
        folder = str(self.home.parent)
        return self._caller.call(Call(arguments=spelt, environment=environment, folder=folder, **around))

    def synced(self) -> None:
        """Have the app in the cluster."""
        told = self.call(("sync", "{source}", "--app", "{app}", "-n", self.namespace, "--create-namespace"))
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


@pytest.fixture
def place(caller: Caller, embedded_with_controllers: Embedded, tmp_path: Path) -> Place:
    home = tmp_path / "home"
    home.mkdir()
    return Place(caller, embedded_with_controllers.kubeconfig, home)


# --- apps -----------------------------------------------------------------------------------------------


@pytest.fixture
def kubectl_in(place: Place, kubectl: Path) -> Callable[..., str]:
    """kubectl, in the namespace of the records."""

    def run(*arguments: str) -> str:
        access = ("--kubeconfig", place.environment["KUBECONFIG"], "-n", place.records)
        done = subprocess.run([kubectl, *access, *arguments], capture_output=True, text=True, check=True)
        return done.stdout

    return run


def test_of_an_app_whose_record_is_damaged(place: Place, kubectl_in: Callable[..., str]) -> None:
    place.synced()
    (record,) = kubectl_in("get", "secrets", "-l", "trimtab.dev/record=head", "-o", "name").split()
    kubectl_in("patch", record, "--type=merge", "-p", '{"data": {"content": "AAAA"}}')
    for words in RECORDED.values():
        assert_clear(place.call(words), 2, f"{place.records}/web: it was sealed with a key", "Restore")
    kubectl_in("get", "-n", place.namespace, "configmap", "settings")  # nothing was deleted
    listed = place.call(("status",))
    assert (listed.code, f"Left out: unit {place.records}/web: it was sealed" in listed.err) == (0, True)


def test_of_an_app_whose_installation_is_gone(place: Place, kubectl_in: Callable[..., str]) -> None:
    place.synced()
    kubectl_in("delete", "secret", "trimtab-installation")
    for words in (*RECORDED.values(), ("status",), ("sync", "{source}", "--app", "new")):
        told = place.call(words)
        assert_clear(told, 2, f"Secret {place.records}/trimtab-installation: it is gone", "Restore it")
    assert "trimtab-installation" not in kubectl_in("get", "secrets", "-o", "name")


def test_of_an_app_whose_namespace_is_gone(place: Place, kubectl_in: Callable[..., str]) -> None:
    place.synced()
    kubectl_in("delete", "namespace", place.namespace)
    stands = place.call(("status", "{app}", "-o", "json")).json
    assert (stands["sync"], stands["health"]) == ("OutOfSync", "Missing")
    assert_clear(place.call(("sync", "{app}")), 2, f'namespaces "{place.namespace}" not found')
    assert place.call(("sync", "{app}", "--create-namespace")).code == 0


# --- sources --------------------------------------------------------------------------------------------


def test_with_a_plan_that_is_not_there_or_is_none(place: Place) -> None:
    words, nowhere = ("apply", "{source}"), str(place.home / "plan.json")
    assert_clear(place.call(words, source=nowhere), 3, f"plan file {nowhere}: it does not exist")
    Path(nowhere).write_text("{")
    assert_clear(place.call(words, source=nowhere), 2, nowhere)


def test_with_an_object_that_has_no_name(place: Place) -> None:
    shop(place.source, broken="apiVersion: v1\nkind: ConfigMap\n")
    told = place.call(("sync", "{source}"))
    assert_clear(told, 2, "broken.yaml, document 1, line 1: metadata.name is missing")
    assert (told.out, place.apps()) == ("", [])


def test_with_an_object_of_ten_megabytes(place: Place) -> None:
    huge = SETTINGS.replace("settings", "huge").replace("blue", "x" * 10_000_000)
    shop(place.source, settings=SETTINGS, huge=huge)
    told = place.call(("sync", "{source}"))
    assert_clear(told, 2, "ConfigMap default/huge: it has 100", "bytes and may have 1572864. Split it")
    assert (told.out, place.apps()) == ("", [])


# --- machines -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def settled(
    caller: Caller, embedded_with_controllers: Embedded, tmp_path_factory: pytest.TempPathFactory
) -> Place:
    """A place with an app that is well, for those who only look; its folder and contents are not ASCII."""
    home = tmp_path_factory.mktemp("settled") / "home"
    home.mkdir()
    found = Place(caller, embedded_with_controllers.kubeconfig, home)
    found.source = shop(home.parent / "東京", settings=SETTINGS.replace("blue", "Größe ✓"))
    found.synced()
    return found


@pytest.mark.parametrize("words", PRINTING.values(), ids=PRINTING)
def test_with_a_full_disk_below_the_output(settled: Place, words: tuple[str, ...]) -> None:
    told = settled.call(words, output="/dev/full")
    assert_clear(told, 4, "it cannot be written: no space left on device", "Make room")


def test_an_error_without_utf8(settled: Place) -> None:
    told = settled.call(("render", "./東京/nix"), encoding="iso-8859-1")
    assert_clear(told, 2, "source ./\\u6771\\u4eac/nix: there is no such folder")
