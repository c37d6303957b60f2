"""`trimtab why`."""

from __future__ import annotations

import click

from trimtab.interfaces.cli.completing import app_names
from trimtab.interfaces.cli.output import encoded, output_option
from trimtab.interfaces.cli.reaching import Reach, access_of, apps_at, cluster_options
from trimtab.interfaces.cli.verbs import Invocation

#: something is the matter, and the answer says what: as `diff` does, below the codes of errors
NOT_WELL = 1


@click.command()
@click.argument("about", metavar="APP|KIND/NAME", shell_complete=app_names)
@click.option("-n", "--namespace", default="", help="Where the object is; else the context's namespace.")
@cluster_options
@output_option
@click.pass_obj
@click.pass_context
def why(
    context: click.Context, invocation: Invocation, /, reach: Reach, about: str, namespace: str, output: str
) -> None:
    """Say why an app or an object is as it is: the chain of causes from commit to pod.

    The first cause is named first, in one sentence, and what to do about it last. The exit code is 0 when
    all is well, 1 when something is the matter.

    \b
    Examples:
      trimtab why shop
      trimtab why deploy/web -n shop
      trimtab why pod/web-6d5f9c7b8-x2x7k -n shop -o json
    """
    from trimtab.app.why import explain
    from trimtab.app.why.showing import answer_json, answer_text
    from trimtab.interfaces.cli.configuration import settings_of
    from trimtab.tasks.clock import SystemClock
    from trimtab.tasks.loops import run_main

    space = namespace or access_of(invocation, reach, settings_of(invocation)).namespace
    opening = apps_at(invocation, reach, renders="/" not in about)
    answer = run_main(explain(opening, about, namespace=space, clock=SystemClock()))
    click.echo(answer_text(answer) if output == "text" else encoded(answer_json(answer), output))
    if not answer.well:
        context.exit(NOT_WELL)
