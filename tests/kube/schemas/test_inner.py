"""What the server holds inside: its own types in messages, blank objects, old versions that it reads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from scripts.make_inner import known_inside
from trimtab.kube.schemas.inner import blank, difference, inner, is_readable
from trimtab.kube.schemas.kinds import unpacked

if TYPE_CHECKING:
    from testbed.fixtures import ControlPlanes

CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


def test_a_value_has_every_field_of_its_type_in_order() -> None:
    held = inner(CLAIM, "PersistentVolumeClaimSpec")
    assert list(held)[:3] == ["AccessModes", "Selector", "Resources"]
    assert held["Resources"] == {"Limits": None, "Requests": {"storage": "1Gi"}}
    assert held["VolumeName"] == ""


def test_what_stands_beside_the_security_context_is_held_in_it() -> None:
    context = inner({"hostNetwork": True, "securityContext": {"runAsUser": 7}}, "PodSpec")["SecurityContext"]
    assert (context["HostNetwork"], context["HostPID"], context["RunAsUser"]) == (True, False, 7)
    assert inner({}, "PodSpec")["SecurityContext"]["HostNetwork"] is False


def test_metadata_of_a_template_stand_among_its_fields_if_there_are_any() -> None:
    assert list(inner({}, "PodTemplateSpec")) == ["Spec"]
    labelled = inner({"metadata": {"labels": {"a": "b"}}}, "PodTemplateSpec")
    assert list(labelled) == ["labels", "Spec"]


def test_a_difference_shows_three_lines_around_what_changed() -> None:
    changed = {**CLAIM, "accessModes": ["ReadOnlyMany"]}
    assert difference(CLAIM, changed, "PersistentVolumeClaimSpec") == (
        '@@ -1,6 +1,6 @@\n {\n  "AccessModes": [\n-  "ReadWriteOnce"\n+  "ReadOnlyMany"\n  ],\n'
        '  "Selector": null,\n  "Resources": {\n'
    )
    assert difference(CLAIM, CLAIM, "PersistentVolumeClaimSpec") == ""


def test_versions_of_old_can_be_read_and_unknown_ones_cannot() -> None:
    assert is_readable("apps/v1beta1", "Deployment")
    assert not is_readable("apps/v1beta1", "ConfigMap")
    assert not is_readable("apps/v7", "Deployment")


def test_a_blank_deployment_wants_no_replicas() -> None:
    assert blank("io.k8s.api.apps.v1.Deployment")["spec"]["replicas"] == 0
    assert blank("io.k8s.api.core.v1.ConfigMap") == {}


@pytest.mark.timeout(300)
def test_the_data_is_what_the_server_and_its_types_say_today(
    control_planes: ControlPlanes, go_tool: Callable[[str], Path]
) -> None:
    found = known_inside(control_planes.start(), go_tool("innershapes"))
    assert found == msgspec.json.decode(unpacked("inner.json.z"))
