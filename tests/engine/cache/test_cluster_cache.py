"""The cache on an embedded cluster: what it knows, when it knows it, and what it never does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest

from tests.engine.cache.audience import Audience, listening
from tests.engine.cache.objects import (
    CONFIG_MAPS,
    CRDS,
    DEPLOYMENTS,
    TRACKING,
    WIDGETS,
    Json,
    config_map,
    definition,
    key,
    kind,
    widget,
)
from tests.engine.cache.troubled import Troubled, refusal
from trimtab.engine.cache import ClusterCache
from trimtab.engine.cache.filters import ResourceFilter, Rule
from trimtab.engine.cache.reach import OutsideReach, Reach
from trimtab.engine.cache.states import KindStatus, Reading
from trimtab.engine.compare.tracking import OwnerAnnotation
from trimtab.engine.health import Health, HealthStatus
from trimtab.engine.live import Change, Live, LiveView
from trimtab.errors import ClusterUnreachable, InvalidSpec, Missing, Unavailable
from trimtab.kube.cluster import PatchType
from trimtab.kube.discovery import Resource
from trimtab.kube.objects import KubeObject
from trimtab.resources.keys import ResourceKey
from trimtab.settings import CacheSettings
from trimtab.tasks import ManualClock

SHOP = TRACKING.mark_for("shop")
QUICK = CacheSettings(settle=timedelta(milliseconds=1))


class World:
    """A troubled cluster and a cache of it, with an audience."""

    def __init__(self, audience: Audience, troubled: Troubled) -> None:
        self.cache = audience.cache
        self.audience = audience
        self.troubled = troubled
        self.changes = audience.changes
        self.until = audience.until

    async def create(self, of: Resource, whole: Json, namespace: str = "default") -> None:
        await self.troubled.inner.create(of, whole, namespace=namespace if of.namespaced else "")

    def status(self, of: Resource) -> KindStatus:
        return self.audience.status(of.kind)

    def names(self, of: str = "ConfigMap") -> list[str]:
        return [change.key.name for change in self.audience.told(of)]


def key_of(name: str, of: str = "ConfigMap", group: str = "") -> ResourceKey:
    return key(name, of, group, namespace="default")


@asynccontextmanager
async def running(
    troubled: Troubled | None = None, *, settings: CacheSettings = QUICK, wait: bool = True, **options: Any
) -> AsyncIterator[World]:
    troubled = troubled or Troubled()
    cache = ClusterCache(troubled.cluster, settings, TRACKING, **options)
    async with listening(cache, wait=wait) as audience:
        yield World(audience, troubled)


async def filled(*wholes: Json) -> Troubled:
    troubled = Troubled()
    for whole in wholes:
        await troubled.inner.create(CONFIG_MAPS, whole, namespace="default")
    return troubled


# --- resting ----------------------------------------------------------------------------------------


async def test_a_cache_that_rests_hears_only_what_is_wanted_and_loses_nothing() -> None:
    clock, troubled = ManualClock(), Troubled()
    async with running(troubled, rest=timedelta(seconds=2), clock=clock) as world:
        assert (troubled.count("watch"), world.cache.is_resting) == (0, True)
        world.cache.want([("", "ConfigMap")])
        await world.create(CRDS, definition("v1"))
        await world.create(CONFIG_MAPS, config_map("a"))
        await world.until(lambda: world.names() == ["a"])
        assert (troubled.count("watch"), world.names("CustomResourceDefinition")) == (1, [])
        assert world.cache.knows("apiextensions.k8s.io", "CustomResourceDefinition", "")
        await clock.advance(2)
        await world.until(lambda: world.names("CustomResourceDefinition"))
        assert not world.cache.is_resting


async def test_manifests_can_be_kept_of_some_marks_alone_and_everything_else_is_still_known() -> None:
    cluster = await filled(config_map("a", "shop", x="1"), config_map("b", "bank", x="2"))
    async with running(cluster, keeps=lambda mark: mark == SHOP) as world:
        assert world.cache.manifest(key_of("a")) is not None
        found = world.cache.get(key_of("b"))
        assert found is not None
        assert (found.mark, found.digest) == (TRACKING.mark_for("bank"), b"")
        assert world.cache.manifest(key_of("b")) is None
        read = await world.cache.manifest_in(key_of("b"), "v1")
        assert read is not None
        assert read["data"] == {"x": "2"}


# --- what it knows ----------------------------------------------------------------------------------


@pytest.mark.fact("C1", "C4")
async def test_after_a_full_reading_every_object_is_present_by_key() -> None:
    async with running(await filled(config_map("a", "shop", x="1"), config_map("b"))) as world:
        found = world.cache.get(key_of("a"))
        assert found is not None
        assert world.cache.managed(SHOP) == (found,)
        assert world.cache.get(key_of("b")) is not None
        whole = world.cache.manifest(key_of("a"))
        assert whole is not None
        assert (whole["kind"], whole["data"]) == ("ConfigMap", {"x": "1"})
        assert world.cache.manifest(key_of("b")) is None


async def test_a_cache_is_a_live_view() -> None:
    async with running() as world:
        view: LiveView = world.cache
        assert view.knows("", "ConfigMap", "default")
        assert not view.knows("", "Event", "default")
        assert not view.knows("example.com", "Widget", "default")


async def test_changes_are_told_in_order_until_one_asks_for_no_more() -> None:
    async with running() as world:
        heard: list[Change] = []
        stop = world.cache.subscribe(heard.append)
        await world.create(CONFIG_MAPS, config_map("a"))
        await world.troubled.inner.apply(
            CONFIG_MAPS, "a", config_map("a", x="2"), namespace="default", force=True
        )
        await world.until(lambda: len(heard) == 2)
        stop()
        stop()
        await world.troubled.inner.delete(CONFIG_MAPS, "a", namespace="default")
        await world.until(lambda: world.cache.get(key_of("a")) is None)
        assert [(each.before is None, each.after is None) for each in heard] == [
            (True, False),
            (False, False),
        ]
        assert len(world.names()) == 3


async def test_status_traffic_can_be_told_from_decisions() -> None:
    """A Deployment's status moves: the change is told, and says that nothing was decided."""
    troubled = Troubled()
    spec = {
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "registry.example/web:1"}]},
        },
    }
    web = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}
    async with running(troubled) as world:
        await world.create(DEPLOYMENTS, TRACKING.marked(web, "shop"))
        await world.until(lambda: world.names("Deployment"))
        status = {"status": {"observedGeneration": 1, "replicas": 1}}
        await patch_status(world, "web", status)
        await world.until(lambda: len(world.names("Deployment")) == 2)
        first, second = (each for each in world.changes if each.key.kind == "Deployment")
        assert not first.is_status_traffic
        assert second.is_status_traffic
        assert second.after is not None
        assert second.after.health is not None
        assert second.after.health.status is HealthStatus.PROGRESSING


