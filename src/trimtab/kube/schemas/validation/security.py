"""What is wrong with the security contexts of pods and containers, and with the annotations beside them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from trimtab.kube.gotext import Shown
from trimtab.kube.schemas.apparmor import LOCALHOST, LONGEST_PROFILE, PREFIX, is_profile, own_profile
from trimtab.kube.schemas.validation.causes import (
    Causes,
    duplicate,
    each_invalid,
    entries,
    forbidden,
    invalid,
    not_supported,
    part,
    quoted,
    required,
    too_long,
)
from trimtab.kube.schemas.validation.names import descending_path, in_range
from trimtab.kube.schemas.validation.windows import windows_options

Json = Mapping[str, Any]
LARGEST_ID = 2**31 - 1
PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")
PROC_MOUNTS = ("Default", "Unmasked")
GROUPS = ("containers", "initContainers", "ephemeralContainers")
LONGEST_SETTING = 253
SETTING = r"^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"
#: settings that belong to the node, where a pod shares this with it
HOST_SETTINGS = {
    "hostNetwork": r"net\..*",
    "hostIPC": r"kernel\.(sem|shm(all|max|mni|_rmid_forced)?|msg(max|mnb|mni)?)|fs\.mqueue\..*",
}
#: choices of a whole pod that are judged before its profiles, and those that are judged after
EARLY = {"fsGroupChangePolicy": ("Always", "OnRootMismatch")}
LATE = {"supplementalGroupsPolicy": ("Merge", "Strict"), "seLinuxChangePolicy": ("Recursive",)}
#: a security context as the server holds it: the names of its fields there and here
_HELD = {
    "Capabilities": "capabilities",
    "Privileged": "privileged",
    "SELinuxOptions": "seLinuxOptions",
    "WindowsOptions": "windowsOptions",
    "RunAsUser": "runAsUser",
    "RunAsGroup": "runAsGroup",
    "RunAsNonRoot": "runAsNonRoot",
    "ReadOnlyRootFilesystem": "readOnlyRootFilesystem",
    "AllowPrivilegeEscalation": "allowPrivilegeEscalation",
    "ProcMount": "procMount",
    "SeccompProfile": "seccompProfile",
    "AppArmorProfile": "appArmorProfile",
}
#: the same of what stands inside of it, with what is there where nothing was given
_INNER: dict[str, dict[str, tuple[str, Any]]] = {
    "capabilities": {"Add": ("add", None), "Drop": ("drop", None)},
    "seLinuxOptions": {name.title(): (name, "") for name in ("user", "role", "type", "level")},
    "windowsOptions": {
        "GMSACredentialSpecName": ("gmsaCredentialSpecName", None),
        "GMSACredentialSpec": ("gmsaCredentialSpec", None),
        "RunAsUserName": ("runAsUserName", None),
        "HostProcess": ("hostProcess", None),
    },
    "seccompProfile": {"Type": ("type", ""), "LocalhostProfile": ("localhostProfile", None)},
    "appArmorProfile": {"Type": ("type", ""), "LocalhostProfile": ("localhostProfile", None)},
}


def container_security(context: Json, path: str) -> Causes:
    """What is wrong with the security context of a container."""
    yield from _identities(context, ("runAsUser", "runAsGroup"), path)
    mount = context.get("procMount")
    if mount is not None and mount not in PROC_MOUNTS:
        yield not_supported(f"{path}.procMount", mount, PROC_MOUNTS)
    yield from _seccomp(context.get("seccompProfile"), f"{path}.seccompProfile")
    yield from windows_options(context.get("windowsOptions"), f"{path}.windowsOptions")
    if context.get("allowPrivilegeEscalation") is False:
        if context.get("privileged"):
            told = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
            yield invalid(path, _held(context), told)
        if "CAP_SYS_ADMIN" in (part(context, "capabilities").get("add") or ()):
            told = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
            yield invalid(path, _held(context), told)
    yield from _app_armor(own_profile(context), f"{path}.appArmorProfile")


def pod_security(spec: Json, path: str) -> Causes:
    """What is wrong with the security context of a whole pod."""
    context = part(spec, "securityContext")
    yield from _identities(context, ("fsGroup", "runAsUser", "runAsGroup"), path)
    for number, group in entries(context.get("supplementalGroups")):
        place = f"{path}.supplementalGroups[{number}]"
        yield from each_invalid(place, group, in_range(group, 0, LARGEST_ID))
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        told = "ShareProcessNamespace and HostPID cannot both be enabled"
        yield invalid(f"{path}.shareProcessNamespace", True, told)
    yield from _settings(context.get("sysctls"), spec, f"{path}.sysctls")
    yield from _choices(context, EARLY, path)
    yield from _seccomp(context.get("seccompProfile"), f"{path}.seccompProfile")
    yield from windows_options(context.get("windowsOptions"), f"{path}.windowsOptions")
    yield from _app_armor(own_profile(context), f"{path}.appArmorProfile")
    yield from _choices(context, LATE, path)


def _identities(context: Json, names: tuple[str, ...], path: str) -> Causes:
    for name in names:
        if context.get(name) is not None:
            yield from each_invalid(f"{path}.{name}", context[name], in_range(context[name], 0, LARGEST_ID))


def _choices(context: Json, choices: Mapping[str, tuple[str, ...]], path: str) -> Causes:
    for name, allowed in choices.items():
        if context.get(name) is not None and context[name] not in allowed:
            yield not_supported(f"{path}.{name}", context[name], allowed)


def _settings(settings: Any, spec: Json, path: str) -> Causes:
    """Settings of the node's kernel."""
    seen: set[str] = set()
    for number, setting in entries(settings):
        place, name = f"{path}[{number}].name", setting.get("name", "")
        if not name:
            yield required(place)
        elif len(name) > LONGEST_SETTING or not re.fullmatch(SETTING, name):
            told = f"must have at most {LONGEST_SETTING} characters and match regex {SETTING}"
            yield invalid(place, name, told)
        elif name in seen:
            yield duplicate(place, name)
        for shared, belonging in HOST_SETTINGS.items():
            if spec.get(shared) and re.fullmatch(belonging, name.replace("/", ".")):
                yield invalid(place, name, f"may not be specified when '{shared}' is true")
        seen.add(name)


