"""`trimtab rollback`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import click

from trimtab.interfaces.cli.completing import app_names
from trimtab.interfaces.cli.consent import Word, consent_options, end_first, tell_held
from trimtab.interfaces.cli.lastwords import LastWords
from trimtab.interfaces.cli.names import NAME
from trimtab.interfaces.cli.output import paper_at
from trimtab.interfaces.cli.reaching import Reach, apps_at, cluster_options
from trimtab.interfaces.cli.verbs import Invocation

if TYPE_CHECKING:
    from trimtab.app import Apps, Work
    from trimtab.engine.operations import Operation
    from trimtab.engine.units import Pin, SyncUnit


class Goal(NamedTuple):
    """Where to go back to, and how."""

    app: str
    entry: int | None
    reason: str
    prune: bool


@click.command()
@click.argument("app", type=NAME, shell_complete=app_names)
@click.argument("entry", metavar="[ID]", type=int, required=False)
@click.option("--reason", default="", help="Why; shown to whoever wonders.")
@click.option("--prune", is_flag=True, help="Delete what that entry did not have.")
@consent_options
@cluster_options
@click.pass_obj
def rollback(
    invocation: Invocation,
    /,
    reach: Reach,
    word: Word,
    app: str,
    entry: int | None,
    reason: str,
    *,
    prune: bool,
) -> None:
    """Bring an app back to an entry of its history: ID, or else the last that was something else.

    What was rendered then is kept with the app's record, so neither Git nor the folder is needed. The app is
    pinned there until `trimtab resume`: nothing is synced meanwhile. Hooks do not run. A sync that was not
    seen through is ended first.

    \b
    Examples:
      trimtab history shop
      trimtab rollback shop --dry-run
      trimtab rollback shop
      trimtab rollback shop 3 --prune --reason "4 crashes"
      trimtab resume shop && trimtab sync shop
    """
    from trimtab.tasks.loops import run_main

    goal = Goal(app=app, entry=entry, reason=reason, prune=prune)
    run_main(_rolled_back(invocation, reach, goal, word))


async def _rolled_back(invocation: Invocation, reach: Reach, goal: Goal, word: Word) -> None:
    from msgspec.structs import replace

    from trimtab.app.holds import known
    from trimtab.engine.control.policy import rollback as back_to

    async with apps_at(invocation, reach) as apps:
        unit = await known(apps, goal.app)
        pin = _pin(apps, unit, goal)
        pinned = replace(unit, pinned=pin)
        operation = replace(back_to(pinned, pin.entry, prune=goal.prune), asked_by="trimtab rollback")
        async with apps.work_on(pinned, operation=operation, narrowly=True) as work:
            back = await _carried_out(invocation, work, operation, pin, word)
    if back is not None:
        click.echo(f"{back.id} is {back.status.verdict.value} and {back.status.health.status.value}, {pin}")


def _pin(apps: Apps, unit: SyncUnit, goal: Goal) -> Pin:
    from trimtab.app.rollbacks import pin_for
    from trimtab.tasks.clock import SystemClock

    return pin_for(unit, goal.entry, reason=goal.reason, by=apps.person, now=SystemClock().now())


async def _carried_out(
    invocation: Invocation, work: Work, operation: Operation, pin: Pin, word: Word
) -> SyncUnit | None:
    """The app once it is back and well; None if the plan was only to be shown."""
    from trimtab.engine.sync.showing import plan_table
    from trimtab.interfaces.cli.telling import telling

    work.check_hold(operation)
    if not word.dry_run:
        await end_first(work, word)
    plan = await work.plan(operation)
    click.echo(plan_table(plan, paper_at(invocation)), nl=False)
    if word.dry_run:
        return None
    consent, last_words = await word.given(plan), LastWords()
    with last_words.told():
        async with telling(invocation, work, plan) as told:
            async with last_words.of_operation(work, word.timeout):
                await work.carry_out(operation, plan, consent=consent, held=tell_held, pin=pin)
            told.end()
            last_words.of_waiting()
            well = await work.until_well(word.timeout, told.look)
    click.echo(f"done: {told.counts()}", err=True)
    return well
