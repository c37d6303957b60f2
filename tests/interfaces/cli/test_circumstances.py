"""What the machine refuses is told as such, and what it does not explain is left to us."""

from __future__ import annotations

import errno
import os

import pytest

from trimtab.interfaces.cli.circumstances import circumstance


def refused(number: int, where: str | None = None) -> OSError:
    return OSError(number, os.strerror(number), where)


@pytest.mark.parametrize(
    ("exc", "sentence", "code"),
    [
        (
            refused(errno.ENOSPC, "/data/a"),
            "/data/a: it cannot be written: no space left on device. Make room, and run the command again.",
            4,
        ),
        (
            refused(errno.EDQUOT),
            (
                "a file, or standard output: it cannot be written: disk quota exceeded. "
                "Make room, and run the command again."
            ),
            4,
        ),
        (
            refused(errno.EROFS, "/home/ann/.cache"),
            (
                "/home/ann/.cache: it cannot be used: read-only file system. "
                "Mend its rights, or have HOME or the settings name another folder."
            ),
            2,
        ),
        (
            refused(errno.ENOENT),
            "the folder you are in: it is no longer there. Go to another.",
            3,
        ),
    ],
)
def test_a_full_disk_and_missing_rights_are_nobodys_bug(exc: OSError, sentence: str, code: int) -> None:
    told = circumstance(exc)
    assert told is not None
    assert (str(told), told.exit_code) == (sentence, code)


@pytest.mark.parametrize("exc", [refused(errno.EPERM), refused(errno.ENOENT, "/data/a"), OSError("odd")])
def test_what_the_machine_does_not_explain_is_a_bug(exc: OSError) -> None:
    assert circumstance(exc) is None
