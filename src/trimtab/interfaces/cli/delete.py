"""`trimtab delete`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import click

from trimtab.interfaces.cli.asking import agreed
from trimtab.interfaces.cli.cautions import of_declaration
from trimtab.interfaces.cli.completing import app_names
from trimtab.interfaces.cli.consent import Word, consent_options, end_first, tell_held
from trimtab.interfaces.cli.lastwords import LastWords
from trimtab.interfaces.cli.names import NAME
from trimtab.interfaces.cli.outcomes import is_for_people, show_outcome, show_plan, show_plans
from trimtab.interfaces.cli.output import tell_warnings
from trimtab.interfaces.cli.reaching import Reach, app_cluster_options, apps_at
from trimtab.interfaces.cli.verbs import Invocation
from trimtab.resources.counting import counted

if TYPE_CHECKING:
    from trimtab.app import Work
    from trimtab.engine.operations import Operation, OperationState
    from trimtab.engine.units import SyncUnit


class _Gone(NamedTuple):
    """How an app came to its end."""

    word: str
    state: OperationState | None = None


@click.command()
@click.argument("app", type=NAME, shell_complete=app_names)
@click.option("--abandon", is_flag=True, help="Forget the app and leave its objects.")
@click.option("--skip-hooks", is_flag=True, help="Do not run the hooks of the deletion.")
@consent_options
@app_cluster_options
@click.pass_obj
def delete(
    invocation: Invocation, /, reach: Reach, word: Word, app: str, *, abandon: bool, skip_hooks: bool
) -> None:
    """Delete an app: its objects, what was made last first, and then its record.

    Shows the plan and asks, on a terminal. PreDelete hooks run before, PostDelete hooks after. Objects that
    say Prune=false, Delete=false or helm.sh/resource-policy: keep stay, and so does what somebody else
    manages by now. If it is stopped on the way, run it again: it goes on.

    \b
    Examples:
      trimtab delete shop --dry-run
      trimtab delete shop --yes --confirm-deletions
      trimtab delete shop --skip-hooks
      trimtab delete shop --abandon
    """
    from trimtab.app.deletion import DELETION, WITHOUT_HOOKS
    from trimtab.tasks.loops import run_main

    if abandon and skip_hooks:
        raise click.UsageError("--abandon deletes nothing and runs no hooks: leave out --skip-hooks.")
    operation = WITHOUT_HOOKS if skip_hooks else DELETION
    run_main(_deleted(invocation, reach, app, word, None if abandon else operation))


async def _deleted(
    invocation: Invocation, reach: Reach, app: str, word: Word, operation: Operation | None
) -> None:
    """Delete an app by this operation; without one, forget it."""
    from trimtab.app.deletion import DELETION, WITHOUT_HOOKS
    from trimtab.app.holds import known
    from trimtab.app.reports import gone_report

    async with apps_at(invocation, reach) as apps:
        unit, renders = await known(apps, app), operation is not None and operation != WITHOUT_HOOKS
        # The record names every place that holds something of the app, and hooks lie where the source says:
        # if either is in doubt, everything is read, and nothing is forgotten.
        async with apps.work_on(unit, renders=renders, narrowly=True) as work:
            work.check_hold(operation or DELETION)
            tell_warnings(of_declaration(unit))
            if not word.dry_run and (operation is None or not work.goes_on(operation)):
                await end_first(work, word)
            act = (
                _abandoned(invocation, work, word, unit)
                if operation is None
                else _carried_out(invocation, work, word, operation)
            )
            gone = await act
    if gone is not None:
        report = gone_report(unit.id, unit.destination.namespace, gone.state)
        show_outcome(invocation, report, word.output, f"{unit.id} is {gone.word}")


async def _abandoned(invocation: Invocation, work: Work, word: Word, unit: SyncUnit) -> _Gone | None:
    from trimtab.app.deletion import abandonment

    objects = counted(work.objects, "object stays", "objects stay")
    click.echo(f"{work.name} is to be forgotten; {objects} in the cluster", err=True)
    if word.dry_run:
        if not is_for_people(word.output):
            show_plans(invocation, [abandonment(unit)], word.output)
        return None
    if word.asks:
        await agreed("Do this?")
    last_words = LastWords()
    with last_words.told():
        async with last_words.of_operation(work, word.timeout, f"trimtab delete {work.name} --abandon"):
            await work.abandon(held=tell_held)
    return _Gone("forgotten")


async def _carried_out(invocation: Invocation, work: Work, word: Word, operation: Operation) -> _Gone | None:
    from trimtab.app.deletion import called
    from trimtab.interfaces.cli.telling import telling

    if work.goes_on(operation):
        click.echo("It was begun before and not seen through, and is gone on with.", err=True)
    plan = await work.plan(operation)
    if word.dry_run:
        show_plans(invocation, [plan], word.output)
    else:
        show_plan(invocation, plan, word.output)
    tell_warnings(work.warnings)
    if word.dry_run:
        return None
    consent, last_words = await word.given(plan), LastWords()
    last_words.of_asking(work, called(work.name, operation, consent=consent and bool(plan.held)))
    with last_words.told():
        async with telling(invocation, work, plan) as told:
            state = await work.delete(
                plan,
                consent=consent,
                seconds=word.timeout,
                held=tell_held,
                told=lambda words: told.say(f"waiting until it is gone: {words}"),
                operation=operation,
            )
    return _Gone("deleted", state)
