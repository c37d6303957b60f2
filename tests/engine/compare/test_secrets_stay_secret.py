"""Canaries: values of Secrets leave a comparison in no form whatever."""

from __future__ import annotations

import base64
import logging
from typing import Any

import msgspec
import pytest

from tests.engine.compare.world import World
from trimtab.engine.compare.ignoring import IgnoreRule, Rules
from trimtab.engine.rows import Row, Verdict
from trimtab.kube.cluster import PatchType, Write
from trimtab.resources.manifests import Manifest

CANARY, OTHER = "canary-Zq7", "canary-Pw3"
SPELLINGS = [
    spelling
    for word in (CANARY, OTHER)
    for spelling in (word, base64.b64encode(word.encode()).decode(), word[::-1])
]


def secret(name: str, /, data: Any = None, **fields: Any) -> Manifest:
    metadata = {"name": name, **fields.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data, **fields}


def outputs(rows: dict[str, Row], caplog: pytest.LogCaptureFixture) -> str:
    """Everything that could be printed of a comparison."""
    parts = [repr(rows), caplog.text]
    for row in rows.values():
        parts += [str(row), repr(row.differences), row.problem, row.refusal, *map(str, row.differences)]
        parts.append(msgspec.json.encode(row.differences).decode())
    return "\n".join(parts)


def assert_nothing_leaked(text: str) -> None:
    assert [spelling for spelling in SPELLINGS if spelling in text] == []


async def drifted(world: World, name: str, data: dict[str, Any]) -> None:
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
    await world.cluster.patch(
        world.resource(secret(name)),
        name,
        {"data": encoded},
        how=PatchType.MERGE,
        namespace=world.namespace,
        write=Write(manager="somebody"),
    )


async def test_a_changed_value_shows_that_it_changed_and_no_more(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    wanted = world.wanted(secret("s", {"password": CANARY, "same": "x"}))
    await world.apply(wanted)
    await drifted(world, "s", {"password": OTHER})
    rows = await world.rows(wanted)
    (difference,) = rows["Secret s"].differences
    assert difference.path == "/data/password"
    assert difference.desired.startswith("hidden:")
    assert difference.live.startswith("hidden:")
    assert difference.desired != difference.live
    assert_nothing_leaked(outputs(rows, caplog))


async def test_an_unchanged_secret_is_the_same_without_a_question(world: World) -> None:
    wanted = world.wanted(secret("s", {"password": CANARY}))
    await world.apply(wanted)
    assert (await world.rows(wanted))["Secret s"].verdict is Verdict.SYNCED
    assert world.counting.asked == []


async def test_a_value_taken_out_of_git_is_given_up(world: World, caplog: pytest.LogCaptureFixture) -> None:
    await world.apply(world.wanted(secret("s", {"password": CANARY, "old": OTHER})))
    rows = await world.rows(world.wanted(secret("s", {"password": CANARY})))
    assert [each.path for each in rows["Secret s"].differences] == ["/data/old"]
    assert_nothing_leaked(outputs(rows, caplog))


@pytest.mark.parametrize(
    "odd",
    [
        {"data": {"password": CANARY}},
        {"data": [CANARY]},
        {"data": CANARY},
        {"password": CANARY},
        {"type": {"password": CANARY}},
        {"metadata": {"password": CANARY}},
        {"metadata": {"labels": {"password": [CANARY]}}},
        {"metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": CANARY}}},
    ],
)
async def test_a_value_in_the_wrong_place_is_hidden_too(
    world: World, caplog: pytest.LogCaptureFixture, odd: dict[str, Any]
) -> None:
    await world.apply(world.wanted(secret("s", {"password": OTHER})))
    rows = await world.rows(
        world.wanted(
            {**secret("s", {"other": OTHER}), **odd, "metadata": {"name": "s", **odd.get("metadata", {})}}
        )
    )
    assert rows["Secret s"].verdict is not Verdict.SYNCED
    assert_nothing_leaked(outputs(rows, caplog))


async def test_what_is_wrong_with_a_declared_secret_is_told_without_it(world: World) -> None:
    found = world.wanted(
        {**secret("s", {"a": CANARY}), "metadata": {"name": "s", "labels": {"x": 1}}},
        {**secret("", {"a": CANARY})},
        {**secret("large", {"a": CANARY * 10_000})},
        largest=10_000,
    )
    assert len(found.findings) == 3
    assert_nothing_leaked("\n".join([repr(found), *map(str, found.findings)]))


async def test_ignored_values_stay_out_and_equal_values_have_equal_stand_ins(world: World) -> None:
    wanted = world.wanted(secret("s", {"a": CANARY, "b": CANARY, "c": "x"}))
    await world.apply(wanted)
    await drifted(world, "s", {"a": OTHER, "b": OTHER, "c": "y"})
    rules = Rules([IgnoreRule(group="", kind="Secret", json_pointers=("/data/c",))])
    row = (await world.rows(wanted, rules))["Secret s"]
    assert [each.path for each in row.differences] == ["/data/a", "/data/b"]
    assert (
        len({each.desired for each in row.differences}) == len({each.live for each in row.differences}) == 1
    )