async def patch_status(world: World, name: str, body: Json) -> None:
    await world.troubled.inner.patch(
        DEPLOYMENTS, name, body, how=PatchType.MERGE, namespace="default", subresource="status"
    )


@pytest.mark.fact("C16")
async def test_the_cache_tells_version_counts_age_and_errors() -> None:
    clock = ManualClock()
    troubled = await filled(config_map("a"))
    troubled.refusing["Secret"] = refusal(403)
    troubled.failed = {"metrics.example.com/v1": "no answer"}
    async with running(troubled, clock=clock) as world:
        await clock.advance(30)
        facts = world.cache.facts()
        assert facts.version == "v1.36.3"
        assert facts.kinds == len(world.cache.kinds()) > 40
        assert facts.objects == sum(each.objects for each in world.cache.kinds())
        assert world.status(CONFIG_MAPS).objects == 1
        assert facts.complete_at is None, "one kind was never read"
        assert [each.split(":")[0] for each in facts.errors] == ["discover metrics.example.com/v1", "Secret"]
        troubled.refusing.clear()
        world.cache.invalidate()
        await world.cache.complete()
        await clock.advance(10)
        again = world.cache.facts()
        assert again.age == timedelta(seconds=10)
        assert not any(each.startswith("Secret") for each in again.errors)


# --- kinds do not disturb each other ------------------------------------------------------------------


async def test_a_forbidden_kind_is_told_known_as_unknown_and_disturbs_no_other() -> None:
    troubled = await filled(config_map("a"))
    troubled.refusing["Secret"] = refusal(403)
    async with running(troubled) as world:
        assert world.status(kind("Secret")).reading is Reading.REFUSED
        assert world.status(kind("Secret")).next_try is not None
        assert not world.cache.knows("", "Secret", "default")
        assert world.cache.knows("", "ConfigMap", "default")


