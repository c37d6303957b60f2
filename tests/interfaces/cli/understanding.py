"""What a text tells somebody to run, and whether the command understands it: it is parsed, and not run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import click

from trimtab.interfaces.cli.verbs import trimtab

_COMMAND = re.compile(r"(?<![\w/.-])trimtab (?P<words>[a-z-][^`;,()\n…|&]*)")
#: where a sentence goes on after a command
_END = re.compile(r" or | ends | looks | lists | says | waits | writes |  |\.(?: |$)|: ")
#: what follows the name and is no verb: names that objects and keys have
_NO_VERBS = {"app", "keyid"}


def told_in(text: str) -> Iterator[str]:
    """The commands that a text tells of, without the name of the program."""
    for found in _COMMAND.finditer(text):
        words = _END.split(found["words"] + " ")[0].strip()
        if words.split()[0] not in _NO_VERBS:
            yield words


def understood(arguments: Sequence[str]) -> click.Context:
    """The verb that would run, with what it would be given; raises what the user would be told."""
    context = trimtab.make_context("trimtab", [*arguments], obj={})
    while isinstance(context.command, click.Group):
        rest = [*context._protected_args, *context.args]  # noqa: SLF001 - as groups themselves find it
        name, command, left = context.command.resolve_command(context, rest)
        assert command is not None
        context = command.make_context(name, left, parent=context)
    return context
