"""Owners: read, written, ordered, joined and named as the API server does."""

from __future__ import annotations

from typing import Any

import pytest

from trimtab.kube.merging.fields import FieldSet, path
from trimtab.kube.merging.managers import (
    BadManagedFields,
    Entry,
    Owners,
    capped,
    is_reset,
    manager_name,
    owners_of,
    written,
)


def line(manager: str = "m", operation: str = "Update", **rest: Any) -> dict[str, Any]:
    known = {"manager": manager, "operation": operation, "apiVersion": "v1", "fieldsType": "FieldsV1"}
    return {**known, "fieldsV1": {"f:data": {}}, **rest}


def test_owners_are_ordered_by_operation_time_name_version_and_subresource() -> None:
    early, late = "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"
    lines = [
        line("z", "Apply"),
        line("a", "Apply", time=late),
        line("b", time=early),
        line("c", time=early, apiVersion="v0"),
        line("c", time=early),
        line("c", time=early, subresource="status"),
        line("a", time=late),
    ]
    assert written(owners_of([*reversed(lines)])) == lines


def test_parts_without_a_value_are_not_written() -> None:
    entry = Entry(manager="m", operation="Apply", api_version="v1", fields=FieldSet.of(path("data")))
    assert entry.to_json() == line(operation="Apply")


def test_times_are_kept_in_utc_and_whole_seconds() -> None:
    read = owners_of([line(time="2026-01-02T03:04:05.6+02:00")])
    assert written(read)[0]["time"] == "2026-01-02T01:04:05Z"


def test_someone_who_applies_is_the_same_in_every_version_and_the_later_line_counts() -> None:
    appliers = [line(operation="Apply"), line(operation="Apply", apiVersion="v2")]
    read = owners_of([*appliers, line(), line(apiVersion="v2")])
    versions = [(each["operation"], each["apiVersion"]) for each in written(read)]
    assert versions == [("Apply", "v2"), ("Update", "v1"), ("Update", "v2")]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"operation": "Guess"}, "operation must be `Apply` or `Update`"),
        ({"apiVersion": ""}, "apiVersion must not be empty"),
        ({"fieldsType": ""}, "missing fieldsType in managed fields entry 1"),
        ({"fieldsType": "FieldsV2"}, 'invalid fieldsType "FieldsV2" in managed fields entry 1'),
        ({"fieldsV1": {"x": {}}}, "error decoding set: key must be 2 characters long:"),
        ({"time": "yesterday"}, "not a time: yesterday"),
    ],
)
def test_a_line_that_cannot_be_read_is_refused(bad: dict[str, Any], message: str) -> None:
    with pytest.raises(BadManagedFields) as refused:
        owners_of([line(), {**line(), **bad}])
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("managed", "expected"), [([], True), ([{}], True), (None, False), ([{}, {}], False), ([line()], False)]
)
def test_a_reset_is_no_line_or_one_empty_line(managed: Any, expected: bool) -> None:  # noqa: FBT001  (a table)
    assert is_reset(managed) is expected


@pytest.mark.parametrize(
    ("entry", "spoken"),
    [
        (Entry(manager="a", operation="Apply", api_version="v1"), '"a"'),
        (Entry(manager="a", operation="Update", api_version="v1"), '"a" using v1'),
        (
            Entry(manager='a"', operation="Apply", api_version="v1", subresource="status"),
            '"a\\"" with subresource "status"',
        ),
        (
            Entry(manager="a", operation="Update", api_version="v1", subresource="scale"),
            '"a" with subresource "scale" using v1',
        ),
    ],
)
def test_owners_are_named_in_conflicts(entry: Entry, spoken: str) -> None:
    assert entry.spoken == spoken


def _updaters(count: int, versions: int = 1) -> Owners:
    return owners_of(
        [
            line(
                f"m{number:02}",
                apiVersion=f"v{number % versions}",
                time=f"2026-01-01T00:00:{number:02}Z",
                fieldsV1={f"f:{number}": {}},
            )
            for number in range(count)
        ]
    )


def test_ten_updaters_are_kept() -> None:
    assert capped(_updaters(10)) == _updaters(10)


def test_of_more_the_oldest_are_joined_with_the_time_of_the_latest_among_them() -> None:
    first = written(capped(_updaters(13)))[0]
    assert first["manager"] == "ancient-changes"
    assert first["time"] == "2026-01-01T00:00:03Z"
    assert list(first["fieldsV1"]) == ["f:0", "f:1", "f:2", "f:3"]


def test_each_api_version_has_a_joined_owner_of_its_own() -> None:
    lines = written(capped(_updaters(14, versions=2)))
    joined = [each for each in lines if each["manager"] == "ancient-changes"]
    assert [(each["apiVersion"], list(each["fieldsV1"])) for each in joined] == [
        ("v0", ["f:0", "f:2", "f:4"]),
        ("v1", ["f:1", "f:3", "f:5"]),
    ]


def test_appliers_are_never_joined() -> None:
    many = owners_of([line(f"m{number}", "Apply") for number in range(30)])
    assert capped(many) == many


@pytest.mark.parametrize(
    ("field_manager", "user_agent", "name"),
    [
        ("given", "kubectl/v1", "given"),
        ("", "kubectl/v1.36.3 (linux/amd64)", "kubectl"),
        ("", "my agent", "my agent"),
        ("", "a\tb\x00c/1", "abc"),
        ("", "", "unknown"),
        ("", "/1", "unknown"),
        ("", "x" * 200, "x" * 128),
        ("", "é" * 100, "é" * 64),
    ],
)
def test_a_manager_is_named_by_the_request_or_its_user_agent(
    field_manager: str, user_agent: str, name: str
) -> None:
    assert manager_name(field_manager, user_agent) == name
