"""What `plan` and `sync` share: which app is meant, what is asked of it, and the options that say so."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from trimtab.errors import Conflict, Missing
from trimtab.interfaces.cli.completing import sources
from trimtab.interfaces.cli.origins import name_for, source_named

if TYPE_CHECKING:
    from trimtab.app import Apps
    from trimtab.engine.operations import Operation
    from trimtab.engine.units import SyncUnit


class Asked(NamedTuple):
    """What the command line says of an app; what it leaves out stays as it is recorded."""

    source: str
    app: str
    path: str
    revision: str
    namespace: str
    prune: bool
    create_namespace: bool
    adopt: bool


_SOURCE_OPTIONS = (
    click.option("--app", default="", help="The app's name; else the last part of SOURCE."),
    click.option("--path", default="", help="This folder of the source."),
    click.option("--revision", default="", help="A branch, tag, range of versions or commit."),
    click.option(
        "-n",
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
        named = {field: given.pop(field) or "" for field in Asked._fields if field in given}
        verb(*arguments, asked=Asked(**named, prune=False, create_namespace=False, adopt=False), **given)

    command: Callable[..., None] = gathered
    for option in reversed(_SOURCE_OPTIONS):
        command = option(command)
    return click.argument("source", required=False, shell_complete=sources)(command)


async def unit_asked(apps: Apps, asked: Asked) -> SyncUnit:
    """The app that is meant: as it is recorded, with what the command line says anew."""
    from msgspec.structs import replace

    from trimtab.app.apps import HERE
    from trimtab.app.sources import recorded, source_of
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


def operation_asked(asked: Asked) -> Operation:
    """What is asked of the app."""
    from trimtab.engine.operations import Operation

    options = ("CreateNamespace=true",) if asked.create_namespace else ()
    # A folder has no revisions, and a repository's is part of the source: the record remembers it.
    return Operation(prune=asked.prune, adopt=asked.adopt, options=options, asked_by="trimtab sync")
