"""The cache on real API servers: rights, kinds that come and go, lost history, restarts, rollouts."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from testbed.controlplane import ControlPlane, User
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
    widget,
)
from tests.kube.world import connect_to, deployment
from trimtab.engine.cache import ClusterCache
from trimtab.engine.cache.reach import Reach
from trimtab.engine.cache.states import Reading
from trimtab.engine.health import HealthStatus
from trimtab.resources.keys import ResourceKey
from trimtab.settings import CacheSettings

if TYPE_CHECKING:
    from testbed.fixtures import ControlPlanes
    from trimtab.kube.http import HttpCluster

SHOP = TRACKING.mark_for("shop")
SETTINGS = CacheSettings(
    settle=timedelta(milliseconds=20), retry_refused=timedelta(seconds=1), discover_every=timedelta(hours=1)
)


def watching(cluster: HttpCluster, **options: Any) -> AbstractAsyncContextManager[Audience]:
    return listening(ClusterCache(cluster, SETTINGS, TRACKING, **options))


async def test_a_rollout_hangs_below_its_deployment_gets_healthy_and_decides_nothing_by_itself(
    control_plane: ControlPlane, namespace: str
) -> None:
    async with connect_to(control_plane) as cluster, watching(cluster) as audience:
        cache, web = audience.cache, ResourceKey("apps", "Deployment", namespace, "web")
        whole = TRACKING.marked(deployment("web", replicas=2), "shop")
        await cluster.apply(DEPLOYMENTS, "web", whole, namespace=namespace)

        def is_healthy() -> bool:
            found = cache.get(web)
            return (
                found is not None and found.health is not None and found.health.status is HealthStatus.HEALTHY
            )

        # Each kind is heard by itself: the Deployment may be told healthy before its pods are told at all.
        await audience.until(lambda: is_healthy() and len(list(cache.tree([web]))) == 4)
        family = [each.live for each in cache.tree([web])]
        assert [each.key.kind for each in family] == ["Deployment", "ReplicaSet", "Pod", "Pod"]
        assert all(cache.claimant(each.key) == SHOP for each in family)
        assert [each.key for each in cache.managed(SHOP) if each.key.namespace == namespace] == [web]
        told = [each for each in audience.changes if each.key == web]
        digests = list(dict.fromkeys(each.after.digest for each in told if each.after is not None))
        # The controller writes the revision it gives as an annotation, once; all the rest was status.
        assert len(digests) <= 2 < len(told)
        assert cache.orphans(namespace) == ()


async def test_a_list_and_a_watch_spell_objects_alike_so_digests_agree(
    control_plane: ControlPlane, namespace: str
) -> None:
    async with connect_to(control_plane) as cluster, watching(cluster) as hearing:
        objects: list[tuple[str, Json]] = [
            ("Service", {"spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}}),
            ("ConfigMap", {"data": {"b": "<&>", "a": "ä\n"}}),
            ("Secret", {"stringData": {"password": "canary"}}),
            ("ServiceAccount", {}),
        ]
        for of, fields in objects:
            whole = {"apiVersion": "v1", "kind": of, "metadata": {"name": "one"}, **fields}
            resource = hearing.cache.resource_for("v1", of)
            await cluster.apply(resource, "one", TRACKING.marked(whole, "alike"), namespace=namespace)
        mark = TRACKING.mark_for("alike")
        await hearing.until(lambda: len(hearing.cache.managed(mark)) == len(objects))
        async with watching(cluster, reach=Reach(namespaces=(namespace,))) as reading:
            listed, heard = reading.cache.managed(mark), hearing.cache.managed(mark)
            assert listed == heard
            fetched = await reading.cache.fetch([each.key for each in listed])
            assert [each.live if each else None for each in fetched.values()] == list(listed)
            assert reading.cache.manifest(listed[0].key) == hearing.cache.manifest(listed[0].key)


async def test_kinds_that_may_not_be_read_are_told_and_the_others_are_read(
    control_plane: ControlPlane,
) -> None:
    async with connect_to(control_plane, user="reader") as cluster, watching(cluster) as audience:
        # A kind may be cut off for a moment; that goes on by itself.
        await audience.until(lambda: audience.readings().keys() == {Reading.REFUSED, Reading.FOLLOWING})
        found = audience.readings()
        assert {"Secret", "ClusterRole"} <= found[Reading.REFUSED]
        assert {"ConfigMap", "Pod", "Deployment"} <= found[Reading.FOLLOWING]
        assert not audience.cache.knows("", "Secret", "default")
        assert "cannot list resource" in audience.status("Secret").error


RIGHTS = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "Role",
    "metadata": {"name": "reads"},
    "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"]}],
}
BINDING = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "RoleBinding",
    "metadata": {"name": "dave-reads"},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reads"},
    "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "dave"}],
}
ROLES = "/apis/rbac.authorization.k8s.io/v1/namespaces/shop"


async def test_rights_in_one_namespace_suffice_and_losing_them_loses_nothing_but_knowledge(
    control_planes: ControlPlanes,
) -> None:
    plane = control_planes.start(users=[User("dave", ("developers",))])
    plane.add_namespace("shop")
    plane.call("POST", "/api/v1/namespaces/shop/configmaps", config_map("a", "shop"))
    config_map_a = ResourceKey("", "ConfigMap", "shop", "a")
    async with (
        connect_to(plane, user="dave") as cluster,
        watching(cluster, reach=Reach(namespaces=("shop",))) as audience,
    ):
        cache = audience.cache
        await audience.until(lambda: audience.readings().keys() == {Reading.REFUSED})
        plane.call("POST", f"{ROLES}/roles", RIGHTS)
        plane.call("POST", f"{ROLES}/rolebindings", BINDING)
        await audience.until(lambda: cache.knows("", "ConfigMap", "shop"))
        assert [each.key for each in cache.managed(SHOP)] == [config_map_a]
        assert audience.status("Secret", "shop").reading is Reading.REFUSED
        plane.call("DELETE", f"{ROLES}/rolebindings/dave-reads")
        await asyncio.to_thread(plane.restart_apiserver)
        await audience.until(lambda: audience.status("ConfigMap", "shop").reading is Reading.REFUSED)
        assert not cache.knows("", "ConfigMap", "shop")
        assert cache.get(config_map_a) is not None
        assert cache.manifest(config_map_a) is not None
        assert audience.removals() == []


async def test_kinds_come_and_go_with_their_definitions(control_planes: ControlPlanes) -> None:
    plane = control_planes.start()
    async with connect_to(plane) as cluster, watching(cluster) as audience:
        cache = audience.cache
        await cluster.create(CRDS, definition("v1alpha1", "v1"))
        await audience.until(lambda: cache.knows("example.com", "Widget", "default"))
        assert cache.resource_for("example.com/v1", "Widget") == cache.catalog.preferred(
            "example.com", "Widget"
        )
        discovered = (await cluster.discover()).preferred("example.com", "Widget")
        assert discovered is not None
        assert discovered.api_version == "example.com/v1"
        spec = {"spec": {"b": 1, "a": 1.5, "text": "<ä>", "list": [{"z": None, "y": []}]}}
        await cluster.create(WIDGETS, TRACKING.marked({**widget("w"), **spec}, "shop"), namespace="default")
        name = ResourceKey("example.com", "Widget", "default", "w")
        await audience.until(lambda: cache.get(name))
        read = (await cache.fetch([name]))[name]
        assert read is not None
        assert read.live == cache.get(name)
        await cluster.delete(CRDS, "widgets.example.com")
        await audience.until(lambda: cache.get(name) is None)
        await audience.until(lambda: not cache.knows("example.com", "Widget", "default"))
        await cluster.create(CRDS, definition("v1"))
        await audience.until(lambda: cache.knows("example.com", "Widget", "default"))
        assert cache.get(name) is None
        await asyncio.to_thread(add_one_nested_beyond_reason, plane)
        deep = ResourceKey("example.com", "Widget", "default", "deep")
        await audience.until(lambda: cache.get(deep))
        cache.invalidate()
        await cluster.create(WIDGETS, widget("w"), namespace="default")
        await audience.until(lambda: cache.get(name) and cache.knows("example.com", "Widget", "default"))
        assert cache.get(deep) is not None


def add_one_nested_beyond_reason(plane: ControlPlane) -> None:
    """Somebody makes an object that the server takes and that few clients can read."""
    head = '{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"deep"},"spec":'
    path = "/apis/example.com/v1/namespaces/default/widgets"
    plane.kubectl("create", "--raw", path, "-f", "-", stdin=f"{head}{'[' * 3000}{']' * 3000}}}")


async def test_a_server_that_comes_back_without_its_history_is_read_anew_and_nothing_is_taken_for_gone(
    control_planes: ControlPlanes,
) -> None:
    plane = control_planes.start(watch_cache=False)
    async with connect_to(plane) as cluster, watching(cluster) as audience:
        cache = audience.cache
        for name in ("a", "b"):
            await cluster.create(CONFIG_MAPS, config_map(name, "shop"), namespace="default")
        await audience.until(lambda: len(cache.managed(SHOP)) == 2)
        before = {each.scope: each.complete_at for each in cache.kinds()}
        await asyncio.to_thread(plane.compact)
        await asyncio.to_thread(plane.restart_apiserver)
        await cluster.create(CONFIG_MAPS, config_map("c", "shop"), namespace="default")
        await audience.until(lambda: len(cache.managed(SHOP)) == 3)
        await audience.until(lambda: all(each.is_current for each in cache.kinds()))
        again = [each.scope.kind for each in cache.kinds() if each.complete_at != before[each.scope]]
        assert len(again) > 20, "quiet kinds had nowhere to go on from"
        assert audience.removals() == []
