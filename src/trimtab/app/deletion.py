"""Deleting an app: what is asked of the engine, and waiting until the objects are really gone.

An object that is told to go stays for as long as somebody's finalizer holds it. Only when the last one is
gone is the app forgotten, so nothing is ever left that nobody knows of.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from typing import Final

from msgspec.structs import replace

from trimtab.app.course import Course
from trimtab.engine import Engine
from trimtab.engine.operations import Operation, OperationState, Strategy, SyncPhase, is_begun
from trimtab.engine.sync.steps import NOTHING, Prune, SyncPlan
from trimtab.engine.sync.sums import plan_digest
from trimtab.engine.units import SyncUnit
from trimtab.errors import Unavailable, UserError
from trimtab.kube.cluster import Cluster
from trimtab.kube.failures import NotFound
from trimtab.kube.objects import KubeObject
from trimtab.resources.keys import ResourceKey
from trimtab.tasks import DeadlinePassed, SystemClock, plain_group, time_limit

#: what is asked of the engine
DELETION: Final = Operation(delete=True, prune=True, asked_by="trimtab delete")
#: the same for whoever leaves the hooks of the deletion out
WITHOUT_HOOKS: Final = replace(DELETION, strategy=Strategy.APPLY)

#: objects that are named while they are waited for; the rest is counted
_MOST_NAMED: Final = 3
#: what goes is gathered for so many seconds before the server is asked what is left
_GATHERED: Final = 0.2
_FORGOTTEN: Final = "it stays: the app is only forgotten"
_HOOKS: Final = frozenset({SyncPhase.PRE_DELETE, SyncPhase.POST_DELETE})


class NotGone(Unavailable):
    """An app's objects were told to go, and some are still there."""


class DeletionFailed(UserError):
    """A deletion came to a bad end: what it says has to be mended first."""


def failed(name: str, state: OperationState, *, consent: bool) -> DeletionFailed:
    """What a deletion that came to a bad end says."""
    again = called(name, state.operation, consent=consent)
    is_hook = any(each.hook and each.phase.bad and each.sync_phase in _HOOKS for each in state.results)
    remedy = f"Run it again when that is mended: {again}"
    if is_hook:
        remedy = f"Mend what the hook runs, then go on: {again}; or leave hooks out: {again} --skip-hooks"
    return DeletionFailed(f"app {name}", f"the deletion {state.phase.value.lower()}: {state.message}", remedy)


def late(name: str, course: Course, again: str, seconds: float, waits: str) -> NotGone:
    """What is said when a deletion, which is called `again`, has only waited for so long."""
    remedy = course.remedy(f"It goes on with: {again}; or end it: trimtab terminate {name}")
    return NotGone(f"app {name}", course.late("its deletion", seconds, waits), remedy)


def called(name: str, operation: Operation, *, consent: bool) -> str:
    """The command that goes on with a deletion."""
    options = {
        "--skip-hooks": operation.strategy is WITHOUT_HOOKS.strategy,
        "--confirm-deletions": consent,
    }
    return " ".join([f"trimtab delete {name}", *(option for option, meant in options.items() if meant)])


def is_same_deletion(begun: Operation | None, state: OperationState | None, asked: Operation) -> bool:
    """Whether what was begun and not seen through is the very deletion that is asked for."""
    if begun is None or state is None or not begun.delete or begun.ended_by:
        return False
    return begun.strategy is asked.strategy and is_begun(state) and not state.phase.final


def going(plan: SyncPlan) -> tuple[Prune, ...]:
    """What a plan deletes."""
    return tuple(step for step in plan.steps if isinstance(step, Prune) and not step.skip)


def is_whole(plan: SyncPlan) -> bool:
    """Whether nothing that carries the app's mark stays when a plan of its deletion is carried out."""
    return not plan.refused and len(going(plan)) == sum(isinstance(step, Prune) for step in plan.steps)


def abandonment(unit: SyncUnit) -> SyncPlan:
    """What becomes of an app that is forgotten, as a plan: everything that it had stays."""
    kept = tuple(
        Prune(
            key=each.key,
            phase=SyncPhase.SYNC,
            wave=0,
            why="the app is forgotten",
            api_version="/".join(filter(None, (each.key.group, each.version))),
            expected=NOTHING,
            skip=_FORGOTTEN,
        )
        for each in unit.status.resources
    )
    revision = unit.status.revision
    name = plan_digest(unit.id, revision, "", kept, ())
    return SyncPlan(unit=unit.id, revision=revision, render="", steps=kept, digest=name)


def waiting_words(left: Sequence[KubeObject]) -> str:
    """What is still there, and what holds it."""
    more = len(left) - _MOST_NAMED
    named = [_held(each) for each in left[:_MOST_NAMED]]
    return "; ".join([*named, f"and {more} more"] if more > 0 else named)


def _held(left: KubeObject) -> str:
    finalizers = ", ".join(left.metadata.finalizers or ())
    return f"{left.key} is held by {finalizers}" if finalizers else f"{left.key} is still there"


async def until_deleted(
    engine: Engine,
    cluster: Cluster,
    plan: SyncPlan,
    seconds: float,
    told: Callable[[str], None],
    *,
    again: str,
) -> None:
    """Wait until what a plan deleted is gone, looking again whenever something in the cluster changes.

    If that takes too long, the error names what is called `again`.
    """
    changed, clock = asyncio.Event(), SystemClock()
    ends = (
        engine.on_resource_removed(lambda _cluster, _key: changed.set()),
        engine.on_resource_updated(lambda _cluster, _live: changed.set()),
    )
    words, steps = "", going(plan)
    unheard = "the server has not said what is left"
    try:
        async with time_limit(timedelta(seconds=seconds), clock=clock, subject=f"app {plan.unit}"):
            while left := await _left(cluster, steps):
                steps = tuple(step for step in steps if step.key in left)
                if words != (words := waiting_words(list(left.values()))):
                    told(words)
                await changed.wait()
                await clock.sleep(_GATHERED)
                changed.clear()
    except DeadlinePassed as error:
        remedy = f"Have what holds them let go, then run it again: {again}"
        raise NotGone(f"app {plan.unit}", f"after {seconds:g} s {words or unheard}", remedy) from error
    finally:
        for end in ends:
            end()


async def _left(cluster: Cluster, steps: Iterable[Prune]) -> dict[ResourceKey, KubeObject]:
    """What of the steps is still there: asked of the server, which alone knows."""
    discovery, left = await cluster.discover(), dict[ResourceKey, KubeObject]()

    async def ask(step: Prune) -> None:
        resource = discovery.resource(step.api_version, step.key.kind)
        if resource is None:
            return  # its definition went, and all of its kind with it
        try:
            found = await cluster.get(resource, step.key.name, namespace=step.key.namespace)
        except NotFound:
            return
        if found.metadata.uid == step.expected.uid:
            left[step.key] = found

    async with plain_group() as group:
        for step in steps:
            group.create_task(ask(step))
    return left
