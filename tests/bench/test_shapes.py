"""The objects of the benchmarks."""

from __future__ import annotations

import json

from bench.shapes import config_map, pod, pod_status


def test_a_config_map_has_about_two_kilobytes() -> None:
    assert 2_000 <= len(json.dumps(config_map(1), separators=(",", ":"))) <= 2_200


def test_the_same_number_gives_the_same_object() -> None:
    assert config_map(5) == config_map(5)
    assert config_map(5) != config_map(6)


def test_another_state_changes_one_key_and_nothing_else() -> None:
    before, after = config_map(5, state=1), config_map(5, state=2)
    changed = {key for key in before["data"] if before["data"][key] != after["data"][key]}
    assert (changed, before["metadata"]) == ({"state"}, after["metadata"])


def test_pods_have_names_and_addresses_of_their_own() -> None:
    numbers = range(0, 20_000, 997)
    assert len({pod(number)["metadata"]["name"] for number in numbers}) == len(numbers)
    assert len({pod_status(number)["status"]["podIP"] for number in numbers}) == len(numbers)
