"""`trimtab status`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from trimtab.interfaces.cli.output import encoded, output_option
from trimtab.interfaces.cli.reaching import Reach, apps_at, cluster_options
from trimtab.interfaces.cli.verbs import Invocation
from trimtab.resources.tables import table

if TYPE_CHECKING:
    from trimtab.engine.units import SyncUnit


@click.command()
@click.argument("app", required=False)
@cluster_options
@output_option
@click.pass_obj
def status(invocation: Invocation, /, reach: Reach, app: str | None, output: str) -> None:
    """Print how an app stands now, or how all of them stood when they were last looked at.

    \b
    Examples:
      trimtab status
      trimtab status shop
      trimtab status shop -o json
    """
    import asyncio

    if app is None:
        units = asyncio.run(_all(invocation, reach))
        shown: Any = [_summary(unit) for unit in units]
        text = table([_HEADINGS, *(tuple(each.values()) for each in shown)])
    else:
        unit = asyncio.run(_one(invocation, reach, app))
        shown = {**_summary(unit), "resources": [dict(zip(_PARTS, row, strict=True)) for row in _rows(unit)]}
        text = f"{table(list(_summary(unit).items()))}\n\n{table([_COLUMNS, *_rows(unit)])}"
    click.echo(text if output == "text" else encoded(shown, output))


_HEADINGS = ("APP", "SYNC", "HEALTH", "REVISION", "NAMESPACE", "SOURCE", "HELD")
_COLUMNS = ("GROUP", "KIND", "NAMESPACE", "NAME", "STATUS", "HEALTH", "MESSAGE")
_PARTS = tuple(each.lower() for each in _COLUMNS)


async def _all(invocation: Invocation, reach: Reach) -> tuple[SyncUnit, ...]:
    async with apps_at(invocation, reach) as apps:
        return await apps.all()


async def _one(invocation: Invocation, reach: Reach, name: str) -> SyncUnit:
    from trimtab.errors import Missing

    async with apps_at(invocation, reach) as apps:
        found = await apps.find(name)
        if found is None:
            raise Missing(f"app {name}", "there is no such app", "List them with: trimtab status")
        async with apps.work_on(found) as work:
            return await work.look()


def _summary(unit: SyncUnit) -> dict[str, str]:
    from trimtab.app.sources import source_of

    stands = unit.status
    return {
        "app": unit.id,
        "sync": stands.verdict.value,
        "health": stands.health.status.value,
        "revision": stands.revision or "-",
        "namespace": unit.destination.namespace,
        "source": str(source_of(unit)),
        "held": unit.hold or "-",
    }


def _rows(unit: SyncUnit) -> list[tuple[str, ...]]:
    return [
        (
            each.key.group or "-",
            each.key.kind,
            each.key.namespace or "-",
            each.key.name,
            each.verdict.value if each.verdict else "-",
            each.health.status.value if each.health else "-",
            each.problem or (each.health.message if each.health else "") or "-",
        )
        for each in unit.status.resources
    ]
