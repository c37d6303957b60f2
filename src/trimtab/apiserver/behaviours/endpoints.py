"""Services with a selector: the EndpointSlices and Endpoints that lead to their pods. Pure. IPv4 alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct

from trimtab.apiserver.behaviours.changes import (
    NOTHING,
    Actor,
    Behaviour,
    Change,
    Create,
    Decision,
    Delete,
    Update,
    decision,
)
from trimtab.apiserver.behaviours.kinds import ENDPOINT_SLICE, ENDPOINTS, POD, SERVICE
from trimtab.apiserver.behaviours.manifests import (
    Manifest,
    Name,
    age_order,
    annotations_of,
    condition,
    controller_reference,
    full_name,
    is_going,
    kind_of,
    labels_of,
    name_of,
    namespace_of,
    owners_of,
    present,
    status_of,
    uid_of,
    with_metadata,
)
from trimtab.apiserver.behaviours.readiness import is_over, is_ready
from trimtab.apiserver.behaviours.timing import Timing
from trimtab.apiserver.behaviours.world import World
from trimtab.kube.selectors import label_selector

MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
OWNER = "endpointslice-controller.k8s.io"
SERVICE_NAME = "kubernetes.io/service-name"
HEADLESS = "service.kubernetes.io/headless"
TRIGGER = "endpoints.kubernetes.io/last-change-trigger-time"
LEGACY_MANAGED_BY = "endpoints.kubernetes.io/managed-by"
_PER_SLICE = 100


class _Target(Struct, frozen=True, kw_only=True):
    """One pod behind a service, at the ports it has."""

    pod: Manifest
    ports: tuple[tuple[str, int, str, str], ...]  # name, number, protocol, application protocol


def decide(world: World, name: Name, now: datetime, timing: Timing) -> Decision:
    """The slices and the Endpoints of one service, where they differ from what its pods say."""
    service = world.get(SERVICE, *name)
    endpoints = world.get(ENDPOINTS, *name)
    if service is None:
        mine = endpoints is not None and labels_of(endpoints).get(LEGACY_MANAGED_BY) == "endpoint-controller"
        return decision([Delete(target=endpoints)]) if mine and endpoints is not None else NOTHING
    if (
        is_going(service)
        or not service["spec"].get("selector")
        or service["spec"].get("type") == "ExternalName"
    ):
        return NOTHING
    targets = sorted(_targets(world, service), key=lambda each: name_of(each.pod))
    return decision([*_slices(world, service, targets), *_legacy(service, endpoints, targets)])


def _targets(world: World, service: Manifest) -> Iterator[_Target]:
    selector = label_selector({"matchLabels": service["spec"]["selector"]})
    for pod in world.selected(POD, namespace_of(service), selector):
        if status_of(pod).get("podIP") and not is_over(pod):
            yield _Target(pod=pod, ports=tuple(_ports(service, pod)))


def _ports(service: Manifest, pod: Manifest) -> Iterator[tuple[str, int, str, str]]:
    for port in service["spec"].get("ports") or ():
        number = _number(port, pod)
        if number is not None:
            yield port.get("name", ""), number, port.get("protocol", "TCP"), port.get("appProtocol", "")


def _number(port: Mapping[str, Any], pod: Manifest) -> int | None:
    target = port.get("targetPort", port["port"])
    if isinstance(target, int):
        return target
    for container in pod["spec"]["containers"]:
        for each in container.get("ports") or ():
            if each.get("name") == target and each.get("protocol", "TCP") == port.get("protocol", "TCP"):
                return int(each["containerPort"])
    return None


def _serves(service: Manifest, pod: Manifest) -> bool:
    return bool(service["spec"].get("publishNotReadyAddresses")) or (is_ready(pod) and not is_going(pod))


def _is_headless(service: Manifest) -> bool:
    return bool(service["spec"].get("clusterIP") == "None")


def _trigger(targets: Iterable[_Target], known: Mapping[str, bool]) -> dict[str, str]:
    """Since when a rewrite has been due: the first change of a pod's readiness that is news, if any is."""
    times = (
        (condition(each.pod, "Ready") or {}).get("lastTransitionTime")
        for each in targets
        if known.get(uid_of(each.pod)) != is_ready(each.pod)
    )
    first = min(filter(None, times), default=None)
    return {} if first is None else {TRIGGER: first}


