"""What is wrong with the sources of a pod's volumes: where their files come from."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
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
    too_long,
)
from trimtab.kube.schemas.validation.claims import claim_spec
from trimtab.kube.schemas.validation.names import (
    config_key,
    descending_path,
    dns_label,
    dns_subdomain,
    in_range,
)
from trimtab.kube.schemas.validation.references import container_resource, pod_field

Json = Mapping[str, Any]
Check = Callable[[Json, str], Causes]
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
LONGEST_DRIVER, LONGEST_TENANT, LARGEST_UNIT = 63, 64, 255
SHORTEST_TOKEN, LONGEST_TOKEN = 600, 1 << 32
PULL_POLICIES = ("Always", "IfNotPresent", "Never")
CACHING_MODES = ("None", "ReadOnly", "ReadWrite")
DISK_KINDS = ("Dedicated", "Managed", "Shared")
MANAGED_DISK = (
    "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
)
BLOB_DISK = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
HOST_AND_PORT = "must be a host:port pair or multiple pairs separated by commas"
INITIATORS = {
    "iqn": r"iqn\.\d{4}-\d{2}\.([a-zA-Z0-9.-]+)(:[^,;*&$|\s]+)$",
    "eui": r"^eui.[a-zA-Z0-9]{16}$",
    "naa": r"^naa.[a-zA-Z0-9]{32}$",
}
CALLED = {"gcePersistentDisk": "persistentDisk"}  # how the server calls a source where it is wrong
DOUBLE = "conflicting duplicate paths"


def source_causes(volume: Json, path: str, *, in_pod: bool = False) -> Causes:
    """What is wrong with the source of a volume; the first counts, others may not be."""
    given = [name for name in SOURCES if volume.get(name) is not None]
    for name in given[:1]:
        if name == "image" and in_pod and not volume[name].get("reference"):
            yield required(f"{path}.{name}.reference")
        yield from SOURCES[name](volume[name], f"{path}.{CALLED.get(name, name)}")
    for name in given[1:]:
        yield forbidden(f"{path}.{name}", "may not specify more than 1 volume type")


def _requiring(*names: str) -> Check:
    """A source of which just these fields must be given."""

    def check(source: Json, path: str) -> Causes:
        for name in names:
            if not source.get(name):
                yield required(f"{path}.{name}")

    return check


def _also(*checks: Check) -> Check:
    def check(source: Json, path: str) -> Causes:
        for each in checks:
            yield from each(source, path)

    return check


# -- files of the cluster's own ---------------------------------------------------------------------------


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


def _files(source: Json, path: str) -> Causes:
    yield from _mode(source.get("defaultMode"), f"{path}.defaultMode")
    for number, item in entries(source.get("items")):
        yield from _item(item, f"{path}.items[{number}]")


def _item(item: Json, path: str) -> Causes:
    """One key, and the file that it becomes."""
    if not item.get("key"):
        yield required(f"{path}.key")
    else:
        yield from each_invalid(f"{path}.key", item["key"], config_key(item["key"]))
    if not item.get("path"):
        yield required(f"{path}.path")
    yield from own_path(item.get("path", ""), f"{path}.path")
    yield from _mode(item.get("mode"), f"{path}.mode")


def own_path(text: str, path: str) -> Causes:
    """A path below where it starts, and none that the kubelet needs itself."""
    yield from descending_path(text, path)
    if text.startswith("..") and not text.startswith("../"):
        yield invalid(path, text, "must not start with '..'")


def _mode(mode: int | None, path: str) -> Causes:
    if mode is not None and not 0 <= mode <= 0o777:
        yield invalid(path, mode, "must be a number between 0 and 0777 (octal), both inclusive")


def _downward(source: Json, path: str) -> Causes:
    yield from _mode(source.get("defaultMode"), f"{path}.defaultMode")
    for _, item in entries(source.get("items")):
        yield from _downward_file(item, path)


def _downward_file(item: Json, path: str) -> Causes:
    """A file that tells something of the pod."""
    if not item.get("path"):
        yield required(f"{path}.path")
    yield from own_path(item.get("path", ""), f"{path}.path")
    field, resource = item.get("fieldRef"), item.get("resourceFieldRef")
    if field is not None:
        yield from pod_field(field, f"{path}.fieldRef", in_volume=True)
        if resource is not None:
            told = "fieldRef and resourceFieldRef can not be specified simultaneously"
            yield invalid(path, "resource", told)
    elif resource is not None:
        yield from container_resource(resource, f"{path}.resourceFieldRef", in_volume=True)
    else:
        yield required(path, "one of fieldRef and resourceFieldRef is required")
    yield from _mode(item.get("mode"), f"{path}.mode")


def _image(source: Json, path: str) -> Causes:
    policy = source.get("pullPolicy", "")
    if not policy:
        yield required(f"{path}.pullPolicy")
    elif policy not in PULL_POLICIES:
        yield not_supported(f"{path}.pullPolicy", policy, PULL_POLICIES)


def _driver(source: Json, path: str) -> Causes:
    yield from driver_name(source.get("driver", ""), f"{path}.driver")
    secret = source.get("nodePublishSecretRef")
    if secret is None:
        return
    name = secret.get("name", "")
    if not name:
        yield required(f"{path}.nodePublishSecretRef.name")
    else:
        yield from each_invalid(f"{path}.name", name, dns_subdomain(name))


def driver_name(name: str, path: str) -> Causes:
    """The name of a driver of storage."""
    if not name:
        yield required(path)
        return
    if len(name) > LONGEST_DRIVER:
        yield too_long(path, LONGEST_DRIVER)
    yield from each_invalid(path, name, dns_subdomain(name.lower()))


# -- projected sources ------------------------------------------------------------------------------------


def _projected(source: Json, path: str) -> Causes:
    yield from _mode(source.get("defaultMode"), f"{path}.defaultMode")
    taken: set[str] = set()
    for number, each in entries(source.get("sources")):
        place = f"{path}.sources[{number}]"
        given = [name for name in PROJECTED if each.get(name) is not None]
        for name in given:
            yield from PROJECTED[name](each[name], f"{place}.{name}", path)
            for file, shown in _paths(name, each[name]):
                if file in taken:
                    yield invalid(path, shown, DOUBLE)
                taken.add(file)
        if len(given) > 1:
            yield forbidden(place, "may not specify more than 1 volume type per source")


def _paths(name: str, source: Json) -> Iterator[tuple[str, str]]:
    """The files that a projected source makes, and what is shown of one that another makes as well."""
    for _, item in entries(source.get("items")):
        if item.get("path"):
            yield item["path"], item["path"] if name == "downwardAPI" else source.get("name", "")


def _projected_keys(source: Json, path: str, _whole: str) -> Causes:
    if not source.get("name"):
        yield required(f"{path}.name")
    for number, item in entries(source.get("items")):
        yield from _item(item, f"{path}.items[{number}]")


def _projected_downward(source: Json, path: str, _whole: str) -> Causes:
    for _, item in entries(source.get("items")):
        yield from _downward_file(item, path)


def _projected_token(source: Json, path: str, whole: str) -> Causes:
    seconds = source.get("expirationSeconds") or 0
    if seconds < SHORTEST_TOKEN:
        yield invalid(f"{path}.expirationSeconds", seconds, "may not specify a duration less than 10 minutes")
    if seconds > LONGEST_TOKEN:
        told = "may not specify a duration larger than 2^32 seconds"
        yield invalid(f"{path}.expirationSeconds", seconds, told)
    if not source.get("path"):
        yield required(f"{whole}.path")
    else:
        yield from own_path(source["path"], f"{whole}.path")


PROJECTED: Mapping[str, Callable[[Json, str, str], Causes]] = {
    "secret": _projected_keys,
    "configMap": _projected_keys,
    "downwardAPI": _projected_downward,
    "serviceAccountToken": _projected_token,
}


# -- disks and shares of others ---------------------------------------------------------------------------


def _partition(source: Json, path: str) -> Causes:
    number = source.get("partition", 0)
    if not 0 <= number <= LARGEST_UNIT:
        yield from each_invalid(f"{path}.partition", number, in_range(number, 1, LARGEST_UNIT))


def _nfs(source: Json, path: str) -> Causes:
    where = source.get("path", "")
    if not where.startswith("/"):
        yield invalid(f"{path}.path", where, "must be an absolute path")


def _iscsi(source: Json, path: str) -> Causes:
    name, initiator = source.get("iqn", ""), source.get("initiatorName")
    if not source.get("targetPortal"):
        yield required(f"{path}.targetPortal")
    if not name:
        yield required(f"{path}.iqn")
    else:
        yield from _initiator(name, f"{path}.iqn")
    unit = source.get("lun", 0)
    yield from each_invalid(f"{path}.lun", unit, in_range(unit, 0, LARGEST_UNIT))
    checked = source.get("chapAuthDiscovery") or source.get("chapAuthSession")
    if checked and source.get("secretRef") is None:
        yield required(f"{path}.secretRef")
    if initiator is not None:
        yield from _initiator(initiator, f"{path}.initiatorname")


def _initiator(name: str, path: str) -> Causes:
    pattern = INITIATORS.get(name[:3])
    if pattern is None:
        yield invalid(path, name, "must be valid format starting with iqn, eui, or naa")
    elif not re.search(pattern, name, re.ASCII):
        yield invalid(path, name, "must be valid format")


def _fibre_channel(source: Json, path: str) -> Causes:
    targets, unit = source.get("targetWWNs"), source.get("lun")
    if not targets and not source.get("wwids"):
        yield required(f"{path}.targetWWNs", "must specify either targetWWNs or wwids, but not both")
    if targets and source.get("wwids"):
        told = "targetWWNs and wwids can not be specified simultaneously"
        yield invalid(f"{path}.targetWWNs", targets, told)
    if targets and unit is None:
        yield required(f"{path}.lun", "lun is required if targetWWNs is specified")
    elif targets and unit is not None:
        yield from each_invalid(f"{path}.lun", unit, in_range(unit, 0, LARGEST_UNIT))


def _flocker(source: Json, path: str) -> Causes:
    name, uid = source.get("datasetName"), source.get("datasetUUID")
    if not name and not uid:
        yield required(path, "one of datasetName and datasetUUID is required")
    if name and uid:
        yield invalid(path, "resource", "datasetName and datasetUUID can not be specified simultaneously")
    if "/" in (name or ""):
        yield invalid(f"{path}.datasetName", name, "must not contain '/'")


def _quobyte(source: Json, path: str) -> Causes:
    registry = source.get("registry", "")
    if not registry:
        yield required(f"{path}.registry", HOST_AND_PORT)
    elif len(source.get("tenant", "")) > LONGEST_TENANT:
        told = "must be a UUID and may not exceed a length of 64 characters"
        yield required(f"{path}.tenant", told)
    else:
        for pair in registry.split(","):
            if not re.fullmatch(r"(\[[^\[\]]*\]|[^:\[\]]*):[^:]*", pair):
                yield invalid(f"{path}.registry", registry, HOST_AND_PORT)
    if not source.get("volume"):
        yield required(f"{path}.volume")


def _flex(source: Json, path: str) -> Causes:
    for key in source.get("options") or {}:
        domain = f".{key.partition('/')[0].lower()}"
        if domain.endswith((".kubernetes.io", ".k8s.io")):
            told = "kubernetes.io and k8s.io namespaces are reserved"
            yield invalid(f"{path}.options[{key}]", key, told)


def _named_secret(source: Json, path: str) -> Causes:
    secret = source.get("secretRef")
    if secret is not None and not secret.get("name"):
        yield required(f"{path}.secretRef.name")


def _azure_disk(source: Json, path: str) -> Causes:
    caching, kind, where = source.get("cachingMode"), source.get("kind"), source.get("diskURI", "")
    if caching is not None and caching not in CACHING_MODES:
        yield not_supported(f"{path}.cachingMode", caching, CACHING_MODES)
    if kind is not None and kind not in DISK_KINDS:
        yield not_supported(f"{path}.kind", kind, DISK_KINDS)
    if kind == "Managed" and not where.startswith("/subscriptions/"):
        yield not_supported(f"{path}.diskURI", where, (MANAGED_DISK,))
    if kind is not None and kind != "Managed" and not where.startswith("https://"):
        yield not_supported(f"{path}.diskURI", where, (BLOB_DISK,))


def _storage_os(source: Json, path: str) -> Causes:
    for field, needed in (("volumeName", True), ("volumeNamespace", False)):
        name = source.get(field, "")
        if name:
            yield from each_invalid(f"{path}.{field}", name, dns_label(name))
        elif needed:
            yield required(f"{path}.{field}")
    yield from _named_secret(source, path)


def _git(source: Json, path: str) -> Causes:
    yield from descending_path(source.get("directory", ""), f"{path}.directory")


def _claim_template(source: Json, path: str) -> Causes:
    template = source.get("volumeClaimTemplate")
    if template is None:
        yield required(f"{path}.volumeClaimTemplate")
    else:
        yield from claim_spec(part(template, "spec"), f"{path}.volumeClaimTemplate.spec")


#: the sources in the order in which the server looks at them
SOURCES: Mapping[str, Check] = {
    "emptyDir": _empty_dir,
    "hostPath": host_path,
    "gitRepo": _also(_requiring("repository"), _git),
    "gcePersistentDisk": _also(_requiring("pdName"), _partition),
    "awsElasticBlockStore": _also(_requiring("volumeID"), _partition),
    "secret": _also(_requiring("secretName"), _files),
    "nfs": _also(_requiring("server", "path"), _nfs),
    "iscsi": _iscsi,
    "glusterfs": _requiring("endpoints", "path"),
    "flocker": _flocker,
    "persistentVolumeClaim": _requiring("claimName"),
    "rbd": _requiring("monitors", "image"),
    "cinder": _also(_requiring("volumeID"), _named_secret),
    "cephfs": _requiring("monitors"),
    "quobyte": _quobyte,
    "downwardAPI": _downward,
    "fc": _fibre_channel,
    "flexVolume": _also(_requiring("driver"), _flex),
    "configMap": _also(_requiring("name"), _files),
    "azureFile": _requiring("secretName", "shareName"),
    "vsphereVolume": _requiring("volumePath"),
    "azureDisk": _also(_requiring("diskName", "diskURI"), _azure_disk),
    "storageos": _storage_os,
    "portworxVolume": _requiring("volumeID"),
    "scaleIO": _requiring("gateway", "system", "volumeName"),
    "projected": _projected,
    "csi": _driver,
    "ephemeral": _claim_template,
    "image": _image,
}
