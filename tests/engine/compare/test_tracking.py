"""Marks: written, read back, recognised where others made them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.engine.compare.tracking import (
    INSTALLATION_ID,
    INSTANCE,
    OWNER,
    TRACKING_ID,
    ArgoTracking,
    Method,
    OwnerAnnotation,
    TrackingId,
    parse_tracking_id,
    truncated_label,
)
from trimtab.engine.marks import Adoption, Mark, Tracking
from trimtab.errors import InvalidSpec
from trimtab.resources.keys import ResourceKey
from trimtab.resources.manifests import Manifest

OURS = OwnerAnnotation("0b5e")
ARGO = ArgoTracking()
BOTH = ArgoTracking(method=Method.ANNOTATION_AND_LABEL)
LABEL = ArgoTracking(method=Method.LABEL)
KEY = ResourceKey("", "Service", "shop", "web")
NAMES = st.text(st.characters(codec="ascii", exclude_characters="/:"), min_size=1)


def service(*, labels: Any = None, annotations: Any = None, **metadata: Any) -> Manifest:
    held = {"name": "web", "namespace": "shop", **metadata}
    held |= {"labels": labels} if labels is not None else {}
    held |= {"annotations": annotations} if annotations is not None else {}
    return {"apiVersion": "v1", "kind": "Service", "metadata": held}


def definition() -> Manifest:
    metadata = {"name": "gadgets.example.com"}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": metadata}


def labels_of(manifest: Manifest) -> dict[str, str]:
    return dict(manifest["metadata"].get("labels", {}))


def annotations_of(manifest: Manifest) -> dict[str, str]:
    return dict(manifest["metadata"].get("annotations", {}))


def read(tracking: Tracking, manifest: Manifest) -> Mark | None:
    return tracking.mark_of(KEY, labels_of(manifest), annotations_of(manifest))


# -- ours ---------------------------------------------------------------------------------------------------


def test_our_mark_is_one_annotation_and_is_read_back() -> None:
    plain = service(annotations={"a": "b"})
    found = OURS.marked(plain, "shop/web")
    assert annotations_of(found) == {"a": "b", OWNER: "0b5e/shop/web"}
    assert read(OURS, found) == OURS.mark_for("shop/web") == Mark("trimtab", "0b5e/shop/web")
    assert annotations_of(plain) == {"a": "b"}
    assert OURS.unmarked(found) == plain
    assert OURS.unmarked(OURS.marked(service(), "u")) == service()


def test_another_installation_of_ours_is_somebody_else() -> None:
    other = OwnerAnnotation("77aa").marked(service(), "u")
    assert read(OURS, other) == Mark("trimtab", "77aa/u") != OURS.mark_for("u")


def test_a_mark_is_told_by_the_name_that_people_know() -> None:
    ours = Mark("trimtab", "134af4a4-2590-4080-94e3-20c12a4ef282/shop/web")
    assert str(ours) == "trimtab app shop/web (installation 134af4a4)"
    assert str(Mark("flux", "Kustomization apps/shop")) == "flux Kustomization apps/shop"


def test_annotations_that_are_no_map_are_replaced_by_the_mark() -> None:
    assert annotations_of(OURS.marked(service(annotations=[]), "u")) == {OWNER: "0b5e/u"}
    assert annotations_of(OURS.marked({"metadata": None}, "u")) == {OWNER: "0b5e/u"}


def with_manager(manifest: Manifest, manager: str) -> Manifest:
    fields: dict[str, Any] = {"f:metadata": {"f:annotations": {f"f:{OWNER}": {}}}}
    entry = {"manager": manager, "operation": "Apply", "apiVersion": "v1", "fieldsV1": fields}
    return {**manifest, "metadata": {**manifest["metadata"], "managedFields": [entry, "odd"]}}


def test_a_copy_with_our_mark_is_told_by_who_wrote_the_mark() -> None:
    marked = OURS.marked(service(), "u")
    assert OURS.is_itself(with_manager(marked, "trimtab"), KEY, None)
    assert not OURS.is_itself(with_manager(marked, "mirror-controller"), KEY, None)
    assert not OURS.is_itself(marked, KEY, None)
    assert OURS.is_itself(with_manager(marked, "mirror-controller"), KEY, KEY)


def test_our_mark_needs_no_migration() -> None:
    live = service(labels={INSTANCE: "u"})
    assert OURS.migrated(live, OURS.marked(service(), "u")) is live


# -- the marks of others ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "annotations", "expected"),
    [
        ({}, {TRACKING_ID: "web:/Service:shop/web"}, Mark("argocd", "web")),
        ({}, {TRACKING_ID: "web:/Service:shop/web", INSTALLATION_ID: "i1"}, Mark("argocd", "i1/web")),
        ({}, {TRACKING_ID: "odd"}, Mark("argocd", "unreadable:odd")),
        (
            {"kustomize.toolkit.fluxcd.io/name": "shop", "kustomize.toolkit.fluxcd.io/namespace": "apps"},
            {},
            Mark("flux", "Kustomization apps/shop"),
        ),
        (
            {"helm.toolkit.fluxcd.io/name": "shop", "helm.toolkit.fluxcd.io/namespace": "apps"},
            {"meta.helm.sh/release-name": "shop"},
            Mark("flux", "HelmRelease apps/shop"),
        ),
        ({"fluxcd.io/sync-gc-mark": "sha256.x"}, {}, Mark("flux-v1", "sha256.x")),
        ({"flux.weave.works/sync-gc-mark": "sha256.x"}, {}, Mark("flux-v1", "sha256.x")),
        ({}, {"fluxcd.io/sync-checksum": "ab"}, Mark("flux-v1", "a sync without garbage collection")),
        (
            {},
            {"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "shop"},
            Mark("helm", "shop/web"),
        ),
        ({INSTANCE: "web"}, {}, None),
        ({"app": "web"}, {"note": "x"}, None),
        ({}, {}, None),
    ],
)
def test_the_marks_of_other_systems_are_recognised(
    labels: Mapping[str, str], annotations: Mapping[str, str], expected: Mark | None
) -> None:
    assert OURS.mark_of(KEY, labels, annotations) == expected


def test_our_mark_is_stronger_than_what_others_left() -> None:
    left = {TRACKING_ID: "web:/Service:shop/web", "meta.helm.sh/release-name": "web", OWNER: "0b5e/u"}
    assert OURS.mark_of(KEY, {}, left) == OURS.mark_for("u")
    assert ARGO.mark_of(KEY, {}, left) == OURS.mark_for("u")


def test_a_mark_reads_as_a_sentence_names_it() -> None:
    assert str(Mark("flux", "Kustomization apps/shop")) == "flux Kustomization apps/shop"


def test_adoption_is_a_choice() -> None:
    helm, argo = Mark("helm", "shop/web"), Mark("argocd", "web")
    assert not Adoption().allows(helm)
    assert Adoption(systems=frozenset({"helm"})).allows(helm)
    assert not Adoption(systems=frozenset({"helm"})).allows(argo)
    assert Adoption(marks=frozenset({argo})).allows(argo)
    assert not Adoption(marks=frozenset({argo})).allows(Mark("argocd", "other"))


# -- Argo CD's ----------------------------------------------------------------------------------------------


def test_the_annotation_method_writes_the_tracking_id_alone() -> None:
    found = ARGO.marked(service(), "web")
    assert annotations_of(found) == {TRACKING_ID: "web:/Service:shop/web"}
    assert labels_of(found) == {}
    assert read(ARGO, found) == ARGO.mark_for("web") == Mark("argocd", "web")


def test_what_has_no_namespace_carries_that_of_its_application() -> None:
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "r"}}
    found = annotations_of(ARGO.marked(role, "web", namespace="shop"))
    assert found == {TRACKING_ID: "web:rbac.authorization.k8s.io/ClusterRole:shop/r"}
    key = ResourceKey("rbac.authorization.k8s.io", "ClusterRole", "", "r")
    assert ARGO.is_itself(ARGO.marked(role, "web", namespace="shop"), key, None)


@pytest.mark.fact("M6")
def test_a_long_name_is_cut_only_where_annotation_and_label_are_written() -> None:
    unit = "a" * 61 + "-._b" + "c" * 20
    assert labels_of(BOTH.marked(service(), unit)) == {INSTANCE: "a" * 61}
    assert labels_of(LABEL.marked(service(), unit)) == {INSTANCE: unit}
    assert labels_of(BOTH.marked(service(), "web")) == {INSTANCE: "web"}
    assert annotations_of(BOTH.marked(service(), unit)) == {TRACKING_ID: f"{unit}:/Service:shop/web"}
    assert read(BOTH, BOTH.marked(service(), unit)) == BOTH.mark_for(unit)


@pytest.mark.fact("M7")
def test_a_name_of_special_characters_cannot_be_cut() -> None:
    with pytest.raises(InvalidSpec, match="no letter or digit where a label could end"):
        truncated_label("-" * 64)


@given(st.text(st.characters(codec="ascii"), min_size=1))
def test_a_label_is_never_too_long_and_ends_well_when_it_was_cut(text: str) -> None:
    try:
        found = truncated_label(text)
    except InvalidSpec:
        return
    assert found == text if len(text) <= 63 else (len(found) <= 63 and found[-1].isalnum())


@pytest.mark.fact("M8")
@pytest.mark.parametrize(
    "text",
    [
        *("", "web", "web:apps/Deployment", "web:Deployment:shop/web", "web:apps/D:web"),
        *("web:apps/D/x:shop/web", "web:apps/D:shop/web/x"),
    ],
)
def test_malformed_tracking_ids_are_no_marks(text: str) -> None:
    assert parse_tracking_id(text) is None
    assert ARGO.mark_of(KEY, {}, {TRACKING_ID: text}) != ARGO.mark_for("web")


@pytest.mark.fact("M9")
def test_a_resource_name_may_hold_colons() -> None:
    found = parse_tracking_id("web:rbac.authorization.k8s.io/ClusterRole:shop/system:web:read")
    assert found == TrackingId("web", "rbac.authorization.k8s.io", "ClusterRole", "shop", "system:web:read")


@given(NAMES, NAMES, NAMES, NAMES, st.text(st.characters(codec="ascii", exclude_characters="/"), min_size=1))
def test_a_tracking_id_is_read_as_it_was_written(
    app: str, group: str, kind: str, namespace: str, name: str
) -> None:
    made = TrackingId(app, group, kind, namespace, name)
    assert parse_tracking_id(str(made)) == made


@pytest.mark.fact("M10")
def test_an_object_of_another_installation_is_not_ours() -> None:
    ours, other = ArgoTracking(installation="i1"), ArgoTracking(installation="i2")
    mine = ours.marked(service(), "web")
    assert annotations_of(mine)[INSTALLATION_ID] == "i1"
    assert read(ours, mine) == ours.mark_for("web")
    assert read(other, mine) == Mark("argocd", "i1/web")
    assert read(ours, ARGO.marked(service(), "web")) == Mark("argocd", "/web")
    labelled = ArgoTracking(method=Method.LABEL, installation="i1")
    assert read(labelled, LABEL.marked(service(), "web")) == Mark("argocd", "/web")
    assert read(labelled, labelled.marked(service(), "web")) == labelled.mark_for("web")


@pytest.mark.fact("M11")
@pytest.mark.parametrize("tracking", [ARGO, BOTH, LABEL, ArgoTracking(installation="i1")])
def test_removing_marks_follows_the_method(tracking: ArgoTracking) -> None:
    plain = service(labels={"app": "web"}, annotations={"note": "x"})
    assert tracking.unmarked(tracking.marked(plain, "web")) == plain


def test_removing_marks_leaves_those_of_other_methods() -> None:
    both = BOTH.marked(service(), "web")
    assert labels_of(ARGO.unmarked(both)) == {INSTANCE: "web"}
    assert annotations_of(LABEL.unmarked(both)) == {TRACKING_ID: "web:/Service:shop/web"}


@pytest.mark.fact("M12")
def test_an_older_label_stands_for_the_annotation_only_where_there_is_none() -> None:
    wanted = ARGO.marked(service(), "web")
    old = service(labels={INSTANCE: "web", "app": "x"})
    migrated = ARGO.migrated(old, wanted)
    assert (labels_of(migrated), annotations_of(migrated)) == ({"app": "x"}, annotations_of(wanted))
    kept = BOTH.migrated(old, BOTH.marked(service(), "web"))
    assert labels_of(kept) == {INSTANCE: "web", "app": "x"}
    assert ARGO.migrated(service(), wanted) == service()
    assert LABEL.migrated(old, wanted) is old


@pytest.mark.fact("M13")
def test_a_different_annotation_stays_a_difference() -> None:
    moved = service(labels={INSTANCE: "web"}, annotations={TRACKING_ID: "other:/Service:shop/web"})
    for tracking in (ARGO, BOTH):
        assert tracking.migrated(moved, tracking.marked(service(), "web")) is moved


@pytest.mark.fact("M14")
def test_definitions_are_neither_marked_nor_migrated() -> None:
    for tracking in (ARGO, BOTH, LABEL):
        assert tracking.marked(definition(), "web") == definition()
    labelled = definition()
    labelled["metadata"]["labels"] = {INSTANCE: "web"}
    wanted = {**definition(), "metadata": {"name": "x", "annotations": {TRACKING_ID: "web:/a:b/c"}}}
    assert ARGO.migrated(labelled, wanted) is labelled


@pytest.mark.fact("M15")
@pytest.mark.parametrize(
    "named",
    ["web:/Service:shop/other", "web:apps/Service:shop/web", "web:/Endpoints:shop/web", "web:/Service:x/web"],
)
def test_an_object_whose_id_names_another_is_a_copy(named: str) -> None:
    copy = service(annotations={TRACKING_ID: named})
    assert not ARGO.is_itself(copy, KEY, None)
    assert not BOTH.is_itself(copy, KEY, None)
    assert ARGO.is_itself(service(annotations={TRACKING_ID: "web:/Service:shop/web"}), KEY, None)
    assert not ARGO.is_itself(service(), KEY, None)


@pytest.mark.fact("M16")
def test_when_the_group_of_an_api_has_changed_the_wanted_object_decides() -> None:
    old = service(annotations={TRACKING_ID: "web:extensions/Ingress:shop/web"})
    key = ResourceKey("networking.k8s.io", "Ingress", "shop", "web")
    assert not ARGO.is_itself(old, key, None)
    assert ARGO.is_itself(old, key, key)


@pytest.mark.fact("M17")
def test_a_label_names_nothing_so_it_names_itself() -> None:
    assert LABEL.is_itself(service(labels={INSTANCE: "web"}), KEY, None)
