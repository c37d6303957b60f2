"""`trimtab doctor`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from trimtab.interfaces.cli.leading import as_meant
from trimtab.interfaces.cli.names import NAMESPACE
from trimtab.interfaces.cli.output import Listing, paper_at, show, words_option, wrapped
from trimtab.interfaces.cli.reaching import Reach, access_of, cluster_options
from trimtab.interfaces.cli.verbs import Invocation
from trimtab.resources.tables import Column, one_line

if TYPE_CHECKING:
    from trimtab.app.doctor.checks import Check

_COLUMNS = (
    Column("STATE"),
    Column("CHECK", names=True),
    Column("WHAT", least=16),
    Column("REMEDY", least=16, spare=1, wide=True),
)
#: something is wrong, and the lines say what: below the codes of errors
WRONG = 1


@click.command()
@click.option(
    "-n",
    "--namespace",
    type=NAMESPACE,
    default="",
    help="Where apps are to be synced: rights are asked for there alone.",
)
@cluster_options
@words_option
@click.pass_obj
@click.pass_context
def doctor(
    context: click.Context, invocation: Invocation, /, reach: Reach, namespace: str, output: str
) -> None:
    """Examine the way to the cluster and this machine: what is wrong, and what to do.

    Nothing is changed, and nothing is fetched. The exit code is 0 unless something is wrong.

    \b
    Examples:
      trimtab doctor
      trimtab doctor --context staging -n shop
      trimtab doctor -o json
      trimtab doctor -o wide
    """
    from trimtab.app.doctor.checks import State
    from trimtab.tasks.loops import run_main

    found = run_main(_examined(invocation, reach, namespace, is_told=output == "text"))
    if output != "text":
        show(invocation, checks_listing(found), output)
    if any(check.state is State.WRONG for check in found):
        context.exit(WRONG)


def checks_listing(checks: list[Check]) -> Listing:
    """One row per thing that was looked at."""
    rows = [(each.state.value, each.name, each.what, each.remedy or "-") for each in checks]
    values = [
        {"check": each.name, "state": each.state.value, "what": each.what, "remedy": each.remedy}
        for each in checks
    ]
    return Listing(_COLUMNS, rows, [each.name for each in checks], values)


async def _examined(invocation: Invocation, reach: Reach, namespace: str, *, is_told: bool) -> list[Check]:
    from trimtab.app.doctor import examine
    from trimtab.interfaces.cli.configuration import settings_of
    from trimtab.tasks.clock import SystemClock

    settings, path = settings_of(invocation), invocation.environment.get("PATH", "")
    found: list[Check] = []
    examining = examine(
        lambda: access_of(invocation, reach, settings),
        settings,
        path=path,
        namespace=namespace,
        clock=SystemClock(),
    )
    async for check in examining:
        found.append(check)
        if is_told:
            _tell(check, paper_at(invocation).width)
    return found


_INDENT = len("warning") + 2
_COLOURS = {"ok": "green", "warning": "yellow", "wrong": "red"}


def _tell(check: Check, width: int) -> None:
    """Say it; what does not fit a line goes on below itself."""
    state = check.state.value
    first, *more = wrapped(as_meant(one_line(check.words)), width - _INDENT)
    click.echo(f"{click.style(state.ljust(_INDENT), fg=_COLOURS[state])}{first}")
    for line in more:
        click.echo(" " * _INDENT + line)
