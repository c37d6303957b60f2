"""`trimtab status`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from trimtab.interfaces.cli.completing import app_names
from trimtab.interfaces.cli.leading import as_meant
from trimtab.interfaces.cli.names import NAME, NAMESPACE
from trimtab.interfaces.cli.output import Listing, facts, paper_at, rows_option, show, tell_away
from trimtab.interfaces.cli.reaching import Reach, apps_at, cluster_options
from trimtab.interfaces.cli.verbs import Invocation
from trimtab.resources.tables import Column, Paper, one_line

if TYPE_CHECKING:
    from trimtab.engine.units import SyncUnit

_APPS = (
    Column("APP", least=12, names=True),
    Column("SYNC", least=9, painted=True),
    Column("HEALTH", least=11, painted=True),
    Column("REVISION", spare=1),
    Column("NAMESPACE", spare=2),
    Column("SOURCE", least=12, spare=4),
    Column("HELD", least=12, spare=3, wide=True),
    Column("OBJECTS", spare=5, wide=True),
    Column("OPERATION", spare=5, wide=True),
    Column("LOOKED AT", spare=6, wide=True),
    Column("MESSAGE", least=12, spare=7, wide=True),
)
_OBJECTS = (
    Column("GROUP", spare=5),
    Column("KIND", least=6, spare=2),
    Column("NAMESPACE", spare=4),
    Column("NAME", spare=1, names=True),
    Column("STATUS", least=9, painted=True),
    Column("HEALTH", least=11, painted=True),
    Column("VERSION", spare=7, wide=True),
    Column("PRUNE", spare=6, wide=True),
    Column("MESSAGE", least=12, spare=3),
)


@click.command()
@click.argument("app", type=NAME, required=False, shell_complete=app_names)
@click.option("-n", "--namespace", type=NAMESPACE, default="", help="Only apps whose objects go there.")
@cluster_options
@rows_option
@click.pass_obj
def status(invocation: Invocation, /, reach: Reach, app: str | None, namespace: str, output: str) -> None:
    """Print how an app stands now, or how all of them stood when they were last looked at.

    \b
    Examples:
      trimtab status
      trimtab status -n shop -o wide
      trimtab status shop
      trimtab status shop -o json
    """
    from trimtab.tasks.loops import run_main

    if app is None:
        known = run_main(_all(invocation, reach))
        units = tuple(unit for unit in known if namespace in {"", unit.destination.namespace})
        if not units and output in {"table", "wide"}:
            click.echo(as_meant(no_apps(namespace, known)), err=True)
        show(invocation, apps_listing(units, output), output)
    else:
        unit = run_main(_one(invocation, reach._replace(namespace=namespace), app))
        show(invocation, app_listing(unit, paper_at(invocation)), output)


def no_apps(namespace: str, known: tuple[SyncUnit, ...]) -> str:
    """What to say where there is nothing to show."""
    if not known:
        return "No apps yet. Make one with: trimtab sync SOURCE"
    spaces = sorted({unit.destination.namespace for unit in known})
    return f"No apps in {namespace}; there are some in {', '.join(spaces)}"


async def _all(invocation: Invocation, reach: Reach) -> tuple[SyncUnit, ...]:
    async with apps_at(invocation, reach) as apps:
        return await apps.all(lambda error: click.echo(one_line(f"Left out: {error}"), err=True))


async def _one(invocation: Invocation, reach: Reach, name: str) -> SyncUnit:
    async with (
        apps_at(invocation, reach, renders=True) as apps,
        apps.work_on(await apps.named(name), renders=True, narrowly=True, only_looks=True) as work,
    ):
        unit = await work.look()
        tell_away(work.away)
        return unit


def apps_listing(units: tuple[SyncUnit, ...], output: str) -> Listing:
    """All apps, one per row."""
    from trimtab.app.naming import app_name
    from trimtab.app.reports import app_report

    reports = [app_report(unit) for unit in units]
    rows = [_app_row(report, whole=output == "wide") for report in reports]
    return Listing(_columns(reports), rows, [app_name(each["app"]) for each in reports], reports)


def _columns(reports: list[dict[str, Any]]) -> list[Column]:
    """The columns; that somebody holds an app is for everybody to see, and that nobody does for none."""
    is_held = any(report["held"] for report in reports)
    return [each._replace(wide=False) if is_held and each.heading == "HELD" else each for each in _APPS]


def _app_row(report: dict[str, Any], *, whole: bool) -> tuple[str, ...]:
    from trimtab.app.appsources import short

    revision = report["revision"] if whole else short(report["revision"])
    words = [report[word] for word in ("app", "sync", "health")]
    rest = ("namespace", "source", "held", "objectCount", "operation", "lookedAt", "message")
    return tuple(str(word) or "-" for word in (*words, revision, *(report[word] for word in rest)))


def app_listing(unit: SyncUnit, paper: Paper) -> Listing:
    """One app: facts, what is wrong with it, and its objects."""
    from trimtab.app.naming import app_name
    from trimtab.app.reports import app_report, resource_report

    report = app_report(unit)
    resources = [resource_report(each) for each in unit.status.resources]
    told = ("app", "sync", "health", "message", "held", "revision", "namespace", "source", "operation")
    lines = [(word, report[word]) for word in told[:-2] if report[word]]
    lines += source_lines(report)
    lines += [("operation", _operation(report))] if report["operation"] else []
    lines += [(each["type"], each["message"]) for each in report["conditions"]]
    rows = [_object_row(each) for each in resources]
    value = {**report, "resources": resources}
    return Listing(_OBJECTS, rows, [app_name(unit.id)], value, title=facts(lines, paper))


def _object_row(report: dict[str, Any]) -> tuple[str, ...]:
    words = ("group", "kind", "namespace", "name", "status", "health", "version")
    prune = "yes" if report["prune"] else ""
    return tuple(text or "-" for text in (*(report[word] for word in words), prune, report["message"]))


def source_lines(report: dict[str, Any]) -> list[tuple[str, str]]:
    """Where an app comes from: one line, or one for each of several sources, with the revision it is at."""
    several = report["sources"]
    if len(several) == 1:
        return [("source", report["source"])]
    return [(f"source {number}", _source(each)) for number, each in enumerate(several, 1)]


def _source(report: dict[str, Any]) -> str:
    return f"{report['source']}: {report['revision']}" if report["revision"] else str(report["source"])


def _operation(report: dict[str, Any]) -> str:
    """How the last operation stands or ended, and why; one that succeeded has said all there is to say."""
    phase, message = report["operation"], report["operationMessage"]
    return f"{phase}: {message}" if message and phase != "Succeeded" else str(phase)
