"""Server-side apply with one, two and three managers: on our side and on a real server, the same facts."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from tests.kube.merging.samples import GROUP, gadget_target
from tests.kube.merging.worlds import OurWorld, RealWorld, World, gadget
from trimtab.kube.merging.apply import LAST_APPLIED, applied, created, settled, updated
from trimtab.kube.refusals import ApplyConflict, Refused

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
VERSION = f"{GROUP}/v1"
KEYED = "element 0: associative list with keys"
UNKEYED = "element 0: associative list without keys"
NO_KEY = (
    'has an element that omits all key fields ["name"] (and doesn\'t have default values for any key fields)'
)


@pytest.fixture
def world(request: pytest.FixtureRequest) -> World:
    if request.param == "ours":
        return OurWorld()
    return RealWorld(request.getfixturevalue("server"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Mark the real half, which asks for its server only when it runs."""
    if "world" in metafunc.fixturenames:
        halves = ["ours", pytest.param("real", marks=pytest.mark.real)]
        metafunc.parametrize("world", halves, indirect=True)


def owners(world: World) -> dict[str, Any]:
    """What each manager owns; those who update are marked by a star, subresources by their name."""
    lines = world.live["metadata"].get("managedFields", [])
    return {_named(line): line["fieldsV1"] for line in lines}


def _named(line: dict[str, Any]) -> str:
    star = "*" if line["operation"] == "Update" else ""
    return f"{line['manager']}{star}{' ' + line['subresource'] if 'subresource' in line else ''}"


def owns(**fields: Any) -> dict[str, Any]:
    """FieldsV1 of fields beneath spec: a dict goes deeper, True is a member, "." is itself."""
    return {"f:spec": _fields(fields)}


def _fields(fields: dict[str, Any]) -> dict[str, Any]:
    marked = {name if name == "." or name[1:2] == ":" else f"f:{name}": part for name, part in fields.items()}
    return {name: _fields(part) if isinstance(part, dict) else {} for name, part in marked.items()}


def spec(**fields: Any) -> dict[str, Any]:
    return {"spec": fields}


def conflict(*places: str, owner: str) -> str:
    if len(places) == 1:
        return f"Apply failed with 1 conflict: conflict with {owner}: {places[0]}"
    listed = "\n".join(f"- {place}" for place in places)
    return f"Apply failed with {len(places)} conflicts: conflicts with {owner}:\n{listed}"


# -- one manager --------------------------------------------------------------------------------------------


def test_who_applies_owns_exactly_what_is_applied(world: World) -> None:
    fields = spec(
        size=1,
        inner={"a": "x"},
        tags={"k": "v"},
        parts={"p": {"x": 1}},
        selector={"s": "t"},
        colors=["red", "blue"],
        steps=[{"run": "a"}],
        ports=[{"port": 80, "protocol": "TCP", "name": "web"}],
    )
    assert world.apply("A", fields) == {}
    assert owners(world) == {
        "A": owns(
            colors={'v:"blue"': True, 'v:"red"': True},
            inner={"a": True},
            parts={"p": {".": True, "x": True}},
            ports={
                'k:{"port":80,"protocol":"TCP"}': {".": True, "name": True, "port": True, "protocol": True}
            },
            selector=True,
            size=True,
            steps=True,
            tags={"k": True},
        )
    }


def test_a_key_that_is_filled_in_by_default_is_part_of_the_item_but_not_owned(world: World) -> None:
    assert world.apply("A", spec(ports=[{"port": 80}])) == {}
    assert owners(world) == {"A": owns(ports={'k:{"port":80,"protocol":"TCP"}': {".": True, "port": True}})}


def test_empty_maps_are_owned_and_empty_merging_lists_are_not(world: World) -> None:
    fields = spec(tags={}, inner={}, selector={}, colors=[], items=[], steps=[], size=1)
    assert world.apply("A", fields) == {}
    assert owners(world) == {"A": owns(inner=True, selector=True, size=True, steps=True, tags=True)}


def test_applying_the_same_again_changes_nothing_at_all(world: World) -> None:
    world.apply("A", spec(size=1, tags={"k": "v"}))
    before = world.live
    assert world.apply("A", spec(size=1, tags={"k": "v"})) == {}
    assert world.live == before


