"""The order of a sync, and what moves before what needs it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.engine.operations import SyncPhase
from trimtab.engine.sync.ordering import Slot, kind_rank, ordered
from trimtab.resources.keys import ResourceKey

PRE, SYNC, POST = SyncPhase.PRE_SYNC, SyncPhase.SYNC, SyncPhase.POST_SYNC


def at(
    name: str,
    kind: str = "ConfigMap",
    *,
    phase: SyncPhase = SYNC,
    wave: int = 0,
    group: str = "",
    namespace: str = "",
    prune: bool = False,
    last: bool = False,
    defines: tuple[str, str] | None = None,
) -> Slot:
    key = ResourceKey(group, kind, namespace, name)
    return Slot(step=0, key=key, phase=phase, wave=wave, prune=prune, last=last, defines=defines)


def told(*places: Slot) -> list[tuple[str, str, int]]:
    numbered = [_numbered(place, number) for number, place in enumerate(places)]
    return [(place.key.name, place.phase.value, place.wave) for place in ordered(numbered)]


def _numbered(place: Slot, number: int) -> Slot:
    fields = {field: getattr(place, field) for field in place.__struct_fields__}
    return Slot(**{**fields, "step": number})


def names(*places: Slot) -> list[str]:
    return [name for name, _, _ in told(*places)]


@pytest.mark.fact("S47")
def test_phase_comes_before_wave_before_kind_before_name() -> None:
    assert names(
        at("post", phase=POST, wave=-9),
        at("late", wave=1),
        at("web", "Deployment", group="apps"),
        at("widget", "Widget", group="example.com"),
        at("b"),
        at("a"),
        at("space", "Namespace"),
        at("pre", phase=PRE, wave=5),
    ) == ["pre", "space", "a", "b", "web", "widget", "late", "post"]


@pytest.mark.fact("S47")
def test_unknown_kinds_come_last() -> None:
    assert kind_rank("Namespace") < kind_rank("APIService") < kind_rank("Widget") == kind_rank("Gadget")


@pytest.mark.fact("S48")
def test_a_namespace_moves_before_the_first_hook_that_lives_in_it() -> None:
    space, hook = at("shop", "Namespace", wave=3), at("pre", "Job", phase=PRE, wave=-1, namespace="shop")
    other = at("first", "Job", phase=PRE, wave=-2, namespace="bank")
    assert told(space, hook, other) == [
        ("first", "PreSync", -2),
        ("shop", "PreSync", -1),
        ("pre", "PreSync", -1),
    ]


@pytest.mark.fact("S49")
def test_a_definition_moves_before_its_first_object_over_phases_too() -> None:
    crd = at("widgets", "CustomResourceDefinition", wave=2, defines=("example.com", "Widget"))
    early = at("w", "Widget", group="example.com", phase=PRE, wave=1, namespace="shop")
    other = at("x", "Widget", group="other.com", phase=PRE, wave=0)
    assert told(crd, early, other) == [("x", "PreSync", 0), ("widgets", "PreSync", 1), ("w", "PreSync", 1)]


def test_what_already_comes_first_stays_where_it_is() -> None:
    space, user = at("shop", "Namespace", wave=-1), at("a", namespace="shop")
    assert told(space, user) == [("shop", "Sync", -1), ("a", "Sync", 0)]


def test_pruned_objects_pull_nothing_before_them() -> None:
    gone = at("a", namespace="shop", wave=-1, prune=True)
    assert told(at("shop", "Namespace"), gone) == [("a", "Sync", -1), ("shop", "Sync", 0)]


def test_a_definition_is_pruned_after_its_objects_and_namespaces_last_of_all() -> None:
    crd = at("widgets", "CustomResourceDefinition", wave=5, prune=True, defines=("example.com", "Widget"))
    widget = at("w", "Widget", group="example.com", namespace="shop", wave=1, prune=True)
    space, other = at("shop", "Namespace", wave=9, prune=True), at("a", namespace="shop", prune=True)
    assert [name for name, _, _ in told(crd, widget, space, other)] == ["w", "widgets", "a", "shop"]
    same = (at(each.key.name, each.key.kind, group=each.key.group, prune=True) for each in (widget, other))
    levelled = at("widgets", "CustomResourceDefinition", prune=True, defines=("example.com", "Widget"))
    assert told(levelled, at("shop", "Namespace", prune=True), *same) == [
        ("a", "Sync", 0),
        ("w", "Sync", 0),
        ("widgets", "Sync", 1),
        ("shop", "Sync", 2),
    ]


def test_what_hooks_after_a_deletion_need_is_pruned_after_them() -> None:
    after = at("after", "Job", phase=SyncPhase.POST_DELETE, wave=3, namespace="shop")
    space, other = at("shop", "Namespace", prune=True), at("bank", "Namespace", prune=True)
    assert told(space, after, other) == [
        ("bank", "Sync", 0),
        ("after", "PostDelete", 3),
        ("shop", "PostDelete", 4),
    ]


@pytest.mark.fact("S43")
@pytest.mark.parametrize(
    ("waves", "mirrored"),
    [
        ((0,), (0,)),
        ((1, 1), (1, 1)),
        ((0, 1), (1, 0)),
        ((1, 3, 7), (7, 3, 1)),
        ((1, 1, 3, 7), (7, 7, 3, 1)),
        ((-2, 0, 5, 6), (6, 5, 0, -2)),
    ],
)
def test_the_waves_of_prunes_are_mirrored_among_themselves(
    waves: tuple[int, ...], mirrored: tuple[int, ...]
) -> None:
    places = [at(f"p{number}", wave=wave, prune=True) for number, wave in enumerate(waves)]
    applied = at("applied", wave=2)
    found = {name: wave for name, _, wave in told(*places, applied)}
    assert tuple(found[f"p{number}"] for number in range(len(waves))) == mirrored
    assert found["applied"] == 2


@pytest.mark.fact("S42")
@pytest.mark.parametrize(
    ("places", "wave"),
    [
        ((at("a", wave=4),), 5),
        ((at("a", wave=4), at("b", wave=9, prune=True)), 10),
        ((at("a", wave=4), at("post", wave=20, phase=POST)), 5),
        ((), 1),
        ((at("a", wave=-7),), 1),
    ],
)
def test_what_is_pruned_last_goes_after_the_highest_wave(places: tuple[Slot, ...], wave: int) -> None:
    found = told(at("gone", prune=True, last=True), *places)
    assert ("gone", "Sync", wave) in found


CRD = "CustomResourceDefinition"
KINDS = st.sampled_from(
    [("", "Namespace"), ("", "ConfigMap"), ("apps", "Deployment"), ("x.y", "Widget"), ("z", CRD)]
)


@st.composite
def some_places(draw: st.DrawFn) -> list[Slot]:
    found = []
    for number in range(draw(st.integers(0, 12))):
        group, kind = draw(KINDS)
        defines = ("x.y", "Widget") if kind == CRD else None
        space = "" if kind in {CRD, "Namespace"} else draw(st.sampled_from(["", "n0", "n1"]))
        key = ResourceKey(group, kind, space, f"n{number}")
        prune = draw(st.booleans())
        found.append(
            Slot(
                step=number,
                key=key,
                phase=draw(st.sampled_from(SyncPhase)) if not prune else SYNC,
                wave=draw(st.integers(-3, 3)),
                prune=prune,
                last=prune and draw(st.booleans()),
                defines=defines,
            )
        )
    return found


@given(some_places())
def test_no_step_is_lost_or_doubled_and_phases_and_waves_never_go_back(places: list[Slot]) -> None:
    found = ordered(places)
    assert sorted(place.step for place in found) == [place.step for place in places]
    phases = list(SyncPhase)
    groups = [(phases.index(place.phase), place.wave) for place in found]
    assert groups == sorted(groups)


@settings(max_examples=300)
@given(some_places())
def test_every_namespace_and_definition_comes_before_what_needs_it(places: list[Slot]) -> None:
    found = [place for place in ordered(places) if not place.prune]
    for number, place in enumerate(found):
        later = found[number + 1 :]
        spaces = {each.key.name for each in later if each.key.kind == "Namespace"}
        kinds = {each.defines for each in later if each.defines}
        first_definition = any(each.defines == (place.key.group, place.key.kind) for each in found[:number])
        assert place.key.namespace not in spaces
        assert (place.key.group, place.key.kind) not in kinds or first_definition
