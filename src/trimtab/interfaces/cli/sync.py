"""`trimtab sync`: plan, ask, do, wait until all is well, and tell."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable
from functools import partial
from typing import TYPE_CHECKING

import click

from trimtab.errors import Conflict
from trimtab.interfaces.cli.declaring import Asked, app_options, operation_asked, unit_asked
from trimtab.interfaces.cli.reaching import Reach, apps_at, cluster_options
from trimtab.interfaces.cli.verbs import Invocation

if TYPE_CHECKING:
    from trimtab.app import Work
    from trimtab.engine.events import UnitEvent
    from trimtab.engine.operations import Operation, OperationState
    from trimtab.engine.steps import SyncPlan


@click.command()
@app_options
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.option("--approve-deletions", "approve", is_flag=True, help="Agree to deletions that wait for consent.")
@click.option("--timeout", type=float, default=300.0, show_default=True, help="Seconds to wait for health.")
@cluster_options
@click.pass_obj
def sync(
    invocation: Invocation, /, reach: Reach, asked: Asked, timeout: float, *, yes: bool, approve: bool
) -> None:
    """Bring a cluster to what SOURCE declares: a folder, a Git address, or an app's name.

    Shows the plan and asks, on a terminal; applies it in waves, and waits until everything is healthy.

    \b
    Examples:
      trimtab sync ./deploy -n shop --create-namespace
      trimtab sync https://git.example/team/shop.git --path live --app shop --prune --yes
      trimtab sync shop
    """
    asyncio.run(_synced(invocation, reach, asked, timeout, yes=yes, approve=approve))


async def _synced(
    invocation: Invocation, reach: Reach, asked: Asked, timeout: float, *, yes: bool, approve: bool
) -> None:
    async with (
        apps_at(invocation, reach) as apps,
        apps.work_on(await unit_asked(apps, asked)) as work,
    ):
        await _carried_out(work, operation_asked(asked), timeout, yes=yes, approve=approve)


async def _carried_out(
    work: Work, operation: Operation, timeout: float, *, yes: bool, approve: bool
) -> None:
    from trimtab.engine.showing import plan_table

    work.engine.on_unit_event(_tell)
    if approve:
        work.engine.on_unit_event(partial(_approve, work))
    finished = None
    if work.unfinished is not None:
        click.echo("An earlier sync of this app was not seen through: finishing it first.", err=True)
        finished = await _seen_through(work, work.finish(held=_tell_held))
    plan = await work.plan(operation)
    if finished is None or not work.was_it(finished, operation, plan):
        _check_consent(plan, approved=approve)
        click.echo(plan_table(plan), nl=False)
        if plan.steps and not yes and sys.stdin.isatty():
            click.confirm("Do this?", abort=True)
        await _seen_through(work, work.carry_out(operation, plan, held=_tell_held))
    unit = await work.until_well(timeout)
    status = unit.status
    click.echo(f"{unit.id} is {status.verdict.value} and {status.health.status.value} at {status.revision}")


def _check_consent(plan: SyncPlan, *, approved: bool) -> None:
    """Nobody could agree later: the command is the only one who is asked."""
    from trimtab.engine.steps import Prune

    held = [step for step in plan.steps if isinstance(step, Prune) and step.hold and not step.skip]
    if held and not approved:
        remedy = "Agree with --approve-deletions, or leave out --prune"
        raise Conflict(f"{held[0].key} and {len(held) - 1} more", held[0].hold, remedy)


def _approve(work: Work, app: str, event: UnitEvent) -> None:
    from trimtab.engine.events import OperationWaits

    if isinstance(event, OperationWaits):
        work.engine.approve_deletions(app)


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
