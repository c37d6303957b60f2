"""Every verb in every bad circumstance: one clear message, the right exit code, nothing half-done.

A row is a verb as somebody would call it; a column is a circumstance, with the exit code and the words that
have to be said. A verb that is in no table fails the last test.
"""

from __future__ import annotations

import json
import re
import secrets
import subprocess
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import pytest

from testbed.controlplane import ControlPlane
from testbed.embedded import Embedded
from tests.features.calling import Call, Caller, Heard, disks_can_be_mounted
from tests.features.test_sync import SETTINGS, shop
from trimtab.interfaces.cli.verbs import VERBS
from trimtab.resources.yaml import documents

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
ELSEWHERE = {"demo"}
#: verbs whose answer is what is wrong: they exit with 1, and say what to do
EXPLAINING = {"doctor": ("doctor",), "why": ("why", "{app}")}
#: the verb that reads a stored plan
OF_A_FILE = {"apply": ("apply", "{source}")}
#: the verb that never ends by itself
FOR_EVER = {"run": ("run", "--listen", "127.0.0.1:0")}
REACHING = {**OF_AN_APP, **OF_A_SOURCE, "install": ("install", "--apply"), "status of all": ("status",)}


def each_of(table: dict[str, tuple[str, ...]]) -> list[Any]:
    """The rows of a table, by name."""
    return [pytest.param(words, id=name) for name, words in table.items()]


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


def unanswered(place: Place) -> dict[str, str]:
    """The way to a server that is not there."""
    nobody = place.home / "kubeconfig"
    known = Path(place.environment["KUBECONFIG"]).read_text()
    nobody.write_text(re.sub(r"https://127\.0\.0\.1:\d+", "https://127.0.0.1:1", known))
    return {"KUBECONFIG": str(nobody), "TRIMTAB_CLUSTER__ATTEMPTS": "1"}


@pytest.mark.parametrize("words", each_of(REACHING))
def test_without_a_cluster_that_answers(place: Place, words: tuple[str, ...]) -> None:
    told = place.call(words, environment=unanswered(place))
    assert_clear(told, 4, "https://127.0.0.1:1 cannot be reached", "Check that the address is right")
    assert told.out == ""


@pytest.mark.parametrize("words", each_of({**REACHING, **FOR_EVER}))
def test_with_a_context_that_is_not_each_of(place: Place, words: tuple[str, ...]) -> None:
    told = place.call((*words, "--context", "nope"))
    assert_clear(
        told, 3, f"kubeconfig {place.environment['KUBECONFIG']}", 'it has no context "nope"', '"trimtab"'
    )
    assert told.out == ""


@pytest.mark.parametrize("words", each_of({**REACHING, **FOR_EVER}))
def test_without_a_kubeconfig(place: Place, words: tuple[str, ...]) -> None:
    told = place.call(words, environment={"KUBECONFIG": ""})
    assert_clear(told, 3, f"kubeconfig {place.home}/.kube/config: it does not exist")


@pytest.mark.parametrize("words", each_of(EXPLAINING))
def test_those_who_explain_explain_that_no_cluster_answers(place: Place, words: tuple[str, ...]) -> None:
    told = place.call(words, environment=unanswered(place))
    assert (told.code, told.err) == (1, ""), told
    assert "https://127.0.0.1:1 cannot be reached" in told.out
    assert "Check that the address is right and the server is up." in told.out


def test_a_runner_waits_for_a_cluster_that_does_not_answer(place: Place) -> None:
    told = place.call(FOR_EVER["run"], environment=unanswered(place), until="cannot be reached")
    assert (told.code, "Traceback" in told.err) == (0, False), told.err


@pytest.mark.real
@pytest.mark.parametrize("words", each_of({**REACHING, **FOR_EVER}))
def test_without_any_right(
    caller: Caller, control_plane: ControlPlane, tmp_path: Path, words: tuple[str, ...]
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    told = Place(caller, control_plane.kubeconfig_for("nobody"), home).call(words)
    assert_clear(told, 2, 'User "nobody" cannot', "Ask for a role with this verb on this kind.")
    assert told.out == ""


RECORDED = {**OF_AN_APP, "plan": ("plan", "{app}"), "sync": ("sync", "{app}", "--yes")}

# --- apps -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words", each_of({**OF_AN_APP, "plan": ("plan", "{app}"), "sync": ("sync", "{app}")})
)
def test_of_an_app_that_nobody_knows(place: Place, words: tuple[str, ...]) -> None:
    assert_clear(place.call(words, app="nope"), 3, "nope: there is no such app")
    assert place.apps() == []


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


def test_of_an_app_that_somebody_else_works_on(place: Place, kubectl_in: Callable[..., str]) -> None:
    place.synced()
    (lease,) = (each for each in kubectl_in("get", "leases", "-o", "name").split() if "trimtab-app-" in each)
    held = {
        "holderIdentity": "bob@elsewhere",
        "leaseDurationSeconds": 3600,
        "renewTime": "2100-01-01T00:00:00.000000Z",
    }
    kubectl_in("patch", lease, "--type=merge", "-p", json.dumps({"spec": held}))
    shop(place.source, settings=SETTINGS.replace("blue", "red"))
    for words in (("sync", "{app}", "--yes"), ("delete", "{app}", "--yes")):
        told = place.call(words, until="works on this app")
        assert (told.code, "bob@elsewhere works on this app; waiting" in told.err) == (130, True), told
    assert (
        place.call(("status", "{app}", "-o", "json")).json["sync"] == "OutOfSync"
    )  # looking waits for nobody


# --- sources --------------------------------------------------------------------------------------------

