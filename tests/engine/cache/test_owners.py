"""Owners: those an object names, and those that only its name or annotations give away."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from tests.engine.cache.objects import Json, Shelved, key, manifest, reference, scopes, told
from trimtab.engine.cache.owners import owners_of, stem_of
from trimtab.engine.live import Owner
from trimtab.resources.keys import ResourceKey

DB = key("db", "StatefulSet", "apps")
TEMPLATES: Json = {
    "spec": {"volumeClaimTemplates": [{"metadata": {"name": "data"}}, {"metadata": {"name": "log"}}]}
}


def owners(of: ResourceKey, **fields: Any) -> tuple[Owner, ...]:
    return owners_of(told(manifest(of, **fields)), of, scopes)


def test_named_owners_are_in_the_object_s_namespace() -> None:
    parent, pod = key("set", "ReplicaSet", "apps"), key("pod", "Pod")
    assert owners(pod, owners=[parent]) == (Owner("replicaset-shop-set", parent),)


@pytest.mark.fact("C42")
def test_a_cluster_wide_owner_of_a_namespaced_object_is_looked_for_without_a_namespace() -> None:
    provider, pod = key("cloud", "Provider", "example.com"), key("pod", "Pod")
    assert owners(pod, owners=[provider]) == (Owner("provider--cloud", provider),)


def test_an_owner_of_unheard_kind_is_looked_for_beside_what_it_owns() -> None:
    (owner,) = owners(key("pod", "Pod"), owners=[key("x", "Unheard", "example.com")])
    assert owner.key.namespace == "shop"


@pytest.mark.fact("C34")
def test_endpoints_without_owners_belong_to_the_service_of_their_name() -> None:
    endpoints, service = key("web", "Endpoints"), key("web", "Service")
    foreign = key("web", "Service", "serving.example.com")
    assert owners(endpoints) == (Owner("", service, True),)
    assert owners(key("web", "Endpoints", "example.com")) == ()
    assert owners(endpoints, owners=[foreign]) == (Owner("service-shop-web", foreign),)
    shelved = Shelved()
    shelved.put(manifest(endpoints), manifest(foreign), manifest(service))
    held = {each: shelved.index.get(each) for each in (foreign, service)}
    found = {each.group: shelved.index.owned(live) for each, live in held.items() if live is not None}
    assert {group: [child.key for child in below] for group, below in found.items()} == {
        "serving.example.com": [],
        "": [endpoints],
    }


TOKEN = {"kubernetes.io/service-account.uid": "sa-1", "kubernetes.io/service-account.name": "robot"}


@pytest.mark.fact("C35")
@pytest.mark.parametrize(
    ("annotations", "secret_type", "owned"),
    [
        (TOKEN, "kubernetes.io/service-account-token", True),
        (TOKEN, "Opaque", False),
        ({"kubernetes.io/service-account.name": "robot"}, "kubernetes.io/service-account-token", False),
        ({"kubernetes.io/service-account.uid": "sa-1"}, "kubernetes.io/service-account-token", False),
    ],
)
def test_a_token_belongs_to_the_service_account_whose_identity_it_names(
    annotations: dict[str, str], secret_type: str, *, owned: bool
) -> None:
    found = owners(key("token", "Secret"), annotations=annotations, type=secret_type)
    assert found == ((Owner("sa-1", key("robot", "ServiceAccount"), True),) if owned else ())


def test_an_operator_s_version_belongs_to_its_group() -> None:
    version = key("op.v1", "ClusterServiceVersion", "operators.coreos.com")
    group = key("og", "OperatorGroup", "operators.coreos.com")
    assert owners(version, annotations={"olm.operatorGroup": "og"}) == (Owner("", group, True),)
    assert owners(version) == ()


@pytest.mark.fact("C36")
def test_an_object_of_the_same_kind_and_name_in_another_group_is_not_the_owner() -> None:
    shelved = Shelved()
    ours, theirs = key("web", "Service"), key("web", "Service", "serving.example.com")
    child = manifest(key("x"))
    child["metadata"]["ownerReferences"] = [reference(ours, uid="of-ours")]
    shelved.put(manifest(ours, uid="of-ours"), manifest(theirs, uid="of-theirs"), child)
    for parent, expected in ((ours, 1), (theirs, 0)):
        held = shelved.index.get(parent)
        assert held is not None
        assert len(shelved.index.owned(held)) == expected


@pytest.mark.parametrize(
    ("name", "stem"),
    [("data-db-0", "data-db"), ("data-db-12", "data-db"), ("data-db", ""), ("data-db-x", ""), ("-1", "")],
)
def test_a_claim_s_name_is_a_stem_and_a_number(name: str, stem: str) -> None:
    assert stem_of(name) == stem


CLAIMS = [key(name, "PersistentVolumeClaim") for name in ("data-db-0", "data-db-in-0", "log-db-1", "data-db")]
ELSEWHERE = key("data-db-0", "PersistentVolumeClaim", namespace="bank")


@pytest.mark.fact("C32", "C33")
@pytest.mark.parametrize("order", list(permutations(["set", "claims", "elsewhere"])))
def test_claims_and_their_set_find_each_other_whichever_comes_first(order: tuple[str, ...]) -> None:
    wholes = {
        "set": [manifest(DB, **TEMPLATES)],
        "claims": [manifest(claim) for claim in CLAIMS],
        "elsewhere": [manifest(ELSEWHERE)],
    }
    shelved = Shelved()
    for part in order:
        shelved.put(*wholes[part])
    found = {live.key.name: live.owners for claim in CLAIMS if (live := shelved.index.get(claim)) is not None}
    owner = (Owner("statefulset-shop-db", DB, True),)
    assert found == {"data-db-0": owner, "data-db-in-0": (), "log-db-1": owner, "data-db": ()}
    other = shelved.index.get(ELSEWHERE)
    assert other is not None
    assert other.owners == ()


def test_a_set_that_goes_or_loses_a_template_lets_its_claims_go_and_says_so() -> None:
    shelved = Shelved()
    shelved.put(manifest(DB, **TEMPLATES), *(manifest(claim) for claim in CLAIMS))
    fewer: Json = {"spec": {"volumeClaimTemplates": [{"metadata": {"name": "data"}}]}}
    changes = shelved.put(manifest(DB, version="2", **fewer))
    assert [(each.key.name, len(each.after.owners)) for each in changes if each.after] == [
        ("db", 0),
        ("log-db-1", 0),
    ]
    gone = shelved.remove(DB)
    assert [each.key.name for each in gone] == ["db", "data-db-0"]
    assert all(not live.owners for claim in CLAIMS if (live := shelved.index.get(claim)) is not None)


def test_a_claim_that_names_its_set_itself_keeps_that_owner_when_the_set_changes() -> None:
    shelved = Shelved()
    claim = key("data-db-0", "PersistentVolumeClaim")
    shelved.put(manifest(DB, **TEMPLATES), manifest(claim, owners=[DB]))
    shelved.put(manifest(DB, version="2"))
    held = shelved.index.get(claim)
    assert held is not None
    assert held.owners == (Owner("statefulset-shop-db", DB),)
