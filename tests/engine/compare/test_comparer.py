"""Comparing a unit with a cluster: what is found, what is asked, what is remembered."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.engine.compare.world import OURS, STAND_INS, UNIT, World
from tests.kube.world import config_map, connect_to, deployment
from trimtab.apiserver import MemoryCluster
from trimtab.engine.compare.ignoring import IgnoreRule, Rules
from trimtab.engine.compare.judging import Lens
from trimtab.engine.compare.matching import Role
from trimtab.engine.compare.tracking import INSTANCE, ArgoTracking, Method
from trimtab.engine.marks import Mark
from trimtab.engine.rows import Difference, Verdict, verdict_of
from trimtab.kube.cluster import PatchType, Write
from trimtab.resources.keys import ResourceKey
from trimtab.resources.manifests import Manifest
from trimtab.tasks.clock import ManualClock

CLUSTERS = ("memory", pytest.param("real", marks=pytest.mark.real))
SYNCED, OUT, UNKNOWN = Verdict.SYNCED, Verdict.OUT_OF_SYNC, Verdict.UNKNOWN


@pytest.fixture(params=CLUSTERS)
async def world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    """A unit in a cluster in memory, and in a namespace of a real one."""
    if request.param == "memory":
        cluster = MemoryCluster(clock=ManualClock(datetime(2026, 1, 1, tzinfo=UTC)))
        yield World(cluster, await cluster.discover())
        return
    plane, namespace = request.getfixturevalue("control_plane"), request.getfixturevalue("namespace")
    async with connect_to(plane) as connected:
        yield World(connected, await connected.discover(), namespace=namespace)


async def changed(world: World, manifest: Manifest, patch: Any, manager: str = "kubectl-edit") -> None:
    """Have somebody change an object."""
    await world.cluster.patch(
        world.resource(manifest),
        manifest["metadata"]["name"],
        patch,
        how=PatchType.MERGE,
        namespace=world.namespace,
        write=Write(manager=manager),
    )


@pytest.mark.fact("D1")
async def test_what_was_applied_is_synced_and_no_question_is_asked(world: World) -> None:
    wanted = world.wanted(config_map("a", x="1"), deployment("web"))
    await world.apply(wanted)
    rows = await world.rows(wanted)
    assert {name: row.verdict for name, row in rows.items()} == {
        "ConfigMap a": SYNCED,
        "Deployment web": SYNCED,
    }
    assert world.counting.asked == []


@pytest.mark.fact("D1")
async def test_what_is_missing_is_out_of_sync_without_a_question(world: World) -> None:
    found = await world.compare(world.wanted(config_map("a", x="1")))
    (row,) = found.rows
    assert (row.verdict, row.live, verdict_of(found.rows)) == (OUT, None, OUT)
    assert world.counting.asked == []


async def test_what_cannot_be_written_and_is_not_there_is_out_of_sync_and_says_why(world: World) -> None:
    found = await world.compare(world.wanted(config_map("a", x="1" * 500), config_map("b"), largest=400))
    rows = {row.key.name: row for row in found.rows}
    too_large = rows["a"]
    assert (too_large.verdict, too_large.desired, too_large.live) == (OUT, None, None)
    assert re.fullmatch(r"it has \d+ bytes and may have 400\. Split it, .*", too_large.problem)
    assert (rows["b"].verdict, rows["b"].problem) == (OUT, "")


async def test_what_cannot_be_written_and_is_there_without_our_mark_is_never_ours_to_prune(
    world: World,
) -> None:
    await world.apply_as("kubectl", config_map("a", x="1"))
    found = await world.compare(world.wanted(config_map("a", x="1" * 500), largest=400))
    (row,) = found.rows
    assert (row.verdict, row.ours) == (UNKNOWN, False)


async def test_a_difference_is_confirmed_by_one_dry_run_and_explains_itself(world: World) -> None:
    wanted = world.wanted(config_map("a", x="1", y="2"))
    await world.apply(wanted)
    await changed(world, config_map("a"), {"data": {"x": "drifted"}})
    row = (await world.rows(wanted))["ConfigMap a"]
    assert row.verdict is OUT
    assert row.differences == (
        Difference(path="/data/x", desired="1", live="drifted", manager="kubectl-edit", rule="server"),
    )
    assert str(row.differences[0]) == "/data/x: 'drifted' instead of '1' (server, set by kubectl-edit)"
    assert world.counting.asked == ["dry-run ConfigMap a"]


@pytest.mark.fact("D43")
async def test_an_unchanged_pair_is_not_compared_again(world: World) -> None:
    wanted = world.wanted(config_map("a", x="1"))
    await world.apply(wanted)
    await changed(world, config_map("a"), {"data": {"x": "drifted"}})
    first = await world.rows(wanted)
    again = await world.rows(wanted)
    assert world.counting.asked == ["dry-run ConfigMap a"]
    assert again == first


async def test_a_unit_may_be_compared_with_two_revisions_at_once(world: World) -> None:
    both, one = world.wanted(config_map("a", x="1"), config_map("b")), world.wanted(config_map("a", x="2"))
    await world.apply(world.wanted(config_map("a", x="0")))
    async with asyncio.TaskGroup() as group:
        first = group.create_task(world.compare(both))
        second = group.create_task(world.compare(one))
    assert [row.key.name for row in first.result().rows] == ["a", "b"]
    assert [row.key.name for row in second.result().rows] == ["a"]


async def test_what_is_given_up_is_a_difference_and_what_others_added_is_none(world: World) -> None:
    await world.apply(world.wanted(config_map("a", x="1", old="2")))
    await changed(world, config_map("a"), {"data": {"added": "3"}})
    row = (await world.rows(world.wanted(config_map("a", x="1"))))["ConfigMap a"]
    assert [(each.path, each.desired, each.live, each.manager) for each in row.differences] == [
        ("/data/old", None, "2", "trimtab")
    ]


@pytest.mark.fact("D42")
async def test_each_of_what_an_answer_depends_on_makes_it_be_asked_for_again(world: World) -> None:
    first = config_map("a", x="1")
    wanted = world.wanted(first)
    await world.apply(wanted)
    await changed(world, first, {"data": {"x": "drifted"}})
    rule = IgnoreRule(group="", kind="ConfigMap", json_pointers=("/data/y",))
    await world.rows(wanted)
    await world.rows(wanted, Rules([rule]))
    await world.rows(world.wanted(config_map("a", x="2")), Rules([rule]))
    await changed(world, first, {"data": {"x": "again"}})
    await world.rows(world.wanted(config_map("a", x="2")), Rules([rule]))
    assert world.counting.asked == ["dry-run ConfigMap a"] * 4
    await world.rows(world.wanted(config_map("a", x="2"), config_map("b", x="1")), Rules([rule]))
    assert world.counting.asked == ["dry-run ConfigMap a"] * 4, "what else the unit wants does not matter"


@pytest.mark.parametrize("world", ["memory"], indirect=True)  # elsewhere controllers write more than status
async def test_status_traffic_causes_no_comparison(world: World) -> None:
    wanted = world.wanted(deployment("web"))
    await world.apply(wanted)
    await changed(world, deployment("web"), {"spec": {"replicas": 3}})
    await world.rows(wanted)
    for generation in range(3):
        await world.cluster.patch(
            world.resource(deployment("web")),
            "web",
            {"status": {"replicas": 3, "observedGeneration": generation}},
            how=PatchType.MERGE,
            namespace=world.namespace,
            subresource="status",
            write=Write(manager="kube-controller-manager"),
        )
        assert (await world.rows(wanted))["Deployment web"].verdict is OUT
    assert world.counting.asked == ["dry-run Deployment web"]


async def test_an_object_that_is_not_wanted_any_more_is_to_be_pruned(world: World) -> None:
    await world.apply(world.wanted(config_map("a", x="1"), config_map("b", x="1")))
    rows = await world.rows(world.wanted(config_map("a", x="1")))
    gone = rows["ConfigMap b"]
    assert (gone.desired, gone.verdict, gone.ours, rows["ConfigMap a"].verdict) == (None, OUT, True, SYNCED)


async def test_a_copy_that_carries_our_mark_is_not_ours_and_taints_nothing(world: World) -> None:
    wanted = world.wanted(config_map("a", x="1"))
    await world.apply(wanted)
    copy = OURS.marked(config_map("copy", x="1"), UNIT)
    await world.apply_as("mirror", copy)
    found = await world.compare(wanted)
    rows = {row.key.name: row for row in found.rows}
    assert (rows["copy"].ours, rows["copy"].verdict) == (False, SYNCED)
    assert verdict_of(found.rows) is SYNCED


async def test_a_live_hook_is_no_row(world: World) -> None:
    def role_of(manifest: Manifest) -> Role:
        return Role.HOOK if manifest["metadata"]["name"] == "hook" else Role.RESOURCE

    hooked = world.anew(role_of=role_of)
    await hooked.apply(hooked.wanted(config_map("hook", x="1")))
    hooked.resource(config_map("hook"))
    assert (await hooked.compare(hooked.wanted())).rows == ()


@pytest.mark.fact("A31")
async def test_an_extra_object_may_say_that_it_does_no_harm(world: World) -> None:
    extra = config_map("extra", x="1")
    extra["metadata"]["annotations"] = {"argocd.argoproj.io/compare-options": "Other, IgnoreExtraneous"}
    await world.apply(world.wanted(extra))
    found = await world.compare(world.wanted())
    assert [(row.verdict, row.taints) for row in found.rows] == [(OUT, False)]
    assert verdict_of(found.rows) is SYNCED


async def test_somebody_elses_object_is_found_with_its_mark(world: World) -> None:
    theirs = config_map("a", x="1")
    theirs["metadata"]["annotations"] = {
        "meta.helm.sh/release-name": "web",
        "meta.helm.sh/release-namespace": "shop",
    }
    await world.apply_as("helm", theirs)
    row = (await world.rows(world.wanted(config_map("a", x="1"))))["ConfigMap a"]
    assert (row.verdict, row.claimed_by) == (OUT, Mark("helm", "shop/web"))


async def test_two_units_that_want_one_object_are_found_before_and_after_it_exists(world: World) -> None:
    first = world.wanted(config_map("a", x="1"), unit="first")
    second = world.wanted(config_map("a", x="2"), config_map("b", x="1"), unit="second")
    assert (await world.rows(first))["ConfigMap a"].claimed_by is None
    rows = await world.rows(second)
    assert rows["ConfigMap a"].claimed_by == OURS.mark_for("first")
    assert rows["ConfigMap b"].claimed_by is None
    await world.apply(first)
    assert (await world.rows(second))["ConfigMap a"].claimed_by == OURS.mark_for("first")
    assert (await world.rows(first))["ConfigMap a"].claimed_by is None
    world.comparer.forget("first")
    await world.cluster.delete(world.resource(config_map("a")), "a", namespace=world.namespace)
    assert (await world.rows(second))["ConfigMap a"].claimed_by is None


@pytest.mark.fact("D25")
async def test_what_admission_would_change_is_asked_for_only_by_choice(world: World) -> None:
    curious = world.anew(lens=Lens(manager="trimtab", stand_ins=STAND_INS, with_admission=True))
    wanted = curious.wanted(config_map("a", x="1"))
    await curious.apply(wanted)
    for _ in range(2):
        assert (await curious.rows(wanted))["ConfigMap a"].verdict is SYNCED
    assert curious.counting.asked == ["dry-run ConfigMap a"]


async def test_who_wanted_an_object_first_stays_first_when_it_wants_it_otherwise(world: World) -> None:
    first = world.wanted(config_map("a", x="1"), unit="first")
    second = world.wanted(config_map("a", x="2"), unit="second")
    for wanted in (first, second):
        await world.rows(wanted)
    again = world.wanted(config_map("a", x="3"), config_map("b", x="3"), unit="first")
    assert (await world.rows(again))["ConfigMap a"].claimed_by is None
    assert (await world.rows(second))["ConfigMap a"].claimed_by == OURS.mark_for("first")
    await world.rows(world.wanted(config_map("b", x="3"), unit="first"))
    assert (await world.rows(second))["ConfigMap a"].claimed_by is None


async def test_an_object_that_carries_no_mark_is_read_once_per_version_of_it(world: World) -> None:
    await world.apply_as("somebody", config_map("a", x="1"))
    wanted = world.wanted(config_map("a", x="1"))
    for _ in range(2):
        row = (await world.rows(wanted))["ConfigMap a"]
        assert [each.path for each in row.differences] == ["/metadata/annotations"]
    assert world.counting.asked == ["get ConfigMap a", "dry-run ConfigMap a"]


async def test_a_kind_that_is_not_watched_is_asked_for(world: World) -> None:
    world.view.unknown_kinds = {"Service"}
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web"},
        "spec": {"ports": [{"port": 80}], "selector": {"app": "web"}},
    }
    wanted = world.wanted(service)
    (row,) = (await world.comparer.compare(wanted)).rows
    assert (row.verdict, row.live, row.problem) == (OUT, None, "")
    await world.apply(wanted)
    (row,) = (await world.comparer.compare(wanted)).rows
    assert row.live is not None
    assert (row.verdict, row.live.key.name, row.live.mark) == (SYNCED, "web", OURS.mark_for(UNIT))


async def test_a_refusal_of_the_server_is_told_on_the_row_and_the_others_go_on(world: World) -> None:
    wanted = world.wanted(deployment("web"), config_map("a", x="1"))
    await world.apply(wanted)
    other = deployment("web")
    other["spec"]["selector"] = {"matchLabels": {"app": "other"}}
    other["spec"]["template"]["metadata"]["labels"] = {"app": "other"}
    rows = await world.rows(world.wanted(other, config_map("a", x="2")))
    refused = rows["Deployment web"]
    assert (refused.verdict, refused.problem) == (OUT, ""), "replacing it may do"
    assert "field is immutable" in refused.refusal
    assert "/spec/selector" in [each.path for each in refused.differences]
    assert (rows["ConfigMap a"].verdict, rows["ConfigMap a"].refusal) == (OUT, "")


async def test_what_a_silent_server_would_have_told_is_unknown_until_it_speaks(world: World) -> None:
    wanted = world.wanted(config_map("a", x="1"), config_map("b", x="1"))
    await world.apply(wanted)
    await changed(world, config_map("a"), {"data": {"x": "drifted"}})
    world.counting.is_down = True
    rows = await world.rows(wanted)
    assert (rows["ConfigMap a"].verdict, rows["ConfigMap b"].verdict) == (UNKNOWN, SYNCED)
    assert rows["ConfigMap a"].problem == "the cluster: it does not answer."
    world.counting.is_down = False
    assert (await world.rows(wanted))["ConfigMap a"].verdict is OUT


@pytest.mark.parametrize("world", ["memory"], indirect=True)
async def test_questions_are_asked_side_by_side_within_bounds_and_others_get_their_turn(world: World) -> None:
    names = [f"c{number}" for number in range(60)]
    await world.apply(world.wanted(*(config_map(name, x="1") for name in names)))
    changed_ones = world.wanted(*(config_map(name, x="2") for name in names))
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    async with asyncio.TaskGroup() as group:
        ticking = group.create_task(others())
        rows = await world.rows(changed_ones)
        ticking.cancel()
    assert {row.verdict for row in rows.values()} == {OUT}
    assert world.counting.most_at_once == 8
    assert turns > 10


async def test_a_badly_declared_object_is_kept_and_told(world: World) -> None:
    await world.apply(world.wanted(config_map("a", x="1")))
    bad = config_map("a", x="1")
    bad["metadata"]["labels"] = {"n": 1}
    found = await world.compare(world.wanted(bad))
    (row,) = found.rows
    assert (row.desired, row.verdict) == (None, UNKNOWN)
    assert (
        row.problem == "manifest 1: metadata.labels['n'] is a number, not text. Write it as text, in quotes."
    )
    assert verdict_of(found.rows) is UNKNOWN


@pytest.mark.fact("D6")
async def test_a_field_that_the_kind_does_not_know_is_told(world: World) -> None:
    wanted = world.wanted(deployment("web"))
    await world.apply(wanted)
    odd = deployment("web")
    odd["spec"]["replica"] = 3
    row = (await world.rows(world.wanted(odd)))["Deployment web"]
    assert row.verdict is OUT
    assert [(each.path, each.rule) for each in row.differences] == [("/spec/replica", "absent")]
    assert ".spec.replica: field not declared in schema" in row.refusal


@pytest.mark.fact("D30")
async def test_an_ignored_field_appears_on_neither_side_of_what_differs(world: World) -> None:
    wanted = world.wanted(config_map("a", x="1", y="1"))
    await world.apply(wanted)
    await changed(world, config_map("a"), {"data": None})
    rules = Rules([IgnoreRule(group="", kind="ConfigMap", json_pointers=("/data/x",))])
    row = (await world.rows(wanted, rules))["ConfigMap a"]
    assert [(each.path, each.desired) for each in row.differences] == [("/data", {"y": "1"})]


@pytest.mark.fact("M13")
@pytest.mark.parametrize("method", list(Method))
async def test_an_object_that_went_to_another_unit_stays_a_difference(world: World, method: Method) -> None:
    argo = world.anew(tracking=ArgoTracking(method=method))
    charted = config_map("a", labels={INSTANCE: "release"}, x="1")
    await argo.apply(argo.wanted(charted, unit="other"))
    row = (await argo.rows(argo.wanted(charted, unit=UNIT)))["ConfigMap a"]
    assert (row.verdict, row.claimed_by) == (OUT, Mark("argocd", "other"))
    paths = {each.path for each in row.differences}
    assert paths & {
        "/metadata/annotations/argocd.argoproj.io~1tracking-id",
        "/metadata/labels/app.kubernetes.io~1instance",
    }


async def test_what_is_remembered_of_an_object_says_nothing_of_its_copy(world: World) -> None:
    argo = world.anew(tracking=ArgoTracking())
    (original,) = argo.wanted(config_map("b", x="1")).desired
    metadata = original.manifest["metadata"]
    for name in ("a", "b", "c"):
        copy = {**original.manifest, "metadata": {**metadata, "name": name}}
        await argo.apply_as("somebody", copy)
    ours = {"ConfigMap a": False, "ConfigMap b": True, "ConfigMap c": False}
    for _ in range(2):
        rows = await argo.rows(argo.wanted())
        assert {name: row.ours for name, row in rows.items()} == ours


@pytest.mark.fact("M12")
async def test_an_object_tracked_by_an_older_label_is_synced(world: World) -> None:
    old = world.anew(tracking=ArgoTracking(method=Method.LABEL))
    await old.apply(old.wanted(config_map("a", x="1")))
    new = world.anew(tracking=ArgoTracking())
    row = (await new.rows(new.wanted(config_map("a", x="1"))))["ConfigMap a"]
    assert row.verdict is SYNCED


async def test_an_ignored_field_is_no_difference_and_another_rule_is_another_comparison(world: World) -> None:
    wanted = world.wanted(deployment("web"))
    await world.apply(wanted)
    await changed(world, deployment("web"), {"spec": {"replicas": 5}})
    rules = Rules([IgnoreRule(group="apps", kind="Deployment", json_pointers=("/spec/replicas",))])
    assert (await world.rows(wanted, rules))["Deployment web"].verdict is SYNCED
    assert (await world.rows(wanted))["Deployment web"].verdict is OUT
    assert (await world.rows(wanted, rules))["Deployment web"].verdict is SYNCED


async def test_what_an_accepted_manager_changed_is_no_difference(world: World) -> None:
    wanted = world.wanted(deployment("web"))
    await world.apply(wanted)
    await changed(world, deployment("web"), {"spec": {"replicas": 5}}, "kube-controller-manager")
    accepted = IgnoreRule(group="apps", kind="*", managed_fields_managers=("kube-controller-manager",))
    assert (await world.rows(wanted, Rules([accepted])))["Deployment web"].verdict is SYNCED
    other = IgnoreRule(group="apps", kind="*", managed_fields_managers=("somebody",))
    assert (await world.rows(wanted, Rules([other])))["Deployment web"].verdict is OUT


async def test_an_unreadable_rule_is_reported_and_only_what_it_is_about_is_not_judged(world: World) -> None:
    wanted = world.wanted(deployment("web"), config_map("a", x="1"))
    await world.apply(wanted)
    rules = Rules([IgnoreRule(group="apps", kind="Deployment", json_pointers=("spec/replicas",))])
    found = await world.compare(wanted, rules)
    rows = {row.key.kind: row for row in found.rows}
    told = "ignore rule 'spec/replicas': a JSON pointer begins with / and names a field"
    assert found.problems == (told,)
    assert (rows["Deployment"].verdict, rows["Deployment"].problem) == (UNKNOWN, told)
    assert rows["ConfigMap"].verdict is SYNCED


async def test_an_object_of_another_version_is_read_in_the_wanted_one(world: World) -> None:
    scaler = {
        "apiVersion": "autoscaling/v1",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web"},
        "spec": {
            "maxReplicas": 3,
            "scaleTargetRef": {"kind": "Deployment", "name": "web", "apiVersion": "apps/v1"},
        },
    }
    wanted = world.wanted(scaler)
    await world.apply(wanted)
    newest = world.discovery.preferred("autoscaling", "HorizontalPodAutoscaler")
    assert newest is not None
    assert newest.version == "v2"
    for _ in range(2):
        await world.view.look(world.cluster, [newest], world.namespace)
        (row,) = (await world.comparer.compare(wanted)).rows
        assert row.verdict is SYNCED
    assert world.counting.asked == ["get HorizontalPodAutoscaler web"]


@pytest.mark.fact("M1")
async def test_an_object_of_unknown_scope_is_found_without_a_namespace(world: World) -> None:
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": world.namespace},
    }
    await world.apply(world.wanted(role))
    wanted = world.wanted(role, scope_of=lambda _group, _kind: None)
    assert wanted.desired[0].key.namespace == world.namespace
    blind = world.anew()
    blind.comparer._scope_of = lambda _group, _kind: None  # noqa: SLF001 - as if discovery had failed
    (row,) = (await blind.compare(wanted)).rows
    assert row.live is not None
    assert row.key == ResourceKey("rbac.authorization.k8s.io", "ClusterRole", "", world.namespace)
