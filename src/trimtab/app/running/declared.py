"""Units as people write them down: one YAML file each, in a folder or a repository. Pure.

    units/shop/web.yaml     the unit shop/web

A file names what is wanted and nothing else; `unitfiles` reads it. What cannot be read is told beside the
others and never taken for a file that went, so that a typing error withdraws nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias
from urllib.parse import unquote

from msgspec import Struct

from trimtab.app.shards import Shard
from trimtab.app.unitfiles import ENDINGS, Origin, unit_in
from trimtab.engine.units import OnRemoval, SyncUnit
from trimtab.errors import InvalidSpec, TrimtabError
from trimtab.sources.trees import EntryKind, Tree

#: how many files are read
MOST_FILES: Final = 20_000
#: so many units may go at once and have their objects deleted, even if no others are left
MOST_REMOVED: Final = 3
_EMPTIED: Final = (
    "no unit is declared any more; put the files back, or let it go with `trimtab delete --abandon`"
)


class Snapshot(Struct, frozen=True, kw_only=True):
    """All unit files of one moment: what they say, and what is wrong with those that say nothing."""

    revision: str
    units: Mapping[str, SyncUnit]
    problems: Mapping[str, TrimtabError]


def snapshot_of(tree: Tree, origin: Origin, revision: str) -> Snapshot:
    """What the unit files below the origin's path say; an error if there is no such folder."""
    units: dict[str, SyncUnit] = {}
    problems: dict[str, TrimtabError] = {}
    for path in _files(tree, origin.path.strip("/")):
        unit_id = _id_of(path, origin.path.strip("/"))
        try:
            if unit_id in units or unit_id in problems:
                units.pop(unit_id, None)
                raise InvalidSpec(f"unit {unit_id}", "two files describe it", f"Remove {path} or the other")
            units[unit_id] = unit_in(tree.read(path), unit_id, path, origin)
        except TrimtabError as error:
            problems[unit_id] = error
    return Snapshot(revision=revision, units=units, problems=problems)


def _files(tree: Tree, folder: str) -> Iterator[str]:
    """The unit files below a folder; whatever begins with a dot is being written or edited."""
    waiting, found = [folder], 0
    while waiting:
        place = waiting.pop()
        for entry in tree.entries(place):
            path = f"{place}/{entry.name}" if place else entry.name
            if entry.name.startswith("."):
                continue
            if entry.kind is EntryKind.FOLDER:
                waiting.append(path)
            elif entry.kind is EntryKind.FILE and entry.name.endswith(ENDINGS):
                found += 1
                if found > MOST_FILES:
                    reason = f"it holds more than {MOST_FILES} unit files"
                    raise InvalidSpec(f"folder {folder or '.'}", reason, "Divide it")
                yield path


def _id_of(path: str, folder: str) -> str:
    name = path.removeprefix(f"{folder}/") if folder else path
    for ending in ENDINGS:
        name = name.removesuffix(ending)
    return unquote(name)


class Record(Struct, frozen=True):
    """A unit is to be recorded."""

    unit: SyncUnit


class Amend(Struct, frozen=True):
    """A recorded unit is to be recorded otherwise."""

    unit: SyncUnit


class Withdraw(Struct, frozen=True):
    """A recorded unit is to be kept no longer."""

    id: str


class Remove(Struct, frozen=True):
    """A recorded unit's objects are to be deleted, and then it is to be kept no longer."""

    id: str


class Hold(Struct, frozen=True):
    """A recorded unit's objects would have to be deleted and are not, for this reason."""

    id: str
    reason: str


class Stay(Struct, frozen=True):
    """A recorded unit would have to be kept no longer and is, for this reason."""

    id: str
    reason: str


class Refuse(Struct, frozen=True):
    """A unit's file is not followed, for this reason."""

    id: str
    reason: str


Move: TypeAlias = Record | Amend | Withdraw | Remove | Hold | Stay | Refuse


def moves(snapshot: Snapshot, known: Iterable[SyncUnit], origin: Origin, shard: Shard) -> tuple[Move, ...]:
    """What has to be recorded of a shard's units so that the records say what the files say.

    An app that a command recorded is taken over by a file of its name; a unit of another origin is not. Only
    what this origin declared before is ever withdrawn, and never what has a file that cannot be read; nor
    everything at once, for with its records a unit loses its history. Objects are deleted only of units that
    said so while they had a file.
    """
    by_id = {unit.id: unit for unit in known if shard.has(unit.id)}
    found: list[Move] = [
        Refuse(unit_id, str(problem)) for unit_id, problem in snapshot.problems.items() if shard.has(unit_id)
    ]
    for unit_id, unit in snapshot.units.items():
        if shard.has(unit_id):
            found.extend(_move(unit, by_id.get(unit_id), origin))
    declared = [unit for unit in by_id.values() if unit.declared_in == str(origin)]
    gone = [unit for unit in declared if unit.id not in {*snapshot.units, *snapshot.problems}]
    doubt = _doubt(snapshot, declared, gone)
    is_emptied = not snapshot.units and not snapshot.problems and len(gone) > MOST_REMOVED
    found.extend(_farewell(unit, doubt, is_emptied=is_emptied) for unit in gone)
    return tuple(found)


def _farewell(unit: SyncUnit, doubt: str, *, is_emptied: bool) -> Move:
    if unit.on_removal is OnRemoval.KEEP:
        return Stay(unit.id, _EMPTIED) if is_emptied else Withdraw(unit.id)
    return Hold(unit.id, doubt) if doubt else Remove(unit.id)


def _doubt(snapshot: Snapshot, declared: Sequence[SyncUnit], gone: Sequence[SyncUnit]) -> str:
    """Why objects should not be deleted on the word of these files; empty if they may be."""
    if not snapshot.units:
        return "no unit is declared any more, and an empty folder deletes nothing"
    if snapshot.problems:
        return f"not every file can be read ({', '.join(sorted(snapshot.problems)[:3])})"
    if len(gone) > MOST_REMOVED and len(gone) * 2 > len(declared):
        return f"{len(gone)} of {len(declared)} units went at once, which is more than half"
    return ""


def _move(unit: SyncUnit, known: SyncUnit | None, origin: Origin) -> Iterator[Move]:
    if known is None:
        yield Record(unit)
    elif known.declared_in not in {"", str(origin)}:
        yield Refuse(unit.id, f"a unit of this id is declared in {known.declared_in}")
    elif declared_part(known) != declared_part(unit):
        yield Amend(unit)


def declared_part(unit: SyncUnit) -> tuple[object, ...]:
    """What a file says of a unit."""
    return unit.source, unit.destination, unit.policy, unit.tenant, unit.on_removal, unit.declared_in
