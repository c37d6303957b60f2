"""What a change of a source changes: the plan of one revision on another, as if that one were live. Pure.

Nothing of a cluster is looked at, so what drifted there makes no noise, and a pull request can be judged
where no cluster can be reached. Objects count as changed when what is wanted of them is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from msgspec.structs import replace

from trimtab.engine.compare.matching import Role, Terms, Wanted, desired_from
from trimtab.engine.compare.tracking import OwnerAnnotation
from trimtab.engine.live import Change, Live
from trimtab.engine.marks import Mark
from trimtab.engine.operations import Operation
from trimtab.engine.rows import Desired, Difference, Row, Verdict
from trimtab.engine.sync.hooks import role_of
from trimtab.engine.sync.plan import SyncRequest, plan_sync
from trimtab.engine.sync.steps import Apply, Step, SyncPlan
from trimtab.engine.units import Generated, SyncUnit
from trimtab.kube.discovery import Discovery, Resource
from trimtab.resources import manifests
from trimtab.resources.keys import ResourceKey
from trimtab.resources.manifests import Manifest
from trimtab.resources.secrets import StandIns

_TRACKING: Final = OwnerAnnotation("a-proposal")
#: a plan is the same whenever it is made
_ONCE: Final = datetime(2000, 1, 1, tzinfo=UTC)
#: changes of one object that are told, and characters of a value that are
_MOST_SHOWN: Final = 4
_SHORT: Final = 80
ScopeOf = Callable[[str, str], bool | None]


def proposal(
    unit: SyncUnit,
    base: Generated,
    head: Generated,
    *,
    operation: Operation,
    scope_of: ScopeOf,
    stand_ins: StandIns,
) -> SyncPlan:
    """What syncing the head would do to a cluster that is as the base wants it."""
    terms = Terms(
        unit=unit.id,
        tracking=_TRACKING,
        namespace=unit.destination.namespace,
        scope_of=scope_of,
        role_of=lambda manifest: Role(role_of(manifests.annotations(manifest)).value),
    )
    before, after = desired_from(base.manifests, terms), desired_from(head.manifests, terms)
    rows = tuple(_rows(before, after, stand_ins))
    plan = plan_sync(
        SyncRequest(
            unit=unit.id,
            operation=operation,
            revision=head.revision,
            started_at=_ONCE,
            rows=rows,
            hooks=_changed(before.hooks, after.hooks),
            discovery=_discovery((*before.desired, *after.desired, *before.hooks, *after.hooks)),
            stand_ins=stand_ins,
            complete=before.complete and after.complete,
            mark=_TRACKING.mark_for(unit.id),
        ),
        _AsBase(before, _TRACKING.mark_for(unit.id)),
    )
    told = {row.key: change_words(row) for row in rows if row.differences}
    return replace(plan, steps=tuple(_told(step, told) for step in plan.steps))


def _told(step: Step, words: Mapping[ResourceKey, str]) -> Step:
    """The step with what changes about its object, where that is known."""
    return replace(step, why=words[step.key]) if isinstance(step, Apply) and step.key in words else step


def change_words(row: Row) -> str:
    """What changes about an object: where, and from what to what if that is short and no secret."""
    shown = [_change(each, is_secret=row.key.kind == "Secret") for each in row.differences[:_MOST_SHOWN]]
    more = len(row.differences) - _MOST_SHOWN
    return "; ".join([*shown, f"and {more} more"] if more > 0 else shown)


def _change(found: Difference, *, is_secret: bool) -> str:
    old, new = _short(found.live), _short(found.desired)
    if is_secret or old is None or new is None:
        return f"{found.path} differs"
    return f"{found.path}: {old} -> {new}"


def _short(value: Any) -> str | None:
    """A value in a few characters; None for what does not fit."""
    if value is None:
        return "nothing"
    if not isinstance(value, str | int | float):
        return None
    text = str(value)
    return text if len(text) <= _SHORT and text.isprintable() else None


def _changed(before: Iterable[Desired], after: Iterable[Desired]) -> tuple[Desired, ...]:
    """The hooks that are new or other ones: that the rest runs in every sync is not the proposal's doing."""
    known = {(each.key, each.digest) for each in before}
    return tuple(each for each in after if (each.key, each.digest) not in known)


