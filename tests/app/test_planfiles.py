"""A stored plan is carried out exactly or not at all, and tells nobody anything secret."""

from __future__ import annotations

import asyncio
import base64
from typing import Any, TypeAlias, cast

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.app.world import Json, Mortal, World, config_map, died
from trimtab.apiserver import MemoryCluster
from trimtab.app import Apps
from trimtab.app.applying import work_for
from trimtab.app.planfiles import PreconditionMoved, StoredPlan, read, stored_plan, written
from trimtab.engine import Keyring
from trimtab.engine.operations import Operation
from trimtab.errors import InvalidSpec
from trimtab.kube.cluster import PatchType

KEYS = Keyring(b"k" * 32)
ASKED = Operation(prune=True, options=("PrunePropagationPolicy=background",))


async def planned(world: World, operation: Operation = ASKED) -> bytes:
    """A file that holds what syncing the app would do now."""
    apps = await world.apps()
    unit = await world.unit("shop")
    async with apps.work_on(unit, renders=True, narrowly=True) as work:
        plan = await work.plan(operation)
    await apps.record_installation()
    stored = stored_plan(unit, await apps.find("shop"), operation, plan)
    return written([stored], installation=apps.installation.id, keys=Keyring(apps.installation.key))


def opened(apps: Apps, file: bytes) -> StoredPlan:
    (stored,) = read(
        file, name="shop.plan", installation=apps.installation.id, keys=Keyring(apps.installation.key)
    )
    return stored


def test_a_file_that_is_nested_beyond_reason_is_refused_as_any_other_that_is_no_plan() -> None:
    deep = "[" * 5000 + "]" * 5000
    file = f'{{"kind": "", "installation": "", "sealed": "", "plans": [{{"a": {deep}}}]}}'
    with pytest.raises(InvalidSpec, match="is not what"):
        read(file.encode(), name="shop.plan", installation="", keys=KEYS)


async def apply(apps: Apps, file: bytes) -> None:
    """What the verb does, but for asking."""
    stored = opened(apps, file)
    known = await apps.find("shop")
    if stored.is_done(known):
        return
    async with work_for(apps, stored, known) as work:
        if work.unfinished is not None:
            await work.finish(consent=True, held=lambda _: None)
            return
        plan = await work.plan(stored.agreed())
        stored.check(plan)
        await work.carry_out(stored.agreed(), plan, consent=True, held=lambda _: None)


async def patch(world: World, name: str, value: str) -> None:
    """Have somebody change an object."""
    resource = await world.resource("ConfigMap")
    body = {"data": {"value": value}}
    await world.cluster.patch(resource, name, body, how=PatchType.MERGE, namespace="default")


async def contents(world: World) -> dict[str, Any]:
    """Every object as people declared it: without what differs between two clusters."""
    pages = world.cluster.list(await world.resource("ConfigMap"), namespace="default")
    found = [each.manifest() async for page in pages for each in page.objects]
    return {each["metadata"]["name"]: (each["data"], _said(each["metadata"])) for each in found}


def _said(metadata: Json) -> Json:
    told: Json = metadata.get("annotations", {})
    return {name: text for name, text in told.items() if name != "trimtab.dev/owner"}


class Noting:
    """A cluster that notes the writes to what an app declares, in their order."""

    def __init__(self, cluster: Any) -> None:
        self._cluster = cluster
        self.written: list[tuple[str, str]] = []

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._cluster, name)
        return self._noted(name, found) if name in {"create", "update", "patch", "apply", "delete"} else found

    def _noted(self, verb: str, act: Any) -> Any:
        async def acting(resource: Any, what: Any, *arguments: Any, **options: Any) -> Any:
            if resource.kind == "ConfigMap" and not getattr(options.get("write"), "dry_run", False):
                self.written.append((verb, what if isinstance(what, str) else what["metadata"]["name"]))
            return await act(resource, what, *arguments, **options)

        return acting


Version: TypeAlias = dict[str, tuple[str, str, str]]
NAMES = st.sampled_from(["a", "b", "c", "d"])
WAVES, HOOKS = st.sampled_from(["0", "1"]), st.sampled_from(["", "", "PreSync", "PostSync"])
OBJECT = st.tuples(st.sampled_from(["1", "2"]), WAVES, HOOKS)
VERSION = st.dictionaries(NAMES, OBJECT, max_size=4)
#: a prune, a hook that begins to be one, and waves in the order that names are not
PRUNE_HOOK_WAVES: tuple[Version, Version] = (
    {"a": ("1", "0", ""), "b": ("1", "0", ""), "c": ("1", "0", "PreSync")},
    {"b": ("2", "1", ""), "c": ("2", "0", ""), "d": ("1", "0", "PostSync")},
)


def manifests(version: Version) -> list[Json]:
    return [
        config_map(name, value, sync_wave=wave, **({"hook": hook} if hook else {}))
        for name, (value, wave, hook) in version.items()
    ]


