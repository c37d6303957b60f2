"""Plans: what is written, deleted, run and refused, in which order, and on which conditions."""

from __future__ import annotations

import copy
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.engine.views import (
    DISCOVERY,
    NOON,
    STAND_INS,
    Case,
    MapView,
    config_map,
    desired,
    job,
    key_of,
    lines,
    live_of,
    manifest,
    names,
)
from trimtab.engine.marks import Mark
from trimtab.engine.operations import Operation, OperationState, Rehearsal, Selected, Strategy
from trimtab.engine.rows import Difference, Row, Verdict
from trimtab.engine.stretches import STRETCH, Stretches
from trimtab.engine.sync.options import Consent, SyncOptions
from trimtab.engine.sync.plan import Namespace, missing_namespaces, planning_of
from trimtab.engine.sync.prunes import PruneBudget
from trimtab.engine.sync.showing import moved_between, plan_json, plan_markdown, plan_table
from trimtab.engine.sync.steps import Apply, Prune, RunHook, SyncPlan, WriteMode, images_of
from trimtab.kube.cluster import Propagation
from trimtab.resources.keys import ResourceKey
from trimtab.resources.manifests import Manifest
from trimtab.resources.tables import Paper

PRUNING = Operation(prune=True)
CRD = manifest(
    "CustomResourceDefinition",
    "widgets.example.com",
    api="apiextensions.k8s.io/v1",
    spec={"group": "example.com", "names": {"kind": "Widget", "plural": "widgets"}, "versions": []},
)


def widget(name: str, options: str = "") -> dict[str, Any]:
    told = {"trimtab.dev/sync-options": options} if options else {}
    return manifest("Widget", name, api="example.com/v1", annotations=told)


def applies(plan: SyncPlan) -> list[Apply]:
    return [step for step in plan.steps if isinstance(step, Apply)]


def prunes(plan: SyncPlan) -> list[Prune]:
    return [step for step in plan.steps if isinstance(step, Prune)]


# -- what is written -------------------------------------------------------------------------------------


@pytest.mark.fact("S12")
def test_what_is_as_it_should_be_is_left_alone() -> None:
    case = Case().missing(config_map("new")).drifted(config_map("drifted")).synced(config_map("same"))
    assert names(case.plan()) == ["drifted", "new"]
    assert names(case.plan(options=SyncOptions(out_of_sync_only=False))) == ["drifted", "new", "same"]


@pytest.mark.fact("S12")
def test_an_object_that_could_not_be_compared_is_written() -> None:
    assert names(Case().synced(config_map("a"), verdict=Verdict.UNKNOWN).plan()) == ["a"]


@pytest.mark.fact("S12", "S50")
def test_only_the_waves_that_remain_count() -> None:
    case = (
        Case()
        .synced(config_map("early", wave=-1))
        .missing(config_map("late", wave=1))
        .unwanted(config_map("old"))
    )
    assert lines(case.plan(PRUNING).steps) == ["Sync 0 prune old", "Sync 1 apply late"]


def test_what_this_operation_has_begun_stays_in_the_plan_after_a_restart() -> None:
    case = Case().synced(config_map("written"), config_map("same"))
    earlier = OperationState(operation=Operation(), started_at=NOON, begun=(key_of(config_map("written")),))
    assert names(case.plan(earlier=earlier)) == ["written"]


@pytest.mark.fact("S25")
def test_a_selection_limits_what_is_touched_and_leaves_hooks_out() -> None:
    case = Case().missing(config_map("a"), config_map("b")).unwanted(config_map("c")).hook(job("pre"))
    chosen = Operation(prune=True, resources=(Selected(kind="ConfigMap", name="b"),))
    assert names(case.plan(chosen)) == ["b"]


