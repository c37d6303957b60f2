"""Takes an installation out of a cluster again: first what would be done, then exactly that.

What was made last goes first: the runner, then what it lived by. The records of apps stay, and the namespace
that holds them, unless somebody says otherwise; the objects of apps stay in any case.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from msgspec import Struct

from trimtab.app.install.installing import Act, Item, found_item, labelled
from trimtab.app.install.manifests import INSTALL_LABEL, Install
from trimtab.app.installation import NAME, NAMESPACES
from trimtab.engine.stores.records import SECRETS
from trimtab.kube import Cluster
from trimtab.kube.cluster import Selection
from trimtab.kube.discovery import Resource
from trimtab.kube.failures import NotFound
from trimtab.kube.leases import LEASES
from trimtab.kube.objects import KubeObject
from trimtab.resources.labels import RECORD_LABEL

_RECORDS: Final = Selection(labels=RECORD_LABEL)
#: how the names of leases begin
_OURS: Final = "trimtab-"


class Removal(Struct, frozen=True, kw_only=True):
    """What taking an installation out would do."""

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
    return Removal(items=tuple(items), apps=apps)


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
