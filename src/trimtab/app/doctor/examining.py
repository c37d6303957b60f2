"""Examines the way to a cluster and this machine, one thing after the other; nothing is changed anywhere.

What cannot be examined because something before it is broken is left out: one line per thing that is wrong.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from trimtab.app.doctor import checks
from trimtab.app.doctor.checks import Check, Folder
from trimtab.app.installation import NAMESPACES, find_installation
from trimtab.engine import Keyring, RecordStore
from trimtab.engine.stores.records import SECRETS
from trimtab.engine.units import AllTold, Stored, UnitNews, Unreadable
from trimtab.errors import Missing, TrimtabError
from trimtab.kube import Access, Cluster, HttpCluster, connect
from trimtab.kube.cluster import Question
from trimtab.kube.discovery import namespaced_v1
from trimtab.kube.failures import NotFound
from trimtab.kube.leases import LEASES
from trimtab.programs import find, walls
from trimtab.programs.pins import KNOWN, Version
from trimtab.settings import Settings
from trimtab.sources import CredentialFile
from trimtab.tasks import plain_group, time_limit
from trimtab.tasks.clock import Clock

#: what apps are usually made of
USUAL: Final = (
    namespaced_v1("", "ConfigMap", "configmaps"),
    namespaced_v1("", "Secret", "secrets"),
    namespaced_v1("", "Service", "services"),
    namespaced_v1("", "ServiceAccount", "serviceaccounts"),
    namespaced_v1("apps", "Deployment", "deployments"),
    namespaced_v1("apps", "StatefulSet", "statefulsets"),
    namespaced_v1("apps", "DaemonSet", "daemonsets"),
    namespaced_v1("batch", "Job", "jobs"),
    namespaced_v1("batch", "CronJob", "cronjobs"),
    namespaced_v1("networking.k8s.io", "Ingress", "ingresses"),
)
#: and whether everybody needs them
_PROGRAMS: Final = (("git", True), ("helm", False), ("kustomize", False))
_SYNCING: Final = ("get", "list", "watch", "create", "patch", "delete")
_RECORDING: Final = ("get", "list", "create", "update", "delete")
_LEASING: Final = ("get", "create", "update")


async def examine(
    reach: Callable[[], Access], settings: Settings, *, path: str, namespace: str, clock: Clock
) -> AsyncIterator[Check]:
    """Every check as it is made; `namespace` is where apps are to be synced, empty for everywhere."""
    async for check in _cluster_checks(reach, settings, namespace, clock):
        yield check
    fetches = False
    for name, needed in _PROGRAMS:
        check, is_fetched = await _program(name, settings, path, needed=needed)
        fetches = fetches or is_fetched
        yield check
    yield await asyncio.to_thread(_credentials, settings)
    yield checks.walls_check(await walls(), settings.rendering.required_walls)
    folders = await asyncio.to_thread(_folders, settings, fetches=fetches)
    yield checks.folders_check(folders)
    yield checks.disk_check(folders)


# -- the cluster -----------------------------------------------------------------------------------------


async def _cluster_checks(
    reach: Callable[[], Access], settings: Settings, namespace: str, clock: Clock
) -> AsyncIterator[Check]:
    try:
        access = reach()
    except TrimtabError as error:
        yield checks.wrong("access", error)
        return
    yield checks.ok("access", f"the context leads to {access.server}")
    async with connect(access, settings.cluster) as cluster:
        try:
            version, ahead = await cluster.version(), await _ahead(cluster, clock)
            discovery = await cluster.discover()
        except TrimtabError as error:
            yield checks.wrong("server", error)
            return
        yield checks.ok("server", f"{access.server} answers")
        yield checks.version_check(version)
        yield checks.clock_check(ahead)
        yield checks.apis_check(discovery.failed)
        records = settings.apps.namespace
        to_record = _to_record(records, is_there=await _is_there(cluster, records))
        yield await _rights("rights to record", cluster, to_record, needed=True)
        yield await _rights("rights to sync", cluster, _to_sync(namespace), needed=bool(namespace))
        yield await _records(cluster, settings, clock)


async def _ahead(cluster: HttpCluster, clock: Clock) -> timedelta | None:
    """How far the server's clock is ahead of ours; what it tells are whole seconds."""
    asked = clock.now()
    told = await cluster.time()
    middle = asked + (clock.now() - asked) / 2
    return None if told is None else told + timedelta(milliseconds=500) - middle


async def _is_there(cluster: Cluster, namespace: str) -> bool:
    try:
        await cluster.get(NAMESPACES, namespace)
    except NotFound:
        return False
    except TrimtabError:
        return True  # what may not be read is told with the rights
    return True


