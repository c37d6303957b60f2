"""The `trimtab` command."""

from __future__ import annotations

from importlib.metadata import version as installed_version

import click


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Keep Kubernetes clusters at the state that Git declares."""


@main.command()
def version() -> None:
    r"""Print the version.

    \b
    Example:
      trimtab version
    """
    click.echo(f"trimtab {installed_version('trimtab')}")
