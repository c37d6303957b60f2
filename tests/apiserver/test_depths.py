"""What is nested deeper than Python goes by itself is taken as by a real server."""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Callable

import pytest

from testbed.controlplane import ControlPlane
from testbed.embedded import Embedded
from tests.apiserver.bad_requests import (
    APPLY,
    COLOURS,
    JSON,
    JSON_PATCH,
    MAPS,
    MERGE,
    NAMESPACE,
    STRATEGIC,
    YAML,
    Client,
    Request,
)
from tests.kube.world import CONFIG_MAPS, DEFINITIONS
from trimtab.apiserver import MemoryCluster
from trimtab.apiserver.stacks import on_large_stack, with_room
from trimtab.kube import gotext, trees
from trimtab.kube.cluster import EventType, PatchType
from trimtab.kube.discovery import Resource
from trimtab.kube.failures import ServerFailed

THINGS = Resource(group="example.com", version="v1", kind="Thing", plural="things", namespaced=True)
ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "things.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "things", "kind": "Thing"},
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": ANYTHING}}
        ],
    },
}
DEFINED = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
THINGS_AT = f"/apis/example.com/v1/namespaces/{NAMESPACE}/things"
REVISIONS_AT = f"/apis/apps/v1/namespaces/{NAMESPACE}/controllerrevisions"
PARTIAL = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


def maps(levels: int, inside: str = "1") -> str:
    return '{"a":' * levels + inside + "}" * levels


def thing(free: str, name: str = "a") -> str:
    head = f'"apiVersion":"example.com/v1","kind":"Thing","metadata":{{"name":"{name}"}}'
    return f'{{{head},"free":{free}}}'


def revision(data: str) -> str:
    head = '"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"a"}'
    return f'{{{head},"revision":1,"data":{data}}}'


# -- room -------------------------------------------------------------------------------------------------


def depth_reached(levels: int) -> int:
    return 1 + depth_reached(levels - 1) if levels else 0


def test_there_is_room_for_a_dozen_calls_a_level() -> None:
    assert on_large_stack(lambda: depth_reached(100_000)) == 100_000


def test_what_needs_no_room_is_given_none() -> None:
    assert with_room(threading.get_ident) == threading.get_ident()
    assert with_room(lambda: depth_reached(5_000)) == 5_000


