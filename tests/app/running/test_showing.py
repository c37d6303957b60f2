"""How a runner says that it is ready, how everything stands, and what is news."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from trimtab.app.running.events import (
    AnyEvent,
    ChartFound,
    CommitFound,
    ShardTaken,
    complaint_in,
    json_line,
    text_line,
    trouble_of,
)
from trimtab.app.running.figures import RunnerFigures
from trimtab.app.running.showing import ClusterStand, ShardStand, status_json, unit_json, unready, waiting_for
from trimtab.app.running.telling import Log
from trimtab.engine import Engine, GivenClusters, MemoryStore
from trimtab.engine.events import ComparisonFailed, OperationEnded, UnitForgotten, UnitRefreshed
from trimtab.engine.health import Health, HealthStatus
from trimtab.engine.operations import Operation, OperationPhase, OperationState
from trimtab.engine.rows import Verdict
from trimtab.engine.units import Condition, ConditionType, Destination, SyncUnit, UnitStatus
from trimtab.settings import EngineSettings

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
WEB = SyncUnit(
    id="shop/web",
    source={"repoURL": "https://git.example/shop.git", "spec": {"path": "live"}},
    destination=Destination(cluster="prod", namespace="shop"),
)
READY = ClusterStand(name="here", state="ready")


@pytest.mark.parametrize(
    ("stand", "missing"),
    [
        (ShardStand(shard="0 of 1", held=True, holder="me", known=True, clusters=(READY,)), ()),
        (ShardStand(shard="0 of 1", held=False, holder="another"), ()),
        (
            ShardStand(shard="0 of 1", held=False),
            ("shard 0 of 1: it is not known yet who keeps it",),
        ),
        (
            ShardStand(
                shard="0 of 1",
                held=True,
                holder="me",
                clusters=(ClusterStand(name="here", state="starting"),),
            ),
            (
                "shard 0 of 1: its units are not known yet",
                "cluster here: its live state is still being read",
            ),
        ),
        # a cluster that is known to be out of reach harms its own units alone
        (
            ShardStand(
                shard="0 of 1",
                held=True,
                holder="me",
                known=True,
                clusters=(ClusterStand(name="far", state="lost"),),
            ),
            (),
        ),
    ],
)
def test_a_runner_is_ready_when_it_is_known_who_keeps_what(
    stand: ShardStand, missing: tuple[str, ...]
) -> None:
    assert unready([stand], declared=True) == missing
    assert unready([stand], declared=False) == ("the unit files have not been read yet", *missing)


def test_a_unit_says_how_it_stands_and_what_it_waits_for() -> None:
    state = OperationState(operation=Operation(), started_at=NOW, message="waiting for health of web")
    status = UnitStatus(
        verdict=Verdict.OUT_OF_SYNC,
        health=Health(HealthStatus.PROGRESSING, "1 of 2"),
        revision="4f2c9e1",
        conditions=(Condition(type=ConditionType.SYNC, message="it failed", since=NOW),),
        operation_state=state,
        reconciled_at=NOW,
    )
    unit = msgspec.structs.replace(WEB, status=status, operation=Operation())
    assert unit_json(unit, "no answer") == {
        "unit": "shop/web",
        "cluster": "prod",
        "namespace": "shop",
        "source": "https://git.example/shop.git live",
        "declaredIn": "",
        "automated": False,
        "sync": "OutOfSync",
        "health": "Progressing",
        "revision": "4f2c9e1",
        "lookedAt": "2026-01-02T03:04:05Z",
        "waitingFor": "waiting for health of web",
        "sourceProblem": "no answer",
        "conditions": ["SyncError: it failed"],
    }
    assert waiting_for(msgspec.structs.replace(unit, operation=None)) == "1 of 2"
    asked = msgspec.structs.replace(WEB, operation=Operation())
    assert waiting_for(asked) == "its operation has just been asked for"


def test_a_status_holds_no_password_that_somebody_wrote_into_an_address() -> None:
    source = {"repoURL": "https://ann:hunter2@git.example/shop.git"}
    stand = ShardStand(shard="0 of 1", held=True, units=(msgspec.structs.replace(WEB, source=source),))
    told = status_json("me", [stand], {}, declared_in="", trouble="", refused={"web": "not YAML"})
    assert told["fileProblems"] == {"web": "not YAML"}
    assert "hunter2" not in str(told)


def test_what_the_event_loop_complains_of_is_a_line_like_any_other_without_the_words_of_the_error() -> None:
    told = complaint_in({"message": "Fatal error on SSL protocol", "exception": OSError("hunter2")}, NOW)
    line = "the event loop complains: Fatal error on SSL protocol (OSError)"
    assert text_line(told) == f"2026-01-02T03:04:05Z WARNING {line}"
    assert msgspec.json.decode(json_line(told))["event"] == "LoopComplained"
    assert complaint_in({}, NOW).reason == "an error"


def refreshed(verdict: Verdict, revision: str = "1") -> UnitRefreshed:
    return UnitRefreshed(
        at=NOW,
        unit="web",
        cluster="here",
        verdict=verdict,
        health=HealthStatus.HEALTHY,
        revision=revision,
        objects=1,
        differing=0,
        seconds=0.1,
    )


def test_a_look_that_found_nothing_new_is_no_line_of_the_log() -> None:
    lines: list[str] = []
    log = Log(lines.append, as_json=True)
    failed = ComparisonFailed(at=NOW, unit="web", reason="no answer")
    told: list[AnyEvent] = [
        *(refreshed(Verdict.SYNCED), refreshed(Verdict.SYNCED), refreshed(Verdict.SYNCED, "2")),
        *(failed, failed, UnitForgotten(at=NOW, unit="web"), refreshed(Verdict.SYNCED, "2")),
    ]
    for event in told:
        log.tell(event)
    kept = [msgspec.json.decode(line)["event"] for line in lines]
    assert kept == ["UnitRefreshed", "UnitRefreshed", "ComparisonFailed", "UnitForgotten", "UnitRefreshed"]


def test_a_line_for_people_says_when_how_grave_about_what_and_what() -> None:
    ended = OperationEnded(
        at=NOW,
        unit="web",
        cluster="here",
        phase=OperationPhase.FAILED,
        revision="1",
        dry_run=False,
        seconds=1.0,
        message="it\nfailed",
    )
    taken = ShardTaken(at=NOW, shard="0 of 1")
    assert text_line(taken) == "2026-01-02T03:04:05Z INFO    shard 0 of 1 is kept here"
    assert text_line(ended).startswith("2026-01-02T03:04:05Z WARNING web: Failed")
    assert "\n" not in text_line(ended)
    trouble = trouble_of("git.example", ["web"], "no answer", NOW)
    assert text_line(trouble) == "2026-01-02T03:04:05Z WARNING web: no answer"
    assert msgspec.json.decode(json_line(trouble))["event"] == "SourceTrouble"
    hostile = trouble_of("git.example", ["web"], "a\x1b[2J\u202eb", NOW)
    assert text_line(hostile) == "2026-01-02T03:04:05Z WARNING web: a\\x1b[2J\\u202eb"


def test_what_concerns_many_units_is_one_line_that_counts_them() -> None:
    many = [f"shop-{number}" for number in range(500)]
    told = [
        trouble_of("https://git.example/a.git", many, "git.example: no answer.", NOW),
        trouble_of("https://git.example/a.git", many, "https://git.example/a.git: no such ref", NOW),
        CommitFound(at=NOW, repository="git.example", revision="4f2c", units=1),
        ChartFound(at=NOW, chart="web", version="1.1", units=1),
        ChartFound(at=NOW, chart="web", version="1.1", units=2),
    ]
    assert [str(each) for each in told] == [
        "git.example: no answer. That concerns 500 units of https://git.example/a.git",
        "https://git.example/a.git: no such ref. That concerns 500 units",
        "git.example is at 4f2c, which concerns 1 unit",
        "chart web is at 1.1, which concerns 1 unit",
        "chart web is at 1.1, which concerns 2 units",
    ]


class Nothing:
    async def generate(self, unit: object, revision: str, *, no_cache: bool = False) -> object:
        raise NotImplementedError


def test_metrics_of_several_shards_are_one_answer_that_prometheus_reads() -> None:
    engines = {
        shard: Engine(EngineSettings(), GivenClusters(), Nothing(), MemoryStore())  # type: ignore[arg-type] # never asked
        for shard in ("0", "1")
    }
    metrics = {shard: engine.metrics() for shard, engine in engines.items()}
    for engine in engines.values():
        engine.events.publish(refreshed(Verdict.SYNCED))
    text = RunnerFigures().reading(metrics)().decode()
    assert text.count("# TYPE argocd_app_reconcile histogram") == 1
    counted = [line for line in text.splitlines() if line.startswith("argocd_app_reconcile_count")]
    assert [line.split('shard="')[1][0] for line in counted] == ["0", "1"]
    assert "_created" not in text