@pytest.mark.fact("S21")
@pytest.mark.parametrize(
    ("wanted", "live", "mode"),
    [
        ("", "", WriteMode.SERVER_SIDE),
        ("Replace=true", "", WriteMode.REPLACE),
        ("", "Replace=true", WriteMode.REPLACE),
        ("Replace=false", "", WriteMode.SERVER_SIDE),
    ],
)
def test_replace_on_either_side_replaces(wanted: str, live: str, mode: WriteMode) -> None:
    case = Case().drifted(config_map("a", options=wanted))
    case.view.manifests[key_of(config_map("a"))] = config_map("a", options=live)
    assert [step.mode for step in applies(case.plan())] == [mode]


@pytest.mark.fact("S22")
def test_replace_beats_any_word_on_server_side_apply() -> None:
    case = Case().missing(config_map("a", options="ServerSideApply=false,Replace=true"))
    assert [step.mode for step in applies(case.plan())] == [WriteMode.REPLACE]
    assert [
        str(each) for each in Case().missing(config_map("a", options="ServerSideApply=false")).plan().refused
    ] == [
        (
            "ConfigMap shop/a: it asks for client-side apply, which is not offered here. "
            "Remove the option ServerSideApply=false."
        )
    ]


@pytest.mark.fact("S24")
def test_force_reaches_the_step_from_operation_target_and_live() -> None:
    case = Case().drifted(config_map("a"), config_map("b", options="Force=true"), config_map("c"))
    case.view.manifests[key_of(config_map("c"))] = config_map("c", options="Force=true")
    assert [step.force for step in applies(case.plan())] == [False, True, True]
    assert [step.force for step in applies(case.plan(Operation(force=True)))] == [True, True, True]


@pytest.mark.fact("S1", "S20")
def test_validation_is_switched_off_for_one_object_or_for_all() -> None:
    case = Case().missing(config_map("a"), config_map("b", options="Validate=false"))
    assert [step.validate for step in applies(case.plan())] == [True, False]
    assert [step.validate for step in applies(case.plan(Operation(options=("Validate=false",))))] == [
        False,
        False,
    ]


@pytest.mark.fact("S27")
def test_ordinary_objects_without_a_name_stay_so_and_no_input_is_changed() -> None:
    unnamed = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "a-"}}
    hook = {**job("x"), "metadata": {"generateName": "pre-", "annotations": {"trimtab.dev/hook": "PreSync"}}}
    case = Case().missing(unnamed).hook(hook)
    before = copy.deepcopy((unnamed, hook))
    plan = case.plan()
    assert [(step.mode, step.body.manifest) for step in applies(plan)] == [(WriteMode.CREATE, unnamed)]
    assert (unnamed, hook) == before


def test_what_differs_is_told() -> None:
    differences = tuple(
        Difference(path=f"/data/{number}", desired="1", live="2", manager="kubectl", rule="")
        for number in range(5)
    )
    case = Case().missing(config_map("new")).drifted(config_map("a"), differences=differences)
    assert [step.why for step in applies(case.plan())] == [
        "differs at /data/0, /data/1, /data/2 and 2 more",
        "missing",
    ]


def test_images_are_told_with_the_step() -> None:
    spec = {"initContainers": [{"image": "a:1"}], "containers": [{"image": "b:1"}, {"image": "a:1"}, {}]}
    assert images_of("Pod", {"spec": spec}) == ("a:1", "b:1")
    assert images_of("Deployment", {"spec": {"template": {"spec": spec}}}) == ("a:1", "b:1")
    assert images_of("Deployment", {"spec": []}) == ()
    assert images_of("ConfigMap", {"spec": spec}) == ()


# -- kinds and namespaces --------------------------------------------------------------------------------


