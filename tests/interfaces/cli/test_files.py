"""What a command line has written is there whole, or what was there before is."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.scarcity import no_file_larger_than
from trimtab.interfaces.cli.files import write_whole


def test_a_file_is_replaced_with_its_rights_also_behind_a_link(tmp_path: Path) -> None:
    file, link = tmp_path / "shop.plan", tmp_path / "link"
    file.write_bytes(b"old")
    file.chmod(0o640)
    link.symlink_to(file)
    write_whole(link, b"new")
    assert (file.read_bytes(), file.stat().st_mode & 0o777, link.is_symlink()) == (b"new", 0o640, True)
    assert sorted(tmp_path.iterdir()) == [link, file]


def test_what_cannot_be_written_leaves_what_was_there(tmp_path: Path) -> None:
    file = tmp_path / "shop.plan"
    file.write_bytes(b"old")
    with no_file_larger_than(10), pytest.raises(OSError, match="File too large"):
        write_whole(file, b"new" * 10)
    assert (file.read_bytes(), list(tmp_path.iterdir())) == (b"old", [file])


def test_what_is_no_file_is_only_written_to(tmp_path: Path) -> None:
    write_whole(Path("/dev/null"), b"new")
    assert Path("/dev/null").is_char_device()
    with pytest.raises(IsADirectoryError):
        write_whole(tmp_path, b"new")
