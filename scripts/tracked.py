"""Which files Git tracks here, and which of them are worth reading as text."""

from __future__ import annotations

import subprocess
from pathlib import Path

#: written by tools, full of hashes
MACHINE_WRITTEN = ("uv.lock", "go.sum")


def tracked_files(root: Path) -> list[Path]:
    """Every tracked or soon-to-be-tracked text file that people write, relative to `root`."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout
    paths = {Path(name) for name in listed.split("\0") if name}
    return sorted(path for path in paths if path.name not in MACHINE_WRITTEN and _is_text(root / path))


def _is_text(path: Path) -> bool:
    """Whether the file is there and holds text; the way Git decides it: a NUL byte near the start."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return b"\0" not in file.read(8000)