def test_what_is_no_longer_applied_is_removed(world: World) -> None:
    world.apply("A", spec(size=1, tags={"k": "v", "l": "w"}, colors=["red", "blue"], inner={"a": "x"}))
    world.apply("A", spec(tags={"k": "v"}, colors=["blue"]))
    assert world.live["spec"] == {"tags": {"k": "v"}, "colors": ["blue"]}
    assert owners(world) == {"A": owns(colors={'v:"blue"': True}, tags={"k": True})}


def test_an_object_with_nothing_but_a_name_has_no_owner(world: World) -> None:
    assert world.apply("A", {}) == {}
    assert owners(world) == {}


def test_a_map_of_which_everything_is_taken_back_while_it_is_still_applied_becomes_null(world: World) -> None:
    world.apply("A", spec(size=1, tags={"k": "v"}))
    refused = world.apply("A", spec(size=1, tags={}))
    if isinstance(world, RealWorld):
        assert refused["message"].endswith('spec.tags in body must be of type object: "null"')
    else:
        assert world.live["spec"] == {"size": 1, "tags": None}


# -- two managers -------------------------------------------------------------------------------------------


def test_two_managers_may_own_the_same_value_and_it_goes_with_the_last(world: World) -> None:
    world.apply("A", spec(size=1, title="t"))
    assert world.apply("B", spec(size=1)) == {}
    assert owners(world) == {"A": owns(size=True, title=True), "B": owns(size=True)}
    world.apply("A", spec(title="t"))
    assert world.live["spec"] == {"size": 1, "title": "t"}
    world.apply("B", {})
    assert world.live["spec"] == {"title": "t"}
    assert owners(world) == {"A": owns(title=True)}


def test_an_owner_who_joins_without_changing_anything_has_no_time(world: World) -> None:
    world.apply("A", spec(size=1))
    world.apply("B", spec(size=1))
    times = {_named(line): "time" in line for line in world.live["metadata"]["managedFields"]}
    assert times == {"A": True, "B": False}


def test_another_value_is_a_conflict_and_force_takes_over(world: World) -> None:
    world.apply("A", spec(size=1, tags={"k": "v"}, items=[{"name": "a", "image": "i"}]))
    wish = spec(size=2, tags={"k": "w"}, items=[{"name": "a", "image": "j"}])
    refused = world.apply("B", wish)
    places = (".spec.size", '.spec.items[name="a"].image', ".spec.tags.k")
    assert refused == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": conflict(*places, owner='"A"'),
        "reason": "Conflict",
        "details": {
            "causes": [
                {"reason": "FieldManagerConflict", "message": 'conflict with "A"', "field": place}
                for place in places
            ]
        },
        "code": 409,
    }
    assert world.apply("B", wish, force=True) == {}
    assert owners(world) == {
        "A": owns(items={'k:{"name":"a"}': {".": True, "name": True}}),
        "B": owns(
            items={'k:{"name":"a"}': {".": True, "image": True, "name": True}}, size=True, tags={"k": True}
        ),
    }


@pytest.mark.parametrize(
    ("first", "second", "place"),
    [
        (spec(steps=[{"run": "a"}]), spec(steps=[{"run": "a"}, {"run": "b"}]), ".spec.steps"),
        (spec(selector={"s": "t"}), spec(selector={"x": "y"}), ".spec.selector"),
        (spec(pair={"left": "l"}), spec(pair={"right": "r"}), ".spec.pair"),
        (spec(amount=1), spec(amount="1"), ".spec.amount"),
        (spec(free={"list": [1]}), spec(free={"list": [2]}), ".spec.free.list"),
        (spec(free={"deep": {"u": 1}}), spec(free={"deep": {"u": 2}}), ".spec.free.deep.u"),
        (spec(parts={"p": {"x": 1}}), spec(parts={"p": {"x": 2}}), ".spec.parts.p.x"),
        (
            spec(ports=[{"port": 80, "protocol": "UDP", "name": "m"}]),
            spec(ports=[{"port": 80, "protocol": "UDP", "name": "n"}]),
            '.spec.ports[port=80,protocol="UDP"].name',
        ),
    ],
)
def test_a_conflict_names_the_smallest_thing_that_is_owned(
    world: World, first: Any, second: Any, place: str
) -> None:
    world.apply("A", first)
    assert world.apply("B", second)["message"] == conflict(place, owner='"A"')


