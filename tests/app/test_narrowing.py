"""A sync reads where objects of its app are or shall be, and nowhere else; nothing is missed by that."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any

import pytest
from msgspec.structs import replace

from tests.app.world import RECORDS, Json, Mortal, World, config_map, died
from trimtab.app.apps import Apps, SyncFailed
from trimtab.app.narrowing import is_covered, places_to_read
from trimtab.engine.operations import Operation
from trimtab.engine.places import Place
from trimtab.engine.rows import Verdict
from trimtab.engine.units import SyncUnit
from trimtab.kube.discovery import Discovery, Resource
from trimtab.kube.objects import Page
from trimtab.resources.manifests import Found


def kind(group: str, name: str, *, namespaced: bool = True) -> Resource:
    return Resource(group=group, version="v1", kind=name, plural=name.lower(), namespaced=namespaced)


SERVED = Discovery(
    resources=(
        kind("", "ConfigMap"),
        kind("", "PersistentVolumeClaim"),
        kind("apps", "StatefulSet"),
        kind("", "Namespace", namespaced=False),
    )
)
SPACES, MAPS = Place("", "Namespace"), Place("", "ConfigMap", "shop")


def wanted(name: str, namespace: str = "", api_version: str = "v1") -> Found:
    metadata = {"name": "one", **({"namespace": namespace} if namespace else {})}
    return Found(manifest={"apiVersion": api_version, "kind": name, "metadata": metadata}, where="here")


@pytest.mark.parametrize(
    ("known", "desired", "read"),
    [
        ((), [], {SPACES}),
        ((), [wanted("ConfigMap")], {SPACES, MAPS}),
        ((MAPS,), [wanted("ConfigMap", "other")], {SPACES, MAPS, Place("", "ConfigMap", "other")}),
        ((), [wanted("Namespace", "ignored")], {SPACES}),
        (
            (Place("", "PersistentVolumeClaim", "shop"),),
            [],
            {SPACES, Place("", "PersistentVolumeClaim", "shop"), Place("apps", "StatefulSet", "shop")},
        ),
        ((), [wanted("ConfigMap", f"space-{at}") for at in range(9)], {SPACES, Place("", "ConfigMap")}),
        ((Place("gone.example", "Thing", "shop"),), [], {SPACES, Place("gone.example", "Thing", "shop")}),
        (None, [wanted("ConfigMap")], None),
        ((), [wanted("Thing", api_version="example.com/v1")], None),
        ((), [Found(manifest={"kind": 5}, where="here")], None),
    ],
    ids=[
        "an empty app",
        "its own namespace",
        "what is recorded and what is wanted",
        "what lies in no namespace",
        "sets say whose claims are",
        "many namespaces are read as one",
        "a kind that went",
        "nothing is known of the app",
        "a kind that may come",
        "a manifest that nobody can read",
    ],
)
def test_what_is_read_is_what_is_wanted_and_what_is_recorded(
    known: tuple[Place, ...] | None, desired: list[Found], read: set[Place] | None
) -> None:
    assert places_to_read(known, desired, "shop", SERVED) == read


@pytest.mark.parametrize(
    ("needed", "read", "is_enough"),
    [
        ({MAPS}, {MAPS, SPACES}, True),
        ({MAPS}, {Place("", "ConfigMap")}, True),
        ({Place("", "ConfigMap")}, {MAPS}, False),
        ({MAPS, SPACES}, {MAPS}, False),
        (None, {MAPS}, False),
        (set[Place](), set[Place](), True),
    ],
)
def test_what_is_read_everywhere_is_read_in_every_namespace(
    needed: set[Place] | None, read: set[Place], *, is_enough: bool
) -> None:
    assert is_covered(needed, read) is is_enough


def test_everything_is_read_while_a_server_of_some_kinds_does_not_answer() -> None:
    partial = Discovery(resources=SERVED.resources, failed={"metrics/v1": "it is down"})
    assert places_to_read((), [wanted("ConfigMap")], "shop", partial) is None


class Listened:
    """A cluster that remembers what was listed."""

    def __init__(self, cluster: Any) -> None:
        self._cluster = cluster
        self.listed: list[tuple[str, str]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cluster, name)

    def list(self, resource: Resource, *, namespace: str = "", **how: Any) -> AsyncGenerator[Page]:
        if namespace != RECORDS:
            self.listed.append((resource.kind, namespace))
        answer: AsyncGenerator[Page] = self._cluster.list(resource, namespace=namespace, **how)
        return answer


async def unit_of(apps: Apps, world: World, app: str = "shop") -> SyncUnit:
    known = await apps.find(app)
    return known or replace(await world.unit(app), places=await apps.places_before(app))


async def sync(world: World, cluster: Any = None, **operation: Any) -> None:
    """Sync as the command does."""
    apps, asked = await world.apps(cluster), Operation(**operation)
    async with apps.work_on(await unit_of(apps, world), renders=True, narrowly=True) as work:
        if work.unfinished is not None:
            with suppress(SyncFailed):  # what was agreed to is no longer wanted
                await work.finish(consent=True, held=lambda _: None)
        plan = await work.plan(asked)
        await work.carry_out(asked, plan, consent=True, held=lambda _: None)


def secret(name: str) -> Json:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}}


async def test_the_first_sync_of_an_app_and_those_after_it_read_its_places_alone() -> None:
    world = World()
    world.sources.declare("shop", config_map("one"), secret("two"))
    seen = Listened(world.cluster)
    await sync(world, seen)
    places = {("Namespace", ""), ("ConfigMap", "default"), ("Secret", "default")}
    assert set(seen.listed) == places
    world.sources.declare("shop", config_map("one"))
    again = Listened(world.cluster)
    await sync(world, again, prune=True)
    assert set(again.listed) == places
    assert (await world.get("Secret", "two"), list(await world.values())) == (None, ["one"])


async def test_whoever_looks_at_an_app_reads_its_places_alone_also_while_its_source_is_away() -> None:
    world = World()
    world.sources.declare("shop", config_map("one"), secret("two"))
    await sync(world)
    world.sources.is_down = True
    seen = Listened(world.cluster)
    apps = await world.apps(seen)
    async with apps.work_on(await world.unit("shop"), renders=True, narrowly=True, only_looks=True) as work:
        assert (await work.differing()).objects == ()
        assert (await work.look()).status.verdict is Verdict.SYNCED
        assert work.away is not None
    assert set(seen.listed) == {("Namespace", ""), ("ConfigMap", "default"), ("Secret", "default")}


async def test_an_app_whose_places_were_never_recorded_is_looked_for_everywhere_once() -> None:
    world = World()
    await world.sync("shop", config_map("one"), secret("two"))
    records = (await world.apps()).records()
    await records.amend("shop", lambda stored: replace(stored, places=None))
    world.sources.declare("shop", config_map("one"))
    seen = Listened(world.cluster)
    await sync(world, seen, prune=True)
    assert {"Pod", "Secret", "Deployment"} <= {listed for listed, _ in seen.listed}
    assert await world.get("Secret", "two") is None
    assert (await world.unit("shop")).places is not None


async def test_what_a_forgotten_app_left_is_looked_for_by_the_next_of_its_name() -> None:
    world = World()
    world.sources.declare("shop", config_map("one"), secret("two"))
    await sync(world)
    apps = await world.apps()
    async with apps.work_on(await world.unit("shop")) as work:
        await work.abandon(held=lambda _: None)
    assert await apps.places_before("shop") is None
    assert await apps.places_before("other") == ()
    world.sources.declare("shop", config_map("one"))
    await sync(world, prune=True)
    assert await world.get("Secret", "two") is None


async def test_an_installation_that_did_not_always_leave_traces_is_looked_through_for_new_apps() -> None:
    world = World()
    await world.sync("other", config_map("one"))
    apps = await world.apps()
    apps.installation = replace(apps.installation, leaves_traces=False)
    assert await apps.places_before("shop") is None


@pytest.mark.parametrize("writes", range(3, 9))
async def test_whoever_dies_has_recorded_every_place_that_holds_something_of_the_app(writes: int) -> None:
    world = World()
    await world.sync("other", config_map("elsewhere"))
    world.sources.declare("shop", config_map("hook", hook="PreSync"), config_map("one"), secret("two"))
    mortal = Mortal(world.cluster, writes)
    is_dead = await died(lambda cluster: sync(world, cluster), mortal)
    assert is_dead
    await world.bury()
    there = [*(name for name in await world.values() if name != "elsewhere")]
    there += await world.names("Secret")
    recorded = await (await world.apps()).find("shop")
    kinds = {each.kind for each in recorded.places or ()} if recorded is not None else set()
    assert {"ConfigMap" if name in {"hook", "one"} else "Secret" for name in there} <= kinds

    world.sources.declare("shop", config_map("three"))
    await sync(world, prune=True)
    assert [name for name in await world.values() if name not in {"elsewhere", "hook"}] == ["three"]
    assert await world.names("Secret") == []
