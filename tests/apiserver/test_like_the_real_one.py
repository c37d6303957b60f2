"""The embedded server beside the real one: every answer of every scene is the same."""

from __future__ import annotations

import asyncio
import itertools
import secrets
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from tests.apiserver.conversation import Speaker, Step, differences
from tests.apiserver.scenes import DEFINITION, DEFINITIONS, GADGETS, SCENES, custom_resources

if TYPE_CHECKING:
    from collections.abc import Iterable


def in_namespace(step: Step, namespace: str) -> Step:
    """A step of a scene that is played in this namespace."""
    body = step.body
    if not isinstance(body, str | None):
        body = msgspec.json.decode(msgspec.json.encode(body).replace(b"{ns}", namespace.encode()))
    return msgspec.structs.replace(step, path=step.path.replace("{ns}", namespace), body=body)


async def play(steps: Iterable[Step], namespace: str, real: Speaker, ours: Speaker) -> list[str]:
    """Play a scene to both, and tell where their answers differ."""
    found: list[str] = []
    for each in steps:
        step = in_namespace(each, namespace)
        left, right = await real.say(step), await ours.say(step)
        lines = list(differences(msgspec.to_builtins(left), msgspec.to_builtins(right)))
        found.extend(f"{step.method} {step.path} {str(step.body)[:80]}{line}" for line in lines)
    return found


