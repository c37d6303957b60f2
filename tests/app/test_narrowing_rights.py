"""A role in one namespace is enough for every verb of an app that lives there, on a real control plane."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from testbed.controlplane import ControlPlane
from tests.app.test_ending import GATE
from tests.app.test_narrowing import Listened
from tests.app.why.stage import Stage
from tests.app.why.test_real_refusals import stage_for
from tests.engine.stage import Json, config_map
from trimtab.app.applying import work_for
from trimtab.app.planfiles import PreconditionMoved, StoredPlan, stored_plan
from trimtab.app.rollbacks import pin_for
from trimtab.engine.control.policy import rollback
from trimtab.engine.operations import Operation, OperationPhase
from trimtab.engine.rows import Verdict
from trimtab.engine.units import SyncUnit

ASKED = Operation(prune=True)
NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


@pytest.fixture
async def stage(control_plane: ControlPlane, namespace: str) -> AsyncIterator[Stage]:
    """What somebody sees who may do something in one namespace, where the records are kept as well."""
    control_plane.kubectl(
        "create", "rolebinding", "there", "--clusterrole=edit", "--user=nobody", "-n", namespace
    )
    grant_leases = ("create", "role", "leases", "--verb=*", "--resource=leases.coordination.k8s.io")
    control_plane.kubectl(*grant_leases, "-n", namespace)
    control_plane.kubectl(
        "create", "rolebinding", "leases", "--role=leases", "--user=nobody", "-n", namespace
    )
    control_plane.wait_for_right("nobody", "create", "leases.coordination.k8s.io", namespace)
    async with stage_for(control_plane, "nobody", namespace) as made:
        yield made


def secret(name: str) -> Json:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}}


async def planned(stage: Stage, *manifests: Json) -> StoredPlan:
    """What `plan --out` stores."""
    stage.declare(*manifests)
    known = await stage.apps.find("shop")
    unit = known or replace(await stage.unit(), places=await stage.apps.places_before("shop"))
    async with stage.apps.work_on(unit, renders=True, narrowly=True) as work:
        return stored_plan(unit, known, ASKED, await work.plan(ASKED))


async def apply(stage: Stage, stored: StoredPlan) -> SyncUnit:
    async with work_for(stage.apps, stored, await stage.apps.find("shop")) as work:
        plan = await work.plan(stored.agreed())
        stored.check(plan)
        await work.carry_out(stored.agreed(), plan, consent=True, held=lambda _: None)
        return await work.look()


async def roll_back(stage: Stage) -> SyncUnit:
    unit = await stage.unit()
    pin = pin_for(unit, None, reason="", by="ann", now=NOW)
    pinned = replace(unit, pinned=pin)
    operation = rollback(pinned, pin.entry, prune=True)
    async with stage.apps.work_on(pinned, operation=operation, narrowly=True) as work:
        plan = await work.plan(operation)
        await work.carry_out(operation, plan, consent=True, held=lambda _: None, pin=pin)
        return await work.look()


async def test_a_role_in_one_namespace_is_enough_to_apply_and_to_go_back(stage: Stage) -> None:
    seen = stage.apps.cluster = Listened(stage.cluster)
    for manifests in ([config_map("one"), secret("two")], [config_map("one", "2")]):
        now = await apply(stage, await planned(stage, *manifests))
        assert (now.status.verdict, len(now.status.resources)) == (Verdict.SYNCED, len(manifests))
    stored = await planned(stage, config_map("one", "3"))
    await stage.patch("ConfigMap", "one", {"data": {"value": "drifted"}})
    with pytest.raises(PreconditionMoved, match=r"ConfigMap .*/one in Sync: it was changed in the cluster"):
        await apply(stage, stored)
    back = await roll_back(stage)
    assert (back.status.verdict, len(back.status.resources)) == (Verdict.SYNCED, 2)
    own = {("ConfigMap", stage.namespace), ("Namespace", "")}
    assert set(seen.listed) <= own | {("Secret", stage.namespace), ("Lease", stage.namespace)}


async def test_a_role_in_one_namespace_is_enough_to_end_what_somebody_left(stage: Stage) -> None:
    await apply(stage, await planned(stage, config_map("one")))
    async with stage.syncing(GATE, config_map("one")):
        pass
    seen = stage.apps.cluster = Listened(stage.cluster)
    async with stage.apps.work_on(await stage.unit(), narrowly=True) as work:
        state = await work.end(held=lambda _: None)
    assert (state.phase, state.message) == (OperationPhase.FAILED, "the operation was terminated")
    await stage.until_gone("Job", "gate")
    own = {("ConfigMap", stage.namespace), ("Namespace", ""), ("Job", stage.namespace)}
    assert set(seen.listed) <= own | {("Secret", stage.namespace), ("Lease", stage.namespace)}
