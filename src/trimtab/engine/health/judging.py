"""Judges one object: by being deleted, by a user's rule, by the table of built-in kinds. Pure.

A kind's rule sees a small typed view of the object, so an object of another form than its kind's is not a bug
here but `Unknown`, with the reason. Kinds that are not in the table have no health and count as fine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, Protocol

import msgspec
from msgspec import Struct

from trimtab.engine.health import definitions, pods, serving, workloads
from trimtab.engine.health.values import (
    HOOK_FINALIZERS,
    PENDING_DELETION,
    Health,
    HealthStatus,
    Seen,
    unknown,
)
from trimtab.resources.manifests import Manifest
from trimtab.shapes import Shape

_UNREADABLE: Final = (msgspec.MsgspecError, UnicodeError, RecursionError)


class HealthRule(Protocol):
    """A user's way to judge some kinds; it goes before the built-in one."""

    def applies_to(self, group: str, kind: str) -> bool:
        """Whether it has something to say about this kind."""

    def judge(self, manifest: Manifest) -> Health | None:
        """The judgement; None leaves it to the next rule."""


class _Judge(Struct, frozen=True):
    """How one kind is judged: the versions it is known in, what to read of it, and the rule."""

    versions: frozenset[str]
    view: Shape[Any]
    rule: Callable[[Any], Health]


def _judge(versions: str, view: Shape[Any], rule: Callable[[Any], Health]) -> _Judge:
    return _Judge(frozenset(versions.split()), view, rule)


_SEEN: Final = Shape(Seen)
_WORKLOAD: Final = Shape(workloads.Workload)
_SERVING: Final = Shape(serving.Serving)
_CONDITIONED: Final = Shape(serving.Conditioned)
_JUDGES: Final[dict[tuple[str, str], _Judge]] = {
    ("apps", "Deployment"): _judge("v1", _WORKLOAD, workloads.deployment),
    ("apps", "StatefulSet"): _judge("v1", _WORKLOAD, workloads.stateful_set),
    ("apps", "DaemonSet"): _judge("v1", _WORKLOAD, workloads.daemon_set),
    ("apps", "ReplicaSet"): _judge("v1", _WORKLOAD, workloads.replica_set),
    ("batch", "Job"): _judge("v1", Shape(workloads.Job), workloads.job),
    ("batch", "CronJob"): _judge("v1", Shape(workloads.CronJob), workloads.cron_job),
    ("argoproj.io", "Workflow"): _judge("v1alpha1", Shape(workloads.Workflow), workloads.workflow),
    ("", "Pod"): _judge("v1", Shape(pods.Pod), pods.pod),
    ("", "Service"): _judge("v1", Shape(serving.Service), serving.service),
    ("", "PersistentVolumeClaim"): _judge("v1", Shape(serving.Claim), serving.claim),
    ("extensions", "Ingress"): _judge("v1beta1", _SERVING, serving.ingress),
    ("networking.k8s.io", "Ingress"): _judge("v1 v1beta1", _SERVING, serving.ingress),
    ("autoscaling", "HorizontalPodAutoscaler"): _judge("v1 v2", _CONDITIONED, serving.autoscaler),
    ("policy", "PodDisruptionBudget"): _judge("v1", _CONDITIONED, serving.disruption_budget),
    ("apiregistration.k8s.io", "APIService"): _judge("v1 v1beta1", _CONDITIONED, definitions.api_service),
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _judge(
        "v1", _CONDITIONED, definitions.custom_resource_definition
    ),
}


def is_judged(group: str, kind: str, rules: Iterable[HealthRule] = ()) -> bool:
    """Whether objects of this kind have to be looked into; of others `deletion_health` says everything."""
    return (group, kind) in _JUDGES or any(rule.applies_to(group, kind) for rule in rules)


def deletion_health(*, deleting: bool, finalizers: Iterable[str] = ()) -> Health | None:
    """The judgement of an object that is on its way out; hooks are still judged by what they did."""
    return PENDING_DELETION if deleting and HOOK_FINALIZERS.isdisjoint(finalizers) else None


def health_of(manifest: Manifest, rules: Iterable[HealthRule] = ()) -> Health | None:
    """How well one object is; None for kinds that have no health."""
    try:
        seen = _SEEN.of(manifest)
    except _UNREADABLE as exc:
        return unknown(f"its metadata cannot be read: {exc}")
    going = _going(seen)
    if going is not None:
        return going
    group, _, version = seen.api_version.rpartition("/")
    judged = _by_rules(rules, group, seen.kind, lambda: manifest)
    if judged is not None:
        return judged
    judge = _JUDGES.get((group, seen.kind))
    if judge is None:
        return None
    return _judged(judge, version, seen.kind, lambda: judge.view.of(manifest))


def health_in(
    raw: bytes, group: str, version: str, kind: str, rules: Iterable[HealthRule] = ()
) -> Health | None:
    """How well the object in these bytes is, if it is not being deleted; no more than needed is decoded.

    Whether it is being deleted, the caller knows already: `deletion_health`.
    """
    judged = _by_rules(rules, group, kind, lambda: msgspec.json.decode(raw))
    if judged is not None:
        return judged
    judge = _JUDGES.get((group, kind))
    return None if judge is None else _judged(judge, version, kind, lambda: judge.view.from_json(raw))


def _by_rules(
    rules: Iterable[HealthRule], group: str, kind: str, manifest: Callable[[], Manifest]
) -> Health | None:
    """The judgement of the first rule that has one; a rule that does wrong makes the object Unknown."""
    for rule in rules:
        if not rule.applies_to(group, kind):
            continue
        try:
            judged: Any = rule.judge(manifest())
        except Exception as exc:  # noqa: BLE001 - the rule is a user's, so it may raise anything
            told = type(exc).__name__ if kind == "Secret" else str(exc)  # words may quote the object
            return unknown(f"a rule for {kind} failed: {told}")
        if isinstance(judged, Health) and isinstance(judged.status, HealthStatus):
            return judged
        if judged is not None:
            return unknown(f"a rule for {kind} answered with something that is no health")
    return None


def _going(seen: Seen) -> Health | None:
    meta = seen.metadata
    if meta is None or meta.deletion_timestamp is None:
        return None
    return deletion_health(deleting=True, finalizers=meta.finalizers or ())


def _judged(judge: _Judge, version: str, kind: str, view: Callable[[], Any]) -> Health:
    if version not in judge.versions:
        return unknown(f"no rule for {kind} in version {version}")
    try:
        return judge.rule(view())
    except _UNREADABLE as exc:
        return unknown(f"the {kind} cannot be read: {exc}")
