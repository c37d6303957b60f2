"""Chart archives: looked through before anything opens them, unpacked into memory, and packed. Pure.

Helm reads archives into memory and has its own checks. Ours come first and are stricter: nothing but ordinary
files and folders below one folder, and no more of it than the bounds allow.
"""

from __future__ import annotations

import gzip
import io
import posixpath
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct

from trimtab.errors import SourceRefused
from trimtab.sources.rendering.paths import shown

#: a tar header, and what zlib is given at a time
_BLOCK: Final = 64 * 1024
_DEEPEST: Final = 64


class Packed(Struct, frozen=True, kw_only=True, gc=False):
    """One file of an archive."""

    content: bytes
    executable: bool = False


def contents(
    archive: bytes, *, subject: str, path: str, most_files: int, most_bytes: int
) -> Iterator[tuple[str, bytes]]:
    """The files of an honest archive by their names, as helm takes them; anything else in it is refused."""
    members = _members(archive, subject, path, most_files=most_files, most_bytes=most_bytes)
    for member, content in members:
        yield posixpath.normpath(member.name.replace("\\", "/")), content


def packed(files: Mapping[str, bytes], top: str) -> bytes:
    """An archive of these files in one folder; the same files always make the same bytes."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in sorted(files.items()):
            member = tarfile.TarInfo(f"{top}/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return gzip.compress(out.getvalue(), compresslevel=1, mtime=0)


def files_in(
    archive: bytes, *, subject: str, path: str, most_files: int, most_bytes: int
) -> dict[str, Packed]:
    """The files of a chart by their paths, without the one folder that they all lie in."""
    found: dict[str, Packed] = {}
    top: str | None = None
    members = _members(archive, subject, path, most_files=most_files, most_bytes=most_bytes)
    for member, content in members:
        words = [word for word in member.name.split("/") if word not in {"", "."}]
        problem = _misplaced(words, found) if top in {None, *words[:1]} else "lies in another folder"
        if problem:
            raise _refused(subject, path, f"{shown(member.name)} {problem}")
        top = words[0]
        found["/".join(words[1:])] = Packed(content=content, executable=bool(member.mode & 0o100))
    _check_folders(found, subject, path)
    return found


def _misplaced(words: list[str], found: dict[str, Packed]) -> str:
    """Why a file may not lie there; empty if it may."""
    if len(words) < 2:
        return "lies in no folder"
    if len(words) > _DEEPEST:
        return "lies too deep"
    return "is there twice" if "/".join(words[1:]) in found else ""


def _check_folders(found: dict[str, Packed], subject: str, path: str) -> None:
    """Return if nothing is a file and a folder at once."""
    for each in found:
        folder = each.rpartition("/")[0]
        while folder:
            if folder in found:
                raise _refused(subject, path, f"{shown(folder)} is a file and a folder")
            folder = folder.rpartition("/")[0]


def _members(
    archive: bytes, subject: str, path: str, *, most_files: int, most_bytes: int
) -> Iterator[tuple[tarfile.TarInfo, bytes]]:
    """Every file of an honest archive, with its bytes."""
    try:
        opened = tarfile.open(fileobj=io.BytesIO(_unpacked(archive, most_bytes)), mode="r:")  # noqa: SIM115 - memory
        for number, member in enumerate(opened, 1):
            problem = _problem(member) or ("it holds too many files" if number > most_files else "")
            if problem:
                raise _refused(subject, path, problem)
            file = opened.extractfile(member)
            if file is not None:
                yield member, file.read()
    except (tarfile.TarError, zlib.error, _TooLarge, OverflowError, ValueError) as error:
        reason = f"the archive {shown(path)} is broken or unpacks to more than {most_bytes:,} bytes"
        raise SourceRefused(subject, reason, "Pack it anew") from error


def _refused(subject: str, path: str, problem: str) -> SourceRefused:
    return SourceRefused(subject, f"the archive {shown(path)} is refused: {problem}", "Pack it anew")


class _TooLarge(Exception):
    """More came out than is allowed."""


def _unpacked(archive: bytes, most: int) -> bytes:
    """The tar inside the gzip; several gzip members in a row count together."""
    out, rest = io.BytesIO(), archive
    while rest:
        unpacker = zlib.decompressobj(wbits=31)
        while rest and not unpacker.eof:
            out.write(unpacker.decompress(rest, _BLOCK))
            if out.tell() > most:
                raise _TooLarge
            rest = unpacker.unconsumed_tail
        if not unpacker.eof:
            raise zlib.error("the archive ends too early")
        rest = unpacker.unused_data
    return out.getvalue()


def _problem(member: tarfile.TarInfo) -> str:
    words = member.name.replace("\\", "/").split("/")
    if member.name.startswith(("/", "\\")) or ".." in words or ":" in words[0]:
        return f"{shown(member.name)} leads out of it"
    if not (member.isreg() or member.isdir()):
        return f"{shown(member.name)} is neither file nor folder"
    if member.issparse():  # a few bytes that mean any number of zeros
        return f"{shown(member.name)} has holes"
    return ""
