"""`trimtab why`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from trimtab.interfaces.cli.completing import app_names
from trimtab.interfaces.cli.leading import as_meant
from trimtab.interfaces.cli.names import NAME, NAMESPACE
from trimtab.interfaces.cli.output import Listing, show, words_option
from trimtab.interfaces.cli.reaching import Reach, access_of, apps_at, cluster_options
from trimtab.interfaces.cli.verbs import Invocation
from trimtab.resources.tables import Column, one_line

if TYPE_CHECKING:
    from trimtab.app.why.chain import Answer, Chain

_COLUMNS = (
    Column("CAUSE", least=10, spare=1),
    Column("OBJECT", least=16, names=True),
    Column("WHAT", least=16),
    Column("SINCE", least=20, spare=2, wide=True),
    Column("EVIDENCE", least=12, spare=4, wide=True),
    Column("REMEDY", least=12, spare=3, wide=True),
)
#: something is the matter, and the answer says what: as `diff` does, below the codes of errors
NOT_WELL = 1


@click.command()
@click.argument("about", metavar="APP|KIND/NAME", type=NAME, shell_complete=app_names)
@click.option(
    "-n",
    "--namespace",
    type=NAMESPACE,
    default="",
    help="Where the object is, else the context's namespace; refuse an app whose objects go elsewhere.",
)
@cluster_options
@words_option
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
      trimtab why shop -o name | xargs kubectl describe -n shop
    """
    from trimtab.app.why import explain
    from trimtab.app.why.showing import answer_text
    from trimtab.interfaces.cli.configuration import settings_of
    from trimtab.tasks.clock import SystemClock
    from trimtab.tasks.loops import run_main

    space = namespace or access_of(invocation, reach, settings_of(invocation)).namespace
    opening = apps_at(invocation, reach._replace(namespace=namespace), renders="/" not in about)
    answer = run_main(explain(opening, about, namespace=space, clock=SystemClock()))
    if output == "text":
        click.echo(as_meant(answer_text(answer)))
    else:
        show(invocation, answer_listing(answer), output)
    if not answer.well:
        context.exit(NOT_WELL)


def answer_listing(answer: Answer) -> Listing:
    """One row per cause; what is named is what it befell, as kubectl takes it."""
    from trimtab.app.naming import short_name
    from trimtab.app.why.showing import answer_json

    names = dict.fromkeys(short_name(each.key) for each in answer.chains if each.key is not None)
    title = one_line(answer.sentence) if answer.well else ""
    rows = [_row(each) for each in answer.chains]
    return Listing(_COLUMNS, rows, list(names), answer_json(answer), title=title)


def _row(chain: Chain) -> tuple[str, ...]:
    from trimtab.app.reports import moment

    last = chain.links[-1]
    since = moment(last.since)
    return (chain.cause, last.object, last.what, since or "-", last.evidence or "-", chain.remedy or "-")