async def test_a_kind_that_becomes_forbidden_keeps_its_objects_and_is_no_longer_known() -> None:
    clock = ManualClock()
    troubled = await filled(config_map("a"), config_map("b"))
    async with running(troubled, clock=clock) as world:
        troubled.refusing["ConfigMap"] = refusal(403)
        troubled.failing_next["ConfigMap"] = ClusterUnreachable("watch ConfigMap", "cut")
        await world.create(CONFIG_MAPS, config_map("c"))
        await world.until(lambda: world.status(CONFIG_MAPS).reading is Reading.INTERRUPTED)
        assert not world.cache.knows("", "ConfigMap", "default")
        await clock.advance(5)
        assert world.status(CONFIG_MAPS).reading is Reading.REFUSED
        assert not world.cache.knows("", "ConfigMap", "default")
        assert world.cache.get(key_of("a")) is not None
        assert world.audience.removals() == []
        troubled.refusing.clear()
        await clock.advance(QUICK.retry_refused.total_seconds())
        assert world.cache.knows("", "ConfigMap", "default")
        assert world.cache.get(key_of("c")) is not None


async def test_credentials_that_were_refused_are_tried_again_sooner_than_rights_that_are_missing() -> None:
    clock = ManualClock()
    troubled = await filled(config_map("a"))
    troubled.refusing |= {"ConfigMap": refusal(401), "Secret": refusal(403)}
    async with running(troubled, clock=clock) as world:
        assert world.audience.readings()[Reading.REFUSED] == {"ConfigMap", "Secret"}
        troubled.refusing.clear()
        await clock.advance(60)
        assert world.audience.readings()[Reading.REFUSED] == {"Secret"}
        assert world.cache.get(key_of("a")) is not None


async def test_a_kind_that_hangs_or_fails_disturbs_no_other() -> None:
    troubled = await filled(config_map("a"))
    troubled.hanging.add("Secret")
    troubled.refusing["Node"] = ZeroDivisionError("a bug")
    troubled.refusing["Pod"] = refusal(500)
    async with running(troubled, wait=False) as world:
        await world.until(lambda: world.cache.knows("", "ConfigMap", "default"))
        nodes = kind("Node", namespaced=False)
        await world.until(lambda: world.status(nodes).reading is Reading.FAILED)
        assert world.status(kind("Secret")).reading is Reading.LISTING
        assert world.status(kind("Pod")).reading is Reading.INTERRUPTED
        assert world.status(nodes).error == "a bug: ZeroDivisionError"


@pytest.mark.fact("C30")
async def test_one_place_for_lists_is_enough_and_a_hanging_list_gives_it_up() -> None:
    settings = CacheSettings(lists_at_once=1, list_patience=timedelta(milliseconds=5), settle=QUICK.settle)
    troubled = await filled(config_map("a"))
    troubled.hanging |= {"Secret", "Pod"}
    async with running(troubled, settings=settings, wait=False) as world:
        await world.until(
            lambda: (
                world.cache.kinds()
                and all(
                    each.is_current or each.scope.kind in troubled.hanging for each in world.cache.kinds()
                )
            )
        )
        world.cache.invalidate()
        await world.until(lambda: world.cache.knows("", "ConfigMap", "default"))


@pytest.mark.fact("C31")
async def test_a_list_that_fails_half_way_takes_nothing_for_gone() -> None:
    clock = ManualClock()
    troubled = await filled(config_map("a"), config_map("b"))
    async with running(troubled, clock=clock) as world:
        troubled.refusing_second_page["ConfigMap"] = ClusterUnreachable("list ConfigMap", "cut")
        world.cache.invalidate()
        await world.cache.complete()
        assert world.status(CONFIG_MAPS).reading is Reading.INTERRUPTED
        assert not world.cache.knows("", "ConfigMap", "default")
        assert {world.cache.get(key_of(name)) is None for name in "ab"} == {False}
        troubled.refusing_second_page.clear()
        await clock.advance(10)
        assert world.cache.knows("", "ConfigMap", "default")
        assert world.audience.removals() == []


