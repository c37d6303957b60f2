"""Takes our finalizer off the objects of hooks, so that nothing of an operation stays behind undeletable.

Whether a hook may go is decided in `progress`. Where an operation has no plan any more, its hooks are only
let go of: they run on by themselves, and nothing is deleted that no plan names.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from msgspec.structs import replace

from trimtab.engine.health.values import HOOK_FINALIZERS
from trimtab.engine.operations import HookRun, OperationState, StepName
from trimtab.engine.sync.messages import told
from trimtab.errors import Conflict, Missing, TrimtabError, Unavailable
from trimtab.kube.cluster import Cluster, PatchType, Write
from trimtab.kube.discovery import Discovery, Resource
from trimtab.kube.failures import ChangedMeanwhile, NotFound
from trimtab.kube.objects import KubeObject
from trimtab.resources.keys import ResourceKey

_TRIES = 5


async def release(
    cluster: Cluster, resource: Resource, key: ResourceKey, is_meant: Callable[[str], bool], manager: str
) -> bool:
    """Take our finalizer off an object, if it has the identity that is meant; one that is gone is fine.

    The answer says whether it carried the finalizer.
    """
    for _ in range(_TRIES):
        found = await _get(cluster, resource, key)
        kept = tuple(found.metadata.finalizers or ()) if found else ()
        rest = [each for each in kept if each not in HOOK_FINALIZERS]
        if found is None or not is_meant(found.metadata.uid) or len(rest) == len(kept):
            return False
        version = found.metadata.resource_version
        body = {"metadata": {"finalizers": rest or None, "resourceVersion": version}}
        write = Write(manager=manager)
        try:
            await cluster.patch(
                resource, key.name, body, how=PatchType.MERGE, namespace=key.namespace, write=write
            )
        except ChangedMeanwhile:
            continue
        except Missing:
            pass
        return True
    raise Conflict(str(key), "its finalizer could not be removed: it changes all the time")


async def let_go(
    cluster: Cluster,
    discovery: Discovery,
    state: OperationState,
    manager: str,
    planned: Collection[StepName] = (),
) -> tuple[OperationState, frozenset[StepName]]:
    """The state once every hook that no plan names any more has been let go of, and which were held.

    `Unavailable` means that it has to be tried again; any other refusal is noted on the hook's run.
    """
    held = {(run.key, run.sync_phase): run for run in state.hooks if not (run.released or run.deleted)}
    after = {
        place: await _let_go(cluster, discovery, state, run, manager)
        for place, run in held.items()
        if place not in planned
    }
    hooks = tuple(after.get((run.key, run.sync_phase), (run, False))[0] for run in state.hooks)
    return replace(state, hooks=hooks), frozenset(place for place, (_, carried) in after.items() if carried)


async def _let_go(
    cluster: Cluster, discovery: Discovery, state: OperationState, run: HookRun, manager: str
) -> tuple[HookRun, bool]:
    resource = discovery.preferred(run.key.group, run.key.kind)
    if resource is None:
        return replace(run, released=True), False  # a kind that is no longer served has no objects
    made = next(
        (each.uid for each in state.results if (each.key, each.sync_phase) == (run.key, run.sync_phase)), ""
    )

    def is_meant(uid: str) -> bool:
        # Without a result, it may have been made without our having heard the answer.
        return uid == made if made else uid != run.replaces

    try:
        carried = await release(cluster, resource, run.key, is_meant, manager)
    except Unavailable:
        raise
    except TrimtabError as error:
        return replace(run, released=True, problem=told(error)), False
    return replace(run, released=True), carried


async def _get(cluster: Cluster, resource: Resource, key: ResourceKey) -> KubeObject | None:
    try:
        return await cluster.get(resource, key.name, namespace=key.namespace)
    except NotFound:
        return None
