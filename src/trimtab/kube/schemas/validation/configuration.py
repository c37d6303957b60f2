"""What is wrong with ConfigMaps, Secrets, Namespaces, priorities, budgets and leases."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from typing import Any

from trimtab.kube.gojson import BadJson, decoded, json_word
from trimtab.kube.gotext import Shown
from trimtab.kube.schemas.validation.causes import (
    Causes,
    each_invalid,
    forbidden,
    invalid,
    not_supported,
    part,
    required,
    too_long,
)
from trimtab.kube.schemas.validation.metadata import IMMUTABLE
from trimtab.kube.schemas.validation.names import at_least_zero, config_key, qualified_name
from trimtab.kube.schemas.validation.selectors import label_selector
from trimtab.kube.schemas.validation.workloads import at_most_all, int_or_percent

Json = Mapping[str, Any]
LARGEST = 1 << 20
FROZEN = "field is immutable when `immutable` is set"
HIGHEST_PRIORITY = 1_000_000_000


# -- ConfigMaps and Secrets ------------------------------------------------------------------------------


def config_map(manifest: Json) -> Causes:
    """What is wrong with a ConfigMap."""
    texts, binaries = manifest.get("data") or {}, manifest.get("binaryData") or {}
    for key in texts:
        yield from each_invalid(f"data[{key}]", key, config_key(key))
        if key in binaries:
            yield invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
    for key in binaries:
        yield from each_invalid(f"binaryData[{key}]", key, config_key(key))
    size = sum(len(text.encode()) for text in texts.values())
    size += sum(len(b64decode(text or "")) for text in binaries.values())
    if size > LARGEST:
        yield too_long("", LARGEST)


def config_map_update(new: Json, old: Json) -> Causes:
    """What may not be changed in a ConfigMap that is immutable."""
    yield from _frozen(new, old, ("data", "binaryData"))


def _frozen(new: Json, old: Json, fields: tuple[str, ...]) -> Causes:
    if not old.get("immutable"):
        return
    if not new.get("immutable"):
        yield forbidden("immutable", FROZEN)
    for name in fields:
        if new.get(name) != old.get(name):
            yield forbidden(name, FROZEN)


NEEDED_KEYS = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
}


def secret(manifest: Json) -> Causes:
    """What is wrong with a Secret; of its values nothing is ever shown."""
    values, kind = manifest.get("data") or {}, manifest.get("type", "")
    for key in values:
        yield from each_invalid(f"data[{key}]", key, config_key(key))
    if sum(len(b64decode(value or "")) for value in values.values()) > LARGEST:
        yield too_long("data", LARGEST)
    annotations = part(manifest, "metadata").get("annotations") or {}
    if kind == "kubernetes.io/service-account-token" and not annotations.get(
        "kubernetes.io/service-account.name"
    ):
        yield required("metadata.annotations[kubernetes.io/service-account.name]")
    if kind == "kubernetes.io/basic-auth" and not {"username", "password"} & set(values):
        yield required("data[username]")
        yield required("data[password]")
    if kind == "kubernetes.io/ssh-auth" and not values.get("ssh-privatekey"):
        yield required("data[ssh-privatekey]")
    for key in NEEDED_KEYS.get(kind, ()):
        if key not in values:
            yield required(f"data[{key}]")
        elif kind.startswith("kubernetes.io/docker"):
            why = _no_json_object(b64decode(values[key] or ""))
            yield from each_invalid(f"data[{key}]", "<secret contents redacted>", why)


def _no_json_object(content: bytes) -> tuple[str, ...]:
    """What Go says of content that cannot be read as an object; null can."""
    try:
        value = decoded(content)
    except BadJson as exc:
        return (str(exc),)
    if value is None or isinstance(value, dict):
        return ()
    return (f"json: cannot unmarshal {json_word(value)} into Go value of type map[string]interface {{}}",)


def secret_update(new: Json, old: Json) -> Causes:
    """What may not be changed in a Secret: its type, and all if it is immutable."""
    if new.get("type") != old.get("type"):
        yield invalid("type", new.get("type"), IMMUTABLE)
    yield from _frozen(new, old, ("data",))


def namespace(manifest: Json) -> Causes:
    """What is wrong with a Namespace: who must agree to its end."""
    for each in part(manifest, "spec").get("finalizers") or ():
        yield from _namespace_finalizer(each, "spec.finalizers")


def namespace_finalize(new: Json, _old: Json) -> Causes:
    """The same where nothing else is changed; here their places are told."""
    for number, each in enumerate(part(new, "spec").get("finalizers") or ()):
        yield from _namespace_finalizer(each, f"spec.finalizers[{number}]")


def _namespace_finalizer(name: str, path: str) -> Causes:
    yield from each_invalid(path, name, qualified_name(name))
    if "/" not in name and name != "kubernetes":
        yield invalid(path, name, "name is neither a standard finalizer name nor is it fully qualified")


def namespace_status(new: Json, _old: Json) -> Causes:
    """What is wrong with the phase of a Namespace: it follows from whether it is being deleted."""
    phase = part(new, "status").get("phase", "")
    ending = bool(part(new, "metadata").get("deletionTimestamp"))
    only = "Terminating" if ending else "Active"
    if phase != only:
        when = "not empty" if ending else "empty"
        yield invalid("status.Phase", phase, f"may only be '{only}' if `deletionTimestamp` is {when}")


# -- priorities ------------------------------------------------------------------------------------------


def priority_class(manifest: Json) -> Causes:
    """What is wrong with a PriorityClass."""
    name = part(manifest, "metadata").get("name", "")
    if name.startswith("system-"):
        reserved = "priority class names with 'system-' prefix are reserved for system use only"
        told = f"{reserved}. error: {name} is not a known system priority class"
        yield forbidden("metadata.name", told)
    elif manifest.get("value", 0) > HIGHEST_PRIORITY:
        yield forbidden("value", f"maximum allowed value of a user defined priority is {HIGHEST_PRIORITY}")
    policy = manifest.get("preemptionPolicy")
    if not policy:
        yield required("preemptionPolicy")
    elif policy not in ("PreemptLowerPriority", "Never"):
        yield not_supported("preemptionPolicy", policy, ("PreemptLowerPriority", "Never"))


def priority_class_update(new: Json, old: Json) -> Causes:
    """What may not be changed in a PriorityClass: pods have it already."""
    if new.get("value") != old.get("value"):
        yield forbidden("value", "may not be changed in an update.")
    if new.get("preemptionPolicy") != old.get("preemptionPolicy"):
        yield invalid("preemptionPolicy", new.get("preemptionPolicy"), IMMUTABLE)


# -- budgets, leases --------------------------------------------------------------------------------------


EVICTIONS = ("AlwaysAllow", "IfHealthyBudget")


def disruption_budget(manifest: Json) -> Causes:
    """What is wrong with a PodDisruptionBudget."""
    spec = part(manifest, "spec")
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    if least is not None and most is not None:
        shown = {
            "MinAvailable": least,
            "Selector": spec.get("selector"),
            "MaxUnavailable": most,
            "UnhealthyPodEvictionPolicy": spec.get("unhealthyPodEvictionPolicy"),
        }
        yield invalid("spec", Shown(shown), "minAvailable and maxUnavailable cannot be both set")
    for name, value in (("minAvailable", least), ("maxUnavailable", most)):
        if value is not None:
            yield from int_or_percent(value, f"spec.{name}")
            yield from at_most_all(value, f"spec.{name}")
    yield from label_selector(spec.get("selector"), "spec.selector")
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None and policy not in EVICTIONS:
        yield not_supported("spec.unhealthyPodEvictionPolicy", policy, EVICTIONS)


def lease(manifest: Json) -> Causes:
    """What is wrong with a Lease."""
    spec = part(manifest, "spec")
    duration = spec.get("leaseDurationSeconds")
    if duration is not None and duration <= 0:
        yield invalid("spec.leaseDurationSeconds", duration, "must be greater than 0")
    yield from at_least_zero(spec.get("leaseTransitions"), "spec.leaseTransitions")
