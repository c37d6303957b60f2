"""What `plan` and `sync` share: which app is meant, what is asked of it, and the options that say so."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from trimtab.errors import Conflict, InvalidSpec, Missing
from trimtab.interfaces.cli.completing import sources
from trimtab.interfaces.cli.origins import name_for, source_named

if TYPE_CHECKING:
    from trimtab.app import Apps
    from trimtab.engine.operations import Operation
    from trimtab.engine.units import Policy, SyncUnit


class Asked(NamedTuple):
    """What the command line says of an app; what it leaves out stays as it is recorded."""

    source: str
    app: str
    path: str
    revision: str
    namespace: str
    prune: bool = False
    create_namespace: bool = False
    adopt: bool = False
    auto: bool | None = None
    self_heal: bool = False


_SOURCE_OPTIONS = (
    click.option("--app", default="", help="The app's name; else the last part of SOURCE."),
    click.option("--path", default="", help="This folder of the source."),
    click.option("--revision", default="", help="A branch, tag, range of versions or commit."),
    click.option(
        "-n",
        "--namespace",
        "--dest-namespace",
        "namespace",
        default="",
        help="Where objects go that name no namespace; `default` for a new app.",
    ),
)
_OPTIONS = (
    *_SOURCE_OPTIONS,
    click.option("--prune", is_flag=True, help="Delete what SOURCE no longer declares."),
    click.option("--create-namespace", is_flag=True, help="Make the namespace if it is not there."),
    click.option("--adopt", is_flag=True, help="Take over objects that somebody else manages."),
    click.option(
        "--auto/--no-auto",
        default=None,
        help="Have a runner sync every new commit, pruning with --prune; or no longer.",
    ),
    click.option("--self-heal", is_flag=True, help="With --auto: put back what is changed in the cluster."),
)


def app_options(verb: Callable[..., None]) -> Callable[..., None]:
    """Give a verb SOURCE and what may be said of the app; it takes them as one `asked`."""

    @functools.wraps(verb)
    def gathered(*arguments: Any, **given: Any) -> None:
        asked = Asked(**{field: given.pop(field) for field in Asked._fields})
        verb(*arguments, asked=asked, **given)

    return click.argument("source", shell_complete=sources)(_with_options(gathered))


def apps_options(verb: Callable[..., None]) -> Callable[..., None]:
    """Give a verb one SOURCE or several, and what may be said of the apps; it takes a tuple of `asked`."""

    @functools.wraps(verb)
    def gathered(*arguments: Any, named: tuple[str, ...], **given: Any) -> None:
        said = {field: given.pop(field) for field in Asked._fields if field != "source"}
        if said["app"] and len(named) > 1:
            raise click.UsageError("--app names one app, and there are several sources.")
        verb(*arguments, asked=tuple(Asked(source=each, **said) for each in named), **given)

    argument = click.argument("named", metavar="SOURCE...", nargs=-1, required=True, shell_complete=sources)
    return argument(_with_options(gathered))


def _with_options(command: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def source_options(verb: Callable[..., None]) -> Callable[..., None]:
    """Give a verb an optional SOURCE and which part of what it means; it takes them as one `asked`."""

    @functools.wraps(verb)
    def gathered(*arguments: Any, **given: Any) -> None:
        named: dict[str, Any] = {field: given.pop(field) or "" for field in Asked._fields if field in given}
        verb(*arguments, asked=Asked(**named), **given)

    command: Callable[..., None] = gathered
    for option in reversed(_SOURCE_OPTIONS):
        command = option(command)
    return click.argument("source", required=False, shell_complete=sources)(command)


async def unit_asked(apps: Apps, asked: Asked) -> SyncUnit:
    """The app that is meant: as it is recorded, with what the command line says anew."""
    from msgspec.structs import replace

    unit = await _unit_meant(apps, asked)
    return replace(unit, policy=_policy_asked(unit, asked))


async def _unit_meant(apps: Apps, asked: Asked) -> SyncUnit:
    from msgspec.structs import replace

    from trimtab.app.sources import HERE, recorded, source_of
    from trimtab.engine.units import Destination, SyncUnit

    source = source_named(asked.source, path=asked.path, revision=asked.revision)
    name = asked.app or (name_for(source) if source else asked.source)
    known = await apps.find(name)
    if known is None:
        if source is None:
            raise Missing(f"app {name}", "there is no such app, nor a folder of this name", "Name a source")
        destination = Destination(cluster=HERE, namespace=asked.namespace or "default")
        return SyncUnit(id=name, source=recorded(source), destination=destination)
    if source is not None and not asked.app and known.source != recorded(source):
        # A name that only follows from a folder's is no consent to take another app's place.
        reason = f"this app comes from {source_of(known)}, not from {source}"
        raise Conflict(
            f"app {name}", reason, f"Name a new app with --app, or move this one with --app {name}"
        )
    if asked.namespace:
        known = replace(known, destination=replace(known.destination, namespace=asked.namespace))
    return known if source is None else replace(known, source=recorded(source))


def _policy_asked(unit: SyncUnit, asked: Asked) -> Policy:
    """How the app is to be treated from now on."""
    from msgspec.structs import replace

    from trimtab.app.sources import source_of
    from trimtab.engine.units import Automated

    policy = unit.policy
    if asked.self_heal and not asked.auto:
        raise InvalidSpec(f"app {unit.id}", "--self-heal is about automated apps", "Add --auto")
    if asked.auto is None:
        return policy
    if not asked.auto:
        return replace(policy, automated=None)
    if source_of(unit).folder and not unit.declared_in:
        reason = "a runner cannot follow a folder of your machine"
        raise InvalidSpec(f"app {unit.id}", reason, "Sync it from a Git address, or leave out --auto")
    options = ("CreateNamespace=true",) if asked.create_namespace else ()
    automated = Automated(prune=asked.prune, self_heal=asked.self_heal)
    return replace(policy, automated=automated, options=tuple(dict.fromkeys((*policy.options, *options))))


def operation_asked(asked: Asked) -> Operation:
    """What is asked of the app."""
    from trimtab.engine.operations import Operation

    options = ("CreateNamespace=true",) if asked.create_namespace else ()
    # A folder has no revisions, and a repository's is part of the source: the record remembers it.
    return Operation(prune=asked.prune, adopt=asked.adopt, options=options, asked_by="trimtab sync")
