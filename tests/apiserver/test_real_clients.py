"""The embedded server judged by the clients that people use: kubectl and helm."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.apiserver.conversation import differences, masked
from trimtab.apiserver import MemoryCluster, kubeconfig, serve
from trimtab.resources.yaml import dump

if TYPE_CHECKING:
    from testbed.controlplane import ControlPlane

Client = Callable[..., Awaitable[str]]
MANIFEST = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "registry.example/web:1"}]}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: http}]}
"""


async def run(program: Path, config: Path, *arguments: str, fails: bool = False) -> str:
    """Run a client to its end; what it printed."""
    environment = {"KUBECONFIG": str(config), "HOME": str(config.parent), "PATH": "/usr/bin:/bin"}
    process = await asyncio.create_subprocess_exec(
        str(program),
        *arguments,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(60):
        printed, _ = await process.communicate()
    assert fails or process.returncode == 0, printed.decode()
    return printed.decode()


@pytest.fixture
async def config(tmp_path: Path) -> AsyncIterator[Path]:
    """A kubeconfig for an embedded server."""
    async with serve(MemoryCluster().api) as server:
        path = tmp_path / "kubeconfig"
        path.write_text(dump(kubeconfig(server)))
        yield path


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    path = tmp_path / "web.yaml"
    path.write_text(MANIFEST)
    return path


def rewrite(path: Path, text: str) -> None:
    path.write_text(text)


async def test_kubectl_does_what_people_do(kubectl: Path, config: Path, manifest: Path) -> None:
    async def kube(*arguments: str, fails: bool = False) -> str:
        return await run(kubectl, config, *arguments, fails=fails)

    assert await kube("create", "namespace", "shop") == "namespace/shop created\n"
    applying = ("-n", "shop", "apply", "-f", str(manifest))
    assert await kube(*applying) == "deployment.apps/web created\nservice/web created\n"
    assert await kube(*applying) == "deployment.apps/web unchanged\nservice/web unchanged\n"
    rewrite(manifest, MANIFEST.replace("web:1", "web:2"))
    assert "web:2" in await kube("-n", "shop", "diff", "-f", str(manifest), fails=True)
    assert await kube(*applying) == "deployment.apps/web configured\nservice/web unchanged\n"
    assert "serverside-applied" in await kube(*applying, "--server-side")
    assert (
        await kube("-n", "shop", "scale", "deploy", "web", "--replicas=3") == "deployment.apps/web scaled\n"
    )
    assert "3" in await kube("-n", "shop", "get", "deploy", "web", "-o", "jsonpath={.spec.replicas}")
    assert "Number of desired pods" in await kube("explain", "deployment.spec.replicas")
    assert "deployments" in await kube("api-resources", "--api-group=apps")
    assert await kube("auth", "can-i", "create", "pods") == "yes\n"
    assert "Server Version: v1.36" in await kube("version")
    strict = await kube(*applying, "--validate=strict", "--dry-run=server")
    assert "(server dry run)" in strict
    removed = await kube("-n", "shop", "delete", "-f", str(manifest))
    assert 'service "web" deleted' in removed


TYPED = (
    ("create", "configmap", "a", "--from-literal=x=y"),
    ("create", "secret", "generic", "a", "--from-literal=x=y"),
    ("create", "deployment", "a", "--image=registry.example/a:1", "--port=80", "--replicas=2"),
    ("create", "service", "nodeport", "a", "--tcp=80:http"),
    ("create", "job", "a", "--image=registry.example/a:1"),
    ("create", "cronjob", "a", "--image=registry.example/a:1", "--schedule=* * * * *"),
    ("create", "serviceaccount", "a"),
    ("create", "role", "a", "--verb=get", "--resource=pods"),
    ("create", "ingress", "a", "--rule=a.example/*=a:80"),
    ("create", "quota", "a", "--hard=cpu=1,pods=2"),
    ("create", "poddisruptionbudget", "a", "--selector=a=b", "--min-available=50%"),
)


async def created(client: Client, namespace: str) -> dict[str, Any]:
    """What a cluster holds after kubectl made one of everything."""
    await client("create", "namespace", namespace)
    found = {}
    for command in TYPED:
        printed = await client("-n", namespace, *command, "-o", "json", "--field-manager=k")
        found[" ".join(command)] = masked(json.loads(printed.replace(namespace, "<namespace>")))
    return found


async def test_what_kubectl_sends_in_protobuf_becomes_the_same_objects(
    kubectl: Path, config: Path, api_server: ControlPlane
) -> None:
    namespace = f"n{secrets.token_hex(4)}"

    async def real(*arguments: str) -> str:
        return await run(kubectl, Path(api_server.kubeconfig), *arguments)

    async def ours(*arguments: str) -> str:
        return await run(kubectl, config, *arguments)

    left, right = await created(real, namespace), await created(ours, namespace)
    assert not (found := list(differences(left, right))), "\n".join(found)


CHART = {
    "Chart.yaml": "apiVersion: v2\nname: shop\nversion: 0.1.0\n",
    "values.yaml": "replicas: 1\n",
    "crds/thing.yaml": dump(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "things.shop.example"},
            "spec": {
                "group": "shop.example",
                "scope": "Namespaced",
                "names": {"plural": "things", "kind": "Thing"},
                "versions": [
                    {
                        "name": "v1",
                        "served": True,
                        "storage": True,
                        "schema": {
                            "openAPIV3Schema": {
                                "type": "object",
                                "x-kubernetes-preserve-unknown-fields": True,
                            }
                        },
                    }
                ],
            },
        }
    ),
    "templates/web.yaml": MANIFEST.replace("replicas: 2", "replicas: {{ .Values.replicas }}"),
    "templates/thing.yaml": "apiVersion: shop.example/v1\nkind: Thing\nmetadata: {name: a}\nspec: {b: c}\n",
    "templates/hook.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: hook\n  annotations:\n"
    '    "helm.sh/hook": pre-install,pre-upgrade\n',
}


async def test_helm_installs_upgrades_rolls_back_and_uninstalls(
    helm: Path, kubectl: Path, config: Path, tmp_path: Path
) -> None:
    chart = tmp_path / "chart"
    for name, text in CHART.items():
        (chart / name).parent.mkdir(parents=True, exist_ok=True)
        (chart / name).write_text(text)

    async def replicas() -> str:
        return await run(kubectl, config, "get", "deploy", "web", "-o", "jsonpath={.spec.replicas}")

    assert "deployed" in await run(helm, config, "install", "shop", str(chart))
    assert await replicas() == "1"
    await run(helm, config, "upgrade", "shop", str(chart), "--set", "replicas=4")
    assert await replicas() == "4"
    await run(helm, config, "rollback", "shop", "1")
    assert await replicas() == "1"
    assert "thing.shop.example/a" in await run(kubectl, config, "get", "things", "-o", "name")
    await run(helm, config, "uninstall", "shop")
    assert "NotFound" in await run(kubectl, config, "get", "deploy", "web", fails=True)
