"""Brings an installation into a cluster: first what would be done, then exactly that."""

from __future__ import annotations

import enum
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Final

from msgspec import Struct

from trimtab.app.install.manifests import INSTALL_LABEL, NAME, Install, objects_of
from trimtab.app.installation import NAMESPACES
from trimtab.errors import Missing
from trimtab.kube import Cluster
from trimtab.kube.cluster import Deletion, Selection, Write
from trimtab.kube.discovery import Discovery, Resource
from trimtab.kube.failures import NotFound
from trimtab.kube.objects import KubeObject
from trimtab.resources.keys import ResourceKey
from trimtab.resources.manifests import Manifest, key_of

#: what servers write into objects by themselves
_MOVING: Final = ("managedFields", "resourceVersion", "generation")


class Act(enum.Enum):
    """What becomes of an object."""

    CREATE = "create"
    CHANGE = "change"
    KEEP = "keep"
    DELETE = "delete"


class Item(Struct, frozen=True, kw_only=True):
    """One object of an installation, and what becomes of it."""

    act: Act
    key: ResourceKey
    resource: Resource
    #: what is declared; empty for what goes
    manifest: Manifest
    #: which object is deleted, and no other that has taken its name since
    uid: str = ""


async def plan_install(cluster: Cluster, install: Install) -> tuple[Item, ...]:
    """What installing would do: nothing is written."""
    await _check_namespaces(cluster, install)
    known = await cluster.discover()
    wanted = objects_of(install)
    items = [await _compared(cluster, _resource(known, each), each) for each in wanted]
    leftovers = [each async for each in _leftovers(cluster, known, install)]
    return (*items, *leftovers)


async def carry_out(cluster: Cluster, items: tuple[Item, ...], tell: Callable[[Item], None]) -> None:
    """Do what was planned, in order; each object is told once it is done."""
    for item in items:
        where = item.key.namespace
        if item.act is Act.DELETE:
            how = Deletion(uid=item.uid)
            with suppress(NotFound):
                await cluster.delete(item.resource, item.key.name, namespace=where, how=how)
        elif item.act is not Act.KEEP:
            await cluster.apply(item.resource, item.key.name, item.manifest, namespace=where, force=True)
        tell(item)


async def _check_namespaces(cluster: Cluster, install: Install) -> None:
    """Refuse before anything is written if a namespace that is to be looked after is not there."""
    for name in install.namespaces:
        try:
            await cluster.get(NAMESPACES, name)
        except NotFound as error:
            remedy = f"Make it with: kubectl create namespace {name}"
            raise Missing(f"namespace {name}", "the cluster has no such namespace", remedy) from error


def _resource(known: Discovery, manifest: Manifest) -> Resource:
    found = known.resource(manifest["apiVersion"], manifest["kind"])
    if found is None:
        subject = f"{manifest['kind']} {manifest['apiVersion']}"
        raise Missing(subject, "the cluster serves no such kind", "Use a cluster of Kubernetes 1.25 or later")
    return found


async def _compared(cluster: Cluster, resource: Resource, manifest: Manifest) -> Item:
    """What becomes of an object that is wanted; the server itself says whether it would change."""
    key = key_of(manifest)
    try:
        live = await cluster.get(resource, key.name, namespace=key.namespace)
    except NotFound:
        return Item(act=Act.CREATE, key=key, resource=resource, manifest=manifest)
    after = await cluster.apply(
        resource, key.name, manifest, namespace=key.namespace, force=True, write=Write(dry_run=True)
    )
    is_same = _decided(live.manifest()) == _decided(after.object.manifest())
    return Item(act=Act.KEEP if is_same else Act.CHANGE, key=key, resource=resource, manifest=manifest)


def _decided(manifest: Manifest) -> Manifest:
    """An object without what moves by itself."""
    metadata = {name: value for name, value in manifest["metadata"].items() if name not in _MOVING}
    return {name: value for name, value in manifest.items() if name != "status"} | {"metadata": metadata}


async def _leftovers(cluster: Cluster, known: Discovery, install: Install) -> AsyncIterator[Item]:
    """What an earlier installation with other choices made, rights above all, and this one does not want."""
    wanted = {key_of(each) for each in objects_of(install)}
    async for each in labelled(cluster, known, install):
        if each.key not in wanted:
            yield each


async def labelled(cluster: Cluster, known: Discovery, install: Install) -> AsyncIterator[Item]:
    """What installing into this namespace made, whatever was chosen, as if it were to go; not the namespace.

    In the order in which it was made.
    """
    select = Selection(labels=f"{INSTALL_LABEL}={install.namespace}")
    for resource in _kinds(known, install):
        async for page in cluster.list(resource, select=select):
            for found in page.objects:
                if found.metadata.name.startswith(NAME):
                    yield found_item(Act.DELETE, resource, found)


def found_item(act: Act, resource: Resource, found: KubeObject) -> Item:
    """What is to be done to an object that was found in the cluster."""
    key = ResourceKey(resource.group, resource.kind, found.metadata.namespace or "", found.metadata.name)
    return Item(act=act, key=key, resource=resource, manifest={}, uid=found.metadata.uid)


def _kinds(known: Discovery, install: Install) -> list[Resource]:
    """Every kind that some installation consists of, whatever was chosen; the namespace itself never goes."""
    choices = (Install(namespace=install.namespace), Install(namespaces=(install.namespace,)))
    made = [_resource(known, each) for choice in choices for each in objects_of(choice)]
    return [each for each in dict.fromkeys(made) if each.kind != "Namespace"]