@pytest.mark.fact("S5")
def test_an_unknown_kind_is_refused_unless_its_definition_comes_along_or_trying_is_skipped() -> None:
    refused = Case().missing(widget("w")).plan()
    assert [str(each) for each in refused.refused] == [
        (
            "Widget.example.com shop/w: the server serves no Widget in example.com/v1. "
            "Correct the kind, or add the definition that makes it known."
        )
    ]
    together = Case().missing(widget("w"), CRD).plan()
    assert names(together) == ["widgets.example.com", "w"]
    assert [step.rehearsable for step in applies(together)] == [True, False]
    one = Case().missing(widget("w", "SkipDryRunOnMissingResource=true")).plan()
    unit = Case().missing(widget("w")).plan(options=SyncOptions(skip_rehearsal_of_missing_kinds=True))
    assert [(step.rehearsable) for plan in (one, unit) for step in applies(plan)] == [False, False]


@pytest.mark.fact("S5")
def test_a_definition_that_is_there_already_makes_its_kind_known_too() -> None:
    assert Case().synced(CRD).missing(widget("w")).plan().refused == ()


@pytest.mark.fact("S6")
def test_a_known_kind_is_tried_even_where_trying_may_be_skipped() -> None:
    case = Case().missing(config_map("a", options="SkipDryRunOnMissingResource=true"))
    assert [step.rehearsable for step in applies(case.plan())] == [True]


@pytest.mark.fact("S15")
def test_what_discovery_complained_of_is_told() -> None:
    plan = Case().missing(manifest("Gadget", "g", api="broken.example.com/v1")).plan()
    assert "its server does not answer" in str(plan.refused[0])


def test_objects_in_a_namespace_that_the_plan_makes_cannot_be_tried() -> None:
    case = Case().missing(manifest("Namespace", "shop"), config_map("a"))
    assert [(step.key.name, step.rehearsable) for step in applies(case.plan())] == [
        ("shop", True),
        ("a", False),
    ]


MAKING = SyncOptions(create_namespace=True)


@pytest.mark.fact("S30")
@pytest.mark.parametrize(
    ("case", "options", "namespace", "made"),
    [
        (Case().missing(config_map("a")), MAKING, Namespace(name="shop"), ["shop"]),
        (Case().missing(config_map("a")), SyncOptions(), Namespace(name="shop"), []),
        (Case().missing(config_map("a")), MAKING, Namespace(), []),
        (Case().missing(manifest("Namespace", "shop")), MAKING, Namespace(name="shop"), []),
        (
            Case().hook(manifest("Namespace", "shop", annotations={"trimtab.dev/hook": "PreSync"})),
            MAKING,
            Namespace(name="shop"),
            [],
        ),
    ],
)
def test_the_destination_namespace_is_made_if_asked_for_and_not_among_the_objects(
    case: Case, options: SyncOptions, namespace: Namespace, made: list[str]
) -> None:
    plan = case.plan(options=options, namespace=namespace)
    assert [step.key.name for step in plan.steps if step.__struct_config__.tag == "createNamespace"] == made


@pytest.mark.fact("S30")
def test_a_namespace_that_is_there_is_touched_only_for_its_labels() -> None:
    case = Case().missing(config_map("a"))
    case.view.lives[key_of(manifest("Namespace", "shop"))] = live_of(manifest("Namespace", "shop"), mark=None)
    assert names(case.plan(options=MAKING, namespace=Namespace(name="shop"))) == ["a"]
    labelled = case.plan(options=MAKING, namespace=Namespace(name="shop", labels={"team": "shop"}))
    assert lines(labelled.steps) == ["Sync 0 createNamespace shop", "Sync 0 apply a"]


@pytest.mark.fact("S30")
def test_a_namespace_on_its_way_out_refuses_the_sync() -> None:
    case = Case().missing(config_map("a"))
    going = live_of(manifest("Namespace", "shop"), deleting=True)
    case.view.lives[going.key] = going
    plan = case.plan(options=MAKING, namespace=Namespace(name="shop"))
    assert [each.reason for each in plan.refused] == ["the namespace is being deleted"]


def test_a_namespace_that_is_not_among_those_allowed_is_not_made() -> None:
    plan = Case().plan(options=MAKING, namespace=Namespace(name="shop", allowed=False))
    assert (plan.steps, [each.blocks for each in plan.refused]) == ((), [True])
    assert [each.reason for each in plan.refused] == ["the namespace is not among those allowed"]