@pytest.mark.fact("C13")
async def test_after_lost_history_what_is_gone_changed_or_new_is_told() -> None:
    clock = ManualClock()
    troubled = await filled(config_map("gone"), config_map("same"), config_map("changed"))
    async with running(troubled, clock=clock) as world:
        world.changes.clear()
        troubled.swallowing.add("ConfigMap")
        await troubled.inner.delete(CONFIG_MAPS, "gone", namespace="default")
        whole = config_map("changed", x="2")
        await troubled.inner.apply(CONFIG_MAPS, "changed", whole, namespace="default", force=True)
        await world.create(CONFIG_MAPS, config_map("new"))
        troubled.failing_next["ConfigMap"] = refusal(410)
        troubled.swallowing.clear()
        await world.create(CONFIG_MAPS, config_map("newer"))
        await clock.advance(0)
        assert not world.cache.knows("", "ConfigMap", "default")
        await clock.advance(5)
        assert world.cache.knows("", "ConfigMap", "default")
        told = {each.key.name: (each.before is None, each.after is None) for each in world.changes}
        assert told == {
            "gone": (False, True),
            "changed": (False, False),
            "new": (True, False),
            "newer": (True, False),
        }


@pytest.mark.fact("C11")
async def test_an_object_that_went_without_a_word_is_gone_from_every_index_after_a_new_reading() -> None:
    troubled = await filled(config_map("a", "shop"))
    async with running(troubled) as world:
        troubled.swallowing.add("ConfigMap")
        await troubled.inner.delete(CONFIG_MAPS, "a", namespace="default")
        assert world.cache.get(key_of("a")) is not None
        world.cache.invalidate()
        await world.cache.complete()
        assert world.cache.get(key_of("a")) is None
        assert world.cache.managed(SHOP) == ()
        assert world.cache.manifest(key_of("a")) is None
        assert world.cache.tree([key_of("a")]) == ()


async def test_every_kind_is_read_anew_after_a_while_should_an_event_have_been_lost() -> None:
    clock = ManualClock()
    troubled = await filled(config_map("a"))
    async with running(troubled, clock=clock) as world:
        troubled.swallowing.add("ConfigMap")
        await troubled.inner.delete(CONFIG_MAPS, "a", namespace="default")
        for _ in range(15):
            await clock.advance(3600)
        assert world.cache.get(key_of("a")) is None
        assert troubled.count("list", "ConfigMap") == 2


async def test_a_listener_that_fails_stops_the_kind_it_failed_on_and_says_so() -> None:
    async with running() as world:

        def stumble(change: Change) -> None:
            raise ZeroDivisionError

        stop = world.cache.subscribe(stumble)
        await world.create(CONFIG_MAPS, config_map("a"))
        await world.until(lambda: world.status(CONFIG_MAPS).reading is Reading.FAILED)
        stop()
        assert world.cache.get(key_of("a")) is not None
        assert world.cache.knows("", "Secret", "default")


@pytest.mark.fact("C48")
async def test_a_cluster_may_be_taken_away_while_it_is_being_read() -> None:
    troubled = await filled(config_map("a"))
    troubled.hanging.add("Secret")
    async with running(troubled, wait=False) as world:
        await world.until(lambda: world.cache.get(key_of("a")))
    assert world.cache.get(key_of("a")) is not None


async def test_a_cache_that_was_stopped_can_be_run_again_and_goes_on_from_what_it_has() -> None:
    troubled = await filled(config_map("a"), config_map("b"))
    async with running(troubled) as world:
        pass
    assert not world.cache.knows("", "ConfigMap", "default")
    await troubled.inner.delete(CONFIG_MAPS, "a", namespace="default")
    world.changes.clear()
    async with asyncio.TaskGroup() as room:
        task = room.create_task(world.cache.run())
        await world.cache.complete()
        assert world.cache.get(key_of("a")) is None
        assert [(each.key.name, each.after) for each in world.changes] == [("a", None)]
        task.cancel()


# --- which kinds there are ----------------------------------------------------------------------------


async def test_discovery_that_fails_is_told_to_those_who_wait_and_tried_again() -> None:
    clock = ManualClock()
    troubled = await filled(config_map("a"))
    troubled.discovering = ClusterUnreachable("discover", "no answer")
    async with running(troubled, clock=clock, wait=False) as world:
        with pytest.raises(ClusterUnreachable):
            await world.cache.complete()
        assert world.cache.facts().errors == ("discover: no answer.",)
        with pytest.raises(Unavailable):
            world.cache.resource_for("v1", "ConfigMap")
        troubled.discovering = None
        await clock.advance(5)
        await world.cache.complete()
        assert world.cache.get(key_of("a")) is not None


