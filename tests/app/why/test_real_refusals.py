"""What only a real control plane refuses: quotas, policies, webhooks, missing rights."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from testbed.controlplane import ControlPlane
from tests.app.why.stage import Stage, causes, objects, stage_in
from tests.engine.stage import Json, config_map, deployment
from trimtab.app.why import explain
from trimtab.kube import connect, from_kubeconfig
from trimtab.kube.cluster import Write
from trimtab.kube.failures import Refusal
from trimtab.settings import ClusterSettings
from trimtab.tasks import SystemClock

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
#: what is said of a quota that is known with what is used of it
FULL = "exceeded quota"
TRIAL = config_map("trial")
POD: Json = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "trial"},
    "spec": {"containers": [{"name": "main", "image": "registry.example/web:1"}]},
}


@asynccontextmanager
async def stage_for(plane: ControlPlane, user: str, namespace: str) -> AsyncIterator[Stage]:
    access = from_kubeconfig(
        [plane.kubeconfig_for(user)],
        context=None,
        settings=ClusterSettings(),
        clock=SystemClock(),
        environment={},
    )
    async with asyncio.timeout(90), connect(access) as cluster:
        yield await stage_in(cluster, namespace)


@pytest.fixture
async def stage(control_plane: ControlPlane, namespace: str) -> AsyncIterator[Stage]:
    async with stage_for(control_plane, "admin", namespace) as made:
        yield made


async def test_pods_that_a_quota_has_no_room_for_are_named_by_their_replica_set(stage: Stage) -> None:
    quota = {"kind": "ResourceQuota", "metadata": {"name": "small"}, "spec": {"hard": {"pods": "0"}}}
    await stage.create({"apiVersion": "v1", **quota})
    await _until_refused(stage, POD, words=FULL)
    await stage.sync(deployment("web", replicas=1))
    await stage.until("ReplicaSet", _fails_to_make)
    answer = await stage.why()
    assert causes(answer) == ["quota"]
    assert "does not fit into the quota small" in answer.sentence
    assert [each.split(".")[0] for each in objects(answer)] == ["app shop", "Deployment", "ReplicaSet"]
    assert answer.chains[0].links[-1].evidence == "requested: pods=1, used: pods=0, limited: pods=0"


async def test_an_object_that_a_quota_has_no_room_for_is_named_in_its_sync(stage: Stage) -> None:
    await stage.sync(config_map("first"))
    quota = {
        "kind": "ResourceQuota",
        "metadata": {"name": "few"},
        "spec": {"hard": {"count/configmaps": "1"}},
    }
    await stage.create({"apiVersion": "v1", **quota})
    await _until_refused(stage, words=FULL)
    assert await stage.sync(config_map("first"), config_map("second")) is None
    answer = await stage.why()
    assert causes(answer) == ["quota"]
    assert answer.sentence == f"ConfigMap {stage.namespace}/second does not fit into the quota few."


async def test_a_claim_that_gets_no_volume_is_explained_by_what_the_cluster_says_of_it(stage: Stage) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "disk"}, "spec": spec}
    await stage.sync(claim)
    await stage.until("Event", lambda event: event["reason"] == "FailedBinding")
    answer = await stage.why()
    assert causes(answer) == ["unwell"]
    assert "no storage class is set" in answer.chains[0].links[-1].evidence
    assert "Make a volume that fits" in answer.chains[0].remedy


def _fails_to_make(found: Json) -> bool:
    lines = found.get("status", {}).get("conditions", [])
    return any(each["type"] == "ReplicaFailure" and each["status"] == "True" for each in lines)


@pytest.fixture
def policy(control_plane: ControlPlane, namespace: str) -> Iterator[str]:
    """A policy that wants every ConfigMap of the namespace to have a team."""
    name = f"team-{secrets.token_hex(4)}"
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE", "UPDATE"],
        "resources": ["configmaps"],
    }
    validation = {"expression": "has(object.data.team)", "message": "say which team it belongs to"}
    place = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}}
    spec = {"matchConstraints": {"resourceRules": [rule], **place}, "validations": [validation]}
    binding = {"policyName": name, "validationActions": ["Deny"]}
    made = [("validatingadmissionpolicies", spec), ("validatingadmissionpolicybindings", binding)]
    for plural, body in made:
        control_plane.call("POST", f"{ADMISSION}/{plural}", {"metadata": {"name": name}, "spec": body})
    yield name
    for plural, _ in reversed(made):
        control_plane.call("DELETE", f"{ADMISSION}/{plural}/{name}")


async def test_what_a_policy_does_not_admit_is_named_with_the_policy(stage: Stage, policy: str) -> None:
    await _until_refused(stage)
    assert await stage.sync(config_map("settings")) is None
    answer = await stage.why()
    assert causes(answer) == ["admission"]
    refused = f"ConfigMap {stage.namespace}/settings is refused by the ValidatingAdmissionPolicy '{policy}'."
    assert answer.sentence == refused
    assert answer.chains[0].links[-1].evidence.startswith("say which team it belongs to")


@pytest.fixture
def silent_webhook(control_plane: ControlPlane, namespace: str) -> Iterator[str]:
    """A webhook that wants to be asked about every ConfigMap of the namespace, and never answers."""
    name = f"silent-{secrets.token_hex(4)}.example.com"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    hook = {
        "name": name,
        "clientConfig": {"url": "https://127.0.0.1:1/ask"},
        "rules": [rule],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 2,
    }
    path = f"{ADMISSION}/validatingwebhookconfigurations"
    control_plane.call("POST", path, {"metadata": {"name": name}, "webhooks": [hook]})
    yield name
    control_plane.call("DELETE", f"{path}/{name}")


async def test_a_webhook_that_does_not_answer_is_named(stage: Stage, silent_webhook: str) -> None:
    await _until_refused(stage)
    assert await stage.sync(config_map("settings")) is None
    answer = await stage.why()
    assert causes(answer) == ["admission"]
    what = f'cannot be written because the webhook "{silent_webhook}" does not answer.'
    assert answer.sentence == f"ConfigMap {stage.namespace}/settings {what}"


async def _until_refused(stage: Stage, trial: Json = TRIAL, *, words: str = "") -> None:
    """A quota, policy or webhook counts a moment after it was made, and nobody tells when."""
    resource, tried = await stage.resource(trial["kind"]), Write(dry_run=True)
    while True:
        try:
            await stage.cluster.create(resource, trial, namespace=stage.namespace, write=tried)
        except Refusal as refusal:
            if words in refusal.status.message:
                return


def grant(plane: ControlPlane, namespace: str, *rules: dict[str, Any]) -> None:
    """Give `nobody` these rights in a namespace; they go with it."""
    role = {"metadata": {"name": "some"}, "rules": list(rules)}
    plane.call("POST", f"{RBAC}/namespaces/{namespace}/roles", role)
    group = "rbac.authorization.k8s.io"
    binding = {
        "metadata": {"name": "some"},
        "roleRef": {"apiGroup": group, "kind": "Role", "name": "some"},
        "subjects": [{"apiGroup": group, "kind": "User", "name": "nobody"}],
    }
    plane.call("POST", f"{RBAC}/namespaces/{namespace}/rolebindings", binding)
    plane.wait_for_right("nobody", rules[0]["verbs"][0], rules[0]["resources"][0], namespace)


async def test_a_missing_right_to_write_is_named_with_verb_and_kind(
    control_plane: ControlPlane, namespace: str, stage: Stage
) -> None:
    await stage.sync(config_map("settings"))
    kept = {"apiGroups": ["", "coordination.k8s.io"], "resources": ["secrets", "leases"], "verbs": ["*"]}
    read = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"]}
    grant(control_plane, namespace, kept, read)
    async with stage_for(control_plane, "nobody", namespace) as lacking:
        assert await lacking.sync(config_map("settings"), config_map("more")) is None
        answer = await lacking.why()
    assert answer.chains[0].cause == "no-rights"
    where = f"in the namespace {namespace}"
    assert answer.sentence == f"User nobody may not patch configmaps {where}."
    assert answer.chains[0].remedy == f"Ask for a role with the verb patch on configmaps {where}"
    # What could not be read for the answer is told as well, at its end.
    assert answer.chains[-1].cause == "unseen"
    assert answer.chains[-1].sentence == f"User nobody may not get namespaces {where}."


async def test_a_missing_right_to_read_a_secret_of_an_app_is_named(
    control_plane: ControlPlane, namespace: str, stage: Stage
) -> None:
    """Records are kept elsewhere than the app, whose Secrets this person may not read."""
    elsewhere = f"{namespace}-app"
    control_plane.add_namespace(elsewhere)
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "token", "namespace": elsewhere}}
    await stage.sync({**secret, "stringData": {"token": "hunter2"}})
    kept = {"apiGroups": ["", "coordination.k8s.io"], "resources": ["secrets", "leases"], "verbs": ["*"]}
    grant(control_plane, namespace, kept)
    async with stage_for(control_plane, "nobody", namespace) as lacking:
        lacking.declare({**secret, "stringData": {"token": "hunter3"}})
        answer = await lacking.why()
    control_plane.call("DELETE", f"/api/v1/namespaces/{elsewhere}")
    assert answer.chains[0].cause == "no-rights"
    assert answer.sentence == f"User nobody may not get secrets in the namespace {elsewhere}."
    assert "hunter" not in str(answer)


async def test_a_missing_right_to_read_the_records_is_an_answer(
    control_plane: ControlPlane, namespace: str
) -> None:
    @asynccontextmanager
    async def opening() -> AsyncIterator[Any]:
        async with stage_for(control_plane, "reader", namespace) as stage:
            yield stage.apps

    answer = await explain(opening(), "shop", namespace=namespace, clock=SystemClock())
    assert causes(answer) == ["no-rights"]
    assert answer.sentence == f"User reader may not get secrets in the namespace {namespace}."
