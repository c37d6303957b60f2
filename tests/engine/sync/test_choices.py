"""What units and operations may choose: options, namespaces, definitions, dry runs, agreed plans."""

from __future__ import annotations

import pytest

from tests.engine.sync.world import (
    World,
    annotated,
    config_map,
    deployment,
    is_there,
    job,
    order,
    phases,
    statuses,
)
from trimtab.engine.operations import (
    Operation,
    OperationPhase,
    Selected,
)
from trimtab.engine.sync.options import SyncOptions
from trimtab.engine.sync.plan import Namespace
from trimtab.engine.sync.showing import moved_between, plan_json
from trimtab.kube.cluster import PatchType

SUCCEEDED, FAILED = OperationPhase.SUCCEEDED, OperationPhase.FAILED


@pytest.mark.fact("S3", "S4")
async def test_the_destination_namespace_is_made_before_anything_is_tried(any_world: World) -> None:
    any_world.space = f"{any_world.space}-new"
    any_world.namespace = Namespace(name=any_world.space, labels={"team": "shop"})
    any_world.options = SyncOptions(create_namespace=True)
    wrong = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "svc"}, "spec": {"ports": []}}
    try:
        failed = await any_world.sync([annotated(wrong, sync_wave="1"), config_map("a")])
        assert failed.phase is FAILED
        assert statuses(failed) == {f"Namespace {any_world.space}": "Synced", "Service svc": "SyncFailed"}
        state = await any_world.sync([config_map("a")])
        assert state.phase is SUCCEEDED, state.message
        made = await any_world.get("Namespace", any_world.space)
        assert made is not None
        assert made["metadata"]["labels"]["team"] == "shop"
    finally:
        await any_world.delete("Namespace", any_world.space)


CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "gadgets.sync.example.com"},
    "spec": {
        "group": "sync.example.com",
        "scope": "Namespaced",
        "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
                },
            }
        ],
    },
}


def gadget(name: str) -> dict[str, object]:
    return {"apiVersion": "sync.example.com/v1", "kind": "Gadget", "metadata": {"name": name}, "size": 1}


@pytest.mark.fact("S5", "S49")
async def test_a_definition_and_its_objects_are_synced_in_one_plan(any_world: World) -> None:
    try:
        state = await any_world.sync([gadget("a"), CRD, annotated(config_map("c"), sync_wave="-1")])
        assert state.phase is SUCCEEDED, state.message
        assert order(state) == ["c", "gadgets.sync.example.com", "a"]
        assert await any_world.names("Gadget") == ["a"]
    finally:
        await any_world.delete("CustomResourceDefinition", "gadgets.sync.example.com")


@pytest.mark.fact("S21", "S24")
async def test_replace_and_force_write_the_object_whole_or_anew(any_world: World) -> None:
    await any_world.sync([config_map("a", x="1"), deployment("web")])
    key = any_world.key("ConfigMap", "a")
    await any_world.until(key, is_there)
    await any_world.until(any_world.key("Deployment", "web", "apps"), is_there)
    resource = await any_world.resource("ConfigMap")
    body = {"data": {"stray": "1"}}
    await any_world.cluster.patch(resource, "a", body, how=PatchType.MERGE, namespace=any_world.space)
    state = await any_world.sync([config_map("a", options="Replace=true", x="2"), deployment("web")])
    found = await any_world.get("ConfigMap", "a")
    assert found is not None
    assert (state.phase, found["data"]) == (SUCCEEDED, {"x": "2"})
    assert state.results[0].message == "replaced"

    before = await any_world.get("Deployment", "web")
    other = deployment("web")
    other["spec"]["selector"]["matchLabels"]["tier"] = "front"
    other["spec"]["template"]["metadata"]["labels"]["tier"] = "front"
    refused = await any_world.sync([other])
    assert refused.phase is FAILED
    assert "immutable" in refused.message
    forced = await any_world.sync([other], Operation(force=True))
    after = await any_world.get("Deployment", "web")
    assert forced.phase is SUCCEEDED, forced.message
    assert before is not None
    assert after is not None
    assert before["metadata"]["uid"] != after["metadata"]["uid"]


