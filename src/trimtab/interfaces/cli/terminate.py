"""`trimtab terminate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from trimtab.interfaces.cli.completing import app_names
from trimtab.interfaces.cli.consent import tell_held
from trimtab.interfaces.cli.lastwords import LastWords
from trimtab.interfaces.cli.names import NAME
from trimtab.interfaces.cli.patience import timeout_option
from trimtab.interfaces.cli.reaching import Reach, app_cluster_options, apps_at
from trimtab.interfaces.cli.verbs import Invocation
from trimtab.resources.tables import one_line

if TYPE_CHECKING:
    from trimtab.engine.operations import OperationState


@click.command()
@click.argument("app", type=NAME, shell_complete=app_names)
@timeout_option("How long to wait.")
@app_cluster_options
@click.pass_obj
def terminate(invocation: Invocation, /, reach: Reach, app: str, timeout: float) -> None:
    """End the operation of an app that is under way, whoever began it and wherever.

    A process that works on the app hears it through the app's record; what a dead process left is ended here.
    Running hooks are deleted; what was written stays as it is. If it takes longer than --timeout, the
    operation ends later, as soon as it can.

    \b
    Examples:
      trimtab terminate shop
      trimtab terminate shop --timeout 30s
    """
    from trimtab.tasks.loops import run_main

    state = run_main(_ended(invocation, reach, app, timeout))
    click.echo(one_line(f"{app}: {state.phase.value}: {state.message}"))


async def _ended(invocation: Invocation, reach: Reach, app: str, timeout: float) -> OperationState:
    from trimtab.app.holds import known
    from trimtab.app.patience import ended
    from trimtab.engine import NothingUnderWay
    from trimtab.interfaces.cli.telling import telling

    async with apps_at(invocation, reach) as apps:
        unit = await known(apps, app)
        if unit.operation is None:
            raise NothingUnderWay(f"app {app}", "no operation is under way", f"Begin one: trimtab sync {app}")
        last_words = LastWords()
        with last_words.told():
            async with apps.work_on(unit, narrowly=True) as work, telling(invocation, work, None):
                last_words.of_ending(unit.id)
                return await ended(work, timeout, tell_held)
