"""The parts together: compare, plan, sync, compare again, and there is nothing left to do."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pytest

from tests.engine.sync.world import REVISION, STAND_INS, TRACKING, World, config_map, deployment, job
from trimtab.engine.cache.records import judged_by
from trimtab.engine.compare.comparer import Comparer
from trimtab.engine.compare.judging import Lens
from trimtab.engine.compare.matching import Role, Terms, desired_from
from trimtab.engine.live import Live
from trimtab.engine.operations import Operation, OperationPhase, OperationState, StepStatus, started
from trimtab.engine.sync.hooks import role_of
from trimtab.engine.sync.operate import operate
from trimtab.engine.sync.plan import SyncRequest, plan_sync
from trimtab.engine.sync.steps import SyncPlan
from trimtab.resources import manifests as reading
from trimtab.resources.manifests import Found, Manifest


class Together:
    """A unit in a world, compared as the engine does it."""

    def __init__(self, world: World) -> None:
        self.world = world
        catalog = world.cache.catalog
        self.scope_of = catalog.namespaced
        self.comparer = Comparer(
            world.cluster,
            world.cache,
            tracking=TRACKING,
            lens=Lens(manager="trimtab", stand_ins=STAND_INS),
            resource_of=catalog.resource,
            scope_of=self.scope_of,
            role_of=self.role,
        )

    def role(self, manifest: Manifest) -> Role:
        return Role(role_of(reading.annotations(manifest)).value)

    async def plan(self, manifests: Sequence[Manifest], state: OperationState) -> SyncPlan:
        terms = Terms(
            unit=self.world.unit,
            tracking=TRACKING,
            namespace=self.world.space,
            scope_of=self.scope_of,
            role_of=self.role,
        )
        wanted = desired_from([Found(manifest=each, where="here") for each in manifests], terms)
        compared = await self.comparer.compare(wanted)
        request = SyncRequest(
            unit=self.world.unit,
            operation=state.operation,
            revision=state.revision,
            started_at=state.started_at,
            rows=compared.rows,
            hooks=wanted.hooks,
            discovery=await self.world.discovery(),
            stand_ins=STAND_INS,
            complete=wanted.complete,
        )
        return plan_sync(request, self.world.cache)

    async def sync(self, manifests: Sequence[Manifest]) -> OperationState:
        state = started(Operation(prune=True), REVISION, self.world.clock.now())

        async def record(_: OperationState) -> None:
            return

        return await operate(
            self.world.cluster,
            self.world.cache,
            await self.plan(manifests, state),
            state,
            record=record,
            clock=self.world.clock,
            discovery=await self.world.discovery(),
            judge=judged_by(),
            stand_ins=STAND_INS,
        )

    async def heard(self, state: OperationState) -> None:
        """Wait until the cache has everything that was written."""
        for each in state.results:
            # Hooks are deleted when they are done, what was applied stays.
            if each.resource_version and not each.hook and each.status is not StepStatus.PRUNED:
                await self.world.until(each.key, partial(_is_as_new, each.resource_version))


def _is_as_new(version: str, live: Live | None) -> bool:
    return live is not None and int(live.resource_version) >= int(version)


@pytest.mark.fact("S13")
async def test_after_a_sync_there_is_nothing_left_to_do(any_world: World) -> None:
    together = Together(any_world)
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        # A namespace on a cluster-wide object means nothing.
        "metadata": {"name": f"reader-{any_world.space}", "namespace": any_world.space},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
    }
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s"},
        "stringData": {"password": "hunter2"},
    }
    objects = [config_map("a", x="1"), deployment("web"), role, secret]
    first = await together.sync([*objects, job("pre", hook="PreSync")])
    assert first.phase is OperationPhase.SUCCEEDED, first.message
    await together.heard(first)
    state = started(Operation(prune=True), REVISION, any_world.clock.now())
    assert (await together.plan(objects, state)).steps == ()
    changed = await together.plan([*objects[1:], config_map("a", x="2")], state)
    assert [step.key.name for step in changed.steps] == ["a"]
    assert changed.steps[0].why == "differs at /data/x"
    fewer = await together.sync(objects[:2])
    assert {each.key.name: each.status.value for each in fewer.results if each.status} == {
        f"reader-{any_world.space}": "Pruned",
        "s": "Pruned",
    }
