"""`trimtab demo`."""

from __future__ import annotations

import click

from trimtab.interfaces.cli.verbs import Invocation


@click.command()
@click.option("--keep", is_flag=True, help="Leave the cluster and the repository for you to play with.")
@click.pass_obj
def demo(invocation: Invocation, /, *, keep: bool) -> None:
    """Show what Trimtab does, in a minute, on a cluster in memory.

    A small shop in a Git repository is planned, synced and watched; a commit, drift, a commit that would
    delete too much, a broken image and a rollback follow. It works in a temporary folder; your clusters are
    not touched.

    \b
    Examples:
      trimtab demo
      trimtab demo --keep
    """
    from trimtab.interfaces.cli.configuration import settings_of
    from trimtab.interfaces.demo.programs import find_programs
    from trimtab.interfaces.demo.stage import staged
    from trimtab.interfaces.demo.story import told, ways_on
    from trimtab.tasks.clock import SystemClock

    clock = SystemClock()
    find_programs(invocation.environment, settings_of(invocation).programs, clock)
    started = clock.monotonic()
    with staged(invocation.environment, keep=keep) as stage:
        told(stage)
        click.echo(
            f"\nThat was all of it, in {clock.monotonic() - started:.0f} s. {ways_on(stage, keep=keep)}"
        )
