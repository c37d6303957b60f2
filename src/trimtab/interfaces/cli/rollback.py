"""`trimtab rollback`."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, NamedTuple

import click

from trimtab.interfaces.cli.completing import app_names
from trimtab.interfaces.cli.consent import Word, consent_options, end_first, tell_held
from trimtab.interfaces.cli.lastwords import LastWords, goes_on
from trimtab.interfaces.cli.names import NAME
from trimtab.interfaces.cli.outcomes import show_outcome, show_plan, show_plans, standing
from trimtab.interfaces.cli.reaching import Reach, app_cluster_options, apps_at
from trimtab.interfaces.cli.verbs import Invocation

if TYPE_CHECKING:
    from trimtab.app import Apps, Work
    from trimtab.engine.operations import Operation, OperationState
    from trimtab.engine.sync.steps import SyncPlan
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
@app_cluster_options
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
    seen through is ended first; a rollback that was stopped on the way goes on.

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
    from trimtab.app.reports import outcome_report
    from trimtab.app.rollbacks import is_same_rollback
    from trimtab.engine.control.policy import rollback as back_to

    async with apps_at(invocation, reach) as apps:
        unit = await known(apps, goal.app)
        pin = _pin(apps, unit, goal)
        asked = back_to(replace(unit, pinned=pin), pin.entry, prune=goal.prune)
        operation = replace(asked, asked_by="trimtab rollback")
        if unit.pinned is not None and is_same_rollback(unit.operation, operation):
            pin = unit.pinned  # it is gone on with as it was begun
        async with apps.work_on(replace(unit, pinned=pin), operation=operation, narrowly=True) as work:
            back = await _Back(invocation, work, word, pin).carried_out(operation)
    if back is not None:
        unit, state = back
        show_outcome(invocation, outcome_report(unit, state), word.output, f"{standing(unit)}, {pin}")


def _pin(apps: Apps, unit: SyncUnit, goal: Goal) -> Pin:
    from trimtab.app.rollbacks import pin_for
    from trimtab.tasks.clock import SystemClock

    return pin_for(unit, goal.entry, reason=goal.reason, by=apps.person, now=SystemClock().now())


class _Back:
    """One rollback of one app, told to whoever watches."""

    def __init__(self, invocation: Invocation, work: Work, word: Word, pin: Pin) -> None:
        self._invocation = invocation
        self._work = work
        self._word = word
        self._pin = pin
        self._last_words = LastWords()

    async def carried_out(self, operation: Operation) -> tuple[SyncUnit, OperationState] | None:
        """The app once it is back and well; None if the plan was only to be shown."""
        work, word = self._work, self._word
        work.check_hold(operation)
        if work.is_going_back(operation) and not word.dry_run:
            click.echo("This rollback was begun and not seen through: going on with it.", err=True)
            return await self._well(None, work.finish(consent=word.deletions, held=tell_held), operation)
        if not word.dry_run:
            await end_first(work, word)
        plan = await work.plan(operation)
        if word.dry_run:
            show_plans(self._invocation, [plan], word.output)
            return None
        show_plan(self._invocation, plan, word.output)
        consent = await word.given(plan)
        act = work.carry_out(operation, plan, consent=consent, held=tell_held, pin=self._pin)
        return await self._well(plan, act, operation, agreed=consent and bool(plan.held))

    async def _well(
        self,
        plan: SyncPlan | None,
        act: Awaitable[OperationState],
        operation: Operation,
        *,
        agreed: bool | None = None,
    ) -> tuple[SyncUnit, OperationState]:
        """The app once the operation has ended, and the app is well; and how it ended."""
        from trimtab.interfaces.cli.telling import telling

        work, seconds = self._work, self._word.timeout
        prune = " --prune" if operation.prune else ""
        again = goes_on(
            f"rollback {work.name} {self._pin.entry}{prune}",
            agreed=self._word.deletions if agreed is None else agreed,
        )
        with self._last_words.told():
            async with telling(self._invocation, work, plan) as told:
                async with self._last_words.of_operation(work, seconds, again):
                    state = await act
                told.end()
                self._last_words.of_waiting()
                well = await work.until_well(seconds, told.look)
        click.echo(f"done: {told.counts()}", err=True)
        return well, state
