"""From a command line to an exit code: the edge, where the environment is read and every error ends.

What a person can act on is one sentence on stderr, and the class of the error is the exit code. Anything else
is a bug: one line with an id, the traceback in a file of that name or, with --debug, on stderr.
"""

from __future__ import annotations

import gc
import io
import os
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Final

import click

from trimtab.errors import EXIT_BUG, InvalidSpec, TrimtabError
from trimtab.interfaces.cli import INTERRUPTED
from trimtab.interfaces.cli.stopping import Stops
from trimtab.interfaces.cli.verbs import trimtab

PROGRAM = "trimtab"
COMPLETION = "_TRIMTAB_COMPLETE"
BROKEN_PIPE = 141
_LAST_STREAM: Final = 2
#: what the engine calls by this word is an app to whoever typed the command; a file of units is one to both
_UNIT: Final = re.compile(r"^unit (?!files?\b)")


def run_process() -> int:
    """Run with the arguments and the environment of this process."""
    _fill_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # What the other side cannot show is escaped: a letter is no reason to fail.
            stream.reconfigure(errors="backslashreplace")
    environment = dict(os.environ)  # noqa: TID251 - this is the edge
    stops = Stops()
    with stops.heard():
        code = run(sys.argv[1:], environment)
    if code == INTERRUPTED:
        code = stops.code
    gc.freeze()  # the process ends: what is left goes with it, and need not be looked through before
    if environment.get(COMPLETION):
        sys.stdout.flush()
        os._exit(code)  # somebody waits at a prompt: not for threads that wait for a name server
    return code


def _fill_streams() -> None:
    """Put nothing in the place of standard streams that are closed, lest what is opened next take it."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= _LAST_STREAM:
        os.set_inheritable(number, True)
    os.close(number)
    # Python has none at all in the place of such a stream.
    sys.stdin = sys.stdin or os.fdopen(0)
    sys.stdout, sys.stderr = sys.stdout or os.fdopen(1, "w"), sys.stderr or os.fdopen(2, "w")


def run(arguments: Sequence[str], environment: Mapping[str, str], command: click.Command = trimtab) -> int:
    """Run a command line to its exit code; whatever goes wrong has been told when this returns."""
    if instruction := environment.get(COMPLETION):
        from click.shell_completion import shell_complete

        return shell_complete(command, {"obj": environment}, PROGRAM, COMPLETION, instruction)
    color = False if environment.get("NO_COLOR") else None
    call: click.Context | None = None
    try:
        _check_readable(arguments)
        with command.make_context(PROGRAM, list(arguments), obj=environment, color=color) as call:
            command.invoke(call)
    except BaseException as exc:  # noqa: BLE001 - every error ends here, as an exit code
        return _told(exc, environment, call, color)
    return 0


def _check_readable(arguments: Sequence[str]) -> None:
    """Refuse words that cannot be read as text: no record and no server could take them."""
    for each in arguments:
        if not _is_text(each):
            remedy = "Write it in UTF-8, and let LC_ALL say that you do"
            raise InvalidSpec(f"argument {each!r}", "it is not text in the letters of this terminal", remedy)


def _is_text(word: str) -> bool:
    return word.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in word)


def _told(
    exc: BaseException,
    environment: Mapping[str, str],
    call: click.Context | None,
    color: bool | None,  # noqa: FBT001 - None is the third answer
) -> int:
    """Tell what went wrong to whom it concerns; the exit code."""
    match exc:
        case click.exceptions.Exit():
            return exc.exit_code
        case click.exceptions.NoArgsIsHelpError():
            click.echo(exc.ctx.get_help(), color=color)
            return 0
        case click.UsageError():
            _say(_wrong_words(exc), color)
            return exc.exit_code
        case click.ClickException():
            exc.show()
            return exc.exit_code
        case KeyboardInterrupt() | click.Abort():
            return INTERRUPTED
        case BrokenPipeError():
            _give_up_stdout()
            return BROKEN_PIPE
        case TrimtabError():
            _say(_as_meant(_UNIT.sub("app ", str(exc)), call), color)
            return exc.exit_code
        case OSError() if (told := _circumstance(exc)) is not None:
            _say(str(told), color)
            return told.exit_code
        case Exception():
            debug = call is not None and call.params.get("debug", False)
            _say(_bug(exc, environment, debug=debug), color)
            return EXIT_BUG
        case _:
            raise exc


def _say(sentence: str, color: bool | None) -> None:  # noqa: FBT001 - None is the third answer
    from trimtab.resources.tables import harmless  # errors repeat what people, servers and programs said

    line = harmless(sentence.replace("\n", " "))
    click.echo(f"{click.style('Error:', fg='red')} {line}", err=True, color=color)


def _wrong_words(exc: click.UsageError) -> str:
    from trimtab.interfaces.cli.hints import said

    return said(exc)


def _as_meant(sentence: str, call: click.Context | None) -> str:
    from trimtab.interfaces.cli.leading import as_meant

    return as_meant(sentence, call)


def _circumstance(exc: OSError) -> TrimtabError | None:
    from trimtab.interfaces.cli.circumstances import circumstance

    return circumstance(exc)


def _bug(exc: Exception, environment: Mapping[str, str], *, debug: bool) -> str:
    from trimtab.interfaces.cli.bugs import recorded

    return recorded(exc, environment, debug=debug)


def _give_up_stdout() -> None:
    """Nobody reads any more: let what is still buffered go nowhere, without a complaint at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
