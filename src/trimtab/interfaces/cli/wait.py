"""`trimtab wait`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from trimtab.interfaces.cli.completing import app_names
from trimtab.interfaces.cli.names import NAME
from trimtab.interfaces.cli.outcomes import show_outcome
from trimtab.interfaces.cli.output import words_option
from trimtab.interfaces.cli.patience import timeout_option
from trimtab.interfaces.cli.reaching import Reach, app_cluster_options, apps_at
from trimtab.interfaces.cli.verbs import Invocation
from trimtab.resources.tables import one_line

if TYPE_CHECKING:
    from trimtab.app import Apps
    from trimtab.app.goals import Goal
    from trimtab.engine.units import SyncUnit

_EVENTS = ("idle", "deleted")


@click.command()
@click.argument("app", type=NAME, shell_complete=app_names)
@click.option(
    "--for",
    "goals",
    multiple=True,
    type=click.Choice(["healthy", "synced", "progressing", "suspended", "degraded", *_EVENTS]),
    default=["healthy", "synced"],
    show_default=True,
    help="What to wait for; of several states of health one has to come. idle: no operation is under way.",
)
@timeout_option("How long to wait; 0 looks once.", looks=True)
@app_cluster_options
@words_option
@click.pass_obj
def wait(
    invocation: Invocation, /, reach: Reach, app: str, goals: tuple[str, ...], timeout: float, output: str
) -> None:
    """Wait until an app is in sync and healthy, or what else --for says.

    How it stands meanwhile goes to stderr, one line per change.

    \b
    Examples:
      trimtab wait shop
      trimtab wait shop --for healthy --timeout 90s
      trimtab wait shop --for degraded --for suspended
      trimtab wait shop --for deleted
      trimtab wait shop --for idle --timeout 0
    """
    from trimtab.tasks.loops import run_main

    if len(goals) > 1 and set(goals) & set(_EVENTS):
        raise click.UsageError(f"--for {' and --for '.join(_EVENTS)} are waited for alone.")
    report, sentence = run_main(_waited(invocation, reach, app, goals, timeout))
    show_outcome(invocation, report, output, one_line(sentence))


async def _waited(
    invocation: Invocation, reach: Reach, name: str, goals: tuple[str, ...], timeout: float
) -> tuple[dict[str, Any], str]:
    from trimtab.app.goals import Goal, stands
    from trimtab.app.reports import outcome_report

    async with apps_at(invocation, reach, renders=goals[0] not in _EVENTS) as apps:
        if goals[0] in _EVENTS:
            return await _waited_for_record(apps, name, goals[0], timeout)
        unit = await apps.named(name)
        async with apps.work_on(unit, renders=True, narrowly=True, only_looks=True, stands_in=False) as work:
            wanted = [Goal(each) for each in goals]
            unit = await work.until(wanted, timeout, _Teller(wanted).tell)
    return outcome_report(unit), f"{unit.id} is {stands(unit)}"


async def _waited_for_record(apps: Apps, name: str, event: str, timeout: float) -> tuple[dict[str, Any], str]:
    from trimtab.app.goals import Recorded
    from trimtab.app.reports import gone_report, outcome_report

    before = await apps.meant(name)
    if event != Recorded.DELETED.value:
        await apps.named(name)
    await apps.until(name, Recorded(event), timeout)
    found = await apps.meant(name)
    if found is None:
        known = (name, "") if before is None else (before.id, before.destination.namespace)
        return gone_report(*known), f"{name} is {event}"
    return outcome_report(found), f"{name} is {event}"


class _Teller:
    """Tells how an app stands when that has changed, with the time in front; the end is told elsewhere."""

    def __init__(self, goals: list[Goal]) -> None:
        self._goals = goals
        self._told = ""

    def tell(self, unit: SyncUnit) -> None:
        """Tell, on stderr."""
        from trimtab.app.goals import holds, stands
        from trimtab.app.reports import moment

        now = stands(unit)
        if now != self._told and not holds(unit, self._goals):
            self._told = now
            # What servers say of objects must not command the terminal.
            click.echo(one_line(f"{moment(unit.status.reconciled_at)}  {unit.id} is {now}"), err=True)
