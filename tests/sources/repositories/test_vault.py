"""Private folders."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from trimtab.sources.repositories.vault import private_folder, private_parent, sweep

LATER = timedelta(hours=1)
HOLDER = """
import sys
from pathlib import Path
from trimtab.sources.repositories.vault import private_folder
with private_folder(Path(sys.argv[1]), lambda folder: {"key": folder}) as folder:
    print(folder, flush=True)
    sys.stdin.read()
"""


def later() -> datetime:
    return datetime.now(UTC) + LATER  # noqa: TID251 - the files have the machine's own times


def test_only_its_owner_can_open_it_and_it_goes_with_the_block(tmp_path: Path) -> None:
    with private_folder(tmp_path, lambda folder: {"key": f"secret in {folder}"}) as folder:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert stat.S_IMODE((folder / "key").stat().st_mode) == 0o600
        assert (folder / "key").read_text() == f"secret in {folder}"
    assert list(tmp_path.iterdir()) == []


def test_it_goes_when_writing_fails(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), private_folder(tmp_path, lambda _: {"x": str(1 / 0)}):
        pass
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_is_swept_and_what_a_living_one_uses_is_not(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout
        folder = Path(holder.stdout.readline().strip())
        assert sweep(tmp_path, now=later()) == 0
        assert (folder / "key").exists()
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait()
        assert sweep(tmp_path, now=later() - 2 * LATER) == 0  # too young to be sure
        assert sweep(tmp_path, now=later()) == 1
    assert list(tmp_path.iterdir()) == []


def test_links_to_elsewhere_are_not_swept(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "file").write_text("x")
    (tmp_path / "trimtab-private-link").symlink_to(elsewhere)
    assert sweep(tmp_path, now=later()) == 0
    assert (elsewhere / "file").exists()


def test_private_folders_lie_in_memory_where_there_is_such_a_place(tmp_path: Path) -> None:
    assert private_parent(tmp_path) in {Path("/dev/shm"), tmp_path}