def test_what_goes_wrong_where_there_is_room_is_told_and_everything_is_as_before() -> None:
    before = sys.getrecursionlimit(), threading.stack_size()
    with pytest.raises(ZeroDivisionError):
        on_large_stack(lambda: 1 // 0)
    with pytest.raises(RecursionError):
        on_large_stack(lambda: depth_reached(1_000_000))
    assert (sys.getrecursionlimit(), threading.stack_size()) == before


# -- in process -------------------------------------------------------------------------------------------


async def with_things() -> MemoryCluster:
    cluster = MemoryCluster()
    await cluster.create(DEFINITIONS, DEFINITION)
    return cluster


async def test_an_object_may_be_as_deep_as_a_real_server_reads() -> None:
    cluster = await with_things()
    made = await cluster.create(THINGS, thing(maps(9_994)).encode(), namespace="default")
    since = made.object.metadata.resource_version
    async with cluster.watch(THINGS, since=since) as events:
        labelled = b'{"metadata":{"labels":{"x":"y"}}}'
        await cluster.patch(THINGS, "a", labelled, how=PatchType.MERGE, namespace="default")
        assert (await anext(events)).type is EventType.MODIFIED
    [page] = [page async for page in cluster.list(THINGS, namespace="default")]
    assert [each.metadata.labels for each in page.objects] == [{"x": "y"}]
    assert maps(9_994).encode() in next(iter(cluster.api.store.entries(("example.com", "things"), ""))).body
    assert await cluster.delete(THINGS, "a", namespace="default") is None


async def test_what_its_owners_would_make_too_deep_to_be_read_again_is_not_kept() -> None:
    cluster = await with_things()
    with pytest.raises(ServerFailed, match=r"invalid character '\{' exceeded max depth"):
        await cluster.create(THINGS, thing(maps(9_995)).encode(), namespace="default")
    [page] = [page async for page in cluster.list(THINGS, namespace="default")]
    assert page.objects == ()


def in_branches(size: int) -> str:
    return f"[{','.join([maps(9_990)] * (size // len(maps(9_990))))}]"


def at_the_bottom(size: int) -> str:
    return maps(9_990, f"[{','.join(['1'] * (size // 2))}]")


@pytest.mark.parametrize("free", [in_branches, at_the_bottom])
async def test_what_would_take_too_long_is_refused_before_it_is_begun(free: Callable[[int], str]) -> None:
    cluster = await with_things()
    with pytest.raises(ServerFailed, match="did not complete within requested timeout"):
        await cluster.create(THINGS, thing(free(2_900_000)).encode(), namespace="default")
    with pytest.raises(ServerFailed, match="did not complete within requested timeout"):
        await cluster.apply(THINGS, "a", thing(free(2_900_000)).encode(), namespace="default")


async def test_a_field_that_nobody_knows_may_be_deep() -> None:
    body = f'{{"metadata":{{"name":"a"}},"unknown":{maps(2_000)}}}'
    made = await MemoryCluster().create(CONFIG_MAPS, body.encode(), namespace="default")
    assert set(made.object.manifest()) == {"apiVersion", "kind", "metadata"}


# -- beside a real server ---------------------------------------------------------------------------------


def request(method: str, path: str, body: str = "", media: str = JSON, accept: str = "") -> Request:
    headers = (("Accept", accept),) if accept else ()
    return Request(method=method, path=path, body=body.encode(), media=media if body else "", headers=headers)


def life_of(path: str, body: str) -> list[Request]:
    """An object from its creation to its end."""
    own, label = f"{path}/a?fieldManager=m", '{"metadata":{"labels":{"x":"y"}}}'
    return [
        request("POST", f"{path}?fieldManager=m&fieldValidation=Strict", body),
        request("GET", f"{path}/a"),
        request("GET", path),
        request("PATCH", own, label, MERGE),
        request("GET", path, accept=PARTIAL),
        request("PATCH", f"{path}/a?fieldManager=other&force=true", body, APPLY),
        request("DELETE", f"{path}/a"),
        request("GET", f"{path}/a"),
    ]


def patches(levels: int) -> list[Request]:
    own, deep = f"{THINGS_AT}/a?fieldManager=m", maps(levels)
    tried = f'[{{"op":"test","path":"/b","value":{deep}}},{{"op":"copy","from":"/b","path":"/c"}}]'
    return [
        request("POST", THINGS_AT, thing("1")),
        request("PATCH", own, f'{{"free":{deep}}}', MERGE),
        request("PATCH", own, f'{{"free":{deep}}}', MERGE),
        request("PATCH", own, f'[{{"op":"add","path":"/b","value":{deep}}}]', JSON_PATCH),
        request("PATCH", own, tried, JSON_PATCH),
        request("PATCH", own, f'[{{"op":"replace","path":"/b{"/a" * levels}","value":3}}]', JSON_PATCH),
        request("PATCH", f"{THINGS_AT}/a?fieldManager=app", thing(maps(levels, "2")), APPLY),
        request("PATCH", f"{THINGS_AT}/a?fieldManager=app&force=true", thing(deep), APPLY),
        request("PATCH", f"{THINGS_AT}/a?fieldManager=app", thing('{"b":1}'), APPLY),
        request("DELETE", f"{THINGS_AT}/a"),
    ]


def nested_schema(levels: int, inside: str) -> str:
    schema = '{"type":"object","properties":{"a":' * levels + inside + "}}" * levels
    named = json.dumps(DEFINITION).replace("things", "deepthings").replace("Thing", "DeepThing")
    return named.replace(json.dumps(ANYTHING), schema)


def in_yaml(levels: int) -> list[Request]:
    named, applied = "metadata: {name: new}\nunknown:", f"{COLOURS}?dryRun=All&fieldManager=m"
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: colours}\nunknown:"
    flow = f"{'{a: ' * levels}1{'}' * levels}"
    return [
        request("POST", f"{MAPS}?dryRun=All", f"{named} {flow}", YAML),
        request("POST", f"{MAPS}?dryRun=All", f"{named} {'[' * levels}{']' * levels}", YAML),
        request("POST", f"{MAPS}?dryRun=All", f"{named}\n{'- ' * levels}1", YAML),
        request("PATCH", applied, f"{head} {flow}", APPLY),
    ]


