"""`trimtab sync`: plan, ask, do, wait until all is well, and tell."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, NamedTuple

import click

from trimtab.interfaces.cli.cautions import of_hold
from trimtab.interfaces.cli.consent import agreed_to
from trimtab.interfaces.cli.declaring import Asked, app_options, operation_asked, unit_asked
from trimtab.interfaces.cli.lastwords import LastWords
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


@click.command()
@app_options
@click.option("--dry-run", is_flag=True, help="Only show what would be done, as `trimtab plan` does.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.option("--confirm-deletions", is_flag=True, help="Agree to deletions that need somebody's consent.")
@click.option("--no-wait", is_flag=True, help="End when all is applied, not when all is healthy.")
@timeout_option("How long to wait for health.", instead="Not to wait for health, write --no-wait.")
@cluster_options
@click.pass_obj
def sync(
    invocation: Invocation,
    /,
    reach: Reach,
    asked: Asked,
    timeout: float,
    *,
    dry_run: bool,
    yes: bool,
    confirm_deletions: bool,
    no_wait: bool,
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
    """
    asks = not yes and sys.stdin.isatty()
    wish = Wish(asks=asks, deletions=confirm_deletions, waits=not no_wait, timeout=timeout, dry_run=dry_run)
    run_main(_synced(invocation, reach, asked, wish))


async def _synced(invocation: Invocation, reach: Reach, asked: Asked, wish: Wish) -> None:
    from trimtab.interfaces.cli.output import tell_warnings

    async with apps_at(invocation, reach, renders=True) as apps:
        unit, operation = await unit_asked(apps, asked), operation_asked(asked)
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
        self._print(await self._work.plan(operation))

    def _print(self, plan: SyncPlan) -> None:
        from trimtab.engine.sync.showing import plan_table
        from trimtab.interfaces.cli.output import paper_at, tell_warnings

        click.echo(plan_table(plan, paper_at(self._invocation)), nl=False)
        tell_warnings(self._work.warnings)

    async def carry_out(self, operation: Operation) -> None:
        """Finish what was left over, show the plan, ask, do it, and wait."""
        from trimtab.interfaces.cli.output import tell_away

        with self._last_words.told():
            unit = await self._carried_out(operation)
        tell_away(self._work.away)
        status = unit.status
        stands = f"{status.verdict.value} and {status.health.status.value}"
        click.echo(f"{unit.id} is {stands} at {status.revision}")

    async def _carried_out(self, operation: Operation) -> SyncUnit:
        work = self._work
        work.check_hold(work.unfinished or operation)
        finished = await self._finished() if work.unfinished is not None else None
        plan = await work.plan(operation)
        if finished is not None and work.was_it(finished, operation, plan):
            async with self._telling(None) as told:
                return await self._well(told)
        self._print(plan)
        consent = await self._consent(plan)
        async with self._telling(plan) as told:
            await self._seen_through(work.carry_out(operation, plan, consent=consent, held=_held(told)), told)
            unit = await self._well(told)
        click.echo(f"done: {told.counts()}", err=True)
        return unit

    def _telling(self, plan: SyncPlan | None) -> AbstractAsyncContextManager[Telling]:
        from trimtab.interfaces.cli.telling import telling

        return telling(self._invocation, self._work, plan)

    async def _finished(self) -> OperationState:
        """What was left over, seen through."""
        self._work.check_deletion()
        click.echo("An earlier sync of this app was not seen through: finishing it first.", err=True)
        async with self._telling(None) as told:
            finish = self._work.finish(consent=self._wish.deletions, held=_held(told))
            return await self._seen_through(finish, told)

    async def _consent(self, plan: SyncPlan) -> bool:
        """Whether deletions are agreed to; whoever sees the plan and says yes agrees to all of it."""
        if self._wish.asks and plan.steps:
            await agreed_to(plan)
            return True
        return self._wish.deletions

    async def _seen_through(self, operation: Awaitable[OperationState], told: Telling) -> OperationState:
        """The operation's end, waited for as long as it gets on."""
        async with self._last_words.of_operation(self._work, self._wish.timeout):
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
