"""What lies between two revisions of a source, whatever a cluster is like."""

from __future__ import annotations

from typing import Any

import pytest

from tests.app.world import Json, Sources, config_map
from trimtab.app.proposals import walked
from trimtab.app.proposing import propose
from trimtab.engine.operations import Operation
from trimtab.engine.sync.showing import action, plan_json
from trimtab.engine.sync.steps import SyncPlan
from trimtab.engine.units import Destination, SyncUnit

UNIT = SyncUnit(id="shop", source={}, destination=Destination(cluster="here", namespace="shop"))


async def between(base: list[Json], head: list[Json], **operation: Any) -> SyncPlan:
    sources = Sources()
    first, second = sources.declare("shop", *base), sources.declare("shop", *head)
    return await propose(sources, UNIT, first, second, Operation(**operation))


def told(plan: SyncPlan) -> list[tuple[str, str, str]]:
    return [(action(step), str(step.key), step.why) for step in plan.steps]


async def test_only_what_the_change_changes_is_told_in_the_order_of_a_sync() -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    custom = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "thing"}, "size": 1}
    base = [namespace, config_map("same"), config_map("old"), config_map("colour", "blue"), custom]
    head = [
        namespace,
        config_map("same"),
        config_map("new", sync_wave="1"),
        config_map("colour", "red"),
        {**custom, "size": 2},
    ]
    assert told(await between(base, head, prune=True)) == [
        ("apply", "ConfigMap shop/colour", "/data/value: blue -> red"),
        ("prune", "ConfigMap shop/old", "no longer declared"),
        ("apply", "Thing.example.com shop/thing", "/size: 1 -> 2"),
        ("apply", "ConfigMap shop/new", "missing"),
    ]
    assert ("keep", "ConfigMap shop/old", "no longer declared") in told(await between(base, head))
    assert told(await between(base, base)) == []


async def test_a_hook_is_told_only_if_it_is_new_or_another_one() -> None:
    hook, other = config_map("hook", hook="PreSync"), config_map("hook", "2", hook="PreSync")
    assert told(await between([hook], [hook, config_map("a")])) == [("apply", "ConfigMap shop/a", "missing")]
    assert told(await between([hook], [other])) == [("run hook", "ConfigMap shop/hook", "PreSync hook")]


async def test_the_values_of_secrets_are_not_in_what_is_told() -> None:
    def secret(value: str) -> Json:
        metadata = {"name": "key"}
        return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"password": value}}

    plan = await between([secret("canary-old")], [secret("canary-new")])
    assert told(plan) == [("apply", "Secret shop/key", "/data/password differs")]
    assert "canary" not in str(plan_json(plan))


async def test_of_many_changes_and_long_values_only_the_places_are_told() -> None:
    before, after = config_map("a", "x" * 81), config_map("a", "y" * 81)
    for number in range(4):
        after["data"][f"k{number}"] = str(number)
    (step,) = (await between([before], [after])).steps
    assert step.why == (
        "/data/value differs; /data/k0: nothing -> 0; "
        "/data/k1: nothing -> 1; /data/k2: nothing -> 2; and 1 more"
    )


NAMED = {"c": [{"name": "x", "i": 1}, {"name": "y"}]}


@pytest.mark.parametrize(
    ("before", "after", "paths"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 2, "b": 3}, ["/a", "/b"]),
        ({"a/b~c": 1}, {}, ["/a~1b~0c"]),
        ({"a": [1, 2]}, {"a": [1, 3]}, ["/a/1"]),
        ({"a": []}, {"a": [1]}, ["/a"]),
        (
            {"c": [{"name": "x", "i": 1}, {"name": "y"}]},
            {"c": [{"name": "y"}, {"name": "x", "i": 2}]},
            ["/c/x/i"],
        ),
        ({"a": {"b": 1}}, {"a": "text"}, ["/a"]),
    ],
)
def test_two_values_differ_where_their_parts_do(before: Any, after: Any, paths: list[str]) -> None:
    assert [path for path, _, _ in walked(before, after)] == paths
