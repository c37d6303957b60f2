"""Pages of lists: complete, in order, of one version, whatever the limit and whatever happens meanwhile."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.apiserver.api import Api
from trimtab.apiserver.decoding import Body
from trimtab.apiserver.reading import listed
from trimtab.apiserver.requests import Address, DeleteOptions, ListOptions, WriteOptions
from trimtab.apiserver.seeds import seed
from trimtab.kube.refusals import Refused

FOR_REAL = WriteOptions(manager="tests")


def cluster(names: list[str]) -> tuple[Api, Address]:
    api = Api()
    seed(api)
    maps = Address(served=api.served("v1", "configmaps"), namespace="default")
    for name in names:
        api.create(maps, Body({"metadata": {"name": name, "labels": {"odd": str(len(name) % 2)}}}), FOR_REAL)
    return api, maps


NAMES = st.lists(
    st.text("abc-", min_size=1, max_size=4).map(lambda text: f"x{text}x"), unique=True, max_size=8
)


@given(NAMES, st.integers(1, 4), st.sampled_from(["", "odd=1"]), st.sampled_from(["default", ""]))
def test_all_pages_together_are_the_list(names: list[str], limit: int, labels: str, namespace: str) -> None:
    api, maps = cluster(names)
    maps = Address(served=maps.served, namespace=namespace)
    whole = listed(api.store, maps, ListOptions(labels=labels))
    found, options = [], ListOptions(labels=labels, limit=limit)
    while True:
        page = listed(api.store, maps, options)
        found.extend(page.entries)
        left = len(whole.entries) - len(found)
        assert page.remaining in (None, left)
        if not page.continue_token:
            break
        for entry in api.store.entries(maps.served.collection)[:1]:
            name = entry.key.partition("/")[2]
            api.delete(Address(served=maps.served, namespace="default", name=name), DeleteOptions())
        options = ListOptions(labels=labels, limit=limit, continue_token=page.continue_token)
    assert found == whole.entries


def test_cluster_scoped_objects_have_pages_too() -> None:
    api, _ = cluster([])
    namespaces = Address(served=api.served("v1", "namespaces"))
    first = listed(api.store, namespaces, ListOptions(limit=3))
    rest = listed(api.store, namespaces, ListOptions(limit=3, continue_token=first.continue_token))
    names = [entry.key for entry in (*first.entries, *rest.entries)]
    assert names == ["/default", "/kube-node-lease", "/kube-public", "/kube-system"]


@pytest.mark.parametrize("token", ["abc", "####", "e30", "eyJ2IjoiIiwicnYiOjEsInN0YXJ0IjoieCJ9"])
def test_a_token_that_is_none_is_refused(token: str) -> None:
    api, maps = cluster([])
    with pytest.raises(Refused) as refused:
        listed(api.store, maps, ListOptions(continue_token=token))
    assert refused.value.code == 400


def test_a_list_can_go_on_from_the_newest_version_after_its_own_is_gone() -> None:
    api, maps = cluster(["a", "b", "c"])
    page = listed(api.store, maps, ListOptions(limit=1))
    api.delete(Address(served=maps.served, namespace="default", name="b"), DeleteOptions())
    api.store.compact()
    with pytest.raises(Refused) as refused:
        listed(api.store, maps, ListOptions(limit=1, continue_token=page.continue_token))
    assert refused.value.code == 410
    again = refused.value.status()["metadata"]["continue"]
    rest = listed(api.store, maps, ListOptions(continue_token=again))
    assert [entry.key for entry in rest.entries] == ["default/c"]
