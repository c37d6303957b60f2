"""What verbs that act or wait answer in the end: a sentence for people, or a small document for programs.

Where a document is asked for, all that is for people goes to stderr, the plan included; stdout holds the
document alone. A dry run has nothing to answer but the plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from trimtab.interfaces.cli.output import Listing, paper_at, show
from trimtab.resources.counting import counted
from trimtab.resources.tables import Column

if TYPE_CHECKING:
    from trimtab.engine.sync.steps import SyncPlan
    from trimtab.engine.units import SyncUnit
    from trimtab.interfaces.cli.verbs import Invocation

_COLUMNS = (
    Column("APP", least=12, names=True),
    Column("SYNC", least=9, painted=True),
    Column("HEALTH", least=11, painted=True),
    Column("REVISION", spare=1),
    Column("OPERATION", spare=2),
    Column("DONE", least=12, spare=3),
    Column("NAMESPACE", spare=4, wide=True),
    Column("HELD", least=12, spare=5, wide=True),
    Column("MESSAGE", least=12, spare=6, wide=True),
)
_TEXT = "text"


def is_for_people(output: str) -> bool:
    """Whether the answer is a sentence."""
    return output == _TEXT


def standing(unit: SyncUnit) -> str:
    """How an app stands, for a sentence about it: `shop is Synced and Healthy`."""
    return f"{unit.id} is {unit.status.verdict.value} and {unit.status.health.status.value}"


def show_plan(invocation: Invocation, plan: SyncPlan, output: str) -> None:
    """Print a plan that is about to be carried out: beside the answer, if that is for programs."""
    from trimtab.engine.sync.showing import plan_table

    click.echo(plan_table(plan, paper_at(invocation)), nl=False, err=not is_for_people(output))


def show_plans(invocation: Invocation, plans: list[SyncPlan], output: str) -> None:
    """Print plans that are not carried out, as `trimtab plan` does."""
    from trimtab.interfaces.cli.plan import plans_shown

    if text := plans_shown(plans, "table" if is_for_people(output) else output, paper_at(invocation)):
        click.echo(text)


def show_outcome(invocation: Invocation, report: dict[str, Any], output: str, sentence: str) -> None:
    """Print what became of an app."""
    if is_for_people(output):
        click.echo(sentence)
    else:
        show_outcomes(invocation, [report], report, output)


def show_outcomes(invocation: Invocation, reports: Sequence[dict[str, Any]], value: Any, output: str) -> None:
    """Print what became of apps; programs get `value`."""
    from trimtab.app.naming import app_name

    rows = [_row(each, whole=output == "wide") for each in reports]
    show(invocation, Listing(_COLUMNS, rows, [app_name(each["app"]) for each in reports], value), output)


def _row(report: dict[str, Any], *, whole: bool) -> tuple[str, ...]:
    from trimtab.app.appsources import short

    revision = report["revision"] if whole else short(report["revision"])
    done = ", ".join(
        counted(number, word.removesuffix("s"), word) for word, number in report["counts"].items() if number
    )
    words = [report["app"], report["sync"], report["health"], revision, report["operation"], done]
    return tuple(text or "-" for text in (*words, report["namespace"], report["held"], report["message"]))
