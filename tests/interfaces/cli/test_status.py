"""How apps stand, as rows and as values: `status`, `tree` and `history`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from trimtab.app.trees import Node
from trimtab.engine.health import Health, HealthStatus
from trimtab.engine.operations import Operation, OperationPhase, OperationState
from trimtab.engine.rows import Verdict
from trimtab.engine.units import (
    Condition,
    ConditionType,
    Deployed,
    Destination,
    Pause,
    ResourceSummary,
    SyncUnit,
    UnitStatus,
)
from trimtab.interfaces.cli.history import history_listing
from trimtab.interfaces.cli.output import shown
from trimtab.interfaces.cli.status import app_listing, apps_listing, no_apps
from trimtab.interfaces.cli.tree import tree_listing
from trimtab.resources.keys import ResourceKey
from trimtab.resources.tables import Paper

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
COMMIT = "4f2c9e1d" * 5
WEB = ResourceKey("apps", "Deployment", "shop", "web")
SHOP = SyncUnit(
    id="shop",
    source={"folder": "/shop"},
    destination=Destination(cluster="here", namespace="shop"),
    status=UnitStatus(
        verdict=Verdict.OUT_OF_SYNC,
        health=Health(HealthStatus.PROGRESSING, "1 of 3 is there"),
        revision=COMMIT,
        resources=(
            ResourceSummary(
                key=WEB,
                version="v1",
                verdict=Verdict.OUT_OF_SYNC,
                health=Health(HealthStatus.PROGRESSING, "1 of 3"),
            ),
        ),
        reconciled_at=NOON,
    ),
)
NEW = SyncUnit(id="new", source={"folder": "/new"}, destination=Destination(cluster="here"))


def test_apps_are_rows_with_short_commits_and_more_for_those_who_ask() -> None:
    narrow = shown(apps_listing((NEW, SHOP), "table"), "table", Paper()).splitlines()
    assert narrow == [
        "APP   SYNC       HEALTH       REVISION    NAMESPACE  SOURCE",
        "new   Unknown    Unknown      -           default    /new",
        "shop  OutOfSync  Progressing  4f2c9e1d4f  shop       /shop",
    ]
    wide = shown(apps_listing((SHOP,), "wide"), "wide", Paper()).splitlines()
    assert wide[1].split() == [
        *("shop", "OutOfSync", "Progressing", COMMIT, "shop", "/shop", "-", "1", "-"),
        *("2026-01-01T12:00:00Z", "1", "of", "3", "is", "there"),
    ]
    assert shown(apps_listing((NEW, SHOP), "name"), "name", Paper()) == "app/new\napp/shop"


def test_that_somebody_holds_an_app_is_for_everybody_to_see() -> None:
    held = replace(SHOP, paused=Pause(by="ann", since=NOON, reason="a migration"))
    heading, row = shown(apps_listing((held,), "table"), "table", Paper()).splitlines()
    assert heading.split()[-1] == "HELD"
    assert row.endswith(held.hold)
    assert held.hold in shown(app_listing(held, Paper()), "table", Paper())


def test_a_wide_table_of_one_app_tells_of_versions_and_of_what_a_prune_would_delete() -> None:
    key = ResourceKey("", "ConfigMap", "shop", "old")
    old = ResourceSummary(key=key, version="v1", verdict=Verdict.OUT_OF_SYNC, prune=True)
    unit = replace(SHOP, status=replace(SHOP.status, resources=(*SHOP.status.resources, old)))
    lines = shown(app_listing(unit, Paper()), "wide", Paper()).splitlines()[-len(unit.status.resources) - 1 :]
    assert lines[0].split()[-3:] == ["VERSION", "PRUNE", "MESSAGE"]
    assert lines[1].split()[6:8] == ["v1", "-"]
    assert lines[-1].split()[-3:] == ["v1", "yes", "-"]
    assert "PRUNE" not in shown(app_listing(unit, Paper()), "table", Paper())


def test_forty_columns_keep_what_matters_most() -> None:
    lines = shown(apps_listing((SHOP,), "table"), "table", Paper(width=40)).splitlines()
    assert lines == ["APP   SYNC       HEALTH       REVISION", "shop  OutOfSync  Progressing  4f2c9e1d4f"]


def test_programs_get_values_and_no_dashes() -> None:
    (told,) = apps_listing((NEW,), "json").value
    assert (told["revision"], told["operation"], told["lookedAt"], told["objectCount"]) == ("", "", "", 0)


@pytest.mark.parametrize(
    ("phase", "told"),
    [
        (OperationPhase.FAILED, "operation  Failed: the hook crashed"),
        (OperationPhase.RUNNING, "operation  Running: the hook crashed"),
        (OperationPhase.SUCCEEDED, "operation  Succeeded"),
    ],
)
def test_one_app_says_why_its_last_operation_is_not_well(phase: OperationPhase, told: str) -> None:
    ran = OperationState(operation=Operation(), started_at=NOON, phase=phase, message="the hook crashed")
    unit = replace(SHOP, status=replace(SHOP.status, operation_state=ran))
    assert told in shown(app_listing(unit, Paper()), "table", Paper()).splitlines()


def test_one_app_says_what_is_wrong_with_it_above_its_objects() -> None:
    trouble = Condition(type=ConditionType.COMPARISON, message="the chart needs a value", since=NOON)
    unit = replace(SHOP, status=replace(SHOP.status, conditions=(trouble,)))
    listing = app_listing(unit, Paper())
    lines = shown(listing, "table", Paper()).splitlines()
    assert "ComparisonError  the chart needs a value" in lines
    assert lines[-1].split() == [
        "apps",
        "Deployment",
        "shop",
        "web",
        "OutOfSync",
        "Progressing",
        "1",
        "of",
        "3",
    ]
    assert (listing.names, listing.value["resources"][0]["kind"]) == (["app/shop"], "Deployment")
    assert listing.value["conditions"][0]["type"] == "ComparisonError"


def test_a_tree_is_drawn_with_what_the_terminal_has() -> None:
    pods = [Node(key=ResourceKey("", "Pod", "shop", f"web-1-{letter}"), health="Healthy") for letter in "ab"]
    elsewhere = Node(key=ResourceKey("", "Secret", "other", "copy"))
    first = Node(key=ResourceKey("apps", "ReplicaSet", "shop", "web-1"), children=tuple(pods))
    web = Node(key=WEB, sync="Synced", health="Healthy", children=(first, elsewhere))
    drawn = {
        glyphs: [row[0] for row in tree_listing(SHOP, (web,), Paper(glyphs=glyphs)).rows]
        for glyphs in (True, False)
    }
    assert drawn[True] == [
        "Deployment.apps web",
        "├─ ReplicaSet.apps web-1",
        "│  ├─ Pod web-1-a",
        "│  └─ Pod web-1-b",
        "└─ Secret other/copy",
    ]
    assert drawn[False] == [
        "Deployment.apps web",
        "|- ReplicaSet.apps web-1",
        "|  |- Pod web-1-a",
        "|  `- Pod web-1-b",
        "`- Secret other/copy",
    ]
    listing = tree_listing(SHOP, (web,), Paper())
    assert listing.names[:3] == ["deployment.apps/web", "replicaset.apps/web-1", "pod/web-1-a"]
    assert listing.value["objects"][0]["children"][0]["children"][0]["name"] == "web-1-a"
    assert listing.title.splitlines()[:2] == ["app       shop", "sync      OutOfSync"]


def test_history_tells_when_what_was_deployed_by_whom() -> None:
    entry = Deployed(
        id=3,
        revision=COMMIT,
        source={"repoURL": "https://git.example/shop.git"},
        started_at=NOON,
        deployed_at=NOON + timedelta(seconds=90),
        asked_by="ann",
    )
    lines = shown(history_listing((entry,), "table"), "table", Paper()).splitlines()
    assert lines == [
        "ID  REVISION    DEPLOYED AT           TOOK  BY",
        "3   4f2c9e1d4f  2026-01-01T12:01:30Z  90s   ann",
    ]
    held = shown(history_listing((entry,), "table", pinned=3), "table", Paper()).splitlines()
    assert held[1] == "3   4f2c9e1d4f  2026-01-01T12:01:30Z  90s   ann  pinned"
    (told,) = history_listing((entry,), "json").value
    assert (told["id"], told["revision"], told["seconds"]) == (3, COMMIT, 90.0)
    assert told["source"] == "https://git.example/shop.git at HEAD"


@pytest.mark.parametrize(
    ("person", "tool", "words"),
    [
        ("ann@desk", "trimtab sync", "ann@desk with trimtab sync"),
        ("", "the unit's own policy", "the unit's own policy"),
        ("", "", "-"),
    ],
)
def test_history_names_the_person_where_one_asked(person: str, tool: str, words: str) -> None:
    entry = Deployed(
        id=1, revision=COMMIT, source={}, started_at=NOON, deployed_at=NOON, asked_by=tool, person=person
    )
    listing = history_listing((entry,), "table")
    assert shown(listing, "table", Paper()).splitlines()[1].endswith(f"  0s    {words}")
    assert (listing.value[0]["by"], listing.value[0]["person"]) == (tool, person)


def test_each_of_several_sources_is_told_with_the_revision_it_is_at() -> None:
    sources = [
        {"repoURL": "c", "targetRevision": "^1", "spec": {"chart": "web"}},
        {"repoURL": "v", "ref": "v"},
    ]
    unit = replace(SHOP, source={"sources": sources}, status=replace(SHOP.status, revision=f"1.2.0,{COMMIT}"))
    several = ["source 1   chart web of c at ^1: 1.2.0", f"source 2   v at HEAD, as $v: {COMMIT}"]
    listed = app_listing(unit, Paper())
    assert [each for each in listed.title.splitlines() if each.startswith("source")] == several
    assert [each["revision"] for each in listed.value["sources"]] == ["1.2.0", COMMIT]
    assert apps_listing((unit,), "table").rows[0][3] == "1.2.0,4f2c9e1d4f"
    drawn = tree_listing(unit, (), Paper()).title.splitlines()
    assert "source 1  chart web of c at ^1: 1.2.0" in drawn

    never = replace(unit, status=replace(SHOP.status, revision=""))
    assert "source 2   v at HEAD, as $v" in app_listing(never, Paper()).title.splitlines()


def test_where_there_is_nothing_to_show_it_says_where_there_is() -> None:
    assert no_apps("", ()) == "No apps yet. Make one with: trimtab sync SOURCE"
    space = SHOP.destination.namespace
    assert no_apps("elsewhere", (SHOP, SHOP)) == f"No apps in elsewhere; there are some in {space}"
