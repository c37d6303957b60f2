"""Git as somebody calls it in a folder, for tests that commit; it reads nobody's own settings of a name."""

from __future__ import annotations

import subprocess
from pathlib import Path

_AUTHOR = ("-c", "user.name=Ann", "-c", "user.email=ann@example.com")


def git(folder: Path, *arguments: str) -> str:
    """What git says in this folder."""
    command = ["git", *_AUTHOR, *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()
