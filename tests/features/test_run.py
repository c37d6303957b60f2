"""The runner as a process: follows Git and files, heals, is handed work, is killed and succeeded."""

from __future__ import annotations

import hashlib
import hmac
import json
import signal
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.committing import git
from tests.features.conftest import Person
from trimtab.app.shards import Shard

SETTINGS = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {colour: %s}
"""
UNIT = """
source: {folder: ../shop}
destination: {namespace: %s}
policy: {automated: {prune: true, selfHeal: true}, options: [CreateNamespace=true]}
"""
SECRET = "a word that only we and the host know"
#: somebody waits for this here; and yet it is longer than a busy machine stands still
SOON = {"TRIMTAB_RUNNER__TAKEOVER": "6s"}


class Runner:
    """A runner under way, and what it tells."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.told: list[dict[str, Any]] = []

    def until(self, event: str, **fields: object) -> dict[str, Any]:
        """The next event of this kind with these fields."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            try:
                found: dict[str, Any] = json.loads(line)
            except ValueError:
                raise AssertionError(f"this is not a line of JSON: {line}") from None
            self.told.append(found)
            if found["event"] == event and all(found[key] == value for key, value in fields.items()):
                return found
        last = "\n".join(map(str, self.told[-15:]))
        raise AssertionError(f"it ended without {event} {fields}:\n{last}")

    def addresses(self) -> tuple[str, str]:
        """Where it answers, and where it hears webhooks."""
        return self.until("Listening")["address"], self.until("Listening")["address"]

    def end(self) -> int:
        """Ask it to end; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        assert self.process.stderr is not None
        self.process.stderr.read()
        return self.process.wait(30)


@contextmanager
def runner(person: Person, *arguments: str, **environment: str) -> Iterator[Runner]:
    usual = {"TRIMTAB_RUNNER__LOOK_EVERY": "200ms", "TRIMTAB_RUNNER__WEBHOOKS": "127.0.0.1:0"}
    asked = ("run", "--listen", "127.0.0.1:0", "--log", "json", *arguments)
    with person.begun(*asked, **usual, **environment) as process:
        yield Runner(process)


def commit(origin: Path, colour: str) -> str:
    """A commit that wants this colour."""
    (origin / "live").mkdir(parents=True, exist_ok=True)
    (origin / "live" / "settings.yaml").write_text(SETTINGS % colour)
    git(origin, "add", ".")
    git(origin, "commit", "-m", f"Paint it {colour}")
    return git(origin, "rev-parse", "HEAD")


def asked(address: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, str]:
    """What an address answers."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(f"{address}{path}", data=body, headers=named)  # noqa: S310 - ours
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 - it is our own
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()


def colour(person: Person) -> str:
    return person.kubectl("get", "configmap", "settings", "-o", "jsonpath={.data.colour}")


ALLOWED = {"TRIMTAB_REPOSITORIES__ALLOW_SCHEMES": "https,ssh,file"}


def kept_app(person: Person, origin: Path) -> str:
    """An app that runners keep at a branch of a new repository; the answer is the repository's address."""
    origin.mkdir()
    git(origin, "init", "--initial-branch=main")
    commit(origin, "blue")
    url = f"file://{origin}"
    where = ("--path", "live", "--app", "shop", "-n", person.namespace, "--create-namespace")
    made = person.trimtab("sync", url, *where, "--auto", "--self-heal", "--prune", **ALLOWED)
    assert made.code == 0, made.err
    return url


def told_of(webhooks: str, url: str, secret: str) -> int:
    """How the runner answers somebody who tells of a push, and signs with this secret."""
    body = json.dumps({"url": url, "ref": "refs/heads/main"}).encode()
    signed = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return asked(webhooks, "/webhooks", body, X_Trimtab_Signature_256=f"sha256={signed}")[0]


def scribble(person: Person, value: str) -> None:
    """Change the live object behind everybody's back."""
    change = json.dumps({"data": {"colour": value}})
    person.kubectl("patch", "configmap", "settings", "--type=merge", "-p", change)


