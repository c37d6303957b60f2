"""The embedded cluster through the `Cluster` protocol, in process and over HTTP."""

from __future__ import annotations

import asyncio
import base64
from contextlib import aclosing
from typing import Any

import pytest

from tests.kube.world import (
    ACCOUNTS,
    CONFIG_MAPS,
    DEFINITIONS,
    DEPLOYMENTS,
    NAMESPACES,
    SECRETS,
    config_map,
    deployment,
)
from trimtab.apiserver import MemoryCluster
from trimtab.errors import TrimtabError
from trimtab.kube.cluster import (
    AsOf,
    Cluster,
    Deletion,
    EventType,
    FieldValidation,
    PatchType,
    Propagation,
    Question,
    Selection,
    VersionMatch,
    WatchEvent,
    Write,
)
from trimtab.kube.failures import (
    AlreadyExists,
    ChangedMeanwhile,
    Expired,
    FieldConflict,
    InvalidObject,
    NotFound,
)
from trimtab.kube.http import HttpCluster
from trimtab.kube.objects import KubeObject
from trimtab.kube.picture import Complete, Upserted
from trimtab.kube.watch import follow
from trimtab.tasks.clock import ManualClock

NS = "default"


async def listed(cluster: MemoryCluster, **options: Any) -> list[str]:
    pages = cluster.list(CONFIG_MAPS, **options)
    return [each.metadata.name async for page in pages for each in page.objects]


async def test_a_fresh_cluster_has_its_namespaces(memory: MemoryCluster) -> None:
    pages = [page async for page in memory.list(NAMESPACES)]
    names = [each.metadata.name for page in pages for each in page.objects]
    assert names == ["default", "kube-node-lease", "kube-public", "kube-system"]


async def test_an_object_is_created_read_and_deleted(memory: MemoryCluster) -> None:
    made = await memory.create(CONFIG_MAPS, config_map("a", x="y"), namespace=NS)
    read = await memory.get(CONFIG_MAPS, "a", namespace=NS)
    assert read == made.object
    assert read.manifest()["data"] == {"x": "y"}
    assert read.metadata.creation_timestamp == "2026-01-01T00:00:00Z"
    assert await memory.delete(CONFIG_MAPS, "a", namespace=NS) is None
    with pytest.raises(NotFound):
        await memory.get(CONFIG_MAPS, "a", namespace=NS)


async def test_the_clock_stamps_objects(memory: MemoryCluster, clock: ManualClock) -> None:
    await clock.advance(3600)
    made = await memory.create(CONFIG_MAPS, config_map("a"), namespace=NS)
    assert made.object.metadata.creation_timestamp == "2026-01-01T01:00:00Z"


async def test_a_name_is_made_up_from_a_prefix(memory: MemoryCluster) -> None:
    made = await memory.create(CONFIG_MAPS, {"metadata": {"generateName": "job-"}}, namespace=NS)
    assert made.object.metadata.name.startswith("job-")
    assert len(made.object.metadata.name) == len("job-") + 5


async def test_refusals_are_the_errors_everybody_knows(memory: MemoryCluster) -> None:
    made = await memory.create(CONFIG_MAPS, config_map("a"), namespace=NS)
    with pytest.raises(AlreadyExists):
        await memory.create(CONFIG_MAPS, config_map("a"), namespace=NS)
    with pytest.raises(InvalidObject) as invalid:
        await memory.create(CONFIG_MAPS, config_map("A_"), namespace=NS)
    assert [cause.field for cause in invalid.value.status.causes] == ["metadata.name"]
    await memory.update(CONFIG_MAPS, "a", config_map("a", x="y"), namespace=NS)
    with pytest.raises(ChangedMeanwhile):
        await memory.update(CONFIG_MAPS, "a", made.object.manifest(), namespace=NS)


