"""No right is given that was not asked for by name."""

from __future__ import annotations

from itertools import chain

import pytest

from trimtab.app.install import rights


@pytest.mark.parametrize(
    "rules",
    [
        rights.keeping_records(),
        rights.in_one_namespace(["certificates.cert-manager.io"]),
        rights.in_the_whole_cluster(["certificates.cert-manager.io"]),
    ],
)
def test_nothing_is_granted_by_a_star_nor_are_rights_beyond_the_own_handed_on(
    rules: list[rights.Rule],
) -> None:
    words = {word for each in rules for word in chain(each["apiGroups"], each["resources"], each["verbs"])}
    assert words & {"*", "escalate", "bind", "impersonate", "deletecollection"} == set()


def test_records_are_secrets_and_leases_and_the_namespace_is_only_looked_at() -> None:
    granted = {(each["resources"][0], tuple(each["verbs"])) for each in rights.keeping_records()}
    assert granted == {
        ("namespaces", ("get",)),
        ("secrets", rights.MANAGING),
        ("leases", rights.MANAGING),
    }


def test_only_the_whole_cluster_has_kinds_outside_of_namespaces() -> None:
    def kinds(rules: list[rights.Rule]) -> set[str]:
        return {resource for each in rules for resource in each["resources"]}

    more = kinds(rights.in_the_whole_cluster()) - kinds(rights.in_one_namespace())
    assert more == {"customresourcedefinitions", "apiservices"}
    (found,) = (each for each in rights.in_one_namespace() if each["resources"] == ["namespaces"])
    assert found["verbs"] == ["get"]


def test_further_kinds_are_spelt_as_kubectl_does() -> None:
    assert rights.managing(["certificates.cert-manager.io", "nodes"]) == [
        rights.rule("cert-manager.io", ["certificates"], rights.MANAGING),
        rights.rule("", ["nodes"], rights.MANAGING),
    ]


def test_everything_is_said_with_a_star_and_outside_of_objects_only_for_a_cluster() -> None:
    star = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
    assert rights.everything(cluster=False) == [star]
    assert rights.everything(cluster=True) == [star, {"nonResourceURLs": ["*"], "verbs": ["*"]}]
