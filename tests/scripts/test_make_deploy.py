"""However Trimtab is installed, the same objects arrive: printed, by Helm, by Kustomize."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from scripts.make_deploy import DEPLOY, files, stale
from trimtab import __version__
from trimtab.app.install.manifests import Install, objects_of
from trimtab.resources.keys import ResourceKey
from trimtab.resources.manifests import Manifest, key_of
from trimtab.resources.yaml import documents


def by_key(manifests: Any) -> dict[ResourceKey, Manifest]:
    """The objects by name; variables and options may stand in any order."""
    found = {key_of(each): json.loads(json.dumps(each)) for each in manifests}
    for each in found.values():
        if each["kind"] == "Deployment":
            (container,) = each["spec"]["template"]["spec"]["containers"]
            container["env"].sort(key=lambda one: one["name"])
            container["args"][1:] = sorted(container["args"][1:])
    return found


def output(*command: str | Path) -> dict[ResourceKey, Manifest]:
    done = subprocess.run([str(each) for each in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return by_key(each.value for each in documents(done.stdout, "output"))


def test_what_is_written_is_up_to_date() -> None:
    assert stale() == [], "run `make docs`"
    written = {str(each.relative_to(DEPLOY)) for each in DEPLOY.rglob("*") if each.is_file()}
    assert {each for each in written if each.startswith(("chart/", "kustomize/"))} == set(files())


def test_a_file_out_of_date_is_noticed(tmp_path: Path) -> None:
    for name, text in files().items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "chart/values.yaml").write_text("replicas: 3\n")
    (tmp_path / "kustomize/cluster.yaml").unlink()
    assert stale(tmp_path) == ["kustomize/cluster.yaml", "chart/values.yaml"]


CHOICES: list[tuple[Install, dict[str, Any]]] = [
    (Install(), {}),
    (
        Install(namespace="elsewhere", namespaces=("shop", "blog")),
        {"scope": {"namespaces": ["shop", "blog"]}},
    ),
    (Install(everything=True), {"everything": True}),
    (Install(everything=True, namespaces=("shop",)), {"everything": True, "scope": {"namespaces": ["shop"]}}),
    (
        Install(
            also=("certificates.cert-manager.io", "nodes"),
            image="registry.example:5000/trimtab@sha256:0",
            replicas=1,
            egress_ports=(443,),
            settings={"repositories.poll_every": "1m", "runner.log": "text", "runner.shards": "2"},
            webhooks=("github", "gitea"),
            repo="https://git.example/fleet.git",
            path="units",
            revision="v1.*",
            resources={"limits": {"memory": "2Gi"}, "requests": {"memory": "2Gi"}},
        ),
        {
            "also": ["certificates.cert-manager.io", "nodes"],
            "image": "registry.example:5000/trimtab@sha256:0",
            "replicas": 1,
            "egressPorts": [443],
            "settings": {"repositories.poll_every": "1m", "runner.log": "text", "runner.shards": 2},
            "webhooks": ["github", "gitea"],
            "repo": {"url": "https://git.example/fleet.git", "path": "units", "revision": "v1.*"},
            "resources": {
                "limits": {"memory": "2Gi", "ephemeral-storage": None},
                "requests": {"memory": "2Gi", "cpu": None, "ephemeral-storage": None},
            },
        },
    ),
]


@pytest.mark.parametrize(("install", "values"), CHOICES)
def test_the_chart_makes_what_install_prints(
    install: Install, values: dict[str, Any], helm: Path, tmp_path: Path
) -> None:
    file = tmp_path / "values.json"
    file.write_text(json.dumps({"createNamespace": True, **values}))
    rendered = output(helm, "template", "any", DEPLOY / "chart", "-n", install.namespace, "-f", file)
    assert rendered == by_key(objects_of(install))


def test_the_chart_leaves_the_namespace_to_helm_and_takes_more_about_pods(helm: Path) -> None:
    command = (
        helm,
        "template",
        "any",
        DEPLOY / "chart",
        "-n",
        "trimtab-system",
        "--set",
        "pod.hostUsers=false",
    )
    rendered = output(*command)
    wanted = by_key(objects_of(Install()))
    del wanted[ResourceKey("", "Namespace", "", "trimtab-system")]
    runner = ResourceKey("apps", "Deployment", "trimtab-system", "trimtab-runner")
    wanted[runner]["spec"]["template"]["spec"]["hostUsers"] = False
    assert rendered == wanted


def test_helm_finds_nothing_to_complain_of(helm: Path) -> None:
    done = subprocess.run(
        [helm, "lint", "--strict", DEPLOY / "chart"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_the_base_makes_what_install_prints(kustomize: Path) -> None:
    assert output(kustomize, "build", DEPLOY / "kustomize") == by_key(objects_of(Install()))


def test_the_base_can_be_put_together_for_some_namespaces(kustomize: Path, tmp_path: Path) -> None:
    (tmp_path / "deploy").symlink_to(DEPLOY)
    for name in ("shop", "blog"):
        (tmp_path / name).mkdir()
        text = f"namespace: {name}\nresources: [../deploy/kustomize/namespace]\n"
        (tmp_path / name / "kustomization.yaml").write_text(text)
    (tmp_path / "kustomization.yaml").write_text(NAMESPACES)
    built = output(kustomize, "build", tmp_path, "--load-restrictor", "LoadRestrictionsNone")
    assert built == by_key(objects_of(Install(namespaces=("shop", "blog"))))


NAMESPACES = """
resources: [deploy/kustomize/runner, shop, blog]
patches:
- target: {kind: Deployment, name: trimtab-runner}
  patch: |
    - op: add
      path: /spec/template/spec/containers/0/env/-
      value: {name: TRIMTAB_RUNNER__NAMESPACES, value: "shop,blog"}
"""


def test_the_chart_has_the_version_of_the_package() -> None:
    (chart,) = documents((DEPLOY / "chart" / "Chart.yaml").read_text(), "Chart.yaml")
    assert chart.value["appVersion"] == __version__
    assert chart.value["version"].startswith(".".join(__version__.split(".")[:3]))