def test_merging_lists_hold_the_items_of_both_in_the_order_of_who_applied_last(world: World) -> None:
    world.apply("A", spec(items=[{"name": "a"}, {"name": "b"}, {"name": "c"}], colors=["red", "green"]))
    world.apply("B", spec(items=[{"name": "c"}, {"name": "d"}, {"name": "a"}], colors=["blue", "green"]))
    assert [each["name"] for each in world.live["spec"]["items"]] == ["b", "c", "d", "a"]
    assert world.live["spec"]["colors"] == ["red", "blue", "green"]
    world.apply("A", spec(items=[{"name": "b"}]))
    assert [each["name"] for each in world.live["spec"]["items"]] == ["b", "c", "d", "a"]
    assert world.live["spec"]["colors"] == ["blue", "green"]


@pytest.mark.parametrize(
    ("first", "second", "together"),
    [
        ("abc", "c", "abc"),
        ("abc", "ca", "bca"),
        ("abc", "d", "abcd"),
        ("abc", "da", "dabc"),
        ("abc", "ad", "abcd"),
        ("abc", "cda", "bcda"),
        ("abcd", "dxb", "acdxb"),
        ("abcd", "xcyaz", "bxcdyaz"),
        ("abcde", "ebxd", "acebxd"),
        ("ab", "ba", "ba"),
    ],
)
def test_a_merged_list_has_this_order(world: World, first: str, second: str, together: str) -> None:
    world.apply("A", spec(colors=list(first)))
    world.apply("B", spec(colors=list(second)))
    assert "".join(world.live["spec"]["colors"]) == together


def test_an_update_takes_what_it_changes_and_the_next_apply_is_in_conflict(world: World) -> None:
    world.apply("A", spec(size=1, title="t"))
    world.merge("ctl", spec(size=2))
    assert owners(world) == {"A": owns(title=True), "ctl*": owns(size=True)}
    refused = world.apply("A", spec(size=1, title="t"))
    assert refused["message"] == conflict(".spec.size", owner=f'"ctl" using {VERSION}')


def test_an_update_that_removes_a_field_takes_it_from_every_owner(world: World) -> None:
    world.apply("A", spec(size=1, title="t", colors=["red", "blue"]))
    world.apply("B", spec(size=1))
    world.merge("ctl", spec(size=None, colors=["blue"]))
    assert owners(world) == {"A": owns(colors={'v:"blue"': True}, title=True)}


def test_an_owner_hands_over_by_applying_less_after_the_other_applied_the_same(world: World) -> None:
    world.create("ctl", spec(size=1, title="t"))
    assert owners(world) == {"ctl*": owns(**{".": True, "size": True, "title": True})}
    assert world.apply("A", spec(size=1)) == {}
    assert world.apply("A", spec(size=2))["reason"] == "Conflict"
    world.merge("A", spec(size=2))
    assert owners(world) == {
        "A*": owns(size=True),
        "ctl*": owns(**{".": True, "title": True}),
    }


def test_what_an_updater_owns_stays_when_an_applier_gives_it_up(world: World) -> None:
    world.create("ctl", spec(tags={"k": "v"}))
    world.apply("A", spec(tags={"k": "v", "l": "w"}))
    world.apply("A", {})
    assert world.live["spec"] == {"tags": {"k": "v"}}


# -- three managers -----------------------------------------------------------------------------------------


def test_three_managers_share_a_list_each_with_items_and_fields_of_its_own(world: World) -> None:
    world.apply("A", spec(items=[{"name": "a", "image": "i"}]))
    world.apply("B", spec(items=[{"name": "a", "env": {"X": "1"}}, {"name": "b"}]))
    world.apply("C", spec(items=[{"name": "a", "flags": [1, 2]}, {"name": "b", "image": "j"}]))
    item = {".": True, "name": True}
    assert owners(world) == {
        "A": owns(items={'k:{"name":"a"}': {**item, "image": True}}),
        "B": owns(items={'k:{"name":"a"}': {**item, "env": {"X": True}}, 'k:{"name":"b"}': item}),
        "C": owns(
            items={
                'k:{"name":"a"}': {**item, "flags": {"v:1": True, "v:2": True}},
                'k:{"name":"b"}': {**item, "image": True},
            }
        ),
    }
    world.apply("B", {})
    world.apply("C", spec(items=[{"name": "a"}]))
    assert world.live["spec"]["items"] == [{"name": "a", "image": "i"}]


