"""`trimtab version`."""

from __future__ import annotations

import platform

import click

from trimtab import __version__
from trimtab.interfaces.cli.output import Listing, show, words_option
from trimtab.interfaces.cli.verbs import Invocation
from trimtab.resources.tables import Column

_COLUMNS = (Column("VERSION"), Column("PYTHON", wide=True), Column("PLATFORM", wide=True))


@click.command()
@words_option
@click.pass_obj
def version(invocation: Invocation, output: str) -> None:
    """Print the version of Trimtab, of Python, and the platform.

    \b
    Examples:
      trimtab version
      trimtab version -o json
    """
    facts = {
        "version": __version__,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
    }
    if output == "text":
        click.echo(f"trimtab {facts['version']} (Python {facts['python']}, {facts['platform']})")
    else:
        row = tuple(facts.values())
        show(invocation, Listing(_COLUMNS, [row], [f"version/{__version__}"], facts), output)