def _to_record(namespace: str, *, is_there: bool) -> tuple[Question, ...]:
    """The rights that keeping records needs; whoever comes first makes their namespace."""
    made = () if is_there else (Question(verb="create", resource=NAMESPACES),)
    return (
        # Reading a namespace counts as an act within it: a role in it that says so is enough.
        Question(verb="get", resource=NAMESPACES, namespace=namespace, name=namespace),
        *made,
        *(Question(verb=verb, resource=SECRETS, namespace=namespace) for verb in _RECORDING),
        *(Question(verb=verb, resource=LEASES, namespace=namespace) for verb in _LEASING),
    )


def _to_sync(namespace: str) -> tuple[Question, ...]:
    """The rights that syncing an app of the usual kinds needs."""
    return tuple(
        Question(verb=verb, resource=resource, namespace=namespace) for resource in USUAL for verb in _SYNCING
    )


async def _rights(name: str, cluster: Cluster, asked: tuple[Question, ...], *, needed: bool) -> Check:
    allowed: dict[Question, bool] = {}

    async def ask(question: Question) -> None:
        allowed[question] = (await cluster.may(question)).allowed

    try:
        async with plain_group() as group:
            for question in asked:
                group.create_task(ask(question))
    except TrimtabError as error:
        return checks.wrong(name, error)
    missing = [question for question in asked if not allowed[question]]
    return checks.rights_check(name, missing, len(asked), needed=needed)


async def _records(cluster: Cluster, settings: Settings, clock: Clock) -> Check:
    namespace, limit = settings.apps.namespace, settings.cluster.request_timeout
    try:
        installation = await find_installation(cluster, namespace)
        if not installation.recorded:
            return checks.records_check(namespace, 0, (), recorded=False)
        store = RecordStore(cluster, namespace=namespace, keys=Keyring(installation.key))
        async with time_limit(limit, clock=clock, subject=f"the records in {namespace}"):
            news = await _told(store)
    except TrimtabError as error:
        return checks.wrong("records", error)
    unreadable = [f"{each.id} ({each.error.reason})" for each in news if isinstance(each, Unreadable)]
    count = sum(isinstance(each, Stored) for each in news)
    return checks.records_check(namespace, count, unreadable, recorded=True)


async def _told(store: RecordStore) -> list[UnitNews]:
    """Everything that the records hold, readable or not."""
    news: list[UnitNews] = []

    def hear(each: UnitNews) -> None:
        news.append(each)
        if isinstance(each, AllTold):
            following.cancel()

    async with plain_group() as group:
        following = group.create_task(store.follow(hear))
    return news


# -- this machine ----------------------------------------------------------------------------------------


async def _program(name: str, settings: Settings, path: str, *, needed: bool) -> tuple[Check, bool]:
    """How it stands with a program, and whether it is still to be fetched."""
    # A doctor fetches nothing: it only says that it would be.
    here_alone = replace(settings.programs, fetch=False)
    try:
        found = await find(name, path=path, settings=here_alone)
    except TrimtabError as error:
        may_fetch = settings.programs.fetch and isinstance(error, Missing)
        pinned = _pinned(name) if may_fetch else None
        return checks.absent_check(name, error, pinned, needed=needed), pinned is not None
    return checks.program_check(name, str(found.path), found.version), False


def _pinned(name: str) -> Version | None:
    about = KNOWN.get(name)
    pin = about.pins.get(os.uname().machine) if about else None
    return pin.version if pin else None


def _credentials(settings: Settings) -> Check:
    try:
        known = CredentialFile(settings.repositories).belongings()
    except TrimtabError as error:
        return checks.wrong("credentials", error)
    return checks.credentials_check(settings.repositories.credentials_file, len(known))


def _folders(settings: Settings, *, fetches: bool) -> tuple[Folder, ...]:
    """What is written to; where all programs are, as in our image, their folder need not be."""
    places = {
        "repositories.folder": settings.repositories.folder,
        "rendering.cache": settings.rendering.cache,
        "rendering.key": str(Path(settings.rendering.key).parent),
        **({"programs.cache": settings.programs.cache} if fetches else {}),
    }
    return tuple(_folder(setting, Path(place).expanduser()) for setting, place in places.items())


def _folder(setting: str, path: Path) -> Folder:
    there = next(each for each in (path, *path.parents) if each.exists())
    problem = ""
    try:
        # Only trying it tells: a folder may be on a file system that is mounted read-only.
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        problem = error.strerror or type(error).__name__
    free = 0
    with suppress(OSError):
        free = shutil.disk_usage(there).free
    return Folder(setting=setting, path=str(path), problem=problem, free=free)
