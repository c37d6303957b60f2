"""What is wrong with a pod's spec, wherever it stands: in a Pod, in a template, in a Job's template."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from trimtab.kube.gotext import Shown
from trimtab.kube.schemas.validation.causes import (
    Causes,
    duplicate,
    each_invalid,
    entries,
    forbidden,
    invalid,
    not_supported,
    part,
    required,
    too_long,
)
from trimtab.kube.schemas.validation.containers import Surroundings, containers, init_containers
from trimtab.kube.schemas.validation.names import (
    address,
    annotation_causes,
    dns_label,
    dns_subdomain,
    in_range,
    label_causes,
    label_value,
    qualified_name,
)
from trimtab.kube.schemas.validation.resources import requirements
from trimtab.kube.schemas.validation.scheduling import affinity, spread_constraints
from trimtab.kube.schemas.validation.security import (
    app_armor_annotations,
    app_armor_mismatches,
    pod_security,
    unmasked,
)
from trimtab.kube.schemas.validation.sources import source_causes
from trimtab.kube.schemas.validation.windows import host_processes, operating_system

Json = Mapping[str, Any]
RESTART_POLICIES = ("Always", "OnFailure", "Never")
DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
PREEMPTION_POLICIES = ("PreemptLowerPriority", "Never")
TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
LARGEST_INT32 = 2**31 - 1
MOST_SERVERS = 3
LONGEST_NAME = 64
CLAIMED_BY = ("resourceClaimName", "resourceClaimTemplateName")
#: a claim as the server holds it: the names of its fields there and here
CLAIM = {"Name": "name", "ResourceClaimName": CLAIMED_BY[0], "ResourceClaimTemplateName": CLAIMED_BY[1]}
ONE_CLAIM = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
NO_CLAIM = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"


def pod_template(template: Json, path: str) -> Causes:
    """What is wrong with a pod template."""
    meta = part(template, "metadata")
    yield from label_causes(meta.get("labels"), f"{path}.labels")
    annotations, spec = meta.get("annotations"), part(template, "spec")
    yield from annotation_causes(annotations, f"{path}.annotations")
    yield from app_armor_annotations(annotations, spec, f"{path}.annotations")
    yield from pod_spec(spec, f"{path}.spec")
    yield from app_armor_mismatches(annotations, spec, f"{path}.spec")
    if spec.get("ephemeralContainers"):
        yield forbidden(
            f"{path}.spec.ephemeralContainers", "ephemeral containers not allowed in pod template"
        )


def pod_spec(spec: Json, path: str, *, in_pod: bool = False) -> Causes:
    """What is wrong with the spec of a pod."""
    wrong = list(_volumes(spec.get("volumes"), f"{path}.volumes", in_pod=in_pod))
    yield from wrong
    names = frozenset(
        volume.get("name", "")
        for number, volume in entries(spec.get("volumes"))
        if not any(cause.field.startswith(f"{path}.volumes[{number}].") for cause in wrong)
    )
    yield from _claims(spec.get("resourceClaims"), f"{path}.resourceClaims")
    main, around = spec.get("containers"), surroundings(spec, names)
    yield from containers(main, around, f"{path}.containers")
    yield from init_containers(spec.get("initContainers"), main, around, f"{path}.initContainers")
    yield from unmasked(spec, path)
    yield from _host_network(spec, path, in_pod=in_pod)
    yield from _choices(spec, path)
    yield from label_causes(spec.get("nodeSelector"), f"{path}.nodeSelector")
    yield from pod_security(spec, f"{path}.securityContext")
    yield from affinity(part(spec, "affinity"), f"{path}.affinity")
    yield from _dns(spec.get("dnsConfig"), spec.get("dnsPolicy", ""), f"{path}.dnsConfig")
    yield from _gates(spec, path)
    yield from spread_constraints(spec.get("topologySpreadConstraints"), f"{path}.topologySpreadConstraints")
    yield from host_processes(spec, path)
    yield from _own_users(spec, path)
    yield from _own_name(spec, path)
    yield from _names(spec, path)
    for number, each in entries(spec.get("tolerations")):
        yield from toleration(each, f"{path}.tolerations[{number}]")
    yield from _aliases(spec.get("hostAliases"), f"{path}.hostAliases")
    yield from _late(spec, path)
    yield from requirements({"limits": spec.get("overhead")}, f"{path}.overhead")
    yield from operating_system(spec, path)


def surroundings(spec: Json, volumes: frozenset[str]) -> Surroundings:
    """What the containers of a pod must know of it."""
    claims = frozenset(claim["name"] for _, claim in entries(spec.get("resourceClaims")) if claim.get("name"))
    return Surroundings(volumes=volumes, claims=claims, restart=spec.get("restartPolicy", ""))


def whole_pod(manifest: Json) -> Causes:
    """What is wrong with the annotations of a Pod beside its spec, and with its spec."""
    annotations, spec = part(manifest, "metadata").get("annotations"), part(manifest, "spec")
    yield from app_armor_annotations(annotations, spec, "metadata.annotations")
    yield from pod_spec(spec, "spec", in_pod=True)
    for group in ("containers", "initContainers"):
        for number, each in entries(spec.get(group)):
            yield from padded_image(each, f"spec.{group}[{number}]")
    yield from _tokens_of_nobody(spec)
    yield from app_armor_mismatches(annotations, spec, "spec")


def padded_image(container: Json, path: str) -> Causes:
    """An image with spaces around it; templates may have such."""
    image = container.get("image") or ""
    if image != image.strip():
        yield invalid(f"{path}.image", image, "must not have leading or trailing whitespace")


def _tokens_of_nobody(spec: Json) -> Causes:
    """Tokens that are asked for while nobody is named whose they are."""
    for number, volume in entries(None if spec.get("serviceAccountName") else spec.get("volumes")):
        for place, source in entries(part(volume, "projected").get("sources")):
            if source.get("serviceAccountToken") is not None:
                where = f"spec.volumes[{number}].projected.sources[{place}].serviceAccountToken"
                yield forbidden(where, "must not be specified when serviceAccountName is not set")


def _choices(spec: Json, path: str) -> Causes:
    for name, allowed in (("restartPolicy", RESTART_POLICIES), ("dnsPolicy", DNS_POLICIES)):
        if spec.get(name) not in allowed:
            yield not_supported(f"{path}.{name}", spec.get(name, ""), allowed)


def _claims(claims: Any, path: str) -> Causes:
    """Claims of devices, each by its own name or by that of a template."""
    seen: set[str] = set()
    for number, claim in entries(claims):
        place, name = f"{path}[{number}]", claim.get("name", "")
        if not name:
            yield required(f"{place}.name")
        elif name in seen:
            yield duplicate(f"{place}.name", name)
        else:
            yield from each_invalid(f"{place}.name", name, dns_label(name))
        seen.add(name)
        given = [field for field in CLAIMED_BY if claim.get(field) is not None]
        if len(given) != 1:
            told = ONE_CLAIM if given else NO_CLAIM
            yield invalid(place, Shown((above, claim.get(here)) for above, here in CLAIM.items()), told)
        for field in given:
            yield from each_invalid(f"{place}.{field}", claim[field], dns_subdomain(claim[field]))


def _gates(spec: Json, path: str) -> Causes:
    for number, gate in entries(spec.get("readinessGates")):
        kind = gate.get("conditionType", "")
        yield from each_invalid(f"{path}.readinessGates[{number}].conditionType", kind, qualified_name(kind))
    seen: set[str] = set()
    for number, gate in entries(spec.get("schedulingGates")):
        place, name = f"{path}.schedulingGates[{number}]", gate.get("name", "")
        yield from each_invalid(place, name, qualified_name(name))
        if name in seen:
            yield duplicate(place, name)
        seen.add(name)


def _own_users(spec: Json, path: str) -> Causes:
    """A pod with users of its own shares less with the node."""
    for field, name in (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")):
        if spec.get("hostUsers") is False and spec.get(field):
            yield forbidden(f"{path}.{name}", "when `hostUsers` is false")


def _own_name(spec: Json, path: str) -> Causes:
    """A pod whose host's name is given as it is."""
    place, name = f"{path}.hostnameOverride", spec.get("hostnameOverride")
    if name is None:
        return
    for field in ("setHostnameAsFQDN", "hostNetwork"):
        if spec.get(field):
            yield forbidden(place, f"may not be specified when {field} is true")
    if len(name) > LONGEST_NAME:
        yield too_long(place, LONGEST_NAME)
    yield from each_invalid(place, name, dns_subdomain(name))


