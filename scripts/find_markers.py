"""Fails when a tracked file promises later work in a comment: such work is done, or it is not here."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from scripts.tracked import tracked_files

ROOT = Path(__file__).resolve().parents[1]
#: spelled in pieces, so that this file does not find itself
MARKER = re.compile(r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "X" + "XX", "HA" + "CK"]) + r")\b")


def markers(root: Path) -> Iterator[str]:
    """Every line with a marker, as file:line: text."""
    for path in tracked_files(root):
        lines = (root / path).read_text(errors="replace").splitlines()
        for number, line in enumerate(lines, start=1):
            if MARKER.search(line):
                yield f"{path}:{number}: {line.strip()}"


def main(root: Path = ROOT) -> int:
    """Print what was found and count it as failure."""
    found = list(markers(root))
    for line in found:
        print(line)
    print(f"{len(found)} lines promise later work" if found else "no line promises later work")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
