"""How requests travel: deadlines, retries, bounds, and what a strange server cannot do to us."""

from __future__ import annotations

import asyncio
import gc
import os
import socket
import ssl
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeAlias

import msgspec
import pytest
from aiohttp import web
from msgspec.structs import replace

from tests.kube.world import CONFIG_MAPS, SECRETS, TokenAccess, config_map
from trimtab.errors import ClusterUnreachable, InvalidSpec, Throttled, TrimtabError, Unavailable
from trimtab.kube.auth import from_kubeconfig
from trimtab.kube.cluster import PatchType, Selection
from trimtab.kube.failures import Forbidden, ServerFailed, TooManyRequests, Unauthenticated
from trimtab.kube.http import HttpCluster, connect
from trimtab.kube.objects import Page
from trimtab.kube.transport import Exchange, is_near, is_worth_repeating, seconds_in, warnings_in
from trimtab.settings import ClusterSettings
from trimtab.tasks.clock import ManualClock

Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]

PATIENT = ClusterSettings()


@asynccontextmanager
async def address_of(handler: Handler) -> AsyncIterator[str]:
    """The address of a server that answers as the test wishes."""
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(application, shutdown_timeout=0, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def address_of_one_who_says(words: bytes) -> AsyncIterator[str]:
    """The address of somebody who says the same to everybody, HTTP or not, and waits for them to leave."""

    async def say(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(words)
        await reader.read()
        writer.close()

    listener = await asyncio.start_server(say, "127.0.0.1", 0)
    async with listener:
        yield f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"


@asynccontextmanager
async def server(handler: Handler, settings: ClusterSettings = PATIENT) -> AsyncIterator[HttpCluster]:
    """A server that answers as the test wishes, and a client of it."""
    async with address_of(handler) as address, connect(TokenAccess(address, "token"), settings) as cluster:
        yield cluster


class Answers:
    """Answers in order, then an object for ever; remembers what was asked."""

    def __init__(self, *answers: Handler) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request.method)
        if self._answers:
            return await self._answers.pop(0)(request)
        return web.json_response(config_map("a"))


def refuses(code: int, message: str, headers: dict[str, str] | None = None) -> Handler:
    async def answer(_: web.Request) -> web.StreamResponse:
        body = {"kind": "Status", "status": "Failure", "message": message, "code": code}
        return web.json_response(body, status=code, headers=headers)

    return answer


def answers_with(value: object) -> Handler:
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.json_response(value)

    return answer


async def cuts(request: web.Request) -> web.StreamResponse:
    """Hang up before a word is said."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def hangs(_: web.Request) -> web.StreamResponse:
    await asyncio.get_running_loop().create_future()
    raise AssertionError("the future never comes")


async def test_an_object_without_a_name_is_never_taken_for_the_whole_collection() -> None:
    answers = Answers()
    async with server(answers.answer) as cluster:
        for call in (
            lambda: cluster.delete(CONFIG_MAPS, "", namespace="shop"),
            lambda: cluster.get(CONFIG_MAPS, "", namespace="shop"),
            lambda: cluster.update(CONFIG_MAPS, "", config_map("a"), namespace="shop"),
            lambda: cluster.apply(CONFIG_MAPS, "", config_map("a"), namespace="shop"),
            lambda: cluster.patch(CONFIG_MAPS, "", {}, how=PatchType.MERGE, namespace="shop"),
        ):
            with pytest.raises(InvalidSpec, match="its name is empty"):
                await call()
    assert answers.asked == []


@pytest.mark.parametrize("code", [429, 503])
async def test_a_server_that_asks_for_a_pause_is_asked_again_after_it(code: int) -> None:
    answers = Answers(
        refuses(code, "busy", {"Retry-After": "0"}), refuses(code, "busy", {"Retry-After": "0"})
    )
    async with server(answers.answer) as cluster:
        assert (await cluster.create(CONFIG_MAPS, config_map("a"))).object.metadata.name == "a"
    assert answers.asked == ["POST", "POST", "POST"]


async def test_a_pause_longer_than_the_deadline_is_not_waited_for() -> None:
    answers = Answers(refuses(429, "slow down", {"Retry-After": "3600"}))
    async with server(answers.answer, ClusterSettings(request_timeout=timedelta(minutes=30))) as cluster:
        with pytest.raises(TooManyRequests) as caught:
            await cluster.get(CONFIG_MAPS, "a")
    told = "slow down; it asks for a pause of 3600 s, and a request may take 1800 s"
    assert (caught.value.reason, caught.value.after) == (told, 3600.0)
    assert answers.asked == ["GET"]


async def test_a_read_is_repeated_after_a_cut() -> None:
    answers = Answers(cuts, refuses(500, "etcd leader changed"))
    async with server(answers.answer) as cluster:
        assert (await cluster.get(CONFIG_MAPS, "a")).metadata.name == "a"
    assert answers.asked == ["GET"] * 3


async def test_every_request_that_was_sent_is_told_with_its_method_and_answer() -> None:
    told, answers = list[Exchange](), Answers(cuts, refuses(500, "etcd leader changed"))
    async with (
        address_of(answers.answer) as address,
        connect(TokenAccess(address, "token"), told=told.append) as cluster,
    ):
        await cluster.get(CONFIG_MAPS, "a")
        await cluster.create(CONFIG_MAPS, config_map("a"))
        async with cluster.watch(CONFIG_MAPS, since="1"):
            pass
    assert [(each.method, each.code) for each in told] == [
        ("GET", "error"),
        ("GET", "500"),
        ("GET", "200"),
        ("POST", "200"),
        ("WATCH", "200"),
    ]
    assert all(each.seconds >= 0 for each in told)


async def test_a_create_is_never_repeated_after_a_cut_because_nobody_knows_whether_it_was_done() -> None:
    answers = Answers(cuts)
    async with server(answers.answer) as cluster:
        with pytest.raises(ClusterUnreachable, match="cut the connection"):
            await cluster.create(CONFIG_MAPS, config_map("a"))
    assert answers.asked == ["POST"]


async def test_a_delete_and_an_update_are_sent_once_even_when_a_kept_connection_is_cut() -> None:
    answers = Answers(answers_with(config_map("a")), cuts, answers_with(config_map("a")), cuts)
    async with server(answers.answer) as cluster:
        await cluster.get(CONFIG_MAPS, "a")
        with pytest.raises(ClusterUnreachable, match="cut the connection"):
            await cluster.delete(CONFIG_MAPS, "a")
        await cluster.get(CONFIG_MAPS, "a")
        with pytest.raises(ClusterUnreachable, match="cut the connection"):
            await cluster.update(CONFIG_MAPS, "a", config_map("a"))
    assert answers.asked == ["GET", "DELETE", "GET", "PUT"]


async def test_an_apply_is_repeated_after_a_cut_because_twice_is_the_same_as_once() -> None:
    answers = Answers(cuts)
    async with server(answers.answer) as cluster:
        assert (await cluster.apply(CONFIG_MAPS, "a", config_map("a"))).object.metadata.name == "a"
    assert answers.asked == ["PATCH", "PATCH"]


async def test_tries_come_to_an_end() -> None:
    answers = Answers(*[refuses(500, "broken")] * 9)
    async with server(answers.answer, ClusterSettings(attempts=3)) as cluster:
        with pytest.raises(ServerFailed, match="broken"):
            await cluster.get(CONFIG_MAPS, "a")
    assert answers.asked == ["GET"] * 3


async def test_a_server_that_never_answers_is_given_up_at_the_deadline() -> None:
    async with server(hangs, ClusterSettings(request_timeout=timedelta(milliseconds=100))) as cluster:
        with pytest.raises(ClusterUnreachable, match=r"gave no answer within 0\.1 s"):
            await cluster.get(CONFIG_MAPS, "a")


async def test_a_silent_watch_is_taken_for_dead() -> None:
    async def silent(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        return await hangs(request)

    async with server(silent, ClusterSettings(watch_silence=timedelta(milliseconds=300))) as cluster:
        with pytest.raises(ClusterUnreachable, match="went silent"):
            async with cluster.watch(CONFIG_MAPS, since="1") as events:
                await anext(events)


async def test_a_closed_port_is_unreachable_without_waiting() -> None:
    access = TokenAccess("http://127.0.0.1:1", "token")
    once = ClusterSettings(attempts=1, connect_timeout=timedelta(hours=1))
    async with connect(access, once, ManualClock()) as cluster:  # nobody moves the clock
        with pytest.raises(ClusterUnreachable) as caught:
            await cluster.get(CONFIG_MAPS, "a")
    assert str(caught.value) == (
        "get ConfigMap a: http://127.0.0.1:1 cannot be reached: Connect call failed ('127.0.0.1', 1). "
        "Check that the address is right and the server is up."
    )


async def test_an_answer_larger_than_the_limit_is_refused() -> None:
    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b" " * 65536)

    async with server(endless, ClusterSettings(answer_limit=1 << 20, attempts=1)) as cluster:
        with pytest.raises(ClusterUnreachable, match="more than 1 MiB"):
            await cluster.get(CONFIG_MAPS, "a")
        with pytest.raises(ClusterUnreachable, match="never ends"):
            async with cluster.watch(CONFIG_MAPS, since="1") as events:
                await anext(events)


async def test_a_page_that_is_no_kubernetes_api_is_said_to_be_none() -> None:
    async def portal(_: web.Request) -> web.StreamResponse:
        return web.Response(text="<html>Please log in</html>", content_type="text/html")

    async with server(portal, ClusterSettings(attempts=1)) as cluster:
        with pytest.raises(ClusterUnreachable, match="not Kubernetes' JSON"):
            await cluster.get(CONFIG_MAPS, "a")
        with pytest.raises(ClusterUnreachable, match="not Kubernetes' JSON"):
            await cluster.discover()


@pytest.mark.parametrize(
    "rubbish",
    [b'{"a":' + b"[" * 100_000, b'{"metadata":{"name":"\xff"}}', b'{"metadata":{"generation":1e999}}', b""],
    ids=["deep", "not UTF-8", "no number", "nothing"],
)
async def test_an_answer_made_to_break_the_reader_is_the_servers_failure(rubbish: bytes) -> None:
    async def hostile(request: web.Request) -> web.StreamResponse:
        if "watch" in request.query:
            return web.Response(body=b'{"type":"ADDED","object":' + rubbish + b"\n")
        return web.Response(body=rubbish)

    async with server(hostile, ClusterSettings(attempts=1)) as cluster:
        with pytest.raises(ClusterUnreachable, match="not Kubernetes' JSON"):
            await cluster.get(CONFIG_MAPS, "a")
        with pytest.raises(ClusterUnreachable, match="not Kubernetes' JSON"):
            async with cluster.watch(CONFIG_MAPS, since="1") as events:
                await anext(events)


@pytest.mark.parametrize("said", [{}, {"status": "ok"}, {"kind": "Status", "status": "Success"}])
async def test_json_of_somebody_in_between_is_neither_empty_nor_written_nor_gone(said: object) -> None:
    async with server(answers_with(said), ClusterSettings(attempts=1)) as cluster:
        for call in (
            lambda: cluster.get(CONFIG_MAPS, "a"),
            lambda: anext(cluster.list(CONFIG_MAPS)),
            lambda: cluster.apply(CONFIG_MAPS, "a", config_map("a")),
            lambda: cluster.delete(CONFIG_MAPS, "a"),
            cluster.discover,
            lambda: cluster.schema("v1"),
        ):
            with pytest.raises(ClusterUnreachable, match="not Kubernetes' JSON"):
                await call()


async def test_a_list_without_end_is_the_servers_failure() -> None:
    same = {"kind": "ConfigMapList", "metadata": {"continue": "same"}, "items": [config_map("a")]}
    async with asyncio.timeout(60), server(answers_with(same)) as cluster:
        with pytest.raises(ClusterUnreachable, match="the same next one"):
            [page async for page in cluster.list(CONFIG_MAPS)]


async def test_a_refusal_made_to_break_the_reader_is_still_a_refusal() -> None:
    async def hostile(_: web.Request) -> web.StreamResponse:
        return web.Response(body=b'{"message":' + b"[" * 100_000, status=403)

    async with server(hostile) as cluster:
        with pytest.raises(Forbidden, match="HTTP 403"):
            await cluster.get(CONFIG_MAPS, "a")


async def test_credentials_are_not_in_the_failure_of_a_library_either() -> None:
    words = b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000 + b"\r\n\r\n"
    async with (
        address_of_one_who_says(words) as address,
        connect(TokenAccess(address, "canary"), ClusterSettings(attempts=1)) as cluster,
    ):
        with pytest.raises(ClusterUnreachable, match="cannot be spoken to") as caught:
            await cluster.get(CONFIG_MAPS, "a")
    error: BaseException | None = caught.value
    while error is not None:
        assert "canary" not in f"{error!r} {error.args!r} {vars(error)!r}"
        error = error.__cause__ or error.__context__


async def test_the_password_of_a_proxy_that_refuses_us_stays_out_of_the_message() -> None:
    async with address_of_one_who_says(b"HTTP/1.1 407 Who are you\r\nContent-Length: 0\r\n\r\n") as proxy:
        access = TokenAccess("https://cluster.example", "token", ssl.create_default_context())
        access.proxy = proxy.replace("http://", "http://user:canary@")  # pragma: allowlist secret
        async with connect(access, ClusterSettings(attempts=1)) as cluster:
            with pytest.raises(ClusterUnreachable) as caught:
                await cluster.get(CONFIG_MAPS, "a")
    assert caught.value.reason == (
        "https://cluster.example cannot be reached through the proxy: 407 Who are you"
    )
    assert "canary" not in repr(caught.value.__cause__)


async def test_a_proxy_that_is_not_there_is_named_as_the_culprit() -> None:
    access = TokenAccess("https://cluster.example", "token", ssl.create_default_context())
    access.proxy = "http://127.0.0.1:1"
    async with connect(access, ClusterSettings(attempts=1)) as cluster:
        with pytest.raises(ClusterUnreachable) as caught:
            await cluster.get(CONFIG_MAPS, "a")
    assert caught.value.reason == (
        "https://cluster.example cannot be reached through the proxy: Connect call failed ('127.0.0.1', 1)"
    )


async def test_a_watch_is_given_up_at_the_deadline_when_a_proxy_never_opens_the_way() -> None:
    hasty = ClusterSettings(request_timeout=timedelta(milliseconds=200))
    async with address_of_one_who_says(b"") as proxy:
        access = TokenAccess("https://cluster.example", "token", ssl.create_default_context())
        access.proxy = proxy
        async with asyncio.timeout(60), connect(access, hasty) as cluster:
            with pytest.raises(ClusterUnreachable, match=r"gave no answer within 0\.2 s"):
                async with cluster.watch(CONFIG_MAPS, since="1"):
                    pass


async def test_an_object_of_more_than_a_mebibyte_travels() -> None:
    sizes = []

    async def weighs(request: web.Request) -> web.StreamResponse:
        sizes.append(sum([len(chunk) async for chunk in request.content.iter_any()]))
        return web.json_response(config_map("a"))

    async with server(weighs) as cluster:
        await cluster.create(CONFIG_MAPS, config_map("a", key="x" * 1_200_000))
    assert sizes[0] > 1_200_000


async def test_a_warning_about_a_secret_does_not_repeat_it() -> None:
    async def warns(_: web.Request) -> web.StreamResponse:
        headers = {"Warning": '299 - "the password canary is weak"'}
        return web.json_response(config_map("a"), headers=headers)

    async with server(warns) as cluster:
        written = await cluster.create(SECRETS, {"stringData": {"password": "canary"}})
    assert written.warnings == ("the password *** is weak",)


async def test_a_secret_that_is_no_json_is_not_sent_for_the_server_would_quote_it() -> None:
    answers = Answers()
    async with server(answers.answer) as cluster:
        with pytest.raises(InvalidSpec, match="not JSON") as caught:
            await cluster.create(SECRETS, b'{"data":{"p":"canary"')
    assert "canary" not in str(caught.value)
    assert answers.asked == []


async def test_a_redirect_is_not_followed_so_credentials_stay_where_they_belong() -> None:
    answers = Answers(refuses(307, "elsewhere", {"Location": "http://169.254.169.254/"}))
    async with server(answers.answer) as cluster:
        with pytest.raises(Exception, match="elsewhere"):
            await cluster.get(CONFIG_MAPS, "a")
    assert answers.asked == ["GET"]


@pytest.mark.parametrize(("compression", "gzip"), [(True, True), (False, False), (None, False)])
async def test_compressed_answers_are_asked_for_if_the_settings_say_so_and_by_default_from_afar(
    *, compression: bool | None, gzip: bool
) -> None:
    settings = replace(PATIENT, compression=compression)
    accepted: list[str] = []

    async def notes(request: web.Request) -> web.StreamResponse:
        accepted.append(request.headers["Accept-Encoding"])
        return web.json_response(config_map("a"))

    async with server(notes, settings) as cluster:
        await cluster.get(CONFIG_MAPS, "a", namespace="n")
    assert ["gzip" in each for each in accepted] == [gzip]


@pytest.mark.parametrize(("entry", "gzip"), [({}, True), ({"disable-compression": True}, False)])
async def test_a_kubeconfig_may_do_without_compression(
    entry: Mapping[str, object], tmp_path: Path, *, gzip: bool
) -> None:
    accepted: list[str] = []

    async def notes(request: web.Request) -> web.StreamResponse:
        accepted.append(request.headers["Accept-Encoding"])
        return web.json_response(config_map("a"))

    async with address_of(notes) as address:
        written = {
            "current-context": "x",
            "clusters": [{"name": "c", "cluster": {"server": address, **entry}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "users": [{"name": "u", "user": {}}],
        }
        (tmp_path / "config").write_bytes(msgspec.json.encode(written))
        access = from_kubeconfig([tmp_path / "config"], settings=PATIENT, clock=ManualClock(), environment={})
        async with connect(access, replace(PATIENT, compression=True)) as cluster:
            await cluster.get(CONFIG_MAPS, "a", namespace="n")
    assert ["gzip" in each for each in accepted] == [gzip]


@pytest.mark.parametrize(
    ("server", "near"),
    [
        ("https://127.0.0.1:6443", True),
        ("http://127.8.0.1/below", True),
        ("https://[::1]:6443", True),
        ("https://localhost:6443", True),
        ("https://10.96.0.1", False),
        ("https://localhost.example:6443", False),
        ("https://kubernetes.default.svc", False),
    ],
)
def test_a_server_is_near_if_its_address_is_this_machines_own(server: str, *, near: bool) -> None:
    assert is_near(server) is near


async def test_the_kernel_asks_after_the_other_end_of_every_connection() -> None:
    watching = asyncio.Event()

    async def answers(request: web.Request) -> web.StreamResponse:
        if "watch" in request.query:
            response = web.StreamResponse()
            await response.prepare(request)
            await watching.wait()
            return response
        return web.json_response(config_map("a"))

    async with address_of(answers) as address, connect(TokenAccess(address, "token"), PATIENT) as cluster:
        await cluster.get(CONFIG_MAPS, "a")
        async with cluster.watch(CONFIG_MAPS, since="1"):
            asked_after = [_keep_alive(each) for each in _connections_to(int(address.rpartition(":")[2]))]
            watching.set()
    assert asked_after == [{"on": 1, "idle": 15, "every": 5, "times": 3, "unanswered": 30_000}] * 2


def _keep_alive(connection: socket.socket) -> dict[str, int]:
    with connection:
        options = {
            "on": (socket.SOL_SOCKET, socket.SO_KEEPALIVE),
            "idle": (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE),
            "every": (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL),
            "times": (socket.IPPROTO_TCP, socket.TCP_KEEPCNT),
            "unanswered": (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT),
        }
        return {name: connection.getsockopt(*option) for name, option in options.items()}


def _connections_to(port: int) -> Iterator[socket.socket]:
    """This process's own ends of connections to a port, as the kernel knows them."""
    for entry in sorted(Path("/proc/self/fd").iterdir(), key=lambda each: int(each.name)):
        with suppress(OSError):
            if not str(entry.readlink()).startswith("socket:"):
                continue
            found = socket.socket(fileno=os.dup(int(entry.name)))
            try:
                theirs = found.getpeername()
            except OSError:
                theirs = None
            if found.family == socket.AF_INET and theirs and theirs[1] == port:
                yield found
            else:
                found.close()


async def numbered_pages(request: web.Request) -> web.StreamResponse:
    """A list without end, a megabyte a page; the token says how many pages are still to come."""
    left = int(request.query.get("continue", request.query.get("labelSelector", "pages=0").partition("=")[2]))
    data = "x" * (1 << 20 >> 8)
    items = [{"metadata": {"name": f"{left}-{number}"}, "data": {"x": data}} for number in range(256)]
    metadata = {"resourceVersion": "1", **({"continue": str(left - 1)} if left > 1 else {})}
    return web.json_response({"kind": "ConfigMapList", "metadata": metadata, "items": items})


async def peak_of_listing(cluster: HttpCluster, pages: int, *, keeping: bool = False) -> int:
    """The most memory that listing so many pages takes, beyond what was taken before."""
    kept: list[Page] = []
    gc.collect()
    tracemalloc.start()
    try:
        async for page in cluster.list(CONFIG_MAPS, select=Selection(labels=f"pages={pages}")):
            kept = [*kept, page] if keeping else []
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


async def test_a_list_never_holds_more_than_a_page() -> None:
    async with server(numbered_pages) as cluster:
        few = await peak_of_listing(cluster, 3)
        many = await peak_of_listing(cluster, 12)
        kept = await peak_of_listing(cluster, 12, keeping=True)
    megabyte = 1 << 20
    assert kept - few > 6 * megabyte  # what it looks like when all pages are held
    assert many - few < 2 * megabyte


async def test_no_more_requests_are_under_way_than_allowed() -> None:
    under_way, most, all_there = 0, 0, asyncio.Event()

    async def counts(_: web.Request) -> web.StreamResponse:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        if most == 3:
            all_there.set()
        await all_there.wait()
        await asyncio.sleep(0.01)  # a fourth would come now
        under_way -= 1
        return web.json_response(config_map("a"))

    async with server(counts, ClusterSettings(concurrency=3)) as cluster, asyncio.TaskGroup() as room:
        for _ in range(20):
            room.create_task(cluster.get(CONFIG_MAPS, "a"))
    assert most == 3


async def test_a_request_is_not_starved_by_those_who_ask_again_and_again() -> None:
    asked: list[str] = []

    async def counts(request: web.Request) -> web.StreamResponse:
        asked.append(request.path.rpartition("/")[2])
        return web.json_response(config_map("a"))

    async def greedy(cluster: HttpCluster) -> None:
        for _ in range(60):
            await cluster.get(CONFIG_MAPS, "many")

    async with server(counts, ClusterSettings(concurrency=2)) as cluster, asyncio.TaskGroup() as room:
        for _ in range(4):
            room.create_task(greedy(cluster))
        await asyncio.sleep(0)
        await cluster.get(CONFIG_MAPS, "few")
        await cluster.get(CONFIG_MAPS, "few")
    first, second = (at for at, name in enumerate(asked) if name == "few")
    assert first < 10
    assert second < 20


async def test_fifty_watches_do_not_starve_a_request() -> None:
    async def watches_hang(request: web.Request) -> web.StreamResponse:
        if "watch" not in request.query:
            return web.json_response(config_map("a"))
        response = web.StreamResponse()
        await response.prepare(request)
        return await hangs(request)

    async def watch(cluster: HttpCluster, opened: asyncio.Semaphore) -> None:
        async with cluster.watch(CONFIG_MAPS, since="1"):
            opened.release()
            await asyncio.get_running_loop().create_future()

    patient = ClusterSettings(concurrency=1)
    async with server(watches_hang, patient) as cluster, asyncio.TaskGroup() as room:
        opened = asyncio.Semaphore(0)
        watching = [room.create_task(watch(cluster, opened)) for _ in range(50)]
        for _ in watching:
            await opened.acquire()
        assert (await cluster.get(CONFIG_MAPS, "a")).metadata.name == "a"
        for each in watching:
            each.cancel()


class RefreshingAccess(TokenAccess):
    """A token that is exchanged when the server refuses it."""

    async def rejected(self, sent: Mapping[str, str] | None = None) -> bool:
        fresh = self.token == "old"
        self.token = "new"
        return fresh


async def test_refused_credentials_are_refreshed_and_tried_once_more() -> None:
    tokens = []

    async def knows_only_new(request: web.Request) -> web.StreamResponse:
        tokens.append(request.headers["Authorization"])
        if tokens[-1] == "Bearer new":
            return web.json_response(config_map("a"))
        return await refuses(401, "Unauthorized")(request)

    async with address_of(knows_only_new) as address:
        async with connect(RefreshingAccess(address, "old")) as refreshing:
            assert (await refreshing.get(CONFIG_MAPS, "a")).metadata.name == "a"
        assert tokens == ["Bearer old", "Bearer new"]
        async with connect(TokenAccess(address, "old")) as stubborn:
            with pytest.raises(Unauthenticated):
                await stubborn.get(CONFIG_MAPS, "a")


async def test_an_event_cut_short_is_never_told() -> None:
    async def cut_short(request: web.Request) -> web.StreamResponse:
        whole = b'{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"2"}}}\n'
        return web.Response(body=whole + b'{"type":"MODIFIED","obj')

    async with server(cut_short) as cluster, cluster.watch(CONFIG_MAPS, since="1") as events:
        assert (await anext(events)).object.metadata.name == "a"
        with pytest.raises(ClusterUnreachable, match="cut the connection"):
            await anext(events)


@pytest.mark.parametrize(
    "line",
    [
        b"not json",
        b'{"type":"ADDED"}',
        b'{"type":"STRANGE","object":{}}',
        b'{"type":"ADDED","object":{"metadata":"text"}}',
        b'{"type":"ERROR","object":[]}',
        b"",
    ],
)
async def test_a_watch_frame_that_makes_no_sense_is_the_servers_failure(line: bytes) -> None:
    async def nonsense(_: web.Request) -> web.StreamResponse:
        return web.Response(body=line + b"\n")

    async with server(nonsense) as cluster, cluster.watch(CONFIG_MAPS, since="1") as events:
        with pytest.raises(ClusterUnreachable, match="not Kubernetes' JSON"):
            await anext(events)


@pytest.mark.parametrize(
    ("error", "repeatable", "worth"),
    [
        (Throttled("s", "r", after=7), False, True),
        (Unavailable("s", "r"), True, True),
        (Unavailable("s", "r"), False, False),
        (InvalidSpec("s", "r"), True, False),
    ],
)
def test_what_is_worth_repeating(error: TrimtabError, *, repeatable: bool, worth: bool) -> None:
    assert is_worth_repeating(error, repeatable=repeatable) is worth


@pytest.mark.parametrize(("header", "seconds"), [("3", 3.0), ("0", 0.0), ("", None), ("Wed, 21 Oct", None)])
def test_retry_after_is_read_in_seconds(header: str, seconds: float | None) -> None:
    assert seconds_in(header) == seconds


@pytest.mark.parametrize(
    ("date", "moment"),
    [
        ("Mon, 16 Nov 2026 12:00:00 GMT", datetime(2026, 11, 16, 12, tzinfo=UTC)),
        ("Mon, 16 Nov 2026 12:00:00 -0000", datetime(2026, 11, 16, 12, tzinfo=UTC)),
        ("Mon, 99 Foo 2026", None),
    ],
)
async def test_a_servers_time_is_a_moment_or_none(date: str, moment: datetime | None) -> None:
    async def dated(_: web.Request) -> web.StreamResponse:
        return web.json_response({}, headers={"Date": date})

    async with server(dated) as cluster:
        assert await cluster.time() == moment


def test_warning_headers_are_read_without_their_quotes() -> None:
    assert warnings_in(['299 - "unknown field \\"spec.foo\\""', '299 - "back\\\\slash"']) == (
        'unknown field "spec.foo"',
        "back\\slash",
    )
