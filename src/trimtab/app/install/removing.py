"""Takes an installation out of a cluster again: first what would be done, then exactly that.

What was made last goes first: the runner, and when its pods have ended, what they lived by: until then they
let go of what they hold, which takes rights. The records of apps stay, and the namespace that holds them,
unless somebody says otherwise; the objects of apps stay in any case.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from datetime import timedelta
from typing import Final

from msgspec import Struct

from trimtab.app.install.installing import Act, Item, carry_out, found_item, labelled
from trimtab.app.install.manifests import INSTALL_LABEL, Install
from trimtab.app.installation import NAME, NAMESPACES
from trimtab.engine.stores.records import SECRETS
from trimtab.errors import Unavailable
from trimtab.kube import Cluster, follow
from trimtab.kube.cluster import Selection
from trimtab.kube.discovery import Resource
from trimtab.kube.failures import Forbidden, NotFound
from trimtab.kube.leases import LEASES
from trimtab.kube.objects import KubeObject
from trimtab.kube.picture import Complete, Removed, Upserted
from trimtab.resources.counting import counted
from trimtab.resources.labels import RECORD_LABEL
from trimtab.tasks import Clock, DeadlinePassed, SystemClock, time_limit

_PODS: Final = Resource(group="", version="v1", kind="Pod", plural="pods", namespaced=True)
_RECORDS: Final = Selection(labels=RECORD_LABEL)
#: how the names of leases begin
_OURS: Final = "trimtab-"


#: how many of those that are still there are named
_MOST_NAMED: Final = 3


class StillEnding(Unavailable):
    """What was told to end has not ended in time."""


class Removal(Struct, frozen=True, kw_only=True):
    """What taking an installation out would do."""

    namespace: str
    items: tuple[Item, ...]
    #: how many apps are recorded there: they are known no longer if their records go
    apps: int


async def plan_removal(cluster: Cluster, namespace: str, *, records: bool) -> Removal:
    """What removing the installation of a namespace would do, its `records` too; nothing is written."""
    install = Install(namespace=namespace)
    made = [each async for each in labelled(cluster, await cluster.discover(), install)]
    kept = [each async for each in _records(cluster, namespace)]
    apps = sum(_is_head(each) for _, each in kept)
    act = Act.DELETE if records else Act.KEEP
    items = [
        *reversed(made),
        *(found_item(act, resource, each) for resource, each in kept),
        *await _namespace(cluster, install, act),
    ]
    return Removal(namespace=namespace, items=tuple(items), apps=apps)


async def take_out(
    cluster: Cluster,
    removal: Removal,
    *,
    tell: Callable[[Item], None],
    waits: Callable[[str], None],
    seconds: float,
    clock: Clock | None = None,
) -> None:
    """Do what was planned, and wait for what takes its time to end: what that is, is told to `waits`."""
    said = "the server has not said what is left"

    def hear(words: str) -> None:
        nonlocal said
        said = words
        waits(words)

    limit, where = timedelta(seconds=seconds), f"the installation in {removal.namespace}"
    try:
        async with time_limit(limit, clock=clock or SystemClock(), subject=where):
            await _taken_out(cluster, removal, tell, hear)
    except DeadlinePassed as error:
        remedy = "Run it again to go on; with --no-wait it goes without waiting"
        raise StillEnding(where, f"after {seconds:g} s {said}", remedy) from error


async def _taken_out(
    cluster: Cluster, removal: Removal, tell: Callable[[Item], None], waits: Callable[[str], None]
) -> None:
    """The runner, until its pods have ended; then the rest, until its namespace is gone if it is to go."""
    runner = tuple(each for each in removal.items if each.key.kind == "Deployment")
    await carry_out(cluster, runner, tell)
    ours = Selection(labels=f"{INSTALL_LABEL}={removal.namespace}")
    try:
        await _until_none(cluster, _PODS, removal.namespace, ours, waits)
    except Forbidden as error:
        waits(f"whether its pods have ended cannot be seen: {error}")
    await carry_out(cluster, tuple(each for each in removal.items if each not in runner), tell)
    if any(each.resource == NAMESPACES and each.act is Act.DELETE for each in removal.items):
        named = Selection(fields=f"metadata.name={removal.namespace}")
        await _until_none(cluster, NAMESPACES, "", named, waits)


async def _until_none(
    cluster: Cluster, resource: Resource, namespace: str, select: Selection, waits: Callable[[str], None]
) -> None:
    """Return when there are none of these; those that are left are told whenever they change."""
    left, said = dict[str, None](), ""
    is_told = False
    async with aclosing(follow(cluster, resource, namespace=namespace, select=select)) as told:
        async for news in told:
            match news:
                case Upserted(object=found):
                    left[found.metadata.name] = None
                case Removed(name=name):
                    left.pop(name, None)
                case Complete():
                    is_told = True
            if is_told and not left:
                return
            if is_told and said != (said := _left_words(resource, tuple(left))):
                waits(said)


def _left_words(resource: Resource, left: tuple[str, ...]) -> str:
    named = ", ".join(left[:_MOST_NAMED])
    more = f" and {len(left) - _MOST_NAMED} more" if len(left) > _MOST_NAMED else ""
    kind = resource.kind.lower()
    return f"{counted(len(left), f'{kind} has', f'{kind}s have')} yet to end: {named}{more}"


async def _records(cluster: Cluster, namespace: str) -> AsyncIterator[tuple[Resource, KubeObject]]:
    """What is recorded of apps and of the installation itself, which is what makes records readable: last."""
    async for page in cluster.list(LEASES, namespace=namespace):
        for each in page.objects:
            if each.metadata.name.startswith(_OURS):
                yield LEASES, each
    async for page in cluster.list(SECRETS, namespace=namespace, select=_RECORDS):
        for each in page.objects:
            yield SECRETS, each
    try:
        yield SECRETS, await cluster.get(SECRETS, NAME, namespace=namespace)
    except NotFound:
        return


def _is_head(found: KubeObject) -> bool:
    return (found.metadata.labels or {}).get(RECORD_LABEL) == "head"


async def _namespace(cluster: Cluster, install: Install, act: Act) -> list[Item]:
    """The namespace, if it was made by installing."""
    try:
        found = await cluster.get(NAMESPACES, install.namespace)
    except NotFound:
        return []
    is_ours = (found.metadata.labels or {}).get(INSTALL_LABEL) == install.namespace
    return [found_item(act if is_ours else Act.KEEP, NAMESPACES, found)]
