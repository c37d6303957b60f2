"""Causes in the cluster itself: pods that do not run, objects that do not go or become healthy. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Final

import msgspec
from msgspec import Struct

from trimtab.app.why.facts import Facts, Finding, Seen, about_object
from trimtab.engine.health import HealthStatus
from trimtab.engine.health.values import HOOK_FINALIZERS
from trimtab.kube.times import BadTime, parse_time
from trimtab.resources.counting import counted
from trimtab.shapes import Shape

_IMAGE: Final = frozenset(
    {
        "ErrImagePull",
        "ImagePullBackOff",
        "InvalidImageName",
        "ErrImageNeverPull",
        "RegistryUnavailable",
        "ImageInspectError",
        "SignatureValidationFailed",
    }
)
_CONFIG: Final = frozenset({"CreateContainerConfigError", "CreateContainerError", "RunContainerError"})
#: what kubelets say of pods that they cannot start
_NOT_STARTED: Final = ("FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox", "NetworkNotReady")
_FOREGROUND: Final = "foregroundDeletion"


# -- what is read of a pod -------------------------------------------------------------------------------


class Waiting(Struct, frozen=True, kw_only=True):
    """Why a container does not run."""

    reason: str = ""
    message: str = ""


class Ended(Struct, frozen=True, kw_only=True, rename="camel"):
    """How a container ended; its own last words are left out, as they may hold anything."""

    exit_code: int = 0
    reason: str = ""
    finished_at: str | None = None


class State(Struct, frozen=True, kw_only=True):
    """The state of a container."""

    waiting: Waiting | None = None
    terminated: Ended | None = None


class Container(Struct, frozen=True, kw_only=True, rename="camel"):
    """The status of one container."""

    name: str
    image: str = ""
    ready: bool = False
    restart_count: int = 0
    state: State = State()
    last_state: State = State()

    @property
    def why_waiting(self) -> str:
        """The reason why it does not run; empty if it runs."""
        return self.state.waiting.reason if self.state.waiting else ""


class Condition(Struct, frozen=True, kw_only=True, rename="camel"):
    """One line of an object's conditions."""

    type: str
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