def _rows(before: Wanted, after: Wanted, stand_ins: StandIns) -> Iterator[Row]:
    old = {each.key: each for each in before.desired}
    mark = _TRACKING.mark_for(after.unit)
    for desired in after.desired:
        known = old.pop(desired.key, None)
        yield _row(desired, known, mark, stand_ins)
    for key, known in old.items():
        gone = Row(key=key, desired=None, live=_live(known, mark), verdict=Verdict.OUT_OF_SYNC)
        if key in after.refused:
            yield replace(gone, verdict=Verdict.UNKNOWN, problem=str(after.refused[key]))
        elif key not in after.left:
            yield gone


def _row(desired: Desired, known: Desired | None, mark: Mark, stand_ins: StandIns) -> Row:
    if known is None:
        return Row(key=desired.key, desired=desired, live=None, verdict=Verdict.OUT_OF_SYNC)
    is_same = known.digest == desired.digest
    return Row(
        key=desired.key,
        desired=desired,
        live=_live(known, mark),
        verdict=Verdict.SYNCED if is_same else Verdict.OUT_OF_SYNC,
        differences=() if is_same else tuple(_differences(known, desired, stand_ins)),
    )


def _live(known: Desired, mark: Mark) -> Live:
    return Live(
        key=known.key,
        api_version=known.api_version,
        uid="base",
        resource_version="1",
        mark=mark,
        digest=known.digest,
    )


def _differences(known: Desired, desired: Desired, stand_ins: StandIns) -> Iterator[Difference]:
    before, after = (stand_ins.masked(dict(each.manifest)) for each in (known, desired))
    for path, old, new in walked(before, after):
        yield Difference(path=path, desired=new, live=old, manager="", rule="proposed")


def walked(before: Any, after: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Where two values differ, as JSON pointers; items of lists with names are known by these."""
    if before == after:
        return
    old, new = _parts(before), _parts(after)
    if old is None or new is None:
        yield path, before, after
        return
    for part in dict.fromkeys((*old, *new)):
        step = part.replace("~", "~0").replace("/", "~1")
        yield from walked(old.get(part), new.get(part), f"{path}/{step}")


def _parts(value: Any) -> Mapping[str, Any] | None:
    """The parts of a map or a list by their names; None for what has none."""
    if isinstance(value, Mapping):
        return value
    if not isinstance(value, list) or not value:
        return None
    names = [each.get("name") if isinstance(each, Mapping) else None for each in value]
    if all(isinstance(name, str) for name in names) and len(set(names)) == len(names):
        return {str(name): each for name, each in zip(names, value, strict=True)}
    return {str(number): each for number, each in enumerate(value)}


def _discovery(desired: Iterable[Desired]) -> Discovery:
    """A server that serves whatever is wanted: whether a real one does is not the question here."""
    served = {(each.api_version, each.key.group, each.key.kind) for each in desired}
    resources = (
        Resource(
            group=group,
            version=api_version.rpartition("/")[2],
            kind=kind,
            plural=kind.lower(),
            namespaced=True,
        )
        for api_version, group, kind in sorted(served)
    )
    return Discovery(resources=tuple(resources))


class _AsBase:
    """A cluster that is exactly as the base wants it."""

    def __init__(self, base: Wanted, mark: Mark) -> None:
        self._desired = {each.key: each for each in base.desired}
        self._mark = mark

    def get(self, key: ResourceKey) -> Live | None:
        """The object, as the base wants it."""
        found = self._desired.get(key)
        return None if found is None else _live(found, self._mark)

    def manifest(self, key: ResourceKey) -> Manifest | None:
        """The whole object."""
        found = self._desired.get(key)
        return None if found is None else found.manifest

    def managed(self, mark: Mark) -> tuple[Live, ...]:
        """Everything."""
        return tuple(_live(each, mark) for each in self._desired.values())

    def knows(self, group: str, kind: str, namespace: str) -> bool:
        """All is known: there is nothing else."""
        del group, kind, namespace
        return True

    def subscribe(self, told: Callable[[Change], None]) -> Callable[[], None]:
        """Nothing ever changes."""
        del told
        return lambda: None