def _names(spec: Json, path: str) -> Causes:
    for name in ("serviceAccountName", "nodeName"):
        if spec.get(name):
            yield from each_invalid(f"{path}.{name}", spec[name], dns_subdomain(spec[name]))
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None:
        yield from each_invalid(
            f"{path}.activeDeadlineSeconds", deadline, in_range(deadline, 1, LARGEST_INT32)
        )
    for name in ("hostname", "subdomain"):
        if spec.get(name):
            yield from each_invalid(f"{path}.{name}", spec[name], dns_label(spec[name]))


def _late(spec: Json, path: str) -> Causes:
    for name in ("priorityClassName", "runtimeClassName"):
        if spec.get(name):
            yield from each_invalid(f"{path}.{name}", spec[name], dns_subdomain(spec[name]))
    policy = spec.get("preemptionPolicy")
    if policy is not None and policy not in PREEMPTION_POLICIES:
        yield not_supported(f"{path}.preemptionPolicy", policy, PREEMPTION_POLICIES)


def _host_network(spec: Json, path: str, *, in_pod: bool) -> Causes:
    """On the host's network a container's port is the host's port."""
    for number, container in entries(spec.get("containers") if spec.get("hostNetwork") else None):
        for place, port in entries(container.get("ports")):
            own = port.get("hostPort", 0)
            if (in_pod or own) and own != port.get("containerPort", 0):
                told = "must match `containerPort` when `hostNetwork` is true"
                yield invalid(f"{path}.containers[{number}].ports[{place}].hostPort", own, told)


