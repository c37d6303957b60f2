"""What is made equal before comparing, because it means the same."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.engine.compare.normalising import Normal, normal, with_data_for_string_data
from trimtab.resources.manifests import Manifest

PLAIN = Normal()


def secret(**fields: Any) -> Manifest:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, **fields}


def role(kind: str = "ClusterRole", **fields: Any) -> Manifest:
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": "r"}, **fields}


@pytest.mark.fact("D8")
def test_the_rules_of_a_role_made_of_others_are_left_out_only_by_choice() -> None:
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
    aggregated = role(aggregationRule={"clusterRoleSelectors": []}, rules=rules)
    bare = role(aggregationRule={"clusterRoleSelectors": []})
    chosen = Normal(ignore_aggregated_roles=True)
    assert normal(aggregated, chosen) == normal(bare, chosen)
    assert normal(aggregated, PLAIN) != normal(bare, PLAIN)
    assert normal(role(rules=rules), chosen) == role(rules=rules)
    assert normal(role(rules=rules, aggregationRule="odd"), chosen)["rules"] == rules


@pytest.mark.fact("D9")
@pytest.mark.parametrize("kind", ["Role", "ClusterRole"])
def test_no_rules_and_an_empty_list_of_rules_are_the_same(kind: str) -> None:
    assert normal(role(kind, rules=[]), PLAIN) == normal(role(kind, rules=None), PLAIN) == role(kind)


@pytest.mark.fact("D10")
def test_a_creation_time_is_left_out() -> None:
    timed = {**secret(), "metadata": {"name": "s", "creationTimestamp": None}}
    assert normal(timed, PLAIN) == secret()


ADDRESSES = [{"ip": "10.0.0.2"}, {"ip": "10.0.0.1", "targetRef": {"uid": "b"}}, {"ip": "10.0.0.1"}]
PORTS = [{"port": 80, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}, {"port": 53}]


@pytest.mark.fact("D11")
@given(st.permutations(ADDRESSES), st.permutations(PORTS), st.booleans())
def test_endpoints_in_any_order_are_the_same(
    addresses: list[dict[str, Any]], ports: list[dict[str, Any]], backwards: Any
) -> None:
    def made(addresses: Any, ports: Any, *, turned: bool) -> Manifest:
        subsets = [{"addresses": addresses, "ports": ports}, {"notReadyAddresses": addresses}]
        kept = list(reversed(subsets)) if turned else subsets
        return {"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "e"}, "subsets": kept}

    assert normal(made(addresses, ports, turned=backwards), PLAIN) == normal(
        made(ADDRESSES, PORTS, turned=False), PLAIN
    )


@pytest.mark.fact("D11")
def test_a_port_without_a_protocol_is_tcp() -> None:
    def made(port: Any) -> Manifest:
        return {"apiVersion": "v1", "kind": "Endpoints", "metadata": {}, "subsets": [{"ports": [port]}]}

    assert normal(made({"port": 80}), PLAIN) == normal(made({"port": 80, "protocol": "TCP"}), PLAIN)
    assert normal(made({"port": 80}), PLAIN) != normal(made({"port": 80, "protocol": "UDP"}), PLAIN)


@pytest.mark.parametrize(
    "odd", ["text", [3], [{"addresses": "x", "ports": [3]}], [{"addresses": [3, None]}], None]
)
def test_endpoints_of_odd_form_are_not_tripped_over(odd: Any) -> None:
    made = {"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "e"}, "subsets": odd}
    assert normal(made, PLAIN)["kind"] == "Endpoints"


@pytest.mark.fact("D12")
def test_text_equals_the_same_value_encoded_and_wins_over_it() -> None:
    assert normal(secret(stringData={"a": "1"}), PLAIN) == secret(data={"a": "MQ=="})
    both = secret(data={"a": "Mg==", "b": "Mg=="}, stringData={"a": "1"})
    assert normal(both, PLAIN) == secret(data={"a": "MQ==", "b": "Mg=="})
    assert normal(secret(stringData=None), PLAIN) == secret()
    assert normal(secret(stringData={}, data={"a": "MQ=="}), PLAIN) == secret(data={"a": "MQ=="})


@pytest.mark.fact("D12")
def test_what_is_no_text_is_moved_as_it_is_for_the_server_to_refuse() -> None:
    assert with_data_for_string_data(secret(stringData={"a": 1, "b": ["x"]})) == secret(
        data={"a": 1, "b": ["x"]}
    )
    assert with_data_for_string_data(secret(stringData="odd")) == secret(stringData="odd")


@pytest.mark.fact("D13")
def test_a_null_value_is_an_empty_one_and_line_breaks_are_no_content() -> None:
    assert normal(secret(data={"a": None}), PLAIN) == secret(data={"a": ""})
    assert normal(secret(data={"a": "MTIz\nNDU2\r\n"}), PLAIN) == secret(data={"a": "MTIzNDU2"})


def test_other_kinds_stay_as_they_are_and_nothing_given_is_changed() -> None:
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "stringData": {"a": "1"}}
    assert normal(config, PLAIN) is config
    given = secret(stringData={"a": "1"}, data={"b": None})
    before = copy.deepcopy(given)
    normal(given, PLAIN)
    assert given == before
