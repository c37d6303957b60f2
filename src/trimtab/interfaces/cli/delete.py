"""`trimtab delete`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from trimtab.interfaces.cli.asking import agreed
from trimtab.interfaces.cli.completing import app_names
from trimtab.interfaces.cli.consent import Word, consent_options, end_first, tell_held
from trimtab.interfaces.cli.output import paper_at
from trimtab.interfaces.cli.reaching import Reach, apps_at, cluster_options
from trimtab.interfaces.cli.verbs import Invocation

if TYPE_CHECKING:
    from trimtab.app import Work


@click.command()
@click.argument("app", shell_complete=app_names)
@click.option("--abandon", is_flag=True, help="Forget the app and leave its objects.")
@consent_options
@cluster_options
@click.pass_obj
def delete(invocation: Invocation, /, reach: Reach, word: Word, app: str, *, abandon: bool) -> None:
    """Delete an app: its objects, what was made last first, and then its record.

    Shows the plan and asks, on a terminal. Objects that say Prune=false, Delete=false or
    helm.sh/resource-policy: keep stay, and so does what somebody else manages by now. If it is stopped on the
    way, run it again.

    \b
    Examples:
      trimtab delete shop --dry-run
      trimtab delete shop --yes --confirm-deletions
      trimtab delete shop --abandon
    """
    from trimtab.tasks.loops import run_main

    run_main(_deleted(invocation, reach, app, word, abandon=abandon))


async def _deleted(invocation: Invocation, reach: Reach, app: str, word: Word, *, abandon: bool) -> None:
    from trimtab.app.deletion import DELETION
    from trimtab.app.holds import known

    async with apps_at(invocation, reach) as apps, apps.work_on(await known(apps, app)) as work:
        work.check_hold(DELETION)
        if not word.dry_run:
            await end_first(work, word)
        if abandon:
            await _abandoned(work, word)
        else:
            await _carried_out(invocation, work, word)


async def _abandoned(work: Work, word: Word) -> None:
    objects = "1 object stays" if work.objects == 1 else f"{work.objects} objects stay"
    click.echo(f"{work.name} is to be forgotten; {objects} in the cluster", err=True)
    if word.dry_run:
        return
    if word.asks:
        await agreed("Do this?")
    await work.abandon(held=tell_held)
    click.echo(f"{work.name} is forgotten")


async def _carried_out(invocation: Invocation, work: Work, word: Word) -> None:
    from trimtab.app.deletion import DELETION
    from trimtab.engine.sync.showing import plan_table
    from trimtab.interfaces.cli.telling import telling

    plan = await work.plan(DELETION)
    click.echo(plan_table(plan, paper_at(invocation)), nl=False)
    if word.dry_run:
        return
    consent = await word.given(plan)
    async with telling(invocation, work, plan) as told:
        await work.delete(
            plan,
            consent=consent,
            seconds=word.timeout,
            held=tell_held,
            told=lambda words: told.say(f"waiting until it is gone: {words}"),
        )
    click.echo(f"{work.name} is deleted")
