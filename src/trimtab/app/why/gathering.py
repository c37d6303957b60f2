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
from trimtab.app.sources import source_of
from trimtab.app.why.asking import resource_meant, split
from trimtab.app.why.chain import Answer, answer_from
from trimtab.app.why.facts import Facts
from trimtab.app.why.families import Family, read_family
from trimtab.app.why.reaching import keeps_from_looking
from trimtab.engine import Preview
from trimtab.engine.compare.tracking import OwnerAnnotation
from trimtab.engine.control.statuses import status_after
from trimtab.engine.health import HealthStatus
from trimtab.engine.marks import Mark
from trimtab.engine.operations import Operation, StepPhase
from trimtab.engine.rows import Verdict
from trimtab.engine.units import SyncUnit, UnitStatus
from trimtab.errors import Missing, TrimtabError
from trimtab.kube.discovery import Discovery
from trimtab.kube.failures import NotFound
from trimtab.kube.objects import KubeObject, OwnerReference
from trimtab.kube.times import BadTime, parse_time
from trimtab.resources.keys import ResourceKey
from trimtab.tasks.clock import Clock

_OPERATION: Final = Operation(prune=True, asked_by="trimtab why")
_HIGHEST: Final = 10


async def explain(
    opening: AbstractAsyncContextManager[Apps], text: str, *, namespace: str, clock: Clock
) -> Answer:
    """Why an app, or an object as KIND/NAME in a namespace, is as it is."""
    try:
        async with opening as apps:
            return answer_from(await _gathered(apps, text, namespace, clock))
    except TrimtabError as error:
        if not keeps_from_looking(error):
            raise
        return answer_from(Facts(about=text, now=clock.now(), trouble=error))


async def _gathered(apps: Apps, text: str, namespace: str, clock: Clock) -> Facts:
    unit = await apps.find(text)
    if unit is not None:
        return await _of_app(apps, unit, clock)
    if "/" in text:
        return await _of_object(apps, text, namespace, clock)
    remedy = "List them with: trimtab status; or name an object, such as deploy/web"
    raise Missing(f"app {text}", "there is no such app", remedy)


# -- apps ------------------------------------------------------------------------------------------------


async def _of_app(apps: Apps, unit: SyncUnit, clock: Clock) -> Facts:
    facts = await _looked(apps, unit, clock)
    roots = dict.fromkeys(_troubled(facts))
    return _with_family(facts, await read_family(apps.cluster, tuple(roots)))


async def _looked(apps: Apps, unit: SyncUnit, clock: Clock) -> Facts:
    """The app as it compares now, and who works on it."""
    facts = Facts(
        about=f"app {unit.id}",
        now=clock.now(),
        unit=unit,
        source=str(source_of(unit)),
        holder=await _holder(apps, unit.id, clock.now()),
    )
    # Whoever looks must not set off what the app's policy would do by itself.
    calm = replace(unit, policy=replace(unit.policy, automated=None))
    try:
        async with apps.work_on(calm) as work:
            preview = await work.engine.preview(unit.id, _OPERATION)
    except TrimtabError as error:
        return replace(facts, trouble=error, standing=_stood(unit.status), is_synced=False)
    return _compared(facts, unit, preview)


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
    return replace(
        facts,
        unit=replace(unit, status=status),
        standing=f"is {status.verdict.value} and {status.health.status.value} at {status.revision}",
        is_synced=status.verdict is Verdict.SYNCED,
        health=status.health,
        rows=preview.rows,
        findings=preview.findings,
        plan=plan,
    )


async def _holder(apps: Apps, name: str, now: datetime) -> str:
    """Who works on an app; a lease that ran out is held by nobody."""
    holding = await apps.lease_of(name).holding()
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


def _with_family(facts: Facts, family: Family) -> Facts:
    return replace(facts, family=family.seen, events=family.events, unread=family.unread)


# -- objects ---------------------------------------------------------------------------------------------


class _Place(Struct, frozen=True, kw_only=True):
    """An object, and the root it hangs below."""

    found: KubeObject
    root: KubeObject


async def _of_object(apps: Apps, text: str, namespace: str, clock: Clock) -> Facts:
    place = await _place(apps, text, namespace)
    mark = _mark(apps, place.root)
    unit = await _owner(apps, mark)
    root, asked = place.root.key, place.found.key
    family = await read_family(apps.cluster, (root,))
    if unit is None:
        facts = Facts(about=str(asked), now=clock.now(), asked=asked, owner=str(mark) if mark else "")
        return _with_family(facts, family)
    looked = await _looked(apps, unit, clock)
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
    space = namespace if resource.namespaced else ""
    found = root = await apps.cluster.get(resource, name, namespace=space)
    for _ in range(_HIGHEST):
        above = await _above(apps, discovery, root)
        if above is None:
            break
        root = above
    return _Place(found=found, root=root)


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
