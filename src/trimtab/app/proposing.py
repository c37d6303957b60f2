"""Renders two revisions of a source, and has `proposals` say what lies between them."""

from __future__ import annotations

import asyncio
import secrets

from trimtab.app.proposals import proposal
from trimtab.engine.operations import Operation
from trimtab.engine.sync.steps import SyncPlan
from trimtab.engine.units import ManifestGenerator, SyncUnit
from trimtab.kube.schemas.kinds import built_in
from trimtab.resources.secrets import StandIns


async def propose(
    manifests: ManifestGenerator, unit: SyncUnit, base: str, head: str, operation: Operation
) -> SyncPlan:
    """What the head of a source would do to a cluster that is as its base wants it; no cluster is asked."""
    before, after = await manifests.generate(unit, base), await manifests.generate(unit, head)
    return await asyncio.to_thread(
        proposal,
        unit,
        before,
        after,
        operation=operation,
        scope_of=_scope_of,
        stand_ins=StandIns(secrets.token_bytes(32)),
    )


def _scope_of(group: str, kind: str) -> bool | None:
    """Whether a built-in kind has a namespace; of others, definitions in the source may say it."""
    for each in built_in().groups:
        if each.group == group:
            for resource in each.resources:
                if resource.kind == kind:
                    return resource.namespaced
    return None