BLOCKS = "metadata: {name: new}\nunknown:\n" + "".join(f"{' ' * n}a:\n" for n in range(1, 900))
DRY_DEFINED, DRY_COLOURS = f"{DEFINED}?dryRun=All&fieldManager=m", f"{COLOURS}?dryRun=All&fieldManager=m"
DATA = maps(1_000, "{}")
SCENES = {
    "a revision, 1,000 levels deep": life_of(REVISIONS_AT, revision(DATA)),
    "a revision, 9,999 levels deep": life_of(REVISIONS_AT, revision(maps(9_999))),
    "a revision, too deep": [request("POST", REVISIONS_AT, revision(maps(10_000)))],
    "a custom resource, 400 levels deep": life_of(THINGS_AT, thing(maps(400))),
    "a custom resource, 5,000 levels deep": [
        *life_of(THINGS_AT, thing(maps(5_000)))[:5],
        request("DELETE", f"{THINGS_AT}/a"),
    ],
    "a custom resource whose owners lie too deep": [
        request("POST", f"{THINGS_AT}?dryRun=All&fieldManager=m", thing(maps(9_995)))
    ],
    "a field given twice, 5,000 levels deep": [
        request("POST", f"{THINGS_AT}?fieldValidation=Strict", thing(maps(5_000, '{"b":1,"b":2}')))
    ],
    "patches, 300 levels deep": patches(300),
    "patches, 1,000 levels deep": patches(1_000),
    "schemas": [
        request("POST", DRY_DEFINED, nested_schema(levels, inside))
        for levels in (100, 200, 700)
        for inside in ('{"type":"object"}', '{"type":"wrong"}')
    ],
    "refusals that show it": [
        request("PATCH", DRY_COLOURS, f'{{"data":{DATA}}}', MERGE),
        request("PATCH", DRY_COLOURS, f'{{"data":{DATA}}}', STRATEGIC),
        request("PATCH", DRY_COLOURS, f'[{{"op":"add","path":"/data","value":{DATA}}}]', JSON_PATCH),
        request(
            "PATCH",
            DRY_COLOURS,
            f'{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"colours"}},"data":{DATA}}}',
            APPLY,
        ),
    ],
    "YAML in blocks": [request("POST", f"{MAPS}?dryRun=All", BLOCKS, YAML)],
    **{f"YAML, {levels} levels deep": in_yaml(levels) for levels in (300, 5_000, 9_999, 10_000, 10_001)},
}
MASKS = (
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "<uid>"),
    (r'(resourceVersion\\*":\\*")[0-9]+', r"\1<version>"),
    (r"20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z", "<time>"),
)


def answered(client: Client, asked: Request) -> tuple[int, bytes]:
    with client.answered(asked) as answer:
        return answer.status, answer.read()


def told(client: Client, asked: Request) -> tuple[int, str]:
    """The code of an answer and what it says, whatever the order of its fields."""
    code, body = answered(client, asked)
    text = on_large_stack(lambda: gotext.to_json(trees.decoded(body)))
    for pattern, mask in MASKS:
        text = re.sub(pattern, mask, text)
    return code, text


def prepared(client: Client) -> Client:
    client.prepare()
    answered(client, request("POST", DEFINED, json.dumps(DEFINITION)))
    probe = request("POST", f"{THINGS_AT}?dryRun=All", thing("1"))
    assert any(answered(client, probe)[0] == 201 for _ in range(3_000))
    return client


def test_what_is_deep_goes_as_with_a_real_server(api_server: ControlPlane) -> None:
    with Embedded() as embedded:
        real, ours = prepared(Client(api_server.kubeconfig)), prepared(Client(embedded.kubeconfig))
        for name, scene in SCENES.items():
            for number, asked in enumerate(scene):
                expected, found = told(real, asked), told(ours, asked)
                assert found == expected, f"{name}, request {number}: {asked.method} {asked.path}"
        answered(real, request("DELETE", f"{DEFINED}/things.example.com"))
