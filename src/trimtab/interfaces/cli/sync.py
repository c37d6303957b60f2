"""`trimtab sync`: plan, ask, do, wait until all is well, and tell."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, NamedTuple

import click

from trimtab.interfaces.cli.cautions import of_deletion, of_hold, of_move
from trimtab.interfaces.cli.consent import agreed_to
from trimtab.interfaces.cli.declaring import (
    Asked,
    app_meant,
    app_options,
    check_move,
    folder_ahead,
    operation_asked,
)
from trimtab.interfaces.cli.lastwords import LastWords, goes_on
from trimtab.interfaces.cli.output import words_option
from trimtab.interfaces.cli.patience import timeout_option
from trimtab.interfaces.cli.reaching import Reach, apps_at, cluster_options
from trimtab.interfaces.cli.verbs import Invocation
from trimtab.tasks.loops import run_main

if TYPE_CHECKING:
    from trimtab.app import Work
    from trimtab.engine.operations import Operation, OperationState
    from trimtab.engine.sync.steps import SyncPlan
    from trimtab.engine.units import SyncUnit
    from trimtab.interfaces.cli.telling import Telling


class Wish(NamedTuple):
    """How a sync is to be carried out: who is asked, what was agreed to beforehand, how long to wait."""

    asks: bool
    deletions: bool
    waits: bool
    timeout: float
    dry_run: bool = False
    output: str = "text"


@click.command()
@app_options
@click.option("--dry-run", is_flag=True, help="Only show what would be done, as `trimtab plan` does.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.option("--confirm-deletions", is_flag=True, help="Agree to deletions that need somebody's consent.")
@click.option(
    "--wait/--no-wait",
    "waits",
    default=True,
    show_default=True,
    help="End when all is healthy; or when all is applied.",
)
@timeout_option("How long to wait for health.", instead="Not to wait for health, write --no-wait.")
@cluster_options
@words_option
@click.pass_obj
def sync(
    invocation: Invocation,
    /,
    reach: Reach,
    asked: Asked,
    timeout: float,
    output: str,
    *,
    dry_run: bool,
    yes: bool,
    confirm_deletions: bool,
    waits: bool,
) -> None:
    """Bring a cluster to what SOURCE declares: a folder, Git address, chart, unit file, or an app's name.

    Shows the plan and asks, on a terminal; applies it in waves, tells what it waits for, and ends when
    everything is healthy. Ctrl-C leaves a sync that the next one finishes.

    \b
    Examples:
      trimtab sync ./deploy -n shop --create-namespace
      trimtab sync https://git.example/team/shop.git --path live --app shop --prune --yes
      trimtab sync ./chart --app shop --values live.yaml --set image.tag=1.4
      trimtab sync oci://registry.example/team/web --revision '^1.2' -n shop
      trimtab sync units/shop.yaml
      trimtab sync shop --no-wait
      trimtab sync shop --yes -o json
    """
    asks = not yes and sys.stdin.isatty()
    wish = Wish(
        asks=asks,
        deletions=confirm_deletions,
        waits=waits,
        timeout=timeout,
        dry_run=dry_run,
        output=output,
    )
    run_main(_synced(invocation, reach, asked, wish))


async def _synced(invocation: Invocation, reach: Reach, asked: Asked, wish: Wish) -> None:
    from trimtab.interfaces.cli.output import tell_warnings

    async with apps_at(invocation, reach, renders=True, ahead=folder_ahead(asked)) as apps:
        meant, operation = await app_meant(apps, asked), operation_asked(asked)
        if not wish.dry_run:
            check_move(meant, asked)
        unit, was = meant
        tell_warnings((*of_move(unit, was), *of_deletion(unit)))
        async with apps.work_on(unit, renders=True, narrowly=True) as work:
            syncing = _Syncing(invocation, work, wish)
            if wish.dry_run:
                await syncing.show(operation)
                tell_warnings(of_hold(unit))
            else:
                await syncing.carry_out(operation)


class _Syncing:
    """One sync of one app, told to whoever watches."""

    def __init__(self, invocation: Invocation, work: Work, wish: Wish) -> None:
        self._invocation = invocation
        self._work = work
        self._wish = wish
        self._last_words = LastWords()

    async def show(self, operation: Operation) -> None:
        """Print what would be done."""
        from trimtab.interfaces.cli.outcomes import show_plans
        from trimtab.interfaces.cli.output import tell_warnings

        show_plans(self._invocation, [await self._work.plan(operation)], self._wish.output)
        tell_warnings(self._work.warnings)

    def _print(self, plan: SyncPlan) -> None:
        from trimtab.interfaces.cli.outcomes import show_plan
        from trimtab.interfaces.cli.output import tell_warnings

        show_plan(self._invocation, plan, self._wish.output)
        tell_warnings(self._work.warnings)

    async def carry_out(self, operation: Operation) -> None:
        """Finish what was left over, show the plan, ask, do it, and wait."""
        from trimtab.app.reports import outcome_report
        from trimtab.interfaces.cli.outcomes import show_outcome, standing
        from trimtab.interfaces.cli.output import tell_away

        with self._last_words.told():
            unit, state = await self._carried_out(operation)
        tell_away(self._work.away)
        sentence = f"{standing(unit)} at {unit.status.revision}"
        show_outcome(self._invocation, outcome_report(unit, state), self._wish.output, sentence)

    async def _carried_out(self, operation: Operation) -> tuple[SyncUnit, OperationState]:
        work = self._work
        work.check_hold(operation)
        finished = await self._finished() if work.unfinished is not None else None
        plan = await work.plan(operation)
        if finished is not None and work.was_it(finished, operation, plan):
            async with self._telling(None) as told:
                return await self._well(told), finished
        self._print(plan)
        consent = await self._consent(plan)
        async with self._telling(plan) as told:
            again = goes_on(f"sync {work.name}", agreed=consent and bool(plan.held))
            act = work.carry_out(operation, plan, consent=consent, held=_held(told))
            state = await self._seen_through(act, told, again)
            unit = await self._well(told)
        click.echo(f"done: {told.counts()}", err=True)
        return unit, state

    def _telling(self, plan: SyncPlan | None) -> AbstractAsyncContextManager[Telling]:
        from trimtab.interfaces.cli.telling import telling

        return telling(self._invocation, self._work, plan)

    async def _finished(self) -> OperationState:
        """What was left over, seen through."""
        self._work.check_deletion()
        click.echo("An earlier sync of this app was not seen through: finishing it first.", err=True)
        async with self._telling(None) as told:
            finish = self._work.finish(consent=self._wish.deletions, held=_held(told))
            again = goes_on(f"sync {self._work.name}", agreed=self._wish.deletions)
            return await self._seen_through(finish, told, again)

    async def _consent(self, plan: SyncPlan) -> bool:
        """Whether deletions are agreed to; whoever sees the plan and says yes agrees to all of it."""
        if self._wish.asks and plan.steps:
            await agreed_to(plan)
            return True
        return self._wish.deletions

    async def _seen_through(
        self, operation: Awaitable[OperationState], told: Telling, again: str
    ) -> OperationState:
        """The operation's end, waited for as long as it gets on; what is called `again` goes on with it."""
        async with self._last_words.of_operation(self._work, self._wish.timeout, again):
            state = await operation
        told.end()
        return state

    async def _well(self, told: Telling) -> SyncUnit:
        """The app once it is healthy, or as it stands now if that is not waited for."""
        if not self._wish.waits:
            return await self._work.look()
        self._last_words.of_waiting()
        return await self._work.until_well(self._wish.timeout, told.look)


def _held(told: Telling) -> Callable[[str], None]:
    return lambda holder: told.say(f"{holder} works on this app; waiting")
