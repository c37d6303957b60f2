"""The table of built-in kinds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from scripts.learning import WITHOUT_ADMISSION
from scripts.make_kinds import known_kinds
from testbed.fixtures import ControlPlanes
from trimtab.kube.schemas.kinds import Kinds, built_in, descriptions


def test_every_kind_of_every_served_resource_has_a_schema() -> None:
    kinds = built_in()
    assert [
        (group.group, group.version, resource.kind)
        for group in kinds.groups
        for resource in group.resources
        if kinds.schema(group.group, group.version, resource.kind) is None
    ] == []


def test_a_deployment_is_served_as_discovery_tells_it() -> None:
    resource = built_in().resource("apps", "v1", "Deployment")
    assert resource is not None
    assert (resource.name, resource.singular, resource.short_names, resource.categories) == (
        "deployments",
        "deployment",
        ("deploy",),
        ("all",),
    )
    assert {sub.name: (sub.group, sub.kind) for sub in resource.subresources} == {
        "scale": ("autoscaling", "Scale"),
        "status": ("apps", "Deployment"),
    }


def test_the_preferred_version_of_a_group_with_two_is_known() -> None:
    versions = {group.version: group.preferred for group in built_in().groups if group.group == "autoscaling"}
    assert versions == {"v1": False, "v2": True}


def test_all_references_lead_somewhere() -> None:
    kinds = built_in()
    seen: set[str] = set()
    waiting = list(kinds.types)
    while waiting:
        model = waiting.pop()
        if model not in seen:
            seen.add(model)
            waiting += [
                below.model
                for _, field in kinds.type(model).fields()
                for below in (field, field.element, field.values)
                if below is not None and below.model
            ]
    assert seen == set(kinds.types)


@pytest.mark.timeout(300)
def test_the_data_is_what_the_server_and_its_types_say_today(
    control_planes: ControlPlanes, go_tool: Callable[[str], Path]
) -> None:
    plane = control_planes.start(apiserver_flags=WITHOUT_ADMISSION)
    kinds, told = known_kinds(plane, go_tool("kindshapes"))
    assert msgspec.convert(kinds, Kinds) == built_in()
    assert told == descriptions()


def test_descriptions_are_told_for_types_and_fields() -> None:
    told = descriptions()["io.k8s.api.apps.v1.DeploymentSpec"]
    assert told[""].startswith("DeploymentSpec is the specification")
    assert told["replicas"].startswith("Number of desired pods")
