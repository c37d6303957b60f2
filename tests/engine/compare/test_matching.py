"""From manifests to desired objects, and from those to pairs; one bad object never harms the others."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.engine.compare.matching import (
    Finding,
    FindingKind,
    Pair,
    Role,
    Terms,
    Wanted,
    desired_from,
    paired,
    reading_of,
)
from trimtab.engine.compare.tracking import OWNER, TRACKING_ID, ArgoTracking, Method, OwnerAnnotation
from trimtab.engine.live import Live
from trimtab.engine.rows import Desired
from trimtab.engine.stretches import STRETCH
from trimtab.resources.keys import ResourceKey
from trimtab.resources.manifests import Found, Manifest

SCOPES = {
    ("", "ConfigMap"): True,
    ("", "Secret"): True,
    ("", "Namespace"): False,
    ("apps", "Deployment"): True,
}


def scope_of(group: str, kind: str) -> bool | None:
    return SCOPES.get((group, kind))


TERMS = Terms(unit="u", tracking=OwnerAnnotation("i"), namespace="shop", scope_of=scope_of)


def terms(**more: Any) -> Terms:
    known = {name: getattr(TERMS, name) for name in TERMS.__struct_fields__}
    return Terms(**{**known, **more})


def config_map(name: str = "a", /, **metadata: Any) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, **metadata},
        "data": {"x": "1"},
    }


def namespace(name: str, /, **metadata: Any) -> Manifest:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, **metadata}}


def wanted(*manifests: Any, terms: Terms = TERMS) -> Wanted:
    found = [Found(manifest=each, where=f"manifest {number}") for number, each in enumerate(manifests, 1)]
    return desired_from(found, terms)


def names(found: Wanted) -> list[str]:
    return [str(one.key) for one in found.desired]


def kinds_of(found: Wanted) -> list[FindingKind]:
    return [each.kind for each in found.findings]


def test_an_object_is_marked_placed_and_named_by_its_content() -> None:
    given_one = config_map()
    before = copy.deepcopy(given_one)
    (one,) = wanted(given_one).desired
    assert one.key == ResourceKey("", "ConfigMap", "shop", "a")
    assert one.manifest["metadata"] == {"name": "a", "namespace": "shop", "annotations": {OWNER: "i/u"}}
    assert (one.api_version, one.where) == ("v1", "manifest 1")
    assert one.digest == wanted(given_one).desired[0].digest != wanted(config_map("b")).desired[0].digest
    assert given_one == before
    assert repr(one) == "<desired ConfigMap shop/a>"


def test_what_only_servers_write_is_not_wanted() -> None:
    servers = {
        "uid": "u",
        "resourceVersion": "1",
        "generation": 2,
        "managedFields": [],
        "selfLink": "/",
    }
    (one,) = wanted(config_map(creationTimestamp=None, **servers)).desired
    assert set(one.manifest["metadata"]) == {"name", "namespace", "annotations"}


@pytest.mark.fact("M2")
def test_of_repeated_objects_the_last_counts_and_one_warning_says_how_often() -> None:
    last = {**config_map(), "data": {"x": "3"}}
    found = wanted(config_map(), config_map("b"), config_map(namespace="shop"), last)
    assert names(found) == ["ConfigMap shop/a", "ConfigMap shop/b"]
    assert found.desired[0].manifest["data"] == {"x": "3"}
    assert [str(each) for each in found.findings] == [
        "ConfigMap shop/a: it is declared 3 times; the last one counts. Declare it once."
    ]
    assert found.findings[0].kind is FindingKind.REPEATED


@pytest.mark.fact("M3")
def test_objects_with_only_the_beginning_of_a_name_are_all_kept() -> None:
    job = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "run-"}}
    found = wanted(job, job, config_map())
    assert names(found) == ["ConfigMap shop/run-0", "ConfigMap shop/run-1", "ConfigMap shop/a"]
    assert [one.generate_name for one in found.desired] == ["run-", "run-", ""]
    assert "name" not in found.desired[0].manifest["metadata"]
    assert found.findings == ()


@pytest.mark.fact("M4")
@pytest.mark.parametrize("method", list(Method))
def test_a_cluster_wide_object_loses_its_namespace_and_is_marked_anew(method: Method) -> None:
    found = wanted(namespace("n", namespace="odd"), terms=terms(tracking=ArgoTracking(method=method)))
    (one,) = found.desired
    assert one.key == ResourceKey("", "Namespace", "", "n")
    assert "namespace" not in one.manifest["metadata"]
    if method is not Method.LABEL:
        assert one.manifest["metadata"]["annotations"] == {TRACKING_ID: "u:/Namespace:shop/n"}


@pytest.mark.fact("M5")
def test_a_namespaced_object_gets_the_units_namespace_and_is_marked_anew() -> None:
    argo = terms(tracking=ArgoTracking())
    found = wanted(config_map(), config_map("b", namespace="other"), terms=argo)
    marks = [one.manifest["metadata"]["annotations"][TRACKING_ID] for one in found.desired]
    assert marks == ["u:/ConfigMap:shop/a", "u:/ConfigMap:other/b"]
    assert [one.key.namespace for one in found.desired] == ["shop", "other"]


def test_text_of_secrets_is_wanted_as_data_so_that_it_can_be_taken_back() -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"a": "1"}}
    (one,) = wanted(secret).desired
    assert (one.manifest["data"], "stringData" in one.manifest) == ({"a": "MQ=="}, False)


def test_the_scope_of_a_kind_may_be_declared_beside_its_objects() -> None:
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.example.com"},
        "spec": {"group": "example.com", "names": {"kind": "Gadget"}, "scope": "Cluster"},
    }
    gadget = {"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "g"}}
    known = terms(scope_of=lambda _group, kind: False if kind == "CustomResourceDefinition" else None)
    found = wanted(gadget, definition, terms=known)
    assert (names(found)[0], found.findings) == ("Gadget.example.com g", ())
    alone = wanted(gadget)
    assert names(alone) == ["Gadget.example.com shop/g"]
    assert [str(each) for each in alone.findings] == [
        (
            "Gadget.example.com shop/g: the cluster knows no Gadget of example.com/v1."
            " Install its definition, or declare that in the same unit."
        )
    ]


def test_lists_are_taken_apart() -> None:
    listed = {
        "apiVersion": "v1",
        "kind": "ConfigMapList",
        "items": [{"metadata": {"name": "a"}}, config_map("b")],
    }
    assert names(wanted(listed)) == ["ConfigMap shop/a", "ConfigMap shop/b"]
    broken = wanted({"apiVersion": "v1", "kind": "List"}, config_map())
    assert (names(broken), kinds_of(broken), broken.complete) == (
        ["ConfigMap shop/a"],
        [FindingKind.INVALID],
        False,
    )


def test_of_a_list_each_item_that_cannot_be_read_is_named_and_the_others_count() -> None:
    inner = {"apiVersion": "v1", "kind": "List", "items": [config_map("two"), {"kind": 5}]}
    nameless = {"apiVersion": "v1", "metadata": {"name": "three"}}
    listed = {"apiVersion": "v1", "kind": "List", "items": [config_map("one"), "text", inner, nameless]}
    found = wanted(listed, config_map("four"))
    assert [each.key.name for each in found.desired] == ["one", "two", "four"]
    assert [(each.subject, each.reason) for each in found.findings] == [
        ("manifest 1, item 2", "a manifest is text, not a map"),
        ("manifest 1, item 3, item 2", "kind is a number, not text"),
        ("manifest 1, item 4 (named three)", "kind is missing"),
    ]
    assert not found.complete  # what they were meant to be is not known, so nothing may be deleted


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ({"kind": "ConfigMap", "metadata": {"name": "x"}}, "apiVersion is missing"),
        ({"apiVersion": "v1", "metadata": {"name": "x"}}, "kind is missing"),
        ({"apiVersion": "v1", "kind": "ConfigMap"}, "metadata.name is missing"),
        ({"apiVersion": "v1", "kind": "ConfigMap", "metadata": "x"}, "metadata is text, not a map"),
        (
            {"apiVersion": 1, "kind": "ConfigMap", "metadata": {"name": "x"}},
            "apiVersion is a number, not text",
        ),
        (config_map(".."), "metadata.name is `.` or `..` or contains `/` or `%`"),
        ({}, "metadata.name is missing"),
    ],
)
def test_an_object_that_cannot_be_named_is_told_and_nothing_may_be_pruned(bad: Manifest, reason: str) -> None:
    found = wanted(config_map(), bad, config_map("b"))
    assert names(found) == ["ConfigMap shop/a", "ConfigMap shop/b"]
    (finding,) = found.findings
    assert (finding.kind, finding.subject, finding.reason) == (FindingKind.INVALID, "manifest 2", reason)
    assert finding.remedy
    assert not found.complete
    (key,) = found.refused
    assert key.name == "manifest 2", "it fails in its own place"


@pytest.mark.parametrize("field", ["labels", "annotations"])
@pytest.mark.parametrize("value", ["text", {"n": 1}, [1]])
def test_an_object_with_odd_metadata_is_refused_by_name_and_kept_in_the_cluster(
    field: str, value: Any
) -> None:
    found = wanted(config_map(**{field: value}), config_map("b"))
    assert names(found) == ["ConfigMap shop/b"]
    key = ResourceKey("", "ConfigMap", "shop", "a")
    assert list(found.refused) == [key]
    assert found.refused[key].kind is FindingKind.INVALID
    assert found.complete


def test_a_namespace_outside_the_allowed_ones_is_refused() -> None:
    found = wanted(
        config_map(namespace="other"), config_map("b"), terms=terms(namespaces=frozenset({"shop"}))
    )
    assert names(found) == ["ConfigMap shop/b"]
    assert [str(each) for each in found.findings] == [
        (
            "ConfigMap other/a: the namespace other is not among those allowed."
            " Move the object, or have this place allowed."
        )
    ]
    assert kinds_of(found) == [FindingKind.OUTSIDE]
    assert found.complete


def test_cluster_wide_objects_may_be_out_of_bounds() -> None:
    found = wanted(namespace("n"), config_map(), terms=terms(cluster_resources=False))
    assert (names(found), kinds_of(found)) == (["ConfigMap shop/a"], [FindingKind.OUTSIDE])


def test_an_object_without_any_namespace_to_go_to_is_refused() -> None:
    found = wanted(config_map(), namespace("n"), terms=terms(namespace=""))
    assert (names(found), kinds_of(found)) == (["Namespace n"], [FindingKind.INVALID])
    assert found.findings[0].reason == "it needs a namespace and has none"


def test_an_object_that_is_too_large_is_refused() -> None:
    large = {**config_map(), "data": {"x": "y" * 2000}}
    found = wanted(large, config_map("b"), terms=terms(largest=1000))
    assert (names(found), kinds_of(found)) == (["ConfigMap shop/b"], [FindingKind.TOO_LARGE])
    assert "may have 1000" in found.findings[0].reason


def test_an_object_that_json_cannot_say_is_refused() -> None:
    found = wanted({**config_map(), "data": {"x": object()}}, config_map("b"))
    assert (names(found), kinds_of(found)) == (["ConfigMap shop/b"], [FindingKind.INVALID])


def test_an_excluded_kind_is_left_alone_with_a_warning() -> None:
    found = wanted(
        config_map(), namespace("n"), terms=terms(includes=lambda _group, kind: kind != "Namespace")
    )
    assert (names(found), kinds_of(found)) == (["ConfigMap shop/a"], [FindingKind.EXCLUDED])


def test_of_a_good_and_a_bad_declaration_of_one_object_the_last_counts() -> None:
    bad = config_map(labels=[])
    assert (names(wanted(config_map(), bad)), len(wanted(config_map(), bad).refused)) == ([], 1)
    assert (names(wanted(bad, config_map())), len(wanted(bad, config_map()).refused)) == (
        ["ConfigMap shop/a"],
        0,
    )


def test_hooks_stand_apart_and_ignored_objects_nowhere() -> None:
    roles = {"hook": Role.HOOK, "skip": Role.IGNORED}
    known = terms(role_of=lambda manifest: roles.get(manifest["metadata"]["name"], Role.RESOURCE))
    found = wanted(config_map("hook"), config_map("skip"), config_map(), terms=known)
    assert (names(found), [str(one.key) for one in found.hooks]) == (
        ["ConfigMap shop/a"],
        ["ConfigMap shop/hook"],
    )


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
ODD = st.fixed_dictionaries(
    {},
    optional={
        "apiVersion": JSON | st.just("v1"),
        "kind": JSON | st.sampled_from(["ConfigMap", "List", "Secret", "CustomResourceDefinition"]),
        "metadata": JSON | st.fixed_dictionaries({"name": JSON | st.just("a")}, optional={"labels": JSON}),
        "spec": JSON,
        "items": JSON,
        "stringData": JSON,
    },
)


@given(st.lists(ODD, max_size=4))
def test_whatever_is_declared_a_good_object_goes_through(odd: list[Any]) -> None:
    found = wanted(*odd, config_map("good"))
    assert "ConfigMap shop/good" in names(found)
    assert all(each.reason and each.remedy for each in found.findings)


# -- pairs --------------------------------------------------------------------------------------------------


def desired(kind: str, name: str, space: str = "shop") -> Desired:
    key = ResourceKey("", kind, space, name)
    return Desired(key=key, api_version="v1", manifest={}, digest=b"d")


def live(kind: str, name: str, space: str = "shop", uid: str = "") -> Live:
    key = ResourceKey("", kind, space, name)
    return Live(key=key, api_version="v1", uid=uid or str(key), resource_version="1")


def nothing(_key: ResourceKey) -> None:
    return None


def test_each_wanted_object_is_paired_in_order_and_the_rest_is_extra() -> None:
    a, b = desired("ConfigMap", "a"), desired("ConfigMap", "b")
    there, extra = live("ConfigMap", "b"), live("ConfigMap", "c")
    assert paired([a, b], [there, extra], nothing, scope_of) == (
        Pair(a, None),
        Pair(b, there),
        Pair(None, extra),
    )


def test_an_object_without_our_mark_is_looked_for() -> None:
    a, there = desired("ConfigMap", "a"), live("ConfigMap", "a")
    assert paired([a], [], {there.key: there}.get, scope_of) == (Pair(a, there),)


@pytest.mark.fact("M1")
def test_an_object_of_unknown_scope_is_looked_for_in_its_namespace_and_then_without() -> None:
    gadget = desired("Gadget", "g")
    inside, outside = live("Gadget", "g"), live("Gadget", "g", "")
    assert paired([gadget], [inside, outside], nothing) == (Pair(gadget, inside), Pair(None, outside))
    assert paired([gadget], [outside], nothing) == (Pair(gadget, outside),)
    assert paired([gadget], [], {outside.key: outside}.get) == (Pair(gadget, outside),)
    (pair,) = paired([gadget], [outside], nothing)
    assert pair.key == outside.key
    known = desired("ConfigMap", "g")
    assert paired([known], [live("ConfigMap", "g", "")], nothing, scope_of)[0] == Pair(known, None)


@pytest.mark.fact("M17")
def test_an_absent_live_object_is_a_pair_all_the_same() -> None:
    (pair,) = paired([desired("ConfigMap", "a")], [], nothing, scope_of)
    assert (pair.live, pair.key.name) == (None, "a")


def test_one_object_under_several_keys_is_there_once_as_it_is_wanted() -> None:
    old, new = live("OldIngress", "i", uid="1"), live("Ingress", "i", uid="1")
    one = desired("Ingress", "i")
    assert paired([one], [old, new], nothing, scope_of) == (Pair(one, new),)
    assert len(paired([], [old, new], nothing, scope_of)) == 1
    both = [desired("OldIngress", "i"), one]
    assert paired(both, [old, new], nothing, scope_of) == (Pair(both[0], old), Pair(one, new))


def test_a_finding_reads_as_a_sentence() -> None:
    finding = Finding(kind=FindingKind.INVALID, subject="it", reason="it is odd", remedy="Mend it")
    assert str(finding) == "it: it is odd. Mend it."


# -- in stretches -----------------------------------------------------------------------------------------


def stretches_of(manifests: list[Manifest]) -> list[list[str]]:
    """The names of the objects that are read between two yields."""
    read: list[list[str]] = [[]]

    def seen(manifest: Manifest) -> Role:
        read[-1].append(manifest["metadata"]["name"])
        return Role.RESOURCE

    given = [Found(manifest=each, where="a.yaml") for each in manifests]
    read.extend([] for _ in reading_of(given, terms(role_of=seen)))
    return read


def test_many_objects_are_read_in_short_stretches() -> None:
    names = [f"c{number}" for number in range(7 * STRETCH)]
    read = stretches_of([config_map(name) for name in names])
    assert [name for stretch in read for name in stretch] == names
    assert max(map(len, read)) <= STRETCH


def test_large_objects_make_shorter_stretches() -> None:
    large = [{**config_map(f"c{number}"), "data": {"x": "y" * 600_000}} for number in range(6)]
    assert max(map(len, stretches_of(large))) <= 2


def test_few_objects_are_read_in_one_stretch() -> None:
    assert stretches_of([config_map("a"), config_map("b")]) == [["a", "b"]]
