"""Services: what they are given, keep and lose as their type, ports and families of addresses change."""

from __future__ import annotations

from typing import Any

from tests.contract.cluster.cases import Table
from tests.contract.cluster.kinds import SERVICES, named
from tests.contract.cluster.stage import Stage
from trimtab.kube.cluster import PatchType, Write

TABLE = Table(__name__)
case = TABLE.case
LOCAL = {"type": "LoadBalancer", "externalTrafficPolicy": "Local"}
DRY = Write(dry_run=True)
PAIR = [{"port": 53, "name": "tcp"}, {"port": 53, "name": "udp", "protocol": "UDP"}]


def _service(name: str, **spec: Any) -> dict[str, Any]:
    return named(SERVICES, name, spec={"ports": [{"port": 80}], **spec})


async def _patched(stage: Stage, before: dict[str, Any], *changes: dict[str, Any]) -> None:
    await stage.create(SERVICES, _service("a", **before))
    for change in changes:
        await stage.patch(SERVICES, "a", {"spec": change}, how=PatchType.MERGE)


async def _refused(stage: Stage, *specs: dict[str, Any]) -> None:
    for spec in specs:
        await stage.create(SERVICES, _service("a", **spec), write=Write(dry_run=True))


# -- types ------------------------------------------------------------------------------------------------

TYPES: dict[str, tuple[dict[str, Any], ...]] = {
    "health is no longer looked for once any node may answer": (
        LOCAL,
        {"externalTrafficPolicy": "Cluster"},
        {"externalTrafficPolicy": "Local"},
        {"type": "ClusterIP"},
    ),
    "the class of a load balancer stays": (
        {"type": "LoadBalancer", "loadBalancerClass": "example.com/a"},
        {"loadBalancerClass": "example.com/b"},
        {"loadBalancerClass": None},
        {"type": "NodePort"},
        {"type": "LoadBalancer", "loadBalancerClass": "example.com/b"},
    ),
    "the class of a load balancer is set late": (
        {"type": "LoadBalancer"},
        {"loadBalancerClass": "example.com/a"},
    ),
    "a traffic policy goes with the outer addresses": (
        {"externalIPs": ["192.0.2.7"], "externalTrafficPolicy": "Local"},
        {"externalIPs": None},
    ),
    "the port at which health is asked for stays": (
        {**LOCAL, "healthCheckNodePort": 30051},
        {"healthCheckNodePort": 30052},
        {"healthCheckNodePort": None},
    ),
    "an address is given back": (
        {"clusterIP": "10.96.0.61"},
        {"type": "ExternalName", "externalName": "a.example", "clusterIP": None, "clusterIPs": None},
        {"type": "ClusterIP", "externalName": None, "clusterIP": "10.96.0.61"},
    ),
}
for _name, (_before, *_changes) in TYPES.items():
    TABLE.add("patch merge", "types of Services", _name, _patched, _before, *_changes)


# -- node ports -------------------------------------------------------------------------------------------


def _shared(node_ports: list[dict[str, Any]]) -> list[int]:
    """Node ports by the order in which they are met: two that are the same have the same number."""
    met = list(dict.fromkeys(each["nodePort"] for each in node_ports))
    return [met.index(each["nodePort"]) for each in node_ports]


async def _told_ports(stage: Stage) -> None:
    """Write down which ports share a node port; which one it is, is drawn by lot."""
    found = await stage.manifest_of(SERVICES, "a")
    stage.say("shared", _shared(found["spec"]["ports"]))


@case("create", "node ports")
async def one_port_in_two_protocols_shares_a_node_port(stage: Stage) -> None:
    await stage.create(SERVICES, _service("a", type="NodePort", ports=PAIR))
    await _told_ports(stage)


@case("create", "node ports")
async def one_node_port_is_asked_for_in_two_protocols(stage: Stage) -> None:
    ports = [{**each, "nodePort": 30053} for each in PAIR]
    await stage.create(SERVICES, _service("a", type="NodePort", ports=ports))
    twice = [{"port": 80, "name": "x", "nodePort": 30054}, {"port": 81, "name": "y", "nodePort": 30054}]
    await stage.create(SERVICES, _service("b", type="NodePort", ports=twice))
    named_late = [PAIR[0], {**PAIR[1], "nodePort": 30055}]
    await stage.create(SERVICES, _service("c", type="LoadBalancer", ports=named_late))