def test_conflicts_with_two_others_are_told_by_owner(world: World) -> None:
    world.apply("A", spec(size=1, title="t"))
    world.apply("B", spec(size=1))
    world.merge("ctl", spec(on=True))
    refused = world.apply("C", spec(size=2, title="u", on=False))
    assert refused["message"] == (
        'Apply failed with 4 conflicts: conflicts with "A":\n- .spec.size\n- .spec.title\n'
        f'conflicts with "B":\n- .spec.size\nconflicts with "ctl" using {VERSION}:\n- .spec.on'
    )
    assert len(refused["details"]["causes"]) == 4


# -- subresources, resets, newcomers ------------------------------------------------------------------------


def test_owners_of_the_status_own_nothing_else(world: World) -> None:
    world.apply("A", {**spec(size=1), "status": {"phase": "x"}})
    world.apply("S", {**spec(size=2), "status": {"phase": "y"}}, status=True)
    world.merge("ctl", {**spec(size=3), "status": {"seen": 1}}, status=True)
    assert owners(world) == {
        "A": owns(size=True),
        "S status": {"f:status": {"f:phase": {}}},
        "ctl* status": {"f:status": {"f:seen": {}}},
    }
    refused = world.apply("T", {"status": {"phase": "z"}}, status=True)
    assert refused["message"] == conflict(".status.phase", owner='"S" with subresource "status"')


def test_after_a_reset_nobody_owns_anything_until_the_next_apply(world: World) -> None:
    world.apply("A", spec(size=1, title="t"))
    world.merge("ctl", {"metadata": {"managedFields": [{}]}})
    world.merge("ctl", spec(on=True))
    assert owners(world) == {}
    refused = world.apply("A", spec(size=2))
    assert refused["message"] == conflict(".spec.size", owner=f'"before-first-apply" using {VERSION}')
    assert world.apply("A", spec(size=1)) == {}
    assert owners(world) == {
        "A": owns(size=True),
        "before-first-apply*": owns(**{".": True, "on": True, "size": True, "title": True}),
    }


def test_owners_can_be_stated_and_unreadable_statements_are_ignored(world: World) -> None:
    world.apply("A", spec(size=1))
    good = {
        "manager": "M",
        "operation": "Apply",
        "apiVersion": VERSION,
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:size": {}}},
    }
    world.merge("ctl", {"metadata": {"managedFields": [{**good, "operation": "Guess"}]}})
    assert owners(world) == {"A": owns(size=True)}
    world.merge("ctl", {"metadata": {"managedFields": [good]}})
    assert owners(world) == {"M": owns(size=True)}


def test_the_oldest_of_more_than_ten_updaters_are_joined(world: World) -> None:
    world.create("m00", spec(tags={"m00": "x"}))
    for number in range(1, 14):
        world.merge(f"m{number:02}", spec(tags={f"m{number:02}": "x"}))
    joined = owners(world)
    assert next(iter(joined)) == "ancient-changes*"
    assert len(joined) == 10
    assert {f"f:m{number:02}" for number in range(5)} <= set(joined["ancient-changes*"]["f:spec"]["f:tags"])


def test_kubectl_leaves_client_side_apply_without_conflicts_and_keeps_its_annotation(
    world: World,
) -> None:
    before = {"apiVersion": VERSION, "kind": "Gadget", "spec": {"size": 1, "title": "t"}}
    annotations = {LAST_APPLIED: json.dumps(before)}
    fields = {"metadata": {"annotations": annotations}, **spec(size=1, title="t")}
    world.create("kubectl-client-side-apply", fields)
    assert world.apply("other", spec(size=2))["reason"] == "Conflict"
    assert world.apply("kubectl", spec(size=2, title="t")) == {}
    assert owners(world)["kubectl"] == owns(size=True, title=True)
    assert owners(world)["kubectl-client-side-apply*"] == {
        "f:metadata": {"f:annotations": {".": {}, f"f:{LAST_APPLIED}": {}}},
        "f:spec": {".": {}, "f:title": {}},
    }
    kept = world.live["metadata"]["annotations"][LAST_APPLIED]
    name = world.live["metadata"]["name"]
    assert kept == (
        f'{{"apiVersion":"{VERSION}","kind":"Gadget","metadata":{{"name":"{name}"}},'
        '"spec":{"size":2,"title":"t"}}\n'
    )


