"""`trimtab diff`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from trimtab.interfaces.cli.cautions import of_pin
from trimtab.interfaces.cli.declaring import Asked, folder_ahead, source_meant, source_options, unit_asked
from trimtab.interfaces.cli.files import check_stdin
from trimtab.interfaces.cli.output import paper_at, show, tell_warnings, words_option
from trimtab.interfaces.cli.reaching import Reach, apps_at, cluster_options
from trimtab.interfaces.cli.verbs import Invocation

if TYPE_CHECKING:
    from trimtab.app.differing import Differing
    from trimtab.app.lastknown import Away

DIFFERS = 1


@click.command()
@source_options
@click.option(
    "-f",
    "--filename",
    "desired",
    multiple=True,
    type=click.Path(allow_dash=True),
    help="Compare these manifests with those of --live; no cluster is asked.",
)
@click.option(
    "--live",
    multiple=True,
    type=click.Path(allow_dash=True),
    help="Objects as a cluster gave them, for -f.",
)
@click.option(
    "--field-manager", default="trimtab", show_default=True, help="For -f: who applies the manifests."
)
@cluster_options
@words_option
@click.pass_context
def diff(
    context: click.Context,
    /,
    reach: Reach,
    asked: Asked,
    desired: tuple[str, ...],
    live: tuple[str, ...],
    field_manager: str,
    output: str,
) -> None:
    """Print what differs between what SOURCE declares and what is live, field by field.

    SOURCE is a folder, a Git address, a chart, or the name of an app. Of every field it is told how it is,
    how it should be, who set it, and why it counts. Secrets are shown as stand-ins. Nothing is written.

    The exit code is 0 if nothing differs, 1 if something does, and larger if that cannot be told.

    \b
    Examples:
      trimtab diff shop
      trimtab diff ./deploy -n shop -o json
      trimtab diff shop -o name
      trimtab diff -f desired.yaml --live live.yaml
      kubectl get -f desired.yaml -o yaml | trimtab diff -f desired.yaml --live -
    """
    from trimtab.app.differing import NotCompared

    invocation: Invocation = context.obj
    if bool(desired) != bool(live) or bool(desired) == bool(asked.source):
        raise click.UsageError("Name a SOURCE, or give -f and --live.")
    check_stdin((*desired, *live))
    if desired:
        found, away = _of_files(desired, live, field_manager, asked.namespace), None
    else:
        from trimtab.tasks.loops import run_main

        found, away = run_main(_of_app(invocation, reach, asked))
    _print(invocation, found, output)
    if away is not None:  # what was shown is all that is known, and no answer to what was asked
        tell_warnings((away.told,))
        raise away.error
    if found.problems:
        raise NotCompared.of(found.problems)
    context.exit(DIFFERS if found.objects else 0)


def _print(invocation: Invocation, found: Differing, output: str) -> None:
    from trimtab.interfaces.cli.diffing import diff_listing, unified

    if output != "text":
        show(invocation, diff_listing(found.objects), output)
    elif found.objects:
        click.echo(unified(found.objects, paper_at(invocation)))


async def _of_app(invocation: Invocation, reach: Reach, asked: Asked) -> tuple[Differing, Away | None]:
    from msgspec.structs import replace

    named = source_meant(asked)
    async with apps_at(invocation, reach, renders=True, ahead=folder_ahead(asked)) as apps:
        unit = await unit_asked(apps, asked)
        # Whoever names a source wants to know about that one, whatever the app is held at.
        looked_at = unit if named is None else replace(unit, pinned=None)
        is_app = named is None
        async with apps.work_on(looked_at, renders=True, narrowly=True, only_looks=is_app) as work:
            found = await work.differing()
            tell_warnings(of_pin(looked_at))
            return found, work.away


def _of_files(
    desired: tuple[str, ...], live: tuple[str, ...], field_manager: str, namespace: str
) -> Differing:
    import secrets

    from trimtab.app.differing import differing_files
    from trimtab.engine.compare.judging import Lens
    from trimtab.interfaces.cli.files import documents_in
    from trimtab.resources.manifests import found_in
    from trimtab.resources.secrets import StandIns

    # Stand-ins need to be told apart only here, so their key lives no longer than this process.
    lens = Lens(manager=field_manager, stand_ins=StandIns(secrets.token_bytes(32)))
    sides = [found_in(documents_in(files)) for files in (desired, live)]
    return differing_files(sides[0], sides[1], lens, namespace=namespace)
