"""What is warned of although it is accepted; the words are held to the real server by the contract suite."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.kube.schemas.defaults import defaulted
from trimtab.kube.schemas.kinds import built_in
from trimtab.kube.schemas.warnings import KINDS, creation_warnings, update_warnings
from trimtab.kube.schemas.warnings.addresses import address, network


@pytest.mark.parametrize(
    ("value", "better"),
    [("10.0.0.1", ""), ("2001:db8::1", ""), ("2001:DB8::1", "2001:db8::1"), ("nonsense", "")],
)
def test_only_ipv6_can_be_written_in_better_ways(value: str, better: str) -> None:
    told = f'f: IPv6 address "{value}" should be in RFC 5952 canonical format ("{better}")'
    assert list(address("f", value)) == ([told] if better else [])


@pytest.mark.parametrize(
    ("value", "better"),
    [("10.0.0.0/8", ""), ("2001:DB8::/32", "2001:db8::/32"), ("10.0.0.1/8", ""), ("x/8", "")],
)
def test_so_can_networks(value: str, better: str) -> None:
    told = f'f: IPv6 CIDR value "{value}" should be in RFC 5952 canonical format ("{better}")'
    assert list(network("f", value)) == ([told] if better else [])


def deployment(generation: int) -> dict[str, Any]:
    template = {"spec": {"terminationGracePeriodSeconds": -1, "containers": []}}
    return {"metadata": {"name": "a", "generation": generation}, "spec": {"template": template}}


def test_a_workload_is_warned_again_only_when_its_spec_moves() -> None:
    schema = built_in().schema("apps", "v1", "Deployment")
    assert schema is not None
    warned = creation_warnings(deployment(1), schema)
    assert len(warned) == 1
    assert update_warnings(deployment(1), deployment(1), schema) == ()
    assert update_warnings(deployment(2), deployment(1), schema) == warned
    assert update_warnings(deployment(2), deployment(1), schema, subresource="status") == ()


def test_every_rule_belongs_to_a_kind_that_is_served() -> None:
    assert set(KINDS) <= set(built_in().models.values())


@given(st.sampled_from(sorted(KINDS)), st.data())
def test_whatever_can_be_kept_can_be_judged(model: str, data: st.DataObject) -> None:
    schema = built_in().type(model)
    manifest = defaulted(data.draw(objects(schema, depth=5)), schema)
    assert all(isinstance(text, str) for text in creation_warnings(manifest, schema))
    assert all(isinstance(text, str) for text in update_warnings(manifest, {}, schema))


def objects(schema: Any, depth: int) -> st.SearchStrategy[dict[str, Any]]:
    """Some of the fields that a type has, with values of their types."""
    fields = dict(schema.fields())
    chosen = (
        st.lists(st.sampled_from(sorted(fields)), max_size=4, unique=True)
        if fields and depth
        else st.just([])
    )
    return chosen.flatmap(
        lambda names: st.fixed_dictionaries({name: values(fields[name], depth - 1) for name in names})
    )


def values(schema: Any, depth: int) -> st.SearchStrategy[Any]:
    match schema.type:
        case "object" if schema.values is not None:
            return st.dictionaries(st.sampled_from(["a", "memory"]), values(schema.values, depth), max_size=2)
        case "object":
            return objects(schema, depth)
        case "array":
            return st.lists(values(schema.element, depth), max_size=3)
        case "integer":
            return st.integers(-5, 200_000)
        case "boolean":
            return st.booleans()
        case _ if schema.format == "byte":
            return st.just("eA==")
        case _:
            return st.sampled_from(["a", "1", "1.5", "None", "ExternalName", "Indexed", "2001:DB8::1"])