@case("create", "node ports")
async def node_ports_that_cannot_be_had(stage: Stage) -> None:
    await stage.given(SERVICES, _service("a", type="NodePort", ports=[{"port": 80, "nodePort": 30056}]))
    port = [{"port": 80, "nodePort": 30056}]
    unasked = {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False}
    await stage.create(SERVICES, _service("b", **unasked, ports=port))
    await stage.create(SERVICES, _service("b", **LOCAL, healthCheckNodePort=30056))
    await stage.create(SERVICES, _service("b", **LOCAL, healthCheckNodePort=80))
    await stage.create(SERVICES, _service("b", healthCheckNodePort=30057))


@case("update", "node ports")
async def a_node_port_stays_with_the_name_of_its_port(stage: Stage) -> None:
    await stage.create(SERVICES, _service("a", type="NodePort", ports=[{"port": 80, "nodePort": 30058}]))
    await stage.update(SERVICES, "a", _service("a", type="NodePort", ports=[{"port": 81}]))
    more = [{"port": 80, "name": "new"}, {"port": 81, "name": "other"}]
    await stage.update(SERVICES, "a", _service("a", type="NodePort", ports=more))


@case("update", "node ports")
async def a_node_port_is_taken_by_another_port(stage: Stage) -> None:
    before = [{"port": 80, "name": "x", "nodePort": 30059}, {"port": 81, "name": "y", "nodePort": 30060}]
    await stage.create(SERVICES, _service("a", type="NodePort", ports=before))
    after = [{"port": 80, "name": "x"}, {"port": 81, "name": "y", "nodePort": 30059}]
    await stage.update(SERVICES, "a", _service("a", type="NodePort", ports=after))
    both = [{**each, "nodePort": 30059} for each in PAIR]
    await stage.update(SERVICES, "a", _service("a", type="NodePort", ports=both))
    twice = [{**each, "nodePort": 30059, "protocol": "TCP"} for each in before]
    await stage.update(SERVICES, "a", _service("a", type="NodePort", ports=twice))


@case("apply", "node ports")
async def a_node_port_stays_when_its_port_is_applied_anew(stage: Stage) -> None:
    before = _service("a", type="NodePort", ports=[{"port": 80, "name": "web"}])
    await stage.apply(SERVICES, "a", before)
    first = (await stage.manifest_of(SERVICES, "a"))["spec"]["ports"][0]["nodePort"]
    after = _service("a", type="NodePort", ports=[{"port": 81, "name": "web"}])
    await stage.apply(SERVICES, "a", after)
    kept = (await stage.manifest_of(SERVICES, "a"))["spec"]["ports"][0]["nodePort"]
    stage.say("kept", first == kept)


@case("create", "dry run")
async def a_dry_run_shows_what_nobody_gets(stage: Stage) -> None:
    several = [
        {"port": 80, "name": "a"},
        {"port": 81, "name": "b", "nodePort": 80},
        {"port": 82, "name": "c"},
    ]
    for spec in ({}, LOCAL, {"type": "NodePort", "ports": several}, {"clusterIP": "10.96.0.1"}):
        await stage.create(SERVICES, _service("a", **spec), write=Write(dry_run=True))
    for address in ("10.0.0.1", "10.96.0.0", "10.96.0.1"):
        await stage.create(SERVICES, _service("a", clusterIP=address))


# -- addresses --------------------------------------------------------------------------------------------