def test_an_app_is_kept_at_its_branch_and_healed_and_commands_are_carried_out_by_its_runner(
    person: Person, tmp_path: Path
) -> None:
    origin, secret = tmp_path / "origin", tmp_path / "secret"
    url = kept_app(person, origin)
    secret.write_text(f"{SECRET}\n")
    # The remote is asked by itself only once an hour: what comes sooner was told by the webhook.
    polled = {"TRIMTAB_REPOSITORIES__POLL_EVERY": "1h"}
    heard = {"TRIMTAB_RUNNER__WEBHOOK_SECRETS": f"generic={secret}"}
    with runner(person, **ALLOWED, **polled, **heard) as kept:
        answers, webhooks = kept.addresses()
        assert asked(answers, "/healthz") == (200, "ok\n")
        kept.until("UnitRefreshed", unit="shop", verdict="Synced")
        assert asked(answers, "/readyz") == (200, "ok\n")

        scribble(person, "grey")
        kept.until("OperationEnded", unit="shop", phase="Succeeded")
        assert colour(person) == "blue"

        red = commit(origin, "red")
        assert (told_of(webhooks, url, "a guess"), told_of(webhooks, url, SECRET)) == (401, 202)
        assert asked(webhooks, "/status")[0] == 404
        kept.until("OperationEnded", unit="shop", phase="Succeeded", revision=red)
        assert colour(person) == "red"

        green = commit(origin, "green")
        told = person.trimtab("sync", "shop", **ALLOWED)
        assert told.code == 0, told.err
        assert told.out.splitlines()[-1] == f"shop is Synced and Healthy at {green}"
        kept.until("OperationEnded", unit="shop", phase="Succeeded", revision=green)
        kept.until("UnitRefreshed", unit="shop", verdict="Synced", revision=green)
        assert colour(person) == "green"

        served = asked(answers, "/metrics")[1]
        for series in (
            'argocd_app_sync_total{dest_server="here"',
            'trimtab_kube_requests_total{code="200",method="PATCH",server="here"}',
            'trimtab_git_requests_total{outcome="done",request_type="fetch"}',
            'trimtab_renders_total{outcome="done"}',
            'trimtab_runner_events_total{event="ShardTaken"} 1.0',
            "trimtab_shards 1.0",
        ):
            assert series in served
        (unit,) = json.loads(asked(answers, "/status")[1])["units"]
        assert (unit["sync"], unit["health"], unit["revision"]) == ("Synced", "Healthy", green)
        assert kept.end() == 0
    lease = ("get", "lease", "trimtab-shard-0-of-1", "--namespace", f"{person.namespace}-records")
    assert person.kubectl(*lease, "-o", "jsonpath={.spec.holderIdentity}") == ""
    assert [each for each in kept.told if each["event"] == "UnitQuarantined"] == []


def test_a_killed_runner_is_succeeded_by_another_which_goes_on_with_the_same_files(
    person: Person, tmp_path: Path
) -> None:
    units, shop = tmp_path / "units", tmp_path / "shop"
    units.mkdir()
    shop.mkdir()
    (shop / "settings.yaml").write_text(SETTINGS % "blue")
    two = "sources: [{folder: ../shop}, {folder: ../more, ref: more}]"
    (units / "shop.yaml").write_text(UNIT.replace("source: {folder: ../shop}", two) % person.namespace)
    with runner(person, "--units", str(units), **SOON) as first:
        first.until("OperationEnded", unit="shop", phase="Succeeded")
        with runner(person, "--units", str(units), **SOON) as second:
            second.until("ShardHeldElsewhere")
            first.process.kill()
            second.until("ShardTaken")
            second.until("UnitRefreshed", unit="shop", verdict="Synced")
            scribble(person, "red")
            second.until("OperationEnded", unit="shop", phase="Succeeded")
            assert colour(person) == "blue"

            (units / "shop.yaml").write_text("source: {")
            assert "shop.yaml" in second.until("UnitFileRefused", unit="shop")["reason"]
            assert [each["app"] for each in person.trimtab("status", "-o", "json").json] == ["shop"]
            (units / "shop.yaml").unlink()
            second.until("UnitWithdrawn", unit="shop")
            assert person.trimtab("status", "-o", "json").json == []
            assert colour(person) == "blue"
            assert second.end() == 0


def test_a_second_runner_is_handed_its_share_and_the_first_takes_it_back_when_that_one_is_killed(
    person: Person, tmp_path: Path
) -> None:
    units, shop = tmp_path / "units", tmp_path / "shop"
    units.mkdir()
    shop.mkdir()
    (shop / "settings.yaml").write_text(SETTINGS % "blue")
    moving = next(name for name in ("shop", "blog", "cart", "mail", "pay") if Shard(1, 2).has(name))
    (units / f"{moving}.yaml").write_text(UNIT % person.namespace)
    elsewhere = {
        "TRIMTAB_RENDERING__KEY": str(tmp_path / "another" / "key"),
        "TRIMTAB_RENDERING__CACHE": str(tmp_path / "another" / "cache"),
    }
    two = ("--units", str(units), "--shards", "2")
    with runner(person, *two, **SOON) as first:
        revision = first.until("UnitRefreshed", unit=moving, verdict="Synced")["revision"]
        while sum(each["event"] == "ShardTaken" for each in first.told) < 2:
            first.until("ShardTaken")
        with runner(person, *two, **SOON, **elsewhere) as second:
            first.until("ShardHandedOver", shard="1 of 2")
            second.until("ShardTaken", shard="1 of 2")
            # What is rendered has the same digest wherever a runner of the installation runs.
            second.until("UnitRefreshed", unit=moving, verdict="Synced", revision=revision)
            scribble(person, "red")
            second.until("OperationEnded", unit=moving, phase="Succeeded")
            assert colour(person) == "blue"
            # Nor is it another one to a command: what was agreed to is what the runner finds.
            told = person.trimtab("sync", moving, **elsewhere)
            assert (told.code, revision in told.out) == (0, True), told.err
            second.process.kill()
            first.until("ShardTaken", shard="1 of 2")
            scribble(person, "green")
            first.until("OperationEnded", unit=moving, phase="Succeeded")
            assert colour(person) == "blue"
            assert first.end() == 0
