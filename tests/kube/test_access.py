"""The ways to prove who we are, judged by the real API server."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

import pytest

from testbed.plugins import plugin_script
from testbed.proxy import UNTROUBLED, Proxy
from tests.kube.world import CONFIG_MAPS, config_map
from trimtab.errors import ClusterUnreachable, InvalidSpec
from trimtab.kube import HttpCluster, Impersonation, connect, from_kubeconfig, in_cluster
from trimtab.kube.discovery import Resource
from trimtab.kube.failures import Forbidden, Unauthenticated
from trimtab.settings import ClusterSettings
from trimtab.tasks import SystemClock

if TYPE_CHECKING:
    from pathlib import Path

    from testbed.controlplane import ControlPlane

REVIEWS = Resource(
    group="authentication.k8s.io",
    version="v1",
    kind="SelfSubjectReview",
    plural="selfsubjectreviews",
    namespaced=False,
)


def connected(
    path: Path, impersonate: Impersonation | None = None
) -> AbstractAsyncContextManager[HttpCluster]:
    access = from_kubeconfig(
        [path],
        impersonate=impersonate,
        settings=ClusterSettings(),
        clock=SystemClock(),
        environment={"PATH": "/usr/bin:/bin"},
    )
    return connect(access, ClusterSettings(attempts=1))


async def whoami(cluster: HttpCluster) -> dict[str, Any]:
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    answer = await cluster.create(REVIEWS, review)
    found: dict[str, Any] = answer.object.manifest()["status"]["userInfo"]
    return found


def kubeconfig(folder: Path, plane: ControlPlane, user: dict[str, Any], **cluster: Any) -> Path:
    path = folder / "config"
    entry = {"server": plane.url, "certificate-authority": str(plane.ca_file), **cluster}
    config = {
        "clusters": [{"name": "c", "cluster": entry}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    path.write_text(json.dumps(config))
    return path


async def test_a_kubeconfig_with_a_token_is_who_it_says(control_plane: ControlPlane) -> None:
    async with connected(control_plane.kubeconfig) as cluster:
        assert (await whoami(cluster))["username"] == "admin"


async def test_a_client_certificate_is_who_it_names(control_plane: ControlPlane, tmp_path: Path) -> None:
    pair = control_plane.client_certificate("carol", ["system:masters"])
    user = {"client-certificate": str(pair.certificate), "client-key": str(pair.key)}
    async with connected(kubeconfig(tmp_path, control_plane, user)) as cluster:
        found = await whoami(cluster)
    assert (found["username"], "system:masters" in found["groups"]) == ("carol", True)


async def test_an_expired_certificate_is_refused_before_the_server_is_asked(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    pair = control_plane.client_certificate("carol", expired=True)
    user = {"client-certificate": str(pair.certificate), "client-key": str(pair.key)}
    with pytest.raises(InvalidSpec, match="expired"):
        connected(kubeconfig(tmp_path, control_plane, user))


async def test_an_exec_plugin_logs_in(control_plane: ControlPlane, tmp_path: Path) -> None:
    answer = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": control_plane.token("reader")},
    }
    script = plugin_script(tmp_path / "login", f"echo '{json.dumps(answer)}'")
    user = {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": str(script),
            "interactiveMode": "Never",
        }
    }
    async with connected(kubeconfig(tmp_path, control_plane, user)) as cluster:
        assert (await whoami(cluster))["username"] == "reader"


async def test_somebody_else_is_impersonated_whole(control_plane: ControlPlane) -> None:
    who = Impersonation(user="dave", uid="42", groups=("a", "b"), extra={"example.com/Scopes": ("x", "y")})
    async with connected(control_plane.kubeconfig, who) as cluster:
        found = await whoami(cluster)
        with pytest.raises(Forbidden, match='User "dave" cannot create'):
            await cluster.create(CONFIG_MAPS, config_map("a"), namespace="default")
    assert (found["username"], found["uid"]) == ("dave", "42")
    assert {"a", "b"} <= set(found["groups"])
    assert found["extra"]["example.com/scopes"] == ["x", "y"]


async def test_a_pod_is_its_service_account_and_takes_up_a_rotated_token(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    (tmp_path / "ca.crt").write_bytes(control_plane.ca_file.read_bytes())
    (tmp_path / "token").write_text("expired")
    environment = {
        "KUBERNETES_SERVICE_HOST": "127.0.0.1",
        "KUBERNETES_SERVICE_PORT": str(control_plane.port),
    }
    access = in_cluster(clock=SystemClock(), environment=environment, folder=tmp_path)
    async with connect(access) as cluster:
        with pytest.raises(Unauthenticated):
            await whoami(cluster)
        (tmp_path / "token").write_text(control_plane.token("reader"))
        assert (await whoami(cluster))["username"] == "reader"


async def test_a_server_with_another_name_is_not_trusted_unless_that_name_is_asked_for(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    user = {"token": control_plane.token()}
    wrong = kubeconfig(tmp_path, control_plane, user, **{"tls-server-name": "other.example"})
    async with connected(wrong) as cluster:
        with pytest.raises(ClusterUnreachable, match="certificate that is not trusted"):
            await whoami(cluster)
    right = kubeconfig(tmp_path, control_plane, user, **{"tls-server-name": "localhost"})
    async with connected(right) as cluster:
        assert (await whoami(cluster))["username"] == "admin"


class HttpProxy(Proxy):
    """A proxy that is asked to open the way first, as HTTP proxies are; remembers how it was asked."""

    def __init__(self, plane: ControlPlane) -> None:
        super().__init__("127.0.0.1", plane.port, None, lambda: UNTROUBLED)
        self.asked: list[list[str]] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.asked.append((await reader.readuntil(b"\r\n\r\n")).decode().splitlines())
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await super().serve(reader, writer)


async def test_a_proxy_opens_the_way_and_hears_its_own_password_but_nothing_of_ours(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    proxy, started = HttpProxy(control_plane), asyncio.Event()
    pair = control_plane.client_certificate("carol", ["system:masters"])
    user = {"client-certificate": str(pair.certificate), "client-key": str(pair.key)}
    async with asyncio.TaskGroup() as room:
        running = room.create_task(proxy.run(started))
        await started.wait()
        address = proxy.url.replace("http://", "http://user:word@")  # pragma: allowlist secret
        through = {"proxy-url": address, "tls-server-name": "localhost"}
        path = kubeconfig(tmp_path, control_plane, user, **through)
        async with connected(path) as cluster:
            assert (await whoami(cluster))["username"] == "carol"
            async with cluster.watch(CONFIG_MAPS, since="0", namespace="kube-system") as events:
                await anext(events)
        running.cancel()
    for asked in proxy.asked:
        assert asked[0] == f"CONNECT 127.0.0.1:{control_plane.port} HTTP/1.1"
        assert f"Proxy-Authorization: Basic {b64encode(b'user:word').decode()}" in asked
        assert not any(line.startswith("Authorization:") for line in asked)
    assert len(proxy.asked) == 2
