"""What commands that open the apps of a cluster one after another have in common."""

from __future__ import annotations

import json
from pathlib import Path

from trimtab.apiserver import MemoryCluster, kubeconfig, serve
from trimtab.app import open_apps
from trimtab.app.appsources import HERE, AppSource, recorded
from trimtab.engine.units import Destination, SyncUnit
from trimtab.kube import Access, from_kubeconfig
from trimtab.settings import ClusterSettings, RenderingSettings, Settings
from trimtab.tasks import SystemClock

MANIFEST = '{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "one"}}'


async def revision(access: Access, folder: Path, machine: Path, *, records: bool = False) -> str:
    """What a command on a machine calls what a folder holds; one that `records` leaves the installation."""
    rendering = RenderingSettings(cache=str(machine / "renders"), key=str(machine / "key"))
    source = recorded(AppSource(folder=str(folder)))
    unit = SyncUnit(id="shop", source=source, destination=Destination(cluster=HERE, namespace="shop"))
    async with open_apps(access, Settings(rendering=rendering), path="", who="ann@desk") as apps:
        if records:
            await apps.record_installation()
        return (await apps.manifests.generate(unit, "")).revision


async def test_a_folder_is_called_the_same_before_and_after_an_installation_is_recorded(
    tmp_path: Path,
) -> None:
    folder, config = tmp_path / "deploy", tmp_path / "config"
    folder.mkdir()
    (folder / "one.json").write_text(MANIFEST)
    mine, others = tmp_path / "mine", tmp_path / "others"
    async with serve(MemoryCluster().api) as served:
        config.write_text(json.dumps(kubeconfig(served)))
        access = from_kubeconfig(
            [config], context=None, settings=ClusterSettings(), clock=SystemClock(), environment={}
        )
        planned = await revision(access, folder, mine)
        # Nobody without the key of a machine can tell by the name what a folder holds.
        assert await revision(access, folder, others) != planned
        synced = await revision(access, folder, mine, records=True)
        assert synced == planned
        assert await revision(access, folder, others) == await revision(access, folder, mine) == planned
