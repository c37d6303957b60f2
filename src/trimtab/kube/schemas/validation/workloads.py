"""What is wrong with workloads: Pods, the kinds that make pods, and what may not be changed in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from trimtab.kube.gotext import Shown
from trimtab.kube.integers import nearest
from trimtab.kube.schemas.validation.causes import (
    Causes,
    each_invalid,
    entries,
    forbidden,
    invalid,
    not_supported,
    part,
    required,
)
from trimtab.kube.schemas.validation.claims import claim_spec
from trimtab.kube.schemas.validation.metadata import IMMUTABLE
from trimtab.kube.schemas.validation.names import at_least_zero, dns_label, percent
from trimtab.kube.schemas.validation.pods import pod_template, whole_pod
from trimtab.kube.schemas.validation.selectors import is_usable, label_selector, selects
from trimtab.kube.trees import equal

Json = Mapping[str, Any]
MISMATCH = "`selector` does not match template `labels`"


# -- pods ------------------------------------------------------------------------------------------------


def pod(manifest: Json) -> Causes:
    """What is wrong with a Pod."""
    spec = part(manifest, "spec")
    yield from whole_pod(manifest)
    if spec.get("ephemeralContainers"):
        yield forbidden("spec.ephemeralContainers", "cannot be set on create")


# -- what makes pods -------------------------------------------------------------------------------------


def deployment(manifest: Json) -> Causes:
    """What is wrong with a Deployment."""
    spec = part(manifest, "spec")
    yield from at_least_zero(spec.get("replicas"), "spec.replicas")
    yield from _selector(spec, "deployment")
    yield from _replicated_template(spec, "ReplicaSet")
    yield from _deployment_strategy(part(spec, "strategy"))
    ready = spec.get("minReadySeconds", 0)
    yield from at_least_zero(ready, "spec.minReadySeconds")
    yield from at_least_zero(spec.get("revisionHistoryLimit"), "spec.revisionHistoryLimit")
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None:
        yield from at_least_zero(deadline, "spec.progressDeadlineSeconds")
        if deadline <= ready:
            yield invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds")


def replica_set(manifest: Json) -> Causes:
    """What is wrong with a ReplicaSet."""
    spec = part(manifest, "spec")
    yield from at_least_zero(spec.get("replicas"), "spec.replicas")
    yield from at_least_zero(spec.get("minReadySeconds"), "spec.minReadySeconds")
    yield from _selector(spec, "deployment")
    yield from _replicated_template(spec, "ReplicaSet")


def replication_controller(manifest: Json) -> Causes:
    """What is wrong with a ReplicationController."""
    spec = part(manifest, "spec")
    yield from at_least_zero(spec.get("minReadySeconds"), "spec.minReadySeconds")
    if not spec.get("selector"):
        yield required("spec.selector")
    yield from at_least_zero(spec.get("replicas"), "spec.replicas")
    if not spec.get("template"):
        yield required("spec.template")
        return
    selector = {"matchLabels": spec.get("selector") or {}}
    yield from _matching_template(spec["template"], selector, restart=("Always",))
    if part(spec["template"], "spec").get("activeDeadlineSeconds") is not None:
        yield _no_deadline("ReplicationController")


def daemon_set(manifest: Json) -> Causes:
    """What is wrong with a DaemonSet."""
    spec = part(manifest, "spec")
    selector = spec.get("selector")
    yield from label_selector(selector, "spec.selector")
    if is_usable(selector) and not selects(selector, _labels_of(spec)):
        yield invalid("spec.template.metadata.labels", _labels_of(spec), MISMATCH)
    if selector is not None and not any(selector.values()):
        yield invalid("spec.selector", selector, "empty selector is invalid for daemonset")
    yield from pod_template(part(spec, "template"), "spec.template")
    pod = part(part(spec, "template"), "spec")
    if pod.get("restartPolicy") != "Always":
        yield not_supported("spec.template.spec.restartPolicy", pod.get("restartPolicy", ""), ("Always",))
    if pod.get("activeDeadlineSeconds") is not None:
        yield _no_deadline("DaemonSet")
    yield from at_least_zero(spec.get("minReadySeconds"), "spec.minReadySeconds")
    yield from _daemon_set_strategy(part(spec, "updateStrategy"))
    yield from at_least_zero(spec.get("revisionHistoryLimit"), "spec.revisionHistoryLimit")


def stateful_set(manifest: Json, *, created: bool = True) -> Causes:
    """What is wrong with a StatefulSet."""
    spec = part(manifest, "spec")
    yield from _stateful_policies(spec)
    for number, claim in entries(spec.get("volumeClaimTemplates") if created else None):
        yield from claim_spec(part(claim, "spec"), f"spec.volumeClaimTemplates[{number}].spec")
    yield from at_least_zero(spec.get("replicas"), "spec.replicas")
    yield from at_least_zero(spec.get("minReadySeconds"), "spec.minReadySeconds")
    yield from at_least_zero(part(spec, "ordinals").get("start"), "spec.ordinals.start")
    name = spec.get("serviceName", "")
    if created and name:
        yield from each_invalid("spec.serviceName", name, dns_label(name))
    yield from _selector(spec, "statefulset")
    if is_usable(spec.get("selector")):
        yield from _matching_template(_with_claims(spec), spec.get("selector"), restart=())
    else:
        yield invalid("spec.selector", spec["selector"], "")
    pod = part(part(spec, "template"), "spec")
    if pod.get("restartPolicy") != "Always":
        yield not_supported("spec.template.spec.restartPolicy", pod.get("restartPolicy", ""), ("Always",))
    if pod.get("activeDeadlineSeconds") is not None:
        yield _no_deadline("StatefulSet")


def _with_claims(spec: Json) -> Json:
    """The template with a volume for each claim that will be made."""
    template = part(spec, "template")
    claims = entries(spec.get("volumeClaimTemplates"))
    claimed = dict.fromkeys(part(claim, "metadata").get("name", "") for _, claim in claims)
    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claimed]
    others = [
        each for _, each in entries(part(template, "spec").get("volumes")) if each.get("name") not in claimed
    ]
    free = {
        name: value for name, value in part(template, "spec").items() if name not in ("hostname", "subdomain")
    }
    return {**template, "spec": {**free, "volumes": [*volumes, *others]}}


def _stateful_policies(spec: Json) -> Causes:
    policy = spec.get("podManagementPolicy", "")
    if policy not in ("OrderedReady", "Parallel"):
        yield invalid("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'")
    strategy = part(spec, "updateStrategy")
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    path = "spec.updateStrategy"
    if kind == "OnDelete" and rolling is not None:
        told = "only allowed for updateStrategy 'RollingUpdate'"
        yield invalid(f"{path}.rollingUpdate", _shown_partition(rolling), told)
    elif kind == "RollingUpdate":
        yield from at_least_zero((rolling or {}).get("partition"), f"{path}.rollingUpdate.partition")
    elif kind != "OnDelete":
        held = None if rolling is None else _shown_partition(rolling)
        told = "must be 'RollingUpdate' or 'OnDelete'"
        yield invalid(path, Shown({"Type": kind, "RollingUpdate": held}), told)
    for name in ("whenDeleted", "whenScaled"):
        kept = part(spec, "persistentVolumeClaimRetentionPolicy").get(name, "")
        if kept not in ("Retain", "Delete"):
            yield not_supported(
                f"spec.persistentVolumeClaimRetentionPolicy.{name}", kept, ("Retain", "Delete")
            )


# -- selectors and templates -----------------------------------------------------------------------------


def _labels_of(spec: Json) -> Any:
    return part(part(spec, "template"), "metadata").get("labels")


def _selector(spec: Json, kind: str) -> Causes:
    selector = spec.get("selector")
    if selector is None:
        yield required("spec.selector")
        return
    yield from label_selector(selector, "spec.selector")
    if not any(selector.values()):
        yield invalid("spec.selector", selector, f"empty selector is invalid for {kind}")


def _replicated_template(spec: Json, kind: str) -> Causes:
    if not is_usable(spec.get("selector")):
        yield invalid("spec.selector", spec["selector"], "invalid label selector")
        return
    yield from _matching_template(part(spec, "template"), spec.get("selector"), restart=("Always",))
    if part(part(spec, "template"), "spec").get("activeDeadlineSeconds") is not None:
        yield _no_deadline(kind)


def _matching_template(template: Json, selector: Any, *, restart: Iterable[str]) -> Causes:
    carried = part(template, "metadata").get("labels")
    everything = selector is not None and not any(selector.values())
    if not everything and not selects(selector, carried):
        yield invalid("spec.template.metadata.labels", carried, MISMATCH)
    yield from pod_template(template, "spec.template")
    policy = part(template, "spec").get("restartPolicy", "")
    if restart and policy not in restart:
        yield not_supported("spec.template.spec.restartPolicy", policy, restart)


def _no_deadline(kind: str) -> Any:
    told = f"activeDeadlineSeconds in {kind} is not Supported"
    return forbidden("spec.template.spec.activeDeadlineSeconds", told)


# -- strategies ------------------------------------------------------------------------------------------


def _shown_partition(rolling: Json) -> Shown:
    """How a StatefulSet rolls, as the server holds it."""
    return Shown({"Partition": rolling.get("partition", 0), "MaxUnavailable": rolling.get("maxUnavailable")})


def _deployment_strategy(strategy: Json) -> Causes:
    kind, rolling, path = strategy.get("type", ""), strategy.get("rollingUpdate"), "spec.strategy"
    if kind == "Recreate":
        if rolling is not None:
            told = "may not be specified when strategy `type` is 'Recreate'"
            yield forbidden(f"{path}.rollingUpdate", told)
    elif kind == "RollingUpdate":
        yield from _rolling_deployment(rolling or {}, f"{path}.rollingUpdate")
    else:
        yield not_supported(path, _shown(kind, rolling), ("Recreate", "RollingUpdate"))


def _rolling_deployment(rolling: Json, path: str) -> Causes:
    missing, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    yield from int_or_percent(missing, f"{path}.maxUnavailable")
    yield from int_or_percent(surge, f"{path}.maxSurge")
    if _is_none(missing) and _is_none(surge):
        yield invalid(f"{path}.maxUnavailable", missing, "may not be 0 when `maxSurge` is 0")
    yield from at_most_all(missing, f"{path}.maxUnavailable")


def _daemon_set_strategy(strategy: Json) -> Causes:
    kind, rolling, path = strategy.get("type", ""), strategy.get("rollingUpdate"), "spec.updateStrategy"
    if kind == "RollingUpdate":
        yield from _rolling_daemon_set(rolling or {}, f"{path}.rollingUpdate")
    elif kind != "OnDelete":
        yield not_supported(path, _shown(kind, rolling), ("RollingUpdate", "OnDelete"))


def _shown(kind: str, rolling: Json | None) -> Shown:
    """The strategy of a Deployment or DaemonSet as the server holds it."""
    if rolling is None:
        return Shown({"Type": kind, "RollingUpdate": None})
    held = {"MaxUnavailable": rolling.get("maxUnavailable", 0), "MaxSurge": rolling.get("maxSurge", 0)}
    return Shown({"Type": kind, "RollingUpdate": Shown(held)})


def _rolling_daemon_set(rolling: Json, path: str) -> Causes:
    missing, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    for value, name in ((missing, "maxUnavailable"), (surge, "maxSurge")):
        yield from int_or_percent(value, f"{path}.{name}")
        yield from at_most_all(value, f"{path}.{name}")
    if not _is_none(missing) and not _is_none(surge):
        yield invalid(f"{path}.maxSurge", surge, "may not be set when maxUnavailable is non-zero")
    if _is_none(missing) and _is_none(surge):
        yield required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0")


def int_or_percent(value: int | str, path: str) -> Causes:
    """A number that is not negative, or a percentage."""
    if isinstance(value, str):
        yield from each_invalid(path, value, percent(value))
    else:
        yield from at_least_zero(value, path)


def at_most_all(value: int | str, path: str) -> Causes:
    """A percentage of at most a hundred."""
    if isinstance(value, str) and not percent(value) and nearest(value[:-1]) > 100:
        yield invalid(path, value, "must not be greater than 100%")


def _is_none(value: int | str) -> bool:
    if isinstance(value, str):
        return nearest(value if percent(value) else value[:-1]) == 0
    return value == 0


# -- updates ---------------------------------------------------------------------------------------------


def selector_is_fixed(new: Json, old: Json) -> Causes:
    """The selector of a workload stays as it was created."""
    selector = part(new, "spec").get("selector")
    if selector != part(old, "spec").get("selector"):
        yield invalid("spec.selector", selector, IMMUTABLE)


def daemon_set_update(new: Json, old: Json) -> Causes:
    """What may not be changed in a DaemonSet, which is told before what is wrong with it."""
    yield from selector_is_fixed(new, old)
    yield from daemon_set(new)


STATEFUL_SET_CHANGES = (
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
)


def stateful_set_update(new: Json, old: Json) -> Causes:
    """What may not be changed in a StatefulSet."""
    yield from stateful_set(new, created=False)
    fixed = [
        {name: value for name, value in part(each, "spec").items() if name not in STATEFUL_SET_CHANGES}
        for each in (new, old)
    ]
    if fixed[0] != fixed[1]:
        *names, last = (f"'{name}'" for name in STATEFUL_SET_CHANGES)
        told = f"{', '.join(names)} and {last}"
        yield forbidden("spec", f"updates to statefulset spec for fields other than {told} are forbidden")


def template(manifest: Json) -> Causes:
    """What is wrong with a PodTemplate."""
    yield from pod_template(part(manifest, "template"), "template")


def revision(manifest: Json) -> Causes:
    """What is wrong with a ControllerRevision."""
    yield from at_least_zero(manifest.get("revision"), "revision")
    state = manifest.get("data")
    if state is None:
        yield required("data", "data is mandatory")
    elif not isinstance(state, dict):
        yield required("data", "data must be a valid JSON object")


def revision_update(new: Json, old: Json) -> Causes:
    """What may not be changed in a ControllerRevision."""
    yield from at_least_zero(new.get("revision"), "revision")
    if not equal(new.get("data"), old.get("data")):
        yield invalid("data", new.get("data"), IMMUTABLE)
