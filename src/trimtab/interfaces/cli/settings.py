"""`trimtab settings`."""

from __future__ import annotations

import click

from trimtab.interfaces.cli.output import Listing, rows_option, show
from trimtab.interfaces.cli.verbs import Invocation
from trimtab.resources.tables import Column

_COLUMNS = (Column("SETTING", least=16, names=True), Column("VALUE"), Column("ORIGIN", spare=1))


@click.command()
@rows_option
@click.pass_obj
def settings(invocation: Invocation, output: str) -> None:
    """Print every setting that holds here, and who set it.

    That is a file, the environment, a flag, or nobody.

    \b
    Examples:
      trimtab settings
      trimtab --config ./trimtab.toml settings
      TRIMTAB_CLUSTER__PAGE_SIZE=100 trimtab settings -o json
    """
    from trimtab.interfaces.cli.configuration import effective_settings

    rows = [
        (one.field.key, one.field.shape.written(one.value), one.origin)
        for one in effective_settings(invocation)
    ]
    shown = [(setting, value or '""', origin) for setting, value, origin in rows]
    words = ("setting", "value", "origin")
    value = [dict(zip(words, row, strict=True)) for row in rows]
    show(invocation, Listing(_COLUMNS, shown, [setting for setting, _, _ in rows], value), output)
