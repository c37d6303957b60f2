"""Runs mypy; a fresh checkout begins with what mypy learned in the last one.

mypy judges by content what of that still holds, as it does in a checkout of yesterday. It is handed on as a
copy, for two runs must not write to one place.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from scripts.bootstrap import cache_folder

ROOT = Path(__file__).resolve().parents[1]
MYPY = Path(sys.executable).with_name("mypy")
LEARNED = ".mypy_cache"


def copy(source: Path, target: Path) -> None:
    """Put a copy in the place of what is there, whole or not at all, whoever else does so."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f"{LEARNED}-") as folder:
        shutil.copytree(source, Path(folder, "new"))
        if target.exists():
            target.rename(Path(folder, "old"))
        Path(folder, "new").rename(target)


def hand_on(source: Path, target: Path) -> None:
    """Copy what was learned, if it is there; without it mypy only takes longer."""
    try:
        copy(source, target)
    except (OSError, shutil.Error) as exc:
        if source.exists():
            print(f"what mypy learned could not be copied to {target}: {exc}", file=sys.stderr)


def main(kept: Path, root: Path = ROOT) -> int:
    """Run mypy here; what it learns in a fresh checkout is kept for the next."""
    learned = root / LEARNED
    fresh = not learned.exists()
    if fresh:
        hand_on(kept, learned)
    exit_code = subprocess.run([MYPY], cwd=root, check=False).returncode
    if fresh and exit_code == 0:
        hand_on(learned, kept)
    return exit_code


if __name__ == "__main__":
    environment = os.environ  # noqa: TID251 - this is the edge
    sys.exit(main(cache_folder(environment) / "mypy"))
