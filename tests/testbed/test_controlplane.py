"""The control plane: starts, keeps its data, obeys RBAC, and can be disturbed from a test."""

from __future__ import annotations

import contextlib
import http.client
import json
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from testbed.certificates import KeyPair
from testbed.controlplane import ControlPlane, User
from testbed.fixtures import ControlPlanes, Parts
from testbed.problems import PartFailed

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 3,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "example.org/web:1"}]},
        },
    },
}


def config_map(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "data": {"key": "value"}}


@pytest.fixture(scope="module")
def own(parts: Parts) -> Iterator[ControlPlane]:
    """A control plane that the tests of this file may disturb, if they leave it working."""
    developer = User("dave", ("developers",))
    with ControlPlane(builder=parts, controllers=False, watch_cache=False, users=[developer]) as plane:
        yield plane


@contextlib.contextmanager
def connection(plane: ControlPlane) -> Iterator[http.client.HTTPSConnection]:
    trust = ssl.create_default_context(cafile=str(plane.ca_file))
    made = http.client.HTTPSConnection("127.0.0.1", plane.port, timeout=60, context=trust)
    with contextlib.closing(made):
        yield made


def watch_first_event(plane: ControlPlane, path: str) -> Any:
    with connection(plane) as made:
        made.request("GET", path, headers={"Authorization": f"Bearer {plane.token()}"})
        return json.loads(made.getresponse().readline())


def test_a_deployment_becomes_available_although_no_container_runs(
    control_plane: ControlPlane, namespace: str
) -> None:
    control_plane.kubectl("apply", "-n", namespace, "-f", "-", stdin=json.dumps(DEPLOYMENT))
    control_plane.kubectl("wait", "-n", namespace, "--for=condition=Available", "--timeout=60s", "deploy/web")
    answer = json.loads(control_plane.kubectl("get", "-n", namespace, "deploy/web", "-o", "json"))
    assert answer["status"]["availableReplicas"] == 3


def test_each_test_gets_its_own_namespace(control_plane: ControlPlane, namespace: str) -> None:
    found = control_plane.call("GET", f"/api/v1/namespaces/{namespace}/configmaps")["items"]
    assert [item["metadata"]["name"] for item in found] == ["kube-root-ca.crt"] or found == []


@pytest.mark.parametrize(
    ("user", "verb", "allowed"),
    [
        ("admin", "get", True),
        ("admin", "delete", True),
        ("reader", "get", True),
        ("reader", "delete", False),
        ("nobody", "get", False),
    ],
)
def test_rights_follow_rbac(
    control_plane: ControlPlane, namespace: str, user: str, verb: str, *, allowed: bool
) -> None:
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"verb": verb, "resource": "configmaps", "namespace": namespace}},
    }
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    assert control_plane.call("POST", path, review, user=user)["status"]["allowed"] is allowed


def test_a_user_without_rights_is_refused_with_the_servers_own_words(
    control_plane: ControlPlane, namespace: str
) -> None:
    with pytest.raises(PartFailed, match=r'User "nobody" cannot list resource "configmaps"'):
        control_plane.kubectl("get", "configmaps", "-n", namespace, user="nobody")


def test_a_client_certificate_names_user_and_groups_and_an_expired_one_is_refused(
    control_plane: ControlPlane,
) -> None:
    good = control_plane.client_certificate("carol", ["readers", "writers"])
    bad = control_plane.client_certificate("carol", expired=True)
    common = ["--server", control_plane.url, "--certificate-authority", str(control_plane.ca_file)]
    question = ["auth", "whoami", "-o", "json", "--kubeconfig=/dev/null", *common]

    def whoami(pair: KeyPair) -> Any:
        mine = (f"--client-certificate={pair.certificate}", f"--client-key={pair.key}")
        return json.loads(control_plane.kubectl(*question, *mine))

    told = whoami(good)
    assert told["status"]["userInfo"]["username"] == "carol"
    assert told["status"]["userInfo"]["groups"] == ["readers", "writers", "system:authenticated"]
    with pytest.raises(PartFailed, match=r"Unauthorized|logged in"):
        whoami(bad)


def test_several_run_side_by_side_and_know_nothing_of_each_other(control_planes: ControlPlanes) -> None:
    one, other = control_planes.start(), control_planes.start()
    one.call("POST", CONFIG_MAPS, config_map("mine"))
    assert one.url != other.url
    assert other.call("GET", CONFIG_MAPS)["items"] == []
    one.stop()
    assert not one.folder.exists()
    assert other.call("GET", "/version")["gitVersion"] == "v1.36.3"


@pytest.mark.real
def test_a_test_may_bring_its_own_users(own: ControlPlane) -> None:
    told = json.loads(own.kubectl("auth", "whoami", "-o", "json", user="dave"))
    assert told["status"]["userInfo"]["groups"] == ["developers", "system:authenticated"]


@pytest.mark.real
def test_a_killed_api_server_leaves_its_port_closed_and_returns_there_with_all_data(
    own: ControlPlane,
) -> None:
    before = own.call("POST", CONFIG_MAPS, config_map("kept"))
    own.apiserver.kill()
    with pytest.raises(ConnectionRefusedError):
        own.call("GET", CONFIG_MAPS)
    own.etcd.restart()
    own.wait_for_etcd()
    own.apiserver.start()
    own.wait_until_ready()
    assert own.call("GET", f"{CONFIG_MAPS}/kept") == before


@pytest.mark.real
def test_a_paused_api_server_keeps_connections_open_and_silent_until_it_goes_on(own: ControlPlane) -> None:
    with connection(own) as made:
        made.connect()
        own.apiserver.pause()
        try:
            made.sock.settimeout(0.5)
            made.request("GET", "/version")
            with pytest.raises(TimeoutError):
                made.getresponse()
        finally:
            own.apiserver.resume()
    assert own.call("GET", "/version")["gitVersion"] == "v1.36.3"


@pytest.mark.real
def test_after_compaction_old_watches_and_old_pages_are_gone(own: ControlPlane) -> None:
    for number in range(4):
        own.call("POST", CONFIG_MAPS, config_map(f"cm-{number}"))
    page = own.call("GET", f"{CONFIG_MAPS}?limit=2")["metadata"]
    own.compact()

    event = watch_first_event(own, f"{CONFIG_MAPS}?watch=1&resourceVersion={page['resourceVersion']}")
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)
    with pytest.raises(PartFailed, match="410"):
        own.call("GET", f"{CONFIG_MAPS}?limit=2&continue={page['continue']}")


def test_a_part_that_does_not_come_up_says_why_with_its_log(control_planes: ControlPlanes) -> None:
    with pytest.raises(
        PartFailed, match=r"(?s)kube-apiserver: it ended with code 1.*unknown flag: --no-such"
    ):
        control_planes.start(apiserver_flags=["--no-such-flag"])


def growth(plane: ControlPlane) -> set[bytes]:
    """How much the programs may grow by, as they were told."""
    surroundings = [Path(f"/proc/{process.pid}/environ").read_bytes() for process in plane.processes]
    return {each for told in surroundings for each in told.split(b"\0") if each.startswith(b"GOGC=")}


def test_what_tests_share_may_grow_and_what_is_measured_is_as_it_is_shipped(
    control_plane: ControlPlane, own: ControlPlane
) -> None:
    assert growth(control_plane) == {b"GOGC=400"}
    assert growth(own) == {b"GOGC=100"}