@settings(max_examples=8, deadline=None)
@given(before=VERSION, after=VERSION, drift=st.dictionaries(NAMES, st.just("drifted"), max_size=2))
@example(before=PRUNE_HOOK_WAVES[0], after=PRUNE_HOOK_WAVES[1], drift={"b": "drifted"})
def test_a_plan_that_is_applied_is_a_sync(before: Version, after: Version, drift: dict[str, str]) -> None:
    async def ending(*, by_file: bool) -> tuple[dict[str, Any], list[tuple[str, str]]]:
        world = World()
        noting = Noting(world.cluster)
        world.cluster = cast(MemoryCluster, noting)
        await world.sync("shop", *manifests(before), config_map("always"))
        for name, value in drift.items():
            if name in before and not before[name][2]:
                await patch(world, name, value)
        world.sources.declare("shop", *manifests(after), config_map("always"))
        if by_file:
            await apply(await world.apps(), await planned(world))
        else:
            await world.sync("shop", prune=True)
        return await contents(world), noting.written

    assert asyncio.run(ending(by_file=True)) == asyncio.run(ending(by_file=False))


async def test_whatever_moved_since_is_said_and_nothing_is_done() -> None:
    world = World()
    await world.sync("shop", config_map("a"), config_map("b"))
    world.sources.declare("shop", config_map("a", "2"), config_map("c"))
    file = await planned(world)
    await patch(world, "a", "drifted")
    with pytest.raises(PreconditionMoved) as raised:
        await apply(await world.apps(), file)
    assert str(raised.value) == (
        "app shop: something moved since it was planned: "
        "ConfigMap default/a in Sync: it was changed in the cluster. Plan it again."
    )
    assert await world.values() == {"a": "drifted", "b": "1"}


async def test_a_newer_commit_changes_nothing_about_a_stored_plan() -> None:
    world = World()
    await world.sync("shop", config_map("a"))
    world.sources.declare("shop", config_map("a", "2"))
    file = await planned(world)
    world.sources.declare("shop", config_map("a", "3"))
    await apply(await world.apps(), file)
    assert await world.values() == {"a": "2"}
    await apply(await world.apps(), file)  # it was carried out already
    assert await world.values() == {"a": "2"}


async def test_an_app_that_was_declared_otherwise_since_is_left_alone() -> None:
    world = World()
    world.sources.declare("shop", config_map("a"))
    file = await planned(world)
    await world.sync("shop", config_map("b"))
    with pytest.raises(PreconditionMoved, match="there is such an app by now"):
        await apply(await world.apps(), file)
    world.sources.declare("shop", config_map("a", "2"))
    file = await planned(world)
    apps = await world.apps()
    await apps.records().update(replace(await world.unit("shop"), source={"moved": True}))
    with pytest.raises(PreconditionMoved, match="it was declared otherwise since"):
        await apply(apps, file)
    await apps.records().delete("shop")
    with pytest.raises(PreconditionMoved, match="the app was deleted"):
        await apply(apps, file)


async def test_a_file_holds_no_secret_and_opens_only_where_and_as_it_was_made() -> None:
    world = World()
    secret: Json = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "key"},
        "stringData": {"password": "canary-value"},
    }
    world.sources.declare("shop", secret)
    file = await planned(world)
    assert b"canary-value" not in file
    assert base64.b64encode(b"canary-value") not in file
    apps = await world.apps()
    assert opened(apps, file).unit.id == "shop"

    edited = msgspec.json.decode(file)
    edited["plans"][0]["steps"] = []
    damaged = {**msgspec.json.decode(file), "sealed": "AAAA"}
    for content, words in {
        msgspec.json.encode(edited): "it is damaged, or was edited",
        msgspec.json.encode(damaged): "it is damaged, or was edited",
        b"kind: [": "it is not what `trimtab plan --out` writes",
        b'{"kind":"other","installation":"","plans":[],"sealed":""}': "it is not what",
    }.items():
        with pytest.raises(InvalidSpec, match=words):
            opened(apps, content)
    with pytest.raises(InvalidSpec, match="another cluster"):
        read(file, name="shop.plan", installation="elsewhere", keys=KEYS)


async def test_whoever_dies_while_applying_is_succeeded_by_the_same_file() -> None:
    # Every third write, because each world costs time.
    write, deaths = 1, 0
    while True:
        world = World()
        await world.sync("shop", config_map("a"), config_map("b"))
        world.sources.declare("shop", config_map("a", "2"), config_map("c", sync_wave="1"))
        file = await planned(world)

        async def act(mortal: Mortal, world: World = world, file: bytes = file) -> None:
            await apply(await world.apps(mortal), file)

        if not await died(act, Mortal(world.cluster, write)):
            break
        deaths += 1
        await world.bury()
        await apply(await world.apps(), file)
        assert await world.values() == {"a": "2", "c": "1"}, f"after write {write}"
        write += 3
    assert deaths > 2
