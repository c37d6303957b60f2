"""What differs, object by object and field by field; Secrets never show their values."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.engine.views import STAND_INS
from trimtab.app.differing import (
    Change,
    Differing,
    NotCompared,
    check_readable,
    diff_report,
    differing,
    differing_files,
    warnings_in,
)
from trimtab.engine.compare.judging import Lens
from trimtab.engine.compare.matching import Finding, FindingKind
from trimtab.engine.live import Live
from trimtab.engine.marks import Mark
from trimtab.engine.rows import Desired, Difference, Row, Verdict
from trimtab.errors import InvalidSpec
from trimtab.resources.keys import ResourceKey
from trimtab.resources.manifests import Found, Manifest, key_of

LENS = Lens(manager="trimtab", stand_ins=STAND_INS)
CANARY = "Y2FuYXJ5LW9mLXRoZS1taW5l"


def config(name: str = "web", *, namespace: str = "", **data: str) -> Manifest:
    place = {"namespace": namespace} if namespace else {}
    metadata = {"name": name, **place}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def gadget(**spec: Any) -> Manifest:
    return {"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "g"}, "spec": spec}


def row(desired: Manifest | None, live: Manifest | None, **facts: Any) -> Row:
    key = key_of(desired or live)
    wanted = Desired(key=key, api_version="v1", manifest=desired, digest=b"") if desired else None
    there = Live(key=key, api_version="v1", uid="1", resource_version="1") if live else None
    return Row(key=key, desired=wanted, live=there, **{"verdict": Verdict.OUT_OF_SYNC, **facts})


def found(*manifests: Manifest) -> list[Found]:
    return [Found(manifest=each, where=f"file, document {number}") for number, each in enumerate(manifests)]


def of_files(desired: Manifest, *live: Manifest, namespace: str = "") -> list[dict[str, Any]]:
    compared = differing_files(found(desired), found(*live), LENS, namespace=namespace)
    assert compared.problems == ()
    return [diff_report(each) for each in compared.objects]


def fields(reports: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    words = ("path", "live", "desired", "manager", "rule")
    return [tuple(each[word] for word in words) for report in reports for each in report["fields"]]


# -- rows ---------------------------------------------------------------------------------------------------


def test_rows_are_created_updated_or_pruned_in_the_order_of_their_keys() -> None:
    changed = Difference(path="/data/a", desired="1", live="2", manager="kubectl-edit", rule="changed")
    rows = [
        row(config("b"), config("b"), differences=(changed,)),
        row(None, config("c")),
        row(config("a", x="y"), None),
        row(config("d"), config("d"), verdict=Verdict.SYNCED),
        row(None, config("e"), taints=False),
    ]
    told = differing(rows, [], STAND_INS).objects
    assert [(each.key.name, each.change) for each in told] == [
        ("a", Change.CREATE),
        ("b", Change.UPDATE),
        ("c", Change.PRUNE),
    ]
    assert (told[0].desired, told[1].fields) == (config("a", x="y"), (changed,))


def test_what_others_say_of_an_object_is_noted() -> None:
    rows = [row(config(), config(), claimed_by=Mark("helm", "shop"), refusal="it is immutable")]
    (told,) = differing(rows, [], STAND_INS).objects
    refused = (
        "the server refuses it: it is immutable. Put the field back, or have the object deleted and made"
    )
    assert told.note.startswith(f"it is managed by {Mark('helm', 'shop')}; {refused}")


def test_a_refusal_is_noted_without_the_dump_that_a_server_makes_of_it() -> None:
    key = row(config("a"), config("a")).key
    said = 'ConfigMap "a" is invalid: spec: Invalid value: {"Spec":{"Volumes":null}}: no.'
    words = f"apply {key}: {said} Correct the object and send it again."
    (told,) = differing([row(config("a"), config("a"), refusal=words)], [], STAND_INS).objects
    shown = 'ConfigMap "a" is invalid: spec: Invalid value: …: no'
    assert told.note == f"the server refuses it: {shown}. Correct the object and send it again"


def test_what_cannot_be_compared_is_a_problem_and_no_difference() -> None:
    unknown = row(config(), config(), verdict=Verdict.UNKNOWN, problem="no rights")
    findings = [
        Finding(kind=FindingKind.INVALID, subject="web.yaml", reason="no name", remedy="Give it one"),
        Finding(kind=FindingKind.REPEATED, subject="web.yaml", reason="twice", remedy="Once"),
    ]
    told = differing([unknown], findings, STAND_INS)
    problems = ("web.yaml: no name. Give it one.", "ConfigMap web: no rights")
    assert told == Differing(objects=(), problems=problems)
    assert str(NotCompared.of(problems)) == "diff: web.yaml: no name. Give it one (and 1 more)."


def test_nothing_is_called_no_longer_declared_while_a_document_cannot_be_read() -> None:
    rows = [row(None, config("old")), row(config("new"), None)]
    unread = Finding(kind=FindingKind.INVALID, subject="a.yaml", reason="no name", remedy="Name it")
    assert [each.change for each in differing(rows, [], STAND_INS).objects] == [Change.CREATE, Change.PRUNE]
    told = differing(rows, [unread], STAND_INS)
    assert [each.change for each in told.objects] == [Change.CREATE]
    assert told.problems


def test_warnings_are_told_once_each_and_not_more_than_a_few() -> None:
    def found(kind: FindingKind, name: str) -> Finding:
        return Finding(kind=kind, subject=name, reason="odd", remedy="")

    kinds = (FindingKind.INVALID, FindingKind.SOURCE, FindingKind.SOURCE, FindingKind.UNKNOWN_OPTION)
    assert warnings_in([found(kind, "web") for kind in kinds]) == ("web: odd.",)
    many = [found(FindingKind.REPEATED, str(number)) for number in range(7)]
    assert warnings_in(many) == ("0: odd.", "1: odd.", "2: odd.", "3: odd.", "4: odd.", "and 2 more")


def test_a_new_secret_is_shown_without_its_values() -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"k": CANARY}}
    (told,) = differing([row(secret, None)], [], STAND_INS).objects
    assert CANARY not in repr(diff_report(told))
    assert told.desired is not None
    assert told.desired["data"]["k"].startswith("hidden:")


# -- files --------------------------------------------------------------------------------------------------


def test_what_is_the_same_is_not_mentioned_whatever_the_server_added() -> None:
    live = {**config(colour="blue", more="yes"), "status": {}}
    live["metadata"] = {"name": "web", "namespace": "shop", "uid": "1", "resourceVersion": "7"}
    assert of_files(config(colour="blue"), live) == []


def test_the_schemas_of_built_in_kinds_are_known() -> None:
    ports = [{"port": 80}]
    desired = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "w"}, "spec": {"ports": ports}}
    defaulted = [{"port": 80, "protocol": "TCP", "targetPort": 80}, {"port": 81, "protocol": "TCP"}]
    live = {**desired, "spec": {"ports": defaulted, "clusterIP": "10.0.0.1", "type": "ClusterIP"}}
    assert of_files(desired, live) == []


def test_a_changed_field_is_told_with_its_owner() -> None:
    live = config(colour="red", old="x")
    owners = [("kubectl-edit", "Update", "f:colour"), ("trimtab", "Apply", "f:old")]
    live["metadata"]["managedFields"] = [
        {"manager": manager, "operation": operation, "apiVersion": "v1", "fieldsV1": {"f:data": {field: {}}}}
        for manager, operation, field in owners
    ]
    assert fields(of_files(config(colour="blue"), live)) == [
        ("/data/colour", "red", "blue", "kubectl-edit", "changed"),
        ("/data/old", "x", None, "trimtab", "given up"),
    ]


def test_maps_of_kinds_that_nobody_knows_merge_and_lists_do_not() -> None:
    live = gadget(size={"x": 1, "defaulted": True}, colours=["red", "blue"])
    assert of_files(gadget(size={"x": 1}, colours=["red", "blue"]), live) == []
    assert fields(of_files(gadget(size={"x": 2}, colours=["red"]), live)) == [
        ("/spec/colours", ["red", "blue"], ["red"], "", "changed"),
        ("/spec/size/x", 1, 2, "", "changed"),
    ]


WORDS = st.text(max_size=5)
JSON = st.recursive(
    st.booleans() | st.integers(-9, 9) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None)
@given(st.dictionaries(WORDS, JSON, max_size=3), st.dictionaries(WORDS, JSON, max_size=3))
def test_nothing_differs_from_itself_nor_from_more_of_the_same(
    spec: dict[str, Any], more: dict[str, Any]
) -> None:
    assert of_files(gadget(**spec), gadget(**spec)) == []
    assert of_files(gadget(inner=spec), gadget(inner={**more, **spec}, more=more)) == []


@settings(deadline=None)
@given(JSON, JSON)
def test_what_differs_is_never_called_the_same(one: Any, other: Any) -> None:
    differs = json.dumps(one, sort_keys=True) != json.dumps(other, sort_keys=True)
    assume(differs and not (isinstance(one, dict) and isinstance(other, dict)))
    assert of_files(gadget(value=one), gadget(value=other)) != []


def test_a_namespace_that_is_not_declared_is_found_by_name_or_asked_for() -> None:
    here, there = config(namespace="here", a="1"), config(namespace="there", a="2")
    assert of_files(config(a="1"), here) == []
    assert of_files(config(a="2"), here, there, namespace="there") == []
    with pytest.raises(InvalidSpec, match=r"may be the one in any of here, there\. Say which with -n"):
        of_files(config(a="1"), here, there)
    (made,) = of_files(config(a="1"), here, namespace="elsewhere")
    assert made["change"] == "create"


def test_hooks_and_objects_that_are_only_live_are_left_out() -> None:
    hook = config("hook")
    hook["metadata"]["annotations"] = {"argocd.argoproj.io/hook": "PreSync"}
    assert of_files(hook, config("other")) == []


def test_secrets_in_files_are_compared_but_not_shown() -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    same = of_files({**secret, "stringData": {"k": "canary-of-the-mine"}}, {**secret, "data": {"k": CANARY}})
    assert same == []
    other = of_files({**secret, "stringData": {"k": "canary-of-the-mint"}}, {**secret, "data": {"k": CANARY}})
    assert [each[0] for each in fields(other)] == ["/data/k"]
    assert "canary" not in repr(other)
    assert CANARY not in repr(other)


def test_another_version_is_said_to_be_one() -> None:
    live = {**gadget(), "apiVersion": "example.com/v2"}
    assert [each[4] for each in fields(of_files(gadget(), live))] == ["other version"]


def test_the_report_names_the_object_part_by_part() -> None:
    (told,) = of_files(config(a="1"))
    assert told == {
        "object": {"group": "", "kind": "ConfigMap", "namespace": "", "name": "web"},
        "apiVersion": "v1",
        "change": "create",
        "fields": [],
        "desired": config(a="1"),
        "note": "",
    }
    assert ResourceKey(**told["object"]) == key_of(config())


def test_whoever_is_there_to_mend_a_document_that_nobody_can_read_is_told_of_it() -> None:
    def found(subject: str, key: ResourceKey | None = None) -> Finding:
        words = {"reason": "kind is missing", "remedy": "Write it"}
        return Finding(kind=FindingKind.INVALID, subject=subject, key=key, **words)

    check_readable([found("a.yaml", ResourceKey("", "ConfigMap", "shop", "a"))])  # that one alone is refused
    with pytest.raises(InvalidSpec) as one:
        check_readable([found("a.yaml")])
    assert str(one.value) == "a.yaml: kind is missing. Write it."
    with pytest.raises(InvalidSpec, match=r"b\.yaml: kind is missing \(and 1 more like it\)"):
        check_readable([found("b.yaml"), found("c.yaml")])
