"""In which order the server writes fields."""

from __future__ import annotations

from typing import Any

from trimtab.kube.gotext import to_json
from trimtab.kube.schemas.kinds import built_in
from trimtab.kube.schemas.order import as_written
from trimtab.kube.schemas.schema import crd_schema


def written(manifest: dict[str, Any]) -> str:
    group, _, version = manifest["apiVersion"].rpartition("/")
    schema = built_in().schema(group, version, manifest["kind"])
    assert schema is not None
    return to_json(as_written(manifest, schema), as_is=True)


def test_structs_are_written_in_the_order_of_their_fields_and_maps_by_key() -> None:
    manifest = {
        "data": {"b": "2", "a": "1"},
        "apiVersion": "v1",
        "metadata": {"labels": {"y": "2", "x": "1"}, "uid": "u", "name": "n"},
        "kind": "ConfigMap",
    }
    told = '{"kind":"ConfigMap","apiVersion":"v1",'
    metadata = '"metadata":{"name":"n","uid":"u","labels":{"x":"1","y":"2"}},'
    assert written(manifest) == f'{told}{metadata}"data":{{"a":"1","b":"2"}}}}'


def test_what_is_kept_as_it_came_is_written_as_it_came() -> None:
    manifest = {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "data": {"z": 1, "a": {"y": 1, "b": 2}},
    }
    assert '"data":{"z":1,"a":{"y":1,"b":2}}' in written(manifest)


def test_custom_resources_are_written_by_name() -> None:
    schema = crd_schema({"type": "object", "properties": {"spec": {"type": "object"}}}, built_in().types)
    manifest = {
        "spec": {"b": 1, "a": 2},
        "metadata": {"name": "n", "labels": {}},
        "kind": "K",
        "apiVersion": "g/v1",
    }
    told = '{"apiVersion":"g/v1","kind":"K","metadata":{"labels":{},"name":"n"},"spec":{"a":2,"b":1}}'
    assert to_json(as_written(manifest, schema), as_is=True) == told
