"""What is wrong with the containers of a pod: names, images, ports, environment, probes, resources.

Everything is expected to be defaulted already.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

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
    too_many,
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
from trimtab.kube.schemas.validation.references import container_resource, pod_field
from trimtab.kube.schemas.validation.resources import requirements
from trimtab.kube.schemas.validation.security import container_security

Json = Mapping[str, Any]
PROTOCOLS = ("SCTP", "TCP", "UDP")
PULL_POLICIES = ("Always", "IfNotPresent", "Never")
MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
ONLY_FOR_SIDECARS = ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")
#: what a container that is added later may not have
NOT_LATE = ("ports", "resources", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle")
RESIZED, RESIZINGS = ("cpu", "memory"), ("NotRequired", "RestartContainer")
RESTARTS, ACTIONS, OPERATORS = (
    ("Always", "Never", "OnFailure"),
    ("Restart", "RestartAllContainers"),
    ("In", "NotIn"),
)
MOST_RULES, MOST_CODES = 20, 255


class Surroundings(Struct, frozen=True, kw_only=True):
    """What containers must know of the pod around them."""

    volumes: frozenset[str] = frozenset()
    claims: frozenset[str] = frozenset()
    restart: str = ""


def containers(given: Any, pod: Surroundings, path: str) -> Causes:
    """What is wrong with the main containers."""
    if not given:
        yield required(path)
    seen: set[str] = set()
    for number, container in entries(given):
        place = f"{path}[{number}]"
        yield from _container(container, pod, place)
        name = container.get("name", "")
        if name in seen:
            yield duplicate(f"{place}.name", name)
        seen.add(name)
        yield from _life(container, place)
        yield from _restarting(container, place)
    yield from _host_ports(given, path)


def init_containers(given: Any, main: Any, pod: Surroundings, path: str) -> Causes:
    """What is wrong with the containers that run first."""
    seen = {container.get("name", "") for _, container in entries(main)}
    for number, container in entries(given):
        place, name = f"{path}[{number}]", container.get("name", "")
        yield from _container(container, pod, place)
        if name in seen:
            yield duplicate(f"{place}.name", name)
        seen.add(name)
        yield from _host_ports([container], path)
        yield from _restarting(container, place)
        if container.get("restartPolicy") == "Always":
            yield from _life(container, place)
            continue
        for field in ONLY_FOR_SIDECARS:
            if field in container:
                told = "may not be set for init containers without restartPolicy=Always"
                yield forbidden(f"{place}.{field}", told)


def ephemeral_containers(given: Any, others: Any, pod: Surroundings, path: str) -> Causes:
    """What is wrong with containers that are added to a running pod; `others` are all its other ones."""
    names = [container.get("name", "") for _, container in entries(others)]
    seen = set(names)
    for number, container in entries(given):
        place, name = f"{path}[{number}]", container.get("name", "")
        told_twice = "ports", "resources"
        yield from _container({n: v for n, v in container.items() if n not in told_twice}, pod, place)
        if name in seen:
            yield duplicate(f"{place}.name", name)
        seen.add(name)
        target = container.get("targetContainerName")
        if target and target not in names:
            yield not_found(f"{place}.targetContainerName", target)
        for field in NOT_LATE:
            if container.get(field):
                yield forbidden(f"{place}.{field}", "cannot be set for an Ephemeral Container")


def _container(container: Json, pod: Surroundings, path: str) -> Causes:
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
    yield from _mounts(container.get("volumeMounts"), pod.volumes, f"{path}.volumeMounts")
    if container.get("imagePullPolicy") not in PULL_POLICIES:
        yield not_supported(f"{path}.imagePullPolicy", container.get("imagePullPolicy", ""), PULL_POLICIES)
    yield from requirements(part(container, "resources"), f"{path}.resources")
    yield from _claims(part(container, "resources").get("claims"), pod.claims, f"{path}.resources.claims")
    yield from _resizing(container.get("resizePolicy"), pod.restart, f"{path}.resizePolicy")
    yield from container_security(part(container, "securityContext"), f"{path}.securityContext")


def _claims(given: Any, claims: frozenset[str], path: str) -> Causes:
    """Claims of devices: each one of the pod's, and each once."""
    seen: set[str] = set()
    for number, claim in entries(given):
        place, name, request = f"{path}[{number}]", claim.get("name", ""), claim.get("request", "")
        if not name:
            yield required(place)
            continue
        if name in seen:
            yield duplicate(place, name)
        else:
            yield from each_invalid(f"{place}.request", request, dns_label(request)) if request else ()
            key = f"{name}/{request}" if request else name
            if key in seen:
                yield duplicate(place, key)
            elif not request:
                yield from (duplicate(place, name) for each in seen if each.startswith(f"{name}/"))
            seen.add(key)
        if name not in claims:
            known = f": {', '.join(sorted(claims))}" if claims else " which is empty"
            missing = not_found(place, name)
            told = f"{missing.message}: must be one of the names in pod.spec.resourceClaims{known}"
            yield replace(missing, message=told)


def _resizing(policies: Any, restart: str, path: str) -> Causes:
    """What happens to a container whose resources change."""
    seen: set[str] = set()
    for number, policy in entries(policies):
        name, how = policy.get("resourceName", ""), policy.get("restartPolicy", "")
        if name in seen:
            yield duplicate(f"{path}[{number}]", name)
        seen.add(name)
        for value, allowed in ((name, RESIZED), (how, RESIZINGS)):
            if not value:
                yield required(path)
            elif value not in allowed:
                yield not_supported(path, value, allowed)
        if restart == "Never" and how != "NotRequired":
            yield invalid(path, how, "must be 'NotRequired' when pod `restartPolicy` is 'Never'")


def _restarting(container: Json, path: str) -> Causes:
    """A container's own rules of being started again."""
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or []
    if policy is None and rules:
        yield required(f"{path}.restartPolicy", "must specify restartPolicy when restart rules are used")
    elif policy is not None and policy not in RESTARTS:
        yield not_supported(f"{path}.restartPolicy", policy, RESTARTS)
    if len(rules) > MOST_RULES:
        yield too_many(f"{path}.restartPolicyRules", len(rules), MOST_RULES)
    for number, rule in entries(rules):
        yield from _rule(rule, f"{path}.restartPolicyRules[{number}]")


def _rule(rule: Json, path: str) -> Causes:
    action, codes = rule.get("action", ""), rule.get("exitCodes")
    if action not in ACTIONS:
        yield not_supported(f"{path}.action", action, ACTIONS)
    if codes is None:
        yield required(f"{path}.exitCodes", "must be specified")
        return
    if codes.get("operator", "") not in OPERATORS:
        yield not_supported(f"{path}.exitCodes.operator", codes.get("operator", ""), OPERATORS)
    if len(codes.get("values") or ()) > MOST_CODES:
        yield too_many(f"{path}.exitCodes.values", len(codes["values"]), MOST_CODES)


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
    "fieldRef": pod_field,
    "resourceFieldRef": container_resource,
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