def unmasked(spec: Json, path: str) -> Causes:
    """Containers that see all of `/proc` need users of their own."""
    for place, container in _containers(spec, path):
        mount = part(container, "securityContext").get("procMount")
        if mount == "Unmasked" and spec.get("hostUsers") is not False:
            told = "`hostUsers` must be false to use `Unmasked`"
            yield invalid(f"{place}.securityContext.procMount", mount, told)


def _containers(spec: Json, path: str) -> Iterator[tuple[str, Json]]:
    for group in GROUPS:
        for number, container in entries(spec.get(group)):
            yield f"{path}.{group}[{number}]", container


# -- profiles ---------------------------------------------------------------------------------------------


def _type(profile: Json, what: str, path: str) -> Causes:
    kind = profile.get("type") or ""
    if not kind:
        yield required(f"{path}.type", f"type is required when {what} is set")
    elif kind not in PROFILES:
        yield not_supported(f"{path}.type", kind, PROFILES)


def _seccomp(profile: Any, path: str) -> Causes:
    if not isinstance(profile, dict):
        return
    yield from _type(profile, "seccompProfile", path)
    name, place = profile.get("localhostProfile"), f"{path}.localhostProfile"
    if profile.get("type") != "Localhost":
        if name is not None:
            told = "can only be set when seccomp type is Localhost"
            yield invalid(place, _inner("seccompProfile", profile), told)
    elif name is None:
        yield required(place, "must be set when seccomp type is Localhost")
    else:
        yield from descending_path(name, place)


def _app_armor(profile: Any, path: str) -> Causes:
    if not isinstance(profile, dict):
        return
    yield from _type(profile, "appArmorProfile", path)
    name, place = profile.get("localhostProfile"), f"{path}.localhostProfile"
    if profile.get("type") == "Localhost":
        if name is not None and name != name.strip():
            yield invalid(place, name, "must not be padded with whitespace")
        elif not name:
            yield required(place, "must be set when AppArmor type is Localhost")
        if len((name or "").encode()) > LONGEST_PROFILE:
            yield too_long(place, LONGEST_PROFILE)
    elif name is not None and profile.get("type") in PROFILES:
        yield invalid(place, name, "can only be set when AppArmor type is Localhost")


def app_armor_annotations(annotations: Any, spec: Json, path: str) -> Causes:
    """What is wrong with the old annotations: each names a container and a profile."""
    names = {container.get("name", "") for _, container in _containers(spec, "")}
    for key, value in (annotations if isinstance(annotations, dict) else {}).items():
        if not key.startswith(PREFIX):
            continue
        name = key.removeprefix(PREFIX)
        if name not in names:
            yield invalid(f"{path}[{key}]", name, "container not found")
        if not is_profile(value):
            yield invalid(f"{path}[{key}]", value, f"invalid AppArmor profile name: {quoted(value)}")


def app_armor_mismatches(annotations: Any, spec: Json, path: str) -> Causes:
    """Where an annotation says something else than the field that counts."""
    whole = own_profile(spec.get("securityContext"))
    for place, container in _containers(spec, path):
        profile = own_profile(container.get("securityContext")) or whole
        key = PREFIX + container.get("name", "")
        if isinstance(profile, dict) and key in (annotations or {}):
            yield from _mismatch(annotations[key], profile, f"{place}.securityContext.appArmorProfile")


def _mismatch(annotation: str, profile: Json, path: str) -> Causes:
    kind, name = profile.get("type"), annotation.removeprefix(LOCALHOST)
    meant = {"Unconfined": "unconfined", "RuntimeDefault": "runtime/default"}
    if annotation != meant.get(str(kind), annotation) or (kind == "Localhost" and name == annotation):
        yield forbidden(f"{path}.type", "apparmor type in annotation and field must match")
    elif kind == "Localhost" and name != profile.get("localhostProfile"):
        yield forbidden(f"{path}.localhostProfile", "apparmor profile in annotation and field must match")


# -- how the server shows a security context --------------------------------------------------------------


def _held(context: Json) -> Shown:
    return Shown((above, _inner(name, context.get(name))) for above, name in _HELD.items())


def _inner(name: str, value: Any) -> Any:
    if not isinstance(value, dict) or name not in _INNER:
        return value
    return Shown((above, value.get(here, nothing)) for above, (here, nothing) in _INNER[name].items())
