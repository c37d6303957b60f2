"""The `trimtab` command: it starts here; each family of verbs has a file, imported when it is called."""

from __future__ import annotations

import gc
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # it takes longer to import than the rest of this together
    from typing import NoReturn

INTERRUPTED = 130
#: after so many new values unreachable ones are looked for: a command makes many, lets few go, and ends
_VALUES_PER_SEARCH = 100_000


def main() -> NoReturn:
    """Run the command that stands on the command line, and leave with its exit code."""
    gc.set_threshold(_VALUES_PER_SEARCH)
    try:
        if _starts_a_cluster(sys.argv[1:]):
            _run_ahead()
        from trimtab.interfaces.cli.entry import run_process

        sys.exit(run_process())
    except KeyboardInterrupt:  # so early that nothing has begun
        sys.exit(INTERRUPTED)


def _starts_a_cluster(words: list[str]) -> bool:
    """Whether these words most probably start a cluster in the background."""
    is_usual = None not in (sys.stdin, sys.stdout, sys.stderr)
    return is_usual and words[:2] == ["cluster", "up"] and not {"--foreground", "--help"} & set(words)


def _run_ahead() -> None:
    """Begin the process of a cluster before its options are read; it ends with us if nobody wants it."""
    import atexit
    import os

    from trimtab.apiserver import spawning

    spawning.begin_early(os.environ)  # noqa: TID251 - this is the edge
    atexit.register(spawning.give_up_early)
