"""Go's own informer, by `testbed/go/kubepeer`, against the embedded cluster and a real server."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from testbed.embedded import Embedded
from testbed.fixtures import ControlPlanes
from tests.apiserver.bad_requests import JSON, Client, Request
from tests.real.conftest import Kubectl, Server, run
from tests.real.manifests import COLOURS

COUNT = 12
#: more changes of such objects than history holds bytes
LARGE, MANY = {"a": "x" * 900_000}, 80


class Follower:
    """An informer of Go's, and what it keeps."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.signal = process.send_signal

    def until(self, wanted: Mapping[str, str]) -> None:
        """Return once it keeps exactly these names in these versions."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if json.loads(line) == wanted:
                return
        pytest.fail(f"it ended before it kept {wanted}")


@contextmanager
def following(program: Path, server: Server, namespace: str) -> Iterator[Follower]:
    command = [str(program), "follow", "-kubeconfig", str(server.kubeconfig), "-namespace", namespace]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={"HOME": str(server.folder)}
    ) as process:
        try:
            yield Follower(process)
        finally:
            process.kill()


def there(ctl: Kubectl) -> dict[str, str]:
    """The names of all ConfigMaps, and their versions."""
    columns = "custom-columns=:metadata.name,:metadata.resourceVersion"
    lines = ctl("get", "configmaps", "--no-headers", "-o", columns).splitlines()
    return {name: version for line in lines for name, version in [line.split()]}


@pytest.fixture
def since(ctl: Kubectl) -> str:
    """The version before the namespace was filled with ConfigMaps, half of them changed since."""
    before: str = json.loads(ctl("get", "--raw", f"/api/v1/namespaces/{ctl.namespace}/configmaps"))[
        "metadata"
    ]["resourceVersion"]
    names = [f"colours-{number}" for number in range(COUNT)]
    ctl("create", "-f", "-", stdin="---\n".join(COLOURS.replace("colours", name) for name in names))
    ctl("label", "configmap", *names[: COUNT // 2], "tier=front")
    return before


@pytest.fixture
def peer(go_tool: Callable[[str], Path], server: Server, ctl: Kubectl) -> Callable[..., Any]:
    """Runs kubepeer in the namespace of `ctl`."""
    program = go_tool("kubepeer")

    def asked(verb: str, *arguments: str) -> Any:
        common = ("-kubeconfig", str(server.kubeconfig), "-namespace", ctl.namespace)
        done = run(program, server, verb, *common, *arguments)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["items"]

    return asked


def test_an_informer_sees_everything_there_is(peer: Callable[..., Any], since: str) -> None:
    assert peer("list", "-kept") == COUNT


def test_pages_of_go_hold_everything_there_is(peer: Callable[..., Any], since: str) -> None:
    assert peer("list", "-page-size", "5") == COUNT


@pytest.mark.parametrize("kept", [(), ("-kept",)], ids=["heard", "kept"])
def test_every_change_since_a_version_is_told(
    peer: Callable[..., Any], since: str, kept: tuple[str, ...]
) -> None:
    events = COUNT + COUNT // 2
    assert peer("watch", "-since", since, "-count", str(events), *kept) == events


def test_what_an_informer_keeps_is_what_there_is(
    go_tool: Callable[[str], Path], server: Server, ctl: Kubectl, since: str
) -> None:
    with following(go_tool("kubepeer"), server, ctl.namespace) as informer:
        informer.until(there(ctl))
        ctl("delete", "configmap", "colours-3")
        informer.until(there(ctl))
        ctl("label", "configmap", "colours-4", "tier=back", "--overwrite")
        ctl("delete", "configmap", "colours-5", "colours-6")
        informer.until(there(ctl))
    assert len(there(ctl)) == COUNT - 3


def outrun(server: Server, ctl: Kubectl) -> None:
    """Change one object until the history holds nothing else."""
    client, path = Client(server.kubeconfig), f"/api/v1/namespaces/{ctl.namespace}/configmaps"
    for number in range(MANY):
        body = {"metadata": {"name": "large"}, "data": LARGE | {"number": str(number)}}
        changed = Request(
            method="PUT" if number else "POST",
            path=f"{path}/large" if number else path,
            body=json.dumps(body).encode(),
            media=JSON,
        )
        assert client.send(changed).code in (200, 201)


def check_forgotten(server: Server, ctl: Kubectl, version: str) -> None:
    path = f"/api/v1/namespaces/{ctl.namespace}/configmaps?watch=1&timeoutSeconds=1&resourceVersion={version}"
    with Client(server.kubeconfig).answered(Request(path=path)) as answer:
        told = json.loads(answer.readline())
    assert (told["type"], told["object"]["code"], told["object"]["reason"]) == ("ERROR", 410, "Expired")


def relisted(informer: Follower, server: Server, ctl: Kubectl, forget: Callable[[], object]) -> None:
    """Have the server forget what the informer knows while that does not look, and see it find out."""
    before = there(ctl)
    informer.until(before)
    informer.signal(signal.SIGSTOP)
    ctl("delete", "configmap", "colours-1")
    ctl("label", "configmap", "colours-2", "tier=back", "--overwrite")
    forget()
    check_forgotten(server, ctl, max(before.values(), key=int))
    informer.signal(signal.SIGCONT)
    informer.until(there(ctl))


def filled(ctl: Kubectl) -> Kubectl:
    names = [f"colours-{number}" for number in range(COUNT)]
    ctl("create", "-f", "-", stdin="---\n".join(COLOURS.replace("colours", name) for name in names))
    return ctl


def test_an_informer_of_the_embedded_cluster_that_was_outrun_looks_at_everything_again(
    go_tool: Callable[[str], Path], in_namespace: Callable[[Server], Kubectl]
) -> None:
    with Embedded() as server:
        ctl = filled(in_namespace(server))
        with following(go_tool("kubepeer"), server, ctl.namespace) as informer:
            relisted(informer, server, ctl, lambda: outrun(server, ctl))


def test_an_informer_of_a_real_server_that_has_forgotten_looks_at_everything_again(
    go_tool: Callable[[str], Path], in_namespace: Callable[[Server], Kubectl], control_planes: ControlPlanes
) -> None:
    plane = control_planes.start()
    ctl = filled(in_namespace(plane))
    with following(go_tool("kubepeer"), plane, ctl.namespace) as informer:
        relisted(informer, plane, ctl, plane.restart_apiserver)


def test_go_applies_on_the_server(peer: Callable[..., Any], ctl: Kubectl, tmp_path: Path) -> None:
    manifests = tmp_path / "manifests.jsonl"
    bodies = [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c-{number}"}, "data": {"a": "b"}}
        for number in range(COUNT)
    ]
    manifests.write_text("\n".join(map(json.dumps, bodies)))
    assert peer("apply", "-manifests", str(manifests), "-workers", "4") == COUNT
    assert ctl.read("configmap", "c-3")["data"] == {"a": "b"}