def _made(service: Manifest) -> dict[str, str]:
    """What is written for the first time was due when the service was made."""
    return {TRIGGER: service["metadata"]["creationTimestamp"]}


# -- slices ---------------------------------------------------------------------------------------------


def _slices(world: World, service: Manifest, targets: Sequence[_Target]) -> Iterator[Change]:
    """One slice per hundred pods with the same ports; a service without pods has an empty one."""
    found = sorted(_own_slices(world, service), key=age_order)
    known = {
        each["targetRef"]["uid"]: each["conditions"]["serving"]
        for one in found
        for each in one.get("endpoints") or ()
    }
    trigger = _trigger(targets, known) if found else _made(service)
    wanted = list(_wanted_slices(service, targets, trigger))
    for index, body in enumerate(wanted):
        if index >= len(found):
            yield Create(body)
        elif _differs(found[index], body):
            labels, annotations = body["metadata"]["labels"], body["metadata"]["annotations"]
            kept = with_metadata(found[index], labels=labels, annotations=annotations)
            yield Update(body={**kept, "endpoints": body["endpoints"], "ports": body["ports"]})
    yield from (Delete(target=each) for each in found[len(wanted) :])


def _own_slices(world: World, service: Manifest) -> list[Manifest]:
    return [
        each
        for each in world.all(ENDPOINT_SLICE, namespace_of(service))
        if labels_of(each).get(SERVICE_NAME) == name_of(service)
        and labels_of(each).get(MANAGED_BY) == OWNER
        and any(owner["uid"] == uid_of(service) for owner in owners_of(each))
        and not is_going(each)
    ]


def _differs(found: Manifest, body: Manifest) -> bool:
    return any((found.get(field) or []) != (body[field] or []) for field in ("endpoints", "ports")) or (
        labels_of(found) != labels_of(body)
    )


def _wanted_slices(
    service: Manifest, targets: Sequence[_Target], trigger: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    groups: dict[tuple[tuple[str, int, str, str], ...], list[_Target]] = {}
    for target in targets:
        groups.setdefault(target.ports, []).append(target)
    if not groups:
        yield _slice(service, trigger, None, None)
    for ports, members in groups.items():
        written = [
            {"name": name, "port": number, "protocol": protocol, **present(appProtocol=application)}
            for name, number, protocol, application in ports
        ]
        for start in range(0, len(members), _PER_SLICE):
            endpoints = [_endpoint(service, each.pod) for each in members[start : start + _PER_SLICE]]
            yield _slice(service, trigger, endpoints, written)


def _slice(
    service: Manifest,
    trigger: Mapping[str, str],
    endpoints: list[dict[str, Any]] | None,
    ports: list[dict[str, Any]] | None,
) -> dict[str, Any]:
    labels = {**labels_of(service), MANAGED_BY: OWNER, SERVICE_NAME: name_of(service)}
    if _is_headless(service):
        labels[HEADLESS] = ""
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "generateName": f"{name_of(service)}-",
            "namespace": namespace_of(service),
            "labels": labels,
            "annotations": dict(trigger),
            "ownerReferences": [controller_reference(service)],
        },
        "addressType": "IPv4",
        "endpoints": endpoints,
        "ports": ports,
    }


def _endpoint(service: Manifest, pod: Manifest) -> dict[str, Any]:
    published = bool(service["spec"].get("publishNotReadyAddresses"))
    return {
        "addresses": [status_of(pod)["podIP"]],
        "conditions": {
            "ready": _serves(service, pod),
            "serving": is_ready(pod) or published,
            "terminating": is_going(pod),
        },
        **present(nodeName=pod["spec"].get("nodeName"), hostname=_hostname(service, pod)),
        "targetRef": _reference(pod),
    }


