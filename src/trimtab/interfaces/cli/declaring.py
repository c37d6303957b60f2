"""What `plan` and `sync` share: which app is meant, what is asked of it, and the options that say so."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import click

from trimtab.errors import Conflict, InvalidSpec, Missing
from trimtab.interfaces.cli.cautions import moved
from trimtab.interfaces.cli.completing import sources
from trimtab.interfaces.cli.names import NAME, NAMESPACE, not_empty
from trimtab.interfaces.cli.origins import name_for, nothing_called, source_named, unit_file

if TYPE_CHECKING:
    from trimtab.app import Apps
    from trimtab.app.appsources import AppSource, AppSources
    from trimtab.app.headstart import FolderAhead
    from trimtab.app.tuning import Tuning
    from trimtab.engine.operations import Operation
    from trimtab.engine.units import Policy, SyncUnit


class Asked(NamedTuple):
    """What the command line says of an app; what it leaves out stays as it is recorded."""

    source: str
    app: str
    path: str
    revision: str
    namespace: str
    chart: str = ""
    prune: bool = False
    create_namespace: bool = False
    adopt: bool = False
    move: bool = False
    auto: bool | None = None
    self_heal: bool = False
    options: tuple[str, ...] = ()
    reset_values: bool = False
    values_files: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    name_prefix: str | None = None
    name_suffix: str | None = None


_Option: TypeAlias = Callable[[Callable[..., None]], Callable[..., None]]
_VALUES_OPTIONS = (
    click.option(
        "--values",
        "values_files",
        metavar="FILE",
        multiple=True,
        help="Chart: a values file of the source, relative to the chart; `/` begins at the source's root.",
    ),
    click.option("--set", "values", metavar="KEY=VALUE", multiple=True, help="Chart: a value."),
    click.option(
        "--set-string", "texts", metavar="KEY=VALUE", multiple=True, help="Chart: a value that is a text."
    ),
    click.option(
        "--image",
        "images",
        metavar="NAME=NEW:TAG",
        multiple=True,
        help="Overlay: an image; or NAME:TAG.",
    ),
    click.option("--name-prefix", default=None, help="Overlay: how all names begin."),
    click.option("--name-suffix", default=None, help="Overlay: how all names end."),
    click.option("--reset-values", is_flag=True, help="Forget such values that were recorded before."),
)
_SOURCE_OPTIONS = (
    click.option(
        "--app", default="", callback=not_empty, help="The app's name; else the last part of SOURCE."
    ),
    click.option("--path", default="", help="This folder of the source."),
    click.option(
        "--chart", default="", callback=not_empty, help="SOURCE is a chart repository: this chart of it."
    ),
    click.option(
        "--revision",
        default="",
        callback=not_empty,
        help="A branch, tag, version, range of versions or commit.",
    ),
    click.option(
        "-n",
        "--namespace",
        "--dest-namespace",
        "namespace",
        type=NAMESPACE,
        default="",
        help="Where objects go that name no namespace, else `default`; beside an app's name, its own.",
    ),
    *_VALUES_OPTIONS,
)
_OPTIONS = (
    *_SOURCE_OPTIONS,
    click.option("--prune", is_flag=True, help="Delete what SOURCE no longer declares."),
    click.option("--create-namespace", is_flag=True, help="Make the namespace if it is not there."),
    click.option("--adopt", is_flag=True, help="Take over objects that somebody else manages."),
    click.option("--move", is_flag=True, help="Let an automated app come from SOURCE, if it did not so far."),
    click.option(
        "--auto/--no-auto",
        default=None,
        help="Have a runner sync every new commit, pruning with --prune; or no longer.",
    ),
    click.option("--self-heal", is_flag=True, help="With --auto: put back what is changed in the cluster."),
    click.option(
        "--option",
        "options",
        metavar="NAME=VALUE",
        multiple=True,
        help="A sync option, such as PruneLast=true; with --auto it is recorded.",
    ),
)


def app_options(verb: Callable[..., None]) -> Callable[..., None]:
    """Give a verb SOURCE and what may be said of the app; it takes them as one `asked`."""

    @functools.wraps(verb)
    def gathered(*arguments: Any, **given: Any) -> None:
        asked = Asked(**{field: given.pop(field) for field in Asked._fields})
        verb(*arguments, asked=asked, **given)

    return click.argument("source", type=NAME, shell_complete=sources)(_with(_OPTIONS, gathered))


def apps_options(verb: Callable[..., None]) -> Callable[..., None]:
    """Give a verb one SOURCE or several, and what may be said of the apps; it takes a tuple of `asked`."""

    @functools.wraps(verb)
    def gathered(*arguments: Any, named: tuple[str, ...], **given: Any) -> None:
        said = {field: given.pop(field) for field in Asked._fields if field != "source"}
        if said["app"] and len(named) > 1:
            raise click.UsageError("--app names one app, and there are several sources.")
        verb(*arguments, asked=tuple(Asked(source=each, **said) for each in named), **given)

    argument = click.argument(
        "named", metavar="SOURCE...", type=NAME, nargs=-1, required=True, shell_complete=sources
    )
    return argument(_with(_OPTIONS, gathered))


def source_options(verb: Callable[..., None]) -> Callable[..., None]:
    """Give a verb an optional SOURCE and which part of what it means; it takes them as one `asked`."""
    command = _with(_SOURCE_OPTIONS, _gathering(verb))
    return click.argument("source", type=NAME, required=False, shell_complete=sources)(command)


def values_options(verb: Callable[..., None]) -> Callable[..., None]:
    """Give a verb the values of charts and overlays; with its own options they are one `asked`."""
    return _with(_VALUES_OPTIONS, _gathering(verb))


def _gathering(verb: Callable[..., None]) -> Callable[..., None]:
    """The verb, told what is asked as one value."""

    @functools.wraps(verb)
    def gathered(*arguments: Any, **given: Any) -> None:
        named: dict[str, Any] = {field: given.pop(field) for field in Asked._fields if field in given}
        verb(*arguments, asked=Asked(**{**named, "source": named["source"] or ""}), **given)

    return gathered


def _with(options: Iterable[_Option], command: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(tuple(options)):
        command = option(command)
    return command


def unit_described(asked: Asked) -> SyncUnit | None:
    """The unit of the file that SOURCE names, with what is said anew; None if it names no such file."""
    from msgspec.structs import replace

    from trimtab.app.appsources import recorded, sources_of

    found = unit_file(asked.source, app=asked.app)
    if found is None:
        return None
    if asked.path or asked.chart:
        reason = "a unit file says itself what of its sources is meant"
        raise InvalidSpec(f"unit file {asked.source}", reason, "Leave out --path and --chart")
    sources = sources_of(found)
    sources = sources.with_main(_tuned(_said_of(sources.main, asked), asked))
    destination = replace(found.destination, namespace=asked.namespace or found.destination.namespace)
    return replace(found, source=recorded(sources), destination=destination)


def sources_asked(asked: Asked, known: AppSources | None = None) -> AppSources | None:
    """The sources that are meant; what is said of one is meant for the first that is rendered."""
    from trimtab.app.appsources import AppSources

    source = source_asked(asked, None if known is None else known.main)
    if source is None or known is None:
        return None if source is None else AppSources((source,))
    is_known = source_meant(asked) is None or _place(source) == _place(known.main)
    return known.with_main(source) if is_known else AppSources((source,))


def folder_ahead(asked: Asked) -> FolderAhead | None:
    """The folder that is about to be rendered, as far as the command line alone tells."""
    from trimtab.app.headstart import FolderAhead

    folder = Path(asked.source)
    if not asked.source or asked.chart or asked.revision or not folder.is_dir():
        return None
    return FolderAhead(str(folder.resolve()), asked.path.strip("/"))


def source_meant(asked: Asked) -> AppSource | None:
    """The place that SOURCE and its options mean; None for the name of an app."""
    return source_named(asked.source, path=asked.path, revision=asked.revision, chart=asked.chart)


def source_asked(asked: Asked, known: AppSource | None = None) -> AppSource | None:
    """The source that is meant, with what is said of its values; None for an app's name that is not known.

    What is recorded of an app stays in force where the same place is named again, or none.
    """
    source = _same_place(source_meant(asked), known, asked)
    return None if source is None else _tuned(source, asked)


def _tuned(source: AppSource, asked: Asked) -> AppSource:
    from msgspec.structs import replace

    from trimtab.app.tuning import tuned

    return replace(source, spec=tuned(source.spec, tuning_of(asked), f"source {source}"))


def tuning_of(asked: Asked) -> Tuning:
    """What is said of the values of charts and overlays."""
    from trimtab.app.tuning import Tuning

    return Tuning(
        reset=asked.reset_values,
        files=asked.values_files,
        values=asked.values,
        texts=asked.texts,
        images=asked.images,
        name_prefix=asked.name_prefix,
        name_suffix=asked.name_suffix,
    )


def _same_place(named: AppSource | None, known: AppSource | None, asked: Asked) -> AppSource | None:
    """The source that is named, with all that is recorded of it if it is the known one."""
    from msgspec.structs import replace

    if known is None:
        return named
    if named is None:
        return _said_of(known, asked)
    return replace(named, ref=known.ref, spec=known.spec) if _place(named) == _place(known) else named


def _said_of(known: AppSource, asked: Asked) -> AppSource:
    """A source that is known, with what is said anew of its revision and path."""
    from msgspec.structs import replace

    if asked.revision and known.folder:
        raise InvalidSpec(f"source {known}", "a folder has no revisions", "Leave out --revision")
    if asked.path and known.spec.chart:
        raise InvalidSpec(f"source {known}", "a chart has no path", "Leave out --path")
    spec = replace(known.spec, path=asked.path.strip("/")) if asked.path else known.spec
    return replace(known, target_revision=asked.revision or known.target_revision, spec=spec)


class Meant(NamedTuple):
    """The app that is meant: as it is recorded, with what the command line says anew."""

    unit: SyncUnit
    #: how it is recorded, if it comes from another place there, or goes to another
    was: SyncUnit | None = None


async def unit_asked(apps: Apps, asked: Asked) -> SyncUnit:
    """The app that is meant, for whoever only looks at it: where it comes from is no matter then."""
    return (await app_meant(apps, asked)).unit


async def app_meant(apps: Apps, asked: Asked) -> Meant:
    """The app that is meant, and whether it moves."""
    from msgspec.structs import replace

    unit, was = await _meant(apps, asked)
    return Meant(replace(unit, policy=_policy_asked(unit, asked)), was)


def check_move(meant: Meant, asked: Asked) -> None:
    """Refuse to move what a runner keeps, unless that is said: it would follow the other source for ever.

    What a file of a runner's declares is moved there: whoever reads the file next would move it back.
    """
    unit, was = meant
    if was is not None and was.declared_in and unit_described(asked) is None:
        remedy = "Change its file there, or choose another name with --app"
        raise Conflict(f"app {unit.id}", f"it is declared in {was.declared_in}", remedy)
    if was is None or was.policy.automated is None:
        return
    if not asked.move:
        reason = f"it is automated, and this would move it {moved(unit, was)}"
        raise Conflict(f"app {unit.id}", reason, "Add --move if it shall")
    if unit.policy.automated is not None:
        _check_followed(unit, "Move it to a repository, or add --no-auto")


async def _meant(apps: Apps, asked: Asked) -> Meant:
    from msgspec.structs import replace

    from trimtab.app.appsources import HERE, recorded, sources_of
    from trimtab.engine.sync.options import check_words
    from trimtab.engine.units import Destination, SyncUnit

    check_words(asked.options)
    described = unit_described(asked)
    if described is not None:
        recalled = await apps.find(described.id)
        if recalled is None:
            return Meant(replace(described, places=await apps.places_before(described.id)))
        return _as_described(described, recalled, asked)
    named = source_meant(asked)
    name = asked.app or (name_for(named) if named else "")
    known = await (apps.find(name) if name else apps.meant(asked.source))
    name = name or (known.id if known else asked.source)
    sources = sources_asked(asked, None if known is None else sources_of(known))
    if sources is None:
        raise Missing(f"app {name}", nothing_called(asked.source), "Name a source")
    if known is None:
        destination = Destination(cluster=HERE, namespace=asked.namespace or "default")
        places = await apps.places_before(name)
        return Meant(SyncUnit(id=name, source=recorded(sources), destination=destination, places=places))
    if named is None:
        apps.within(asked.namespace).check_within(known)
    moves = named is not None and _place(sources_of(known).main) != _place(sources.main)
    if moves:
        _check_name(known, sources, asked)
    unit = replace(known, source=recorded(sources))
    if asked.namespace:
        unit = replace(unit, destination=replace(known.destination, namespace=asked.namespace))
    return Meant(unit, known if moves else _elsewhere(unit, known))


def _as_described(described: SyncUnit, known: SyncUnit, asked: Asked) -> Meant:
    """The app of a unit file: as it is recorded, with all that the file says."""
    from msgspec.structs import replace

    from trimtab.app.appsources import sources_of

    before, after = sources_of(known), sources_of(described)
    moves = not {_place(each) for each in before.entries} & {_place(each) for each in after.entries}
    if moves:
        _check_name(known, after, asked)
    unit = replace(
        known,
        source=described.source,
        destination=described.destination,
        policy=described.policy,
        tenant=described.tenant,
        on_removal=described.on_removal,
    )
    return Meant(unit, known if moves else _elsewhere(unit, known))


def _elsewhere(unit: SyncUnit, known: SyncUnit) -> SyncUnit | None:
    """How an app is recorded whose objects go to another namespace from now on; None if they do not."""
    from msgspec.structs import replace

    stays = unit.destination.namespace == known.destination.namespace
    return None if stays else replace(known, source=unit.source)  # of one place, whatever its revision


def _check_name(known: SyncUnit, sources: AppSources, asked: Asked) -> None:
    """Refuse to take another app's place by a name that only follows from that of a folder or file."""
    from trimtab.app.appsources import sources_of

    if not asked.app:
        reason = f"this app comes from {sources_of(known)}, not from {sources}"
        words = f"--app {known.id} --move" if known.policy.automated else f"--app {known.id}"
        raise Conflict(f"app {known.id}", reason, f"Name a new app with --app, or move this one with {words}")


