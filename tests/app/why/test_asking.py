"""Kinds are named as kubectl's users name them."""

from __future__ import annotations

import pytest

from trimtab.apiserver import MemoryCluster
from trimtab.app.why.asking import not_there, resource_meant, split
from trimtab.errors import InvalidSpec, Missing


@pytest.mark.parametrize("text", ["deploy", "Deployment", "deployments", "deployment.apps"])
async def test_a_kind_is_known_by_all_its_names(text: str) -> None:
    found = resource_meant(await MemoryCluster().discover(), text)
    assert (found.group, found.kind) == ("apps", "Deployment")


async def test_a_group_tells_kinds_of_one_name_apart() -> None:
    discovery = await MemoryCluster().discover()
    assert resource_meant(discovery, "events").group == ""
    assert resource_meant(discovery, "events.events.k8s.io").group == "events.k8s.io"
    with pytest.raises(Missing, match="serves no such kind"):
        resource_meant(discovery, "deploy.example.com")


@pytest.mark.parametrize("text", ["deploy/", "/web", "a/b/c"])
def test_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(InvalidSpec, match="KIND/NAME"):
        split(text)
    assert split("deploy/web") == ("deploy", "web")


@pytest.mark.parametrize(
    ("elsewhere", "said"),
    [
        (
            ["shop", "test"],
            (
                "object deploy/web: there is none in namespace default; there is one in shop, test. "
                "Ask: trimtab why deploy/web -n shop."
            ),
        ),
        (
            [],
            (
                "object deploy/web: there is none in namespace default, nor in any other. "
                "See: kubectl get deploy -A."
            ),
        ),
    ],
)
def test_whoever_asks_in_the_wrong_namespace_is_told_the_right_one(elsewhere: list[str], said: str) -> None:
    assert str(not_there("deploy/web", "default", elsewhere)) == said