async def test_a_kind_that_is_declared_is_watched_and_one_that_is_withdrawn_takes_its_objects_along() -> None:
    async with running() as world:
        asked = world.troubled.count("discover")
        await world.create(CRDS, definition("v1"))
        await world.until(lambda: world.cache.knows("example.com", "Widget", "default"))
        await world.create(WIDGETS, widget("w"))
        await world.until(lambda: world.names("Widget"))
        assert world.cache.resource_for("example.com/v1", "Widget").plural == "widgets"
        await world.troubled.inner.delete(CRDS, "widgets.example.com")
        await world.until(lambda: not world.cache.catalog.preferred("example.com", "Widget"))
        await world.until(lambda: world.cache.get(key_of("w", "Widget", "example.com")) is None)
        await world.until(lambda: not world.cache.knows("example.com", "Widget", "default"))
        assert [each.after is None for each in world.changes if each.key.kind == "Widget"] == [False, True]
        assert world.troubled.count("discover") == asked, "definitions say themselves what they declare"
        with pytest.raises(Missing, match="no such kind"):
            world.cache.resource_for("example.com/v1", "Widget")


async def test_a_kind_that_is_no_longer_served_in_the_watched_version_is_watched_in_another() -> None:
    async with running() as world:
        await world.create(CRDS, definition("v1", "v1beta1"))
        await world.until(lambda: world.cache.knows("example.com", "Widget", "default"))
        await world.create(WIDGETS, widget("w"))
        name = key_of("w", "Widget", "example.com")
        await world.until(lambda: world.cache.get(name))
        fewer = definition("v1", "v1beta1", served="v1beta1")
        await world.troubled.inner.apply(CRDS, "widgets.example.com", fewer, force=True)

        def version() -> str:
            held = world.cache.get(name)
            return held.api_version if held else ""

        await world.until(lambda: version() == "example.com/v1beta1")
        with pytest.raises(Missing, match=r"served as example\.com/v1beta1 only"):
            world.cache.resource_for("example.com/v1", "Widget")
        assert [each.after is None for each in world.changes if each.key == name] == [False, False]


async def test_many_definitions_at_once_are_one_rearrangement() -> None:
    clock = ManualClock()
    async with running(clock=clock, settings=CacheSettings()) as world:
        kinds = [f"Gadget{letter}" for letter in "abcdef"]
        for of in kinds:
            await world.create(CRDS, definition("v1", of=of))
        await clock.advance(0.1)
        assert not any(world.cache.catalog.preferred("example.com", of) for of in kinds)
        await clock.advance(0.2)
        assert all(world.cache.knows("example.com", of, "default") for of in kinds)
        assert world.troubled.count("discover") == 1


async def test_a_group_that_does_not_answer_keeps_its_kinds_and_objects() -> None:
    troubled = Troubled()
    async with running(troubled) as world:
        await world.create(CRDS, definition("v1"))
        await world.until(lambda: world.cache.knows("example.com", "Widget", "default"))
        troubled.hidden, troubled.failed = {"Widget"}, {"example.com/v1": "no answer"}
        world.cache.invalidate()
        await world.until(lambda: world.cache.facts().errors)
        assert world.cache.catalog.preferred("example.com", "Widget") is not None


async def test_a_kind_that_discovery_no_longer_lists_is_gone_with_its_objects() -> None:
    clock = ManualClock()
    troubled = await filled(config_map("a"))
    async with running(troubled, clock=clock) as world:
        troubled.hidden.add("ConfigMap")
        await clock.advance(QUICK.discover_every.total_seconds() * 1.2)
        assert world.cache.get(key_of("a")) is None
        assert [each.after for each in world.changes if each.key == key_of("a")][-1] is None


async def test_a_kind_that_answers_not_found_is_asked_for_in_discovery_and_tried_again() -> None:
    clock = ManualClock()
    troubled = await filled(config_map("a"))
    troubled.refusing["ConfigMap"] = refusal(404)
    async with running(troubled, clock=clock) as world:
        assert world.status(CONFIG_MAPS).reading is Reading.UNSERVED
        assert not world.cache.knows("", "ConfigMap", "default")
        await clock.advance(1)
        assert troubled.count("discover") > 1
        troubled.refusing.clear()
        await clock.advance(10)
        assert world.cache.knows("", "ConfigMap", "default")