@pytest.mark.fact("S12", "S25")
async def test_what_is_as_it_should_be_is_left_alone_and_a_selection_leaves_out_the_rest(
    world: World,
) -> None:
    await world.sync([config_map("a"), config_map("b")])
    await world.until(world.key("ConfigMap", "b"), is_there)
    await world.until(world.key("ConfigMap", "a"), is_there)
    changed = [config_map("a"), config_map("b", x="1"), config_map("c")]
    chosen = Operation(resources=(Selected(kind="ConfigMap", name="c"),))
    assert statuses(await world.sync(changed, chosen)) == {"ConfigMap c": "Synced"}
    await world.until(world.key("ConfigMap", "c"), is_there)
    assert statuses(await world.sync(changed)) == {"ConfigMap b": "Synced"}
    world.options = SyncOptions(out_of_sync_only=False)
    assert len((await world.sync(changed)).results) == 3


async def test_a_dry_run_says_what_would_come_of_it_and_changes_nothing(any_world: World) -> None:
    await any_world.sync([config_map("old")])
    await any_world.until(any_world.key("ConfigMap", "old"), is_there)
    wrong = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "svc"}, "spec": {"ports": []}}
    objects = [config_map("a"), job("pre", hook="PreSync"), wrong]
    state = await any_world.sync(objects, Operation(dry_run=True, prune=True))
    assert state.phase is FAILED
    assert statuses(state) == {
        "ConfigMap old": "Pruned",
        "ConfigMap a": "Synced",
        "Job pre": "Synced",
        "Service svc": "SyncFailed",
    }
    assert await any_world.names("Job") == []
    assert await any_world.get("ConfigMap", "a") is None
    assert await any_world.get("ConfigMap", "old") is not None
    fine = await any_world.sync([config_map("a")], Operation(dry_run=True))
    assert (fine.phase, phases(fine)["ConfigMap a"]) == (SUCCEEDED, "Succeeded")


# -- a plan that somebody agreed to ----------------------------------------------------------------------


async def test_an_agreed_plan_is_carried_out_and_another_one_is_not_begun(any_world: World) -> None:
    await any_world.sync([config_map("a", x="1"), config_map("b")])
    key = any_world.key("ConfigMap", "a")
    await any_world.until(key, is_there)
    await any_world.until(any_world.key("ConfigMap", "b"), is_there)
    objects = [config_map("a", x="2"), config_map("c")]
    asked = Operation(prune=True)
    shown = await any_world.plan(objects, asked)

    before = any_world.cache.get(key)
    resource = await any_world.resource("ConfigMap")
    drift = {"data": {"stray": "1"}}
    await any_world.cluster.patch(resource, "a", drift, how=PatchType.MERGE, namespace=any_world.space)
    await any_world.until(key, lambda live: live != before)
    refused = await any_world.sync(objects, Operation(prune=True, plan_digest=shown.digest))
    assert refused.phase is FAILED
    assert "not what would be done now" in refused.message
    assert await any_world.get("ConfigMap", "c") is None

    again = await any_world.plan(objects, asked)
    assert moved_between(plan_json(shown), plan_json(again)) == (
        f"ConfigMap {any_world.space}/a in Sync: it was changed in the cluster",
    )
    done = await any_world.sync(objects, Operation(prune=True, plan_digest=again.digest))
    assert done.phase is SUCCEEDED, done.message
    assert statuses(done) == {"ConfigMap b": "Pruned", "ConfigMap a": "Synced", "ConfigMap c": "Synced"}


async def test_somebody_elses_object_is_left_alone_unless_it_is_to_be_adopted(any_world: World) -> None:
    resource = await any_world.resource("ConfigMap")
    theirs = config_map("a", x="1")
    theirs["metadata"]["annotations"] = {
        "meta.helm.sh/release-name": "web",
        "meta.helm.sh/release-namespace": "shop",
    }
    await any_world.cluster.create(resource, theirs, namespace=any_world.space)
    await any_world.until(any_world.key("ConfigMap", "a"), is_there)
    refused = await any_world.sync([config_map("a", x="2"), config_map("b")])
    assert refused.phase is FAILED
    assert "managed by helm shop/web" in refused.message
    assert statuses(refused) == {"ConfigMap a": "SyncFailed", "ConfigMap b": "Synced"}
    untouched = await any_world.get("ConfigMap", "a")
    assert untouched is not None
    assert untouched["data"] == {"x": "1"}
    adopted = await any_world.sync([config_map("a", x="2"), config_map("b")], Operation(adopt=True))
    found = await any_world.get("ConfigMap", "a")
    assert adopted.phase is SUCCEEDED
    assert found is not None
    assert found["data"] == {"x": "2"}
