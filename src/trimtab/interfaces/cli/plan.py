"""`trimtab plan`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from trimtab.errors import InvalidSpec, Unavailable
from trimtab.interfaces.cli.cautions import of_deletion, of_hold, of_move
from trimtab.interfaces.cli.declaring import (
    Asked,
    app_meant,
    apps_options,
    check_move,
    folder_ahead,
    operation_asked,
    source_asked,
    unit_asked,
    unit_described,
)
from trimtab.interfaces.cli.names import not_empty
from trimtab.interfaces.cli.output import Listing, output_forms, paper_at, shown, tell_fetches, tell_warnings
from trimtab.interfaces.cli.reaching import Reach, apps_at, cluster_options
from trimtab.interfaces.cli.verbs import Invocation

if TYPE_CHECKING:
    from trimtab.app import Apps
    from trimtab.app.planfiles import StoredPlan
    from trimtab.engine.sync.steps import SyncPlan
    from trimtab.engine.units import SyncUnit
    from trimtab.resources.tables import Paper


class Between(NamedTuple):
    """Two revisions of a source."""

    base: str
    head: str


@click.command()
@apps_options
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Store it for `trimtab apply`.")
@click.option(
    "--base",
    default="",
    callback=not_empty,
    help="Plan on this revision as if it were live; no cluster is looked at.",
)
@click.option(
    "--head",
    default="",
    callback=not_empty,
    help="With --base: plan this revision instead of the source as it is.",
)
@cluster_options
@output_forms("table", "markdown")
@click.pass_obj
def plan(
    invocation: Invocation,
    /,
    reach: Reach,
    asked: tuple[Asked, ...],
    out: Path | None,
    base: str,
    head: str,
    output: str,
) -> None:
    """Print what `trimtab sync` would do; no object is written.

    SOURCE is a folder, a Git address, a chart, a unit file, or the name of an app; there may be several. With
    --base and --head it is what a pull request changes, whatever drifted in a cluster; in a folder of a
    checkout they are revisions of that repository, and without --head the files are planned as they are,
    committed or not. Of an app with several sources they are revisions of the first that is rendered.

    \b
    Examples:
      trimtab plan ./deploy --prune
      trimtab plan shop payments -o json
      trimtab plan shop -o name
      trimtab plan shop --prune --out shop.plan && trimtab apply shop.plan
      trimtab plan ./deploy --base origin/main
      trimtab plan https://git.example/team/shop.git --path live --base main --head fix-1 -o markdown
    """
    from trimtab.tasks.loops import run_main

    if head and not base:
        raise click.UsageError("--head needs --base.")
    if base and out is not None:
        raise click.UsageError("--out stores what can be applied: it goes without --base.")
    if base:
        plans = run_main(_proposed(invocation, reach, asked, Between(base, head)))
    else:
        plans, content = run_main(_planned(invocation, reach, asked, is_stored=out is not None))
        if out is not None:
            _write(out, content)
    if text := plans_shown(plans, output, paper_at(invocation)):
        click.echo(text)


def plans_shown(plans: list[SyncPlan], output: str, paper: Paper) -> str:
    """The plans, one below the other; for programs one plan is itself, and several are a list."""
    from trimtab.app.naming import short_name
    from trimtab.engine.sync.showing import plan_json, plan_markdown, plan_table

    if output in {"table", "wide"}:
        return "\n\n".join(plan_table(each, paper, wide=output == "wide").rstrip() for each in plans)
    if output == "markdown":
        return "\n\n".join(plan_markdown(each).rstrip() for each in plans)
    names = dict.fromkeys(short_name(step.key) for each in plans for step in each.steps)
    values = [plan_json(each) for each in plans]
    return shown(Listing((), (), list(names), values[0] if len(values) == 1 else values), output, paper)


async def _planned(
    invocation: Invocation, reach: Reach, asked: tuple[Asked, ...], *, is_stored: bool
) -> tuple[list[SyncPlan], bytes]:
    """The plans, and the file that stores them if there is to be one."""
    from trimtab.app.planfiles import stored_plan

    plans: list[SyncPlan] = []
    stored: list[StoredPlan] = []
    async with apps_at(invocation, reach, renders=True, ahead=folder_ahead(asked[0])) as apps:
        for each in asked:
            meant, operation = await app_meant(apps, each), operation_asked(each)
            if is_stored:
                check_move(meant, each)
            unit, was = meant
            tell_warnings((*of_move(unit, was), *of_deletion(unit)))
            async with apps.work_on(unit, renders=True, narrowly=True) as work:
                plans.append(await work.plan(operation))
                tell_warnings((*work.warnings, *of_hold(unit)))
            stored.append(stored_plan(unit, await apps.find(unit.id), operation, plans[-1]))
        return plans, await _file(apps, stored) if is_stored else b""


async def _file(apps: Apps, plans: list[StoredPlan]) -> bytes:
    """The file that stores the plans; that it can be opened again, the installation is recorded first."""
    from trimtab.app.planfiles import written
    from trimtab.engine import Keyring

    await apps.record_installation()
    return written(plans, installation=apps.installation.id, keys=Keyring(apps.installation.key))


def _write(out: Path, content: bytes) -> None:
    from trimtab.interfaces.cli.circumstances import is_full
    from trimtab.interfaces.cli.files import write_whole

    try:
        write_whole(out, content)
    except OSError as error:
        reason = f"it cannot be written: {error.strerror}"
        if is_full(error):
            raise Unavailable(f"plan file {out}", reason, "Make room, or name another file") from error
        raise InvalidSpec(f"plan file {out}", reason, "Name another file") from error


async def _proposed(
    invocation: Invocation, reach: Reach, asked: tuple[Asked, ...], between: Between
) -> list[SyncPlan]:
    from trimtab.app.proposing import propose
    from trimtab.app.sources import open_manifests
    from trimtab.interfaces.cli.configuration import settings_of

    units = [_unit_without_cluster(each) for each in asked]
    operations = [operation_asked(each) for each in asked]
    if None in units:
        async with apps_at(invocation, reach) as apps:
            found = [await unit_asked(apps, each) for each in asked]
            pairs = zip(found, operations, strict=True)
            return [await propose(apps.manifests, unit, *between, what) for unit, what in pairs]
    settings, path = settings_of(invocation), invocation.environment.get("PATH", "")
    async with open_manifests(settings, path=path, tell=tell_fetches()) as manifests:
        known = [(unit, what) for unit, what in zip(units, operations, strict=True) if unit is not None]
        return [await propose(manifests, unit, *between, what) for unit, what in known]


def _unit_without_cluster(asked: Asked) -> SyncUnit | None:
    """The app that is meant, where the source alone says it; None for the name of one that is recorded."""
    from trimtab.app.appsources import HERE, recorded
    from trimtab.engine.units import Destination, SyncUnit
    from trimtab.interfaces.cli.origins import name_for

    described = unit_described(asked)
    if described is not None:
        return described
    source = source_asked(asked)
    if source is None:
        return None
    destination = Destination(cluster=HERE, namespace=asked.namespace or "default")
    return SyncUnit(id=asked.app or name_for(source), source=recorded(source), destination=destination)
