"""Fills a folder with the pinned helm and kustomize, for an image: a `programs.cache` that needs no network.

The folder is for everybody to read, and for whoever builds the image alone to write.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path

from trimtab.errors import TrimtabError
from trimtab.programs import find
from trimtab.programs.pins import KNOWN, Known
from trimtab.settings import ProgramsSettings

NAMES = ("helm", "kustomize")
#: what fetching leaves beside the programs, and nobody needs in an image
LEFT = {"package", "package.part", "lock"}


async def fill(folder: Path, known: Mapping[str, Known]) -> list[str]:
    """Have every one of the known programs in the folder; say where each is."""
    settings = ProgramsSettings(cache=str(folder))
    found = [await find(name, path="", settings=settings, known=known) for name in known]
    return [f"{each.name}: {each.path}" for each in found]


def tidy(folder: Path) -> None:
    """Leave the programs alone in the folder, for everybody to read."""
    for path in (folder, *folder.rglob("*")):
        if path.name in LEFT:
            path.unlink()
        else:
            path.chmod(0o755)


def main(arguments: list[str]) -> int:
    """Fill the folder that is named; say in one line why not."""
    if len(arguments) != 1:
        print("usage: fetch_programs.py FOLDER", file=sys.stderr)
        return 2
    folder = Path(arguments[0])
    try:
        print(*asyncio.run(fill(folder, {name: KNOWN[name] for name in NAMES})), sep="\n")
        tidy(folder)
    except (TrimtabError, OSError) as exc:
        print(f"programs were not fetched: {exc}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
