"""Gathers the facts for an answer: the record, a fresh look, the family of what is not well, its Events.

Only reads. What cannot be read is a fact as well, so a cluster that is gone or a missing right is an answer
and no failure; what cannot even be asked (no such app, a kind nobody serves) is an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from trimtab.app.apps import Apps
from trimtab.app.appsources import sources_of
from trimtab.app.shards import is_kept
from trimtab.app.why.asking import not_there, resource_meant, split
from trimtab.app.why.chain import Answer, answer_from
from trimtab.app.why.facts import Facts
from trimtab.app.why.families import Family, read_family
from trimtab.app.why.reaching import keeps_from_looking
from trimtab.engine import Preview
from trimtab.engine.cache.trees import Branch
from trimtab.engine.compare.tracking import OwnerAnnotation
from trimtab.engine.control.policy import entry_of
from trimtab.engine.control.statuses import status_after
from trimtab.engine.health import HealthStatus
from trimtab.engine.marks import Mark
from trimtab.engine.operations import Operation, StepPhase, Strategy
from trimtab.engine.rows import Verdict
from trimtab.engine.units import SyncUnit, UnitStatus
from trimtab.errors import Missing, TrimtabError
from trimtab.kube import Lease
from trimtab.kube.cluster import Selection
from trimtab.kube.discovery import Discovery, Resource
from trimtab.kube.failures import Forbidden, NotFound
from trimtab.kube.objects import KubeObject, OwnerReference
from trimtab.kube.times import BadTime, parse_time
from trimtab.resources.keys import ResourceKey
from trimtab.tasks.clock import Clock

_HIGHEST: Final = 10


async def explain(
    opening: AbstractAsyncContextManager[Apps], text: str, *, namespace: str, clock: Clock
) -> Answer:
    """Why an app, or an object as KIND/NAME in a namespace, is as it is."""
    try:
        async with opening as apps:
            return answer_from(await _gathered(apps.only_looking(), text, namespace, clock))
    except TrimtabError as error:
        if not keeps_from_looking(error):
            raise
        return answer_from(Facts(about=text, now=clock.now(), trouble=error))


async def _gathered(apps: Apps, text: str, namespace: str, clock: Clock) -> Facts:
    unit = await apps.meant(text)
    if unit is not None:
        return await _of_app(apps, unit, clock)
    if "/" in text:
        return await _of_object(apps, text, namespace, clock)
    remedy = "List them with: trimtab status; or name an object, such as deploy/web"
    raise Missing(f"app {text}", "there is no such app", remedy)


# -- apps ------------------------------------------------------------------------------------------------


class _Look(Struct, frozen=True, kw_only=True):
    """One look at an app: the facts of it, and what hangs below its objects."""

    facts: Facts
    tree: tuple[Branch, ...] = ()


async def _of_app(apps: Apps, unit: SyncUnit, clock: Clock) -> Facts:
    look = await _looked(apps, unit, clock, families=True)
    roots = dict.fromkeys((*_troubled(look.facts), *_troubled_below(look.tree)))
    family = await read_family(apps.cluster, tuple(roots), also=_kinds_in(look.tree))
    return _with_family(look.facts, family)


async def _looked(apps: Apps, unit: SyncUnit, clock: Clock, *, families: bool = False) -> _Look:
    """The app as it compares now, and who works on it; with `families`, all that its objects own."""
    facts = Facts(
        about=f"app {unit.id}",
        now=clock.now(),
        unit=unit,
        source=str(sources_of(unit)),
        holder=await _holder(apps, unit, clock.now()),
    )
    # Whoever looks must not set off what the app's policy would do by itself.
    calm = replace(unit, policy=replace(unit.policy, automated=None))
    try:
        async with apps.work_on(
            calm,
            renders=not facts.is_going,
            narrowly=True,
            families=families,
            only_looks=True,
            stands_in=False,  # that the source is away is an answer
        ) as work:
            preview = await work.engine.preview(unit.id, _operation(facts, unit))
            tree = work.engine.tree(unit.id, preview.rows)
    except TrimtabError as error:
        return _Look(facts=replace(facts, trouble=error, standing=_stood(unit.status), is_synced=False))
    return _Look(facts=_compared(facts, unit, preview), tree=tree)


def _operation(facts: Facts, unit: SyncUnit) -> Operation:
    """What the app is compared with: nothing where it is to go, what it is pinned to, or its source."""
    if facts.is_going:
        return Operation(delete=True, prune=True, strategy=Strategy.APPLY)
    if unit.pinned is None:
        return Operation(prune=True)
    entry = entry_of(unit, unit.pinned.entry)
    return Operation(entry=entry.id, revision=entry.revision, source=entry.source, prune=True)


def _stood(status: UnitStatus) -> str:
    verdict, health = status.verdict.value, status.health.status.value
    return f"cannot be looked at now; it was {verdict} and {health} at {status.revision or 'no revision'}"


def _compared(facts: Facts, unit: SyncUnit, preview: Preview) -> Facts:
    plan = preview.plan
    status = status_after(
        unit.status,
        preview.rows,
        preview.findings,
        revision=plan.revision,
        rendered=preview.rendered,
        declared=unit.status.declared,
        now=facts.now,
    )
    at = f" at {status.revision}" if status.revision else ""  # a deletion has none
    return replace(
        facts,
        unit=replace(unit, status=status),
        standing=f"is {status.verdict.value} and {status.health.status.value}{at}",
        is_synced=status.verdict is Verdict.SYNCED,
        health=status.health,
        rows=preview.rows,
        findings=preview.findings,
        plan=plan,
    )


async def _holder(apps: Apps, unit: SyncUnit, now: datetime) -> str:
    """Who works on an app: somebody at a command line, or else the runner that keeps it."""
    worker = await _held_by(apps.lease_of(unit.id), now)
    if worker or not is_kept(unit):
        return worker
    try:
        keeper = await apps.keeper_of(unit.id)
    except Forbidden:
        return ""  # whoever may not list leases is answered all the same
    return await _held_by(keeper, now) if keeper is not None else ""


async def _held_by(lease: Lease, now: datetime) -> str:
    """Who holds a lease; one that ran out is held by nobody."""
    holding = await lease.holding()
    if holding is None or not holding.holder:
        return ""
    try:
        until = parse_time(holding.renewed) + timedelta(seconds=holding.seconds)
    except BadTime:
        return holding.holder
    return holding.holder if until > now else ""


def _troubled(facts: Facts) -> Iterator[ResourceKey]:
    """The roots that are worth looking into."""
    state = facts.state
    for row in facts.rows:
        live = row.live
        is_well = live is not None and (live.health is None or live.health.status is HealthStatus.HEALTHY)
        if live is not None and (not is_well or live.deleting):
            yield row.key
    if facts.trouble is not None and facts.unit is not None:
        # As it cannot be compared, what was recorded last says where to look.
        for each in facts.unit.status.resources:
            if each.health is not None and each.health.status is not HealthStatus.HEALTHY:
                yield each.key
    for result in state.results if state is not None else ():
        if result.phase is StepPhase.RUNNING or result.phase.bad:
            yield result.key
    if facts.unit is not None and (not facts.is_synced or facts.has_failed or facts.is_unfinished):
        yield ResourceKey("", "Namespace", "", facts.unit.destination.namespace)


def _troubled_below(tree: tuple[Branch, ...]) -> Iterator[ResourceKey]:
    """Roots of kinds that say nothing of their health, with something below them that is not well."""
    roots: dict[ResourceKey, ResourceKey] = {}
    mute: set[ResourceKey] = set()
    for branch in tree:
        key, health = branch.live.key, branch.live.health
        root = roots[key] = key if branch.parent is None else roots.get(branch.parent, key)
        if branch.parent is None and health is None:
            mute.add(key)
        elif root in mute and health is not None and health.status is not HealthStatus.HEALTHY:
            yield root


def _kinds_in(tree: tuple[Branch, ...]) -> frozenset[tuple[str, str]]:
    """What is between roots and pods: custom kinds, too."""
    return frozenset((branch.live.key.group, branch.live.key.kind) for branch in tree if branch.parent)


def _with_family(facts: Facts, family: Family) -> Facts:
    return replace(facts, family=family.seen, events=family.events, unread=family.unread)


# -- objects ---------------------------------------------------------------------------------------------


class _Place(Struct, frozen=True, kw_only=True):
    """An object, and the root it hangs below."""

    found: KubeObject
    root: KubeObject
    #: those of the objects between them, and of the object itself
    kinds: frozenset[tuple[str, str]]


async def _of_object(apps: Apps, text: str, namespace: str, clock: Clock) -> Facts:
    place = await _place(apps, text, namespace)
    mark = _mark(apps, place.root)
    unit = await _owner(apps, mark)
    root, asked = place.root.key, place.found.key
    family = await read_family(apps.cluster, (root,), also=place.kinds)
    if unit is None:
        facts = Facts(about=str(asked), now=clock.now(), asked=asked, owner=str(mark) if mark else "")
        return _with_family(facts, family)
    looked = (await _looked(apps, unit, clock)).facts
    rows = tuple(row for row in looked.rows if row.key == root)
    own = replace(
        looked,
        about=str(asked),
        asked=asked,
        owner=f"app {unit.id}",
        rows=rows,
        findings=tuple(each for each in looked.findings if each.key == root),
        plan=None,
    )
    return _with_family(own, family)


async def _place(apps: Apps, text: str, namespace: str) -> _Place:
    kind, name = split(text)
    discovery = await apps.cluster.discover()
    resource = resource_meant(discovery, kind)
    try:
        space = namespace if resource.namespaced else ""
        found = root = await apps.cluster.get(resource, name, namespace=space)
    except NotFound as error:
        elsewhere = await _namespaces_with(apps, resource, name) if resource.namespaced else None
        if elsewhere is None:
            raise
        raise not_there(text, namespace, elsewhere) from error
    kinds = {(found.key.group, found.key.kind)}
    for _ in range(_HIGHEST):
        above = await _above(apps, discovery, root)
        if above is None:
            break
        root = above
        kinds.add((root.key.group, root.key.kind))
    return _Place(found=found, root=root, kinds=frozenset(kinds))


async def _namespaces_with(apps: Apps, resource: Resource, name: str) -> list[str] | None:
    """Where there is an object of this kind and name; None if we may not know."""
    wanted, found = Selection(fields=f"metadata.name={name}"), []
    try:
        async for page in apps.cluster.list(resource, select=wanted):
            found += [each.metadata.namespace or "" for each in page.objects]
    except TrimtabError:
        return None
    return sorted(found)


async def _above(apps: Apps, discovery: Discovery, found: KubeObject) -> KubeObject | None:
    """The owner of an object, if it is still there."""
    owner = _first_owner(found.metadata.owner_references or ())
    resource = discovery.resource(owner.api_version, owner.kind) if owner is not None else None
    if owner is None or resource is None:
        return None
    space = found.metadata.namespace if resource.namespaced else ""
    try:
        above = await apps.cluster.get(resource, owner.name, namespace=space)
    except NotFound:
        return None
    return above if above.metadata.uid == owner.uid else None


def _first_owner(owners: tuple[OwnerReference, ...]) -> OwnerReference | None:
    return next((each for each in owners if each.controller), next(iter(owners), None))


def _mark(apps: Apps, root: KubeObject) -> Mark | None:
    metadata, tracking = root.metadata, OwnerAnnotation(apps.installation.id)
    return tracking.mark_of(root.key, metadata.labels or {}, metadata.annotations or {})


async def _owner(apps: Apps, mark: Mark | None) -> SyncUnit | None:
    """The app that a mark names, if it is one of this installation's."""
    prefix = f"{apps.installation.id}/"
    if mark is None or mark.system != "trimtab" or not mark.owner.startswith(prefix):
        return None
    return await apps.find(mark.owner.removeprefix(prefix))