@pytest.mark.fact("C40")
async def test_a_verb_that_a_kind_has_one_it_lacks_and_an_unknown_kind_are_three_answers() -> None:
    async with running() as world:
        assert world.cache.resource_for("v1", "ConfigMap", "list").plural == "configmaps"
        with pytest.raises(InvalidSpec, match="does not offer dance"):
            world.cache.resource_for("v1", "ConfigMap", "dance")
        with pytest.raises(Missing, match="no such kind"):
            world.cache.resource_for("v1", "Unicorn", "list")
        assert world.cache.namespaced("", "ConfigMap")
        assert not world.cache.namespaced("", "Namespace")
        with pytest.raises(Missing, match=r"Unicorn\.example\.com"):
            world.cache.namespaced("example.com", "Unicorn")


# --- how far it reaches -------------------------------------------------------------------------------


@pytest.mark.fact("C2")
async def test_with_namespaces_named_nothing_is_listed_or_watched_outside_of_them() -> None:
    troubled = Troubled()
    for namespace in ("a", "b", "c"):
        await troubled.inner.create(kind("Namespace", namespaced=False), {"metadata": {"name": namespace}})
        await troubled.inner.create(CONFIG_MAPS, config_map("x"), namespace=namespace)
    async with running(troubled, reach=Reach(namespaces=("a", "b"))) as world:
        found = {name: world.cache.get(key("x", namespace=name)) is not None for name in "abc"}
        assert found == {"a": True, "b": True, "c": False}
        assert {where for verb, _, where in troubled.asked if verb in ("list", "watch")} == {"a", "b"}
        assert world.cache.knows("", "ConfigMap", "a")
        assert not world.cache.knows("", "ConfigMap", "c")
        assert not world.cache.knows("", "Namespace", "")


async def test_with_cluster_resources_allowed_only_those_are_read_without_a_namespace() -> None:
    troubled = Troubled()
    async with running(troubled, reach=Reach(namespaces=("default",), cluster_resources=True)) as world:
        wide = {of for verb, of, where in troubled.asked if verb == "list" and not where}
        assert wide
        assert not any(world.cache.namespaced(*pair) for pair in kinds_named(world, wide))
        assert world.cache.knows("", "Namespace", "")


def kinds_named(world: World, names: set[str]) -> list[tuple[str, str]]:
    return [each for each in world.cache.catalog.kinds if each[1] in names]


@pytest.mark.fact("C8")
async def test_objects_outside_the_reach_are_refused_by_name() -> None:
    async with running(reach=Reach(namespaces=("default",))) as world:
        world.cache.check_reach([key_of("a")])
        with pytest.raises(OutsideReach, match="ConfigMap shop/a"):
            world.cache.check_reach([key_of("b"), key("a")])


@pytest.mark.fact("C37")
async def test_a_changed_reach_keeps_what_still_counts_and_forgets_the_rest_without_calling_it_gone() -> None:
    troubled = await filled(config_map("a"))
    async with running(troubled) as world:
        world.changes.clear()
        world.cache.change(reach=Reach(namespaces=("default",)))
        assert world.cache.get(key_of("a")) is not None, "readable meanwhile"
        assert not world.cache.knows("", "ConfigMap", "default")
        assert world.cache.get(key("default", "Namespace")) is None
        await world.until(lambda: world.cache.knows("", "ConfigMap", "default"))
        assert world.changes == []
        assert world.audience.removals() == []
        world.cache.change(reach=Reach())
        await world.until(lambda: world.cache.knows("", "Namespace", ""))
        assert world.cache.get(key("default", "Namespace")) is not None


async def test_a_cache_that_shall_watch_nothing_is_complete() -> None:
    async with running(await filled(config_map("a")), chosen=ResourceFilter(exclusions=(Rule(),))) as world:
        assert world.cache.kinds() == ()
        assert not world.cache.knows("", "ConfigMap", "default")


async def test_a_reach_that_changes_while_the_cache_stands_still_holds_when_it_runs_again() -> None:
    async with running(await filled(config_map("a"))) as world:
        pass
    world.cache.change(reach=Reach(namespaces=("kube-system",)))
    async with listening(world.cache):
        assert world.cache.get(key_of("a")) is None
        assert world.audience.removals() == []