def toleration(given: Json, path: str) -> Causes:
    """What is wrong with a toleration."""
    key, operator, value = (given.get(name, "") for name in ("key", "operator", "value"))
    effect = given.get("effect", "")
    if key:
        yield from each_invalid(f"{path}.key", key, qualified_name(key))
    elif operator != "Exists":
        told = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        yield invalid(f"{path}.operator", operator, told)
    if given.get("tolerationSeconds") is not None and effect != "NoExecute":
        yield invalid(f"{path}.effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")
    if operator in ("", "Equal"):
        wrong = label_value(value)
        yield from each_invalid(f"{path}.operator", value, (";".join(wrong),) if wrong else ())
    elif operator == "Exists" and value:
        yield invalid(f"{path}.operator", value, "value must be empty when `operator` is 'Exists'")
    elif operator != "Exists":
        yield not_supported(f"{path}.operator", operator, ("Equal", "Exists"))
    if effect and effect not in TAINT_EFFECTS:
        yield not_supported(f"{path}.effect", effect, TAINT_EFFECTS)


def _dns(config: Any, policy: str, path: str) -> Causes:
    """The servers and names that a pod's resolver is given."""
    servers = part({"": config}, "").get("nameservers") or []
    if policy == "None" and config is None:
        yield required(path, "must provide `dnsConfig` when `dnsPolicy` is None")
        return
    if policy == "None" and not servers:
        told = "must provide at least one DNS nameserver when `dnsPolicy` is None"
        yield required(f"{path}.nameservers", told)
        return
    if len(servers) > MOST_SERVERS:
        yield invalid(f"{path}.nameservers", servers, f"must not have more than {MOST_SERVERS} nameservers")
    for number, server in enumerate(servers):
        yield from each_invalid(f"{path}.nameservers[{number}]", server, address(server))
    for number, option in entries(part({"": config}, "").get("options")):
        if not option.get("name"):
            yield required(f"{path}.options[{number}]", "must not be empty")


def _aliases(aliases: Any, path: str) -> Causes:
    for number, alias in entries(aliases):
        ip = alias.get("ip", "")
        yield from each_invalid(f"{path}[{number}].ip", ip, address(ip))
        for place, name in entries(alias.get("hostnames")):
            yield from each_invalid(f"{path}[{number}].hostnames[{place}]", name, dns_subdomain(name))


# -- volumes ---------------------------------------------------------------------------------------------


def _volumes(volumes: Any, path: str, *, in_pod: bool) -> Causes:
    """Only volumes that nothing is wrong with count: neither for others of their name, nor for mounts."""
    seen: set[str] = set()
    for number, volume in entries(volumes):
        wrong = list(_volume(volume, f"{path}[{number}]", seen, in_pod=in_pod))
        yield from wrong
        if not wrong:
            seen.add(volume["name"])


def _volume(volume: Json, path: str, seen: Collection[str], *, in_pod: bool) -> Causes:
    yield from source_causes(volume, path, in_pod=in_pod)
    name = volume.get("name", "")
    if not name:
        yield required(f"{path}.name")
    else:
        yield from each_invalid(f"{path}.name", name, dns_label(name))
    if name in seen:
        yield duplicate(f"{path}.name", name)
