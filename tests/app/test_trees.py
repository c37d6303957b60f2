"""An app as a tree: what is declared at the root, what it owns below."""

from __future__ import annotations

from trimtab.app.naming import short_name
from trimtab.app.trees import Node, grown, lines_of, node_report
from trimtab.engine.cache.trees import Branch
from trimtab.engine.health import Health, HealthStatus
from trimtab.engine.live import Live
from trimtab.engine.rows import Verdict
from trimtab.engine.units import ResourceSummary
from trimtab.resources.keys import ResourceKey

HEALTHY, BAD = Health(HealthStatus.HEALTHY), Health(HealthStatus.DEGRADED, "it broke")
CONFIG = ResourceKey("", "ConfigMap", "shop", "settings")
WEB = ResourceKey("apps", "Deployment", "shop", "web")
SET = ResourceKey("apps", "ReplicaSet", "shop", "web-1")
PODS = [ResourceKey("", "Pod", "shop", f"web-1-{letter}") for letter in "ab"]


def live(key: ResourceKey, health: Health | None = None) -> Live:
    return Live(
        key=key, api_version="v1", uid=key.name, resource_version="1", created="2026-01-01", health=health
    )


def summary(key: ResourceKey, verdict: Verdict, health: Health | None = None) -> ResourceSummary:
    return ResourceSummary(key=key, version="v1", verdict=verdict, health=health)


RESOURCES = [
    summary(CONFIG, Verdict.OUT_OF_SYNC, Health(HealthStatus.MISSING)),
    summary(WEB, Verdict.SYNCED, HEALTHY),
]
BRANCHES = [
    Branch(live(WEB, HEALTHY), None, 0),
    Branch(live(SET, HEALTHY), WEB, 1),
    Branch(live(PODS[0], HEALTHY), SET, 2),
    Branch(live(PODS[1], BAD), SET, 2),
]


def test_objects_hang_below_their_owners_and_what_is_missing_stands_alone() -> None:
    config, web = grown(RESOURCES, BRANCHES)
    assert config == Node(key=CONFIG, sync="OutOfSync", health="Missing")
    assert (web.key, web.sync, web.created) == (WEB, "Synced", "2026-01-01")
    (replicas,) = web.children
    assert (replicas.key, replicas.sync) == (SET, "")
    assert [(each.key, each.health, each.message) for each in replicas.children] == [
        (PODS[0], "Healthy", ""),
        (PODS[1], "Degraded", "it broke"),
    ]


def test_what_is_declared_and_owned_is_shown_once() -> None:
    declared = [*RESOURCES, summary(SET, Verdict.SYNCED)]
    assert [each.key for each in grown(declared, BRANCHES)] == [CONFIG, WEB]


def test_lines_know_who_is_the_last_of_its_kin() -> None:
    lines = [(each.node.key.name, each.last) for each in lines_of(grown(RESOURCES, BRANCHES))]
    assert lines == [
        ("settings", (False,)),
        ("web", (True,)),
        ("web-1", (True, True)),
        ("web-1-a", (True, True, False)),
        ("web-1-b", (True, True, True)),
    ]


def test_programs_get_the_whole_tree() -> None:
    report = node_report(grown(RESOURCES, BRANCHES)[1])
    assert (report["kind"], report["sync"], report["health"]) == ("Deployment", "Synced", "Healthy")
    assert [each["name"] for each in report["children"][0]["children"]] == ["web-1-a", "web-1-b"]


def test_kubectl_takes_the_short_name() -> None:
    assert [short_name(key) for key in (CONFIG, WEB)] == ["configmap/settings", "deployment.apps/web"]
