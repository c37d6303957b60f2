"""Masks hide what may differ and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.cluster.masks import Masks, shortened

FIRST, SECOND = "0a9544eb-fb8f-488d-a94d-5a70b1aa165d", "470327e8-6fdd-4a58-9a11-dbb512ced795"


def masked(metadata: dict[str, Any], **fields: Any) -> Any:
    return Masks("case-1").object({"metadata": metadata, **fields})


def test_uids_and_versions_are_numbered_as_they_are_met() -> None:
    masks = Masks("case-1")
    seen = [
        masks.object({"metadata": {"uid": uid, "resourceVersion": version}})["metadata"]
        for uid, version in ((FIRST, "7"), (SECOND, "8"), (FIRST, "7"))
    ]
    assert seen == [
        {"uid": "<uid 1>", "resourceVersion": "<version 1>"},
        {"uid": "<uid 2>", "resourceVersion": "<version 2>"},
        {"uid": "<uid 1>", "resourceVersion": "<version 1>"},
    ]


def test_uids_are_found_in_keys_of_maps_and_in_messages() -> None:
    masks = Masks("case-1")
    masks.object({"metadata": {"uid": FIRST}})
    assert masks.object({f'k:{{"uid":"{FIRST}"}}': {}}) == {'k:{"uid":"<uid 1>"}': {}}
    assert masks.text(f"the UID is {FIRST}") == "the UID is <uid 1>"


def test_a_uid_that_the_case_made_up_stays() -> None:
    assert masked({"ownerReferences": [{"uid": "mine"}]})["metadata"]["ownerReferences"] == [{"uid": "mine"}]


def test_times_are_masked_where_times_belong() -> None:
    time = "2026-01-02T03:04:05Z"
    seen = masked({"creationTimestamp": time}, status={"lastTransitionTime": time}, data={"born": time})
    assert seen["metadata"]["creationTimestamp"] == "<time>"
    assert seen["status"]["lastTransitionTime"] == "<time>"
    assert seen["data"]["born"] == time


@pytest.mark.parametrize(
    ("field", "value", "seen"),
    [
        ("clusterIP", "10.96.12.7", "<address>"),
        ("clusterIP", "10.96.0.7", "10.96.0.7"),
        ("clusterIP", "None", "None"),
        ("nodePort", 31000, "<port>"),
        ("nodePort", 30011, 30011),
        ("port", 31000, 31000),
    ],
)
def test_only_what_was_drawn_by_lot_is_masked(field: str, value: Any, seen: Any) -> None:
    assert masked({}, spec={field: value})["spec"] == {field: seen}


def test_the_namespace_is_masked_everywhere() -> None:
    seen = masked({"namespace": "case-1", "labels": {"here": "case-1"}})
    assert seen["metadata"] == {"namespace": "<namespace>", "labels": {"here": "<namespace>"}}


def test_a_drawn_name_keeps_its_length() -> None:
    masks = Masks("case-1")
    masks.expect_drawn_name("made-")
    assert masks.object({"metadata": {"name": "made-x2f9k"}})["metadata"]["name"] == "made-?????"
    assert masks.object({"metadata": {"name": "made-x2f9"}})["metadata"]["name"] == "made-x2f9"
    assert masks.text('configmaps "made-x2f9k" already exists') == 'configmaps "made-?????" already exists'


def test_managers_are_ordered_by_name_within_their_operation() -> None:
    entries = [{"manager": "b", "operation": "Update"}, {"manager": "a", "operation": "Update"}]
    assert masked({"managedFields": entries})["metadata"]["managedFields"] == entries[::-1]


def test_versions_in_messages_are_masked_and_other_numbers_are_not() -> None:
    message = "Too large resource version: 99, current: 42"
    assert Masks("case-1").text(message) == "Too large resource version: 99, current: <version>"


def test_a_text_that_repeats_a_body_is_shortened() -> None:
    assert shortened("x" * 4000) == "x" * 4000
    assert len(shortened("x" * 4001)) < 500