def test_the_namespace_that_the_unit_makes_is_not_pruned() -> None:
    case = Case().unwanted(manifest("Namespace", "shop"), manifest("Namespace", "other"))
    plan = case.plan(PRUNING, options=MAKING, namespace=Namespace(name="shop"))
    assert [step.key.name for step in prunes(plan)] == ["other"]


@pytest.mark.parametrize(
    ("case", "options", "missing"),
    [
        (Case().missing(config_map("a"), config_map("b")), SyncOptions(), ("shop",)),
        (Case().missing(config_map("a")), MAKING, ()),
        (Case().missing(config_map("a"), manifest("Namespace", "shop")), SyncOptions(), ()),
        (Case().unwanted(config_map("a")), SyncOptions(), ()),
        (Case().hook(job("pre")), SyncOptions(), ("shop",)),
    ],
    ids=["written into", "made if missing", "declared", "only pruned from", "of a hook"],
)
def test_namespaces_that_are_neither_there_nor_made_are_named(
    case: Case, options: SyncOptions, missing: tuple[str, ...]
) -> None:
    plan = case.plan(PRUNING, options=options, namespace=Namespace(name="shop"))
    assert missing_namespaces(plan.steps, case.view) == missing
    there = MapView(live_of(manifest("Namespace", "shop"), mark=None))
    assert missing_namespaces(plan.steps, there) == ()


def test_of_namespaces_that_nobody_may_read_nothing_is_said() -> None:
    case = Case().missing(config_map("a"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(case.view, "knows", lambda *_: False)
        assert missing_namespaces(case.plan().steps, case.view) == ()


# -- whose objects ---------------------------------------------------------------------------------------


def test_somebody_elses_object_is_refused_unless_it_is_to_be_adopted() -> None:
    case = Case().drifted(config_map("a"), claimed_by=Mark("helm", "shop/web"))
    assert [str(each) for each in case.plan().refused] == [
        "ConfigMap shop/a: it is managed by helm shop/web. Release it there, or take it over with --adopt."
    ]
    adopted = case.plan(Operation(adopt=True))
    assert (adopted.refused, names(adopted)) == ((), ["a"])


def test_nothing_is_pruned_while_an_object_is_refused() -> None:
    case = (
        Case().drifted(config_map("a", wave=2), claimed_by=Mark("helm", "shop/web")).unwanted(config_map("b"))
    )
    plan = case.plan(PRUNING)
    assert lines(plan.steps) == ["Sync 0 prune b", "Sync 2 refuse a"]
    assert [step.skip for step in prunes(plan)] == ["ignored (another object was refused)"]


@pytest.mark.parametrize("why", [{"problem": "it cannot be read"}, {"claimed_by": Mark("helm", "shop/web")}])
def test_nothing_is_pruned_by_a_choice_that_leaves_out_what_would_be_refused(why: dict[str, Any]) -> None:
    case = Case().synced(config_map("a"), verdict=Verdict.UNKNOWN, **why).unwanted(config_map("b"))
    chosen = replace(PRUNING, resources=(Selected(kind="ConfigMap", name="b"),))
    plan = case.plan(chosen)
    assert [step.skip for step in prunes(plan)] == ["ignored (another object was refused)"]


def test_an_object_with_a_problem_is_refused_with_it() -> None:
    case = Case().missing(config_map("a"), config_map("b"))
    case.rows[0] = replace(case.rows[0], problem="two units claim it")
    assert [str(each) for each in case.plan().refused] == ["ConfigMap shop/a: two units claim it"]


def test_annotations_that_cannot_be_meant_are_refused_with_the_reason() -> None:
    wrong = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "annotations": {"x": 1}}}
    assert "not text" in str(Case().missing(wrong).plan().refused[0])


# -- what is deleted -------------------------------------------------------------------------------------


