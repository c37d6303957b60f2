"""`trimtab plan`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from trimtab.interfaces.cli.declaring import Asked, app_options, operation_asked, unit_asked
from trimtab.interfaces.cli.output import encoded, output_option, paper_at
from trimtab.interfaces.cli.reaching import Reach, apps_at, cluster_options
from trimtab.interfaces.cli.verbs import Invocation

if TYPE_CHECKING:
    from trimtab.engine.sync.steps import SyncPlan


@click.command()
@app_options
@cluster_options
@output_option
@click.pass_obj
def plan(invocation: Invocation, /, reach: Reach, asked: Asked, output: str) -> None:
    """Print what `trimtab sync` would do; nothing is written.

    SOURCE is a folder, a Git address, or the name of an app.

    \b
    Examples:
      trimtab plan ./deploy --prune
      trimtab plan https://git.example/team/shop.git --path live --app shop -o json
      trimtab plan shop
    """
    import asyncio

    from trimtab.engine.sync.showing import plan_json, plan_table

    made = asyncio.run(_planned(invocation, reach, asked))
    if output == "text":
        click.echo(plan_table(made, paper_at(invocation)), nl=False)
    else:
        click.echo(encoded(plan_json(made), output))


async def _planned(invocation: Invocation, reach: Reach, asked: Asked) -> SyncPlan:
    async with (
        apps_at(invocation, reach) as apps,
        apps.work_on(await unit_asked(apps, asked)) as work,
    ):
        return await work.plan(operation_asked(asked))
