"""What the tests of `kube` share: ways into the real control plane, and manifests."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

from multidict import CIMultiDict

from trimtab.kube.discovery import Resource
from trimtab.kube.http import HttpCluster, connect
from trimtab.settings import ClusterSettings

if TYPE_CHECKING:
    from testbed.controlplane import ControlPlane


class TokenAccess:
    """A server and a bearer token: the simplest way in."""

    proxy: str | None = None
    tls_server_name: str | None = None
    compression = True
    namespace = "default"

    def __init__(self, server: str, token: str, tls: ssl.SSLContext | None = None) -> None:
        self.server = server
        self.token = token
        self._tls = tls

    async def tls(self) -> ssl.SSLContext | None:
        return self._tls

    async def headers(self) -> CIMultiDict[str]:
        return CIMultiDict({"Authorization": f"Bearer {self.token}"})

    async def rejected(self, sent: Mapping[str, str] | None = None) -> bool:
        return False


def trusting(plane: ControlPlane) -> ssl.SSLContext:
    """TLS that trusts this control plane's own authority."""
    return ssl.create_default_context(cafile=str(plane.ca_file))


def connect_to(
    plane: ControlPlane,
    *,
    user: str = "admin",
    server: str | None = None,
    settings: ClusterSettings | None = None,
) -> AbstractAsyncContextManager[HttpCluster]:
    """A connection to a control plane as one of its users, directly or by another address."""
    tls = trusting(plane) if server is None else None
    return connect(TokenAccess(server or plane.url, plane.token(user), tls), settings)


CONFIG_MAPS = Resource(group="", version="v1", kind="ConfigMap", plural="configmaps", namespaced=True)
DEFINITIONS = Resource(
    group="apiextensions.k8s.io",
    version="v1",
    kind="CustomResourceDefinition",
    plural="customresourcedefinitions",
    namespaced=False,
)
SECRETS = Resource(group="", version="v1", kind="Secret", plural="secrets", namespaced=True)
PODS = Resource(group="", version="v1", kind="Pod", plural="pods", namespaced=True)
ACCOUNTS = Resource(group="", version="v1", kind="ServiceAccount", plural="serviceaccounts", namespaced=True)
NAMESPACES = Resource(group="", version="v1", kind="Namespace", plural="namespaces", namespaced=False)
DEPLOYMENTS = Resource(group="apps", version="v1", kind="Deployment", plural="deployments", namespaced=True)


def config_map(name: str, /, labels: dict[str, str] | None = None, **data: str) -> dict[str, Any]:
    metadata = {"name": name, **({"labels": labels} if labels else {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def deployment(name: str, *, replicas: int = 1, image: str = "registry.example/web:1") -> dict[str, Any]:
    labels = {"app": name}
    containers = [{"name": "web", "image": image}]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
        },
    }
