"""`trimtab version`."""

from __future__ import annotations

import platform

import click

from trimtab import __version__
from trimtab.interfaces.cli.output import encoded, output_option


@click.command()
@output_option
def version(output: str) -> None:
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
    text = f"trimtab {facts['version']} (Python {facts['python']}, {facts['platform']})"
    click.echo(text if output == "text" else encoded(facts, output))