def test_kubectl_is_in_conflict_over_what_others_changed_since_client_side_apply(world: World) -> None:
    before = {"apiVersion": VERSION, "kind": "Gadget", "spec": {"size": 1, "title": "t"}}
    annotations = {LAST_APPLIED: json.dumps(before)}
    fields = {"metadata": {"annotations": annotations}, **spec(size=1, title="t")}
    world.create("kubectl-client-side-apply", fields)
    world.merge("ctl", spec(size=5))
    refused = world.apply("kubectl", spec(size=2, title="u"))
    assert refused["message"] == conflict(".spec.size", owner=f'"ctl" using {VERSION}')


# -- refusals -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"bogus": 1}, ".bogus: field not declared in schema"),
        ({"tags": "x"}, ".tags: expected map, got &{x}"),
        ({"colors": {"a": 1}}, ".colors: expected list, got &{map[a:1]}"),
        ({"size": "x"}, ".size: expected numeric (int or float), got string"),
        ({"on": 1.5}, ".on: expected boolean, got &{1.5}"),
        (
            {"title": [1]},
            ".title: expected string, got &value.valueUnstructured{Value:[]interface {}{1}}",
        ),
        ({"colors": ["a", "a"]}, '.colors: duplicate entries for key [="a"]'),
        ({"items": [{"name": "a"}, {"name": "a"}]}, '.items: duplicate entries for key [name="a"]'),
        ({"items": [None]}, f".items: {KEYED} may not have a null element"),
        ({"items": [1]}, f".items: {KEYED} may not have non-map elements"),
        ({"items": [{"image": "i"}]}, f".items: {KEYED} {NO_KEY}"),
        ({"colors": [{"a": 1}]}, f".colors: {UNKEYED} has an element that's a map type"),
        (
            {"colors": [[1]]},
            ".colors: element 0: not supported: associative list with lists as elements",
        ),
        ({"colors": [None]}, f".colors: {UNKEYED} has an element that's an explicit null"),
    ],
)
def test_what_does_not_fit_the_schema_is_refused_where_it_stands(
    world: World, fields: Any, message: str
) -> None:
    world.apply("A", spec(size=1))
    name = world.live["metadata"]["name"]
    subject = f"(/{name}; {GROUP}/v1, Kind=Gadget)"
    refused = world.apply("A", {"spec": fields})
    assert refused["message"] == f"failed to create typed patch object {subject}: .spec{message}"
    assert (refused["code"], refused.get("reason")) == (500, None)


def test_several_problems_are_listed(world: World) -> None:
    refused = world.apply("A", {"metadata": {"labels": {"a": 1}, "finalizers": "x"}})
    assert sorted(refused["message"].splitlines()[1:]) == [
        "  .metadata.finalizers: expected list, got &{x}",
        "  .metadata.labels.a: expected string, got &value.valueUnstructured{Value:1}",
    ]


def test_owners_in_the_configuration_are_refused(world: World) -> None:
    refused = world.apply("A", {"metadata": {"managedFields": []}})
    assert (refused["code"], refused["reason"]) == (400, "BadRequest")
    assert refused["message"] == "metadata.managedFields must be nil"


@pytest.mark.parametrize(
    ("managed", "told"),
    [
        ("x", ".metadata.managedFields: expected list, got &{x}"),
        (
            [{"manager": 1}],
            ".metadata.managedFields[0].manager: expected string, got &value.valueUnstructured",
        ),
    ],
)
def test_owners_of_wrong_types_are_refused_like_anything_of_a_wrong_type(
    world: World, managed: Any, told: str
) -> None:
    refused = world.apply("A", {"metadata": {"managedFields": managed}})
    assert refused["code"] == 500
    assert told in refused["message"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"kind": "Foo"}, f"invalid object type: {GROUP}/v1, Kind=Foo"),
        ({"apiVersion": "v1"}, "invalid object type: /v1, Kind=Gadget"),
        ({"apiVersion": "", "kind": ""}, "invalid object type: /, Kind="),
    ],
)
def test_another_type_is_refused(wrong: dict[str, str], message: str) -> None:
    body = {**gadget("g", {}), **wrong}
    with pytest.raises(Refused) as refused:
        applied(None, body, gadget_target(), manager="A", now=NOW)
    assert (refused.value.code, refused.value.message) == (400, message)