@pytest.mark.fact("S18")
def test_only_what_is_ours_and_may_go_is_pruned() -> None:
    case = Case().unwanted(config_map("gone"), config_map("kept", options="Prune=false"))
    case.unwanted(config_map("copy"), ours=False)
    case.unwanted(config_map("theirs"), claimed_by=Mark("helm", "x"))
    assert [(step.key.name, step.skip) for step in prunes(case.plan(PRUNING))] == [
        ("gone", ""),
        ("kept", "ignored (no prune)"),
    ]
    assert {step.skip for step in prunes(case.plan())} == {"no longer declared (requires pruning)"}


@pytest.mark.fact("S17", "S28")
def test_hooks_are_neither_pruned_nor_written_as_ordinary_objects() -> None:
    hook = job("pre")
    case = Case().unwanted(hook).drifted(job("other")).hook(job("pre"), job("pre"))
    assert lines(case.plan(PRUNING).steps) == ["PreSync 0 hook pre"]


def test_a_render_that_is_not_complete_prunes_nothing() -> None:
    case = Case().unwanted(config_map("a"))
    assert [step.skip for step in prunes(case.plan(PRUNING, complete=False))] == [
        "ignored (what Git wants is not known completely)"
    ]


def test_an_object_whose_annotations_are_not_known_is_kept() -> None:
    case = Case().unwanted(config_map("a"))
    case.view.manifests.clear()
    assert prunes(case.plan(PRUNING))[0].skip.startswith("ignored")


@pytest.mark.parametrize(
    ("gone", "kept", "held"), [(10, 0, False), (11, 0, True), (11, 11, False), (12, 11, True), (3, 1, False)]
)
def test_prunes_beyond_the_budget_wait_for_consent(
    gone: int,
    kept: int,
    held: bool,  # noqa: FBT001 - a column of the table
) -> None:
    case = Case().unwanted(*(config_map(f"g{number}") for number in range(gone)))
    case.synced(*(config_map(f"k{number}") for number in range(kept)))
    found = prunes(case.plan(PRUNING))
    assert len(found) == gone
    assert {bool(step.hold) for step in found} == {held}


def test_the_budget_counts_only_what_would_really_go() -> None:
    case = Case().unwanted(*(config_map(f"k{number}", options="Prune=false") for number in range(20)))
    case.unwanted(config_map("gone"))
    assert not any(step.hold for step in prunes(case.plan(PRUNING)))
    tight = case.plan(PRUNING, budget=PruneBudget(share=0.0, count=0))
    assert [step.key.name for step in prunes(tight) if step.hold] == ["gone"]


@pytest.mark.fact("S19")
@pytest.mark.parametrize(
    ("own", "unit", "held"),
    [
        ("", Consent.YES, False),
        ("Prune=confirm", Consent.YES, True),
        ("", Consent.CONFIRM, True),
        ("Prune=true", Consent.CONFIRM, False),
    ],
)
def test_a_prune_waits_for_consent_where_object_or_unit_want_it(
    own: str,
    unit: Consent,
    held: bool,  # noqa: FBT001 - a column of the table
) -> None:
    plan = Case().unwanted(config_map("a", options=own)).plan(PRUNING, options=SyncOptions(prune=unit))
    assert [bool(step.hold) for step in prunes(plan)] == [held]


@pytest.mark.parametrize(
    ("api_version", "kind", "hold"),
    [
        ("v1", "Namespace", "everything in it is deleted with it"),
        (
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            "every object of its kind is deleted with it",
        ),
        ("v1", "PersistentVolume", ""),
    ],
)
def test_what_takes_others_along_waits_for_consent(api_version: str, kind: str, hold: str) -> None:
    gone = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "gone"}}
    assert [step.hold for step in prunes(Case().unwanted(gone).plan(PRUNING))] == [hold]