async def test_what_is_deep_is_kept_and_read_as_clients_read_it(memory: MemoryCluster) -> None:
    deep = b'{"a":' * 2000 + b"1" + b"}" * 2000
    revisions = (await memory.discover()).preferred("apps", "ControllerRevision")
    assert revisions is not None
    body = b'{"metadata":{"name":"a"},"revision":1,"data":' + deep + b"}"
    made = await memory.create(revisions, body, namespace=NS)
    kept = await memory.get(revisions, "a", namespace=NS)
    assert kept.manifest() == made.object.manifest()
    found = kept.manifest()["data"]
    for _ in range(200):
        found = found["a"]
    assert found != {}


async def test_an_unknown_kind_is_not_found(memory: MemoryCluster) -> None:
    unknown = DEPLOYMENTS.__class__(group="x", version="v1", kind="X", plural="xs", namespaced=True)
    with pytest.raises(NotFound):
        await memory.get(unknown, "a", namespace=NS)


async def test_dry_runs_leave_nothing_behind(memory: MemoryCluster) -> None:
    trying = Write(dry_run=True)
    made = await memory.create(CONFIG_MAPS, config_map("a"), namespace=NS, write=trying)
    assert made.object.metadata.uid
    assert await listed(memory, namespace=NS) == []
    await memory.create(CONFIG_MAPS, config_map("a"), namespace=NS)
    before = memory.api.store.revision
    await memory.update(CONFIG_MAPS, "a", config_map("a", x="y"), namespace=NS, write=trying)
    await memory.delete(CONFIG_MAPS, "a", namespace=NS, how=Deletion(dry_run=True))
    assert memory.api.store.revision == before


async def test_unknown_fields_are_warned_of_or_refused(memory: MemoryCluster) -> None:
    odd = {**config_map("a"), "foo": 1}
    made = await memory.create(CONFIG_MAPS, odd, namespace=NS)
    assert made.warnings == ('unknown field "foo"',)
    assert "foo" not in made.object.manifest()
    strictly = Write(validation=FieldValidation.STRICT)
    with pytest.raises(InvalidObject, match="strict decoding error"):
        await memory.update(CONFIG_MAPS, "a", odd, namespace=NS, write=strictly)


async def test_nothing_changes_when_nothing_changed(memory: MemoryCluster, clock: ManualClock) -> None:
    made = await memory.create(DEPLOYMENTS, deployment("web"), namespace=NS)
    await clock.advance(60)
    again = await memory.update(DEPLOYMENTS, "web", deployment("web"), namespace=NS)
    assert again.object.metadata.resource_version == made.object.metadata.resource_version


async def test_generation_counts_changes_of_the_spec_alone(memory: MemoryCluster) -> None:
    await memory.create(DEPLOYMENTS, deployment("web"), namespace=NS)
    scaled = await memory.patch(
        DEPLOYMENTS, "web", {"spec": {"replicas": 2}}, how=PatchType.MERGE, namespace=NS
    )
    assert scaled.object.metadata.generation == 2
    reported = await memory.patch(
        DEPLOYMENTS,
        "web",
        {"status": {"replicas": 2}, "spec": {"replicas": 9}},
        how=PatchType.MERGE,
        namespace=NS,
        subresource="status",
    )
    manifest = reported.object.manifest()
    assert (manifest["metadata"]["generation"], manifest["spec"]["replicas"]) == (2, 2)
    assert manifest["status"] == {"replicas": 2}


async def test_appliers_conflict_over_fields(memory: MemoryCluster) -> None:
    config = deployment("web", replicas=1)
    await memory.apply(DEPLOYMENTS, "web", config, namespace=NS, write=Write(manager="a"))
    other = {**config, "spec": {**config["spec"], "replicas": 5}}
    with pytest.raises(FieldConflict) as conflict:
        await memory.apply(DEPLOYMENTS, "web", other, namespace=NS, write=Write(manager="b"))
    assert [cause.field for cause in conflict.value.status.causes] == [".spec.replicas"]
    forced = await memory.apply(DEPLOYMENTS, "web", other, namespace=NS, write=Write(manager="b"), force=True)
    assert forced.object.manifest()["spec"]["replicas"] == 5


