"""`trimtab install`."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

import click

from trimtab.interfaces.cli.output import encoded
from trimtab.interfaces.cli.reaching import Reach, access_of, cluster_options
from trimtab.interfaces.cli.verbs import Invocation
from trimtab.resources.tables import table

if TYPE_CHECKING:
    from trimtab.app.install.manifests import Install
    from trimtab.kube import Access
    from trimtab.settings import Settings

#: the Git hosts whose webhooks are understood; spelt out, because importing them would slow `--help`
HOSTS = ("github", "gitlab", "bitbucket", "bitbucket-server", "gitea", "azure-devops", "generic")
_NAMESPACE = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_RESOURCE = re.compile(r"[a-z0-9]+(\.[a-z0-9-]+)*")


def _scope(_context: click.Context, _option: click.Parameter, given: str) -> tuple[str, ...]:
    """The namespaces that are meant; none for the whole cluster."""
    word, _, listed = given.partition("=")
    names = tuple(dict.fromkeys(each.strip() for each in listed.split(",") if each.strip()))
    if word == "cluster" and not listed:
        return ()
    if word != "namespaces" or not names:
        raise click.BadParameter(f"{given!r} is neither `cluster` nor of the form namespaces=a,b.")
    for name in names:
        _checked_namespace(name)
    return names


def _namespace(_context: click.Context, _option: click.Parameter, given: str | None) -> str | None:
    return given if given is None else _checked_namespace(given)


def _checked_namespace(name: str) -> str:
    if not _NAMESPACE.fullmatch(name):
        raise click.BadParameter(f"{name!r} is not the name of a namespace.")
    return name


def _also(_context: click.Context, _option: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    for each in given:
        if not _RESOURCE.fullmatch(each):
            raise click.BadParameter(f"{each!r} is not a kind, such as certificates.cert-manager.io.")
    return tuple(dict.fromkeys(given))


@click.command()
@click.option(
    "--scope",
    "namespaces",
    default="cluster",
    show_default=True,
    callback=_scope,
    metavar="cluster|namespaces=A,B",
    help="Where the runner may look after apps: everywhere, or in these namespaces alone.",
)
@click.option(
    "-n", "--namespace", callback=_namespace, help="Where it lives and keeps records; else apps.namespace."
)
@click.option("--image", help="The image to run; else one of this version, as deploy/Containerfile makes it.")
@click.option(
    "--replicas", type=click.IntRange(1, 16), default=2, show_default=True, help="How many runners."
)
@click.option(
    "--also",
    multiple=True,
    callback=_also,
    metavar="KINDS",
    help="Let it manage these kinds, too, such as certificates.cert-manager.io; may be repeated.",
)
@click.option("--repo", default="", help="Record and follow the units that this repository declares.")
@click.option("--path", default="", help="With --repo: the folder that holds them.")
@click.option("--revision", default="", help="With --repo: the branch, tag or range of versions to follow.")
@click.option(
    "--webhook",
    "webhooks",
    multiple=True,
    type=click.Choice(HOSTS),
    help="Hear the webhooks of this Git host; may be repeated.",
)
@click.option("--everything", is_flag=True, help="Let it do everything within its scope.")
@click.option("--apply", "applies", is_flag=True, help="Bring it into the cluster, not only print it.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask before applying.")
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True)
@cluster_options
@click.pass_obj
def install(
    invocation: Invocation, /, reach: Reach, output: str, *, applies: bool, yes: bool, **chosen: Any
) -> None:
    """Print or apply what `trimtab run` needs to live in a cluster.

    Settings given with `trimtab --set` become settings of the runner. docs/install.md says what is
    installed, and which rights follow from --scope.

    \b
    Examples:
      trimtab install --image registry.example/trimtab:1.0 > trimtab.yaml
      trimtab install --scope namespaces=shop,blog --apply
      trimtab install --repo https://git.example/team/fleet.git --path units --apply
      trimtab --set repositories.poll_every=1m install --also certificates.cert-manager.io --apply --yes
    """
    from trimtab.interfaces.cli.configuration import settings_of

    settings = settings_of(invocation)
    wanted = _wanted(invocation, settings, **chosen)
    if not applies:
        click.echo(_printed(wanted, output), nl=False)
        return
    from trimtab.tasks.loops import run_main

    asks = not yes and sys.stdin.isatty()
    run_main(_applied(access_of(invocation, reach, settings), settings, wanted, asks=asks))


def _wanted(
    invocation: Invocation, settings: Settings, *, namespace: str | None, image: str | None, **chosen: Any
) -> Install:
    from trimtab.app.install.manifests import Install

    if (chosen["path"] or chosen["revision"]) and not chosen["repo"]:
        raise click.UsageError("--path and --revision are about a repository: name it with --repo.")
    given = {name: value for name, value in invocation.overrides.items() if name != "apps.namespace"}
    where = namespace or settings.apps.namespace
    return Install(namespace=where, image=image or Install().image, settings=given, **chosen)


def _printed(wanted: Install, output: str) -> str:
    from trimtab.app.install.manifests import objects_of

    objects = objects_of(wanted)
    if output == "json":
        return encoded({"apiVersion": "v1", "kind": "List", "items": objects}, output) + "\n"
    return "---\n".join(f"{encoded(each, output)}\n" for each in objects)


async def _applied(access: Access, settings: Settings, wanted: Install, *, asks: bool) -> None:
    from trimtab.app.install.installing import Act, Item, carry_out, plan_install
    from trimtab.kube import connect

    def tell(item: Item) -> None:
        if item.act is not Act.KEEP:
            click.echo(f"{item.key}: {item.act.value}d", err=True)

    async with connect(access, settings.cluster) as cluster:
        items = await plan_install(cluster, wanted)
        rows = [(item.act.value, str(item.key)) for item in items]
        click.echo(table([("ACTION", "OBJECT"), *rows]))
        if asks and any(item.act is not Act.KEEP for item in items):
            click.confirm("Do this?", abort=True)
        await carry_out(cluster, items, tell)
    click.echo(f"Installed. See it start with: kubectl -n {wanted.namespace} get pods")
