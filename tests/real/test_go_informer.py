"""Go's own informer, by `testbed/go/kubepeer`, against the embedded cluster and a real server."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.real.conftest import Kubectl, Server, run
from tests.real.manifests import COLOURS

COUNT = 12


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


def test_go_applies_on_the_server(peer: Callable[..., Any], ctl: Kubectl, tmp_path: Path) -> None:
    manifests = tmp_path / "manifests.jsonl"
    bodies = [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c-{number}"}, "data": {"a": "b"}}
        for number in range(COUNT)
    ]
    manifests.write_text("\n".join(map(json.dumps, bodies)))
    assert peer("apply", "-manifests", str(manifests), "-workers", "4") == COUNT
    assert ctl.read("configmap", "c-3")["data"] == {"a": "b"}
