"""What a runner answers over HTTP, and what it lets in."""

from __future__ import annotations

import hashlib
import hmac
import io
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import aiohttp
import pytest

from trimtab.app.running.clusters import named
from trimtab.app.running.events import AnyEvent, Listening, WebhookHeard, WebhookTurnedAway
from trimtab.app.running.serving import host_and_port, questions, secret_files, served, webhooks
from trimtab.errors import InvalidSpec
from trimtab.sources.hints.changes import Change
from trimtab.sources.hints.webhooks import LARGEST_BODY, Provider
from trimtab.tasks import SystemClock

T = TypeVar("T")
BODY = b'{"url": "https://git.example/shop.git", "ref": "refs/heads/main"}'


class Answers:
    """A runner that answers as it is told to."""

    def __init__(self) -> None:
        self.missing: tuple[str, ...] = ()
        #: who put metrics and status into words
        self.threads: set[int] = set()

    def unready(self) -> tuple[str, ...]:
        return self.missing

    def status(self) -> Callable[[], dict[str, Any]]:
        return lambda: self._written({"units": []})

    def figures(self) -> Callable[[], bytes]:
        return lambda: self._written(b"trimtab_units 1.0\n")

    def _written(self, answer: T) -> T:
        self.threads.add(threading.get_ident())
        return answer


@asynccontextmanager
async def asking(application: Any, told: list[AnyEvent]) -> AsyncIterator[aiohttp.ClientSession]:
    async with (
        served(application, "127.0.0.1:0", "it", clock=SystemClock(), tell=told.append) as address,
        aiohttp.ClientSession(f"http://{address}") as session,
    ):
        yield session


async def test_probes_metrics_and_status_are_answered() -> None:
    answers, told = Answers(), list[AnyEvent]()
    async with asking(questions(answers), told) as session:
        found = {}
        for path in ("/healthz", "/readyz", "/metrics", "/status", "/webhooks"):
            async with session.get(path) as response:
                found[path] = (response.status, response.content_type, (await response.text())[:20])
        answers.missing = ("shard 0 of 1: its units are not known yet",)
        async with session.get("/readyz") as response:
            unready = (response.status, await response.text())
    assert found == {
        "/healthz": (200, "text/plain", "ok\n"),
        "/readyz": (200, "text/plain", "ok\n"),
        "/metrics": (200, "text/plain", "trimtab_units 1.0\n"),
        "/status": (200, "application/json", '{"units":[]}'),
        "/webhooks": (404, "text/plain", "404: Not Found"),
    }
    assert unready == (503, "shard 0 of 1: its units are not known yet\n")
    assert isinstance(told[0], Listening)
    assert answers.threads
    assert threading.get_ident() not in answers.threads


def signed(secret: str, body: bytes = BODY) -> dict[str, str]:
    found = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return {"X-Trimtab-Signature-256": f"sha256={found}"}


async def test_a_webhook_is_believed_with_the_secret_that_is_agreed_at_that_moment(tmp_path: Path) -> None:
    told, hinted = list[AnyEvent](), list[Change]()
    secret = tmp_path / "secret"
    secret.write_text("old\n\nnew\n")

    def hint(change: Change) -> int:
        hinted.append(change)
        return 3

    application = webhooks({Provider.GENERIC: secret}, hint, clock=SystemClock(), tell=told.append)
    async with asking(application, told) as session:

        async def answer(body: bytes, headers: dict[str, str]) -> int:
            async with session.post("/webhooks", data=io.BytesIO(body), headers=headers) as response:
                return response.status

        assert [await answer(BODY, signed(each)) for each in ("old", "new", "guessed")] == [202, 202, 401]
        secret.write_text("new\n")
        assert [await answer(BODY, signed(each)) for each in ("old", "new")] == [401, 202]
        assert await answer(b"{}", {"X-GitHub-Event": "push"}) == 401
        assert await answer(b"nonsense", signed("new", b"nonsense")) == 422
        assert await answer(BODY, {}) == 422
        assert await answer(b"x" * (LARGEST_BODY + 1), signed("new")) == 413
        secret.unlink()
        assert await answer(BODY, signed("new")) == 503
    assert [change.ref for change in hinted] == ["refs/heads/main"] * 3
    heard = [event for event in told if isinstance(event, WebhookHeard)]
    assert [(event.provider, event.units) for event in heard] == [("generic", 3)] * 3
    refused = [event for event in told if isinstance(event, WebhookTurnedAway)]
    assert len(refused) == 7
    assert not any("new" in str(event).split() or "guessed" in str(event) for event in refused)


async def test_an_address_that_is_taken_is_a_mistake_that_says_so() -> None:
    async with serving("127.0.0.1:0") as one:
        with pytest.raises(InvalidSpec, match=f"address {one}: nothing can be served there"):
            await serving(one).__aenter__()


@asynccontextmanager
async def serving(address: str) -> AsyncIterator[str]:
    application, clock = questions(Answers()), SystemClock()
    async with served(application, address, "it", clock=clock, tell=lambda _: None) as chosen:
        yield chosen


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("127.0.0.1:8080", ("127.0.0.1", 8080)),
        (":8080", ("0.0.0.0", 8080)),  # noqa: S104 - that is what it means
        ("[::1]:0", ("::1", 0)),
    ],
)
def test_an_address_is_a_host_and_a_port(address: str, expected: tuple[str, int]) -> None:
    assert host_and_port(address) == expected


@pytest.mark.parametrize("address", ["8080", "host:port", "host:", "host:70000"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(InvalidSpec, match="host:port"):
        host_and_port(address)


def test_secrets_are_named_by_their_host() -> None:
    assert secret_files(named(("github=/a", "generic=/b"), "secret", "HOST=FILE")) == {
        Provider.GITHUB: Path("/a"),
        Provider.GENERIC: Path("/b"),
    }
    with pytest.raises(InvalidSpec, match="no such host is known"):
        secret_files({"sourceforge": "/a"})


@pytest.mark.parametrize("pair", ["prod", "prod=", "=prod-admin", ""])
def test_what_is_no_pair_is_told_which_form_is_expected_there(pair: str) -> None:
    with pytest.raises(InvalidSpec) as refused:
        named((pair,), "cluster", "NAME=CONTEXT")
    told = f"cluster {pair!r}: it is not of the form NAME=CONTEXT. Write NAME=CONTEXT."
    assert str(refused.value) == told
