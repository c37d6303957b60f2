"""Discovery documents, aggregated and legacy, say the same; what did not answer is named."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec
import pytest
from aiohttp import web

from tests.kube.test_transport import server
from tests.kube.world import connect_to
from trimtab.errors import ClusterUnreachable, InvalidSpec
from trimtab.kube.discovery import Resource, aggregated, group_versions, legacy
from trimtab.settings import ClusterSettings

if TYPE_CHECKING:
    from testbed.controlplane import ControlPlane
    from testbed.fixtures import ControlPlanes
    from trimtab.kube.http import HttpCluster

WIDGETS = Resource(
    group="example.com",
    version="v1",
    kind="Widget",
    plural="widgets",
    namespaced=True,
    verbs=("get", "list"),
    subresources=("status",),
    singular="widget",
    short_names=("wd",),
    categories=("all",),
)


@pytest.mark.parametrize(
    ("namespace", "name", "subresource", "path"),
    [
        ("", "", "", "/apis/example.com/v1/widgets"),
        ("shop", "", "", "/apis/example.com/v1/namespaces/shop/widgets"),
        ("shop", "a", "", "/apis/example.com/v1/namespaces/shop/widgets/a"),
        ("shop", "a", "status", "/apis/example.com/v1/namespaces/shop/widgets/a/status"),
        ("shop", "a?b#c d\r\n", "", "/apis/example.com/v1/namespaces/shop/widgets/a%3Fb%23c%20d%0D%0A"),
    ],
)
def test_paths_address_collections_objects_and_parts_and_nothing_else(
    namespace: str, name: str, subresource: str, path: str
) -> None:
    assert WIDGETS.path(namespace, name, subresource) == path


@pytest.mark.parametrize("part", [".", "..", "a/b", "../x", "a%2Fb"])
def test_names_that_could_lead_elsewhere_are_refused_wherever_they_stand(part: str) -> None:
    replace = msgspec.structs.replace
    for resource, names in (
        (WIDGETS, (part,)),
        (WIDGETS, ("shop", part)),
        (WIDGETS, ("shop", "a", part)),
        (replace(WIDGETS, plural=part), ()),
        (replace(WIDGETS, version=part), ()),
    ):
        with pytest.raises(InvalidSpec, match="Kubernetes has no such names"):
            resource.path(*names)


def encode(value: object) -> bytes:
    return msgspec.json.encode(value)


AGGREGATED = {
    "kind": "APIGroupDiscoveryList",
    "items": [
        {
            "metadata": {"name": "example.com"},
            "versions": [
                {
                    "version": "v1",
                    "freshness": "Current",
                    "resources": [
                        {
                            "resource": "widgets",
                            "scope": "Namespaced",
                            "responseKind": {"group": "example.com", "version": "v1", "kind": "Widget"},
                            "singularResource": "widget",
                            "shortNames": ["wd"],
                            "categories": ["all"],
                            "verbs": ["get", "list"],
                            "subresources": [{"subresource": "status", "verbs": ["get"]}],
                        }
                    ],
                }
            ],
        },
        {"metadata": {"name": "metrics.k8s.io"}, "versions": [{"version": "v1beta1", "freshness": "Stale"}]},
    ],
}

LEGACY = {
    "resources": [
        {
            "name": "widgets",
            "kind": "Widget",
            "namespaced": True,
            "singularName": "widget",
            "verbs": ["get", "list"],
            "shortNames": ["wd"],
            "categories": ["all"],
        },
        {"name": "widgets/status", "kind": "Widget", "namespaced": True, "verbs": ["get"]},
    ]
}


def test_both_forms_describe_a_kind_alike() -> None:
    assert aggregated(encode(AGGREGATED)).resources == (WIDGETS,)
    assert legacy("example.com/v1", encode(LEGACY)) == (WIDGETS,)


def test_lists_that_go_left_empty_may_be_null() -> None:
    nothing = {"verbs": None, "shortNames": None, "categories": None}
    widget = {
        "resource": "widgets",
        "scope": "Cluster",
        "responseKind": {"kind": "Widget"},
        "subresources": None,
    }
    group = {"metadata": {"name": "a"}, "versions": [{"version": "v1", "resources": [widget | nothing]}]}
    bare = Resource(group="a", version="v1", kind="Widget", plural="widgets", namespaced=False)
    assert aggregated(encode({"items": [group, {"versions": None}]}), encode({"items": None})).resources == (
        bare,
    )
    old = {"resources": [{"name": "widgets", "kind": "Widget", **nothing}]}
    assert legacy("a/v1", encode(old)) == (bare,)
    assert legacy("a/v1", encode({"resources": None})) == ()
    assert group_versions(encode({"versions": None}), encode({"groups": None})) == ()
    assert group_versions(encode({"versions": ["v1"]}), encode({"groups": [{"versions": None}]})) == ("v1",)


@pytest.mark.parametrize("body", [{}, {"status": "ok"}, {"kind": "Status", "status": "Failure"}])
def test_json_that_is_no_discovery_does_not_say_that_nothing_is_served(body: object) -> None:
    for read in (
        lambda: aggregated(encode(body)),
        lambda: legacy("a/v1", encode(body)),
        lambda: group_versions(encode(body), encode({"groups": []})),
        lambda: group_versions(encode({"versions": []}), encode(body)),
    ):
        with pytest.raises(msgspec.ValidationError):
            read()


def test_a_group_whose_server_does_not_answer_is_named() -> None:
    assert dict(aggregated(encode(AGGREGATED)).failed) == {
        "metrics.k8s.io/v1beta1": "its server does not answer"
    }


def test_preferred_versions_come_first() -> None:
    groups = {
        "groups": [
            {
                "versions": [{"groupVersion": "a/v1"}, {"groupVersion": "a/v2"}],
                "preferredVersion": {"groupVersion": "a/v2"},
            }
        ]
    }
    assert group_versions(encode({"versions": ["v1"]}), encode(groups)) == ("v1", "a/v2", "a/v1")


async def test_a_server_without_the_aggregated_form_is_asked_group_by_group_and_failures_stay_apart() -> None:
    answers = {
        "/api": {"kind": "APIVersions", "versions": ["v1"]},
        "/apis": {
            "kind": "APIGroupList",
            "groups": [
                {"versions": [{"groupVersion": "example.com/v1"}]},
                {"versions": [{"groupVersion": "broken.example.com/v1"}]},
                {"versions": [{"groupVersion": "rubbish.example.com/v1"}]},
                {"versions": [{"groupVersion": "../../v1"}]},
            ],
        },
        "/api/v1": {"resources": [{"name": "pods", "kind": "Pod", "namespaced": True, "verbs": ["get"]}]},
        "/apis/example.com/v1": LEGACY,
        "/apis/rubbish.example.com/v1": {"resources": "rubbish"},
    }

    async def old_server(request: web.Request) -> web.StreamResponse:
        if request.path in answers:
            return web.json_response(answers[request.path])
        return web.Response(status=503, text="service unavailable")

    async with server(old_server, ClusterSettings(attempts=1)) as cluster:
        found = await cluster.discover()
    assert [each.kind for each in found.resources] == ["Pod", "Widget"]
    assert list(found.failed) == ["broken.example.com/v1", "rubbish.example.com/v1", "../../v1"]
    assert found.failed["broken.example.com/v1"] == "HTTP 503: service unavailable"
    assert "not Kubernetes' JSON" in found.failed["rubbish.example.com/v1"]


@pytest.mark.parametrize("modern", ["/api", "/apis"])
async def test_servers_of_two_versions_behind_one_address_do_not_hide_half_of_the_kinds(modern: str) -> None:
    core = {"kind": "APIVersions", "versions": ["v1"]}
    groups = {"kind": "APIGroupList", "groups": [{"versions": [{"groupVersion": "example.com/v1"}]}]}
    pods = {"resources": [{"name": "pods", "kind": "Pod", "namespaced": True}]}
    answers = {"/api": core, "/apis": groups, "/api/v1": pods, "/apis/example.com/v1": LEGACY}

    async def mixed(request: web.Request) -> web.StreamResponse:
        aggregated_form = request.path == modern and "apidiscovery" in request.headers["Accept"]
        return web.json_response(AGGREGATED if aggregated_form else answers[request.path])

    async with server(mixed) as cluster:
        found = await cluster.discover()
    assert [each.kind for each in found.resources] == ["Pod", "Widget"]


async def test_both_forms_agree_on_everything_the_real_server_serves(
    control_plane: ControlPlane, cluster: HttpCluster
) -> None:
    found = await cluster.discover()
    core, groups = [
        encode(await asyncio.to_thread(control_plane.call, "GET", path)) for path in ("/api", "/apis")
    ]
    bodies = [
        (version, encode(await asyncio.to_thread(control_plane.call, "GET", path_of(version))))
        for version in group_versions(core, groups)
    ]
    listed = tuple(resource for version, body in bodies for resource in legacy(version, body))
    assert described(listed) == described(found.resources)


async def test_a_group_whose_real_server_is_away_is_named_and_hides_no_other(
    control_planes: ControlPlanes,
) -> None:
    group, kind = "apiregistration.k8s.io", "APIService"
    services = Resource(group=group, version="v1", kind=kind, plural="apiservices", namespaced=False)
    away = {
        "apiVersion": services.api_version,
        "kind": services.kind,
        "metadata": {"name": "v1.away.example.com"},
        "spec": {
            "group": "away.example.com",
            "version": "v1",
            "groupPriorityMinimum": 100,
            "versionPriority": 10,
            "insecureSkipTLSVerify": True,
            "service": {"namespace": "default", "name": "nowhere"},
        },
    }
    async with connect_to(control_planes.start()) as cluster, asyncio.timeout(60):
        await cluster.create(services, away)
        while not (found := await cluster.discover()).failed:
            pass  # the server takes a moment to look for the other one
    assert dict(found.failed) == {"away.example.com/v1": "its server does not answer"}
    assert found.resource("apps/v1", "Deployment") is not None


def path_of(version: str) -> str:
    return f"/apis/{version}" if "/" in version else f"/api/{version}"


def described(resources: tuple[Resource, ...]) -> set[object]:
    return {
        (
            each.api_version,
            each.kind,
            each.plural,
            each.namespaced,
            frozenset(each.verbs),
            frozenset(each.subresources),
        )
        for each in resources
    }


async def test_a_schema_said_to_be_on_another_server_is_not_fetched() -> None:
    asked = []

    async def elsewhere(request: web.Request) -> web.StreamResponse:
        asked.append(request.path)
        return web.json_response({"paths": {"api/v1": {"serverRelativeURL": "@elsewhere.example/steal"}}})

    async with server(elsewhere) as cluster:
        with pytest.raises(ClusterUnreachable, match="no path"):
            await cluster.schema("v1")
    assert asked == ["/openapi/v3"]
