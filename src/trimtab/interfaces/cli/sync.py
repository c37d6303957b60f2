"""`trimtab sync`: plan, ask, do, wait until all is well, and tell."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable
from typing import TYPE_CHECKING, NamedTuple

import click

from trimtab.interfaces.cli.declaring import Asked, app_options, operation_asked, unit_asked
from trimtab.interfaces.cli.reaching import Reach, apps_at, cluster_options
from trimtab.interfaces.cli.verbs import Invocation

if TYPE_CHECKING:
    from trimtab.app import Work
    from trimtab.engine.events import UnitEvent
    from trimtab.engine.operations import Operation, OperationState
    from trimtab.engine.sync.steps import SyncPlan


class Word(NamedTuple):
    """Whether somebody is asked, and what was agreed to beforehand."""

    asks: bool
    deletions: bool

    def given(self, plan: SyncPlan) -> bool:
        """Whether deletions are agreed to; whoever sees the plan and says yes agrees to all of it."""
        if self.asks and plan.steps:
            click.confirm("Do this?", abort=True)
            return True
        return self.deletions


@click.command()
@app_options
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.option("--confirm-deletions", is_flag=True, help="Agree to deletions that need somebody's consent.")
@click.option("--timeout", type=float, default=300.0, show_default=True, help="Seconds to wait for health.")
@cluster_options
@click.pass_obj
def sync(
    invocation: Invocation,
    /,
    reach: Reach,
    asked: Asked,
    timeout: float,
    *,
    yes: bool,
    confirm_deletions: bool,
) -> None:
    """Bring a cluster to what SOURCE declares: a folder, a Git address, or an app's name.

    Shows the plan and asks, on a terminal; applies it in waves, and waits until everything is healthy.

    \b
    Examples:
      trimtab sync ./deploy -n shop --create-namespace
      trimtab sync https://git.example/team/shop.git --path live --app shop --prune --yes
      trimtab sync shop
    """
    word = Word(asks=not yes and sys.stdin.isatty(), deletions=confirm_deletions)
    asyncio.run(_synced(invocation, reach, asked, timeout, word))


async def _synced(invocation: Invocation, reach: Reach, asked: Asked, timeout: float, word: Word) -> None:
    async with (
        apps_at(invocation, reach) as apps,
        apps.work_on(await unit_asked(apps, asked)) as work,
    ):
        await _carried_out(work, operation_asked(asked), timeout, word)


async def _carried_out(work: Work, operation: Operation, timeout: float, word: Word) -> None:
    from trimtab.engine.sync.showing import plan_table

    work.engine.on_unit_event(_tell)
    finished = None
    if work.unfinished is not None:
        click.echo("An earlier sync of this app was not seen through: finishing it first.", err=True)
        finished = await _seen_through(work, work.finish(consent=word.deletions, held=_tell_held))
    plan = await work.plan(operation)
    if finished is None or not work.was_it(finished, operation, plan):
        click.echo(plan_table(plan), nl=False)
        consent = word.given(plan)
        await _seen_through(work, work.carry_out(operation, plan, consent=consent, held=_tell_held))
    unit = await work.until_well(timeout)
    status = unit.status
    click.echo(f"{unit.id} is {status.verdict.value} and {status.health.status.value} at {status.revision}")


async def _seen_through(work: Work, operation: Awaitable[OperationState]) -> OperationState:
    try:
        return await operation
    except asyncio.CancelledError:
        click.echo(f"Stopped. What was begun goes on with: trimtab sync {work.name}", err=True)
        raise


def _tell(_app: str, event: UnitEvent) -> None:
    """One line per thing that happens, on stderr: stdout holds the plan and the end."""
    from trimtab.engine.events import OperationWaits, StepDone

    if isinstance(event, StepDone | OperationWaits):
        click.echo(str(event), err=True)


def _tell_held(holder: str) -> None:
    click.echo(f"{holder} works on this app; waiting", err=True)
