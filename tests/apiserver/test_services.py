"""What Services are given, keep, and lose."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from trimtab.apiserver import MemoryCluster
from trimtab.apiserver.decoding import Body
from trimtab.apiserver.nodeports import PORTS
from trimtab.apiserver.patching import MERGE_PATCH
from trimtab.apiserver.requests import Address, DeleteOptions, WriteOptions
from trimtab.apiserver.services import ADDRESSES
from trimtab.kube.refusals import Refused

FOR_REAL = WriteOptions(manager="tests")


class Services:
    """The Services of one cluster, by what their spec becomes."""

    def __init__(self, memory: MemoryCluster) -> None:
        self._api = memory.api
        self._served = memory.api.served("v1", "services")

    def make(self, name: str, **spec: Any) -> dict[str, Any]:
        body = {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], **spec}}
        address = Address(served=self._served, namespace="default")
        return self._spec(self._api.create(address, Body(body), FOR_REAL).body)

    def change(self, name: str, **spec: Any) -> dict[str, Any]:
        return self._spec(self._api.patch(self._at(name), Body({"spec": spec}, MERGE_PATCH), FOR_REAL).body)

    def remove(self, name: str) -> None:
        self._api.delete(self._at(name), DeleteOptions())

    def _at(self, name: str) -> Address:
        return Address(served=self._served, namespace="default", name=name)

    def _spec(self, body: bytes) -> dict[str, Any]:
        spec: dict[str, Any] = msgspec.json.decode(body)["spec"]
        return spec


@pytest.fixture
def services(memory: MemoryCluster) -> Services:
    return Services(memory)


def test_every_service_gets_an_address_of_its_own(services: Services) -> None:
    addresses = [services.make(f"s{number}")["clusterIP"] for number in range(20)]
    assert len(set(addresses)) == 20
    assert all(address.startswith("10.96.") for address in addresses)
    assert str(ADDRESSES) == "10.96.0.0/16"


def test_an_address_can_be_asked_for_once(services: Services) -> None:
    assert services.make("a", clusterIP="10.96.7.7")["clusterIPs"] == ["10.96.7.7"]
    with pytest.raises(Refused, match="provided IP is already allocated"):
        services.make("b", clusterIP="10.96.7.7")
    services.remove("a")
    assert services.make("b", clusterIP="10.96.7.7")["clusterIP"] == "10.96.7.7"


def test_a_node_port_can_be_asked_for_once(services: Services) -> None:
    port = services.make("a", type="NodePort")["ports"][0]["nodePort"]
    assert port in PORTS
    with pytest.raises(Refused, match="provided port is already allocated"):
        services.make("b", type="NodePort", ports=[{"port": 80, "nodePort": port}])


def test_a_service_keeps_its_address_and_its_ports(services: Services) -> None:
    before = services.make("a", type="NodePort")
    after = services.change("a", selector={"a": "b"}, ports=[{"port": 80, "protocol": "TCP"}])
    assert (after["clusterIP"], after["ports"][0]["nodePort"]) == (
        before["clusterIP"],
        before["ports"][0]["nodePort"],
    )


def test_a_service_loses_what_its_new_type_cannot_have(services: Services) -> None:
    services.make("a", type="LoadBalancer")
    inside = services.change("a", type="ClusterIP")
    assert "nodePort" not in inside["ports"][0]
    assert not {"externalTrafficPolicy", "allocateLoadBalancerNodePorts"} & inside.keys()
    outside = services.change("a", type="ExternalName", externalName="a.example")
    assert not {"clusterIP", "clusterIPs", "ipFamilies", "internalTrafficPolicy"} & outside.keys()
    assert services.change("a", type="ClusterIP", externalName=None)["clusterIP"].startswith("10.96.")
