"""What the machine refuses, wherever that is met: a full disk and missing rights are nobody's bug. Pure.

A net below the rooms, which say more where they know more: what the file was for, and which setting moves it.
"""

from __future__ import annotations

import errno
from typing import Final

from trimtab.errors import Missing, NotAllowed, TrimtabError, Unavailable

_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_REFUSED: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EISDIR})


def is_full(exc: OSError) -> bool:
    """Whether there is no room left: it may be otherwise when the same is tried again."""
    return exc.errno in _FULL


def circumstance(exc: OSError) -> TrimtabError | None:
    """What a person can act on; None if it is for us to explain."""
    where = str(exc.filename or "")
    if is_full(exc):
        reason = f"it cannot be written: {_words(exc)}"
        remedy = "Make room, and run the command again"
        return Unavailable(where or "a file, or standard output", reason, remedy)
    if exc.errno in _REFUSED and where:
        remedy = "Mend its rights, or have HOME or the settings name another folder"
        return NotAllowed(where, f"it cannot be used: {_words(exc)}", remedy)
    if exc.errno == errno.ENOENT and not where:  # only who asks where he is is told of no name
        return Missing("the folder you are in", "it is no longer there", "Go to another")
    return None


def _words(exc: OSError) -> str:
    return (exc.strerror or "the machine refuses").lower()
