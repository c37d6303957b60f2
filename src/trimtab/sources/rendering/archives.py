"""Vendored chart archives, looked through before a program opens them. Pure.

Helm reads archives into memory and has its own checks. Ours come first and are stricter: nothing but ordinary
files and folders below one folder, and no more of it than the bounds allow.
"""

from __future__ import annotations

import io
import tarfile
import zlib
from typing import Final

from trimtab.errors import SourceRefused
from trimtab.sources.rendering.paths import shown

#: a tar header, and what zlib is given at a time
_BLOCK: Final = 64 * 1024


def check(archive: bytes, *, subject: str, path: str, most_files: int, most_bytes: int) -> None:
    """Return if the archive is an honest one; anything else in it is refused."""
    try:
        opened = tarfile.open(fileobj=io.BytesIO(_unpacked(archive, most_bytes)), mode="r:")  # noqa: SIM115 - memory
        for number, member in enumerate(opened, 1):
            problem = _problem(member) or ("it holds too many files" if number > most_files else "")
            if problem:
                raise SourceRefused(
                    subject, f"the archive {shown(path)} is refused: {problem}", "Pack it anew"
                )
    except (tarfile.TarError, zlib.error, _TooLarge, OverflowError, ValueError) as error:
        reason = f"the archive {shown(path)} is broken or unpacks to more than {most_bytes:,} bytes"
        raise SourceRefused(subject, reason, "Pack it anew") from error


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
    return ""
