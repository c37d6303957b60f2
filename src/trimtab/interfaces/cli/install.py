"""`trimtab install`."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.core import ParameterSource

from trimtab.interfaces.cli.asking import agreed
from trimtab.interfaces.cli.leading import as_meant
from trimtab.interfaces.cli.names import SOME_NAMESPACE, namespaces_in, not_empty
from trimtab.interfaces.cli.output import manifests_option, paper_at
from trimtab.interfaces.cli.patience import timeout_option
from trimtab.interfaces.cli.reaching import Reach, access_of, cluster_options
from trimtab.interfaces.cli.verbs import Invocation
from trimtab.resources.counting import counted
from trimtab.resources.tables import Column, Paper, fitted, one_line

if TYPE_CHECKING:
    from trimtab.app.install.installing import Item
    from trimtab.app.install.manifests import Install
    from trimtab.kube import Access
    from trimtab.settings import Settings

#: the Git hosts whose webhooks are understood; spelt out, because importing them would slow `--help`
HOSTS = ("github", "gitlab", "bitbucket", "bitbucket-server", "gitea", "azure-devops", "generic")
_RESOURCE = re.compile(r"[a-z0-9]+(\.[a-z0-9-]+)*")


def _scope(_context: click.Context, _option: click.Parameter, given: str) -> tuple[str, ...]:
    """The namespaces that are meant; none for the whole cluster."""
    word, _, listed = given.partition("=")
    if word == "cluster" and not listed:
        return ()
    names = namespaces_in(listed) if word == "namespaces" else ()
    if not names:
        raise click.BadParameter(f"{given!r} is neither `cluster` nor of the form namespaces=a,b.")
    return names


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
    "-n", "--namespace", type=SOME_NAMESPACE, help="Where it lives and keeps records; else apps.namespace."
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
@click.option(
    "--repo",
    default="",
    callback=not_empty,
    help="Record and follow the units that this repository declares.",
)
@click.option("--path", default="", help="With --repo: the folder that holds them.")
@click.option(
    "--revision",
    default="",
    callback=not_empty,
    help="With --repo: the branch, tag or range of versions to follow.",
)
@click.option(
    "--webhook",
    "webhooks",
    multiple=True,
    type=click.Choice(HOSTS),
    help="Hear the webhooks of this Git host; may be repeated.",
)
@click.option("--everything", is_flag=True, help="Let it do everything within its scope.")
@click.option("--apply", "applies", is_flag=True, help="Bring it into the cluster, not only print it.")
@click.option("--remove", "removes", is_flag=True, help="Take it out of the cluster again.")
@click.option("--with-records", is_flag=True, help="With --remove: forget all apps, too; their objects stay.")
@click.option("--dry-run", is_flag=True, help="With --apply or --remove: only show what would be done.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask before applying or removing.")
@click.option("--no-wait", is_flag=True, help="With --remove: do not wait until the runner has ended.")
@timeout_option(
    "With --remove: how long to wait until all has ended.", instead="Not to wait, write --no-wait."
)
@manifests_option
@cluster_options
@click.pass_context
def install(
    context: click.Context, /, reach: Reach, output: str, *, applies: bool, removes: bool, **chosen: Any
) -> None:
    """Print, apply or remove what `trimtab run` needs to live in a cluster.

    Settings given with `trimtab --setting` become settings of the runner. docs/install.md says what is
    installed, and which rights follow from --scope.

    \b
    Examples:
      trimtab install --image registry.example/trimtab:1.0 > trimtab.yaml
      trimtab install --scope namespaces=shop,blog -o name
      trimtab install --scope namespaces=shop,blog --apply
      trimtab install --repo https://git.example/team/fleet.git --path units --apply
      trimtab --setting repositories.poll_every=1m install --also certificates.cert-manager.io --apply --yes
      trimtab install --remove --dry-run
    """
    from trimtab.interfaces.cli.configuration import settings_of

    invocation: Invocation = context.obj
    _check_said(context, applies=applies, removes=removes)
    said = {name: chosen.pop(name) for name in _WORDS}
    word = _word(applies=applies, removes=removes, paper=paper_at(invocation), **said)
    settings = settings_of(invocation)
    wanted = _wanted(invocation, settings, **chosen)
    if not (applies or removes):
        click.echo(_printed(wanted, output, word.paper), nl=False)
        return
    from trimtab.tasks.loops import run_main

    access = access_of(invocation, reach, settings)
    if removes:
        run_main(_removed(access, settings, wanted.namespace, word))
    else:
        run_main(_applied(access, settings, wanted, word))


class _Word(NamedTuple):
    """What was said about what is done to a cluster."""

    asks: bool
    dry_run: bool
    records: bool
    #: how long the end of what is removed is waited for; None: not at all
    patience: float | None
    #: what is written on
    paper: Paper


_COLUMNS = (Column("ACTION"), Column("OBJECT", least=16, names=True))
_WORDS = ("yes", "dry_run", "with_records", "no_wait", "timeout")


def _check_said(context: click.Context, *, applies: bool, removes: bool) -> None:
    """Refuse what would be about nothing here: options whose defaults do not tell whether they were given."""

    def is_said(option: str) -> bool:
        return context.get_parameter_source(option) is ParameterSource.COMMANDLINE

    if (applies or removes) and is_said("output"):
        raise click.UsageError("-o is about what is printed: leave out --apply and --remove.")
    if not removes and is_said("timeout"):
        raise click.UsageError("--timeout is about removing: add --remove. Nothing else waits.")


def _word(
    *,
    applies: bool,
    removes: bool,
    yes: bool,
    dry_run: bool,
    with_records: bool,
    no_wait: bool,
    timeout: float,
    paper: Paper,
) -> _Word:
    if applies and removes:
        raise click.UsageError("--apply and --remove are opposites: choose one.")
    if with_records and not removes:
        raise click.UsageError("--with-records is about removing: add --remove.")
    if no_wait and not removes:
        raise click.UsageError("--no-wait is about removing: add --remove. Applying does not wait.")
    if dry_run and not (applies or removes):
        raise click.UsageError("--dry-run is about --apply or --remove: add one. Printing changes nothing.")
    asks, patience = not yes and sys.stdin.isatty(), None if no_wait else timeout
    return _Word(asks=asks, dry_run=dry_run, records=with_records, patience=patience, paper=paper)


def _wanted(
    invocation: Invocation, settings: Settings, *, namespace: str | None, image: str | None, **chosen: Any
) -> Install:
    from trimtab.app.install.manifests import Install

    if (chosen["path"] or chosen["revision"]) and not chosen["repo"]:
        raise click.UsageError("--path and --revision are about a repository: name it with --repo.")
    given = {name: value for name, value in invocation.overrides.items() if name != "apps.namespace"}
    where = namespace or settings.apps.namespace
    return Install(namespace=where, image=image or Install().image, settings=given, **chosen)


def _printed(wanted: Install, output: str, paper: Paper) -> str:
    from trimtab.app.install.manifests import objects_of
    from trimtab.interfaces.cli.manifests import manifests_shown

    return manifests_shown(objects_of(wanted), output, paper)


async def _applied(access: Access, settings: Settings, wanted: Install, word: _Word) -> None:
    from trimtab.app.install.installing import carry_out, plan_install
    from trimtab.kube import connect

    async with connect(access, settings.cluster) as cluster:
        items = await plan_install(cluster, wanted)
        if not await _agreed(items, word):
            return
        await carry_out(cluster, items, _tell)
    click.echo(as_meant(f"Installed. See it start with: kubectl -n {wanted.namespace} get pods"))


async def _removed(access: Access, settings: Settings, namespace: str, word: _Word) -> None:
    from trimtab.app.install.installing import Act, carry_out
    from trimtab.app.install.removing import plan_removal, take_out
    from trimtab.kube import connect

    async with connect(access, settings.cluster) as cluster:
        removal = await plan_removal(cluster, namespace, records=word.records)
        if not any(item.act is Act.DELETE for item in removal.items):
            click.echo(f"There is nothing to remove in {namespace}.")
            return
        if removal.apps:
            click.echo(_fate(removal.apps, forgotten=word.records), err=True)
        if not await _agreed(removal.items, word):
            return
        if word.patience is None:
            await carry_out(cluster, removal.items, _tell)
        else:
            await take_out(cluster, removal, tell=_tell, waits=_tell_waiting, seconds=word.patience)
    click.echo(f"Removed from {namespace}.")


def _fate(apps: int, *, forgotten: bool) -> str:
    """What becomes of the apps that are recorded where an installation goes."""
    fate = "is forgotten" if forgotten else "stays"
    objects = "its objects" if apps == 1 else "their objects"
    return f"what is recorded of {counted(apps, 'app')} {fate}; {objects} stay"


async def _agreed(items: tuple[Item, ...], word: _Word) -> bool:
    """Show what would be done, and ask; whether it is to be done."""
    from trimtab.app.install.installing import Act

    rows = [(item.act.value, str(item.key)) for item in items]
    click.echo(fitted(_COLUMNS, rows, word.paper))
    if word.dry_run:
        return False
    if word.asks and any(item.act is not Act.KEEP for item in items):
        await agreed("Do this?")
    return True


def _tell(item: Item) -> None:
    from trimtab.app.install.installing import Act

    if item.act is not Act.KEEP:
        click.echo(f"{item.key}: {item.act.value}d", err=True)


def _tell_waiting(words: str) -> None:
    click.echo(one_line(words), err=True)
