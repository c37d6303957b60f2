"""Every real controller is played by one of our behaviours, or the documentation says that it is not."""

from __future__ import annotations

import re
import subprocess

import pytest

from testbed.fixtures import Parts
from tests.contract.behaviours.casting import CONTROLLERS, OTHERS
from trimtab.apiserver.behaviours.registry import every_behaviour


def test_every_part_is_played_by_behaviours_that_exist_or_left_out_for_a_reason() -> None:
    assert [name for name, part in CONTROLLERS.items() if bool(part.played_by) == bool(part.left_out)] == []
    players = {title for part in CONTROLLERS.values() for title in part.played_by}
    assert {*players, *OTHERS} == {each.title for each in every_behaviour()}


@pytest.mark.real
def test_the_parts_are_those_of_the_real_controller_manager(parts: Parts) -> None:
    programme = parts.program("kube-controller-manager")
    said = subprocess.run([programme, "--help"], check=True, capture_output=True, text=True).stdout
    named = re.search(r"All controllers: (.*)", said)
    assert named is not None
    assert set(CONTROLLERS) == set(named[1].split(", "))
