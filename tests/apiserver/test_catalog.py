"""Which kinds are served, and how the catalogue changes with definitions."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.apiserver.scenes import DEFINITION
from trimtab.apiserver.api import Api
from trimtab.apiserver.catalog import Catalog
from trimtab.apiserver.decoding import Body
from trimtab.apiserver.definitions import version_rank
from trimtab.apiserver.patching import MERGE_PATCH
from trimtab.apiserver.requests import Address, DeleteOptions, WriteOptions
from trimtab.apiserver.seeds import seed
from trimtab.kube.refusals import Refused

FOR_REAL = WriteOptions(manager="tests")
DEFINITIONS = ("apiextensions.k8s.io/v1", "customresourcedefinitions")


def definition(**spec: Any) -> dict[str, Any]:
    name = f"{spec.get('names', DEFINITION['spec']['names'])['plural']}.a.example"
    group = {"group": "a.example", **spec}
    return {**DEFINITION, "metadata": {"name": name}, "spec": {**DEFINITION["spec"], **group}}


def test_every_built_in_kind_has_one_collection_and_is_found_by_name() -> None:
    catalog = Catalog()
    collections = catalog.collections()
    assert collections[("apps", "deployments")].api_version == "apps/v1"
    assert collections[("autoscaling", "horizontalpodautoscalers")].api_version == "autoscaling/v2"
    assert ("events.k8s.io", "events") not in collections
    found = catalog.kind("apps", "v1", "Deployment")
    assert found is collections[("apps", "deployments")]
    assert catalog.kind("apps", "v1", "Nothing") is None


def test_a_definition_is_served_at_once_in_all_its_versions() -> None:
    api = Api()
    where = Address(served=api.served(*DEFINITIONS))
    api.create(where, Body(definition()), FOR_REAL)
    assert api.served("a.example/v1", "gadgets").kind == "Gadget"
    old = api.served("a.example/v1beta1", "gadgets")
    assert old.deprecation == "a.example/v1beta1 Gadget is deprecated; use a.example/v1 Gadget"
    assert old.collection == api.served("a.example/v1", "gadgets").collection
    api.delete(Address(served=where.served, name="gadgets.a.example"), DeleteOptions())
    assert api.catalog.find("a.example", "v1", "gadgets") is None


def test_names_that_another_definition_has_are_not_accepted() -> None:
    api = Api()
    where = Address(served=api.served(*DEFINITIONS))
    api.create(where, Body(definition()), FOR_REAL)
    api.create(where, Body(definition(names={"plural": "others", "kind": "Gadget"})), FOR_REAL)
    entry = api.store.get(where.served.collection, "/others.a.example")
    assert entry is not None
    status = entry.decoded()["status"]
    conditions = {each["type"]: each for each in status["conditions"]}
    assert conditions["NamesAccepted"]["message"] == '"GadgetList" is already in use'
    assert conditions["NamesAccepted"]["reason"] == "ListKindConflict"
    assert status["acceptedNames"] == {"plural": "others", "kind": ""}
    assert conditions["Established"]["status"] == "False"
    assert api.catalog.find("a.example", "v1", "others") is None


def test_versions_are_ordered_as_the_server_prefers_them() -> None:
    names = ["foo1", "v1alpha1", "v10", "v11beta2", "v2", "v10beta3", "v3beta1", "v12alpha1", "foo10"]
    ordered = ["v10", "v2", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "v1alpha1", "foo1", "foo10"]
    assert sorted(names, key=version_rank) == ordered


def test_objects_survive_a_change_of_the_version_in_which_they_are_kept() -> None:
    api = Api()
    seed(api)
    where = Address(served=api.served(*DEFINITIONS))
    api.create(where, Body(definition()), FOR_REAL)
    gadgets = Address(served=api.served("a.example/v1", "gadgets"), namespace="default")
    body = {"apiVersion": "a.example/v1", "kind": "Gadget", "metadata": {"name": "a"}, "spec": {"title": "t"}}
    api.create(gadgets, Body(body), FOR_REAL)
    turned = [{**each, "storage": not each["storage"]} for each in DEFINITION["spec"]["versions"]]
    one = Address(served=where.served, name="gadgets.a.example")
    answer = api.patch(one, Body({"spec": {"versions": turned}}, MERGE_PATCH), FOR_REAL)
    assert msgspec.json.decode(answer.body)["status"]["storedVersions"] == ["v1", "v1beta1"]
    served = api.served("a.example/v1", "gadgets")
    assert served.stored_as == "a.example/v1beta1"
    address = Address(served=served, namespace="default", name="a")
    assert msgspec.json.decode(api.get(address).body)["spec"] == {"title": "t", "size": 3}
    api.patch(address, Body({"spec": {"title": "u"}}, MERGE_PATCH), FOR_REAL)
    entry = api.store.get(served.collection, address.key)
    assert entry is not None
    assert entry.api_version == "a.example/v1beta1"


def test_a_definition_keeps_at_least_one_version() -> None:
    api = Api()
    where = Address(served=api.served(*DEFINITIONS))
    api.create(where, Body(definition()), FOR_REAL)
    one = Address(served=where.served, name="gadgets.a.example")
    with pytest.raises(Refused) as refused:
        api.patch(one, Body({"spec": {"versions": []}}, MERGE_PATCH), FOR_REAL)
    assert refused.value.code == 422
