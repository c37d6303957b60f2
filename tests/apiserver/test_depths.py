"""What lies too deep is cut off where it is forgotten anyway, and never kept without it."""

from __future__ import annotations

import json

import pytest

from tests.kube.world import CONFIG_MAPS, DEFINITIONS
from trimtab.apiserver import MemoryCluster
from trimtab.apiserver.depths import DEEPEST, LEVELS, MARK, cut, depth_of
from trimtab.kube.cluster import PatchType
from trimtab.kube.discovery import Resource
from trimtab.kube.failures import InvalidObject

THINGS = Resource(group="example.com", version="v1", kind="Thing", plural="things", namespaced=True)
ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
DEFINITION = {
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
DEEP = '{"a":' * 2000 + "1" + "}" * 2000
HEAD = '"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"a"}'


@pytest.mark.parametrize(
    ("text", "depth"),
    [("1", 0), ("{}", 1), ('{"a":[[],{"b":[]}]}', 4), (r'"[[\"{{"', 0), ('{"]":"[","a":{}}', 2)],
)
def test_depth_is_counted_outside_of_texts(text: str, depth: int) -> None:
    assert depth_of(text.encode()) == depth


def test_what_lies_deepest_is_cut_off_and_nothing_else() -> None:
    more = DEEPEST - LEVELS
    text = '{"x":"{","a":' * (LEVELS - 1) + "[" * more + "]" * more + ',"z":1}' * (LEVELS - 1)
    found = json.loads(cut(text.encode()))
    for _ in range(LEVELS - 1):
        assert (found["x"], found["z"]) == ("{", 1)
        found = found["a"]
    assert found == [MARK]


def test_what_is_not_deep_stays_as_it_is() -> None:
    text = ("[" * (LEVELS - 1) + '{"a": 1}' + "]" * (LEVELS - 1)).encode()
    assert cut(b'{"a": [1, {}]}') == b'{"a": [1, {}]}'
    assert depth_of(cut(text)) <= LEVELS + 1


async def test_no_object_is_kept_without_what_was_cut_off() -> None:
    cluster = MemoryCluster()
    await cluster.create(DEFINITIONS, DEFINITION)
    created = await cluster.create(THINGS, f"{{{HEAD}}}".encode(), namespace="default")
    with pytest.raises(InvalidObject, match="exceeded max depth"):
        await cluster.create(
            THINGS, f'{{{HEAD},"free":{DEEP}}}'.replace('"a"', '"b"', 1).encode(), namespace="default"
        )
    for how, body in (
        (PatchType.MERGE, f'{{"free":{DEEP}}}'),
        (PatchType.JSON, f'[{{"op":"add","path":"/free","value":{DEEP}}}]'),
    ):
        with pytest.raises(InvalidObject, match="exceeded max depth"):
            await cluster.patch(THINGS, "a", body.encode(), how=how, namespace="default")
    kept = await cluster.get(THINGS, "a", namespace="default")
    assert kept.metadata.resource_version == created.object.metadata.resource_version


async def test_a_field_that_nobody_knows_may_be_deep() -> None:
    body = f'{{"metadata":{{"name":"a"}},"unknown":{DEEP}}}'
    made = await MemoryCluster().create(CONFIG_MAPS, body.encode(), namespace="default")
    assert set(made.object.manifest()) == {"apiVersion", "kind", "metadata"}