def _place(source: AppSource) -> tuple[str, ...]:
    """Where a source is, whatever its revision and its values: another branch of it is no other place."""
    return source.folder, source.repo_url, source.spec.path, source.spec.chart


def _policy_asked(unit: SyncUnit, asked: Asked) -> Policy:
    """How the app is to be treated from now on."""
    from msgspec.structs import replace

    from trimtab.engine.units import Automated

    policy = unit.policy
    if asked.self_heal and not asked.auto:
        raise InvalidSpec(f"app {unit.id}", "--self-heal is about automated apps", "Add --auto")
    if asked.auto is None:
        return policy
    if not asked.auto:
        return replace(policy, automated=None)
    _check_followed(unit, "Sync it from a repository, or leave out --auto")
    automated = Automated(prune=asked.prune, self_heal=asked.self_heal)
    options = tuple(dict.fromkeys((*_options_asked(asked), *policy.options)))
    return replace(policy, automated=automated, options=options)


def _check_followed(unit: SyncUnit, remedy: str) -> None:
    """Refuse to have a runner keep what it cannot see."""
    from trimtab.app.appsources import sources_of

    if sources_of(unit).is_local and not unit.declared_in:
        reason = "a runner cannot follow a folder of your machine"
        raise InvalidSpec(f"app {unit.id}", reason, remedy)


def _options_asked(asked: Asked) -> tuple[str, ...]:
    return (*(("CreateNamespace=true",) if asked.create_namespace else ()), *asked.options)


def operation_asked(asked: Asked) -> Operation:
    """What is asked of the app."""
    from trimtab.engine.operations import Operation
    from trimtab.engine.sync.options import check_words

    check_words(asked.options)
    options = _options_asked(asked)
    # A folder has no revisions, and a repository's is part of the source: the record remembers it.
    return Operation(prune=asked.prune, adopt=asked.adopt, options=options, asked_by="trimtab sync")