# -- on our side alone --------------------------------------------------------------------------------------


def test_nothing_that_is_given_is_changed() -> None:
    live = applied(None, gadget("g", spec(items=[{"name": "a"}])), gadget_target(), manager="A", now=NOW)
    config = gadget("g", spec(items=[{"name": "b"}, {"name": "a", "image": "i"}]))
    before = json.dumps([live, config])
    applied(live, config, gadget_target(), manager="A", now=NOW)
    updated(live, config, gadget_target(), manager="B", now=NOW)
    assert json.dumps([live, config]) == before


def test_a_conflict_is_a_conflict_to_those_who_catch() -> None:
    live = applied(None, gadget("g", spec(size=1)), gadget_target(), manager="A", now=NOW)
    with pytest.raises(ApplyConflict) as refused:
        applied(live, gadget("g", spec(size=2)), gadget_target(), manager="B", now=NOW)
    assert refused.value.http_status == 409
    assert [cause.field for cause in refused.value.causes] == [".spec.size"]


def test_owners_in_versions_that_are_no_longer_known_are_forgotten() -> None:
    old = gadget_target()
    live = created(gadget("g", spec(size=1)), old, manager="A", now=NOW)
    later = msgspec.structs.replace(old, api_version=f"{GROUP}/v2", served=frozenset({f"{GROUP}/v2"}))
    live["metadata"]["uid"] = "u"
    new = {**live, "spec": {"size": 1, "title": "t"}}
    lines = updated(live, new, later, manager="B", now=NOW)["metadata"]["managedFields"]
    assert [(line["manager"], line["apiVersion"]) for line in lines] == [("B", f"{GROUP}/v2")]


def test_only_times_of_owners_do_not_make_a_change() -> None:
    live = created(gadget("g", spec(size=1)), gadget_target(), manager="A", now=NOW)
    later = created(gadget("g", spec(size=1)), gadget_target(), manager="A", now=NOW.replace(year=2027))
    assert settled(live, later) == live
    changed = {**later, "spec": {"size": 2}}
    assert settled(live, changed) == changed


def test_items_that_share_a_key_in_the_live_object_are_owned_together_and_replaced_by_an_apply() -> None:
    twice = gadget("g", spec(items=[{"name": "a", "image": "i"}, {"name": "a", "image": "j"}]))
    live = created(twice, gadget_target(), manager="ctl", now=NOW)
    assert live["metadata"]["managedFields"][0]["fieldsV1"] == {
        "f:spec": {".": {}, "f:items": {".": {}, 'k:{"name":"a"}': {}}}
    }
    once = gadget("g", spec(items=[{"name": "a", "image": "k"}]))
    new = applied(live, once, gadget_target(), manager="A", force=True, now=NOW)
    assert new["spec"]["items"] == [{"name": "a", "image": "k"}]


def test_a_list_that_has_become_atomic_is_owned_as_a_whole() -> None:
    live = created(gadget("g", spec(colors=["red"])), gadget_target(), manager="A", now=NOW)
    live["metadata"]["uid"] = "u"
    live["metadata"]["managedFields"][0]["fieldsV1"] = {
        "f:spec": {"f:steps": {"i:0": {}}, "f:selector": {"f:s": {}}}
    }
    new = {**live, "spec": {"colors": ["red"], "title": "t"}}
    lines = updated(live, new, gadget_target(), manager="B", now=NOW)["metadata"]["managedFields"]
    assert lines[0]["fieldsV1"] == {"f:spec": {"f:selector": {}, "f:steps": {}}}


def test_objects_whose_lists_cannot_be_told_apart_have_no_owners() -> None:
    broken = gadget("g", spec(items=["x"]))
    assert "managedFields" not in created(broken, gadget_target(), manager="A", now=NOW)["metadata"]
