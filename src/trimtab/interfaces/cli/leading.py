"""Commands that are advised lead to the cluster that was meant: with the options that it was meant by.

Messages come from all rooms, and know nothing of options; so they are completed here, on their way out.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Final

import click

#: where the options of this call are kept: click shares it among all contexts of one call
_MEANT: Final = "trimtab.meant"
#: the verbs that take these options
LED: Final = frozenset(
    [
        "apply",
        "delete",
        "diff",
        "doctor",
        "history",
        "install",
        "pause",
        "plan",
        "resume",
        "rollback",
        "run",
        "status",
        "sync",
        "terminate",
        "tree",
        "wait",
        "why",
    ]
)
#: how commands of kubectl go on that are advised; it takes these options anywhere
_KUBECTL: Final = ("-n", "create", "get", "logs")
_COMMAND: Final = re.compile(
    rf"(?<![\w/.-])(?:trimtab (?:{'|'.join(sorted(LED))})(?![\w-])|kubectl(?= (?:{'|'.join(_KUBECTL)}) ))"
)


def options_of(kubeconfig: Path | None, context: str | None) -> str:
    """The options as they would be typed; nothing, if none was given."""
    given = {"--kubeconfig": kubeconfig and str(kubeconfig), "--context": context}
    return " ".join(f"{name} {shlex.quote(value)}" for name, value in given.items() if value)


def led(text: str, options: str) -> str:
    """A text whose commands carry these options, where they take them."""
    return _COMMAND.sub(lambda found: f"{found[0]} {options}", text) if options else text


def remember(kubeconfig: Path | None, context: str | None) -> None:
    """Have what this call advises carry its options."""
    current = click.get_current_context(silent=True)
    if current is not None:
        current.meta[_MEANT] = options_of(kubeconfig, context)


def as_meant(text: str, call: click.Context | None = None) -> str:
    """A text whose commands carry the options of a call, or of the one under way."""
    of = call or click.get_current_context(silent=True)
    return led(text, of.meta.get(_MEANT, "")) if of is not None else text
