"""`trimtab wait`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from trimtab.interfaces.cli.completing import app_names
from trimtab.interfaces.cli.reaching import Reach, apps_at, cluster_options
from trimtab.interfaces.cli.verbs import Invocation

if TYPE_CHECKING:
    from trimtab.engine.units import SyncUnit

_GONE = "deleted"


@click.command()
@click.argument("app", shell_complete=app_names)
@click.option(
    "--for",
    "goals",
    multiple=True,
    type=click.Choice(["healthy", "synced", "progressing", "suspended", "degraded", _GONE]),
    default=["healthy", "synced"],
    show_default=True,
    help="What to wait for; synced and one of the several states of health that may be given.",
)
@click.option("--timeout", type=click.FloatRange(min=0), default=300.0, show_default=True, help="Seconds.")
@cluster_options
@click.pass_obj
def wait(invocation: Invocation, /, reach: Reach, app: str, goals: tuple[str, ...], timeout: float) -> None:
    """Wait until an app is in sync and healthy, or what else --for says.

    How it stands meanwhile goes to stderr, one line per change.

    \b
    Examples:
      trimtab wait shop
      trimtab wait shop --for healthy --timeout 60
      trimtab wait shop --for degraded --for suspended
      trimtab wait shop --for deleted
    """
    import asyncio

    if _GONE in goals and len(goals) > 1:
        raise click.UsageError(f"--for {_GONE} is waited for alone.")
    click.echo(asyncio.run(_waited(invocation, reach, app, goals, timeout)))


async def _waited(
    invocation: Invocation, reach: Reach, name: str, goals: tuple[str, ...], timeout: float
) -> str:
    from trimtab.app.goals import Goal, stands

    async with apps_at(invocation, reach) as apps:
        if _GONE in goals:
            await apps.until_gone(name, timeout)
            return f"{name} is deleted"
        async with apps.work_on(await apps.named(name)) as work:
            unit = await work.until([Goal(each) for each in goals], timeout, _Teller().tell)
    return f"{unit.id} is {stands(unit)}"


class _Teller:
    """Tells how an app stands when that has changed, with the time in front."""

    def __init__(self) -> None:
        self._told = ""

    def tell(self, unit: SyncUnit) -> None:
        """Tell, on stderr."""
        from trimtab.app.goals import stands
        from trimtab.app.reports import moment

        now = stands(unit)
        if now != self._told:
            self._told = now
            click.echo(f"{moment(unit.status.reconciled_at)}  {unit.id} is {now}", err=True)
