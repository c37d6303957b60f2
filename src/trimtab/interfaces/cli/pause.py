"""`trimtab pause`."""

from __future__ import annotations

import click

from trimtab.interfaces.cli.completing import app_names
from trimtab.interfaces.cli.names import NAME
from trimtab.interfaces.cli.reaching import Reach, app_cluster_options, apps_at
from trimtab.interfaces.cli.verbs import Invocation
from trimtab.resources.tables import one_line


@click.command()
@click.argument("app", type=NAME, shell_complete=app_names)
@click.option("--reason", default="", help="Why; shown to whoever wonders.")
@app_cluster_options
@click.pass_obj
def pause(invocation: Invocation, /, reach: Reach, app: str, reason: str) -> None:
    """Have nothing begin on an app until it is resumed: no sync, asked for or automatic, and no healing.

    What is under way goes on; end it with `trimtab terminate`.

    \b
    Examples:
      trimtab pause shop --reason "database migration until noon"
      trimtab resume shop
    """
    from trimtab.tasks.loops import run_main

    click.echo(one_line(run_main(_paused(invocation, reach, app, reason))))


async def _paused(invocation: Invocation, reach: Reach, app: str, reason: str) -> str:
    from trimtab.app import holds
    from trimtab.tasks.clock import SystemClock

    async with apps_at(invocation, reach) as apps:
        unit = await holds.pause(apps, app, reason=reason, by=apps.person, now=SystemClock().now())
    return f"{unit.id} is {unit.paused}"
