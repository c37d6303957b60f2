"""Trimtab installed in a real cluster, and its runner at work with exactly the rights that it was given."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from testbed.controlplane import ControlPlane
from tests.features.calling import Caller
from tests.features.conftest import Person
from tests.features.test_sync import SETTINGS, shop
from trimtab.app.install.manifests import NAME

UNIT = """
source: {{folder: {folder}}}
destination: {{namespace: {namespace}}}
policy: {{automated: {{selfHeal: true}}, retry: {{limit: 0}}, options: {options}}}
"""
READER = """
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: NAME}
rules: [{apiGroups: [""], resources: [nodes], verbs: [get]}]
"""


class Runner:
    """The installed runner as a process of this machine: its rights, its settings, its words."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.told: list[dict[str, Any]] = []

    def until(self, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The next thing it tells of which this holds."""
        assert self._process.stderr is not None
        for line in self._process.stderr:
            event: dict[str, Any] = json.loads(line)
            self.told.append(event)
            if holds(event):
                return event
        raise AssertionError(f"the runner ended: {self.told[-5:]}")

    def until_told(self, holds: Callable[[dict[str, Any]], bool]) -> None:
        """Return when it has told something of which this holds, be it before."""
        if not any(map(holds, self.told)):
            self.until(holds)

    def until_it(self, event: str, **facts: str) -> dict[str, Any]:
        """The next event of this kind with these facts."""
        return self.until(
            lambda told: (
                told["event"] == event and all(told.get(name) == fact for name, fact in facts.items())
            )
        )


class Installed:
    """One installation in a namespace of its own."""

    def __init__(self, plane: ControlPlane, person: Person, folder: Path) -> None:
        self.plane, self.person, self.folder = plane, person, folder
        self.namespace = f"{person.namespace}-trimtab"
        self.account = f"system:serviceaccount:{self.namespace}:{NAME}"

    def install(self, *arguments: str) -> str:
        """Apply it, and have what is printed accepted by the server as well."""
        printed = self.person.trimtab("install", "-n", self.namespace, *arguments)
        told = self.person.trimtab("install", "-n", self.namespace, *arguments, "--apply", "--yes")
        assert told.code == 0, told.err
        self.plane.kubectl("apply", "--dry-run=server", "--server-side", "-f", "-", stdin=printed.out)
        self.plane.wait_for_right(self.account, "create", "secrets", self.namespace)
        return told.out

    @contextmanager
    def runner(self, units: Path) -> Iterator[Runner]:
        """The runner, started as its pod would start it."""
        pod = json.loads(self.plane.kubectl("-n", self.namespace, "get", "deployment", NAME, "-o", "json"))[
            "spec"
        ]["template"]["spec"]
        (container,) = pod["containers"]
        told = {each["name"]: each.get("value", self.namespace) for each in container["env"]}
        environment = {
            **told,
            "HOME": str(self.folder),
            "KUBECONFIG": str(self._kubeconfig()),
            "PATH": os.defpath,
            "TRIMTAB_RUNNER__LISTEN": "127.0.0.1:0",
        }
        with subprocess.Popen(
            [sys.executable, "-m", "trimtab", *container["args"], "--units", str(units)],
            env=environment,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                yield Runner(process)
            finally:
                process.kill()

    def _kubeconfig(self) -> Path:
        token = self.plane.kubectl("-n", self.namespace, "create", "token", NAME).strip()
        config = json.loads(self.plane.kubeconfig_for("admin").read_text())
        config["users"] = [{"name": "admin", "user": {"token": token}}]
        path = self.folder / "runner.kubeconfig"
        path.touch(mode=0o600)
        path.write_text(json.dumps(config))
        return path

    def may(self, verb: str, kind: str, namespace: str = "") -> bool:
        """Whether the runner's account has a right."""
        return self.plane.may(self.account, verb, kind, namespace)

    def remove(self) -> None:
        """Leave nothing behind."""
        label = f"trimtab.dev/install={self.namespace}"
        for kind in ("clusterrolebindings", "clusterroles", "namespaces"):
            self.plane.kubectl("delete", kind, "-l", label, "--wait=false")


@pytest.fixture
def installed(
    caller: Caller, control_plane: ControlPlane, tmp_path: Path, kubectl: Path
) -> Iterator[Installed]:
    person = Person(caller, control_plane, tmp_path, f"{kubectl.parent}:{os.defpath}")
    control_plane.add_namespace(person.namespace)
    found = Installed(control_plane, person, tmp_path)
    try:
        yield found
    finally:
        found.remove()
        control_plane.kubectl("delete", "namespace", person.namespace, "--wait=false")


def units(folder: Path, **declared: tuple[Path, str]) -> Path:
    """A folder of unit files: each app's folder and namespace."""
    folder.mkdir()
    for name, (source, namespace) in declared.items():
        options = "[CreateNamespace=true]" if name == "blog" else "[]"
        text = UNIT.format(folder=source, namespace=namespace, options=options)
        (folder / f"{name}.yaml").write_text(text)
    return folder


def _is_refused(event: dict[str, Any]) -> bool:
    words = "the namespace default is not among those allowed"
    return event.get("unit") == "stray" and words in json.dumps(event)


@pytest.mark.real
def test_a_runner_for_some_namespaces_keeps_them_in_sync_and_can_do_nothing_elsewhere(
    installed: Installed, tmp_path: Path
) -> None:
    person, plane = installed.person, installed.plane
    told = installed.install("--scope", f"namespaces={person.namespace}")
    assert "ClusterRole" not in told
    # The pods are let in under the strictest level that their namespace enforces.
    plane.kubectl("-n", installed.namespace, "rollout", "status", "deployment", NAME, "--timeout=60s")
    plane.wait_for_right(installed.account, "delete", "configmaps", person.namespace)

    declared = units(
        tmp_path / "units",
        shop=(shop(tmp_path / "shop", settings=SETTINGS), person.namespace),
        stray=(shop(tmp_path / "stray", settings=SETTINGS), "default"),
    )
    with installed.runner(declared) as runner:
        runner.until_it("UnitRefreshed", unit="shop", verdict="Synced")
        assert person.kubectl("get", "configmap", "settings", "-o", "jsonpath={.data.colour}") == "blue"
        person.kubectl("patch", "configmap", "settings", "--type=merge", "-p", '{"data":{"colour":"red"}}')
        runner.until_it("StepDone", unit="shop", status="Synced")
        runner.until_told(_is_refused)
        assert person.kubectl("get", "configmap", "settings", "-o", "jsonpath={.data.colour}") == "blue"

    assert not installed.may("get", "configmaps", "default")
    assert not installed.may("list", "namespaces")
    assert not installed.may("create", "configmaps", installed.namespace)


@pytest.mark.real
def test_a_runner_for_the_whole_cluster_makes_namespaces_and_is_refused_what_nobody_granted(
    installed: Installed, tmp_path: Path
) -> None:
    person, plane = installed.person, installed.plane
    assert f"create  ClusterRole.rbac.authorization.k8s.io {NAME}" in installed.install()
    plane.wait_for_right(installed.account, "create", "configmaps", "kube-system")
    blog = f"{person.namespace}-blog"
    rights = shop(tmp_path / "rights", role=READER.replace("NAME", f"{person.namespace}-nodes"))
    declared = units(
        tmp_path / "units",
        blog=(shop(tmp_path / "blog", settings=SETTINGS), blog),
        rights=(rights, person.namespace),
    )
    try:
        with installed.runner(declared) as runner:
            listening = runner.until_it("Listening")
            verdicts: dict[str, str] = {}

            def both(event: dict[str, Any]) -> bool:
                if event["event"] == "UnitRefreshed":
                    verdicts[event["unit"]] = event["verdict"]
                return verdicts == {"blog": "Synced", "rights": "Unknown"}

            runner.until(both)
            with urllib.request.urlopen(f"{listening['address']}/status") as answer:  # noqa: S310 - on loopback
                stands = json.load(answer)
        found = plane.kubectl("-n", blog, "get", "configmap", "settings", "-o", "jsonpath={.data.colour}")
        assert found == "blue"
        (refused,) = (each["conditions"] for each in stands["units"] if each["unit"] == "rights")
        assert f'User "{installed.account}" cannot get resource "clusterroles"' in refused[0]
    finally:
        plane.kubectl("delete", "namespace", blog, "--ignore-not-found", "--wait=false")

    assert not installed.may("create", "clusterroles")

    narrower = installed.install("--scope", f"namespaces={person.namespace}")
    assert f"delete  ClusterRoleBinding.rbac.authorization.k8s.io {NAME}" in narrower
    plane.wait_for_right(installed.account, "create", "configmaps", "kube-system", granted=False)

    gone = person.trimtab("install", "-n", installed.namespace, "--remove", "--yes")
    assert (gone.code, gone.out.splitlines()[-1]) == (0, f"Removed from {installed.namespace}."), gone.err
    assert "what is recorded of 2 apps stays; their objects stay" in gone.err
    again = person.trimtab("install", "-n", installed.namespace, "--remove", "--yes")
    assert (again.code, again.out) == (0, f"There is nothing to remove in {installed.namespace}.\n")
    left = plane.kubectl("-n", installed.namespace, "get", "deployments,roles,secrets", "-o", "name")
    assert {each.split("/")[0] for each in left.split()} == {"secret"}
