"""Every row of the table of kinds, one object per outcome."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from trimtab.engine.compare.tracking import OwnerAnnotation
from trimtab.engine.control.desks import ways_of
from trimtab.engine.health import (
    HOOK_FINALIZER,
    PENDING_DELETION,
    Health,
    HealthStatus,
    deletion_health,
    health_in,
    health_of,
    is_judged,
)
from trimtab.engine.health.serving import SCALING_CONDITIONS
from trimtab.engine.units import ReconciliationSettings, ResourceOverride
from trimtab.resources.manifests import Manifest

H, S, P, D, U = (
    HealthStatus.HEALTHY,
    HealthStatus.SUSPENDED,
    HealthStatus.PROGRESSING,
    HealthStatus.DEGRADED,
    HealthStatus.UNKNOWN,
)


def made(api_version: str, kind: str, status: Any = None, *, spec: Any = None, **metadata: Any) -> Manifest:
    found: Manifest = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "web", **metadata}}
    return {
        **found,
        **({} if spec is None else {"spec": spec}),
        **({} if status is None else {"status": status}),
    }


def condition(type_: str, status: str = "True", reason: str = "", message: str = "") -> dict[str, str]:
    return {"type": type_, "status": status, "reason": reason, "message": message}


def conditions(*lines: dict[str, str]) -> dict[str, Any]:
    return {"conditions": list(lines)}


def deployment(status: Any = None, *, generation: int = 2, **spec: Any) -> Manifest:
    return made("apps/v1", "Deployment", status, spec={"replicas": 3, **spec}, generation=generation)


def stateful_set(status: Any, strategy: Any = None, *, generation: int = 2) -> Manifest:
    spec = {"replicas": 3, **({"updateStrategy": strategy} if strategy else {})}
    return made("apps/v1", "StatefulSet", status, spec=spec, generation=generation)


def daemon_set(status: Any, strategy: str = "RollingUpdate") -> Manifest:
    return made("apps/v1", "DaemonSet", status, spec={"updateStrategy": {"type": strategy}}, generation=2)


def replica_set(status: Any) -> Manifest:
    return made("apps/v1", "ReplicaSet", status, spec={"replicas": 2}, generation=2)


def pod(status: Any, restart: str = "Always", **annotations: str) -> Manifest:
    known = {"ignored": "argocd.argoproj.io/ignore-restart-policy", "hook": "argocd.argoproj.io/hook"}
    named = {known[name]: text for name, text in annotations.items()}
    return made("v1", "Pod", status, spec={"restartPolicy": restart}, annotations=named)


def waiting(reason: str, message: str = "") -> dict[str, Any]:
    return {"name": "main", "state": {"waiting": {"reason": reason, "message": message}}}


def ended(**how: Any) -> dict[str, Any]:
    return {"name": "main", "state": {"terminated": how}}


def job(*lines: dict[str, str]) -> Manifest:
    return made("batch/v1", "Job", conditions(*lines))


def autoscaler(*lines: dict[str, str]) -> Manifest:
    return made("autoscaling/v2", "HorizontalPodAutoscaler", conditions(*lines))


def old_autoscaler(*lines: dict[str, str]) -> Manifest:
    text = msgspec.json.encode(lines).decode()
    return made("autoscaling/v1", "HorizontalPodAutoscaler", {}, annotations={SCALING_CONDITIONS: text})


def definition(*lines: dict[str, str]) -> Manifest:
    return made("apiextensions.k8s.io/v1", "CustomResourceDefinition", conditions(*lines))


def cron_job(status: Any = None, **spec: Any) -> Manifest:
    return made("batch/v1", "CronJob", status, spec=spec)


def budget(*lines: dict[str, str]) -> Manifest:
    return made("policy/v1", "PodDisruptionBudget", conditions(*lines))


def api_service(*lines: dict[str, str]) -> Manifest:
    return made("apiregistration.k8s.io/v1", "APIService", conditions(*lines))


def balanced(kind: str, version: str, addresses: list[Any], **spec: Any) -> Manifest:
    return made(version, kind, {"loadBalancer": {"ingress": addresses}}, spec=spec)


ROLLING = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}
DONE = {"observedGeneration": 2, "replicas": 3, "updatedReplicas": 3, "availableReplicas": 3}
SET_DONE = {"observedGeneration": 2, "readyReplicas": 3, "updatedReplicas": 3}
SPREAD = {
    "observedGeneration": 2,
    "desiredNumberScheduled": 2,
    "updatedNumberScheduled": 2,
    "numberAvailable": 2,
}
LATE = condition("Progressing", "False", "ProgressDeadlineExceeded")
WAITS = "Waiting for the controller to observe the latest generation"
READY = condition("Ready")
ADDRESS = [{"ip": "203.0.113.7"}]

TABLE: list[tuple[str, Manifest, Health]] = [
    ("Deployment paused", deployment(DONE, paused=True), Health(S, "Deployment is paused")),
    ("Deployment unobserved", deployment(DONE, generation=3), Health(P, WAITS)),
    ("Deployment without status", deployment(), Health(P, WAITS)),
    (
        "Deployment too late",
        deployment({**DONE, "conditions": [LATE]}),
        Health(D, "Deployment web exceeded its progress deadline"),
    ),
    (
        "Deployment updating",
        deployment({**DONE, "updatedReplicas": 1}),
        Health(P, "1 of 3 new replicas have been updated"),
    ),
    (
        "Deployment with old pods",
        deployment({**DONE, "replicas": 5}),
        Health(P, "2 old replicas are pending termination"),
    ),
    (
        "Deployment becoming available",
        deployment({**DONE, "availableReplicas": 1}),
        Health(P, "1 of 3 updated replicas are available"),
    ),
    ("Deployment done", deployment(DONE), Health(H)),
    ("Deployment scaled to nothing", deployment({"observedGeneration": 2}, replicas=0), Health(H)),
    ("StatefulSet never observed", stateful_set({}, generation=0), Health(P, WAITS)),
    ("StatefulSet unobserved", stateful_set(SET_DONE, generation=3), Health(P, WAITS)),
    (
        "StatefulSet not ready",
        stateful_set({**SET_DONE, "readyReplicas": 1}),
        Health(P, "Waiting for 2 pods to be ready"),
    ),
    (
        "StatefulSet behind its partition",
        stateful_set({**SET_DONE, "updatedReplicas": 1}, ROLLING),
        Health(P, "1 of 2 new pods have been updated"),
    ),
    (
        "StatefulSet at its partition",
        stateful_set({**SET_DONE, "updatedReplicas": 2}, ROLLING),
        Health(H, "2 new pods have been updated"),
    ),
    (
        "StatefulSet updated by hand",
        stateful_set({**SET_DONE, "updateRevision": "b"}, {"type": "OnDelete"}),
        Health(H, "3 pods are ready; they are updated when they are deleted"),
    ),
    (
        "StatefulSet between revisions",
        stateful_set({**SET_DONE, "updateRevision": "b", "currentRevision": "a"}, {"type": "RollingUpdate"}),
        Health(P, "Waiting for 3 pods to be at revision b"),
    ),
    ("StatefulSet done", stateful_set(SET_DONE), Health(H)),
    ("DaemonSet unobserved", daemon_set({**SPREAD, "observedGeneration": 1}), Health(P, WAITS)),
    (
        "DaemonSet updated by hand",
        daemon_set({**SPREAD, "updatedNumberScheduled": 1}, "OnDelete"),
        Health(H, "1 of 2 pods are updated; the rest when they are deleted"),
    ),
    (
        "DaemonSet updating",
        daemon_set({**SPREAD, "updatedNumberScheduled": 1}),
        Health(P, "1 of 2 pods have been updated"),
    ),
    (
        "DaemonSet becoming available",
        daemon_set({**SPREAD, "numberAvailable": 1}),
        Health(P, "1 of 2 updated pods are available"),
    ),
    ("DaemonSet done", daemon_set(SPREAD), Health(H)),
    ("ReplicaSet unobserved", replica_set({"observedGeneration": 1}), Health(P, WAITS)),
    (
        "ReplicaSet failing",
        replica_set({"observedGeneration": 2, **conditions(condition("ReplicaFailure", message="quota"))}),
        Health(D, "quota"),
    ),
    (
        "ReplicaSet on its way",
        replica_set({"observedGeneration": 2, "availableReplicas": 1}),
        Health(P, "1 of 2 replicas are available"),
    ),
    ("ReplicaSet done", replica_set({"observedGeneration": 2, "availableReplicas": 2}), Health(H)),
    ("Pod pending", pod({"phase": "Pending", "message": "no node"}), Health(P, "no node")),
    ("Pod succeeded", pod({"phase": "Succeeded"}, "Never"), Health(H)),
    ("Pod failed with words", pod({"phase": "Failed", "message": "evicted"}), Health(D, "evicted")),
    (
        "Pod failed by a container's words",
        pod({"phase": "Failed", "containerStatuses": [ended(message="boom", exitCode=1)]}),
        Health(D, "boom"),
    ),
    (
        "Pod failed in an init container",
        pod({"phase": "Failed", "initContainerStatuses": [ended(reason="OOMKilled", exitCode=137)]}),
        Health(D, "OOMKilled"),
    ),
    (
        "Pod failed by exit code",
        pod({"phase": "Failed", "containerStatuses": [ended(exitCode=3)]}, "Never"),
        Health(D, 'container "main" failed with exit code 3'),
    ),
    ("Pod failed silently", pod({"phase": "Failed"}), Health(D)),
    ("Pod ready", pod({"phase": "Running", **conditions(READY)}), Health(H)),
    (
        "Pod restarted",
        pod({"phase": "Running", "containerStatuses": [{"name": "a", "lastState": {"terminated": {}}}]}),
        Health(D),
    ),
    ("Pod running, not ready", pod({"phase": "Running"}), Health(P)),
    ("Pod running a task", pod({"phase": "Running", **conditions(READY)}, "OnFailure"), Health(P)),
    ("Pod of no phase", pod({}), Health(U)),
    ("Job running", job(), Health(P, "The job is running")),
    ("Job failed", job(condition("Failed", message="backoff limit")), Health(D, "backoff limit")),
    ("Job complete", job(condition("Complete")), Health(H)),
    ("Job suspended", job(condition("Suspended", message="paused")), Health(S, "paused")),
    ("Job resumed", job(condition("Suspended", "False")), Health(P, "The job is running")),
    ("Job resumed and complete", job(condition("Suspended", "False"), condition("Complete")), Health(H)),
    ("PersistentVolumeClaim lost", made("v1", "PersistentVolumeClaim", {"phase": "Lost"}), Health(D)),
    ("PersistentVolumeClaim pending", made("v1", "PersistentVolumeClaim", {"phase": "Pending"}), Health(P)),
    ("PersistentVolumeClaim bound", made("v1", "PersistentVolumeClaim", {"phase": "Bound"}), Health(H)),
    ("PersistentVolumeClaim unheard of", made("v1", "PersistentVolumeClaim"), Health(U)),
    ("Service", balanced("Service", "v1", [], type="ClusterIP"), Health(H)),
    (
        "Service waiting for its balancer",
        balanced("Service", "v1", [], type="LoadBalancer"),
        Health(P, "Waiting for the load balancer's address"),
    ),
    ("Service balanced", balanced("Service", "v1", ADDRESS, type="LoadBalancer"), Health(H)),
    ("Ingress waiting", balanced("Ingress", "networking.k8s.io/v1", []), Health(P, "Waiting for an address")),
    ("Ingress served", balanced("Ingress", "networking.k8s.io/v1", ADDRESS), Health(H)),
    ("Ingress of old", balanced("Ingress", "extensions/v1beta1", ADDRESS), Health(H)),
    (
        "HorizontalPodAutoscaler unable",
        autoscaler(condition("AbleToScale", "False", "FailedGetScale", "no scale")),
        Health(D, "no scale"),
    ),
    (
        "HorizontalPodAutoscaler without metrics",
        autoscaler(
            condition("AbleToScale"), condition("ScalingActive", "False", "FailedGetResourceMetric", "x")
        ),
        Health(D, "x"),
    ),
    ("HorizontalPodAutoscaler able", autoscaler(condition("AbleToScale", message="ok")), Health(H, "ok")),
    ("HorizontalPodAutoscaler limited", autoscaler(condition("ScalingLimited")), Health(H)),
    ("HorizontalPodAutoscaler new", autoscaler(), Health(P, "Waiting to autoscale")),
    ("HorizontalPodAutoscaler of old", old_autoscaler(condition("AbleToScale")), Health(H)),
    (
        "HorizontalPodAutoscaler of old, unable",
        old_autoscaler(condition("AbleToScale", "False", "FailedUpdateScale", "no")),
        Health(D, "no"),
    ),
    (
        "HorizontalPodAutoscaler of old, new",
        made("autoscaling/v1", "HorizontalPodAutoscaler"),
        Health(P, "Waiting to autoscale"),
    ),
    ("APIService available", api_service(condition("Available", reason="Passed")), Health(H, "Passed: ")),
    (
        "APIService unavailable",
        api_service(condition("Available", "False", "Missing", "no endpoints")),
        Health(P, "Missing: no endpoints"),
    ),
    ("APIService new", api_service(), Health(P, "Waiting for the API to become available")),
    ("Workflow new", made("argoproj.io/v1alpha1", "Workflow"), Health(P)),
    ("Workflow running", made("argoproj.io/v1alpha1", "Workflow", {"phase": "Running"}), Health(P)),
    ("Workflow done", made("argoproj.io/v1alpha1", "Workflow", {"phase": "Succeeded"}), Health(H)),
    (
        "Workflow failed",
        made("argoproj.io/v1alpha1", "Workflow", {"phase": "Error", "message": "no"}),
        Health(D, "no"),
    ),
    ("Workflow odd", made("argoproj.io/v1alpha1", "Workflow", {"phase": "Odd"}), Health(U)),
    (
        "CustomResourceDefinition going",
        definition(condition("Terminating"), condition("Established")),
        Health(P, "The definition is being removed"),
    ),
    ("CustomResourceDefinition new", definition(), Health(P, "Waiting for the server to report")),
    (
        "CustomResourceDefinition with taken names",
        definition(condition("NamesAccepted", "False", message="taken")),
        Health(D, "Its names are not accepted: taken"),
    ),
    (
        "CustomResourceDefinition without structure",
        definition(condition("NonStructuralSchema", message="bad"), condition("Established")),
        Health(D, "Its schema is not structural: bad"),
    ),
    ("CustomResourceDefinition established", definition(condition("Established")), Health(H)),
    (
        "CustomResourceDefinition installing",
        definition(condition("Established", "False", "Installing")),
        Health(P, "The definition is being installed"),
    ),
    (
        "CustomResourceDefinition refused",
        definition(condition("Established", "False", "NotAccepted")),
        Health(D, "The definition is not established"),
    ),
    ("CronJob suspended", cron_job({}, suspend=True), Health(H, "CronJob is suspended")),
    ("CronJob new", cron_job(), Health(P, "Waiting for the controller to report")),
    (
        "CronJob not run yet",
        cron_job({"lastScheduleTime": "2026-01-02T00:00:00Z"}),
        Health(H, "No job has been completed yet"),
    ),
    (
        "CronJob at work",
        cron_job({"lastSuccessfulTime": "2026-01-01T00:00:00Z", "active": [{"name": "web-1"}]}),
        Health(H, "A job is running"),
    ),
    (
        "CronJob whose last run failed",
        cron_job({"lastSuccessfulTime": "2026-01-01T00:00:05Z", "lastScheduleTime": "2026-01-02T00:00:00Z"}),
        Health(D, "The last scheduled job did not succeed"),
    ),
    (
        "CronJob whose last run succeeded",
        cron_job({"lastSuccessfulTime": "2026-01-02T00:00:05Z", "lastScheduleTime": "2026-01-02T00:00:00Z"}),
        Health(H),
    ),
    ("PodDisruptionBudget new", budget(), Health(P, "Waiting for the controller to report")),
    (
        "PodDisruptionBudget without room",
        budget(condition("DisruptionAllowed", "False", "InsufficientPods")),
        Health(H),
    ),
    (
        "PodDisruptionBudget lost",
        budget(condition("DisruptionAllowed", "False", "SyncFailed", "no scale")),
        Health(D, "SyncFailed: no scale"),
    ),
    ("PodDisruptionBudget kept", budget(condition("DisruptionAllowed")), Health(H)),
]


@pytest.mark.fact("H1")
@pytest.mark.parametrize(("manifest", "expected"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_a_kind_is_judged_by_its_row(manifest: Manifest, expected: Health) -> None:
    assert health_of(manifest) == expected


@pytest.mark.parametrize(("manifest", "expected"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_bytes_are_judged_like_manifests(manifest: Manifest, expected: Health) -> None:
    group, _, version = manifest["apiVersion"].rpartition("/")
    assert health_in(msgspec.json.encode(manifest), group, version, manifest["kind"]) == expected


def test_every_judged_kind_has_a_row() -> None:
    told = {(row[1]["apiVersion"].rpartition("/")[0], row[1]["kind"]) for row in TABLE}
    assert all(is_judged(*kind) for kind in told)
    assert len(told) == 16


@pytest.mark.fact("H2")
@pytest.mark.parametrize(
    ("api_version", "kind"),
    [
        ("v1", "ConfigMap"),
        ("argoproj.io/v1alpha1", "Application"),
        ("example.com/v1", "Gadget"),
        ("v1", "Node"),
    ],
)
def test_other_kinds_have_no_health(api_version: str, kind: str) -> None:
    manifest = made(api_version, kind, {"phase": "Failed"})
    assert health_of(manifest) is None
    assert not is_judged(api_version.rpartition("/")[0], kind)


@pytest.mark.fact("H3")
@pytest.mark.parametrize(
    "reason", ["CrashLoopBackOff", "ImagePullBackOff", "ErrImagePull", "CreateContainerError"]
)
@pytest.mark.parametrize("where", ["containerStatuses", "initContainerStatuses"])
def test_a_stuck_container_degrades_a_pod_that_is_meant_to_last(reason: str, where: str) -> None:
    status = {"phase": "Pending", where: [waiting(reason, "stuck"), waiting(reason, "fast")]}
    assert health_of(pod(status)) == Health(D, "stuck, fast")
    assert health_of(pod(status, "OnFailure")) == Health(P)
    assert health_of(pod(status, "Never")) == Health(P)


def test_a_container_that_just_starts_degrades_nothing() -> None:
    assert health_of(
        pod({"phase": "Pending", "containerStatuses": [waiting("ContainerCreating")]})
    ) == Health(P)


@pytest.mark.fact("H4")
def test_a_restart_policy_can_be_ignored_on_plain_pods_but_not_on_hooks() -> None:
    status = {"phase": "Running", "containerStatuses": [waiting("CrashLoopBackOff", "again")]}
    assert health_of(pod(status, "OnFailure", ignored="true")) == Health(D, "again")
    assert health_of(pod(status, "OnFailure", ignored="true", hook="PreSync")) == Health(P)
    assert health_of(pod(status, "OnFailure", ignored="yes")) == Health(P)


@pytest.mark.fact("H5")
def test_an_object_on_its_way_out_is_progressing_unless_a_hook_keeps_it() -> None:
    when = "2026-01-02T00:00:00Z"
    assert health_of(made("v1", "ConfigMap", deletionTimestamp=when)) == PENDING_DELETION
    kept = made("batch/v1", "Job", conditions(condition("Complete")), deletionTimestamp=when)
    assert health_of(kept) == PENDING_DELETION
    kept["metadata"]["finalizers"] = [HOOK_FINALIZER]
    assert health_of(kept) == Health(H)
    assert deletion_health(deleting=True, finalizers=["other"]) == PENDING_DELETION
    assert deletion_health(deleting=True, finalizers=[HOOK_FINALIZER]) is None
    assert deletion_health(deleting=False) is None


@pytest.mark.fact("H6")
def test_a_suspended_job_says_why() -> None:
    assert health_of(job(condition("Suspended", message="by hand"))) == Health(S, "by hand")


@pytest.mark.parametrize(
    ("manifest", "told"),
    [
        (made("apps/v1beta1", "Deployment"), "no rule for Deployment in version v1beta1"),
        (
            made("apps/v1", "Deployment", spec={"replicas": "three"}),
            "the Deployment cannot be read: Expected `int | null`, got `str` - at `$.spec.replicas`",
        ),
        (
            made("autoscaling/v1", "HorizontalPodAutoscaler", annotations={SCALING_CONDITIONS: "{"}),
            "the HorizontalPodAutoscaler cannot be read: ",
        ),
        ({"apiVersion": "v1", "kind": "Pod", "metadata": "none"}, "its metadata cannot be read: "),
    ],
)
def test_what_cannot_be_judged_is_unknown_with_the_reason(manifest: Manifest, told: str) -> None:
    found = health_of(manifest)
    assert found is not None
    assert (found.status, found.message.startswith(told)) == (U, True)


class Gadgets:
    """A user's rule."""

    def applies_to(self, group: str, kind: str) -> bool:
        return (group, kind) in {("example.com", "Gadget"), ("apps", "Deployment")}

    def judge(self, manifest: Manifest) -> Health | None:
        return Health(S, "asleep") if manifest.get("status") == "asleep" else None


