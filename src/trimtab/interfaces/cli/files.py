"""Files that a command line names: manifests that are read, `-` for stdin; and one that is written whole."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trimtab.files import read_file

if TYPE_CHECKING:
    from trimtab.resources.yaml import Document, Unread

STDIN = "-"


def check_stdin(files: Sequence[str]) -> None:
    """Refuse several files that are stdin: only the first one would be read."""
    if files.count(STDIN) > 1:
        raise click.UsageError("Only one file can be stdin.")


def documents_in(files: Iterable[str]) -> tuple[Document, ...]:
    """Every document of some YAML or JSON files that is not empty, in order."""
    from trimtab.resources.yaml import documents

    return tuple(one for file in files for one in documents(_text(file), _name(file)))


def each_document_in(files: Iterable[str]) -> tuple[Document | Unread, ...]:
    """The same, those that cannot be read among them."""
    from trimtab.resources.yaml import each_document

    return tuple(one for file in files for one in each_document(_text(file), _name(file)))


def write_whole(path: Path, content: bytes) -> None:
    """Write a file whole, or leave what was there; what is no file, such as a pipe, is only written to."""
    target = path.resolve()
    if target.exists() and not target.is_file():
        target.write_bytes(content)
        return
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        beside.write_bytes(content)
        if target.exists():
            beside.chmod(target.stat().st_mode & 0o777)
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _name(file: str) -> str:
    return "stdin" if file == STDIN else file


def _text(file: str) -> bytes:
    from trimtab.resources.yaml import Limits

    limit = Limits().size
    if file == STDIN:
        return sys.stdin.buffer.read(limit + 1)  # what is longer is refused by whoever reads the YAML
    absent = "Name a file, or - for stdin"
    return read_file(Path(file), subject=f"file {file}", limit=limit, absent=absent, pipes=True)
