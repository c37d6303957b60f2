"""What Pods, and templates of Pods wherever they stand, are warned of. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from msgspec import Struct

from trimtab.kube.gotext import quoted
from trimtab.kube.quantity import BadQuantity, parse_quantity
from trimtab.kube.schemas import apparmor
from trimtab.kube.schemas.validation.causes import entries, part
from trimtab.kube.schemas.validation.names import label_value
from trimtab.kube.schemas.warnings.addresses import address

Json: TypeAlias = Mapping[str, Any]
Warnings: TypeAlias = Iterator[str]

OLD_LABELS = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": (
        'deprecated since v1.17; use "topology.kubernetes.io/region" instead'
    ),
    "failure-domain.beta.kubernetes.io/zone": (
        'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'
    ),
    "beta.kubernetes.io/instance-type": (
        'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead'
    ),
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": (
        "deprecated since v1.22; use Taints and Tolerations instead"
    ),
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}
OLD_ANNOTATIONS = {
    "scheduler.alpha.kubernetes.io/critical-pod": (
        'non-functional in v1.16+; use the "priorityClassName" field instead'
    ),
    "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
    "security.alpha.kubernetes.io/unsafe-sysctls": (
        'non-functional in v1.11+; use the "sysctls" field instead'
    ),
}
#: sources of volumes that work no longer; `storageos` is spelled with a capital in warnings
OLD_VOLUMES = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
NO_MATCH = "a null labelSelector results in matching no pod"
SECCOMP = 'non-functional in v1.27+; use the "seccompProfile" field instead'
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def pod(manifest: Json) -> Warnings:
    """What a Pod is warned of."""
    yield from _warnings(manifest, "")


def pod_template(template: Json, path: str) -> Warnings:
    """What a template of Pods is warned of."""
    yield from _warnings(template, f"{path}.")


def _warnings(template: Json, base: str) -> Warnings:
    spec, annotations = part(template, "spec"), part(template, "metadata").get("annotations") or {}
    path = f"{base}spec"
    yield from _placement(spec, path)
    for name, told in OLD_ANNOTATIONS.items():
        if name in annotations:
            yield f"{base}metadata.annotations[{name}]: {told}"
    yield from _volumes(spec.get("volumes"), f"{path}.volumes")
    yield from _twice(spec.get("hostAliases"), f"{path}.hostAliases", "ip")
    yield from _twice(spec.get("imagePullSecrets"), f"{path}.imagePullSecrets", "name")
    for number, secret in entries(spec.get("imagePullSecrets")):
        if not secret.get("name"):
            yield f'{path}.imagePullSecrets[{number}].name: invalid empty name ""'
    yield from _fractions(spec.get("overhead"), f"{path}.overhead")
    yield from _profiles(spec, annotations, base)
    yield from _ports(spec, path)
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        told = "must be >= 0; negative values are invalid and will be treated as 1"
        yield f"{path}.terminationGracePeriodSeconds: {told}"
    yield from _affinity(part(spec, "affinity"), f"{path}.affinity")
    for number, server in entries(part(spec, "dnsConfig").get("nameservers")):
        yield from address(f"{path}.dnsConfig.nameservers[{number}]", server)
    for number, alias in entries(spec.get("hostAliases")):
        yield from address(f"{path}.hostAliases[{number}].ip", alias.get("ip", ""))


# -- where it runs ----------------------------------------------------------------------------------------


def deprecated_label(label: str) -> str:
    """What is to be said of a label of nodes; empty if nothing is."""
    return OLD_LABELS.get(label, "")


def _placement(spec: Json, path: str) -> Warnings:
    for label in spec.get("nodeSelector") or {}:
        if told := deprecated_label(label):
            yield f"{path}.nodeSelector[{label}]: {told}"
    nodes, below = part(part(spec, "affinity"), "nodeAffinity"), f"{path}.affinity.nodeAffinity"
    for number, term in entries(part(nodes, REQUIRED).get("nodeSelectorTerms")):
        yield from node_term(term, f"{below}.{REQUIRED}.nodeSelectorTerms[{number}]", values=False)
    for number, term in entries(nodes.get(PREFERRED)):
        place = f"{below}.{PREFERRED}[{number}].preference"
        yield from node_term(part(term, "preference"), place, values=True)
    for number, constraint in entries(spec.get("topologySpreadConstraints")):
        place = f"{path}.topologySpreadConstraints[{number}]"
        label = constraint.get("topologyKey", "")
        if told := deprecated_label(label):
            yield f"{place}.topologyKey: {label} is {told}"
        if constraint.get("labelSelector") is None:
            yield f"{place}.labelSelector: {NO_MATCH}"


def node_term(term: Json, path: str, *, values: bool) -> Warnings:
    """What a term that selects nodes is warned of; its values are judged only where it is a preference."""
    for number, expression in entries(term.get("matchExpressions")):
        place, label = f"{path}.matchExpressions[{number}]", expression.get("key", "")
        if told := deprecated_label(label):
            yield f"{place}.key: {label} is {told}"
        for index, value in entries(expression.get("values") if values else None):
            for problem in label_value(value):
                yield f"{place}.values[{index}]: {value} is invalid, {problem}"


def _affinity(affinity: Json, path: str) -> Warnings:
    for side in ("podAffinity", "podAntiAffinity"):
        terms = part(affinity, side)
        for number, term in entries(terms.get(REQUIRED)):
            if term.get("labelSelector") is None:
                yield f"{path}.{side}.{REQUIRED}[{number}].labelSelector: {NO_MATCH}"
        for number, term in entries(terms.get(PREFERRED)):
            if part(term, "podAffinityTerm").get("labelSelector") is None:
                place = f"{path}.{side}.{PREFERRED}[{number}].podAffinityTerm.labelSelector"
                yield f"{place}: {NO_MATCH}"


def _twice(items: Any, path: str, name: str) -> Warnings:
    seen = set()
    for number, item in entries(items):
        value = item.get(name, "")
        if value in seen:
            yield f"{path}[{number}].{name}: duplicate {name} {quoted(value)}"
        seen.add(value)


# -- containers -------------------------------------------------------------------------------------------


def _containers(spec: Json, path: str) -> Iterator[tuple[Json, str]]:
    for group in ("initContainers", "containers", "ephemeralContainers"):
        for number, container in entries(spec.get(group)):
            yield container, f"{path}.{group}[{number}]"


def _profiles(spec: Json, annotations: Json, base: str) -> Warnings:
    whole = part(spec, "securityContext")
    key = "seccomp.security.alpha.kubernetes.io/pod"
    if whole.get("seccompProfile") is None and key in annotations:
        yield f"{base}metadata.annotations[{key}]: {SECCOMP}"
    for container, path in _containers(spec, f"{base}spec"):
        own, name = part(container, "securityContext"), container.get("name", "")
        key = f"container.seccomp.security.alpha.kubernetes.io/{name}"
        if own.get("seccompProfile") is None and key in annotations:
            yield f"{base}metadata.annotations[{key}]: {SECCOMP}"
        key = f"{apparmor.PREFIX}{name}"
        armed = apparmor.own_profile(own) is not None or apparmor.own_profile(whole) is not None
        if base and not armed and key in annotations:
            yield f"{base}metadata.annotations[{key}]: {apparmor.OLD}"
        for resource in ("memory", "ephemeral-storage"):
            for side in ("limits", "requests"):
                amounts = part(part(container, "resources"), side)
                yield from _fraction(amounts, resource, f"{path}.resources.{side}")
        yield from _environment(container.get("env"), f"{path}.env")


def _fractions(amounts: Any, path: str) -> Warnings:
    for resource in ("memory", "ephemeral-storage"):
        yield from _fraction(amounts or {}, resource, path)


def _fraction(amounts: Json, resource: str, path: str) -> Warnings:
    """Bytes come in wholes."""
    try:
        amount = parse_quantity(amounts.get(resource, "0"))
    except BadQuantity:
        return
    if amount.nanos % 10**9:
        told = f"fractional byte value {quoted(str(amount))} is invalid, must be an integer"
        yield f"{path}[{resource}]: {told}"


def claim_spec(spec: Json, path: str) -> Warnings:
    """What a claim, or a template of claims, is warned of."""
    for side in ("requests", "limits"):
        yield from _fraction(part(part(spec, "resources"), side), "storage", f"{path}.resources.{side}")


def _environment(variables: Any, path: str) -> Warnings:
    seen = set()
    for number, variable in entries(variables):
        name, value = variable.get("name", ""), variable.get("value", "")
        reference = f"$({name})"
        extends = variable.get("valueFrom") is None and value != reference and reference in value
        if name in seen and not extends:
            told = f"hides previous definition of {quoted(name)}, which may be dropped when using apply"
            yield f"{path}[{number}]: {told}"
        seen.add(name)


class _Port(Struct, frozen=True):
    """A port of a container, where it stands."""

    place: str
    number: int
    protocol: str
    name: str
    host_port: int
    host: str

    @property
    def shown(self) -> str:
        """The port as Go prints its struct."""
        numbers = f"HostPort:{self.host_port} ContainerPort:{self.number}"
        return f"{{Name:{self.name} {numbers} Protocol:{self.protocol} HostIP:{self.host}}}"


def _ports(spec: Json, path: str) -> Warnings:
    found = [
        _Port(
            f"{below}.ports[{number}]",
            port.get("containerPort", 0),
            port.get("protocol", ""),
            port.get("name", ""),
            port.get("hostPort", 0),
            port.get("hostIP", ""),
        )
        for container, below in _containers(spec, path)
        for number, port in entries(container.get("ports"))
    ]
    for place, port in enumerate(found):
        if port.host and not port.host_port:
            yield f"{port.place}: hostIP set without hostPort: {port.shown}"
        for other in found[:place]:
            if (port.number, port.protocol) == (other.number, other.protocol) and (
                how := _clash(port, other)
            ):
                yield f"{port.place}: {how} port definition with {other.place}"
    first: dict[str, str] = {}
    for port in found:
        if port.name in first:
            other_place = first[port.name]
            told = f"services and probes that select ports by name will use {other_place}"
            yield f"{port.place}: duplicate port name {quoted(port.name)} with {other_place}, {told}"
        elif port.name:
            first[port.name] = port.place


def _clash(port: _Port, other: _Port) -> str:
    if (port.host, port.host_port) == (other.host, other.host_port):
        return "duplicate"
    if not port.host_port or not other.host_port:
        return "overlapping"
    same, one_open = port.host_port == other.host_port, bool(port.host) != bool(other.host)
    return "dangerously ambiguous" if same and one_open else ""


# -- volumes ----------------------------------------------------------------------------------------------


def _volumes(volumes: Any, path: str) -> Warnings:
    for number, volume in entries(volumes):
        place = f"{path}[{number}]"
        for name, told in OLD_VOLUMES.items():
            if volume.get(name) is not None:
                yield f"{place}.{'storageOS' if name == 'storageos' else name}: {told}"
            if name == "glusterfs" and (claim := part(volume, "ephemeral").get("volumeClaimTemplate")):
                below = f"{place}.ephemeral.volumeClaimTemplate.spec"
                yield from claim_spec(part(claim, "spec"), below)
    for _, volume in entries(volumes):
        yield from _overlaps(volume)


class _Path(Struct, frozen=True):
    """A file of a volume, and what it comes from."""

    path: str
    source: str = ""

    @property
    def shown(self) -> str:
        return f"{quoted(self.path)} ({self.source})" if self.source else quoted(self.path)


def _overlaps(volume: Json) -> Warnings:
    """Files of one volume that hide each other."""
    for kind, source in (
        ("configMap", f"ConfigMap {quoted(part(volume, 'configMap').get('name', ''))}"),
        ("secret", f"Secret {quoted(part(volume, 'secret').get('secretName', ''))}"),
        ("downwardAPI", "DownwardAPI"),
    ):
        files = [_Path(each.get("path", "")) for _, each in entries(part(volume, kind).get("items"))]
        yield from _clashes(files, volume.get("name", ""), source)
    files = []
    for _, each in entries(part(volume, "projected").get("sources")):
        if not each:
            yield f"volume {quoted(volume.get('name', ''))} (Projected) has no sources provided"
        files += _projected(each)
    yield from _clashes(files, volume.get("name", ""), "Projected")


def _projected(source: Json) -> list[_Path]:
    """The files that one source of a projected volume makes."""
    for kind, word in (("configMap", "ConfigMap"), ("secret", "Secret"), ("downwardAPI", "DownwardAPI")):
        given = source.get(kind)
        if given and given.get("items"):
            name = "" if kind == "downwardAPI" else f" {quoted(given.get('name', ''))}"
            return [_Path(each.get("path", ""), f"{word}{name}") for each in given["items"]]
    if token := source.get("serviceAccountToken"):
        return [_Path(token.get("path", ""), "ServiceAccountToken")]
    if bundle := source.get("clusterTrustBundle"):
        name = bundle.get("name") or bundle.get("signerName", "")
        return [_Path(bundle.get("path", ""), f"ClusterTrustBundle {quoted(name)}")]
    certificate = source.get("podCertificate") or {}
    parts = (
        ("certificateChainPath", "chain"),
        ("keyPath", "key"),
        ("credentialBundlePath", "credential bundle"),
    )
    return [
        _Path(certificate[name], f"PodCertificate {word}") for name, word in parts if certificate.get(name)
    ]


def _clashes(files: list[_Path], volume: str, source: str) -> Warnings:
    before: list[_Path] = []
    for each in files:
        file = _Path(each.path.rstrip("/"), each.source)
        for other in before:
            inside = f"{file.path}/".startswith(f"{other.path}/") or f"{other.path}/".startswith(
                f"{file.path}/"
            )
            if file.path and other.path and inside:
                told = f"overlapping paths: {file.shown} with {other.shown}"
                yield f"volume {quoted(volume)} ({source}): {told}"
        before.append(file)
