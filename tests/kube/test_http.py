"""HttpCluster against the real kube-apiserver: every verb, its options and its refusals."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from tests.kube.world import (
    ACCOUNTS,
    CONFIG_MAPS,
    DEPLOYMENTS,
    NAMESPACES,
    PODS,
    SECRETS,
    TokenAccess,
    config_map,
    connect_to,
    deployment,
    trusting,
)
from trimtab.kube.cluster import (
    NEWEST,
    AsOf,
    Deletion,
    EventType,
    FieldValidation,
    PatchType,
    Propagation,
    Question,
    Selection,
    VersionMatch,
    Write,
)
from trimtab.kube.failures import (
    AlreadyExists,
    ChangedMeanwhile,
    Expired,
    FieldConflict,
    Forbidden,
    InvalidObject,
    NotFound,
    Unauthenticated,
)
from trimtab.kube.http import connect
from trimtab.tasks import SystemClock

if TYPE_CHECKING:
    from testbed.controlplane import ControlPlane
    from trimtab.kube.http import HttpCluster
    from trimtab.kube.objects import KubeObject


async def test_an_object_arrives_as_typed_metadata_and_raw_bytes(
    cluster: HttpCluster, namespace: str
) -> None:
    created = await cluster.create(
        CONFIG_MAPS, config_map("a", {"tier": "web"}, key="value"), namespace=namespace
    )
    found = await cluster.get(CONFIG_MAPS, "a", namespace=namespace)
    assert found.metadata == created.object.metadata
    assert (found.metadata.name, found.metadata.namespace) == ("a", namespace)
    assert found.metadata.labels == {"tier": "web"}
    assert found.metadata.uid
    assert msgspec.json.decode(found.raw)["data"] == {"key": "value"}
    assert str(found.key) == f"ConfigMap {namespace}/a"


async def test_items_of_a_list_get_back_their_kind(cluster: HttpCluster, namespace: str) -> None:
    await cluster.create(DEPLOYMENTS, deployment("web"), namespace=namespace)
    (page,) = [page async for page in cluster.list(DEPLOYMENTS, namespace=namespace)]
    (listed,) = page.objects
    assert "kind" not in msgspec.json.decode(listed.raw)
    assert (listed.manifest()["apiVersion"], listed.manifest()["kind"]) == ("apps/v1", "Deployment")


async def test_a_list_comes_in_pages_of_one_version(cluster: HttpCluster, namespace: str) -> None:
    for number in range(7):
        await cluster.create(CONFIG_MAPS, config_map(f"cm-{number}"), namespace=namespace)
    pages = []
    async for page in cluster.list(
        CONFIG_MAPS,
        namespace=namespace,
        page_size=3,
        select=Selection(fields="metadata.name!=kube-root-ca.crt"),
    ):
        pages.append(page)
        if len(pages) == 1:
            await cluster.create(CONFIG_MAPS, config_map("late"), namespace=namespace)
    names = [each.metadata.name for page in pages for each in page.objects]
    assert names == [f"cm-{number}" for number in range(7)]
    assert len({page.resource_version for page in pages}) == 1
    assert [len(page.objects) for page in pages] == [3, 3, 1]


async def test_selectors_narrow_a_list(cluster: HttpCluster, namespace: str) -> None:
    await cluster.create(CONFIG_MAPS, config_map("red", {"colour": "red"}), namespace=namespace)
    await cluster.create(CONFIG_MAPS, config_map("blue", {"colour": "blue"}), namespace=namespace)
    assert await names(cluster, namespace, Selection(labels="colour in (red)")) == ["red"]
    assert await names(cluster, namespace, Selection(fields="metadata.name=blue")) == ["blue"]


async def names(cluster: HttpCluster, namespace: str, select: Selection, as_of: AsOf = NEWEST) -> list[str]:
    pages = cluster.list(CONFIG_MAPS, namespace=namespace, select=select, as_of=as_of)
    return [each.metadata.name async for page in pages for each in page.objects]


async def test_a_list_as_of_a_version_shows_that_version(cluster: HttpCluster, namespace: str) -> None:
    first = await cluster.create(CONFIG_MAPS, config_map("one", {"n": "1"}), namespace=namespace)
    await cluster.create(CONFIG_MAPS, config_map("two", {"n": "1"}), namespace=namespace)
    exactly = AsOf(resource_version=first.object.metadata.resource_version, match=VersionMatch.EXACT)
    at_least = AsOf(
        resource_version=first.object.metadata.resource_version, match=VersionMatch.NOT_OLDER_THAN
    )
    assert await names(cluster, namespace, Selection(labels="n=1"), exactly) == ["one"]
    assert await names(cluster, namespace, Selection(labels="n=1"), at_least) == ["one", "two"]


async def test_creating_twice_is_a_conflict_that_names_the_object(
    cluster: HttpCluster, namespace: str
) -> None:
    await cluster.create(CONFIG_MAPS, config_map("a"), namespace=namespace)
    with pytest.raises(AlreadyExists) as caught:
        await cluster.create(CONFIG_MAPS, config_map("a"), namespace=namespace)
    assert caught.value.subject == f"create ConfigMap {namespace}/a"
    assert caught.value.reason == 'configmaps "a" already exists'
    assert caught.value.status.code == 409


async def test_a_missing_object_is_missing(cluster: HttpCluster, namespace: str) -> None:
    with pytest.raises(NotFound) as caught:
        await cluster.get(CONFIG_MAPS, "nowhere", namespace=namespace)
    assert str(caught.value) == f'get ConfigMap {namespace}/nowhere: configmaps "nowhere" not found.'


async def test_an_update_of_an_old_state_is_refused(cluster: HttpCluster, namespace: str) -> None:
    created = await cluster.create(CONFIG_MAPS, config_map("a", key="1"), namespace=namespace)
    manifest = created.object.manifest()
    await cluster.update(CONFIG_MAPS, "a", manifest | {"data": {"key": "2"}}, namespace=namespace)
    with pytest.raises(ChangedMeanwhile):
        await cluster.update(CONFIG_MAPS, "a", manifest | {"data": {"key": "3"}}, namespace=namespace)
    assert (await data(cluster, namespace)) == {"key": "2"}


async def data(cluster: HttpCluster, namespace: str) -> Any:
    return (await cluster.get(CONFIG_MAPS, "a", namespace=namespace)).manifest().get("data")


@pytest.mark.parametrize(
    ("how", "patch"),
    [
        (PatchType.MERGE, {"data": {"key": None, "other": "1"}}),
        (PatchType.STRATEGIC, {"data": {"key": None, "other": "1"}}),
        (
            PatchType.JSON,
            [{"op": "remove", "path": "/data/key"}, {"op": "add", "path": "/data/other", "value": "1"}],
        ),
    ],
)
async def test_every_way_to_patch_changes_the_object(
    cluster: HttpCluster, namespace: str, how: PatchType, patch: Any
) -> None:
    await cluster.create(CONFIG_MAPS, config_map("a", key="1"), namespace=namespace)
    await cluster.patch(CONFIG_MAPS, "a", patch, how=how, namespace=namespace)
    assert await data(cluster, namespace) == {"other": "1"}


async def test_an_apply_creates_changes_and_takes_back(cluster: HttpCluster, namespace: str) -> None:
    await cluster.apply(CONFIG_MAPS, "a", config_map("a", one="1", two="2"), namespace=namespace)
    await cluster.apply(CONFIG_MAPS, "a", config_map("a", one="1"), namespace=namespace)
    assert await data(cluster, namespace) == {"one": "1"}


async def test_an_apply_over_another_managers_field_names_field_and_manager(
    cluster: HttpCluster, namespace: str
) -> None:
    other = Write(manager="somebody")
    await cluster.apply(CONFIG_MAPS, "a", config_map("a", one="theirs"), namespace=namespace, write=other)
    with pytest.raises(FieldConflict) as caught:
        await cluster.apply(CONFIG_MAPS, "a", config_map("a", one="ours"), namespace=namespace)
    (cause,) = caught.value.status.causes
    assert (cause.field, cause.message) == (".data.one", 'conflict with "somebody"')
    await cluster.apply(CONFIG_MAPS, "a", config_map("a", one="ours"), namespace=namespace, force=True)
    assert await data(cluster, namespace) == {"one": "ours"}


async def test_a_dry_run_changes_nothing(cluster: HttpCluster, namespace: str) -> None:
    tried = await cluster.apply(
        CONFIG_MAPS, "a", config_map("a", one="1"), namespace=namespace, write=Write(dry_run=True)
    )
    assert tried.object.manifest()["data"] == {"one": "1"}
    with pytest.raises(NotFound):
        await cluster.get(CONFIG_MAPS, "a", namespace=namespace)


async def test_unknown_fields_are_warned_of_or_refused_as_asked(cluster: HttpCluster, namespace: str) -> None:
    misspelt = config_map("a") | {"dta": {}}
    written = await cluster.create(CONFIG_MAPS, misspelt, namespace=namespace)
    assert written.warnings == ('unknown field "dta"',)
    with pytest.raises(InvalidObject, match='unknown field "dta"'):
        await cluster.update(
            CONFIG_MAPS, "a", misspelt, namespace=namespace, write=Write(validation=FieldValidation.STRICT)
        )


async def test_an_invalid_object_is_refused_with_its_causes(cluster: HttpCluster, namespace: str) -> None:
    wrong = deployment("web") | {"spec": {"replicas": -1, "template": {}}}
    with pytest.raises(InvalidObject) as caught:
        await cluster.create(DEPLOYMENTS, wrong, namespace=namespace)
    assert "spec.replicas" in [cause.field for cause in caught.value.status.causes]


async def test_status_and_scale_are_read_and_written_apart(cluster: HttpCluster, namespace: str) -> None:
    await cluster.create(DEPLOYMENTS, deployment("web", replicas=0), namespace=namespace)
    scale = await cluster.get(DEPLOYMENTS, "web", namespace=namespace, subresource="scale")
    assert (scale.kind, scale.manifest()["spec"]) == ("Scale", {})
    # Without a version: the controllers write to the Deployment at the same time.
    grown = scale.manifest() | {"metadata": {"name": "web"}, "spec": {"replicas": 3}}
    await cluster.update(DEPLOYMENTS, "web", grown, namespace=namespace, subresource="scale")
    scale = await cluster.get(DEPLOYMENTS, "web", namespace=namespace, subresource="scale")
    assert scale.manifest()["spec"] == {"replicas": 3}
    await cluster.patch(
        DEPLOYMENTS,
        "web",
        {"spec": {"replicas": 2}},
        how=PatchType.MERGE,
        namespace=namespace,
        subresource="scale",
    )
    changed = await cluster.patch(
        DEPLOYMENTS,
        "web",
        {"status": {"observedGeneration": 77}, "spec": {"replicas": 9}},
        how=PatchType.MERGE,
        namespace=namespace,
        subresource="status",
    )
    assert changed.object.manifest()["spec"]["replicas"] == 2


async def test_a_delete_with_another_uid_is_refused(cluster: HttpCluster, namespace: str) -> None:
    created = await cluster.create(CONFIG_MAPS, config_map("a"), namespace=namespace)
    for uid in ("another", ""):
        with pytest.raises(ChangedMeanwhile, match="the UID in the precondition"):
            await cluster.delete(CONFIG_MAPS, "a", namespace=namespace, how=Deletion(uid=uid))
    gone = await cluster.delete(
        CONFIG_MAPS, "a", namespace=namespace, how=Deletion(uid=created.object.metadata.uid)
    )
    assert gone is None


async def test_a_delete_of_a_state_that_has_passed_is_refused(cluster: HttpCluster, namespace: str) -> None:
    created = await cluster.create(CONFIG_MAPS, config_map("a", key="1"), namespace=namespace)
    await cluster.apply(CONFIG_MAPS, "a", config_map("a", key="2"), namespace=namespace, force=True)
    seen = Deletion(resource_version=created.object.metadata.resource_version)
    with pytest.raises(ChangedMeanwhile, match="the ResourceVersion in the precondition"):
        await cluster.delete(CONFIG_MAPS, "a", namespace=namespace, how=seen)
    assert await data(cluster, namespace) == {"key": "2"}


async def test_a_pod_is_given_the_grace_that_was_asked_for(cluster: HttpCluster, namespace: str) -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web"},
        "spec": {
            "nodeName": "a-node-that-never-answers",
            "containers": [{"name": "web", "image": "registry.example/web:1"}],
        },
    }
    await cluster.create(PODS, pod, namespace=namespace)
    left = await cluster.delete(PODS, "web", namespace=namespace, how=Deletion(grace_seconds=77))
    assert left is not None
    assert left.manifest()["metadata"]["deletionGracePeriodSeconds"] == 77


async def test_a_delete_shows_the_object_while_a_finalizer_keeps_it(
    cluster: HttpCluster, namespace: str
) -> None:
    kept = config_map("a")
    kept["metadata"]["finalizers"] = ["trimtab.dev/test"]
    await cluster.create(CONFIG_MAPS, kept, namespace=namespace)
    left = await cluster.delete(CONFIG_MAPS, "a", namespace=namespace)
    assert left is not None
    assert left.metadata.deletion_timestamp
    assert left.metadata.finalizers == ("trimtab.dev/test",)
    await cluster.patch(
        CONFIG_MAPS, "a", {"metadata": {"finalizers": None}}, how=PatchType.MERGE, namespace=namespace
    )
    with pytest.raises(NotFound):
        await cluster.get(CONFIG_MAPS, "a", namespace=namespace)


async def a_family(cluster: HttpCluster, namespace: str) -> None:
    """An owner, and a child that its owner may not leave behind in the foreground."""
    owner = (await cluster.create(CONFIG_MAPS, config_map("owner"), namespace=namespace)).object
    child = config_map("child")
    child["metadata"]["ownerReferences"] = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": "owner",
            "uid": owner.metadata.uid,
            "blockOwnerDeletion": True,
        }
    ]
    await cluster.create(CONFIG_MAPS, child, namespace=namespace)


async def happenings(cluster: HttpCluster, namespace: str, how: Deletion) -> AsyncIterator[tuple[str, str]]:
    """What the members of a family go through once the owner is deleted, as long as anybody listens."""
    await a_family(cluster, namespace)
    before = await cluster.get(CONFIG_MAPS, "child", namespace=namespace)
    async with cluster.watch(
        CONFIG_MAPS, since=before.metadata.resource_version, namespace=namespace
    ) as events:
        left = await cluster.delete(CONFIG_MAPS, "owner", namespace=namespace, how=how)
        yield "left", ", ".join(left.metadata.finalizers or ()) if left else "nothing"
        async for event in events:
            if event.object.metadata.name in ("owner", "child"):
                yield event.type.value, event.object.metadata.name


async def first(count: int, told: AsyncIterator[tuple[str, str]]) -> list[tuple[str, str]]:
    async with aclosing(told) as story, asyncio.timeout(60):  # type: ignore[type-var]  # it is a generator
        return [await anext(story) for _ in range(count)]


async def test_in_the_foreground_children_go_first(cluster: HttpCluster, namespace: str) -> None:
    how = Deletion(propagation=Propagation.FOREGROUND)
    told = await first(4, happenings(cluster, namespace, how))
    assert told[0] == ("left", "foregroundDeletion")
    assert told[1] == ("MODIFIED", "owner")
    assert told[2:] == [("DELETED", "child"), ("DELETED", "owner")]


async def test_in_the_background_the_owner_goes_first(cluster: HttpCluster, namespace: str) -> None:
    how = Deletion(propagation=Propagation.BACKGROUND)
    assert await first(3, happenings(cluster, namespace, how)) == [
        ("left", "nothing"),
        ("DELETED", "owner"),
        ("DELETED", "child"),
    ]


async def test_orphans_stay_and_forget_their_owner(cluster: HttpCluster, namespace: str) -> None:
    how = Deletion(propagation=Propagation.ORPHAN)
    assert await first(4, happenings(cluster, namespace, how)) == [
        ("left", "orphan"),
        ("MODIFIED", "owner"),
        ("MODIFIED", "child"),
        ("DELETED", "owner"),
    ]
    child = await cluster.get(CONFIG_MAPS, "child", namespace=namespace)
    assert child.metadata.owner_references is None


async def test_a_deleted_object_is_gone_whatever_its_kind_answers(
    cluster: HttpCluster, namespace: str
) -> None:
    await cluster.create(ACCOUNTS, {"metadata": {"name": "a"}}, namespace=namespace)
    assert await cluster.delete(ACCOUNTS, "a", namespace=namespace) is None
    with pytest.raises(NotFound):
        await cluster.get(ACCOUNTS, "a", namespace=namespace)


async def test_a_status_is_applied_apart_and_owned_apart(cluster: HttpCluster, namespace: str) -> None:
    await cluster.create(PODS, waiting_pod("a"), namespace=namespace)
    condition = {"type": "trimtab.dev/Checked", "status": "True"}
    status = {"apiVersion": "v1", "kind": "Pod", "status": {"conditions": [condition]}}
    applied = await cluster.apply(
        PODS, "a", status, namespace=namespace, subresource="status", write=Write(manager="checker")
    )
    conditions = applied.object.manifest()["status"]["conditions"]
    assert [each["status"] for each in conditions if each["type"] == condition["type"]] == ["True"]
    (line,) = [
        each
        for each in applied.object.manifest()["metadata"]["managedFields"]
        if each["manager"] == "checker"
    ]
    assert (line["operation"], line["subresource"]) == ("Apply", "status")
    claimed = {
        "apiVersion": "v1",
        "kind": "Pod",
        "status": {"conditions": [{**condition, "status": "False"}]},
    }
    with pytest.raises(FieldConflict, match="checker"):
        await cluster.apply(
            PODS, "a", claimed, namespace=namespace, subresource="status", write=Write(manager="other")
        )


def waiting_pod(name: str) -> dict[str, Any]:
    """A Pod that nobody starts."""
    gates = [{"name": "trimtab.dev/wait"}]
    containers = [{"name": "web", "image": "registry.example/web:1"}]
    return {"metadata": {"name": name}, "spec": {"schedulingGates": gates, "containers": containers}}


async def test_a_dry_run_of_a_delete_leaves_the_object(cluster: HttpCluster, namespace: str) -> None:
    await cluster.create(CONFIG_MAPS, config_map("a"), namespace=namespace)
    await cluster.delete(CONFIG_MAPS, "a", namespace=namespace, how=Deletion(dry_run=True, grace_seconds=0))
    assert (await cluster.get(CONFIG_MAPS, "a", namespace=namespace)).metadata.name == "a"


async def test_a_selection_is_deleted_and_nothing_else(cluster: HttpCluster, namespace: str) -> None:
    await cluster.create(CONFIG_MAPS, config_map("red", {"colour": "red"}), namespace=namespace)
    await cluster.create(CONFIG_MAPS, config_map("blue", {"colour": "blue"}), namespace=namespace)
    await cluster.delete_all(CONFIG_MAPS, namespace=namespace, select=Selection(labels="colour=red"))
    assert await names(cluster, namespace, Selection(labels="colour")) == ["blue"]


async def test_a_watch_tells_what_happens_after_a_version(cluster: HttpCluster, namespace: str) -> None:
    first = await cluster.create(CONFIG_MAPS, config_map("a", {"w": "1"}), namespace=namespace)
    since = first.object.metadata.resource_version
    select = Selection(labels="w=1")
    async with cluster.watch(CONFIG_MAPS, since=since, namespace=namespace, select=select) as events:
        await cluster.apply(
            CONFIG_MAPS, "a", config_map("a", {"w": "1"}, k="2"), namespace=namespace, force=True
        )
        await cluster.delete(CONFIG_MAPS, "a", namespace=namespace)
        told = [
            (event.type, event.object.metadata.name) for event in [await anext(events), await anext(events)]
        ]
    assert told == [(EventType.MODIFIED, "a"), (EventType.DELETED, "a")]


async def test_a_watch_can_begin_with_what_exists(cluster: HttpCluster, namespace: str) -> None:
    await cluster.create(CONFIG_MAPS, config_map("a", {"w": "1"}), namespace=namespace)
    select = Selection(labels="w=1")
    async with cluster.watch(
        CONFIG_MAPS, since="", namespace=namespace, select=select, initial=True
    ) as events:
        added, bookmark = await anext(events), await anext(events)
    assert (added.type, added.object.metadata.name) == (EventType.ADDED, "a")
    assert bookmark.type is EventType.BOOKMARK
    assert bookmark.object.metadata.annotations == {"k8s.io/initial-events-end": "true"}


async def test_compacted_history_is_expired_for_watches_and_pages(control_planes: Any) -> None:
    plane = control_planes.start(watch_cache=False)
    async with connect_to(plane) as cluster:
        first = await cluster.create(CONFIG_MAPS, config_map("a"), namespace="default")
        for number in range(5):
            await cluster.create(CONFIG_MAPS, config_map(f"b-{number}"), namespace="default")
        pages = cluster.list(CONFIG_MAPS, namespace="default", page_size=2)
        await anext(pages)
        await cluster.create(CONFIG_MAPS, config_map("c"), namespace="default")
        await asyncio.to_thread(plane.compact)
        with pytest.raises(Expired):
            await anext(pages)
        since = first.object.metadata.resource_version
        with pytest.raises(Expired):
            async with cluster.watch(CONFIG_MAPS, since=since, namespace="default") as events:
                await anext(events)


async def test_discovery_knows_scope_verbs_subresources_and_preference(cluster: HttpCluster) -> None:
    found = await cluster.discover()
    deployments = found.resource("apps/v1", "Deployment")
    assert deployments is not None
    assert (deployments.plural, deployments.namespaced) == ("deployments", True)
    assert set(deployments.subresources) == {"scale", "status"}
    assert {"get", "list", "watch", "create", "update", "patch", "delete"} <= set(deployments.verbs)
    preferred = found.preferred("autoscaling", "HorizontalPodAutoscaler")
    assert preferred is not None
    assert preferred.api_version == "autoscaling/v2"
    namespaces = found.resource("v1", "Namespace")
    assert namespaces is not None
    assert not namespaces.namespaced
    assert found.failed == {}


async def test_the_version_is_the_servers(cluster: HttpCluster) -> None:
    assert (await cluster.version()).git_version == "v1.36.3"


async def test_the_schema_of_a_group_version_describes_its_kinds(cluster: HttpCluster) -> None:
    schema = msgspec.json.decode(await cluster.schema("apps/v1"))
    assert "io.k8s.api.apps.v1.Deployment" in schema["components"]["schemas"]


async def test_rights_are_asked_for_without_being_used(control_plane: ControlPlane, namespace: str) -> None:
    question = Question(verb="delete", resource=CONFIG_MAPS, namespace=namespace, name="a")
    async with connect_to(control_plane) as admin, connect_to(control_plane, user="nobody") as nobody:
        assert (await admin.may(question)).allowed
        assert not (await nobody.may(question)).allowed


async def test_missing_rights_name_verb_and_kind(control_plane: ControlPlane, namespace: str) -> None:
    async with connect_to(control_plane, user="nobody") as nobody:
        with pytest.raises(Forbidden) as caught:
            await nobody.create(CONFIG_MAPS, config_map("a"), namespace=namespace)
    assert caught.value.reason.startswith(
        f'configmaps is forbidden: User "nobody" cannot create resource "configmaps" in API group "" '
        f'in the namespace "{namespace}"'
    )


async def test_unknown_credentials_are_unauthenticated(control_plane: ControlPlane) -> None:
    async with connect(TokenAccess(control_plane.url, "no such token", trusting(control_plane))) as cluster:
        with pytest.raises(Unauthenticated) as caught:
            await cluster.get(NAMESPACES, "default")
    assert "no such token" not in str(caught.value)


async def test_a_refused_secret_is_not_repeated_in_the_error(cluster: HttpCluster, namespace: str) -> None:
    canary = "canary-7f3a9c"
    wrong = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s", "annotations": {"last": canary}},
        "type": "kubernetes.io/dockerconfigjson",
        "stringData": {".dockerconfigjson": canary, "other": "not base64"},
        "data": {"other": canary},
    }
    with pytest.raises(InvalidObject) as caught:
        await cluster.create(SECRETS, wrong, namespace=namespace)
    assert canary not in str(caught.value)
    assert canary not in repr(caught.value.status)


async def test_no_value_of_a_secret_is_in_the_refusal_of_a_change_neither_sent_nor_live(
    cluster: HttpCluster, namespace: str
) -> None:
    live, pin = "bGl2ZS1jYW5hcnk=", 918273645
    manifest = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    await cluster.create(SECRETS, manifest | {"data": {"live": live}}, namespace=namespace)
    mistyped = {"stringData": {"pin": pin}}
    operation = {"op": "add", "path": "/data/pin", "value": pin}
    for refused in (
        cluster.apply(SECRETS, "s", manifest | mistyped, namespace=namespace),
        cluster.patch(SECRETS, "s", mistyped, how=PatchType.MERGE, namespace=namespace),
        cluster.patch(SECRETS, "s", mistyped, how=PatchType.STRATEGIC, namespace=namespace),
        cluster.patch(SECRETS, "s", [operation], how=PatchType.JSON, namespace=namespace),
    ):
        with pytest.raises(InvalidObject) as caught:
            await refused
        said = f"{caught.value} {caught.value.status!r}"
        assert live not in said
        assert str(pin) not in said


async def test_a_generated_name_comes_back(cluster: HttpCluster, namespace: str) -> None:
    nameless = config_map("x")
    nameless["metadata"] = {"generateName": "made-"}
    made: KubeObject = (await cluster.create(CONFIG_MAPS, nameless, namespace=namespace)).object
    assert made.metadata.name.startswith("made-")


async def test_the_servers_clock_can_be_asked(cluster: HttpCluster) -> None:
    told = await cluster.time()
    assert told is not None
    # On one machine both clocks are one.
    assert abs(told - SystemClock().now()) < timedelta(minutes=1)