async def test_pages_of_one_list_show_one_version(memory: MemoryCluster) -> None:
    for name in ("a", "b", "c"):
        await memory.create(CONFIG_MAPS, config_map(name), namespace=NS)
    found: list[KubeObject] = []
    async with aclosing(memory.list(CONFIG_MAPS, namespace=NS, page_size=1)) as pages:
        async for page in pages:
            found.extend(page.objects)
            await memory.create(CONFIG_MAPS, {"metadata": {"generateName": "z"}}, namespace=NS)
            await memory.delete_all(CONFIG_MAPS, namespace=NS, select=Selection(fields="metadata.name=c"))
    assert [each.metadata.name for each in found] == ["a", "b", "c"]


async def test_pages_whose_version_is_gone_expire_and_say_how_to_go_on(memory: MemoryCluster) -> None:
    for name in ("a", "b"):
        await memory.create(CONFIG_MAPS, config_map(name), namespace=NS)
    async with aclosing(memory.list(CONFIG_MAPS, namespace=NS, page_size=1)) as pages:
        await anext(pages)
        await memory.create(CONFIG_MAPS, config_map("c"), namespace=NS)
        memory.api.store.compact()
        with pytest.raises(Expired, match="continue parameter is too old"):
            await anext(pages)


async def test_a_past_version_can_be_asked_for(memory: MemoryCluster) -> None:
    made = await memory.create(CONFIG_MAPS, config_map("a"), namespace=NS)
    then = made.object.metadata.resource_version
    await memory.create(CONFIG_MAPS, config_map("b"), namespace=NS)
    exactly = AsOf(resource_version=then, match=VersionMatch.EXACT)
    assert await listed(memory, namespace=NS, as_of=exactly) == ["a"]
    since = AsOf(resource_version=then, match=VersionMatch.NOT_OLDER_THAN)
    assert await listed(memory, namespace=NS, as_of=since) == ["a", "b"]


async def test_a_watch_tells_what_happens_after_a_version(memory: MemoryCluster) -> None:
    made = await memory.create(CONFIG_MAPS, config_map("a"), namespace=NS)
    since = made.object.metadata.resource_version
    async with memory.watch(CONFIG_MAPS, since=since, namespace=NS) as events:
        await memory.create(CONFIG_MAPS, config_map("b"), namespace=NS)
        await memory.create(CONFIG_MAPS, config_map("c"), namespace="kube-system")
        await memory.delete(CONFIG_MAPS, "a", namespace=NS)
        heard = [await anext(events) for _ in range(2)]
    told = [(event.type, event.object.metadata.name) for event in heard]
    assert told == [(EventType.ADDED, "b"), (EventType.DELETED, "a")]


async def test_objects_come_into_view_of_a_selective_watch_and_leave_it(memory: MemoryCluster) -> None:
    async with memory.watch(
        CONFIG_MAPS, since=str(memory.api.store.revision), select=Selection(labels="l=x")
    ) as events:
        await memory.create(CONFIG_MAPS, config_map("a", labels={"l": "y"}), namespace=NS)
        for label in ("x", "y"):
            patch = {"metadata": {"labels": {"l": label}}}
            await memory.patch(CONFIG_MAPS, "a", patch, how=PatchType.MERGE, namespace=NS)
        heard = [await anext(events) for _ in range(2)]
    assert [event.type for event in heard] == [EventType.ADDED, EventType.DELETED]
    left = heard[1].object
    assert left.metadata.labels == {"l": "x"}
    assert left.metadata.resource_version == str(memory.api.store.revision)


async def test_a_watch_can_begin_with_what_exists(memory: MemoryCluster) -> None:
    await memory.create(CONFIG_MAPS, config_map("a"), namespace=NS)
    async with memory.watch(CONFIG_MAPS, since="", namespace=NS, initial=True) as events:
        first, mark = await anext(events), await anext(events)
    assert (first.type, first.object.metadata.name) == (EventType.ADDED, "a")
    assert mark.type is EventType.BOOKMARK
    assert mark.object.metadata.annotations == {"k8s.io/initial-events-end": "true"}


