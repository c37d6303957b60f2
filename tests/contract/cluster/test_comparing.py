"""Differences are told one by one, with the way to each."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.cluster.comparing import differences


@pytest.mark.parametrize(
    ("seen", "expected", "told"),
    [
        ([{"call": "x", "a": 1}], [{"call": "x", "a": 1}], []),
        ([{"call": "x", "a": 1}], [{"call": "x", "a": 2}], ["[0 x].a: 1, expected 2"]),
        ([{"call": "x"}], [{"call": "x", "a": 2}], ["[0 x].a: '<nothing>', expected 2"]),
        ([{"call": "x", "a": [1]}], [{"call": "x", "a": []}], ["[0 x].a[0]: 1, expected '<nothing>'"]),
        ([], [{"call": "x"}], ["[0 x]: '<nothing>', expected {'call': 'x'}"]),
        ([{"call": "x", "a": 1}], [{"call": "x", "a": True}], ["[0 x].a: 1, expected True"]),
        ([{"call": "x", "a": 1}], [{"call": "x", "a": 1.0}], ["[0 x].a: 1, expected 1.0"]),
    ],
)
def test_differences_are_told_with_their_paths(seen: Any, expected: Any, told: list[str]) -> None:
    assert differences(seen, expected) == told
