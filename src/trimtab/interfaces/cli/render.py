"""`trimtab render`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from trimtab.interfaces.cli.declaring import Asked, source_asked, unit_described, values_options
from trimtab.interfaces.cli.names import NAME, NAMESPACE, not_empty
from trimtab.interfaces.cli.output import manifests_option, paper_at, tell_fetches, tell_warnings
from trimtab.interfaces.cli.verbs import Invocation

if TYPE_CHECKING:
    from trimtab.engine.units import SyncUnit
    from trimtab.settings import Settings


@click.command()
@click.argument("source", type=NAME)
@click.option(
    "--app",
    default="",
    callback=not_empty,
    help="Render as the app of this name; a Helm release is called so.",
)
@click.option("--path", default="", help="Render this folder of the source.")
@click.option(
    "--chart", default="", callback=not_empty, help="SOURCE is a chart repository: render this chart of it."
)
@click.option(
    "--revision", default="", callback=not_empty, help="A branch, tag, version, range of versions or commit."
)
@click.option(
    "-n", "--namespace", type=NAMESPACE, default="", help="Where the objects will go; else `default`."
)
@values_options
@manifests_option
@click.pass_obj
def render(
    invocation: Invocation,
    /,
    asked: Asked,
    output: str,
) -> None:
    """Print the manifests that SOURCE, a folder, a Git address, a chart or a unit file, declares.

    No cluster is asked: charts see the capabilities that helm assumes.

    \b
    Examples:
      trimtab render ./deploy
      trimtab render ./deploy -o name
      trimtab render https://git.example/team/shop.git --path overlays/live --revision v1.4.0
      trimtab render ./chart --app web -n shop --values live.yaml --set image.tag=1.4
      trimtab render oci://registry.example/team/web --revision 1.2.3
      trimtab render https://charts.example --chart web --revision '^1.2'
      trimtab render units/shop.yaml
    """
    from trimtab.interfaces.cli.configuration import settings_of
    from trimtab.interfaces.cli.manifests import manifests_shown
    from trimtab.tasks.loops import run_main

    unit = unit_described(asked) or _unit_meant(asked)
    manifests = run_main(_rendered(unit, settings_of(invocation), invocation.environment.get("PATH", "")))
    click.echo(manifests_shown(manifests, output, paper_at(invocation)), nl=False)


def _unit_meant(asked: Asked) -> SyncUnit:
    from trimtab.app.appsources import recorded
    from trimtab.engine.units import Destination, SyncUnit
    from trimtab.errors import InvalidSpec
    from trimtab.interfaces.cli.origins import name_for

    found = source_asked(asked)
    if found is None:
        what = "file" if asked.source.endswith((".yaml", ".yml")) else "folder"
        reason, remedy = f"there is no such {what}", "Name a folder, a Git address, a chart or a unit file"
        raise InvalidSpec(f"source {asked.source}", reason, remedy)
    return SyncUnit(
        id=asked.app or name_for(found),
        source=recorded(found),
        destination=Destination(cluster="none", namespace=asked.namespace or "default"),
    )


async def _rendered(unit: SyncUnit, settings: Settings, path: str) -> list[dict[str, Any]]:
    from trimtab.app import open_manifests
    from trimtab.sources.rendering.rendered import name_of

    async with open_manifests(settings, path=path, tell=tell_fetches()) as manifests:
        generated = await manifests.generate(unit, "")
    for each in generated.manifests:
        name_of(
            each.manifest, each.where
        )  # an engine goes on without what is no manifest; whoever pipes must not
    tell_warnings(generated.warnings)
    return [each.manifest for each in generated.manifests]