READING = {**OF_A_SOURCE, "render": ("render", "{source}"), "diff": ("diff", "{source}")}


@pytest.mark.parametrize("words", each_of(READING))
def test_with_a_file_that_is_no_yaml(place: Place, words: tuple[str, ...]) -> None:
    shop(place.source, broken=f"{SETTINGS}data: {{colour: [")
    told = place.call(words)
    assert_clear(told, 2, "broken.yaml, line")
    assert (told.out, place.apps()) == ("", [])


def test_with_a_plan_that_is_not_there_or_is_none(place: Place) -> None:
    words, nowhere = OF_A_FILE["apply"], str(place.home / "plan.json")
    assert_clear(place.call(words, source=nowhere), 3, f"plan file {nowhere}: it does not exist")
    Path(nowhere).write_text("{")
    assert_clear(place.call(words, source=nowhere), 2, nowhere)
    assert_clear(place.call(words, source=nowhere, environment=unanswered(place)), 4, "cannot be reached")


def test_with_an_object_that_has_no_name(place: Place) -> None:
    shop(place.source, broken="apiVersion: v1\nkind: ConfigMap\n")
    told = place.call(("sync", "{source}"))
    assert_clear(told, 2, "broken.yaml, document 1, line 1: metadata.name is missing")
    assert (told.out, place.apps()) == ("", [])


@pytest.mark.parametrize("words", each_of(READING))
def test_with_a_git_server_that_does_not_answer(place: Place, words: tuple[str, ...]) -> None:
    address = "https://127.0.0.1:1/team/shop.git"
    told = place.call(words, source=address)
    assert_clear(told, 4, f"repository {address}: the server cannot be reached")
    assert (told.out, place.apps()) == ("", [])


def test_with_an_object_of_ten_megabytes(place: Place) -> None:
    huge = SETTINGS.replace("settings", "huge").replace("blue", "x" * 10_000_000)
    shop(place.source, settings=SETTINGS, huge=huge)
    told = place.call(("sync", "{source}"))
    assert_clear(told, 2, "ConfigMap default/huge: it has 100", "bytes and may have 1572864. Split it")
    assert (told.out, place.apps()) == ("", [])


def test_with_ten_megabytes_of_manifests(place: Place) -> None:
    many = {f"c{number}": SETTINGS.replace("settings", f"c-{number}") for number in range(11)}
    shop(place.source, **{name: text.replace("blue", "x" * 950_000) for name, text in many.items()})
    place.synced()


# --- machines -------------------------------------------------------------------------------------------

LOOKING = {
    "diff": ("diff", "{app}"),
    "history": ("history", "{app}"),
    "plan": ("plan", "{app}"),
    "render": ("render", "{source}", "--app", "{app}"),
    "status": ("status", "{app}"),
    "status of all": ("status",),
    "tree": ("tree", "{app}"),
    "why": ("why", "{app}"),
}


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


@pytest.mark.parametrize("disk", ["full", "read-only"])
def test_with_a_home_that_cannot_be_written_to(settled: Place, disk: Literal["full", "read-only"]) -> None:
    if not disks_can_be_mounted():
        pytest.skip("neither root nor namespaces of users: no disk can be mounted")
    for words in (("render", "{source}", "--app", "{app}"), ("sync", "{app}", "--yes"), ("status",)):
        told = settled.call(words, disk=disk)  # caches are for speed: everything works without them
        assert (told.code, "Error" in told.err) == (0, False), (words, told)
    told = settled.call(("cluster", "up"), disk=disk)
    assert_clear(told, 4 if disk == "full" else 2, str(settled.home / ".local"))


@pytest.mark.parametrize("words", each_of({**ALONE, "status of all": ("status",)}))
def test_with_a_full_disk_below_the_output(settled: Place, words: tuple[str, ...]) -> None:
    asked = (
        ("cluster", "--help") if words[0] == "cluster" else (*words, *["--app", "a"] * (words[0] == "render"))
    )
    told = settled.call(asked, output="/dev/full")
    assert_clear(told, 4, "it cannot be written: no space left on device", "Make room")


@pytest.mark.parametrize("words", each_of(LOOKING))
def test_without_utf8(settled: Place, words: tuple[str, ...]) -> None:
    told = settled.call(words, encoding="iso-8859-1")
    assert (told.code, told.err) == (0, "")
    if words[0] == "render":  # what cannot be shown is escaped, and means the same
        (rendered,) = documents(told.out, "output")
        assert rendered.value["data"] == {"colour": "Größe ✓"}


def test_an_error_without_utf8(settled: Place) -> None:
    told = settled.call(("render", "./東京/nix"), encoding="iso-8859-1")
    assert_clear(told, 2, "source ./\\u6771\\u4eac/nix: there is no such folder")


@pytest.mark.parametrize("words", each_of({**LOOKING, "help": ("sync", "--help"), "settings": ("settings",)}))
def test_in_a_terminal_of_forty_columns(settled: Place, words: tuple[str, ...]) -> None:
    told = settled.call(words, columns=40)
    assert (told.code, "Error" in told.out) == (0, False), told.out
    missing = settled.call(words, columns=40, app="nope") if "{app}" in words else None
    if missing is not None and words[0] != "render":
        assert (missing.code, missing.out.count("Error:"), missing.out.count("\n")) == (3, 1, 1)


def test_every_verb_has_its_circumstances() -> None:
    tried = {
        words[0]
        for words in chain(*(each.values() for each in (REACHING, ALONE, EXPLAINING, OF_A_FILE, FOR_EVER)))
    }
    assert set(VERBS) - tried - ELSEWHERE == set()
