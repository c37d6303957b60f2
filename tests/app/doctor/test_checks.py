"""What the doctor makes of what was examined."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from trimtab.app.doctor import checks
from trimtab.app.doctor.checks import Check, Folder, State
from trimtab.errors import Missing
from trimtab.kube.cluster import Question
from trimtab.kube.discovery import Resource, ServerVersion
from trimtab.programs.limits import Walls

DEPLOYMENTS = Resource(group="apps", version="v1", kind="Deployment", plural="deployments", namespaced=True)
PODS = Resource(group="", version="v1", kind="Pod", plural="pods", namespaced=True)
GIB = 1 << 30
NO_HELM, NO_GIT = Missing("helm", "no", "Install it"), Missing("git", "no", "Install it")
ALL_WALLS = Walls(network=True, files=True, pid_namespace=True, no_new_privileges=True)


PAGE = Path(__file__).parents[3] / "docs" / "doctor.md"


def folder(free: int = 9 * GIB, problem: str = "") -> Folder:
    return Folder(setting="rendering.cache", path="/home/ann/.cache", problem=problem, free=free)


def questions(*asked: tuple[str, Resource, str]) -> list[Question]:
    return [Question(verb=verb, resource=resource, namespace=space) for verb, resource, space in asked]


LACKING = questions(("create", DEPLOYMENTS, "shop"), ("delete", DEPLOYMENTS, "shop"), ("get", PODS, ""))
LACKED = "may not create, delete deployments.apps in shop; get pods in the whole cluster"


@pytest.mark.parametrize(
    ("check", "state", "words"),
    [
        (checks.version_check(ServerVersion(git_version="v1.36.3")), State.OK, "Kubernetes v1.36.3"),
        (checks.version_check(ServerVersion(git_version="v1.30.1-gke.7")), State.OK, "v1.30.1-gke.7"),
        (checks.version_check(ServerVersion(git_version="v1.20.4")), State.WARNING, "older than 1.27"),
        (checks.version_check(ServerVersion()), State.WARNING, "does not say which Kubernetes"),
        (checks.clock_check(timedelta(seconds=-2)), State.OK, "agree"),
        (checks.clock_check(timedelta(seconds=40)), State.WARNING, "clock is 40 s ahead of ours"),
        (checks.clock_check(timedelta(hours=-1)), State.WRONG, "clock is 3600 s behind ours"),
        (checks.clock_check(None), State.WARNING, "does not say what time it is"),
        (checks.apis_check({}), State.OK, "answers"),
        (checks.apis_check({"metrics.k8s.io/v1": "silence"}), State.WARNING, "metrics.k8s.io/v1: silence"),
        (checks.rights_check("rights", [], 12, needed=True), State.OK, "all 12 rights"),
        (checks.rights_check("rights", LACKING, 12, needed=True), State.WRONG, LACKED),
        (checks.rights_check("rights", LACKING, 12, needed=False), State.WARNING, LACKED),
        (checks.records_check("records", 0, (), recorded=False), State.OK, "nothing is recorded"),
        (checks.records_check("records", 3, (), recorded=True), State.OK, "3 apps are recorded"),
        (checks.records_check("records", 3, ("shop (bad)",), recorded=True), State.WRONG, "1 of 4 apps"),
        (checks.program_check("helm", "/usr/bin/helm", (4, 2, 3)), State.OK, "4.2.3 at /usr/bin/helm"),
        (checks.absent_check("helm", NO_HELM, (4, 2, 3), needed=False), State.OK, "4.2.3"),
        (checks.absent_check("helm", NO_HELM, None, needed=False), State.WARNING, "helm: no"),
        (checks.absent_check("git", NO_GIT, None, needed=True), State.WRONG, "git: no"),
        (checks.credentials_check("~/c.toml", 0), State.OK, "none for private repositories"),
        (checks.credentials_check("~/c.toml", 2), State.OK, "2 for private repositories in ~/c.toml"),
        (checks.walls_check(ALL_WALLS, ()), State.OK, "network, files"),
        (checks.walls_check(Walls(no_new_privileges=True), ()), State.WARNING, "network, files"),
        (checks.walls_check(Walls(), ("network",)), State.WRONG, "required and not to be had: network"),
        (checks.folders_check([folder()]), State.OK, "/home/ann/.cache can be written"),
        (checks.folders_check([folder(problem="Read-only file system")]), State.WRONG, "Read-only file"),
        (checks.disk_check([folder(), folder(free=2 * GIB)]), State.OK, "2.0 GiB free"),
        (checks.disk_check([folder(), folder(free=GIB // 2)]), State.WARNING, "512 MiB free"),
        (checks.disk_check([folder(), folder(free=1 << 20)]), State.WRONG, "1 MiB free"),
    ],
)
def test_each_check_says_how_it_is_and_what_to_do(check: Check, state: State, words: str) -> None:
    assert (check.state, words in check.what) == (state, True), check
    assert bool(check.remedy) is (check.state is not State.OK)


def test_the_page_shows_what_is_really_said() -> None:
    server, jobs = (
        "https://10.0.0.1:6443",
        Resource(group="batch", version="v1", kind="Job", plural="jobs", namespaced=True),
    )
    found = [
        checks.ok("access", f"the context leads to {server}"),
        checks.ok("server", f"{server} answers"),
        checks.version_check(ServerVersion(git_version="v1.36.3")),
        checks.clock_check(timedelta(seconds=40)),
        checks.apis_check({}),
        checks.rights_check("rights to record", [], 9, needed=True),
        checks.rights_check("rights to sync", questions(("delete", jobs, "shop")), 60, needed=True),
    ]
    shown = "\n".join(f"{check.state.value:<8} {check.words}" for check in found)
    assert f"$ trimtab doctor -n shop\n{shown}\n```" in PAGE.read_text()
