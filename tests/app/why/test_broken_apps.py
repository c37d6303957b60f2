"""Each cause is found by really breaking that thing: in a cluster in memory, where pods fail on request."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from tests.app.why.stage import Stage, causes, embedded, objects, simulating, waits_for
from tests.engine.stage import Json, config_map, deployment, job
from trimtab.app.appsources import AppSource, recorded
from trimtab.app.deletion import DELETION, NotGone
from trimtab.app.fencing import FencedCluster
from trimtab.app.holds import pause
from trimtab.app.rollbacks import pin_for
from trimtab.app.shards import shards
from trimtab.app.why.showing import answer_json, answer_text
from trimtab.engine.stores.changing import with_pin
from trimtab.engine.units import Automated, Policy
from trimtab.errors import GitUnreachable, Missing, RenderFailed
from trimtab.kube.discovery import Discovery
from trimtab.tasks import SystemClock


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with asyncio.timeout(60), embedded() as made:
        yield made


async def test_an_app_that_is_well_is_said_to_be(stage: Stage) -> None:
    await stage.sync(config_map("settings"), deployment("web", replicas=1))
    await stage.until("Deployment", lambda web: web.get("status", {}).get("availableReplicas"))
    answer = await stage.why()
    assert answer.well, answer
    assert answer.sentence.startswith("App shop is well: it is Synced and Healthy at ")


class Counting(FencedCluster):
    """A cluster that counts how often it is asked which kinds it serves."""

    asked = 0

    async def discover(self) -> Discovery:
        self.asked += 1
        return await super().discover()


async def test_whoever_asks_why_asks_the_cluster_for_its_kinds_once(stage: Stage) -> None:
    broken = simulating(deployment("web", "registry.example/web:gone", replicas=1), "image-pull-error")
    await stage.sync(broken)
    await stage.until("Pod", waits_for("ErrImagePull"))
    for about in ("shop", "deploy/web"):
        stage.apps.cluster = counting = Counting(stage.cluster, lambda: True)
        assert causes(await stage.why(about)) == ["image-pull"]
        assert counting.asked == 1


async def test_an_object_that_is_elsewhere_is_told_with_its_namespace(stage: Stage) -> None:
    await stage.sync(config_map("settings"))
    home, stage.namespace = stage.namespace, "kube-system"
    with pytest.raises(Missing) as told:
        await stage.why("cm/settings")
    assert told.value.reason == f"there is none in namespace kube-system; there is one in {home}"
    with pytest.raises(Missing, match="nor in any other"):
        await stage.why("cm/nothing-of-this-name")


async def test_an_image_that_cannot_be_pulled_is_named_down_to_the_pod(stage: Stage) -> None:
    broken = simulating(deployment("web", "registry.example/web:gone", replicas=1), "image-pull-error")
    await stage.sync(broken)
    pod = await stage.until("Pod", waits_for("ErrImagePull"))
    answer = await stage.why()
    name = pod["metadata"]["name"]
    assert causes(answer) == ["image-pull"]
    assert answer.sentence == (
        f"Pod default/{name} cannot pull the image registry.example/web:gone of container main."
    )
    assert objects(answer) == [
        "app shop",
        "Deployment.apps default/web",
        f"ReplicaSet.apps default/{name.rpartition('-')[0]}",
        f"Pod default/{name}",
    ]
    assert "failed to pull and unpack image" in answer.chains[0].links[-1].evidence
    assert answer.chains[0].links[-1].since is not None


async def test_a_container_that_keeps_crashing_is_named_with_its_exit_code(stage: Stage) -> None:
    await stage.sync(simulating(deployment("web", replicas=2), "crash-loop"))
    await stage.until("Pod", waits_for("CrashLoopBackOff"))
    answer = await stage.why()
    assert causes(answer) == ["crash-loop"]
    assert "keeps crashing: container main ended with exit code 1" in answer.sentence
    assert "kubectl logs" in answer.chains[0].remedy


async def test_a_pod_that_runs_and_is_not_ready_is_named(stage: Stage) -> None:
    await stage.sync(simulating(deployment("web", replicas=1), "never-ready"))
    await stage.until("Pod", lambda pod: pod.get("status", {}).get("phase") == "Running")
    answer = await stage.why()
    assert causes(answer) == ["not-ready"]
    assert "runs and is not ready: container main" in answer.sentence


async def test_a_pod_that_no_node_takes_is_named_with_the_schedulers_words(stage: Stage) -> None:
    picky = deployment("web", replicas=1)
    picky["spec"]["template"]["spec"]["nodeSelector"] = {"disk": "fast"}
    await stage.sync(picky)
    await stage.until("Pod", lambda pod: pod.get("status", {}).get("conditions"))
    answer = await stage.why()
    assert causes(answer) == ["unschedulable"]
    assert "didn't match Pod's node affinity/selector" in answer.chains[0].links[-1].evidence


async def test_what_somebody_else_manages_is_named_with_its_owner(stage: Stage) -> None:
    await stage.sync(config_map("settings"), app="other")
    await stage.sync(config_map("own"))
    stage.declare(config_map("own"), config_map("settings", "2"))
    answer = await stage.why()
    assert causes(answer) == ["foreign-owner"]
    owner = f"trimtab app other (installation {stage.apps.installation.id.partition('-')[0]})"
    assert answer.sentence == f"ConfigMap default/settings is managed by {owner}."
    assert "--adopt" in answer.chains[0].remedy


async def test_deletions_that_nobody_agreed_to_are_named(stage: Stage) -> None:
    await stage.sync(*(config_map(f"settings-{number}") for number in range(13)))
    stage.declare(config_map("settings-0"))
    answer = await stage.why()
    assert causes(answer) == ["prune-held"]
    assert answer.sentence == "App shop would delete 12 objects, and nobody has agreed to that."
    assert "12 of 13 objects would be deleted" in answer.chains[0].links[-1].evidence
    assert "--confirm-deletions" in answer.chains[0].remedy


async def test_what_is_no_longer_declared_and_was_not_pruned_is_named(stage: Stage) -> None:
    await stage.sync(config_map("kept"), config_map("left"))
    await stage.sync(config_map("kept"))
    answer = await stage.why()
    assert causes(answer) == ["not-pruned"]
    assert answer.chains[0].links[-1].evidence == "ConfigMap default/left"


async def test_what_moved_between_plan_and_sync_is_named(stage: Stage) -> None:
    await stage.sync(config_map("settings"))

    async def meddle(_plan: object) -> None:
        await stage.patch("ConfigMap", "settings", {"data": {"value": "meddled"}})
        await stage.until("ConfigMap", lambda found: found.get("data") == {"value": "meddled"})

    assert await stage.sync(config_map("settings", "2"), between=meddle) is None
    answer = await stage.why()
    assert answer.chains[0].cause == "precondition-moved", answer
    assert "moved since" in answer.sentence


async def test_a_wave_that_waits_is_explained_by_what_it_waits_for(stage: Stage) -> None:
    broken = simulating(deployment("web", replicas=1, sync_wave="0"), "image-pull-error")
    async with stage.syncing(broken, config_map("last", sync_wave="1")):
        await stage.until("Pod", waits_for("ErrImagePull"))
        answer = await stage.why()
    assert causes(answer) == ["image-pull"]
    assert objects(answer)[1].startswith("its sync to ")
    assert "waiting for healthy state of Deployment.apps default/web" in answer.chains[0].links[1].what


async def test_a_wave_that_waits_for_something_that_only_takes_its_time_is_the_cause(stage: Stage) -> None:
    gate = job("gate", sync_wave="0")
    gate["spec"]["suspend"] = True
    async with stage.syncing(gate, config_map("last", sync_wave="1")):
        answer = await stage.why()
    assert causes(answer) == ["wave-waits"]
    assert answer.sentence == "Job.batch default/gate is what the Sync phase waits for to become healthy."


async def test_a_sync_that_nobody_carries_on_is_named(stage: Stage) -> None:
    gate = job("gate", hook="PreSync")
    gate["spec"]["suspend"] = True
    async with stage.syncing(gate, config_map("last")):
        pass
    answer = await stage.why()
    assert causes(answer) == ["interrupted", "wave-waits"]
    assert answer.chains[0].remedy == "Finish it: trimtab sync shop"


async def test_a_sync_that_a_runner_carries_on_is_not_called_interrupted(stage: Stage) -> None:
    gate = job("gate", hook="PreSync")
    gate["spec"]["suspend"] = True
    async with stage.syncing(gate, config_map("last")):
        pass
    (shard,) = shards(1)
    now = f"{SystemClock().now():%Y-%m-%dT%H:%M:%S.%fZ}"
    spec = {"holderIdentity": "runner-1", "leaseDurationSeconds": 60, "acquireTime": now, "renewTime": now}
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": shard.lease}}
    await stage.create({**lease, "spec": spec})
    # A runner leaves alone what comes from a folder of somebody's machine.
    assert causes(await stage.why()) == ["interrupted", "wave-waits"]
    kept = recorded(AppSource(repo_url="https://git.example/shop.git"))
    await stage.apps.records().update(replace(await stage.unit(), source=kept))
    answer = await stage.why()
    assert causes(answer) == ["wave-waits"]
    assert answer.chains[0].links[1].evidence == "runner-1 carries it on"


async def test_a_hook_that_failed_is_named_with_how_its_container_ended(stage: Stage) -> None:
    assert await stage.sync(job("migrate", simulate="fail", hook="PreSync"), config_map("last")) is None
    answer = await stage.why()
    assert causes(answer) == ["hook-failed"]
    assert answer.sentence == "Job.batch default/migrate failed as PreSync hook, so the sync stopped."
    assert "container main ended with exit code 1" in answer.chains[0].links[-1].evidence


async def test_a_field_that_somebody_else_set_is_named_with_its_manager(stage: Stage) -> None:
    await stage.sync(config_map("settings"))
    await stage.patch("ConfigMap", "settings", {"data": {"value": "meddled"}})
    answer = await stage.why()
    assert causes(answer) == ["field-owner"]
    evidence = "/data/value: 'meddled' instead of '1' (server, set by kubectl-edit)"
    assert answer.chains[0].links[-1].evidence == evidence


async def test_what_nobody_has_synced_yet_is_named(stage: Stage) -> None:
    await stage.sync(config_map("settings"))
    stage.declare(config_map("settings", "2"), config_map("new"))
    answer = await stage.why()
    assert causes(answer) == ["not-synced", "not-synced"]
    assert answer.chains[0].remedy == "Sync it: trimtab sync shop"


async def test_of_many_objects_with_the_same_trouble_a_few_are_told_and_the_rest_counted(
    stage: Stage,
) -> None:
    await stage.sync(config_map("settings"))
    stage.declare(config_map("settings"), *(config_map(f"new-{number}") for number in range(9)))
    answer = await stage.why()
    assert [(chain.cause, chain.more) for chain in answer.chains] == [
        ("not-synced", 0),
        ("not-synced", 0),
        ("not-synced", 6),
    ]


async def test_what_is_live_is_explained_as_well_when_the_source_cannot_be_rendered(stage: Stage) -> None:
    await stage.sync(simulating(deployment("web", replicas=1), "image-pull-error"))
    await stage.until("Pod", waits_for("ErrImagePull"))
    stage.sources.error = RenderFailed("chart web", "it needs a value for image.tag", "Set it")
    answer = await stage.why()
    assert causes(answer) == ["render-failed", "image-pull"]


async def test_values_of_secrets_are_in_no_answer(stage: Stage) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "token"}}
    await stage.sync({**secret, "stringData": {"token": "canary-one"}})
    await stage.patch("Secret", "token", {"stringData": {"token": "canary-two"}})
    answer = await stage.why()
    assert causes(answer) == ["field-owner"]
    told = f"{answer!r} {answer_text(answer)} {answer_json(answer)}"
    assert "canary" not in told
    assert b64encode(b"canary-two").decode() not in told


async def test_an_object_that_was_pruned_and_is_held_is_not_told_to_be_pruned(stage: Stage) -> None:
    kept = config_map("settings")
    kept["metadata"]["finalizers"] = ["example.com/guard"]
    await stage.sync(kept, config_map("more"))
    await stage.sync(config_map("more"), prune=True)
    answer = await stage.why()
    assert causes(answer) == ["finalizer-stuck"]


async def test_an_object_that_a_finalizer_keeps_is_named_with_it(stage: Stage) -> None:
    kept = config_map("settings")
    kept["metadata"]["finalizers"] = ["example.com/guard"]
    await stage.sync(kept)
    await stage.delete("ConfigMap", "settings")
    answer = await stage.why()
    assert answer.chains[0].cause == "finalizer-stuck"
    assert answer.sentence == (
        "ConfigMap default/settings is being deleted, and is kept by finalizer example.com/guard."
    )


async def test_a_namespace_that_does_not_go_is_explained_by_what_keeps_it(stage: Stage) -> None:
    kept = config_map("settings")
    kept["metadata"]["finalizers"] = ["example.com/guard"]
    await stage.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "doomed"}})
    doomed = Stage(stage.cluster, stage.apps, stage.sources, "doomed")
    await doomed.sync(kept, deployment("web", replicas=1))
    await stage.cluster.delete(await stage.resource("Namespace"), "doomed")
    await doomed.until("ConfigMap", lambda found: found["metadata"].get("deletionTimestamp"))
    await doomed.until_gone("Deployment", "web")
    answer = await doomed.why()
    assert causes(answer)[:2] == ["finalizer-stuck", "finalizer-stuck"]
    assert answer.sentence.startswith("ConfigMap doomed/settings is being deleted")
    assert (
        answer.chains[1].sentence == "Namespace doomed is being deleted, and is kept by finalizer kubernetes."
    )


async def test_a_job_whose_pod_failed_is_explained_by_the_pod(stage: Stage) -> None:
    patient = job("import", simulate="fail")
    patient["spec"]["backoffLimit"] = 5
    await stage.sync(patient)
    await stage.until("Pod", lambda pod: pod.get("status", {}).get("phase") == "Failed")
    answer = await stage.why()
    assert causes(answer) == ["pod-failed"]
    assert answer.sentence.endswith("failed: container main ended with exit code 1.")


async def test_an_app_that_should_sync_by_itself_says_why_it_does_not(stage: Stage) -> None:
    await stage.sync(config_map("settings"))
    unit = await stage.unit()
    await stage.apps.records().update(replace(unit, policy=Policy(automated=Automated())))
    await stage.patch("ConfigMap", "settings", {"data": {"value": "meddled"}})
    drifted = await stage.why()
    assert causes(drifted) == ["field-owner", "auto-sync"]
    assert (
        drifted.chains[1]
        .links[-1]
        .evidence.endswith("synced to " + unit.status.revision + " already, and self-heal is off")
    )
    stage.declare(config_map("settings", "2"))
    assert "no runner has done so yet" in (await stage.why()).chains[1].sentence
    assert (await stage.unit()).operation is None  # whoever looks sets nothing off


async def test_what_the_server_does_not_take_is_named_with_its_words(stage: Stage) -> None:
    fixed = {**config_map("settings"), "immutable": True}
    await stage.sync(fixed)
    stage.declare({**config_map("settings", "2"), "immutable": True})
    answer = await stage.why()
    assert causes(answer) == ["refused"]
    assert "field is immutable when `immutable` is set" in answer.chains[0].links[-1].evidence


async def test_an_app_that_somebody_holds_says_who_and_why(stage: Stage) -> None:
    await stage.sync(config_map("settings"))
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    await pause(stage.apps, "shop", reason="moving the database", by="ann", now=noon)
    stage.declare(config_map("settings", "2"))
    answer = await stage.why()
    assert causes(answer) == ["held"]
    assert answer.sentence == "App shop is paused by ann since 2026-01-01 12:00 UTC: moving the database."
    assert answer.chains[0].remedy == "Let it follow its source again: trimtab resume shop"


async def test_an_app_that_is_pinned_is_compared_with_what_it_is_pinned_to(stage: Stage) -> None:
    await stage.sync(config_map("settings"))
    await stage.sync(config_map("settings", "2"))
    unit = await stage.unit()
    pin = pin_for(unit, None, reason="", by="ann", now=datetime(2026, 1, 1, 12, tzinfo=UTC))
    await stage.apps.records().amend("shop", with_pin(pin))
    stage.sources.error = GitUnreachable("host git.example", "it is down")
    answer = await stage.why()
    assert causes(answer) == ["held", "not-synced"]  # and not that its Git server is down
    assert f"is pinned to entry {pin.entry} of its history" in answer.sentence
    assert answer.chains[1].remedy == f"Bring it there: trimtab rollback shop {pin.entry}"


async def test_an_app_that_is_half_deleted_says_what_is_left(stage: Stage) -> None:
    kept = config_map("settings")
    kept["metadata"]["finalizers"] = ["example.com/guard"]
    await stage.sync(kept, config_map("other"))
    async with stage.apps.work_on(await stage.unit()) as work:
        plan = await work.plan(DELETION)
        with pytest.raises(NotGone):
            await work.delete(plan, consent=True, seconds=0.1, held=lambda _: None, told=lambda _: None)
    answer = await stage.why()
    assert causes(answer) == ["finalizer-stuck", "being-deleted"]
    assert answer.chains[1].sentence == "App shop is being deleted, and 1 object of it is still there."
    assert "trimtab delete shop --abandon" in answer.chains[1].remedy


async def test_a_kind_that_the_cluster_does_not_serve_is_named(stage: Stage) -> None:
    stage.declare(
        config_map("settings"), {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}}
    )
    await stage.sync(config_map("settings"), app="shop")
    stage.declare(
        config_map("settings"), {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}}
    )
    answer = await stage.why()
    assert causes(answer) == ["bad-manifest"], "and once is enough"
    assert "Thing" in answer.sentence


async def test_a_pod_is_explained_with_the_app_that_it_belongs_to(stage: Stage) -> None:
    broken = simulating(deployment("web", replicas=1), "image-pull-error")
    await stage.sync(broken, config_map("settings"))
    await stage.patch("ConfigMap", "settings", {"data": {"value": "meddled"}})
    pod = await stage.until("Pod", waits_for("ErrImagePull"))
    answer = await stage.why(f"pod/{pod['metadata']['name']}")
    assert causes(answer) == ["image-pull"]  # the meddled ConfigMap is not the pod's business
    assert objects(answer)[0] == "app shop"
    assert causes(await stage.why("deploy/web")) == ["image-pull"]
    settings = await stage.why("configmaps/settings")
    assert causes(settings) == ["field-owner"]


def definition(kind: str) -> Json:
    """A definition of a kind of which nobody knows how to judge its health."""
    plural = f"{kind.lower()}s"
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": anything}}
    names = {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"}
    spec = {"group": "toys.example", "scope": "Namespaced", "names": names, "versions": [version]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.toys.example"},
        "spec": spec,
    }


async def test_trouble_below_objects_of_custom_kinds_is_found_however_deep(stage: Stage) -> None:
    train = {"apiVersion": "toys.example/v1", "kind": "Train", "metadata": {"name": "one"}}
    await stage.sync(definition("Train"), definition("Wagon"), train)
    above = await stage.until("Train", lambda _: True)
    wagon: Json = {"apiVersion": "toys.example/v1", "kind": "Wagon", "metadata": {"name": "first"}}
    for made in (wagon, simulating(deployment("web", replicas=1), "image-pull-error")):
        owner = {"apiVersion": above["apiVersion"], "kind": above["kind"], "name": above["metadata"]["name"]}
        owned = [{**owner, "uid": above["metadata"]["uid"]}]
        await stage.create({**made, "metadata": {**made["metadata"], "ownerReferences": owned}})
        above = await stage.until(made["kind"], lambda _: True)
    pod = await stage.until("Pod", waits_for("ErrImagePull"))
    for about in ("shop", f"pod/{pod['metadata']['name']}"):
        answer = await stage.why(about)
        assert causes(answer) == ["image-pull"], about
        assert [each.split()[0] for each in objects(answer)] == [
            "app",
            "Train.toys.example",
            "Wagon.toys.example",
            "Deployment.apps",
            "ReplicaSet.apps",
            "Pod",
        ]


async def test_an_object_that_nobody_manages_is_explained_all_the_same(stage: Stage) -> None:
    await stage.create(simulating(deployment("web", replicas=1), "image-pull-error"))
    await stage.until("Pod", waits_for("ErrImagePull"))
    answer = await stage.why("deploy/web")
    assert causes(answer) == ["image-pull"]
    assert objects(answer)[0] == "Deployment.apps default/web"
    await stage.create(config_map("lonely"))
    helm = {"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "shop"}
    await stage.create({**config_map("helms"), "metadata": {"name": "helms", "annotations": helm}})
    assert (await stage.why("cm/helms")).sentence.endswith("is well; it belongs to helm shop/web.")
    lonely = await stage.why("cm/lonely")
    assert lonely.sentence == "ConfigMap default/lonely is well; it belongs to nobody known."
