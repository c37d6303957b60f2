"""What is wrong with a pod's spec, wherever it stands: in a Pod, in a template, in a Job's template."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
)
from trimtab.kube.schemas.validation.containers import containers, init_containers
from trimtab.kube.schemas.validation.names import (
    address,
    annotation_causes,
    config_key,
    descending_path,
    dns_label,
    dns_subdomain,
    in_range,
    label_causes,
    label_value,
    qualified_name,
)
from trimtab.kube.schemas.validation.scheduling import affinity, spread_constraints
from trimtab.kube.schemas.validation.security import (
    app_armor_annotations,
    app_armor_mismatches,
    pod_security,
    unmasked,
)

Json = Mapping[str, Any]
RESTART_POLICIES = ("Always", "OnFailure", "Never")
DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
PREEMPTION_POLICIES = ("PreemptLowerPriority", "Never")
TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
HOST_PATH_TYPES = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
LARGEST_INT32 = 2**31 - 1
MOST_SERVERS = 3


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
    wrong = list(_volumes(spec.get("volumes"), f"{path}.volumes"))
    yield from wrong
    names = frozenset(
        volume.get("name", "")
        for number, volume in entries(spec.get("volumes"))
        if not any(cause.field.startswith(f"{path}.volumes[{number}].") for cause in wrong)
    )
    main = spec.get("containers")
    yield from containers(main, names, f"{path}.containers")
    yield from init_containers(spec.get("initContainers"), main, names, f"{path}.initContainers")
    yield from unmasked(spec, path)
    yield from _host_network(spec, path, in_pod=in_pod)
    yield from _choices(spec, path)
    yield from label_causes(spec.get("nodeSelector"), f"{path}.nodeSelector")
    yield from pod_security(part(spec, "securityContext"), f"{path}.securityContext")
    yield from affinity(part(spec, "affinity"), f"{path}.affinity")
    yield from _dns(spec.get("dnsConfig"), spec.get("dnsPolicy", ""), f"{path}.dnsConfig")
    yield from spread_constraints(spec.get("topologySpreadConstraints"), f"{path}.topologySpreadConstraints")
    yield from _names(spec, path)
    for number, toleration in entries(spec.get("tolerations")):
        yield from _toleration(toleration, f"{path}.tolerations[{number}]")
    yield from _aliases(spec.get("hostAliases"), f"{path}.hostAliases")
    yield from _late(spec, path)


def whole_pod(manifest: Json) -> Causes:
    """What is wrong with the annotations of a Pod beside its spec, and with its spec."""
    annotations, spec = part(manifest, "metadata").get("annotations"), part(manifest, "spec")
    yield from app_armor_annotations(annotations, spec, "metadata.annotations")
    yield from pod_spec(spec, "spec", in_pod=True)
    yield from app_armor_mismatches(annotations, spec, "spec")


def _choices(spec: Json, path: str) -> Causes:
    for name, allowed in (("restartPolicy", RESTART_POLICIES), ("dnsPolicy", DNS_POLICIES)):
        if spec.get(name) not in allowed:
            yield not_supported(f"{path}.{name}", spec.get(name, ""), allowed)


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


def _toleration(toleration: Json, path: str) -> Causes:
    key, operator, value = (toleration.get(name, "") for name in ("key", "operator", "value"))
    effect = toleration.get("effect", "")
    if key:
        yield from each_invalid(f"{path}.key", key, qualified_name(key))
    elif operator != "Exists":
        told = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        yield invalid(f"{path}.operator", operator, told)
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
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

# The sources in the order in which the server looks at them.
SOURCES = (
    "emptyDir",
    "hostPath",
    "gitRepo",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "secret",
    "nfs",
    "iscsi",
    "glusterfs",
    "flocker",
    "persistentVolumeClaim",
    "rbd",
    "cinder",
    "cephfs",
    "quobyte",
    "downwardAPI",
    "fc",
    "flexVolume",
    "configMap",
    "azureFile",
    "vsphereVolume",
    "azureDisk",
    "storageos",
    "portworxVolume",
    "scaleIO",
    "projected",
    "csi",
    "ephemeral",
    "image",
)


def _volumes(volumes: Any, path: str) -> Causes:
    seen: set[str] = set()
    for number, volume in entries(volumes):
        place, name = f"{path}[{number}]", volume.get("name", "")
        yield from _source(volume, place)
        if not name:
            yield required(f"{place}.name")
        else:
            yield from each_invalid(f"{place}.name", name, dns_label(name))
        if name in seen:
            yield duplicate(f"{place}.name", name)
        seen.add(name)


def _source(volume: Json, path: str) -> Causes:
    given = [name for name in SOURCES if volume.get(name) is not None]
    for name in given[:1]:
        check = _SOURCE_RULES.get(name)
        if check is not None:
            yield from check(volume[name], f"{path}.{name}")
    for name in given[1:]:
        yield forbidden(f"{path}.{name}", "may not specify more than 1 volume type")


def _empty_dir(source: Json, path: str) -> Causes:
    if str(source.get("sizeLimit", "")).startswith("-"):
        yield forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")


def host_path(source: Json, path: str) -> Causes:
    """A path of the node."""
    where = source.get("path", "")
    if not where:
        yield required(f"{path}.path")
        return
    if ".." in where.split("/"):
        yield invalid(f"{path}.path", where, "must not contain '..'")
    if source.get("type", "") not in HOST_PATH_TYPES:
        yield not_supported(f"{path}.type", source["type"], HOST_PATH_TYPES)


def _secret(source: Json, path: str) -> Causes:
    if not source.get("secretName"):
        yield required(f"{path}.secretName")
    yield from _files(source, path)


def _config_map(source: Json, path: str) -> Causes:
    if not source.get("name"):
        yield required(f"{path}.name")
    yield from _files(source, path)


def _files(source: Json, path: str) -> Causes:
    yield from _mode(source.get("defaultMode"), f"{path}.defaultMode")
    for number, item in entries(source.get("items")):
        place = f"{path}.items[{number}]"
        if not item.get("key"):
            yield required(f"{place}.key")
        else:
            yield from each_invalid(f"{place}.key", item["key"], config_key(item["key"]))
        if not item.get("path"):
            yield required(f"{place}.path")
        yield from descending_path(item.get("path", ""), f"{place}.path")
        yield from _mode(item.get("mode"), f"{place}.mode")


def _mode(mode: int | None, path: str) -> Causes:
    if mode is not None and not 0 <= mode <= 0o777:
        yield invalid(path, mode, "must be a number between 0 and 0777 (octal), both inclusive")


def _claim(source: Json, path: str) -> Causes:
    if not source.get("claimName"):
        yield required(f"{path}.claimName")


_SOURCE_RULES = {
    "emptyDir": _empty_dir,
    "hostPath": host_path,
    "secret": _secret,
    "configMap": _config_map,
    "persistentVolumeClaim": _claim,
}
