"""What needs controllers: rollouts, Jobs as hooks, namespaces that end; embedded and real alike."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from testbed.embedded import Embedded
from tests.real.conftest import Kubectl, Server, run
from tests.real.manifests import WEB

JOB = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: migrate
  annotations: {helm.sh/hook: "pre-install,pre-upgrade", helm.sh/hook-delete-policy: hook-succeeded}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: migrate, image: "registry.example/migrate:1"}]
"""


@pytest.fixture(scope="module")
def lively() -> Iterator[Embedded]:
    """An embedded cluster with the stand-ins for controllers."""
    with Embedded(controllers=True) as server:
        yield server


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.real)])
def server(request: pytest.FixtureRequest) -> Server:
    """Each kind of server in turn, controllers at work."""
    found: Server = request.getfixturevalue({"embedded": "lively", "real": "control_plane"}[request.param])
    return found


@pytest.fixture
def ctl(server: Server, in_namespace: Callable[[Server], Kubectl]) -> Kubectl:
    """kubectl in a fresh namespace that is ready for pods."""
    own = in_namespace(server)
    own("wait", "serviceaccount/default", "--for=create", "--timeout=60s")
    return own


def test_a_rollout_becomes_ready_and_can_be_undone(ctl: Kubectl) -> None:
    ctl("apply", "-f", "-", stdin=WEB)
    said = ctl("rollout", "status", "deployment/web", "--timeout=60s")
    assert said.endswith('deployment "web" successfully rolled out\n')
    ctl("set", "image", "deployment/web", "web=registry.example/web:2.0")
    ctl("rollout", "status", "deployment/web", "--timeout=60s")
    assert [line.split()[0] for line in ctl("rollout", "history", "deployment/web").splitlines()[2:4]] == [
        "1",
        "2",
    ]
    newer = ctl("get", "pods", "-l", "app=web", "-o", "name").split()
    ctl("rollout", "undo", "deployment/web")
    ctl("rollout", "status", "deployment/web", "--timeout=60s")
    ctl("wait", "deployment/web", "--for=condition=Available", "--timeout=60s")
    # Pods that are going no longer count for a rollout, and are still there for a while.
    ctl("wait", *newer, "--for=delete", "--timeout=60s")
    images = ctl("get", "pods", "-l", "app=web", "-o", "jsonpath={.items[*].spec.containers[0].image}")
    assert {*images.split()} == {"registry.example/web:1.0"}


def test_what_a_workload_owns_goes_with_it(ctl: Kubectl) -> None:
    ctl("apply", "-f", "-", stdin=WEB)
    ctl("rollout", "status", "deployment/web", "--timeout=60s")
    ctl("delete", "deployment", "web", "--cascade=foreground", "--wait", "--timeout=60s")
    assert ctl("get", "replicasets,pods", "-l", "app=web", "-o", "name") == ""


def test_a_deleted_namespace_takes_everything_along(ctl: Kubectl) -> None:
    ctl("apply", "-f", "-", stdin=WEB)
    ctl("delete", "namespace", ctl.namespace, "--wait", "--timeout=90s")
    assert "NotFound" in ctl("get", "namespace", ctl.namespace, code=1)
    assert ctl("get", "deployments", "-o", "name") == ""


def test_a_job_completes(ctl: Kubectl) -> None:
    ctl("create", "-f", "-", stdin=JOB)
    assert ctl("wait", "job/migrate", "--for=condition=Complete", "--timeout=60s") == (
        "job.batch/migrate condition met\n"
    )


def test_helm_waits_for_a_hook_that_is_a_job_and_for_the_release(
    ctl: Kubectl, server: Server, helm: Path, tmp_path: Path
) -> None:
    chart = tmp_path / "shop"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: shop\nversion: 0.1.0\n")
    (chart / "templates" / "web.yaml").write_text(WEB)
    (chart / "templates" / "migrate.yaml").write_text(JOB)
    name = f"release-{secrets.token_hex(2)}"
    where = ("--namespace", ctl.namespace)
    done = run(helm, server, "install", name, str(chart), "--wait", "--timeout=60s", *where)
    assert done.returncode == 0, done.stderr
    assert ctl("get", "deployment", "web", "-o", "jsonpath={.status.readyReplicas}") == "2"
    assert ctl("get", "jobs", "-o", "name") == ""
    done = run(helm, server, "uninstall", name, "--wait", "--timeout=60s", *where)
    assert done.returncode == 0, done.stderr
    # helm waits for what the chart names; what that owned is collected in the background.
    ctl("wait", "replicasets,pods", "--all", "--for=delete", "--timeout=60s")
    assert ctl("get", "deployments,pods", "-o", "name") == ""
