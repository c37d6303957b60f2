"""`trimtab resume`."""

from __future__ import annotations

import click

from trimtab.interfaces.cli.completing import app_names
from trimtab.interfaces.cli.names import NAME
from trimtab.interfaces.cli.reaching import Reach, app_cluster_options, apps_at
from trimtab.interfaces.cli.verbs import Invocation
from trimtab.resources.tables import one_line


@click.command()
@click.argument("app", type=NAME, shell_complete=app_names)
@app_cluster_options
@click.pass_obj
def resume(invocation: Invocation, /, reach: Reach, app: str) -> None:
    """Let an app follow its source again, whether it was paused or pinned by a rollback.

    Nothing is synced by this itself: a runner goes on with the app, or `trimtab sync` does.

    \b
    Examples:
      trimtab resume shop
      trimtab resume shop && trimtab sync shop
    """
    from trimtab.tasks.loops import run_main

    click.echo(one_line(run_main(_resumed(invocation, reach, app))))


async def _resumed(invocation: Invocation, reach: Reach, app: str) -> str:
    from trimtab.app import holds

    async with apps_at(invocation, reach) as apps:
        before = await holds.resume(apps, app)
    if not before.hold:
        return f"{before.id} was neither paused nor pinned"
    return f"{before.id} follows its source again; it was {before.hold}"