async def prepared(real: Speaker, ours: Speaker) -> str:
    namespace = f"n{secrets.token_hex(4)}"
    for speaker in (real, ours):
        made = await speaker.say(Step("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}}))
        assert made.code == 201
    return namespace


@pytest.mark.parametrize("name", SCENES)
async def test_a_scene_gets_the_same_answers(name: str, real: Speaker, speaker: Speaker) -> None:
    namespace = await prepared(real, speaker)
    assert not (found := await play(SCENES[name](), namespace, real, speaker)), "\n".join(found)


async def answers(speaker: Speaker, step: Step, *, code: int) -> None:
    """Wait until the real server, which takes its time with definitions, answers so."""
    async with asyncio.timeout(60):
        for pause in itertools.repeat(0.1):
            if (await speaker.say(step)).code == code:
                return
            await asyncio.sleep(pause)


async def test_custom_resources_get_the_same_answers(real: Speaker, speaker: Speaker) -> None:
    namespace = await prepared(real, speaker)
    defining = in_namespace(Step("POST", DEFINITIONS, DEFINITION), namespace)
    replies = [await each.say(defining) for each in (real, speaker)]
    assert not (found := list(differences(*map(msgspec.to_builtins, replies)))), "\n".join(found)
    await answers(real, in_namespace(Step("GET", GADGETS), namespace), code=200)
    assert not (found := await play(custom_resources(), namespace, real, speaker)), "\n".join(found)


async def test_a_definition_ends_with_its_objects(real: Speaker, speaker: Speaker) -> None:
    namespace = await prepared(real, speaker)
    name = f"{DEFINITIONS}/gadgets.{namespace}.example.com"
    for each in (real, speaker):
        await each.say(in_namespace(Step("POST", DEFINITIONS, DEFINITION), namespace))
        await answers(each, in_namespace(Step("GET", GADGETS), namespace), code=200)
        body = {"apiVersion": "{ns}.example.com/v1", "kind": "Gadget", "metadata": {"name": "a"}}
        assert (await each.say(in_namespace(Step("POST", GADGETS, body), namespace))).code == 201
    removed = [await each.say(Step("DELETE", name)) for each in (real, speaker)]
    assert not (found := list(differences(*map(msgspec.to_builtins, removed)))), "\n".join(found)
    await answers(real, Step("GET", name), code=404)
    assert (await speaker.say(Step("GET", name))).code == 404


async def heard(speaker: Speaker, path: str, namespace: str, changes: list[Step]) -> list[Any]:
    """What a watch from before some changes tells of them, once they are made."""
    since = await speaker.version(path)
    for step in changes:
        await speaker.say(in_namespace(step, namespace))
    query = f"{'&' if '?' in path else '?'}watch=1&timeoutSeconds=1&resourceVersion={since}"
    return [event async for event in speaker.watch(f"{path}{query}")]


@pytest.mark.parametrize("select", ["", "?labelSelector=l=x", "?fieldSelector=metadata.name=a"])
async def test_a_watch_tells_the_same_story(select: str, real: Speaker, speaker: Speaker) -> None:
    namespace = await prepared(real, speaker)
    maps = f"/api/v1/namespaces/{namespace}/configmaps"
    media = "application/merge-patch+json"
    changes = [
        Step("POST", maps, {"metadata": {"name": "a", "labels": {"l": "x"}}}),
        Step("POST", maps, {"metadata": {"name": "b", "labels": {"l": "y"}}}),
        Step("PATCH", f"{maps}/b", {"metadata": {"labels": {"l": "x"}}}, media=media),
        Step("PATCH", f"{maps}/a", {"metadata": {"labels": {"l": "y"}}}, media=media),
        Step("PATCH", f"{maps}/a", {"metadata": {"labels": {"l": "x"}}}, media=media),
        Step("DELETE", f"{maps}/a"),
        Step("DELETE", f"{maps}/b"),
    ]
    path = f"{maps}{select}"
    told, ours = [await heard(each, path, namespace, changes) for each in (real, speaker)]
    assert not (found := list(differences(told, ours))), "\n".join(found)
    assert len(ours) >= 4


@pytest.mark.parametrize(
    "query",
    [
        "resourceVersion=abc",
        "sendInitialEvents=true",
        "resourceVersionMatch=NotOlderThan",
        "sendInitialEvents=true&resourceVersionMatch=Exact&allowWatchBookmarks=true",
        "labelSelector=a b",
        "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
    ],
)
async def test_the_options_of_a_watch_mean_the_same(query: str, real: Speaker, speaker: Speaker) -> None:
    namespace = await prepared(real, speaker)
    path = f"/api/v1/namespaces/{namespace}/configmaps?watch=1&timeoutSeconds=1&{query}"
    told, ours = [[event async for event in each.watch(path)] for each in (real, speaker)]
    assert not (found := list(differences(told, ours))), "\n".join(found)
    assert ours


@pytest.mark.parametrize(
    "query",
    [
        "resourceVersion=0",
        "resourceVersion=0&allowWatchBookmarks=true&timeoutSeconds=1",
        "resourceVersion=0&fieldSelector=metadata.name=a",
        "resourceVersion=0&fieldSelector=metadata.name=a,metadata.name=b",
        "fieldSelector=metadata.namespace=other",
        "fieldSelector=metadata.name!=a",
        "fieldSelector=,",
        "resourceVersionMatch=NotOlderThan&sendInitialEvents=true&allowWatchBookmarks=true",
        "resourceVersion=0&resourceVersionMatch=NotOlderThan",
    ],
)
@pytest.mark.parametrize("name", ["", "/a"])
async def test_a_watch_that_the_path_asks_for_is_judged_like_a_list(
    name: str, query: str, real: Speaker, speaker: Speaker
) -> None:
    namespace = await prepared(real, speaker)
    place = f"namespaces/{namespace}/configmaps"
    for each in (real, speaker):
        await each.say(Step("POST", f"/api/v1/{place}", {"metadata": {"name": "a"}}))
    path = f"/api/v1/watch/{place}{name}?timeoutSeconds=1&{query}"
    told, ours = [[event async for event in each.watch(path)] for each in (real, speaker)]
    assert not (found := list(differences(told, ours))), "\n".join(found)


async def test_discovery_is_the_same(real: Speaker, speaker: Speaker) -> None:
    aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
    for step in (
        Step("GET", "/api", accept=aggregated),
        Step("GET", "/api/v1"),
        Step("GET", "/apis/apps"),
        Step("GET", "/apis/apps/v1"),
        Step("GET", "/apis/autoscaling/v1"),
        Step("GET", "/healthz"),
    ):
        replies = [await each.say(step) for each in (real, speaker)]
        assert not (found := list(differences(*map(msgspec.to_builtins, replies)))), "\n".join(found)


async def test_schemas_are_told_in_the_old_form_as_by_the_real_server(
    real: Speaker, speaker: Speaker
) -> None:
    told, ours = [
        (await each.say(Step("GET", "/openapi/v2"))).body["definitions"] for each in (real, speaker)
    ]
    assert not (found := list(differences({name: told.get(name) for name in ours}, ours))), "\n".join(found)
    unkept = ("io.k8s.apimachinery.pkg.", "io.k8s.api.a", "io.k8s.api.policy.v1.Eviction")
    assert all(name.startswith(unkept) for name in {*told} - {*ours} if name.startswith("io.k8s."))