async def test_a_watch_whose_place_is_gone_expires(memory: MemoryCluster) -> None:
    await memory.create(CONFIG_MAPS, config_map("a"), namespace=NS)
    memory.api.store.compact()
    async with memory.watch(CONFIG_MAPS, since="2") as events:
        with pytest.raises(Expired, match="too old resource version: 2"):
            await anext(events)


async def test_our_own_follow_works_on_it(memory: MemoryCluster) -> None:
    await memory.create(CONFIG_MAPS, config_map("a"), namespace=NS)
    async with aclosing(follow(memory, CONFIG_MAPS, namespace=NS)) as news:
        first, complete = await anext(news), await anext(news)
        await memory.create(CONFIG_MAPS, config_map("b"), namespace=NS)
        second = await anext(news)
    assert isinstance(complete, Complete)
    assert [each.object.metadata.name for each in (first, second) if isinstance(each, Upserted)] == ["a", "b"]


async def test_finalizers_keep_an_object_until_they_are_gone(memory: MemoryCluster) -> None:
    body = {**config_map("a"), "metadata": {"name": "a", "finalizers": ["x.example/y"]}}
    await memory.create(CONFIG_MAPS, body, namespace=NS)
    left = await memory.delete(CONFIG_MAPS, "a", namespace=NS)
    assert left is not None
    assert left.metadata.deletion_timestamp
    await memory.patch(
        CONFIG_MAPS, "a", {"metadata": {"finalizers": None}}, how=PatchType.MERGE, namespace=NS
    )
    assert await listed(memory, namespace=NS) == []


@pytest.mark.parametrize(
    ("policy", "finalizers"),
    [(Propagation.ORPHAN, ("orphan",)), (Propagation.FOREGROUND, ("foregroundDeletion",))],
)
async def test_the_wish_for_dependants_is_noted_as_a_finalizer(
    memory: MemoryCluster, policy: Propagation, finalizers: tuple[str, ...]
) -> None:
    await memory.create(CONFIG_MAPS, config_map("a"), namespace=NS)
    left = await memory.delete(CONFIG_MAPS, "a", namespace=NS, how=Deletion(propagation=policy))
    assert left is not None
    assert left.metadata.finalizers == finalizers


async def test_everything_is_allowed_and_said_so(memory: MemoryCluster) -> None:
    question = Question(verb="delete", resource=CONFIG_MAPS)
    assert (await memory.may(question)).allowed
    assert (await memory.version()).git_version == "v1.36.3"


async def test_schemas_are_told_per_group_version(memory: MemoryCluster) -> None:
    document = await memory.schema("apps/v1")
    assert b"io.k8s.api.apps.v1.Deployment" in document
    with pytest.raises(Exception, match="does not serve"):
        await memory.schema("nowhere/v1")


async def test_the_same_over_http(over_http: HttpCluster) -> None:
    discovery = await over_http.discover()
    maps = discovery.preferred("", "ConfigMap")
    assert maps is not None
    made = await over_http.create(maps, config_map("a", x="y"), namespace=NS)
    assert (await over_http.get(maps, "a", namespace=NS)).raw == made.object.raw
    heard: list[WatchEvent] = []
    async with asyncio.timeout(60):
        async with over_http.watch(maps, since=made.object.metadata.resource_version) as events:
            await over_http.delete(maps, "a", namespace=NS)
            heard.append(await anext(aiter(events)))
    assert [event.type for event in heard] == [EventType.DELETED]
    assert b"ConfigMap" in await over_http.schema("v1")
    assert (await over_http.may(Question(verb="get", resource=maps))).allowed