def test_a_users_rule_goes_before_the_built_in_one_and_may_pass() -> None:
    gadget = made("example.com/v1", "Gadget", "asleep")
    assert health_of(gadget, [Gadgets()]) == Health(S, "asleep")
    assert health_in(msgspec.json.encode(gadget), "example.com", "v1", "Gadget", [Gadgets()]) == Health(
        S, "asleep"
    )
    assert health_of(deployment(DONE), [Gadgets()]) == Health(H)
    assert is_judged("example.com", "Gadget", [Gadgets()])
    assert not is_judged("example.com", "Widget", [Gadgets()])


class Odd:
    """A user's rule that does something."""

    def __init__(self, does: Callable[[], Any]) -> None:
        self._does = does

    def applies_to(self, group: str, kind: str) -> bool:
        return True

    def judge(self, manifest: Manifest) -> Health | None:
        found: Health | None = self._does()
        return found


def failing() -> None:
    raise KeyError("phase")


@pytest.mark.fact("H7")
@pytest.mark.parametrize(
    ("does", "told"),
    [
        (failing, "a rule for Gadget failed: 'phase'"),
        (lambda: "Healthy", "a rule for Gadget answered with something that is no health"),
        (lambda: Health("Splendid"), "a rule for Gadget answered with something that is no health"),  # type: ignore[arg-type]  # as wrong as users are
    ],
)
def test_a_users_rule_that_does_wrong_makes_the_object_unknown(does: Callable[[], Any], told: str) -> None:
    gadget = made("example.com/v1", "Gadget", "asleep")
    assert health_of(gadget, [Odd(does)]) == Health(U, told)
    assert health_in(msgspec.json.encode(gadget), "example.com", "v1", "Gadget", [Odd(does)]) == Health(
        U, told
    )


def test_what_went_wrong_with_a_secret_is_told_without_it() -> None:
    assert health_of(made("v1", "Secret"), [Odd(failing)]) == Health(U, "a rule for Secret failed: KeyError")


@pytest.mark.fact("H7")
def test_a_users_rule_that_says_nothing_leaves_it_to_the_next() -> None:
    gadget = made("example.com/v1", "Gadget", "asleep")
    assert health_of(gadget, [Odd(lambda: None)]) is None
    assert health_of(gadget, [Odd(lambda: None), Gadgets()]) == Health(S, "asleep")


@pytest.mark.fact("H9")
def test_a_rule_for_one_kind_beats_one_for_many_and_that_beats_ours() -> None:
    def says(message: str) -> ResourceOverride:
        return ResourceOverride(health=lambda _manifest: Health(P, message))

    overrides = {"*/*": says("any"), "apps/Deployment": says("this")}
    rules = ways_of(ReconciliationSettings(resource_overrides=overrides), OwnerAnnotation("i")).health_rules
    assert health_of(deployment(DONE), rules) == Health(P, "this")
    assert health_of(replica_set({}), rules) == Health(P, "any")
