"""Where the embedded cluster knowingly answers otherwise than the real server, and why.

Each entry names a case; the embedded cluster's own answer is recorded beside the real one's, and a test fails
when the two become the same. The documentation's table is made from this.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

#: the case's id, and the reason in a sentence for users
KNOWN: Mapping[str, str] = {}

#: cases whose answers are not the real server's yet: a strict list, which only ever gets shorter
OPEN_FILE = Path(__file__).parent / "recorded" / "open.txt"


def open_cases(path: Path = OPEN_FILE) -> frozenset[str]:
    """The cases that are still open, as `world/table: name`."""
    return frozenset(path.read_text(encoding="utf-8").splitlines()) if path.exists() else frozenset()