class Status(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a kubelet and the scheduler say of a pod."""

    phase: str = ""
    reason: str = ""
    message: str = ""
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[Container, ...] = ()
    init_container_statuses: tuple[Container, ...] = ()


class _Pod(Struct, frozen=True, kw_only=True):
    status: Status = Status()


_POD: Final = Shape(_Pod)


class Pod(Struct, frozen=True, kw_only=True):
    """One pod and what is said of it."""

    seen: Seen
    status: Status

    @property
    def containers(self) -> tuple[Container, ...]:
        """All containers, those that begin first."""
        return (*self.status.init_container_statuses, *self.status.container_statuses)

    def condition(self, kind: str) -> Condition | None:
        """The condition of this type."""
        return next((each for each in self.status.conditions if each.type == kind), None)

    @property
    def unready_since(self) -> datetime | None:
        """Since when it has not been ready."""
        found = self.condition("Ready")
        return _time(found.last_transition_time) if found and found.status == "False" else None


def pods(facts: Facts) -> Iterator[Pod]:
    """The pods of the family that are not on their way out."""
    for seen in facts.family.values():
        if (seen.key.group, seen.key.kind) == ("", "Pod") and not _deleted_at(seen):
            yield Pod(seen=seen, status=_status(seen))


def _status(seen: Seen) -> Status:
    try:
        return _POD.of(seen.manifest).status
    except msgspec.ValidationError:
        return Status()  # what cannot be read shows nothing


def _time(text: object) -> datetime | None:
    try:
        return parse_time(text) if isinstance(text, str) else None
    except BadTime:
        return None


class _Wants(Struct, frozen=True, kw_only=True):
    replicas: int = 1


class _Has(Struct, frozen=True, kw_only=True, rename="camel"):
    replicas: int = 0
    active: int = 0
    desired_number_scheduled: int = 0
    current_number_scheduled: int = 0


class _Workload(Struct, frozen=True, kw_only=True):
    spec: _Wants = _Wants()
    status: _Has = _Has()


_WORKLOAD: Final = Shape(_Workload)


def lacks_pods(seen: Seen) -> bool:
    """Whether a controller has fewer pods than it wants; what it said about failing outlives the reason."""
    try:
        found = _WORKLOAD.of(seen.manifest)
    except msgspec.ValidationError:
        return False
    match seen.key.kind:
        case "ReplicaSet" | "StatefulSet" | "ReplicationController":
            return found.status.replicas < found.spec.replicas
        case "DaemonSet":
            return found.status.current_number_scheduled < found.status.desired_number_scheduled
        case "Job":
            return not found.status.active
        case _:
            return False


# -- pods ------------------------------------------------------------------------------------------------


def image_pull(facts: Facts) -> Iterator[Finding]:
    """A container's image cannot be pulled."""
    for pod, container, waiting in _waiting(facts, _IMAGE):
        yield about_object(
            pod.seen.key,
            f"cannot pull the image {container.image} of container {container.name}",
            evidence=_joined(waiting.reason, waiting.message),
            remedy="Correct the image's name or tag, or give the pod a pull secret for its registry",
            since=pod.unready_since,
        )


def bad_container(facts: Facts) -> Iterator[Finding]:
    """A container cannot be made: a ConfigMap, Secret or key that it names is not there, or its command."""
    for pod, container, waiting in _waiting(facts, _CONFIG):
        yield about_object(
            pod.seen.key,
            f"cannot start container {container.name}",
            evidence=_joined(waiting.reason, waiting.message),
            remedy="Declare what it names, or correct the name",
            since=pod.unready_since,
        )


def _waiting(facts: Facts, reasons: Collection[str]) -> Iterator[tuple[Pod, Container, Waiting]]:
    """The containers that wait for one of these reasons."""
    for pod in pods(facts):
        for container in pod.containers:
            waiting = container.state.waiting
            if waiting is not None and waiting.reason in reasons:
                yield pod, container, waiting


def cannot_start(facts: Facts) -> Iterator[Finding]:
    """A pod has its node, and what it needs there cannot be had: a volume, a network, a sandbox."""
    for pod in pods(facts):
        said = next(facts.said_of(pod.seen, *_NOT_STARTED), None)
        if pod.status.phase == "Pending" and said is not None:
            yield about_object(
                pod.seen.key,
                "cannot be started on its node",
                evidence=_joined(said.reason, said.message),
                remedy="Declare the volume, ConfigMap or Secret that it names, or look at the node",
                since=said.first,
            )


def crash_loop(facts: Facts) -> Iterator[Finding]:
    """A container ends as soon as it has started, over and over."""
    for pod in pods(facts):
        for container in pod.containers:
            ended = container.last_state.terminated or container.state.terminated
            is_looping = container.why_waiting == "CrashLoopBackOff"
            if not is_looping and not (ended and ended.exit_code and container.restart_count):
                continue
            if container.ready:
                continue
            key, waiting = pod.seen.key, container.state.waiting
            yield about_object(
                key,
                f"keeps crashing: container {container.name} {_ending(ended)}, "
                f"restarted {counted(container.restart_count, 'time')}",
                evidence=_joined(container.why_waiting, waiting.message if waiting else ""),
                remedy=f"Read why: kubectl logs -n {key.namespace} {key.name} -c {container.name} --previous",
                since=pod.unready_since,
            )


def ended_badly(seen: Seen) -> Iterator[str]:
    """How the containers of a pod ended, those that ended badly."""
    for container in Pod(seen=seen, status=_status(seen)).containers:
        ended = container.state.terminated or container.last_state.terminated
        if ended is not None and ended.exit_code:
            yield f"container {container.name} {_ending(ended)}"


def _ending(ended: Ended | None) -> str:
    if ended is None:
        return "ended"
    reason = f" ({ended.reason})" if ended.reason not in {"", "Error"} else ""
    return f"ended with exit code {ended.exit_code}{reason}"


def pod_failed(facts: Facts) -> Iterator[Finding]:
    """A pod has ended badly: its program, or because it was evicted or took too long."""
    for pod in pods(facts):
        if pod.status.phase != "Failed":
            continue
        how = "; ".join(ended_badly(pod.seen))
        what = f"failed: {how or pod.status.reason or 'it does not say why'}"
        key = pod.seen.key
        yield about_object(
            key,
            what,
            evidence=_joined(pod.status.reason, pod.status.message),
            remedy=f"Read why: kubectl logs -n {key.namespace} {key.name}",
            since=pod.unready_since,
        )


def unschedulable(facts: Facts) -> Iterator[Finding]:
    """No node takes the pod."""
    for pod in pods(facts):
        found = pod.condition("PodScheduled")
        if found is not None and found.status == "False" and found.reason == "Unschedulable":
            yield about_object(
                pod.seen.key,
                "finds no node that takes it",
                evidence=found.message,
                remedy="Ask for less, widen where it may run, or add a node that fits",
                since=_time(found.last_transition_time),
            )


def not_ready(facts: Facts) -> Iterator[Finding]:
    """A pod runs, and does not become ready."""
    for pod in pods(facts):
        found = pod.condition("Ready")
        waits = [each.name for each in pod.status.container_statuses if not each.ready]
        is_troubled = any(each.why_waiting or each.restart_count for each in pod.containers)
        if pod.status.phase != "Running" or found is None or found.status != "False" or is_troubled:
            continue
        said = next(facts.said_of(pod.seen, "Unhealthy"), None)
        yield about_object(
            pod.seen.key,
            f"runs and is not ready: {_listed('container', waits)}",
            evidence=_joined(found.reason, said.message if said else found.message),
            remedy="See its readiness probe, and what its logs say it waits for",
            since=_time(found.last_transition_time),
        )


# -- objects that do not go, and health that does not come --------------------------------------------------


def finalizer_stuck(facts: Facts) -> Iterator[Finding]:
    """An object is being deleted, and a finalizer keeps it."""
    for seen in facts.family.values():
        deleted, kept = _deleted_at(seen), _finalizers(seen)
        if (
            deleted is None
            or not kept
            or set(kept) <= HOOK_FINALIZERS
            or _is_pod_on_its_way(seen, deleted, facts.now)
        ):
            continue
        waits = kept == (_FOREGROUND,)
        yield about_object(
            seen.key,
            f"is being deleted, and is kept by {_listed('finalizer', list(kept))}",
            evidence="what it owns has to go first" if waits else _remaining(seen),
            remedy="See why what it owns does not go"
            if waits
            else "Whoever set the finalizer takes it off when its work is done: see whether that still runs",
            since=deleted,
        )


def _is_pod_on_its_way(seen: Seen, deleted: datetime, now: datetime) -> bool:
    """A pod's deletion time is the end of its grace."""
    return seen.key.kind == "Pod" and deleted > now


def _deleted_at(seen: Seen) -> datetime | None:
    metadata = seen.manifest.get("metadata")
    return _time(metadata.get("deletionTimestamp")) if isinstance(metadata, dict) else None


def _finalizers(seen: Seen) -> tuple[str, ...]:
    metadata, spec = seen.manifest.get("metadata"), seen.manifest.get("spec")
    held = metadata.get("finalizers") if isinstance(metadata, dict) else None
    # A namespace has its finalizers in another place than everything else.
    own = spec.get("finalizers") if isinstance(spec, dict) and seen.key.kind == "Namespace" else None
    return tuple(str(each) for listed in (held, own) if isinstance(listed, list) for each in listed)


def _remaining(seen: Seen) -> str:
    """What a namespace that goes says about what is still in it; empty for other kinds."""
    try:
        found = _CONDITIONED.of(seen.manifest).status.conditions
    except msgspec.ValidationError:
        return ""
    telling = [each.message for each in found if each.status == "True" and each.message]
    return "; ".join(telling) if seen.key.kind == "Namespace" else ""


class _Conditions(Struct, frozen=True, kw_only=True):
    conditions: tuple[Condition, ...] = ()


class _Conditioned(Struct, frozen=True, kw_only=True):
    status: _Conditions = _Conditions()


_CONDITIONED: Final = Shape(_Conditioned)


#: what is said of a claim that has no volume, which is no warning to Kubernetes, and what to do then
_UNBOUND: Final = {
    "FailedBinding": "Make a volume that fits, or have the claim name a storage class that makes one",
    "WaitForFirstConsumer": "It gets its volume when a pod uses it: declare one that does, or wait for it",
    "ExternalProvisioning": "See whether the provisioner of its storage class runs",
}


def unwell(facts: Facts) -> Iterator[Finding]:
    """An object is not healthy, and nothing below it says why."""
    for seen in facts.family.values():
        health = seen.health
        if health is None or health.status is HealthStatus.HEALTHY or seen.parent is not None:
            continue
        warned = next((each for each in facts.said_of(seen) if each.is_warning), None)
        said = warned or next(facts.said_of(seen, *_UNBOUND), None)
        remedy = "It may only need time; ask again" if health.status is HealthStatus.PROGRESSING else ""
        yield about_object(
            seen.key,
            f"is {health.status.value}{f': {health.message}' if health.message else ''}",
            evidence=_joined(said.reason, said.message) if said else "",
            remedy=_UNBOUND.get(said.reason, remedy) if said else remedy,
            since=said.first if said else None,
        )


def _joined(*words: str) -> str:
    return ": ".join(word for word in words if word)


def _listed(noun: str, names: list[str]) -> str:
    return f"{noun}{'' if len(names) == 1 else 's'} {', '.join(names)}"
