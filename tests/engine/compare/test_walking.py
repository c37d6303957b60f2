"""The local compare by tables, and beside our own server-side apply on random objects."""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.compare.nudging import nudged
from tests.kube.merging.samples import GROUP, gadget, gadget_target
from trimtab.engine.compare.walking import as_kept, differences, schema_of
from trimtab.kube.merging.apply import Target, applied, updated
from trimtab.kube.merging.typed import ABSENT, same
from trimtab.kube.refusals import Refused
from trimtab.kube.schemas.defaults import defaulted
from trimtab.resources.manifests import Manifest

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def made(api_version: str, kind: str, /, **fields: Any) -> Manifest:
    metadata = {"name": "web", **fields.pop("metadata", {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def live_after(*writes: tuple[str, Manifest]) -> Manifest:
    """The live object of a built-in kind after some managers have applied to it by force."""
    live: Manifest | None = None
    for manager, manifest in writes:
        schema = schema_of(manifest)
        assert schema is not None
        target = Target(shape=schema, api_version=manifest["apiVersion"], kind=manifest["kind"])
        live = applied(live, manifest, target, manager=manager, force=True, now=NOW)
        live = {**defaulted(live, schema), "metadata": live["metadata"]}
    assert live is not None
    return live


def told(desired: Manifest, live: Manifest, **options: Any) -> list[tuple[str, Any, Any, str]]:
    """What differs: where, wanted, there, and by which rule."""

    def shown(value: Any) -> Any:
        return None if value is ABSENT else value

    return [
        ("/".join(each.pointer), shown(each.desired), shown(each.live), each.rule)
        for each in differences(desired, live, manager="trimtab", **options)
    ]


def config_map(data: Any, **metadata: Any) -> Manifest:
    return made("v1", "ConfigMap", data=data, metadata=metadata)


def deployment(containers: list[dict[str, Any]], **spec: Any) -> Manifest:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": containers}}
    return made(
        "apps/v1",
        "Deployment",
        spec={"selector": {"matchLabels": {"app": "web"}}, "template": template, **spec},
    )


def service(*ports: dict[str, Any]) -> Manifest:
    return made("v1", "Service", spec={"ports": list(ports)})


@pytest.mark.fact("D1")
def test_what_was_applied_does_not_differ() -> None:
    wanted = config_map({"a": "1"}, labels={"x": "y"})
    assert told(wanted, live_after(("trimtab", wanted))) == []


@pytest.mark.fact("D2")
@pytest.mark.parametrize("value", [None, {}])
def test_nothing_and_absent_are_the_same(value: Any) -> None:
    wanted = config_map({"a": "1"})
    assert told({**wanted, "binaryData": value}, live_after(("trimtab", wanted))) == []
    live = {**live_after(("trimtab", wanted)), "binaryData": None}
    assert told(wanted, live) == []


@pytest.mark.fact("D3")
def test_what_only_the_live_object_has_is_no_difference_and_what_is_otherwise_is() -> None:
    wanted = config_map({"a": "1"})
    live = live_after(("trimtab", wanted), ("other", config_map({"b": "2"})))
    live["status"] = {"phase": "odd"}
    assert told(wanted, live) == []
    assert told(config_map({"a": "2"}), live) == [("data/a", "2", "1", "changed")]
    assert told(config_map({"a": "1", "c": "3"}), live) == [("data/c", "3", None, "absent")]


def test_what_we_own_and_do_not_want_any_more_is_given_up() -> None:
    live = live_after(("trimtab", config_map({"a": "1", "b": "2"}, labels={"x": "y"})))
    assert told(config_map({"a": "1"}), live) == [
        ("data/b", None, "2", "given up"),
        ("metadata/labels", None, {"x": "y"}, "given up"),
    ]
    assert told(config_map(None), live)[0] == ("data/a", None, "1", "given up")


def test_what_others_own_as_well_stays() -> None:
    live = live_after(("trimtab", config_map({"a": "1", "b": "2"})), ("other", config_map({"b": "2"})))
    assert told(config_map({"a": "1"}), live) == []


@pytest.mark.parametrize(("wanted", "there"), [([], {"x": 1}), ({}, [1])])
def test_nothing_of_another_form_is_no_part_of_what_merges(wanted: Any, there: Any) -> None:
    gadget = made("example.com/v1", "Gadget", spec={"value": there})
    fields: Any = {"f:spec": {"f:value": {"f:x": {}}}}
    line = {"manager": "other", "operation": "Update", "apiVersion": "example.com/v1", "fieldsV1": fields}
    gadget["metadata"]["managedFields"] = [line]
    desired = made("example.com/v1", "Gadget", spec={"value": wanted})
    assert told(desired, gadget) == [("spec/value", wanted, there, "changed")]


def test_an_owner_in_another_version_keeps_nothing_for_certain() -> None:
    live = live_after(("trimtab", config_map({"a": "1", "b": "2"})), ("other", config_map({"b": "2"})))
    for line in live["metadata"]["managedFields"]:
        line["apiVersion"] = "v1" if line["manager"] == "trimtab" else "v2"
    assert told(config_map({"a": "1"}), live) == [("data/b", None, "2", "given up")]


def test_status_is_compared_only_when_asked_for() -> None:
    wanted = made("example.com/v1", "Gadget", status={"phase": "new"})
    live = {**wanted, "status": {"phase": "old"}}
    assert told(wanted, live) == []
    assert told(wanted, live, with_status=True) == [("status", {"phase": "new"}, {"phase": "old"}, "changed")]


@pytest.mark.fact("D5")
def test_a_namespace_is_no_difference() -> None:
    wanted = config_map({"a": "1"})
    live = live_after(("trimtab", wanted))
    live["metadata"]["namespace"] = "shop"
    assert told(wanted, live) == []
    assert told(config_map({"a": "1"}, namespace="elsewhere"), live) == []


@pytest.mark.fact("D6")
def test_a_field_that_the_kind_does_not_know_is_told() -> None:
    wanted = deployment([{"name": "a", "image": "i"}])
    live = live_after(("trimtab", wanted))
    wanted["spec"]["replica"] = 3
    assert told(wanted, live) == [("spec/replica", 3, None, "absent")]


@pytest.mark.fact("D7")
@pytest.mark.parametrize("wrong", ["three", {"a": 1}, [1], True])
def test_a_value_of_the_wrong_type_is_told_not_tripped_over(wrong: Any) -> None:
    live = live_after(("trimtab", deployment([{"name": "a", "image": "i"}], replicas=3)))
    found = told(deployment([{"name": "a", "image": "i"}], replicas=wrong), live)
    assert found == [("spec/replicas", wrong, 3, "changed")]


@pytest.mark.parametrize("wrong", ["text", 3, {"name": "a"}, [3], [["a"]], [{"image": "i"}], None])
def test_lists_of_the_wrong_form_are_told_not_tripped_over(wrong: Any) -> None:
    live = live_after(("trimtab", deployment([{"name": "a", "image": "i"}])))
    assert told(deployment(wrong), live)


@pytest.mark.fact("D10")
def test_an_empty_creation_time_is_no_difference() -> None:
    wanted = config_map({"a": "1"})
    live = live_after(("trimtab", wanted))
    live["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    assert told(config_map({"a": "1"}, creationTimestamp=None), live) == []


@pytest.mark.fact("D19")
@pytest.mark.parametrize(
    ("written", "kept"), [("0.5", "500m"), ("1000m", "1"), ("0.2", "200m"), ("1024Mi", "1Gi"), (1, "1")]
)
def test_quantities_are_compared_as_servers_write_them(written: Any, kept: str) -> None:
    wanted = deployment([{"name": "a", "image": "i", "resources": {"limits": {"memory": written}}}])
    live = live_after(("trimtab", wanted))
    limits = live["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]
    assert limits == {"memory": kept}
    assert told(wanted, live) == []
    limits["memory"] = "7"
    assert [each[2:] for each in told(wanted, live)] == [("7", "changed")]


@pytest.mark.fact("D19")
def test_objects_of_unknown_kinds_stay_as_they_are() -> None:
    wanted = made("example.com/v1", "Gadget", spec={"limits": {"memory": "1024Mi"}})
    assert as_kept(wanted, None)["spec"] == wanted["spec"]
    assert told(wanted, {**wanted, "spec": {"limits": {"memory": "1Gi"}}}) != []


@pytest.mark.fact("D20")
def test_an_empty_creation_time_in_templates_is_no_difference() -> None:
    claim = {
        "metadata": {"name": "data", "creationTimestamp": None},
        "spec": {"accessModes": ["ReadWriteOnce"]},
    }
    template = {
        "metadata": {"labels": {"app": "web"}, "creationTimestamp": None},
        "spec": {"containers": [{"name": "a", "image": "i"}]},
    }
    spec = {
        "selector": {"matchLabels": {"app": "web"}},
        "serviceName": "web",
        "template": template,
        "volumeClaimTemplates": [claim],
    }
    wanted = made("apps/v1", "StatefulSet", spec=spec)
    live = live_after(("trimtab", wanted))
    assert live["spec"]["volumeClaimTemplates"] != [claim], "the server fills in defaults"
    assert told(wanted, live) == []


@pytest.mark.fact("D23", "D28")
def test_ports_are_told_apart_by_number_and_protocol_even_if_that_is_left_out() -> None:
    tcp, udp, web = {"port": 53, "name": "tcp"}, {"port": 53, "protocol": "UDP"}, {"port": 80, "name": "web"}
    wanted = service(tcp, {**udp, "name": "udp"}, web)
    live = live_after(("trimtab", wanted))
    assert told(wanted, live) == []
    changed = service(tcp, {**udp, "name": "dns"}, web)
    assert told(changed, live) == [("spec/ports/1/name", "dns", "udp", "changed")]


def test_a_key_that_is_left_out_means_its_default_not_whatever_is_there() -> None:
    live = live_after(("trimtab", service({"port": 53, "protocol": "UDP"})))
    found = told(service({"port": 53}), live)
    assert [(where, rule) for where, _, _, rule in found] == [
        ("spec/ports/0", "absent"),
        ("spec/ports/0", "given up"),
    ]


@pytest.mark.fact("D26")
def test_nested_items_that_are_newly_wanted_appear() -> None:
    plain = {"name": "a", "image": "i"}
    live = live_after(("trimtab", deployment([plain])))
    more = {**plain, "env": [{"name": "X", "value": "1"}], "ports": [{"containerPort": 80}]}
    where = "spec/template/spec/containers/0"
    assert told(deployment([more]), live) == [
        (f"{where}/env", [{"name": "X", "value": "1"}], None, "absent"),
        (f"{where}/ports", [{"containerPort": 80}], None, "absent"),
    ]
    live = live_after(("trimtab", deployment([more])))
    env = [{"name": "X", "value": "1"}, {"name": "Y", "value": "2"}]
    assert told(deployment([{**more, "env": env}]), live) == [(f"{where}/env/1", env[1], None, "absent")]


@pytest.mark.fact("D27")
def test_labels_and_items_that_are_no_longer_wanted_appear_as_removals() -> None:
    both = [{"name": "a", "image": "i"}, {"name": "b", "image": "i"}]
    wanted = deployment(both)
    wanted["metadata"]["labels"] = {"x": "1", "y": "2"}
    live = live_after(("trimtab", wanted))
    less = deployment(both[:1])
    less["metadata"]["labels"] = {"x": "1"}
    found = told(less, live)
    assert [(where, rule) for where, _, _, rule in found] == [
        ("spec/template/spec/containers/1", "given up"),
        ("metadata/labels/y", "given up"),
    ]


def test_the_order_of_items_that_merge_is_part_of_what_is_wanted() -> None:
    a, b, c = ({"name": name, "image": "i"} for name in "abc")
    live = live_after(("trimtab", deployment([a, b])), ("other", deployment([a, c, b])))
    names = [each["name"] for each in live["spec"]["template"]["spec"]["containers"]]
    assert names == ["a", "c", "b"]
    assert told(deployment([a, b]), live) == []
    assert [rule for _, _, _, rule in told(deployment([b, a]), live)] == ["reordered"]


@pytest.mark.fact("D29")
def test_versions_and_owners_never_differ() -> None:
    wanted = config_map({"a": "1"}, resourceVersion="1", uid="u", generation=4, managedFields=[])
    live = live_after(("trimtab", config_map({"a": "1"})))
    live["metadata"] |= {"resourceVersion": "77", "uid": "v", "generation": 9}
    assert told(wanted, live) == []


def test_an_object_with_nothing_but_a_name_does_not_differ() -> None:
    wanted = made("v1", "ServiceAccount")
    assert live_after(("trimtab", wanted))["metadata"].get("managedFields", []) == []
    assert told(wanted, {**wanted, "metadata": {"name": "web", "uid": "u"}}) == []


@pytest.mark.parametrize("where", ["live", "applied"])
def test_of_another_version_nothing_can_be_told_here(where: str) -> None:
    wanted = config_map({"a": "1"})
    live = live_after(("trimtab", wanted))
    if where == "live":
        live["apiVersion"] = "v2"
    else:
        live["metadata"]["managedFields"][0]["apiVersion"] = "v2"
    assert [rule for _, _, _, rule in told(wanted, live)] == ["other version"]


def test_true_is_not_one() -> None:
    live = made("example.com/v1", "Gadget", spec={"on": 1})
    assert told(made("example.com/v1", "Gadget", spec={"on": 1}), live) == []
    assert told(made("example.com/v1", "Gadget", spec={"on": True}), live) != []


def test_odd_owners_are_nobody() -> None:
    wanted = config_map({"a": "1"})
    lines: list[Any] = [
        "text",
        [3],
        [{"manager": "trimtab", "operation": "Apply", "fieldsV1": "x"}],
        [{}],
        None,
    ]
    for odd in lines:
        live = config_map({"a": "1", "b": "2"}, managedFields=odd)
        assert told(wanted, live) == []


def test_nothing_that_is_given_is_changed() -> None:
    wanted = deployment([{"name": "a", "image": "i", "ports": [{"containerPort": 80}]}], replicas=None)
    live = live_after(("trimtab", deployment([{"name": "a", "image": "j"}])))
    before = copy.deepcopy((wanted, live))
    differences(wanted, live, manager="trimtab")
    assert (wanted, live) == before


# -- beside our own server-side apply -----------------------------------------------------------------------

TARGET = gadget_target()
CHOICES = ("trimtab", "trimtab", "other", "third", "editor")


def random_gadget(random: Random) -> Manifest:
    fields = gadget(random)
    metadata = {"name": "g", **fields.pop("metadata", {})}
    return {"apiVersion": f"{GROUP}/v1", "kind": "Gadget", "metadata": metadata, **fields}


def lived(random: Random) -> tuple[Manifest, Manifest]:
    """A live object that several managers have written to, and what we applied last."""
    wanted = random_gadget(random)
    live = applied(None, wanted, TARGET, manager="trimtab", now=NOW)
    live = {**live, "metadata": {**live["metadata"], "uid": "u"}}
    for _ in range(random.randrange(4)):
        manager, new = random.choice(CHOICES), random_gadget(random)
        if manager == "editor":
            metadata = {**new["metadata"], "uid": "u"}
            live = updated(live, {**new, "metadata": metadata}, TARGET, manager=manager, now=NOW)
            continue
        live = applied(live, new, TARGET, manager=manager, force=True, now=NOW)
        if manager == "trimtab":
            wanted = new
    return live, wanted


def settled(manifest: Manifest) -> Manifest:
    """An object as a server keeps it, less its owners: in metadata, a struct, empty things vanish."""
    metadata = {
        name: value
        for name, value in manifest["metadata"].items()
        if name != "managedFields" and value not in (None, {}, [])
    }
    return {**manifest, "metadata": metadata}


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32))
def test_same_is_only_said_where_an_apply_changes_nothing(seed: int) -> None:
    random = Random(seed)
    live, last = lived(random)
    desired = random.choice([last, random_gadget(random), nudged(random, last)])
    try:
        after = applied(live, desired, TARGET, manager="trimtab", force=True, now=NOW)
    except Refused:
        return
    if not differences(desired, live, manager="trimtab"):
        assert same(settled(live), settled(after))
