"""Events: a line of JSON and a sentence each, told in order, to everybody who listens."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import get_args

import msgspec
import pytest

from trimtab.engine.events import (
    ClusterLost,
    ComparisonFailed,
    Event,
    Events,
    HooksReleased,
    OperationEnded,
    Severity,
    StepDone,
    UnitRefreshed,
    json_line,
    severity_of,
)
from trimtab.engine.health import HealthStatus
from trimtab.engine.operations import OperationPhase, StepStatus, SyncPhase
from trimtab.engine.rows import Verdict
from trimtab.resources.keys import ResourceKey

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
FAILED = ComparisonFailed(at=NOW, unit="web", reason="chart 'web' needs a tag")
STEP = StepDone(
    at=NOW,
    unit="web",
    key=ResourceKey("apps", "Deployment", "shop", "web"),
    phase=SyncPhase.SYNC,
    status=StepStatus.SYNC_FAILED,
    hook=False,
    message="no room",
)
ENDED = OperationEnded(
    at=NOW,
    unit="web",
    cluster="prod",
    phase=OperationPhase.SUCCEEDED,
    revision="4f2c9e1",
    dry_run=False,
    seconds=1.25,
    message="all is well",
)
REFRESHED = UnitRefreshed(
    at=NOW,
    unit="web",
    cluster="prod",
    verdict=Verdict.SYNCED,
    health=HealthStatus.HEALTHY,
    revision="4f2c9e1",
    objects=3,
    differing=0,
    seconds=0.01,
)
RELEASED = HooksReleased(
    at=NOW,
    unit="web",
    cluster="prod",
    hooks=("Job.batch shop/migrate",),
    problems=("Job.batch shop/warm: no rights",),
)
LOST = ClusterLost(at=NOW, cluster="prod", reason="no answer.", retry_in=2.4)


@pytest.mark.parametrize("event", [FAILED, STEP, ENDED, REFRESHED, LOST])
def test_a_line_of_the_log_says_which_event_it_is_and_is_read_back(event: Event) -> None:
    line = json_line(event)
    assert line.endswith(b"}\n")
    assert b"\n" not in line[:-1]
    assert msgspec.json.decode(line)["event"] == type(event).__name__
    assert msgspec.json.decode(line, type=Event) == event


@pytest.mark.parametrize(
    ("event", "sentence", "severity"),
    [
        (FAILED, "chart 'web' needs a tag", Severity.WARNING),
        (STEP, "Deployment.apps shop/web SyncFailed: no room", Severity.WARNING),
        (ENDED, "Succeeded after 1.2 s: all is well", Severity.NORMAL),
        (REFRESHED, "Synced and Healthy at 4f2c9e1, 0 objects differ", Severity.NORMAL),
        (
            RELEASED,
            "Job.batch shop/migrate let go of; Job.batch shop/warm: no rights",
            Severity.WARNING,
        ),
        (LOST, "no answer. Next try in 2 s.", Severity.WARNING),
    ],
)
def test_an_event_is_a_sentence_and_says_whether_to_look(
    event: Event, sentence: str, severity: Severity
) -> None:
    assert (str(event), severity_of(event)) == (sentence, severity)


def test_a_step_that_says_no_more_than_its_status_says_it_once() -> None:
    pruned = msgspec.structs.replace(STEP, status=StepStatus.PRUNED, message="pruned")
    assert str(pruned) == "Deployment.apps shop/web Pruned"


def test_every_event_is_named_in_its_json_as_in_the_code() -> None:
    kinds = get_args(Event)
    assert len(kinds) == 20
    assert [kind.__struct_config__.tag for kind in kinds] == [kind.__name__ for kind in kinds]


def test_everybody_is_told_in_order_until_he_unsubscribes() -> None:
    events, one, two = Events(), list[Event](), list[Event]()
    assert not events
    leave = events.subscribe(one.append)
    events.subscribe(two.append)
    events.publish(FAILED)
    leave()
    leave()
    events.publish(LOST)
    assert (one, two) == ([FAILED], [FAILED, LOST])


def test_a_listener_that_fails_harms_nobody_else(caplog: pytest.LogCaptureFixture) -> None:
    events, heard = Events(), list[Event]()

    def fail(event: Event) -> None:
        raise RuntimeError("mine")

    events.subscribe(fail)
    events.subscribe(heard.append)
    with caplog.at_level(logging.ERROR):
        events.publish(FAILED)
    assert heard == [FAILED]
    assert "a listener failed on ComparisonFailed" in caplog.text
