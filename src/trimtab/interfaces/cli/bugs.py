"""What becomes of an exception nobody foresaw: a file with the details, and one line that names it."""

from __future__ import annotations

import os
import platform
import secrets
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path

from trimtab import __version__
from trimtab.settings.places import placed


def recorded(exc: Exception, environment: Mapping[str, str], *, debug: bool) -> str:
    """Keep the details of a bug, on stderr if asked for, and say in one line where they are."""
    name = secrets.token_hex(4)
    details = _details(exc, name)
    sentence = f"this is a bug in Trimtab, not your doing (id {name})."
    if debug:
        sys.stderr.write(details)
        return f"{sentence} The details are above."
    try:
        return f"{sentence} The details are in {_kept(details, _folder(environment), name)}."
    except OSError:
        return f"{sentence} Run the command again with --debug to see the details."


def _details(exc: Exception, name: str) -> str:
    """The traceback, without arguments or local values: those may hold secrets."""
    about = f"trimtab {__version__}, Python {platform.python_version()}, {platform.system()}, id {name}"
    return f"{about}\n\n{''.join(traceback.format_exception(exc))}"


def _folder(environment: Mapping[str, str]) -> Path:
    return Path(placed("~/.local/state/trimtab/bugs", environment)[0]).expanduser()


def _kept(details: str, folder: Path, name: str) -> Path:
    """Write a file that only its owner can read."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.txt"
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(details)
    return path
