"""What is wrong with Services, Ingresses and network policies, and what may not be changed in them."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
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
)
from trimtab.kube.schemas.validation.containers import PROTOCOLS, port_or_name
from trimtab.kube.schemas.validation.families import (
    EXTERNAL,
    HEADLESS,
    addresses_of,
    cluster_addresses,
    in_step,
    unaddressed,
)
from trimtab.kube.schemas.validation.metadata import IMMUTABLE
from trimtab.kube.schemas.validation.names import (
    address,
    address_range,
    dns_label,
    dns_subdomain,
    domain_prefixed,
    label_causes,
    port_number,
    qualified_name,
    wildcard_subdomain,
)
from trimtab.kube.schemas.validation.references import kind_and_name
from trimtab.kube.schemas.validation.selectors import label_selector

Json = Mapping[str, Any]
CLASS = "kubernetes.io/ingress.class"  # which controller an Ingress is for, as it was said of old
SERVICE_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
POLICIES = ("Cluster", "Local")
DISTRIBUTIONS = ("PreferClose", "PreferSameZone", "PreferSameNode")
PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
DAY = 86400


# -- services --------------------------------------------------------------------------------------------


def service(manifest: Json) -> Causes:
    """What is wrong with a Service."""
    spec = part(manifest, "spec")
    kind, headless = spec.get("type", ""), spec.get("clusterIP") == HEADLESS
    addressed = list(cluster_addresses(spec))
    yield from addressed
    if addressed:
        return  # without a sound address the server looks no further
    if not spec.get("ports") and not headless and kind != EXTERNAL:
        yield required("spec.ports")
    yield from _of_type(spec, kind)
    yield from _service_ports(spec)
    yield from label_causes(spec.get("selector"), "spec.selector")
    yield from _affinity(spec)
    yield from _outside(spec.get("externalIPs"))
    if kind not in SERVICE_TYPES:
        yield not_supported("spec.type", kind, SERVICE_TYPES)
    yield from _unique_ports(spec, kind)
    yield from _balanced_only(spec, kind)
    yield from _balancer_class(spec)
    yield from _traffic(spec, kind)


def _of_type(spec: Json, kind: str) -> Causes:
    """What is wrong with a Service because it is of this type."""
    if kind == EXTERNAL:
        yield from unaddressed(spec)
        yield from _external_name(spec)
    elif spec.get("clusterIP") == HEADLESS and kind in ("NodePort", "LoadBalancer"):
        yield invalid("spec.clusterIPs[0]", HEADLESS, f"may not be set to 'None' for {kind} services")


def _external_name(spec: Json) -> Causes:
    name = spec.get("externalName", "").removesuffix(".")
    if not name:
        yield required("spec.externalName")
    else:
        yield from each_invalid("spec.externalName", spec["externalName"], dns_subdomain(name))


def _service_ports(spec: Json) -> Causes:
    ports, seen = spec.get("ports") or [], set[str]()
    for number, port in entries(ports):
        path, name = f"spec.ports[{number}]", port.get("name", "")
        if not name and len(ports) > 1:
            yield required(f"{path}.name")
        elif name:
            yield from each_invalid(f"{path}.name", name, dns_label(name))
            if name in seen:
                yield duplicate(f"{path}.name", name)
            seen.add(name)
        yield from each_invalid(f"{path}.port", port.get("port", 0), port_number(port.get("port", 0)))
        if port.get("protocol") not in PROTOCOLS:
            yield not_supported(f"{path}.protocol", port.get("protocol", ""), PROTOCOLS)
        yield from port_or_name(port.get("targetPort", 0), f"{path}.targetPort")
        spoken = port.get("appProtocol")
        if spoken is not None:
            yield from each_invalid(f"{path}.appProtocol", spoken, qualified_name(spoken))


def _unique_ports(spec: Json, kind: str) -> Causes:
    seen: set[tuple[Any, Any]] = set()
    for number, port in entries(spec.get("ports")):
        if kind == "ClusterIP" and port.get("nodePort"):
            yield forbidden(f"spec.ports[{number}].nodePort", "may not be used when `type` is 'ClusterIP'")
        key = (port.get("protocol"), port.get("port"))
        if key in seen:
            shown = {
                "Name": "",
                "Protocol": key[0],
                "AppProtocol": None,
                "Port": key[1],
                "TargetPort": 0,
                "NodePort": 0,
            }
            yield duplicate(f"spec.ports[{number}]", Shown(shown))
        seen.add(key)


def _affinity(spec: Json) -> Causes:
    affinity = spec.get("sessionAffinity", "")
    if affinity not in ("ClientIP", "None"):
        yield not_supported("spec.sessionAffinity", affinity, ("ClientIP", "None"))
    timeout = part(part(spec, "sessionAffinityConfig"), "clientIP").get("timeoutSeconds")
    if affinity == "ClientIP" and timeout is not None and not 0 < timeout <= DAY:
        path = "spec.sessionAffinityConfig.clientIP.timeoutSeconds"
        yield invalid(path, timeout, f"must be greater than 0 and less than {DAY}")


def _outside(addresses: Any) -> Causes:
    for number, each in entries(addresses):
        path, wrong = f"spec.externalIPs[{number}]", address(each)
        yield from each_invalid(path, each, wrong)
        if not wrong:
            yield from each_invalid(path, each, _special(each))


def _special(text: str) -> tuple[str, ...]:
    found = ipaddress.ip_address(text)
    checks = (
        (found.is_unspecified, f"may not be unspecified ({text})"),
        (found.is_loopback, "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
        (found.is_link_local, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"),
        (
            found.is_multicast and text.startswith(("224.0.0.", "ff02:")),
            "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)",
        ),
    )
    return tuple(told for wrong, told in checks if wrong)


def _balanced_only(spec: Json, kind: str) -> Causes:
    """What only a load balancer has."""
    told = "may only be used when `type` is 'LoadBalancer'"
    if spec.get("loadBalancerSourceRanges") and kind != "LoadBalancer":
        yield forbidden("spec.LoadBalancerSourceRanges", told)
    yield from _source_ranges(spec)
    if spec.get("allocateLoadBalancerNodePorts") is not None and kind != "LoadBalancer":
        yield forbidden("spec.allocateLoadBalancerNodePorts", told)


def _balancer_class(spec: Json) -> Causes:
    name, path = spec.get("loadBalancerClass"), "spec.loadBalancerClass"
    if name is None:
        return
    if spec.get("type") == "LoadBalancer":
        yield from each_invalid(path, name, qualified_name(name))
    else:
        yield forbidden(path, "may only be used when `type` is 'LoadBalancer'")


def _source_ranges(spec: Json) -> Causes:
    for number, each in entries(spec.get("loadBalancerSourceRanges")):
        yield from each_invalid(f"spec.LoadBalancerSourceRanges[{number}]", each, address_range(each.strip()))


def _traffic(spec: Json, kind: str) -> Causes:
    outer, inner = spec.get("externalTrafficPolicy"), spec.get("internalTrafficPolicy")
    reachable = kind in ("NodePort", "LoadBalancer") or (kind == "ClusterIP" and spec.get("externalIPs"))
    if outer is not None and not reachable:
        yield invalid(
            "spec.externalTrafficPolicy", outer, "may only be set for externally-accessible services"
        )
    elif outer is not None and outer not in POLICIES:
        yield not_supported("spec.externalTrafficPolicy", outer, POLICIES)
    health, path = spec.get("healthCheckNodePort"), "spec.healthCheckNodePort"
    if health and not _asks_for_health(spec):
        told = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        yield invalid(path, health, told)
    elif health:
        yield from each_invalid(path, health, port_number(health))
    if inner is not None and inner not in POLICIES:
        yield not_supported("spec.internalTrafficPolicy", inner, POLICIES)
    spread = spec.get("trafficDistribution")
    if spread is not None and spread not in DISTRIBUTIONS:
        yield not_supported("spec.trafficDistribution", spread, DISTRIBUTIONS)


def _asks_for_health(spec: Json) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def service_update(new: Json, old: Json) -> Causes:
    """What may not be changed in a Service: its address, its balancer, and where its health is asked for."""
    before = part(old, "spec")
    spec = in_step(part(new, "spec"), before)
    needed = before.get("type") != EXTERNAL and spec.get("type") != EXTERNAL
    if needed and before.get("clusterIP") and spec.get("clusterIP") != before.get("clusterIP"):
        yield invalid("spec.clusterIPs[0]", addresses_of(spec), "may not change once set")
    if needed and spec.get("type") == before.get("type") == "LoadBalancer":
        name = spec.get("loadBalancerClass")
        if name != before.get("loadBalancerClass"):
            yield invalid("spec.loadBalancerClass", name, "may not change once set")
    yield from _balancer_class(spec)
    same = spec.get("healthCheckNodePort") == before.get("healthCheckNodePort")
    if _asks_for_health(spec) and _asks_for_health(before) and not same:
        yield forbidden("spec.healthCheckNodePort", IMMUTABLE)
    yield from service({**new, "spec": spec})


# -- ingress ---------------------------------------------------------------------------------------------


def new_ingress(manifest: Json) -> Causes:
    """What is wrong with a new Ingress: it must not name two classes, as older ones may."""
    yield from _ingress(manifest)
    name = part(manifest, "spec").get("ingressClassName")
    said = (part(manifest, "metadata").get("annotations") or {}).get(CLASS)
    if None not in (name, said) and name != said:
        told = "must match `ingressClassName` when both are specified"
        yield invalid(f"annotations.{CLASS}", said, told)


def ingress_update(new: Json, _old: Json) -> Causes:
    """What is wrong with an Ingress after a change."""
    yield from _ingress(new)


def _ingress(manifest: Json) -> Causes:
    spec = part(manifest, "spec")
    if not spec.get("rules") and spec.get("defaultBackend") is None:
        told = "either `defaultBackend` or `rules` must be specified"
        yield invalid("spec", spec.get("rules"), told)
    if spec.get("defaultBackend") is not None:
        yield from _backend(spec["defaultBackend"], "spec.defaultBackend")
    for number, rule in entries(spec.get("rules")):
        yield from _rule(rule, f"spec.rules[{number}]")
    for number, tls in entries(spec.get("tls")):
        for place, host in entries(tls.get("hosts")):
            yield from each_invalid(f"spec.tls[{number}].hosts[{place}]", host, _host_rule(host))
        if secret := tls.get("secretName"):
            yield from each_invalid(f"spec.tls[{number}].secretName", secret, dns_subdomain(secret))
    name = spec.get("ingressClassName")
    if name is not None:
        yield from each_invalid("spec.ingressClassName", name, dns_subdomain(name))


def _host_rule(host: str) -> tuple[str, ...]:
    return wildcard_subdomain(host) if "*" in host else dns_subdomain(host)


def _rule(rule: Json, path: str) -> Causes:
    host = rule.get("host", "")
    if host:
        if not address(host):
            yield invalid(f"{path}.host", host, "must be a DNS name, not an IP address")
        else:
            yield from each_invalid(f"{path}.host", host, _host_rule(host))
    if rule.get("http") is None:
        return
    if not rule["http"].get("paths"):
        yield required(f"{path}.http.paths")
    for number, each in entries(rule["http"].get("paths")):
        yield from _path(each, f"{path}.http.paths[{number}]")


def _path(each: Json, path: str) -> Causes:
    kind, where = each.get("pathType"), each.get("path", "")
    if kind is None:
        yield required(f"{path}.pathType", "pathType must be specified")
        return
    if kind not in PATH_TYPES:
        yield not_supported(f"{path}.pathType", kind, PATH_TYPES)
    elif kind != "ImplementationSpecific":
        yield from _strict_path(where, f"{path}.path")
    elif where and not where.startswith("/"):
        yield invalid(f"{path}.path", where, "must be an absolute path")
    yield from _backend(part(each, "backend"), f"{path}.backend")


def _strict_path(where: str, path: str) -> Causes:
    if not where.startswith("/"):
        yield invalid(path, where, "must be an absolute path")
    for bad in ("//", "/./", "/../", "%2f", "%2F"):
        if bad in where:
            yield invalid(path, where, f"must not contain '{bad}'")
    for bad in ("/..", "/."):
        if where.endswith(bad):
            yield invalid(path, where, f"cannot end with '{bad}'")


def _backend(backend: Json, path: str) -> Causes:
    target = backend.get("service")
    if target is not None and backend.get("resource") is not None:
        yield invalid(path, "", "cannot set both resource and service backends")
    elif target is not None:
        yield from _backend_service(target, path)
    elif backend.get("resource") is None:
        yield invalid(path, "", "resource or service backend is required")
    else:
        yield from _typed_reference(backend["resource"], f"{path}.resource")


def _typed_reference(reference: Json, path: str) -> Causes:
    """What is wrong with a reference to an object of any kind beside it."""
    group = reference.get("apiGroup")
    if group is not None:
        yield from each_invalid(f"{path}.apiGroup", group, dns_subdomain(group))
    yield from kind_and_name(reference, path)


def _backend_service(target: Json, path: str) -> Causes:
    name = target.get("name", "")
    if not name:
        yield required(f"{path}.service.name")
    else:
        yield from each_invalid(f"{path}.service.name", name, dns_label(name))
    number, port = part(target, "port").get("number", 0), part(target, "port").get("name", "")
    if number and port:
        yield invalid(path, "", "cannot set both port name & port number")
    elif port:
        yield from port_or_name(port, f"{path}.service.port.name")
    elif number:
        yield from port_or_name(number, f"{path}.service.port.number")
    else:
        yield required(path, "port name or number is required")


def ingress_class(manifest: Json) -> Causes:
    """What is wrong with an IngressClass."""
    yield from domain_prefixed(part(manifest, "spec").get("controller", ""), "spec.controller")
    parameters = part(manifest, "spec").get("parameters")
    if parameters is not None:
        yield from _parameters(parameters, "spec.parameters")


def _parameters(parameters: Json, path: str) -> Causes:
    yield from _typed_reference(parameters, path)
    scope, namespace = parameters.get("scope"), parameters.get("namespace")
    if scope not in ("Cluster", "Namespace"):
        yield not_supported(f"{path}.scope", scope, ("Cluster", "Namespace"))
    elif namespace is None and scope == "Namespace":
        yield required(f"{path}.namespace", "`parameters.scope` is set to 'Namespace'")
    elif namespace is not None and scope == "Namespace":
        yield from each_invalid(f"{path}.namespace", namespace, dns_label(namespace))
    elif namespace is not None:
        yield forbidden(f"{path}.namespace", "`parameters.scope` is set to 'Cluster'")


def ingress_class_update(new: Json, old: Json) -> Causes:
    """What may not be changed in an IngressClass: who serves it."""
    controller = part(new, "spec").get("controller", "")
    if controller != part(old, "spec").get("controller", ""):
        yield invalid("spec.controller", controller, IMMUTABLE)
    yield from ingress_class(new)


# -- network policies ------------------------------------------------------------------------------------


def network_policy(manifest: Json) -> Causes:
    """What is wrong with a NetworkPolicy."""
    spec = part(manifest, "spec")
    yield from label_selector(spec.get("podSelector"), "spec.podSelector")
    for side, peers in (("ingress", "from"), ("egress", "to")):
        for number, rule in entries(spec.get(side)):
            path = f"spec.{side}[{number}]"
            for place, port in entries(rule.get("ports")):
                yield from _policy_port(port, f"{path}.ports[{place}]")
            for place, peer in entries(rule.get(peers)):
                yield from _peer(peer, f"{path}.{peers}[{place}]")
    kinds = spec.get("policyTypes") or []
    if len(kinds) > 2:
        yield invalid("spec.policyTypes", kinds, "may not specify more than two policyTypes")
        return
    for number, kind in entries(kinds):
        if kind not in ("Ingress", "Egress"):
            yield not_supported(f"spec.policyTypes[{number}]", kind, ("Ingress", "Egress"))


def _policy_port(port: Json, path: str) -> Causes:
    if port.get("protocol") not in PROTOCOLS:
        yield not_supported(f"{path}.protocol", port.get("protocol", ""), ("TCP", "UDP", "SCTP"))
    number, end = port.get("port"), port.get("endPort")
    if number is not None:
        yield from port_or_name(number, f"{path}.port")
    elif end is not None:
        told = "may not be specified when `port` is not specified"
        yield invalid(f"{path}.endPort", end, told)
    if end is None or number is None:
        return
    if isinstance(number, str):
        yield invalid(f"{path}.endPort", end, "may not be specified when `port` is non-numeric")
        return
    if end < number:
        yield invalid(f"{path}.endPort", number, "must be greater than or equal to `port`")
    yield from each_invalid(f"{path}.endPort", end, port_number(end))


def _peer(peer: Json, path: str) -> Causes:
    for name in ("podSelector", "namespaceSelector"):
        yield from label_selector(peer.get(name), f"{path}.{name}")
    block = peer.get("ipBlock")
    if block is not None:
        yield from _block(block, f"{path}.ipBlock")
    if not any(peer.get(name) is not None for name in ("podSelector", "namespaceSelector", "ipBlock")):
        yield required(path, "must specify a peer")
    elif block is not None and (
        peer.get("podSelector") is not None or peer.get("namespaceSelector") is not None
    ):
        yield forbidden(path, "may not specify both ipBlock and another peer")


def _block(block: Json, path: str) -> Causes:
    cidr = block.get("cidr", "")
    if not cidr:
        yield required(f"{path}.cidr")
        return
    wrong = address_range(cidr)
    yield from each_invalid(f"{path}.cidr", cidr, wrong)
    for number, each in entries(block.get("except") if not wrong else None):
        bad = address_range(each)
        yield from each_invalid(f"{path}.except[{number}]", each, bad)
        if not bad and not _is_inside(each, cidr):
            yield invalid(f"{path}.except[{number}]", each, "must be a strict subset of `cidr`")


def _is_inside(inner: str, outer: str) -> bool:
    small, large = (ipaddress.ip_network(each, strict=False) for each in (inner, outer))
    if isinstance(small, ipaddress.IPv4Network) and isinstance(large, ipaddress.IPv4Network):
        return small != large and small.subnet_of(large)
    if isinstance(small, ipaddress.IPv6Network) and isinstance(large, ipaddress.IPv6Network):
        return small != large and small.subnet_of(large)
    return False