@pytest.mark.fact("S42", "S45")
def test_prune_options_reach_the_step() -> None:
    case = (
        Case()
        .missing(config_map("a", wave=3))
        .unwanted(config_map("b", options="PruneLast=true"), config_map("c"))
    )
    assert lines(case.plan(PRUNING).steps) == ["Sync 0 prune c", "Sync 3 apply a", "Sync 4 prune b"]
    assert lines(case.plan(PRUNING, options=SyncOptions(prune_last=True)).steps) == [
        "Sync 3 apply a",
        "Sync 4 prune b",
        "Sync 4 prune c",
    ]
    told = Operation(prune=True, options=("PrunePropagationPolicy=background",))
    assert {step.propagation for step in prunes(case.plan(told))} == {Propagation.BACKGROUND}


# -- hooks -----------------------------------------------------------------------------------------------


def test_a_hook_is_one_step_per_phase() -> None:
    plan = Case().hook(job("x", hook="PreSync,PostSync,SyncFail,PreDelete")).plan()
    assert lines(plan.steps) == ["PreSync 0 hook x", "PostSync 0 hook x", "SyncFail 0 hook x"]


def test_an_object_that_is_both_hook_and_ordinary_is_refused() -> None:
    plan = Case().missing(config_map("a")).hook(config_map("a", hook="Sync")).plan()
    assert [each.reason for each in plan.refused] == ["it is both a hook and an ordinary object"]
    assert Case().missing(config_map("a")).hook(config_map("a", hook="PostSync")).plan().refused == ()


def test_the_apply_strategy_leaves_hooks_out() -> None:
    case = Case().missing(config_map("a")).hook(job("pre"))
    assert names(case.plan(Operation(strategy=Strategy.APPLY))) == ["a"]


# -- trying out ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("case", "tried"),
    [
        (Case().missing(config_map("a"), config_map("b")), False),
        (Case().missing(config_map("a"), config_map("b", wave=1)), True),
        (Case().missing(config_map("a")).hook(job("pre")), True),
        (Case().missing(config_map("a")).unwanted(config_map("c")), True),
        (Case().missing(config_map("a")).unwanted(config_map("c", options="Prune=false")), False),
    ],
)
def test_a_plan_is_tried_first_if_a_failure_would_leave_it_half_done(
    case: Case,
    tried: bool,  # noqa: FBT001 - a column of the table
) -> None:
    assert case.plan(PRUNING).rehearse is tried
    assert case.plan(replace(PRUNING, rehearsal=Rehearsal.ALWAYS)).rehearse is True
    assert case.plan(replace(PRUNING, rehearsal=Rehearsal.NEVER)).rehearse is False


def test_only_what_will_change_and_can_be_tried_is_tried() -> None:
    case = (
        Case()
        .synced(config_map("same"))
        .drifted(config_map("other"), config_map("forced", options="Force=true"))
    )
    plan = case.plan(options=SyncOptions(out_of_sync_only=False))
    assert {step.key.name: step.rehearsable for step in applies(plan)} == {
        "same": False,
        "other": True,
        "forced": False,
    }
    left = Case().hook(job("pre"), job("new"))
    left.view.lives[key_of(job("pre"))] = live_of(job("pre"))
    hooks = [step for step in left.plan().steps if isinstance(step, RunHook)]
    assert {step.key.name: step.rehearsable for step in hooks} == {"pre": False, "new": True}


# -- digests and showing ---------------------------------------------------------------------------------


def test_the_digest_names_what_is_done_to_what_and_on_which_conditions() -> None:
    def plan(
        *, revision: str = "1", data: str = "1", uid: str = "u", digest: bytes = b"d", wave: int = 0
    ) -> str:
        wanted = desired(config_map("a", wave=wave, x=data))
        live = live_of(config_map("a"), uid=uid, digest=digest)
        row = Row(key=wanted.key, desired=wanted, live=live, verdict=Verdict.OUT_OF_SYNC)
        case = Case()
        case.rows.append(row)
        return case.plan(revision=revision).digest

    same = plan()
    others = {plan(revision="2"), plan(data="2"), plan(uid="v"), plan(digest=b"e"), plan(wave=1)}
    assert plan() == same
    assert same not in others
    assert len(others) == 5