CANARY = "canary-5b1f"
HELD = base64.b64encode(CANARY.encode()).decode()
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"k": HELD}}
#: requests that are refused with words that quote what was sent, or what is kept
LEAKY: dict[str, tuple[str, Any]] = {
    "a bad value": ("create", {**SECRET, "data": {"k": f"{CANARY} is no base64"}}),
    "a bad key": ("create", {**SECRET, "data": {CANARY + " !": HELD}, "stringData": {"x": CANARY}}),
    "a value of another type": ("create", {**SECRET, "data": {"k": [CANARY]}}),
    "a type that may not change": ("update", {**SECRET, "type": "other", "stringData": {"x": CANARY}}),
    "a patch to nonsense": ("patch", {"data": {"k": {CANARY: CANARY}}}),
    "an unknown field": ("strict", {**SECRET, "stringData": {"k": CANARY}, CANARY: {}}),
}


@pytest.mark.parametrize("what", LEAKY)
async def test_refusals_of_a_secret_repeat_none_of_its_values_in_process_or_over_http(
    what: str, memory: MemoryCluster, over_http: HttpCluster
) -> None:
    told = [await _told_about(cluster, *LEAKY[what]) for cluster in (memory, over_http)]
    assert told[0] == told[1]
    values = [value for value in (CANARY, HELD) if value != _key_of(what)]
    assert not [value for value in values if value in told[0]], told[0]


def _key_of(what: str) -> str:
    """Names of fields and keys are no secrets: they may be told."""
    return CANARY if what in ("a bad key", "an unknown field") else ""


async def _told_about(cluster: Cluster, verb: str, body: Any) -> str:
    if verb in ("update", "patch"):
        await cluster.create(SECRETS, SECRET, namespace=NS)
    with pytest.raises(TrimtabError) as refused:
        await _sent(cluster, verb, body)
    error = refused.value
    return f"{error.subject} | {error} | {getattr(error, 'status', '')}"


async def _sent(cluster: Cluster, verb: str, body: Any) -> None:
    match verb:
        case "update":
            await cluster.update(SECRETS, "s", body, namespace=NS)
        case "patch":
            await cluster.patch(SECRETS, "s", body, how=PatchType.MERGE, namespace=NS)
        case _:
            how = FieldValidation.STRICT if verb == "strict" else FieldValidation.WARN
            await cluster.create(SECRETS, body, namespace=NS, write=Write(validation=how))


async def test_a_deleted_object_is_gone_whatever_its_kind_answers(
    memory: MemoryCluster, over_http: HttpCluster
) -> None:
    for cluster in (memory, over_http):
        await cluster.create(ACCOUNTS, {"metadata": {"name": "a"}}, namespace=NS)
        assert await cluster.delete(ACCOUNTS, "a", namespace=NS) is None


def _with_versions(*versions: str, storage: str) -> dict[str, Any]:
    """A definition of things in several versions."""
    schema = {"openAPIV3Schema": {"type": "object"}}
    served = [
        {"name": name, "served": True, "storage": name == storage, "schema": schema} for name in versions
    ]
    names = {"kind": "Thing", "plural": "things"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": served}
    return {"metadata": {"name": "things.example.com"}, "spec": spec}


async def test_objects_of_a_version_that_was_given_up_cannot_be_read(memory: MemoryCluster) -> None:
    """The real server says the same; it is not asked here, to leave it no objects that it cannot read."""
    name = "things.example.com"
    await memory.create(DEFINITIONS, _with_versions("v1", "v2", storage="v1"))
    discovery = await memory.discover()
    old, new = (discovery.resource(f"example.com/{version}", "Thing") for version in ("v1", "v2"))
    assert old is not None
    assert new is not None
    body = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}}
    await memory.create(old, body, namespace=NS)
    both, one = _with_versions("v1", "v2", storage="v2"), _with_versions("v2", storage="v2")
    status = {"status": {"storedVersions": ["v2"]}}
    await memory.patch(DEFINITIONS, name, both, how=PatchType.MERGE)
    await memory.patch(DEFINITIONS, name, status, how=PatchType.MERGE, subresource="status")
    await memory.patch(DEFINITIONS, name, one, how=PatchType.MERGE)
    with pytest.raises(TrimtabError, match=r"convert CR from an invalid group/version: example\.com/v1"):
        await memory.get(new, "a", namespace=NS)