def _hostname(service: Manifest, pod: Manifest) -> str:
    is_named = pod["spec"].get("subdomain") == name_of(service)
    return str(pod["spec"].get("hostname", "")) if is_named else ""


def _reference(pod: Manifest) -> dict[str, Any]:
    return {"kind": "Pod", "name": name_of(pod), "namespace": namespace_of(pod), "uid": uid_of(pod)}


# -- Endpoints ------------------------------------------------------------------------------------------


def _legacy(service: Manifest, found: Manifest | None, targets: Sequence[_Target]) -> Iterator[Change]:
    labels = {**labels_of(service), LEGACY_MANAGED_BY: "endpoint-controller"}
    if _is_headless(service):
        labels[HEADLESS] = ""
    subsets = list(_subsets(service, targets))
    if found is None:
        metadata = {"name": name_of(service), "namespace": namespace_of(service), "labels": labels}
        body = {"apiVersion": "v1", "kind": "Endpoints"}
        yield Create(
            {**body, "metadata": {**metadata, "annotations": _made(service)}, **present(subsets=subsets)}
        )
    elif (found.get("subsets") or []) != subsets or labels_of(found) != labels:
        staying = [each for each in targets if not is_going(each.pod)]
        trigger = _trigger(staying, _addressed(found))
        others = {key: value for key, value in annotations_of(found).items() if key != TRIGGER}
        kept = with_metadata(found, labels=labels, annotations={**others, **trigger})
        yield Update(body={**kept, "subsets": subsets})


def _addressed(endpoints: Manifest) -> dict[str, bool]:
    """The pods that Endpoints lead to, and whether they are said to be ready."""
    return {
        each["targetRef"]["uid"]: field == "addresses"
        for one in endpoints.get("subsets") or ()
        for field in ("addresses", "notReadyAddresses")
        for each in one.get(field) or ()
        if "targetRef" in each
    }


def _subsets(service: Manifest, targets: Sequence[_Target]) -> Iterator[dict[str, Any]]:
    groups: dict[tuple[tuple[str, int, str, str], ...], list[Manifest]] = {}
    for target in targets:
        if not is_going(target.pod):
            groups.setdefault(target.ports, []).append(target.pod)
    for ports, pods in groups.items():
        pods.sort(key=lambda pod: tuple(map(int, status_of(pod)["podIP"].split("."))))
        written = [
            {**present(name=name), "port": number, "protocol": protocol, **present(appProtocol=application)}
            for name, number, protocol, application in ports
        ]
        yield present(
            addresses=[_address(service, pod) for pod in pods if _serves(service, pod)],
            notReadyAddresses=[_address(service, pod) for pod in pods if not _serves(service, pod)],
            ports=written,
        )


def _address(service: Manifest, pod: Manifest) -> dict[str, Any]:
    return {
        "ip": status_of(pod)["podIP"],
        **present(nodeName=pod["spec"].get("nodeName"), hostname=_hostname(service, pod)),
        "targetRef": _reference(pod),
    }


def concerned(world: World, changed: Manifest) -> Iterator[Name]:
    """A service itself, the one of a slice or of Endpoints, and those that select the pod."""
    kind, namespace = kind_of(changed), namespace_of(changed)
    if kind in (SERVICE, ENDPOINTS):
        yield full_name(changed)
    elif kind == ENDPOINT_SLICE:
        if service := labels_of(changed).get(SERVICE_NAME):
            yield namespace, service
    elif kind == POD:
        for each in world.all(SERVICE, namespace):
            wanted = each["spec"].get("selector") or {}
            if wanted and wanted.items() <= labels_of(changed).items():
                yield full_name(each)


SERVICES = Behaviour(title="endpoints", actor=Actor.CONTROLLERS, decide=decide, concerned=concerned)