def test_a_plan_is_the_same_whenever_it_is_started() -> None:
    unnamed = {
        **job("x"),
        "metadata": {"generateName": "pre-", "annotations": {"trimtab.dev/hook": "PreSync"}},
    }
    case = Case().hook(unnamed)
    now, later = case.plan(), case.plan(started_at=NOON + timedelta(hours=1))
    assert now.steps[0].key != later.steps[0].key
    assert now.digest == later.digest


CANARY = "c4n4ry-value"


def test_a_plan_shows_no_secret_in_any_form() -> None:
    secret = manifest("Secret", "s", stringData={"password": CANARY})
    plan = Case().missing(secret).plan()
    shown = msgspec.json.encode(plan_json(plan)).decode() + plan_table(plan) + repr(plan)
    assert CANARY not in shown
    assert desired(secret).digest.hex() not in shown
    with pytest.raises(TypeError):
        msgspec.json.encode(plan)
    wanted = STAND_INS.stand_in(desired(secret).digest)
    assert plan_json(plan)["steps"][0]["content"] == wanted


def test_a_plan_is_shown_as_a_table() -> None:
    case = (
        Case()
        .missing(config_map("a", wave=1))
        .unwanted(config_map("b"), config_map("c", options="Prune=confirm"))
    )
    case.hook(job("pre")).missing(config_map("r", options="Replace=true,Force=true"))
    plan = case.plan(PRUNING)
    assert plan_table(plan) == (
        f"plan {plan.digest[:12]} of shop at 4f2c9e1a7b3d\n"
        "PHASE    WAVE  ACTION           OBJECT              WHY\n"
        "PreSync  0     run hook         Job.batch shop/pre  PreSync hook\n"
        "Sync     0     prune            ConfigMap shop/b    no longer declared\n"
        "Sync     0     prune            ConfigMap shop/c    no longer declared\n"
        "Sync     0     replace (force)  ConfigMap shop/r    missing\n"
        "Sync     1     apply            ConfigMap shop/a    missing\n"
        "waits for consent to 1 deletion: it is deleted only with somebody's consent\n"
    )
    assert max(map(len, plan_table(plan, Paper(width=40)).splitlines()[1:-1])) <= 40
    assert "nothing to do" in plan_table(Case().plan())


def test_a_wide_plan_also_tells_of_versions_of_what_is_there_and_of_images() -> None:
    plan = Case().missing(config_map("a")).hook(job("pre")).unwanted(config_map("b")).plan(PRUNING)
    heading, *rows = (line.split() for line in plan_table(plan, wide=True).splitlines()[1:])
    assert heading[-4:] == ["API", "VERSION", "UID", "IMAGES"]
    images = [" ".join(step.images) for step in plan.steps if isinstance(step, RunHook)]
    assert sorted(row[-3:] for row in rows) == [
        ["batch/v1", "-", images[0] or "-"],
        ["v1", "-", "-"],
        ["v1", "uid-b", "-"],
    ]


