"""Objects as typed metadata and raw bytes."""

from __future__ import annotations

import msgspec
import pytest

from trimtab.errors import ClusterUnreachable
from trimtab.kube.objects import Metadata, OwnerReference, answered_from, object_from, page_from
from trimtab.kube.picture import Upserted
from trimtab.resources.keys import ResourceKey

OBJECT = b"""{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop",
"uid":"u1","resourceVersion":"7","generation":2,"creationTimestamp":"2026-01-01T00:00:00Z","labels":{"a":"b"},
"annotations":null,"finalizers":["x"],"managedFields":[{"manager":"m"}],
"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"o","uid":"u0","controller":true}]},"spec":{"n":1}}"""


def test_metadata_is_typed_and_the_rest_waits() -> None:
    found = object_from(OBJECT)
    owner = OwnerReference(api_version="v1", kind="ConfigMap", name="o", uid="u0", controller=True)
    assert found.metadata == Metadata(
        name="web",
        namespace="shop",
        uid="u1",
        resource_version="7",
        generation=2,
        creation_timestamp="2026-01-01T00:00:00Z",
        labels={"a": "b"},
        finalizers=("x",),
        owner_references=(owner,),
    )
    assert found.key == ResourceKey(group="apps", kind="Deployment", namespace="shop", name="web")
    assert found.raw == OBJECT
    assert found.manifest() == msgspec.json.decode(OBJECT)


def test_a_page_tells_its_version_and_where_to_go_on() -> None:
    metadata = b'{"resourceVersion":"9","continue":"abc","remainingItemCount":3}'
    body = b'{"kind":"PodList","metadata":' + metadata + b',"items":[{"metadata":{}}]}'
    page = page_from(body, api_version="v1", kind="Pod")
    assert (page.resource_version, page.continue_token, page.remaining) == ("9", "abc", 3)
    assert [each.kind for each in page.objects] == ["Pod"]


@pytest.mark.parametrize("items", [b"null", b"[]"])
def test_an_empty_list_has_no_objects(items: bytes) -> None:
    body = b'{"kind":"PodList","items":' + items + b"}"
    assert page_from(body, api_version="v1", kind="Pod").objects == ()


NO_ANSWERS = [
    b"{}",
    b'{"status":"ok"}',
    b'{"items":[]}',
    b'{"kind":"PodList"}',
    b'{"kind":"Status","status":"Failure","message":"no"}',
]


@pytest.mark.parametrize("body", NO_ANSWERS)
def test_json_that_is_no_list_does_not_say_that_nothing_exists(body: bytes) -> None:
    with pytest.raises(msgspec.ValidationError):
        page_from(body, api_version="v1", kind="Pod")


@pytest.mark.parametrize("body", NO_ANSWERS[:4])
def test_json_that_does_not_say_what_it_is_is_no_object(body: bytes) -> None:
    with pytest.raises(msgspec.ValidationError):
        answered_from(body)


def test_a_whole_answer_says_itself_what_it_is() -> None:
    assert answered_from(OBJECT) == object_from(OBJECT)


def test_one_kept_object_does_not_keep_its_page() -> None:
    body = b'{"kind":"DeploymentList","items":[' + b",".join([OBJECT] * 50) + b"]}"
    kept = page_from(body, api_version="v1", kind="Pod").objects[0]
    assert len(kept.raw) == len(OBJECT)
    assert type(kept.raw) is bytes


def test_printing_an_object_does_not_print_what_it_holds() -> None:
    secret = b'{"kind":"Secret","metadata":{"name":"s","annotations":{"a":"canary"}},"data":{"p":"canary"}}'
    held = Upserted(object_from(secret, api_version="v1"))
    assert "canary" not in f"{held!r} {held}"
    assert "Secret s" in repr(held)


@pytest.mark.parametrize("value", [b'"\xff"', b"1e999", b"[" * 100_000, b"9" * 10_000])
def test_what_reading_the_metadata_passed_over_is_still_the_servers_failure(value: bytes) -> None:
    body = b'{"kind":"ConfigMap","metadata":{"name":"a"},"data":' + value + b"}"
    found = msgspec.structs.replace(object_from(OBJECT), raw=body)
    with pytest.raises(ClusterUnreachable, match="not JSON"):
        found.manifest()
