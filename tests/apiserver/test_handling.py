"""The embedded server over HTTP: who is let in, what bad input gets, and that it stays up."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import Any, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.apiserver.conftest import speaking_to_memory
from tests.apiserver.conversation import Reply, Speaker, Step
from trimtab.apiserver import MemoryCluster
from trimtab.tasks.clock import ManualClock

T = TypeVar("T")
MAPS = "/api/v1/namespaces/default/configmaps"


async def code(speaker: Speaker, step: Step, **headers: str) -> int:
    return (await speaker.say(step, headers)).code


async def test_only_the_token_opens_the_door(speaker: Speaker) -> None:
    assert await code(speaker, Step("GET", MAPS), Authorization="Bearer wrong") == 401
    assert await code(speaker, Step("GET", MAPS), Authorization="") == 403
    assert await code(speaker, Step("GET", "/healthz"), Authorization="") == 200
    assert await code(speaker, Step("GET", "/version"), Authorization="") == 200


async def test_health_is_told_in_every_way(speaker: Speaker) -> None:
    for path in ("/healthz", "/livez", "/readyz", "/readyz/ping"):
        assert (await speaker.say(Step("GET", path))).body == "ok"


async def test_the_server_lists_where_it_says_something_of_itself(speaker: Speaker) -> None:
    paths = (await speaker.say(Step("GET", "/"))).body["paths"]
    assert {"/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1", "/version"} <= {*paths}
    assert (await speaker.say(Step("DELETE", "/apis/apps"))).body["kind"] == "APIGroup"


async def test_schemas_are_served_for_explaining_and_applying(speaker: Speaker) -> None:
    index = (await speaker.say(Step("GET", "/openapi/v3"))).body
    url = index["paths"]["apis/apps/v1"]["serverRelativeURL"]
    document = (await speaker.say(Step("GET", url))).body
    schema = document["components"]["schemas"]["io.k8s.api.apps.v1.DeploymentSpec"]
    assert "Number of desired pods" in schema["properties"]["replicas"]["description"]
    patch = document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"]
    assert "application/strategic-merge-patch+json" in patch["requestBody"]["content"]
    assert {each["name"] for each in patch["parameters"]} >= {"dryRun", "fieldValidation"}
    swagger = (await speaker.say(Step("GET", "/openapi/v2"))).body
    assert "io.k8s.api.core.v1.Pod" in swagger["definitions"]
    assert (await speaker.say(Step("GET", "/openapi/v3/apis/nowhere/v1"))).code == 404


async def test_answers_can_be_had_in_yaml(speaker: Speaker) -> None:
    reply = await speaker.say(Step("GET", "/api/v1/namespaces/default", accept="application/yaml"))
    assert reply.body.startswith("apiVersion: v1\nkind: Namespace\n")


async def test_a_watch_over_http_ends_in_time_and_with_an_error_when_history_is_gone() -> None:
    memory = MemoryCluster()
    async with speaking_to_memory(memory) as speaker:
        memory.api.store.compact()
        path = f"{MAPS}?watch=1&timeoutSeconds=1&resourceVersion=1"
        events = [event async for event in speaker.watch(path)]
        assert [event["type"] for event in events] == ["ERROR"]
        assert (events[0]["object"]["code"], events[0]["object"]["reason"]) == (410, "Expired")


LATER = f"{MAPS}?watch=1&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
TOO_LARGE = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}


async def ask_and_wait(asking: Coroutine[Any, Any, T], clock: ManualClock, *, but: Awaitable[object]) -> T:
    """Ask for what is to come; as soon as the server waits for it, something else is done."""
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        answer = group.create_task(asking)
        while not clock.sleepers():  # noqa: ASYNC110 - the server has no other way to tell
            await asyncio.sleep(0)
        await but
    return answer.result()


async def events_of(speaker: Speaker, path: str) -> list[Any]:
    return [event async for event in speaker.watch(path)]


@pytest.mark.parametrize("path", [f"{MAPS}?resourceVersion=999", f"{MAPS}/a?resourceVersion=999"])
async def test_a_version_that_is_to_come_is_refused_after_three_seconds(path: str) -> None:
    clock = ManualClock()
    async with speaking_to_memory(MemoryCluster(clock=clock)) as speaker:
        reply = await ask_and_wait(speaker.say(Step("GET", path)), clock, but=clock.advance(3))
    assert (reply.code, reply.body["details"]["causes"]) == (504, [TOO_LARGE])
    assert clock.sleepers() == 0


@pytest.mark.parametrize("path", [f"{MAPS}?resourceVersion=%d", f"{MAPS}/b?resourceVersion=%d"])
async def test_a_version_that_comes_meanwhile_is_answered_at_once(path: str) -> None:
    clock = ManualClock()
    memory = MemoryCluster(clock=clock)
    before = memory.api.store.subscribers
    async with speaking_to_memory(memory) as speaker, speaking_to_memory(memory) as other:
        asking = speaker.say(Step("GET", path % (memory.api.store.revision + 1)))
        making = other.say(Step("POST", MAPS, {"metadata": {"name": "b"}}))
        reply = await ask_and_wait(asking, clock, but=making)
    assert (reply.code, clock.monotonic(), memory.api.store.subscribers) == (200, 0.0, before)


async def test_initial_events_of_a_version_that_is_to_come_are_refused_after_three_seconds() -> None:
    clock = ManualClock()
    async with speaking_to_memory(MemoryCluster(clock=clock)) as speaker:
        asking = events_of(speaker, f"{LATER}&resourceVersion=99999999")
        [event] = await ask_and_wait(asking, clock, but=clock.advance(3))
    status = event["object"]
    assert (event["type"], status["code"], status["reason"]) == ("ERROR", 504, "Timeout")
    assert status["details"] == {"causes": [TOO_LARGE], "retryAfterSeconds": 1}


async def test_initial_events_of_a_version_that_comes_meanwhile_hold_it() -> None:
    clock = ManualClock()
    memory = MemoryCluster(clock=clock)
    async with speaking_to_memory(memory) as speaker, speaking_to_memory(memory) as other:
        asking = events_of(speaker, f"{LATER}&resourceVersion={memory.api.store.revision + 1}")
        making = other.say(Step("POST", MAPS, {"metadata": {"name": "b"}}))
        [event] = await ask_and_wait(asking, clock, but=making)
    assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "b")


async def test_a_watch_ends_when_its_client_leaves(speaker: Speaker) -> None:
    memory = MemoryCluster()
    async with speaking_to_memory(memory) as other:
        before = memory.api.store.subscribers
        events = other.watch(
            f"{MAPS}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
            "&allowWatchBookmarks=true"
        )
        async with asyncio.timeout(60):
            await anext(events)
            assert memory.api.store.subscribers == before + 1
            await events.aclose()  # type: ignore[attr-defined]  # an async generator
            await other.say(Step("POST", MAPS, {"metadata": {"name": "a"}}))
            while memory.api.store.subscribers != before:  # noqa: ASYNC110 - the server notices by itself
                await asyncio.sleep(0.01)


DEPTHS = [f'{{"metadata":{{"name":"x"}},"data":{"[" * n}' for n in (50, 900, 5000, 20_000)]


@pytest.mark.parametrize("body", DEPTHS, ids=len)
async def test_depth_is_refused_and_survived(speaker: Speaker, body: str) -> None:
    closed = body + "]" * body.count("[") + "}"
    for text in (body, closed):
        assert await code(speaker, Step("POST", MAPS, text)) == 400
    assert await code(speaker, Step("GET", "/readyz")) == 200


BYTES = st.binary(max_size=40)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["metadata", "name", "labels", "spec", "data", "kind", "apiVersion", "finalizers", "replicas"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
MEDIA = st.sampled_from(
    [
        "application/json",
        "application/yaml",
        "application/vnd.kubernetes.protobuf",
        "application/merge-patch+json",
        "application/strategic-merge-patch+json",
        "application/json-patch+json",
        "application/apply-patch+yaml",
    ]
)


@pytest.fixture(scope="module")
def conversation() -> Iterator[Callable[[Step], Reply]]:
    """One embedded server for many requests, and a loop that runs while one is under way."""
    with asyncio.Runner() as runner:
        door = speaking_to_memory(MemoryCluster())
        speaker = runner.run(door.__aenter__())
        yield lambda step: runner.run(speaker.say(step))
        runner.run(door.__aexit__(None, None, None))


@settings(max_examples=200, deadline=None)
@given(
    body=BYTES | BYTES.map(b"k8s\0".__add__) | VALUES,
    media=MEDIA,
    method=st.sampled_from(["POST", "PATCH", "PUT", "DELETE"]),
)
def test_whatever_is_sent_gets_an_answer_and_never_a_failure_of_ours(
    conversation: Callable[[Step], Reply], body: Any, media: str, method: str
) -> None:
    conversation(Step("POST", MAPS, {"metadata": {"name": "a"}}))
    content = body if isinstance(body, bytes) else json.dumps(body)
    path = MAPS if method == "POST" else f"{MAPS}/a?fieldManager=f"
    reply = conversation(Step(method, path, content, media=media))
    assert isinstance(reply.body, dict), reply.body
    assert reply.code in (200, 201, 400, 404, 409, 413, 415, 422, 500)
