"""Health of Pods. Pure.

A pod that is meant to run for ever is judged by whether it does; one that is meant to end, by how it ended.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from trimtab.engine.health.values import (
    HOOK_ANNOTATIONS,
    IGNORE_RESTART_POLICY,
    Condition,
    Health,
    Meta,
    degraded,
    healthy,
    progressing,
    unknown,
)


class Waiting(Struct, frozen=True, kw_only=True, gc=False):
    """Why a container does not run yet."""

    reason: str | None = None
    message: str | None = None


class Terminated(Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """How a container ended."""

    exit_code: int | None = None
    reason: str | None = None
    message: str | None = None


class State(Struct, frozen=True, kw_only=True, gc=False):
    """The state of a container; at most one of them is there."""

    waiting: Waiting | None = None
    terminated: Terminated | None = None


class Container(Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """The status of one container."""

    name: str = ""
    state: State | None = None
    last_state: State | None = None


class PodSpec(Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """What is wanted of a pod."""

    restart_policy: str | None = None


class PodStatus(Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """What the kubelet reports."""

    phase: str | None = None
    message: str | None = None
    conditions: tuple[Condition, ...] | None = None
    init_container_statuses: tuple[Container, ...] | None = None
    container_statuses: tuple[Container, ...] | None = None


class Pod(Struct, frozen=True, kw_only=True, gc=False):
    """A Pod."""

    metadata: Meta = Meta()
    spec: PodSpec | None = None
    status: PodStatus | None = None


def pod(view: Pod) -> Health:
    """By its phase, and by why its containers wait."""
    status = view.status or PodStatus()
    lasting = _is_lasting(view)
    if lasting:
        stuck = tuple(_stuck(status))
        if stuck:
            return degraded(", ".join(stuck))
    match status.phase:
        case "Pending":
            return progressing(status.message or "")
        case "Succeeded":
            return healthy(status.message or "")
        case "Failed":
            return degraded(status.message or _failure(status))
        case "Running":
            return _running(status) if lasting else progressing(status.message or "")
        case _:
            return unknown(status.message or "")


def _is_lasting(view: Pod) -> bool:
    """Whether the pod is meant to run for ever."""
    if view.spec is not None and view.spec.restart_policy == "Always":
        return True
    is_hook = any(view.metadata.annotation(name) for name in HOOK_ANNOTATIONS)
    return not is_hook and view.metadata.annotation(IGNORE_RESTART_POLICY) == "true"


def _stuck(status: PodStatus) -> Iterator[str]:
    """What is said about containers that wait because something is wrong."""
    for container in _containers(status):
        waiting = container.state.waiting if container.state else None
        reason = (waiting.reason if waiting else None) or ""
        if waiting and (reason.startswith("Err") or reason.endswith(("Error", "BackOff"))):
            yield waiting.message or reason


def _containers(status: PodStatus) -> tuple[Container, ...]:
    return (*(status.init_container_statuses or ()), *(status.container_statuses or ()))


def _failure(status: PodStatus) -> str:
    """Why a pod failed, from the first container that tells."""
    for container in _containers(status):
        ended = container.state.terminated if container.state else None
        if ended is None:
            continue
        if ended.message:
            return ended.message
        if ended.reason == "OOMKilled":
            return ended.reason
        if ended.exit_code:
            return f'container "{container.name}" failed with exit code {ended.exit_code}'
    return ""


def _running(status: PodStatus) -> Health:
    """A pod that is meant to run, and does: ready, on its way, or starting over and over."""
    if any(each.type == "Ready" and each.is_true for each in status.conditions or ()):
        return healthy(status.message or "")
    for container in status.container_statuses or ():
        if container.last_state is not None and container.last_state.terminated is not None:
            return degraded(status.message or "")
    return progressing(status.message or "")
