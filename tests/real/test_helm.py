"""helm against the embedded cluster, and the same against a real server.

Nothing runs Jobs beside either server, so the chart's hooks are ConfigMaps: helm makes them at the right
moment and waits for nothing.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.real.conftest import Kubectl, Server, run
from tests.real.manifests import WEB, definition

CONFIG = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
  labels: {release: {{ .Release.Name }}}
data:
  colour: {{ .Values.colour }}
  revision: {{ .Release.Revision | quote }}
"""
HOOK = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-%(moment)s
  labels: {hook: of-{{ .Release.Name }}}
  annotations:
    helm.sh/hook: %(moment)s
    helm.sh/hook-delete-policy: before-hook-creation
data:
  at: {{ .Release.Revision | quote }}
"""
MOMENTS = tuple(
    f"{when}-{what}" for what in ("install", "upgrade", "rollback", "delete") for when in ("pre", "post")
)


class Helm:
    """The real helm, in one namespace of one server."""

    def __init__(self, program: Path, server: Server, namespace: str) -> None:
        self._program = program
        self._server = server
        self._namespace = namespace

    def __call__(self, *arguments: str, code: int = 0) -> str:
        """What helm prints; it must end with this code."""
        done = run(self._program, self._server, "--namespace", self._namespace, *arguments)
        assert done.returncode == code, f"helm {' '.join(arguments)}: {done.returncode}\n{done.stderr}"
        return done.stderr if code else done.stdout

    def history(self, release: str) -> list[tuple[int, str, str]]:
        """Revision, state and description of all that was done to a release."""
        told: list[Mapping[str, Any]] = json.loads(self("history", release, "-o", "json"))
        return [(each["revision"], each["status"], each["description"]) for each in told]


@pytest.fixture
def manager(helm: Path, server: Server, ctl: Kubectl) -> Helm:
    """helm in the namespace of `ctl`."""
    return Helm(helm, server, ctl.namespace)


@pytest.fixture
def group() -> str:
    """A group that no other chart defines kinds in."""
    return f"{secrets.token_hex(4)}.example.com"


@pytest.fixture
def chart(tmp_path: Path, group: str) -> str:
    """A chart with a workload, configuration, hooks at every moment, a CRD and an object of its kind."""
    widget = {
        "apiVersion": f"{group}/v1",
        "kind": "Widget",
        "metadata": {"name": "w"},
        "spec": {"colour": "{{ .Values.colour }}"},
    }
    files = {
        "Chart.yaml": "apiVersion: v2\nname: shop\nversion: 0.1.0\nappVersion: '1.0'\n",
        "values.yaml": "colour: blue\n",
        "templates/config.yaml": CONFIG,
        "templates/web.yaml": WEB,
        "templates/widget.yaml": yaml.safe_dump(widget),
        "crds/widgets.yaml": definition(group),
    }
    files |= {f"templates/{moment}.yaml": HOOK % {"moment": moment} for moment in MOMENTS}
    for name, text in files.items():
        path = tmp_path / "shop" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(tmp_path / "shop")


def config(ctl: Kubectl, name: str = "one") -> Any:
    return ctl.read("configmap", name)["data"]


def test_a_release_is_installed_upgraded_rolled_back_and_uninstalled(
    manager: Helm, ctl: Kubectl, chart: str, group: str
) -> None:
    manager("install", "one", chart)
    assert config(ctl) == {"colour": "blue", "revision": "1"}
    assert ctl.read(f"widgets.{group}", "w")["spec"] == {"colour": "blue", "size": 3}

    manager("upgrade", "one", chart, "--set", "colour=red")
    assert config(ctl) == {"colour": "red", "revision": "2"}
    assert ctl.read(f"widgets.{group}", "w")["spec"] == {"colour": "red", "size": 3}

    manager("rollback", "one", "1")
    assert config(ctl) == {"colour": "blue", "revision": "1"}
    assert manager.history("one") == [
        (1, "superseded", "Install complete"),
        (2, "superseded", "Upgrade complete"),
        (3, "deployed", "Rollback to 1"),
    ]

    manager("uninstall", "one")
    assert ctl("get", "configmaps,deployments", "-l", "release=one", "-o", "name") == ""
    assert ctl("get", "deployments", "-o", "name") == ""
    assert ctl("get", f"widgets.{group}", "-o", "name") == ""
    named = f"customresourcedefinition.apiextensions.k8s.io/widgets.{group}\n"
    assert ctl("get", "crd", f"widgets.{group}", "-o", "name") == named  # helm leaves definitions alone
    assert "not found" in manager("status", "one", code=1)


def hooked(ctl: Kubectl) -> dict[str, str]:
    """The hooks that have run, and for which revision each of them did last."""
    found = json.loads(ctl("get", "configmaps", "-l", "hook=of-one", "-o", "json"))["items"]
    return {each["metadata"]["name"].removeprefix("one-"): each["data"]["at"] for each in found}


def test_hooks_run_before_and_after_the_change_that_they_are_for(
    manager: Helm, ctl: Kubectl, chart: str
) -> None:
    ran = {"pre-install": "1", "post-install": "1"}
    manager("install", "one", chart)
    assert hooked(ctl) == ran
    manager("upgrade", "one", chart)
    manager("upgrade", "one", chart)
    ran |= {"pre-upgrade": "3", "post-upgrade": "3"}
    assert hooked(ctl) == ran
    manager("rollback", "one", "2")
    ran |= {"pre-rollback": "2", "post-rollback": "2"}  # as they were rendered for the one that comes back
    assert hooked(ctl) == ran
    manager("uninstall", "one")
    ran |= {"pre-delete": "2", "post-delete": "2"}
    assert hooked(ctl) == ran


def test_a_hook_that_cannot_be_made_ends_the_change_before_it_begins(
    manager: Helm, ctl: Kubectl, chart: str
) -> None:
    hook = (HOOK % {"moment": "pre-install"}).replace("data:", "data: text\nnever:")
    Path(chart, "templates", "pre-install.yaml").write_text(hook)
    assert "pre-install" in manager("install", "one", chart, code=1)
    assert "not found" in ctl("get", "configmap", "one", code=1)
    assert hooked(ctl) == {}


@pytest.mark.parametrize(
    "how",
    [("--server-side=true", "--force-conflicts"), ("--server-side=false",)],
    ids=["on the server", "from the client"],
)
def test_what_the_chart_says_is_put_back_and_what_it_does_not_say_is_left_alone(
    manager: Helm, ctl: Kubectl, chart: str, how: tuple[str, ...]
) -> None:
    manager("install", "one", chart, how[0])
    ctl("patch", "configmap", "one", "-p", '{"data":{"colour":"green","mood":"good"}}')
    manager("upgrade", "one", chart, "--set", "colour=red", *how)
    assert config(ctl) == {"colour": "red", "mood": "good", "revision": "2"}


def test_a_release_that_conflicts_with_another_owner_says_so(manager: Helm, ctl: Kubectl, chart: str) -> None:
    ctl("create", "configmap", "one", "--from-literal=colour=green")
    refused = manager("install", "one", chart, code=1)
    assert 'ConfigMap "one" in namespace' in refused
    assert "invalid ownership metadata" in refused


def test_a_chart_that_asks_for_nonsense_fails_in_the_words_of_the_server(
    manager: Helm, ctl: Kubectl, chart: str
) -> None:
    refused = manager("install", "one", chart, "--set", "colour=green", code=1)
    assert 'spec.colour: Unsupported value: "green": supported values: "blue", "red"' in refused
    assert [state for _, state, _ in manager.history("one")] == ["failed"]


def test_a_dry_run_asks_the_server_and_leaves_nothing(
    manager: Helm, ctl: Kubectl, chart: str, group: str
) -> None:
    refused = manager("install", "one", chart, "--dry-run=server", "--skip-crds", code=1)
    assert f'no matches for kind "Widget" in version "{group}/v1"' in refused
    ctl("apply", "-f", f"{chart}/crds")
    ctl.until_served(group)
    assert "colour: blue" in manager("install", "one", chart, "--dry-run=server")
    assert json.loads(manager("list", "-o", "json")) == []