async def test_a_changed_filter_starts_and_ends_what_it_concerns_alone() -> None:
    troubled = await filled(config_map("a"))
    async with running(troubled) as world:
        troubled.asked.clear()
        world.cache.change(chosen=ResourceFilter(exclusions=(Rule(kinds=("ConfigMap",)),)))
        assert world.cache.get(key_of("a")) is None
        assert not world.cache.knows("", "ConfigMap", "default")
        world.cache.change(chosen=ResourceFilter(exclusions=(Rule(kinds=("Secret",)),)))
        await world.until(lambda: world.cache.knows("", "ConfigMap", "default"))
        listed = {of for verb, of, _ in troubled.asked if verb == "list"}
        assert "ConfigMap" in listed
        assert not listed & {"Pod", "Node", "Secret"}


async def test_a_listener_may_change_the_rules_while_it_is_told_of_a_change() -> None:
    troubled = await filled(*(config_map(f"c-{number}") for number in range(30)))
    cache = ClusterCache(troubled.cluster, QUICK, TRACKING)

    def leave_out(change: Change) -> None:
        if change.key.kind == "ConfigMap":
            cache.change(chosen=ResourceFilter(exclusions=(Rule(kinds=("ConfigMap",)),)))

    cache.subscribe(leave_out)
    async with listening(cache) as audience:
        assert audience.readings().keys() == {Reading.FOLLOWING}
        assert not cache.knows("", "ConfigMap", "default")
        assert len(audience.told("ConfigMap")) == 1
        assert [cache.get(key_of(f"c-{number}")) for number in range(30)] == [None] * 30


async def test_another_way_of_marking_makes_every_record_anew_and_readable_meanwhile() -> None:
    troubled = await filled(config_map("a", "shop"))
    async with running(troubled) as world:
        other = OwnerAnnotation("elsewhere")
        troubled.hanging.add("ConfigMap")
        world.cache.change(tracking=other)
        assert world.cache.managed(SHOP) != ()
        assert not world.cache.knows("", "ConfigMap", "default")
    health = Health(HealthStatus.DEGRADED, "so it says")
    async with running(await filled(config_map("a"))) as world:
        world.cache.change(judge=lambda _, __: health)
        await world.cache.complete()
        held = world.cache.get(key_of("a"))
        assert held is not None
        assert held.health == health


def health_everywhere(told: KubeObject, _: Resource) -> Health | None:
    return Health(HealthStatus.HEALTHY, told.metadata.name)


def is_judged(cache: ClusterCache, name: str) -> bool:
    held = cache.get(key_of(name))
    return held is not None and held.health is not None


async def test_rules_that_change_while_the_cache_stands_still_hold_when_it_runs_again() -> None:
    async with running(await filled(config_map("a"))) as world:
        pass
    assert not is_judged(world.cache, "a")
    world.cache.change(judge=health_everywhere)
    async with listening(world.cache):
        assert is_judged(world.cache, "a")


async def test_a_renewal_that_is_interrupted_begins_again() -> None:
    troubled = await filled(config_map("a"), config_map("b"))
    async with running(troubled) as world:
        troubled.refusing_second_page["ConfigMap"] = refusal(403)
        world.cache.change(judge=health_everywhere)
        await world.cache.complete()
        assert {is_judged(world.cache, name) for name in "ab"} == {True, False}
        troubled.refusing_second_page.clear()
        world.cache.invalidate()
        await world.cache.complete()
        assert all(is_judged(world.cache, name) for name in "ab")


async def test_rules_that_stay_the_same_start_nothing_afresh() -> None:
    async with running(await filled(config_map("a")), judge=health_everywhere) as world:
        world.troubled.asked.clear()
        world.cache.change(
            settings=QUICK, tracking=OwnerAnnotation("here"), reach=Reach(), judge=health_everywhere
        )
        assert world.cache.knows("", "ConfigMap", "default")
        await world.create(CONFIG_MAPS, config_map("b"))
        await world.until(lambda: world.cache.get(key_of("b")))
        assert world.troubled.asked == []


