"""`trimtab history`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from trimtab.interfaces.cli.completing import app_names
from trimtab.interfaces.cli.names import NAME
from trimtab.interfaces.cli.output import Listing, rows_option, show
from trimtab.interfaces.cli.reaching import Reach, app_cluster_options, apps_at
from trimtab.interfaces.cli.verbs import Invocation
from trimtab.resources.tables import Column

if TYPE_CHECKING:
    from trimtab.engine.units import Deployed, SyncUnit

_COLUMNS = (
    Column("ID"),
    Column("REVISION", least=10),
    Column("DEPLOYED AT", least=20, spare=1),
    Column("TOOK", spare=3),
    Column("BY", spare=2),
    Column("HELD", spare=1, wide=True),
    Column("SOURCE", least=12, spare=4, wide=True),
)


@click.command()
@click.argument("app", type=NAME, shell_complete=app_names)
@app_cluster_options
@rows_option
@click.pass_obj
def history(invocation: Invocation, /, reach: Reach, app: str, output: str) -> None:
    """Print the syncs of an app that succeeded, the newest last.

    \b
    Examples:
      trimtab history shop
      trimtab history shop -o json
    """
    from trimtab.tasks.loops import run_main

    found = run_main(_found(invocation, reach, app))
    if not found.status.history and output in {"table", "wide"}:
        click.echo(f"No sync of {app} has succeeded yet.", err=True)
    pinned = found.pinned.entry if found.pinned else 0
    show(invocation, history_listing(found.status.history, output, pinned=pinned), output)


async def _found(invocation: Invocation, reach: Reach, name: str) -> SyncUnit:
    async with apps_at(invocation, reach) as apps:
        return await apps.named(name)


def history_listing(entries: tuple[Deployed, ...], output: str, *, pinned: int = 0) -> Listing:
    """One row per sync; the one that a rollback holds the app at is `pinned`."""
    from trimtab.app.appsources import short
    from trimtab.app.reports import deployed_report
    from trimtab.engine.operations import by_whom

    reports = [{**deployed_report(each), "pinned": each.id == pinned} for each in entries]
    rows = [
        (
            str(each["id"]),
            each["revision"] if output == "wide" else short(each["revision"]),
            each["deployedAt"],
            f"{each['seconds']:.0f}s",
            by_whom(each["person"], each["by"]) or "-",
            "pinned" if each["pinned"] else "-",
            each["source"],
        )
        for each in reports
    ]
    columns = [each._replace(wide=False) if pinned and each.heading == "HELD" else each for each in _COLUMNS]
    return Listing(columns, rows, [str(each["id"]) for each in reports], reports)
