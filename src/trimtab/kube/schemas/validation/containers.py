"""What is wrong with the containers of a pod: names, images, ports, environment, probes, resources.

Everything is expected to be defaulted already. Rarely used corners (windows options, resize policies,
resource claims, restart rules) are let through; `docs/kinds-data.md` lists them.
"""

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
    not_found,
    not_supported,
    part,
    required,
)
from trimtab.kube.schemas.validation.names import (
    at_least_zero,
    config_key,
    descending_path,
    dns_label,
    environment_name,
    header_name,
    port_name,
    port_number,
)
from trimtab.kube.schemas.validation.resources import requirements
from trimtab.kube.schemas.validation.security import container_security

Json = Mapping[str, Any]
PROTOCOLS = ("SCTP", "TCP", "UDP")
PULL_POLICIES = ("Always", "IfNotPresent", "Never")
MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
ONLY_FOR_SIDECARS = ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")
POD_FIELDS = frozenset(
    {
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.nodeName",
        "spec.serviceAccountName",
        "status.hostIP",
        "status.hostIPs",
        "status.podIP",
        "status.podIPs",
    }
)
KNOWN_FIELDS = POD_FIELDS | {
    "metadata.annotations",
    "metadata.labels",
    "spec.restartPolicy",
    "spec.schedulerName",
    "status.phase",
}
#: what a container that is added later may not have
NOT_LATE = ("ports", "resources", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle")
RESOURCE_FIELDS = tuple(
    f"{side}.{name}" for side in ("limits", "requests") for name in ("cpu", "ephemeral-storage", "memory")
)


def containers(given: Any, volumes: frozenset[str], path: str) -> Causes:
    """What is wrong with the main containers."""
    if not given:
        yield required(path)
    seen: set[str] = set()
    for number, container in entries(given):
        place = f"{path}[{number}]"
        yield from _container(container, volumes, place)
        name = container.get("name", "")
        if name in seen:
            yield duplicate(f"{place}.name", name)
        seen.add(name)
        yield from _life(container, place)
    yield from _host_ports(given, path)


def init_containers(given: Any, main: Any, volumes: frozenset[str], path: str) -> Causes:
    """What is wrong with the containers that run first."""
    seen = {container.get("name", "") for _, container in entries(main)}
    for number, container in entries(given):
        place, name = f"{path}[{number}]", container.get("name", "")
        yield from _container(container, volumes, place)
        if name in seen:
            yield duplicate(f"{place}.name", name)
        seen.add(name)
        yield from _host_ports([container], path)
        if container.get("restartPolicy") == "Always":
            yield from _life(container, place)
            continue
        for field in ONLY_FOR_SIDECARS:
            if field in container:
                told = "may not be set for init containers without restartPolicy=Always"
                yield forbidden(f"{place}.{field}", told)


def ephemeral_containers(given: Any, others: Any, volumes: frozenset[str], path: str) -> Causes:
    """What is wrong with containers that are added to a running pod; `others` are all its other ones."""
    names = [container.get("name", "") for _, container in entries(others)]
    seen = set(names)
    for number, container in entries(given):
        place, name = f"{path}[{number}]", container.get("name", "")
        told_twice = "ports", "resources"
        yield from _container({n: v for n, v in container.items() if n not in told_twice}, volumes, place)
        if name in seen:
            yield duplicate(f"{place}.name", name)
        seen.add(name)
        target = container.get("targetContainerName")
        if target and target not in names:
            yield not_found(f"{place}.targetContainerName", target)
        for field in NOT_LATE:
            if container.get(field):
                yield forbidden(f"{place}.{field}", "cannot be set for an Ephemeral Container")


def _container(container: Json, volumes: frozenset[str], path: str) -> Causes:
    name = container.get("name", "")
    yield from (
        each_invalid(f"{path}.name", name, dns_label(name)) if name else iter([required(f"{path}.name")])
    )
    if not container.get("image"):
        yield required(f"{path}.image")
    policy = container.get("terminationMessagePolicy", "")
    if policy not in MESSAGE_POLICIES:
        yield not_supported(f"{path}.terminationMessagePolicy", policy, MESSAGE_POLICIES)
    yield from _ports(container.get("ports"), f"{path}.ports")
    for number, variable in entries(container.get("env")):
        yield from _variable(variable, f"{path}.env[{number}]")
    yield from _variables_from(container.get("envFrom"), f"{path}.envFrom")
    yield from _mounts(container.get("volumeMounts"), volumes, f"{path}.volumeMounts")
    if container.get("imagePullPolicy") not in PULL_POLICIES:
        yield not_supported(f"{path}.imagePullPolicy", container.get("imagePullPolicy", ""), PULL_POLICIES)
    yield from requirements(part(container, "resources"), f"{path}.resources")
    yield from container_security(part(container, "securityContext"), f"{path}.securityContext")


# -- ports -----------------------------------------------------------------------------------------------


def _ports(ports: Any, path: str) -> Causes:
    seen: set[str] = set()
    for number, port in entries(ports):
        place, name = f"{path}[{number}]", port.get("name", "")
        problems = port_name(name) if name else ()
        yield from each_invalid(f"{place}.name", name, problems)
        if name in seen:
            yield duplicate(f"{place}.name", name)
        if name and not problems:
            seen.add(name)
        yield from _port_numbers(port, place)
        if port.get("protocol") not in PROTOCOLS:
            yield not_supported(f"{place}.protocol", port.get("protocol", ""), PROTOCOLS)


def _port_numbers(port: Json, path: str) -> Causes:
    if not port.get("containerPort"):
        yield required(f"{path}.containerPort")
    else:
        yield from each_invalid(
            f"{path}.containerPort", port["containerPort"], port_number(port["containerPort"])
        )
    if port.get("hostPort"):
        yield from each_invalid(f"{path}.hostPort", port["hostPort"], port_number(port["hostPort"]))


def _host_ports(given: Any, path: str) -> Causes:
    """A port of the host can be taken only once per protocol and address."""
    seen: set[str] = set()
    for number, container in entries(given):
        for place, port in entries(container.get("ports")):
            if not port.get("hostPort"):
                continue
            taken = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
            if taken in seen:
                yield duplicate(f"{path}[{number}].ports[{place}].hostPort", taken)
            seen.add(taken)


# -- environment -----------------------------------------------------------------------------------------


def _variable(variable: Json, path: str) -> Causes:
    name = variable.get("name", "")
    if not name:
        yield required(f"{path}.name")
    else:
        yield from each_invalid(f"{path}.name", name, environment_name(name))
    source = variable.get("valueFrom")
    if source is None:
        return
    given = [each for each in _SOURCES if source.get(each) is not None]
    for each in given:
        yield from _SOURCES[each](source[each], f"{path}.valueFrom.{each}")
    if variable.get("value"):
        yield invalid(f"{path}.valueFrom", "", "may not be specified when `value` is not empty")
    elif len(given) > 1:
        yield invalid(f"{path}.valueFrom", "", "may not have more than one field specified at a time")
    elif not given:
        *names, last = (f"`{name}`" for name in _SOURCES)
        yield invalid(f"{path}.valueFrom", "", f"must specify one of: {', '.join(names)} or {last}")


def _field_reference(reference: Json, path: str) -> Causes:
    field = reference.get("fieldPath", "")
    subscripted = field.startswith(("metadata.labels['", "metadata.annotations['"))
    if not field:
        yield required(f"{path}.fieldPath")
    elif not subscripted and field not in KNOWN_FIELDS:
        told = f"error converting fieldPath: field label not supported: {field}"
        yield invalid(f"{path}.fieldPath", field, told)
    elif not subscripted and field not in POD_FIELDS:
        yield not_supported(f"{path}.fieldPath", field, sorted(POD_FIELDS))


def _resource_reference(reference: Json, path: str) -> Causes:
    name = reference.get("resource", "")
    if not name:
        yield required(f"{path}.resource")
    elif name not in RESOURCE_FIELDS and not name.startswith(("limits.hugepages-", "requests.hugepages-")):
        yield not_supported(f"{path}.resource", name, RESOURCE_FIELDS)


def _key_reference(reference: Json, path: str) -> Causes:
    if not reference.get("name"):
        yield required(f"{path}.name")
    key = reference.get("key", "")
    if not key:
        yield required(f"{path}.key")
    else:
        yield from each_invalid(f"{path}.key", key, config_key(key))


def _anything(_reference: Json, _path: str) -> Causes:
    yield from ()


_SOURCES = {
    "fieldRef": _field_reference,
    "resourceFieldRef": _resource_reference,
    "configMapKeyRef": _key_reference,
    "secretKeyRef": _key_reference,
    "fileKeyRef": _anything,
}


def _variables_from(sources: Any, path: str) -> Causes:
    for number, source in entries(sources):
        prefix = source.get("prefix", "")
        if prefix:
            yield from each_invalid(f"{path}[{number}].prefix", prefix, environment_name(prefix))
        given = [name for name in ("configMapRef", "secretRef") if source.get(name) is not None]
        for name in given:
            if not source[name].get("name"):
                yield required(f"{path}[{number}].{name}.name")
        if not given:
            yield invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")
        elif len(given) > 1:
            yield invalid(path, "", "may not have more than one field specified at a time")


# -- mounts ----------------------------------------------------------------------------------------------


def _mounts(mounts: Any, volumes: frozenset[str], path: str) -> Causes:
    seen: set[str] = set()
    for number, mount in entries(mounts):
        place, name, where = f"{path}[{number}]", mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            yield required(f"{place}.name")
        if name not in volumes:
            yield not_found(f"{place}.name", name)
        if not where:
            yield required(f"{place}.mountPath")
        if where in seen:
            yield invalid(f"{place}.mountPath", where, "must be unique")
        seen.add(where)
        for field in ("subPath", "subPathExpr"):
            yield from descending_path(mount.get(field, ""), f"{path}.{field}")


# -- probes and hooks ------------------------------------------------------------------------------------


def _life(container: Json, path: str) -> Causes:
    hooks = part(container, "lifecycle")
    for name in ("postStart", "preStop"):
        if hooks.get(name) is not None:
            yield from _handler(hooks[name], f"{path}.lifecycle.{name}")
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        if container.get(name) is not None:
            yield from _probe(container[name], f"{path}.{name}", ready=name == "readinessProbe")


def _probe(probe: Json, path: str, *, ready: bool) -> Causes:
    yield from _handler(probe, path)
    for name in (
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
    ):
        yield from at_least_zero(probe.get(name), f"{path}.{name}")
    grace = probe.get("terminationGracePeriodSeconds")
    if grace is not None and grace <= 0:
        yield invalid(f"{path}.terminationGracePeriodSeconds", grace, "must be greater than 0")
    if ready and grace is not None:
        yield invalid(f"{path}.terminationGracePeriodSeconds", grace, "must not be set for readinessProbes")
    if not ready and probe.get("successThreshold", 1) != 1:
        yield invalid(f"{path}.successThreshold", probe["successThreshold"], "must be 1")


def _handler(handler: Json, path: str) -> Causes:
    given = [name for name in HANDLERS if handler.get(name) is not None]
    if not given:
        yield required(path, "must specify a handler type")
    for name in given[:1]:
        yield from _handler_of(name, handler[name], f"{path}.{name}")
    for name in given[1:]:
        yield forbidden(f"{path}.{name}", "may not specify more than 1 handler type")


def _handler_of(kind: str, handler: Json, path: str) -> Causes:
    if kind == "exec" and not handler.get("command"):
        yield required(f"{path}.command")
    if kind in ("httpGet", "tcpSocket", "grpc"):
        yield from port_or_name(handler.get("port", 0), f"{path}.port")
    if kind == "httpGet":
        if handler.get("scheme") not in ("HTTP", "HTTPS"):
            yield not_supported(f"{path}.scheme", handler.get("scheme", ""), ("HTTP", "HTTPS"))
        for _, header in entries(handler.get("httpHeaders")):
            name = header.get("name", "")
            yield from each_invalid(f"{path}.httpHeaders", name, header_name(name))


def port_or_name(port: int | str, path: str) -> Causes:
    """A port by its number or its name."""
    yield from each_invalid(path, port, port_number(port) if isinstance(port, int) else port_name(port))