async def test_records_are_made_anew_once_and_not_again_with_every_reading() -> None:
    judged: list[str] = []

    def judge(told: KubeObject, _: Resource) -> Health | None:
        judged.append(told.metadata.name)
        return None

    clock = ManualClock()
    async with running(await filled(config_map("a")), clock=clock) as world:
        world.cache.change(judge=judge)
        await world.cache.complete()
        world.troubled.failing_next["ConfigMap"] = refusal(410)
        await world.create(CONFIG_MAPS, config_map("b"))
        await clock.advance(5)
        assert world.troubled.count("list", "ConfigMap") == 3
        assert (judged.count("a"), judged.count("b")) == (1, 1)
        world.cache.invalidate()
        await world.cache.complete()
        assert world.troubled.count("list", "ConfigMap") == 4
        assert (judged.count("a"), judged.count("b")) == (1, 1)


async def test_a_judge_that_stumbles_over_an_object_leaves_its_health_unknown() -> None:
    def stumble(told: KubeObject, resource: Resource) -> Health | None:
        raise KeyError("status")

    async with running(await filled(config_map("a")), judge=stumble) as world:
        held = world.cache.get(key_of("a"))
        assert held is not None
        assert held.health == Health(HealthStatus.UNKNOWN, "it cannot be judged: KeyError")


# --- asking the cluster itself ------------------------------------------------------------------------


async def test_objects_of_kinds_that_are_not_watched_are_read_from_the_cluster() -> None:
    troubled = await filled(config_map("a", "shop", x="1"))
    left_out = ResourceFilter(exclusions=(Rule(kinds=("ConfigMap",)),))
    async with running(troubled, chosen=left_out) as world:
        found = await world.cache.fetch([key_of("a"), key_of("b")])
        one = found[key_of("a")]
        assert one is not None
        assert (one.live.mark, one.manifest["data"]) == (SHOP, {"x": "1"})
        assert found[key_of("b")] is None
        with pytest.raises(Missing):
            await world.cache.fetch([key_of("u", "Unicorn")])


async def test_a_manifest_in_the_watched_version_costs_no_request_and_in_another_one() -> None:
    troubled = Troubled()
    await troubled.inner.create(CRDS, definition("v1", "v1beta1"))
    await troubled.inner.create(WIDGETS, TRACKING.marked(widget("w"), "shop"), namespace="default")
    async with running(troubled) as world:
        name = key_of("w", "Widget", "example.com")
        kept = await world.cache.manifest_in(name, "example.com/v1")
        assert kept is not None
        assert troubled.count("get") == 0
        other = await world.cache.manifest_in(name, "example.com/v1beta1")
        assert other is not None
        assert (kept["apiVersion"], other["apiVersion"]) == ("example.com/v1", "example.com/v1beta1")
        assert troubled.count("get") == 1
        absent = key_of("x", "Widget", "example.com")
        assert await world.cache.manifest_in(absent, "example.com/v1beta1") is None
        assert troubled.count("get") == 1, "a watched kind's absent object is known to be absent"


# --- memory -------------------------------------------------------------------------------------------


async def test_at_the_limit_bodies_are_given_up_and_read_again_and_nothing_else_is_lost() -> None:
    troubled = await filled(*(config_map(f"c-{number}", "shop", x=str(number)) for number in range(50)))
    settings = CacheSettings(memory=20_000, settle=QUICK.settle)
    async with running(troubled, settings=settings) as world:
        memory = world.cache.facts().memory
        assert memory.given_up > 0
        assert memory.is_over == (memory.records > 20_000)
        assert len(world.cache.managed(SHOP)) == 50
        digests = {live.digest for live in world.cache.managed(SHOP)}
        assert len(digests) == 50
        assert b"" not in digests
        name = key_of("c-0")
        assert world.cache.manifest(name) is None
        whole = await world.cache.manifest_in(name, "v1")
        assert whole is not None
        assert whole["data"] == {"x": "0"}
        assert world.audience.removals() == []


def live_of(world: World, name: str) -> Live:
    found = world.cache.get(key_of(name))
    assert found is not None
    return found


async def test_of_objects_marked_by_others_no_body_is_kept() -> None:
    helm = config_map("a")
    helm["metadata"]["annotations"] = {
        "meta.helm.sh/release-name": "web",
        "meta.helm.sh/release-namespace": "default",
    }
    async with running(await filled(helm, config_map("b", "shop"))) as world:
        assert live_of(world, "a").mark is not None
        assert world.cache.manifest(key_of("a")) is None
        assert live_of(world, "a").digest == b""
        assert world.cache.manifest(key_of("b")) is not None
