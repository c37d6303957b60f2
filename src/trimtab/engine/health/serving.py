"""Health of what serves, stores and scales. Pure.

Service, Ingress, PersistentVolumeClaim, HorizontalPodAutoscaler, PodDisruptionBudget.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Struct

from trimtab.engine.health.values import (
    Condition,
    Health,
    Meta,
    degraded,
    healthy,
    progressing,
    unknown,
)

_CONDITIONS: Final = msgspec.json.Decoder(tuple[Condition, ...])


class LoadBalancer(Struct, frozen=True, kw_only=True, gc=False):
    """Where a load balancer can be reached."""

    ingress: tuple[object, ...] | None = None


class ServingStatus(Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """What is reported of a Service or Ingress."""

    load_balancer: LoadBalancer | None = None


class ServiceSpec(Struct, frozen=True, kw_only=True, gc=False):
    """What is wanted of a Service."""

    type: str | None = None


class Serving(Struct, frozen=True, kw_only=True, gc=False):
    """A Service or Ingress."""

    metadata: Meta = Meta()
    status: ServingStatus | None = None

    @property
    def is_reachable(self) -> bool:
        """Whether an address from outside has been given."""
        return bool(self.status and self.status.load_balancer and self.status.load_balancer.ingress)


class Service(Serving, frozen=True, kw_only=True, gc=False):
    """A Service."""

    spec: ServiceSpec | None = None


def service(view: Service) -> Health:
    """Only load balancers can keep one waiting."""
    if view.spec is not None and view.spec.type == "LoadBalancer" and not view.is_reachable:
        return progressing("Waiting for the load balancer's address")
    return healthy()


def ingress(view: Serving) -> Health:
    """Served once it has an address."""
    return healthy() if view.is_reachable else progressing("Waiting for an address")


class ClaimStatus(Struct, frozen=True, kw_only=True, gc=False):
    """What is reported of a claim."""

    phase: str | None = None


class Claim(Struct, frozen=True, kw_only=True, gc=False):
    """A PersistentVolumeClaim."""

    metadata: Meta = Meta()
    status: ClaimStatus | None = None


def claim(view: Claim) -> Health:
    """By its phase."""
    match view.status.phase if view.status else None:
        case "Lost":
            return degraded()
        case "Pending":
            return progressing()
        case "Bound":
            return healthy()
        case _:
            return unknown()


class Scaling(Struct, frozen=True, kw_only=True, gc=False):
    """What is reported of a HorizontalPodAutoscaler or a PodDisruptionBudget."""

    conditions: tuple[Condition, ...] | None = None


class Conditioned(Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """An object that is judged by its conditions."""

    api_version: str = ""
    metadata: Meta = Meta()
    status: Scaling | None = None

    @property
    def lines(self) -> tuple[Condition, ...]:
        """The conditions."""
        return (self.status.conditions if self.status else None) or ()


SCALING_CONDITIONS = "autoscaling.alpha.kubernetes.io/conditions"
_FAILING = {
    "AbleToScale": frozenset({"FailedGetScale", "FailedUpdateScale"}),
    "ScalingActive": frozenset(
        {
            "FailedGetResourceMetric",
            "FailedGetObjectMetric",
            "FailedGetPodsMetric",
            "FailedGetExternalMetric",
            "FailedComputeMetricsReplicas",
            "InvalidSelector",
        }
    ),
}
_SCALES = frozenset({"AbleToScale", "ScalingLimited"})


def autoscaler(view: Conditioned) -> Health:
    """Able to scale, or why not; version 1 keeps its conditions in an annotation."""
    lines = view.lines
    if view.api_version == "autoscaling/v1":
        text = view.metadata.annotation(SCALING_CONDITIONS)
        lines = _CONDITIONS.decode(text) if text else ()
    for line in lines:
        if (line.reason or "") in _FAILING.get(line.type, ()):
            return degraded(line.message or "")
    for line in lines:
        if line.type in _SCALES and line.is_true:
            return healthy(line.message or "")
    return progressing("Waiting to autoscale")


def disruption_budget(view: Conditioned) -> Health:
    """Whether the budget can be kept account of; that it allows no disruption now is no fault of it."""
    if not view.lines:
        return progressing("Waiting for the controller to report")
    for line in view.lines:
        if line.status == "False" and line.reason != "InsufficientPods":
            return degraded(line.told)
    return healthy()
