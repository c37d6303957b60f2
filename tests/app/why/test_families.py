"""What belongs to what, and what was said of it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from trimtab.app.why.facts import Said
from trimtab.app.why.families import family_of, said_in
from trimtab.kube.objects import KubeObject, object_from


def made(kind: str, name: str, *owners: str, **more: Any) -> KubeObject:
    """An object whose uid is its name."""
    references = [{"apiVersion": "v1", "kind": "X", "name": owner, "uid": owner} for owner in owners]
    metadata = {"name": name, "namespace": "shop", "uid": name, "ownerReferences": references}
    return object_from(msgspec.json.encode({"apiVersion": "v1", "kind": kind, "metadata": metadata, **more}))


def event(uid: str, **more: Any) -> KubeObject:
    about = {"involvedObject": {"uid": uid}, "reason": "FailedMount", "message": "no", "type": "Warning"}
    return made("Event", f"{uid}.1", **{**about, **more})


def test_a_family_is_found_in_whatever_order_it_is_read() -> None:
    others = [made("Pod", "pod", "set"), made("Pod", "stranger", "other"), made("Set", "set", "root")]
    for order in (others, list(reversed(others))):
        family = family_of([made("Root", "root")], order, [event("pod"), event("stranger")])
        parents = {key.name: seen.parent.name if seen.parent else "" for key, seen in family.seen.items()}
        assert parents == {"root": "", "set": "root", "pod": "set"}
        assert [said.uid for said in family.events] == ["pod"]


def test_objects_that_own_each_other_are_read_once() -> None:
    family = family_of([made("Root", "a", "b")], [made("Root", "a", "b"), made("Set", "b", "a")], [])
    assert [key.name for key in family.seen] == ["a", "b"]


@pytest.mark.parametrize(
    ("times", "first", "last"),
    [
        ({"firstTimestamp": "2026-01-01T12:00:00Z", "lastTimestamp": "2026-01-01T12:05:00Z"}, 0, 5),
        ({"eventTime": "2026-01-01T12:02:00.000000Z", "firstTimestamp": None}, 2, 2),
        (
            {
                "eventTime": "2026-01-01T12:02:00Z",
                "series": {"count": 3, "lastObservedTime": "2026-01-01T12:09:00Z"},
            },
            2,
            9,
        ),
        ({"lastTimestamp": "soon"}, None, None),
        ({}, None, None),
    ],
)
def test_an_event_tells_when_it_was_first_and_last_so(
    times: dict[str, Any], first: int | None, last: int | None
) -> None:
    def at(minute: int | None) -> datetime | None:
        return None if minute is None else datetime(2026, 1, 1, 12, minute, tzinfo=UTC)

    said = Said(
        uid="pod", reason="FailedMount", message="no", is_warning=True, first=at(first), last=at(last)
    )
    assert said_in(event("pod", **times)) == said


def test_an_event_that_cannot_be_read_says_nothing() -> None:
    assert said_in(event("pod", reason=["no", "text"])) is None
