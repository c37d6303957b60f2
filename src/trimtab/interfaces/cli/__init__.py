"""The `trimtab` command: it starts here; each family of verbs has a file, imported when it is called."""

from __future__ import annotations

import sys
from typing import NoReturn

INTERRUPTED = 130


def main() -> NoReturn:
    """Run the command that stands on the command line, and leave with its exit code."""
    try:
        from trimtab.interfaces.cli.entry import run_process

        sys.exit(run_process())
    except KeyboardInterrupt:  # so early that nothing has begun
        sys.exit(INTERRUPTED)
