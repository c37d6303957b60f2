"""`trimtab tree`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from trimtab.interfaces.cli.completing import app_names
from trimtab.interfaces.cli.names import NAME
from trimtab.interfaces.cli.output import Listing, facts, paper_at, rows_option, show, tell_away
from trimtab.interfaces.cli.reaching import Reach, app_cluster_options, apps_at
from trimtab.interfaces.cli.status import source_lines
from trimtab.interfaces.cli.verbs import Invocation
from trimtab.resources.tables import Column, Paper

if TYPE_CHECKING:
    from trimtab.app.trees import Line, Node
    from trimtab.engine.units import SyncUnit
    from trimtab.resources.keys import ResourceKey

_COLUMNS = (
    Column("OBJECT", least=16, names=True),
    Column("SYNC", least=9, spare=1, painted=True),
    Column("HEALTH", least=11, painted=True),
    Column("CREATED", least=20, spare=3, wide=True),
    Column("MESSAGE", least=12, spare=2),
)
#: below one that has younger kin, below the last one, a branch, the last branch
_LINES = ("│  ", "   ", "├─ ", "└─ ")
_PLAIN_LINES = ("|  ", "   ", "|- ", "`- ")


@click.command()
@click.argument("app", type=NAME, shell_complete=app_names)
@app_cluster_options
@rows_option
@click.pass_obj
def tree(invocation: Invocation, /, reach: Reach, app: str, output: str) -> None:
    """Print the objects of an app and what they own, down to the pods, with how they stand.

    \b
    Examples:
      trimtab tree shop
      trimtab tree shop -o wide
      trimtab tree shop -o json
    """
    from trimtab.tasks.loops import run_main

    unit, nodes = run_main(_grown(invocation, reach, app))
    show(invocation, tree_listing(unit, nodes, paper_at(invocation)), output)


async def _grown(invocation: Invocation, reach: Reach, name: str) -> tuple[SyncUnit, tuple[Node, ...]]:
    async with (
        apps_at(invocation, reach, renders=True) as apps,
        apps.work_on(
            await apps.named(name), renders=True, narrowly=True, families=True, only_looks=True
        ) as work,
    ):
        grown = await work.tree()
        tell_away(work.away)
        return grown


def tree_listing(unit: SyncUnit, nodes: tuple[Node, ...], paper: Paper) -> Listing:
    """The tree, one row per object."""
    from trimtab.app.naming import short_name
    from trimtab.app.reports import app_report
    from trimtab.app.trees import lines_of, node_report

    report, home = app_report(unit), unit.destination.namespace
    lines = list(lines_of(nodes))
    told = [(word, report[word]) for word in ("app", "sync", "health", "revision") if report[word]]
    told += source_lines(report) if len(report["sources"]) > 1 else []
    told += [(each["type"], each["message"]) for each in report["conditions"]]
    value = {**report, "objects": [node_report(each) for each in nodes]}
    return Listing(
        _COLUMNS,
        [_row(line, home, paper) for line in lines],
        [short_name(line.node.key) for line in lines],
        value,
        title=facts(told, paper),
    )


def _row(line: Line, home: str, paper: Paper) -> tuple[str, ...]:
    node = line.node
    drawn = branches(line.last, paper) + _name(node.key, home)
    return (drawn, node.sync or "-", node.health or "-", node.created or "-", node.message or "-")


def branches(last: tuple[bool, ...], paper: Paper) -> str:
    """The lines that lead to a node; roots stand at the edge."""
    beside, below, branch, end = _LINES if paper.glyphs else _PLAIN_LINES
    if len(last) == 1:
        return ""
    trunk = "".join(below if is_last else beside for is_last in last[1:-1])
    return trunk + (end if last[-1] else branch)


def _name(key: ResourceKey, home: str) -> str:
    """The object, with its namespace where that is not the app's own."""
    kind = f"{key.kind}.{key.group}" if key.group else key.kind
    return f"{kind} {key.name}" if key.namespace in ("", home) else str(key)
