"""`trimtab settings`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from trimtab.interfaces.cli.output import Listing, rows_option, show
from trimtab.interfaces.cli.verbs import Invocation
from trimtab.resources.tables import Column

if TYPE_CHECKING:
    from trimtab.settings.merge import Effective

_COLUMNS = (
    Column("SETTING", least=16, names=True),
    Column("VALUE"),
    Column("ORIGIN", spare=1),
    Column("DEFAULT", spare=2, wide=True),
    Column("VARIABLE", least=16, spare=3, names=True, wide=True),
)


@click.command()
@rows_option
@click.pass_obj
def settings(invocation: Invocation, output: str) -> None:
    """Print every setting that holds here, and who set it.

    That is a file, the environment, a flag, or nobody.

    \b
    Examples:
      trimtab settings
      trimtab settings -o wide
      trimtab --config ./trimtab.toml settings
      TRIMTAB_CLUSTER__PAGE_SIZE=100 trimtab settings -o json
    """
    from trimtab.interfaces.cli.configuration import effective_settings

    values = [_report(one) for one in effective_settings(invocation)]
    rows = [tuple(text or '""' for text in each.values()) for each in values]
    show(invocation, Listing(_COLUMNS, rows, [each["setting"] for each in values], values), output)


def _report(one: Effective) -> dict[str, str]:
    written = one.field.shape.written
    return {
        "setting": one.field.key,
        "value": written(one.value),
        "origin": one.origin,
        "default": written(one.field.default),
        "variable": one.field.variable,
    }
