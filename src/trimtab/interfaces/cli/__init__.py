"""The `trimtab` command: it starts here; each family of verbs has a file, imported when it is called."""

from __future__ import annotations

import gc
import sys
from typing import NoReturn

INTERRUPTED = 130
#: after so many new values unreachable ones are looked for: a command makes many, lets few go, and ends
_VALUES_PER_SEARCH = 100_000
#: the same for who stays: what is let go must not pile up
_VALUES_PER_SEARCH_OF_WHO_STAYS = 20_000


def main() -> NoReturn:
    """Run the command that stands on the command line, and leave with its exit code."""
    gc.set_threshold(_VALUES_PER_SEARCH)
    try:
        from trimtab.interfaces.cli.entry import run_process

        sys.exit(run_process())
    except KeyboardInterrupt:  # so early that nothing has begun
        sys.exit(INTERRUPTED)


def settle_in() -> None:
    """Say that this process stays for long: memory matters more to it than the first second."""
    gc.set_threshold(_VALUES_PER_SEARCH_OF_WHO_STAYS)
