"""The doctor examines real servers, programs and folders; each check is broken for real where that can be."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest
from msgspec.structs import replace

from testbed.controlplane import ControlPlane
from tests.app.why.stage import stage_in
from tests.engine.stage import config_map
from trimtab.apiserver import MemoryCluster, kubeconfig, serve
from trimtab.app.doctor import examine
from trimtab.app.doctor.checks import Check, State
from trimtab.app.installation import NAME
from trimtab.engine.stores.records import SECRETS
from trimtab.errors import Missing
from trimtab.kube import Access, Cluster, from_kubeconfig
from trimtab.kube.cluster import PatchType
from trimtab.programs import find
from trimtab.programs.finding import dotted
from trimtab.programs.pins import KNOWN
from trimtab.resources.labels import RECORD_LABEL
from trimtab.settings import (
    AppsSettings,
    ClusterSettings,
    ProgramsSettings,
    RenderingSettings,
    RepositoriesSettings,
    Settings,
)
from trimtab.tasks import Clock, ManualClock, SystemClock

PATH = "/usr/local/bin:/usr/bin:/bin"
SETTINGS = Settings(
    cluster=ClusterSettings(attempts=1),
    apps=AppsSettings(namespace="default"),
    programs=ProgramsSettings(fetch=False),
)


def access_by(config: Path) -> Access:
    return from_kubeconfig(
        [config], context=None, settings=ClusterSettings(), clock=SystemClock(), environment={}
    )


async def examined(
    access: Access | None,
    settings: Settings = SETTINGS,
    *,
    path: str = PATH,
    namespace: str = "",
    clock: Clock | None = None,
) -> dict[str, Check]:
    def reach() -> Access:
        if access is None:
            raise Missing("kubeconfig /nowhere", "it does not exist", "Create it")
        return access

    async with asyncio.timeout(60):
        found = examine(reach, settings, path=path, namespace=namespace, clock=clock or SystemClock())
        return {check.name: check async for check in found}


def states(found: dict[str, Check]) -> dict[str, str]:
    return {name: check.state.value for name, check in found.items()}


@pytest.fixture
async def cluster() -> MemoryCluster:
    return MemoryCluster()


@asynccontextmanager
async def reached(cluster: MemoryCluster, folder: Path) -> AsyncIterator[Access]:
    async with serve(cluster.api) as served:
        config = folder / "config"
        config.write_text(json.dumps(kubeconfig(served)))
        yield access_by(config)


async def test_where_all_is_well_every_line_says_so(cluster: MemoryCluster, tmp_path: Path) -> None:
    await (await stage_in(cast(Cluster, cluster), "default")).sync(config_map("settings"))
    async with reached(cluster, tmp_path) as access:
        found = await examined(access, replace(SETTINGS, programs=ProgramsSettings()))
    assert set(found) == {
        *("access", "server", "version", "clock", "apis", "rights to record", "rights to sync", "records"),
        *("git", "helm", "kustomize", "credentials", "walls", "folders", "disk"),
    }
    assert {name for name, state in states(found).items() if state == "wrong"} == set()
    assert found["records"].what == "1 app is recorded in default, and can be read"


async def test_without_a_kubeconfig_the_machine_is_examined_all_the_same() -> None:
    found = await examined(None)
    assert found["access"] == Check(
        name="access",
        state=State.WRONG,
        what="kubeconfig /nowhere: it does not exist",
        remedy="Create it",
    )
    assert "server" not in found
    assert "disk" in found


async def test_a_server_that_does_not_answer_is_one_line(tmp_path: Path) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        server = f"https://127.0.0.1:{bound.getsockname()[1]}"
    config = tmp_path / "config"
    config.write_text(
        "{apiVersion: v1, kind: Config, current-context: here, users: [{name: me, user: {token: x}}],"
        f" clusters: [{{name: here, cluster: {{server: '{server}', insecure-skip-tls-verify: true}}}}],"
        " contexts: [{name: here, context: {cluster: here, user: me}}]}"
    )
    found = await examined(access_by(config))
    assert (found["server"].state, server in found["server"].what) == (State.WRONG, True)
    assert "rights to sync" not in found


async def test_a_clock_that_is_far_off_is_noticed(cluster: MemoryCluster, tmp_path: Path) -> None:
    async with reached(cluster, tmp_path) as access:
        found = await examined(access, clock=ManualClock(datetime(2001, 1, 1, tzinfo=UTC)))
    assert (found["clock"].state, "ahead of ours" in found["clock"].what) == (State.WRONG, True)


async def test_programs_that_are_not_there_are_named_with_what_to_do(tmp_path: Path) -> None:
    nothing = ProgramsSettings(fetch=False, cache=str(tmp_path))
    found = await examined(None, replace(SETTINGS, programs=nothing), path="")
    assert [found[name].state for name in ("git", "helm")] == [State.WRONG, State.WARNING]
    assert "programs.fetch" in found["helm"].remedy


async def test_a_program_that_was_fetched_is_told_with_its_place_and_others_are_to_be(tmp_path: Path) -> None:
    fetching = replace(SETTINGS, programs=ProgramsSettings(cache=str(tmp_path)))
    assert "is fetched" in (await examined(None, fetching, path=""))["helm"].what
    pin = KNOWN["helm"].pins[os.uname().machine]
    kept = await find("helm", path="")
    (tmp_path / pin.sha256).mkdir(mode=0o700)
    (tmp_path / pin.sha256 / pin.program).symlink_to(kept.path)
    found = (await examined(None, fetching, path=""))["helm"]
    assert found.what == f"version {dotted(pin.version)} at {tmp_path / pin.sha256 / pin.program}"


async def test_folders_that_cannot_be_written_are_named_with_their_settings() -> None:
    rendering = RenderingSettings(cache="/proc/trimtab/renders", key="/proc/trimtab/key")
    found = await examined(None, replace(SETTINGS, rendering=rendering))
    assert (found["folders"].state, found["disk"].state) == (State.WRONG, State.WRONG)
    assert "/proc/trimtab/renders cannot be written" in found["folders"].what
    assert found["folders"].remedy.endswith("rendering.cache, rendering.key")


async def test_where_programs_are_kept_matters_only_while_some_are_to_be_fetched() -> None:
    programs = ProgramsSettings(cache="/proc/trimtab")
    fetching = await examined(None, replace(SETTINGS, programs=programs), path="")
    assert "/proc/trimtab cannot be written" in fetching["folders"].what
    still = replace(programs, fetch=False)
    assert "/proc" not in (await examined(None, replace(SETTINGS, programs=still), path=""))["folders"].what


async def test_credentials_that_everybody_may_read_are_wrong(tmp_path: Path) -> None:
    file = tmp_path / "credentials.toml"
    file.write_text('[[credential]]\nurl = "https://git.example/"\nusername = "a"\npassword = "hunter2"\n')
    file.chmod(0o644)
    settings = replace(SETTINGS, repositories=RepositoriesSettings(credentials_file=str(file)))
    found = await examined(None, settings)
    assert found["credentials"].state is State.WRONG
    assert "everybody on this machine may read" in found["credentials"].what
    assert "hunter2" not in str(found)
    file.chmod(0o600)
    assert (await examined(None, settings))["credentials"].what == f"1 for private repositories in {file}"
    file.write_text("not TOML at all")
    assert (await examined(None, settings))["credentials"].state is State.WRONG


async def test_walls_that_are_required_and_not_to_be_had_are_wrong() -> None:
    required = RenderingSettings(required_walls=("moat",))
    found = await examined(None, replace(SETTINGS, rendering=required))
    assert (found["walls"].state, "moat" in found["walls"].what) == (State.WRONG, True)


async def test_records_that_cannot_be_read_are_named(cluster: MemoryCluster, tmp_path: Path) -> None:
    stage = await stage_in(cast(Cluster, cluster), "default")
    for app in ("shop", "other"):
        await stage.sync(config_map(app), app=app)
    heads = [
        each.metadata.name
        async for page in cluster.list(SECRETS, namespace="default")
        for each in page.objects
        if (each.metadata.labels or {}).get(RECORD_LABEL) == "head"
    ]
    damaged = base64.b64encode(b"damaged").decode()
    held = (await cluster.get(SECRETS, heads[0], namespace="default")).manifest()["data"]
    body = {"data": dict.fromkeys(held, damaged)}
    await cluster.patch(SECRETS, heads[0], body, how=PatchType.MERGE, namespace="default")
    async with reached(cluster, tmp_path) as access:
        found = await examined(access)
    assert found["records"].state is State.WRONG, found["records"]
    assert found["records"].what.startswith("1 of 2 apps in default cannot be read: ")


async def test_an_installation_that_is_damaged_is_named(cluster: MemoryCluster, tmp_path: Path) -> None:
    await cluster.create(SECRETS, {"metadata": {"name": NAME}}, namespace="default")
    async with reached(cluster, tmp_path) as access:
        found = await examined(access)
    assert (found["records"].state, NAME in found["records"].what) == (State.WRONG, True)


async def test_rights_that_are_missing_are_named_by_verb_and_kind(
    control_plane: ControlPlane, namespace: str
) -> None:
    settings = replace(SETTINGS, apps=AppsSettings(namespace=namespace))
    access = access_by(control_plane.kubeconfig_for("reader"))
    found = await examined(access, settings, namespace=namespace)
    assert found["rights to record"].state is State.WRONG
    assert f"delete secrets in {namespace}" in found["rights to record"].what
    assert found["rights to sync"].state is State.WRONG
    assert f"create, patch, delete deployments.apps in {namespace}" in found["rights to sync"].what
    assert found["clock"].state is State.OK
    nowhere = replace(SETTINGS, apps=AppsSettings(namespace=f"{namespace}-none"))
    everywhere = await examined(access, nowhere)
    assert everywhere["rights to sync"].state is State.WARNING
    assert "create namespaces in the whole cluster" in everywhere["rights to record"].what


async def test_a_role_in_one_namespace_is_enough_to_record_and_sync_there(
    control_plane: ControlPlane, namespace: str
) -> None:
    control_plane.kubectl(
        "create", "rolebinding", "there", "--clusterrole=edit", "--user=nobody", "-n", namespace
    )
    settings = replace(SETTINGS, apps=AppsSettings(namespace=namespace))
    access = access_by(control_plane.kubeconfig_for("nobody"))
    found = await examined(access, settings, namespace=namespace)
    states = [found[name].state for name in ("rights to record", "rights to sync", "records")]
    assert states == [State.OK] * 3, found
    elsewhere = (await examined(access, SETTINGS))["records"]
    assert (elsewhere.state, "setting apps.namespace" in elsewhere.remedy) == (State.WRONG, True)
