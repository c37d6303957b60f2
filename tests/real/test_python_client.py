"""The official Python client, in this process, against the embedded cluster and a real server."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Any

import pytest
from kubernetes import client, config, dynamic, watch

from tests.real.conftest import Server


@pytest.fixture
def api(server: Server) -> Iterator[Any]:
    """A connection to a server."""
    with config.new_client_from_config(str(server.kubeconfig)) as connected:
        yield connected


@pytest.fixture
def core(api: Any) -> Any:
    """The core group."""
    return client.CoreV1Api(api)


@pytest.fixture
def namespace(core: Any) -> str:
    """A fresh namespace."""
    name = f"test-{secrets.token_hex(4)}"
    core.create_namespace({"metadata": {"name": name}})
    return name


def colours(name: str = "colours", **data: str) -> Any:
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name, labels={"kind": "colours"}), data=data)


def test_an_object_is_made_read_changed_and_deleted(core: Any, namespace: str) -> None:
    made = core.create_namespaced_config_map(namespace, colours(sky="blue"))
    made.data["sea"] = "green"
    changed = core.replace_namespaced_config_map("colours", namespace, made)
    assert changed.data == {"sky": "blue", "sea": "green"}
    core.patch_namespaced_config_map("colours", namespace, {"data": {"sky": None}})
    assert core.read_namespaced_config_map("colours", namespace).data == {"sea": "green"}
    core.delete_namespaced_config_map("colours", namespace)
    with pytest.raises(client.ApiException) as caught:
        core.read_namespaced_config_map("colours", namespace)
    assert (caught.value.status, caught.value.reason) == (404, "Not Found")


def test_a_stale_object_is_refused(core: Any, namespace: str) -> None:
    made = core.create_namespaced_config_map(namespace, colours(sky="blue"))
    core.patch_namespaced_config_map("colours", namespace, {"data": {"sky": "grey"}})
    with pytest.raises(client.ApiException) as caught:
        core.replace_namespaced_config_map("colours", namespace, made)
    assert (caught.value.status, caught.value.reason) == (409, "Conflict")


def test_typed_objects_come_back_with_their_defaults(api: Any, namespace: str) -> None:
    labels = {"app": "web"}
    container = client.V1Container(
        name="web", image="web:1", ports=[client.V1ContainerPort(container_port=80)]
    )
    template = client.V1PodTemplateSpec(
        metadata=client.V1ObjectMeta(labels=labels), spec=client.V1PodSpec(containers=[container])
    )
    spec = client.V1DeploymentSpec(
        replicas=2, selector=client.V1LabelSelector(match_labels=labels), template=template
    )
    body = client.V1Deployment(metadata=client.V1ObjectMeta(name="web"), spec=spec)
    made: Any = client.AppsV1Api(api).create_namespaced_deployment(namespace, body)
    assert made.spec.strategy.rolling_update.max_surge == "25%"
    assert made.spec.template.spec.containers[0].ports[0].protocol == "TCP"


def test_pages_hold_what_was_there_at_the_first(core: Any, namespace: str) -> None:
    for number in range(5):
        core.create_namespaced_config_map(namespace, colours(f"c-{number}"))
    chosen = {"label_selector": "kind=colours", "limit": 2}
    page = core.list_namespaced_config_map(namespace, **chosen)
    core.create_namespaced_config_map(namespace, colours("c-9"))
    names = [each.metadata.name for each in page.items]
    while token := page.metadata.to_dict()["_continue"]:
        page = core.list_namespaced_config_map(namespace, _continue=token, **chosen)
        names += [each.metadata.name for each in page.items]
    assert names == [f"c-{number}" for number in range(5)]


def test_a_watch_tells_every_change_in_order(core: Any, namespace: str) -> None:
    since = core.list_namespaced_config_map(namespace).metadata.resource_version
    core.create_namespaced_config_map(namespace, colours(sky="blue"))
    core.patch_namespaced_config_map("colours", namespace, {"data": {"sky": "grey"}})
    core.delete_namespaced_config_map("colours", namespace)
    told = []
    stream = watch.Watch()
    chosen = {"label_selector": "kind=colours", "resource_version": since, "timeout_seconds": 30}
    for event in stream.stream(core.list_namespaced_config_map, namespace, **chosen):
        told.append((event["type"], event["object"].data["sky"]))
        if event["type"] == "DELETED":
            stream.stop()
    assert told == [("ADDED", "blue"), ("MODIFIED", "grey"), ("DELETED", "grey")]


def test_the_dynamic_client_finds_kinds_and_applies_on_the_server(api: Any, namespace: str) -> None:
    resources = dynamic.DynamicClient(api).resources
    config_maps = resources.get(api_version="v1", kind="ConfigMap")
    body = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "colours"},
        "data": {"sky": "blue"},
    }
    for _ in range(2):
        config_maps.server_side_apply(body=body, namespace=namespace, field_manager="painter")
    (owner,) = config_maps.get(name="colours", namespace=namespace).metadata.managedFields
    assert (owner.manager, owner.operation) == ("painter", "Apply")
