"""What is wrong with a pod for Windows, and with options for Windows anywhere."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

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
from trimtab.kube.schemas.validation.names import SUBDOMAIN, dns_subdomain

Json = Mapping[str, Any]
SYSTEMS = ("linux", "windows")
LONGEST_SPEC, SPEC_IN_KIB = 64 << 10, 64
LONGEST_DOMAIN, LONGEST_USER = 256, 104
NET_BIOS = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}')
BAD_LETTERS = r'"/\:;|=,+*?<>@[]'
#: what a pod for Windows may not have: fields of its security context (None: of its spec), and of containers'
OF_PODS = (
    ("securityContext", "appArmorProfile"),
    ("securityContext", "seLinuxOptions"),
    (None, "hostUsers"),
    (None, "hostPID"),
    (None, "hostIPC"),
    ("securityContext", "seccompProfile"),
    ("securityContext", "fsGroup"),
    ("securityContext", "fsGroupChangePolicy"),
    ("securityContext", "sysctls"),
    (None, "shareProcessNamespace"),
    ("securityContext", "runAsUser"),
    ("securityContext", "runAsGroup"),
    ("securityContext", "supplementalGroups"),
    ("securityContext", "supplementalGroupsPolicy"),
    ("securityContext", "seLinuxChangePolicy"),
)
OF_CONTAINERS = (
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
)
FLAGS = ("hostPID", "hostIPC", "sysctls")  # what counts only if it is set to something


def windows_options(options: Any, path: str) -> Causes:
    """What is wrong with options for Windows."""
    if not isinstance(options, dict):
        return
    name, spec, user = (
        options.get(key) for key in ("gmsaCredentialSpecName", "gmsaCredentialSpec", "runAsUserName")
    )
    if name is not None:
        yield from each_invalid(f"{path}.gmsaCredentialSpecName", name, dns_subdomain(name))
    if spec is not None and not spec:
        yield invalid(f"{path}.gmsaCredentialSpec", spec, "gmsaCredentialSpec cannot be an empty string")
    elif spec is not None and len(spec.encode()) > LONGEST_SPEC:
        told = f"gmsaCredentialSpec size must be under {SPEC_IN_KIB} KiB"
        yield invalid(f"{path}.gmsaCredentialSpec", spec, told)
    if user is not None:
        yield from each_invalid(f"{path}.runAsUserName", user, tuple(_user_problems(user)))


def _user_problems(name: str) -> Iterator[str]:
    """What is wrong with the name of a user, perhaps with a domain before it."""
    *domains, user = name.split("\\")
    if not name:
        yield "runAsUserName cannot be an empty string"
    elif re.search(r"[\x00-\x1f\x7f]", name):
        yield "runAsUserName cannot contain control characters"
    elif len(domains) > 1:
        yield "runAsUserName cannot contain more than one backslash"
    else:
        for domain in domains:
            yield from _domain_problems(domain)
        yield from _plain_user_problems(user)


def _domain_problems(domain: str) -> Iterator[str]:
    if len(domain) >= LONGEST_DOMAIN:
        yield f"runAsUserName's Domain length must be under {LONGEST_DOMAIN} characters"
    if not NET_BIOS.fullmatch(domain) and not re.search(rf"^{SUBDOMAIN}$", domain, re.ASCII):
        yield "runAsUserName's Domain doesn't match the NetBios nor the DNS format"


def _plain_user_problems(user: str) -> Iterator[str]:
    if not user:
        yield "runAsUserName's User cannot be empty"
    elif len(user.encode()) > LONGEST_USER:
        yield f"runAsUserName's User length must not be longer than {LONGEST_USER} characters"
    if user and not user.strip(". "):
        yield "runAsUserName's User cannot contain only periods or spaces"
    if any(letter in BAD_LETTERS for letter in user):
        yield f"runAsUserName's User cannot contain the following characters: {BAD_LETTERS}"


def host_processes(spec: Json, path: str) -> Causes:
    """Containers that are processes of the node: all of them or none."""
    whole = part(part(spec, "securityContext"), "windowsOptions").get("hostProcess")
    found = [*_containers(spec, path)]
    among = 0
    for place, context in found:
        own = part(context, "windowsOptions").get("hostProcess")
        if whole is not None and own is not None and whole != own:
            told = f"pod hostProcess value must be identical if both are specified, was {str(whole).lower()}"
            yield invalid(f"{place}.windowsOptions.hostProcess", own, told)
        among += bool(whole if own is None else own)
    if among and among != len(found):
        told = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        yield invalid(path, "", told)
    if among and not spec.get("hostNetwork"):
        told = "hostNetwork must be true if pod contains any hostProcess containers"
        yield invalid(f"{path}.hostNetwork", False, told)


def operating_system(spec: Json, path: str) -> Causes:
    """What cannot be on the system that a pod is for."""
    if spec.get("os") is None:
        return
    system = spec["os"].get("name", "")
    if not system:
        yield required(f"{path}.os.name")
    elif system not in SYSTEMS:
        yield not_supported(f"{path}.os", system, SYSTEMS)
    elif system == "linux":
        yield from _for_linux(spec, path)
    else:
        yield from _for_windows(spec, path)


def _for_linux(spec: Json, path: str) -> Causes:
    told = "windows options cannot be set for a linux pod"
    contexts = [(f"{path}.securityContext", part(spec, "securityContext")), *_containers(spec, path)]
    for place, context in contexts:
        if context.get("windowsOptions") is not None:
            yield forbidden(f"{place}.windowsOptions", told)


def _for_windows(spec: Json, path: str) -> Causes:
    told = "cannot be set for a windows pod"
    for holder, name in OF_PODS:
        value = (part(spec, holder) if holder else spec).get(name)
        if value if name in FLAGS else value is not None:
            yield forbidden(".".join(step for step in (path, holder, name) if step), told)
    for place, context in _containers(spec, path):
        for name in OF_CONTAINERS:
            if context.get(name) is not None:
                yield forbidden(f"{place}.{name}", told)


def _containers(spec: Json, path: str) -> Iterator[tuple[str, Json]]:
    """The security contexts of all containers, in the server's order, and where they are."""
    for group in ("initContainers", "containers", "ephemeralContainers"):
        for number, container in entries(spec.get(group)):
            yield f"{path}.{group}[{number}].securityContext", part(container, "securityContext")
