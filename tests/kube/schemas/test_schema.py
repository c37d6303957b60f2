"""Walking schemas of built-in kinds and of CRDs."""

from __future__ import annotations

from typing import Any

import pytest

from trimtab.kube.schemas.kinds import built_in
from trimtab.kube.schemas.schema import ANYTHING, Schema, crd_schema


def at(schema: Schema | None, *path: str) -> Schema:
    for step in path:
        assert schema is not None, path
        schema = schema.element if step == "*" else schema.child(step)
    assert schema is not None, path
    return schema


def deployment(*path: str) -> Schema:
    return at(built_in().schema("apps", "v1", "Deployment"), *path)


def widget(**fields: Any) -> Schema:
    return crd_schema(
        {"type": "object", "properties": {"spec": {"type": "object", **fields}}}, built_in().types
    )


def test_a_list_of_containers_is_a_map_by_name_that_strategic_patches_merge() -> None:
    containers = deployment("spec", "template", "spec", "containers")
    assert (containers.type, containers.list_type, containers.list_keys) == ("array", "map", ("name",))
    assert (containers.merge_key, containers.merge_strategies) == ("name", frozenset({"merge"}))


def test_a_key_that_is_left_out_has_its_default_in_the_list_map() -> None:
    ports = deployment("spec", "template", "spec", "containers", "*", "ports")
    assert ports.list_keys == ("containerPort", "protocol")
    assert ports.key_defaults == {"containerPort": 0, "protocol": "TCP"}


def test_two_patch_strategies_are_both_known() -> None:
    assert deployment("spec", "template", "spec", "volumes").merge_strategies == {"merge", "retainKeys"}


def test_a_list_of_which_nothing_is_said_is_atomic() -> None:
    assert deployment("spec", "template", "spec", "containers", "*", "command").list_type == "atomic"


def test_a_selector_is_one_value() -> None:
    assert deployment("spec", "selector").atomic
    assert not deployment("spec", "template").atomic


def test_labels_are_a_map_of_strings() -> None:
    labels = deployment("metadata", "labels")
    assert at(labels, "whatever").type == "string"


def test_a_field_that_the_kind_does_not_have_is_unknown() -> None:
    assert deployment("spec").child("replica") is None


def test_a_schema_that_contains_itself_can_be_walked_to_any_depth() -> None:
    crd = built_in().schema("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
    node = at(crd, "spec", "versions", "*", "schema", "openAPIV3Schema")
    for _ in range(50):
        node = at(node, "properties", "deeper")
    assert node.model.endswith("JSONSchemaProps")


@pytest.mark.parametrize(
    ("path", "pointer", "omit_empty"),
    [
        (("spec", "replicas"), True, True),
        (("spec", "minReadySeconds"), False, True),
        (("spec", "selector"), True, False),
        (("spec", "template", "spec", "containers"), False, False),
    ],
)
def test_a_field_knows_what_becomes_of_an_empty_value(
    path: tuple[str, ...], *, pointer: bool, omit_empty: bool
) -> None:
    go = deployment(*path).go
    assert go is not None
    assert (go.pointer, go.omit_empty) == (pointer, omit_empty)


def test_metadata_of_a_custom_resource_is_the_servers_own_whatever_the_crd_says() -> None:
    schema = crd_schema({"type": "object", "properties": {"metadata": {"type": "object"}}}, built_in().types)
    assert at(schema, "metadata", "ownerReferences").list_keys == ("uid",)


def test_a_custom_resource_keeps_unknown_fields_only_where_it_says_so() -> None:
    closed, open_ = widget(), widget(**{"x-kubernetes-preserve-unknown-fields": True})
    assert at(closed, "spec").child("free") is None
    assert at(open_, "spec").child("free") is ANYTHING
    assert at(open_, "spec", "free", "deeper") is ANYTHING


def test_an_embedded_resource_has_metadata_of_its_own() -> None:
    schema = widget(properties={"pod": {"type": "object", "x-kubernetes-embedded-resource": True}})
    assert at(schema, "spec", "pod", "metadata", "finalizers").list_type == "set"


def test_int_or_string_is_known_of_crds_and_of_built_in_kinds() -> None:
    schema = widget(properties={"port": {"x-kubernetes-int-or-string": True}})
    assert at(schema, "spec", "port").int_or_string
    assert deployment("spec", "strategy", "rollingUpdate", "maxSurge").int_or_string