def test_what_moved_between_two_plans_is_told() -> None:
    before = plan_json(Case().drifted(config_map("a"), config_map("b")).plan())
    case = Case().drifted(config_map("a")).missing(config_map("c"))
    case.rows[0] = replace(case.rows[0], live=live_of(config_map("a"), uid="another"))
    now = plan_json(case.plan(revision="5"))
    assert moved_between(before, before) == ()
    assert moved_between(before, now) == (
        "ConfigMap shop/a in Sync: it was deleted and made anew in the cluster",
        "ConfigMap shop/b in Sync is no longer part of the plan",
        "ConfigMap shop/c in Sync is a new part of the plan",
        f"the revision is 5, not {before['revision']}",
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"action": "replace"}, "it would replace, not apply"),
        ({"wave": 3}, "it is in wave 3, not 0"),
        ({"content": "other"}, "it is wanted otherwise"),
        ({"expected": {"uid": "u1", "digest": "d2"}}, "it was changed in the cluster"),
        ({"expected": {"uid": "", "digest": ""}}, "it was deleted in the cluster"),
    ],
)
def test_what_moved_about_one_object_is_told_in_words(change: dict[str, Any], words: str) -> None:
    step = {
        "action": "apply",
        "object": {"kind": "ConfigMap", "namespace": "shop", "name": "a"},
        "phase": "Sync",
        "wave": 0,
        "content": "c",
        "expected": {"uid": "u1", "digest": "d1"},
    }
    before = {"revision": "4", "render": "r", "steps": [step]}
    now = {"revision": "4", "render": "r", "steps": [{**step, **change}]}
    assert moved_between(before, now) == (f"ConfigMap shop/a in Sync: {words}",)
    made = {"revision": "4", "render": "s", "steps": [{**step, "expected": {"uid": "", "digest": ""}}]}
    assert moved_between(made, before) == (
        "ConfigMap shop/a in Sync: it was made in the cluster",
        "what the source wants is something else",
    )


def test_markdown_counts_and_lets_nothing_in_a_plan_be_more_than_text() -> None:
    case = Case().missing(config_map("a")).unwanted(config_map("b"))
    shown = plan_markdown(case.plan(PRUNING))
    assert shown.splitlines() == [
        f"### shop at `{case.plan().revision}`: 1 apply, 1 prune",
        "",
        "| action | object | wave | why |",
        "|---|---|---|---|",
        "| apply | `ConfigMap shop/a` | 0 | missing |",
        "| prune | `ConfigMap shop/b` | 0 | no longer declared |",
        "",
        f"plan `{case.plan(PRUNING).digest[:12]}`",
    ]
    steps = tuple(replace(each, why="| <b>`@ann`") for each in case.plan(PRUNING).steps)
    hostile = plan_markdown(replace(case.plan(PRUNING), steps=steps), most=1)
    assert "&#124; &#60;b&#62;&#96;&#64;ann&#96;" in hostile
    assert "and 1 more" in hostile
    assert "nothing to do" in plan_markdown(Case().plan())


@given(st.lists(st.sampled_from(["missing", "synced", "drifted", "unwanted"]), max_size=15))
def test_an_error_is_not_empty_only_extra_objects_are_ever_pruned(states: list[str]) -> None:
    case = Case()
    for number, state in enumerate(states):
        getattr(case, state)(config_map(f"c{number}"))
    extra = {row.key for row in case.rows if row.desired is None}
    assert {step.key for step in prunes(case.plan(PRUNING))} == extra
    assert DISCOVERY.failed


# -- in stretches ----------------------------------------------------------------------------------------


class Watched(MapView):
    """A view that counts the objects that are read of it between two yields of a planning."""

    def __init__(self, view: MapView) -> None:
        super().__init__(*view.lives.values(), manifests=view.manifests)
        self.reads = [0]

    def manifest(self, key: ResourceKey) -> Manifest | None:
        self.reads[-1] += 1
        return super().manifest(key)


def test_many_objects_are_planned_in_short_stretches_and_come_to_the_same_plan() -> None:
    case = Case()
    for number in range(4 * STRETCH):
        case.drifted(config_map(f"drifted-{number}"))
        case.unwanted(config_map(f"unwanted-{number}"))
    seen, plans = Watched(case.view), list[SyncPlan]()

    def planned() -> Stretches[None]:
        plans.append((yield from planning_of(case.request(PRUNING), seen)))

    for _ in planned():
        seen.reads.append(0)
    assert [plan.digest for plan in plans] == [case.plan(PRUNING).digest]
    assert sum(seen.reads) == len(case.rows)
    assert max(seen.reads) <= STRETCH


def test_few_objects_are_planned_in_one_go() -> None:
    case = Case()
    case.drifted(config_map("drifted"))
    case.unwanted(config_map("unwanted"))
    assert list(planning_of(case.request(PRUNING), case.view)) == []