ADDRESSES: dict[str, tuple[dict[str, Any], ...]] = {
    "families of addresses that are none": (
        {"ipFamilies": ["IPv5"]},
        {"ipFamilies": ["IPv4", "IPv4"]},
        {"ipFamilies": ["IPv4", "IPv6"]},
        {"ipFamilies": ["IPv4", "IPv6"], "ipFamilyPolicy": "SingleStack"},
        {"ipFamilies": ["IPv6"], "clusterIP": "10.96.0.62"},
        {"ipFamilyPolicy": "Any"},
        {"ipFamilyPolicy": "Any", "ipFamilies": ["IPv5"], "clusterIP": "None"},
    ),
    "addresses that cannot be had": (
        {"clusterIP": "10.96.0.0"},
        {"clusterIP": "10.96.255.255"},
        {"clusterIP": "fd00::1"},
        {"clusterIP": "10.96.0.62", "clusterIPs": ["10.96.0.63"]},
        {"clusterIP": "10.96.0.62", "clusterIPs": ["10.96.0.62", "10.96.0.63"]},
        {"clusterIPs": ["None", "10.96.0.62"]},
        {"clusterIPs": ["10.96.0.62", "fd00::1", "fd00::2"]},
        {"clusterIP": "nowhere", "ipFamilies": ["IPv5"]},
        {"type": "NodePort", "clusterIP": "None", "ports": []},
    ),
    "what only some Services have": (
        {"type": "ExternalName", "externalName": "a.example", "clusterIP": "10.96.0.62"},
        {"type": "ExternalName", "externalName": "a.example", "ipFamilies": ["IPv4"]},
        {"type": "LoadBalancer", "ports": [{"port": 10250}]},
        {"type": "LoadBalancer", "loadBalancerClass": "a b"},
        {"loadBalancerClass": "a b"},
        {"ports": [{"port": 80, "appProtocol": "a b"}]},
        {"ports": [{"port": 80, "name": "a", "appProtocol": "example.com/x"}, {"port": 80}]},
    ),
}
for _name, _specs in ADDRESSES.items():
    TABLE.add("create", "addresses of Services", _name, _refused, *_specs)

CHANGED: dict[str, tuple[dict[str, Any], ...]] = {
    "the families of addresses change": (
        {"clusterIP": "10.96.0.64"},
        {"ipFamilyPolicy": "Any"},
        {"ipFamilyPolicy": "PreferDualStack"},
        {"ipFamilies": ["IPv6"]},
        {"ipFamilies": ["IPv4", "IPv4"]},
        {"ipFamilies": []},
    ),
    "the address changes": (
        {"clusterIP": "10.96.0.65"},
        {"clusterIP": "10.96.0.66"},
        {"clusterIPs": ["10.96.0.66"]},
        {"clusterIP": "nowhere"},
        {"clusterIP": ""},
        {"clusterIPs": []},
    ),
}
for _name, (_before, *_changes) in CHANGED.items():
    TABLE.add("patch merge", "addresses of Services", _name, _patched, _before, *_changes)


@case("create", "addresses of Services")
async def nobody_gets_an_address(stage: Stage) -> None:
    nameless: dict[str, Any] = {"apiVersion": "v1", "kind": "Service", "metadata": {}}
    for spec in (
        {"clusterIP": "10.96.0.67"},
        {"clusterIP": "10.96.0.1"},
        {"clusterIP": "None"},
        {"type": "ExternalName", "externalName": "a.example"},
    ):
        await stage.create(SERVICES, {**nameless, "spec": {"ports": [{"port": 80}], **spec}})
    for write in (Write(), DRY):
        await stage.create(SERVICES, {**nameless, "spec": {"ports": [{"port": 80}]}}, write=write)


@case("update", "addresses of Services")
async def what_is_made_through_the_status_is_given_nothing(stage: Stage) -> None:
    await stage.update(SERVICES, "a", _service("a"), subresource="status")
    await stage.update(SERVICES, "a", _service("a", selector={"a": "b"}))
    for change in ({"ports": [{"port": 81}]}, {"type": "NodePort"}, {"clusterIP": "10.96.0.68"}):
        await stage.patch(SERVICES, "a", {"spec": change}, how=PatchType.MERGE)
    for spec in (LOCAL, {"clusterIP": "None"}, {**LOCAL, "clusterIP": "10.96.0.69"}):
        await stage.update(SERVICES, "b", _service("b", **spec), subresource="status")


@case("update", "addresses of Services")
async def an_empty_policy_of_families_is_none_of_them(stage: Stage) -> None:
    await stage.given(SERVICES, _service("a"))
    for policy in ("", None, "SingleStack"):
        spec = {"ipFamilyPolicy": policy}
        await stage.patch(SERVICES, "a", {"spec": spec}, how=PatchType.MERGE, write=DRY)
