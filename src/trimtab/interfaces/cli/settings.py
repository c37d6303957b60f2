"""`trimtab settings`."""

from __future__ import annotations

import click

from trimtab.interfaces.cli.output import encoded, output_option
from trimtab.interfaces.cli.verbs import Invocation
from trimtab.resources.tables import table


@click.command()
@output_option
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
    if output == "text":
        shown = [(setting, value or '""', origin) for setting, value, origin in rows]
        click.echo(table([("SETTING", "VALUE", "ORIGIN"), *shown]))
    else:
        names = ("setting", "value", "origin")
        click.echo(encoded([dict(zip(names, row, strict=True)) for row in rows], output))
