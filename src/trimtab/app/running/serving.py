"""What a runner answers over HTTP: probes, metrics and status on one port, webhooks on another.

Webhooks come from outside, so they have a port of their own: whoever lets them in does not let in questions.
Their bodies are bounded, checked and read in a thread, a few at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec
from aiohttp import web

from trimtab.app.running.events import AnyEvent, Listening, WebhookHeard, WebhookTurnedAway
from trimtab.errors import InvalidSpec, TrimtabError, Unavailable
from trimtab.files import read_file
from trimtab.kube.auth.redaction import Secret
from trimtab.sources.hints.changes import Change
from trimtab.sources.hints.webhooks import LARGEST_BODY, Delivery, Heard, Provider, Secrets, heard_in
from trimtab.tasks import Clock

_TEXT: Final = "text/plain; version=0.0.4; charset=utf-8"
#: messages that are read at once; more wait for their turn
_AT_ONCE: Final = 4
_TOO_LARGE: Final = f"it has more than {LARGEST_BODY >> 20} MiB"
#: seconds that a message may take to arrive
_ARRIVES_WITHIN: Final = 30.0
_LARGEST_SECRETS: Final = 64 << 10


class Answers(Protocol):
    """What can be asked of a runner."""

    def unready(self) -> tuple[str, ...]:
        """What is missing before it does its work."""

    def status(self) -> Callable[[], dict[str, Any]]:
        """How everything stands now; the answer puts it into words, in a thread."""

    def figures(self) -> Callable[[], bytes]:
        """The metrics of now; the answer makes their text, in a thread."""


def questions(answers: Answers) -> web.Application:
    """Probes, metrics and status.

    What takes longer with every unit happens in a thread, for one who asks at a time: however many ask, the
    loop shares the processor with one of them.
    """
    turn = asyncio.Semaphore(1)

    async def healthz(_request: web.Request) -> web.Response:
        return web.Response(text="ok\n")  # whoever answers has a loop that turns

    async def readyz(_request: web.Request) -> web.Response:
        missing = answers.unready()
        return web.Response(status=503 if missing else 200, text="\n".join(missing or ("ok",)) + "\n")

    async def metrics(_request: web.Request) -> web.Response:
        async with turn:
            body = await asyncio.to_thread(answers.figures())
        return web.Response(body=body, headers={"Content-Type": _TEXT})

    async def status(_request: web.Request) -> web.Response:
        async with turn:
            body = await asyncio.to_thread(_written, answers.status())
        return web.Response(body=body, content_type="application/json")

    application = web.Application(client_max_size=1024)
    application.add_routes(
        [
            web.get("/healthz", healthz),
            web.get("/readyz", readyz),
            web.get("/metrics", metrics),
            web.get("/status", status),
        ]
    )
    return application


def _written(status: Callable[[], dict[str, Any]]) -> bytes:
    return msgspec.json.encode(status())


def webhooks(
    files: Mapping[Provider, Path],
    hint: Callable[[Change], int],
    *,
    clock: Clock,
    tell: Callable[[AnyEvent], None],
) -> web.Application:
    """Messages of Git hosts, believed only with the secret that was agreed."""
    turns = asyncio.Semaphore(_AT_ONCE)

    async def hear(request: web.Request) -> web.Response:
        try:
            async with turns, asyncio.timeout(_ARRIVES_WITHIN):
                delivery = Delivery(headers=dict(request.headers), body=await request.read())
                heard = await asyncio.to_thread(_heard, delivery, files)
        except TimeoutError:
            return web.json_response({"reason": "it took too long to arrive"}, status=408)
        except web.HTTPRequestEntityTooLarge:
            tell(WebhookTurnedAway(at=clock.now(), reason=f"the webhook: {_TOO_LARGE}."))
            return web.json_response({"reason": _TOO_LARGE}, status=413)
        except TrimtabError as error:
            tell(WebhookTurnedAway(at=clock.now(), reason=str(error)))
            return web.json_response({"reason": error.reason}, status=error.http_status)
        concerned = sum(hint(change) for change in heard.changes)
        told = WebhookHeard(
            at=clock.now(), provider=heard.provider.value, kind=heard.event or "push", units=concerned
        )
        tell(told)
        return web.json_response({"heard": heard.event or "push"}, status=202)

    application = web.Application(client_max_size=LARGEST_BODY)
    application.add_routes([web.post("/webhooks", hear)])
    return application


def _heard(delivery: Delivery, files: Mapping[Provider, Path]) -> Heard:
    return heard_in(delivery, secrets_in(files))


def secrets_in(files: Mapping[Provider, Path]) -> Secrets:
    """The secrets that the files hold now, one on each line."""
    found: dict[Provider, tuple[Secret, ...]] = {}
    for provider, path in files.items():
        subject = f"secrets of {provider.value}"
        try:
            content = read_file(path, subject=subject, which=str(path), limit=_LARGEST_SECRETS)
            lines = content.decode().splitlines()
        except TrimtabError as error:
            raise Unavailable(error.subject, error.reason, error.remedy) from error
        except UnicodeDecodeError as error:
            raise Unavailable(subject, f"{path} is not text") from error
        found[provider] = tuple(Secret(line.strip()) for line in lines if line.strip())
    return found


def secret_files(pairs: Mapping[str, str]) -> dict[Provider, Path]:
    """Which file holds the secrets of which provider."""
    found = {}
    for name, path in pairs.items():
        try:
            found[Provider(name)] = Path(path).expanduser()
        except ValueError as error:
            known = ", ".join(each.value for each in Provider)
            raise InvalidSpec(
                f"setting runner.webhook_secrets {name}", "no such host is known", f"Known are: {known}"
            ) from error
    return found


@asynccontextmanager
async def served(
    application: web.Application, address: str, what: str, *, clock: Clock, tell: Callable[[AnyEvent], None]
) -> AsyncIterator[str]:
    """Serve for the length of the block; the value is the address, with the port that was chosen."""
    host, port = host_and_port(address)
    runner = web.AppRunner(application, access_log=None, handle_signals=False, shutdown_timeout=2.0)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        try:
            await site.start()
        except OSError as error:
            reason = f"nothing can be served there: {error.strerror or error}"
            raise InvalidSpec(f"address {address}", reason, "Choose another address or port") from error
        bound = runner.addresses[0]
        chosen = f"{host}:{bound[1]}"
        tell(Listening(at=clock.now(), address=f"http://{chosen}", what=what))
        yield chosen
    finally:
        await runner.cleanup()


def host_and_port(address: str) -> tuple[str, int]:
    """The two parts of an address; one without a host means every address of the machine."""
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise InvalidSpec(f"address {address!r}", "it is not of the form host:port", "Write 127.0.0.1:8080")
    return host.strip("[]") or "0.0.0.0", int(port)  # noqa: S104 - whoever leaves out the host means it
