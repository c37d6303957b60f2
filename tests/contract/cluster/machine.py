"""A state machine that does the same to two clusters and demands the same answers, objects and watches."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from typing import Any, TypeAlias

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from tests.contract.cluster.comparing import differences
from tests.contract.cluster.declarations import (
    BUILT_IN,
    KINDS,
    SCALED,
    STATUSES,
    bodies,
    fields_of,
    json_patches,
    merge_patches,
    scales,
    statuses,
)
from tests.contract.cluster.kinds import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    GADGETS,
    SERVICES,
    config_map,
    deployment,
    gadget,
    service,
    with_metadata,
)
from tests.contract.cluster.stage import Ear, Stage
from tests.contract.cluster.worlds import World
from trimtab.kube import gotext
from trimtab.kube.cluster import Deletion, PatchType, Propagation, Selection, Write
from trimtab.kube.discovery import Resource

Act: TypeAlias = Callable[[Stage], Coroutine[Any, Any, object]]
NAMES = st.sampled_from(["a", "b"])
MANAGERS = st.sampled_from(["one", "two", "three"])
CLIENT, SERVER = "kubectl-client-side-apply", "kubectl"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
SELECTED = Selection(labels="x=1")
END = "zz-end"
LAST: dict[Resource, dict[str, Any]] = {
    CONFIG_MAPS: config_map(END),
    SERVICES: service(END),
    DEPLOYMENTS: deployment(END),
    GADGETS: gadget(END),
}


class Side:
    """One of the two clusters: its stage, and the watches that stay open for the whole play."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self._watches = AsyncExitStack()
        self._since: dict[Resource, str] = {}
        self._ears: list[Ear] = []

    async def open(self) -> None:
        """Begin to listen, from here on, to everything and to a selection."""
        for kind in KINDS:
            pages = self.stage.cluster.list(kind, namespace=self.stage.namespace)
            self._since[kind] = [page.resource_version async for page in pages][-1]
            for select in (SELECTED, Selection()):
                watching = self.stage.watching(kind, since=self._since[kind], select=select)
                self._ears.append(await self._watches.enter_async_context(watching))

    async def close(self) -> None:
        """Tell what is left, what every watch told, and what history tells; then stop listening."""
        for kind in KINDS:
            await self.stage.list(kind, whole=True)
            await self.stage.given(kind, with_metadata(LAST[kind], labels={"x": "1"}))
        for ear in self._ears:
            await ear.hear_until(END)
        await self._watches.aclose()
        for kind in KINDS:
            async with self.stage.watching(kind, since=self._since[kind]) as ear:
                await ear.hear_until(END)

    async def abandon(self) -> None:
        """Stop listening."""
        await self._watches.aclose()


class Twins(RuleBasedStateMachine):
    """Two clusters that nobody should be able to tell apart."""

    def __init__(self, runner: asyncio.Runner, left: World, right: World) -> None:
        super().__init__()
        self._runner = runner
        self._worlds = (left, right)
        self._sides: tuple[Side, ...] = ()
        self._agreed = True

    @initialize()
    def begin(self) -> None:
        """Open a namespace and the watches on both."""
        self._runner.run(self._open())

    async def _open(self) -> None:
        self._sides = tuple([Side(await world.stage()) for world in self._worlds])
        for side in self._sides:
            await side.open()

    @rule(data=st.data(), kind=st.sampled_from(KINDS), name=NAMES, manager=MANAGERS, force=st.booleans())
    def apply(self, data: st.DataObject, kind: Resource, name: str, manager: str, *, force: bool) -> None:
        """One of several managers declares what it wants."""
        body = data.draw(bodies(kind, name))
        self._both(lambda stage: stage.apply(kind, name, body, manager=manager, force=force))

    @rule(data=st.data(), kind=st.sampled_from(KINDS), name=NAMES, manager=MANAGERS)
    def create(self, data: st.DataObject, kind: Resource, name: str, manager: str) -> None:
        """Somebody creates."""
        body = data.draw(bodies(kind, name))
        self._both(lambda stage: stage.create(kind, body, write=Write(manager=manager)))

    @rule(data=st.data(), kind=st.sampled_from(KINDS), name=NAMES, manager=MANAGERS)
    def update(self, data: st.DataObject, kind: Resource, name: str, manager: str) -> None:
        """Somebody replaces."""
        body = data.draw(bodies(kind, name))
        self._both(lambda stage: stage.update(kind, name, body, write=Write(manager=manager)))

    @rule(data=st.data(), kind=st.sampled_from(KINDS), name=NAMES, manager=MANAGERS)
    def merge(self, data: st.DataObject, kind: Resource, name: str, manager: str) -> None:
        """Somebody sends a merge patch."""
        patch = data.draw(merge_patches(kind))
        self._patch(kind, name, patch, PatchType.MERGE, manager)

    @rule(data=st.data(), kind=st.sampled_from(BUILT_IN), name=NAMES, manager=MANAGERS)
    def merge_strategically(self, data: st.DataObject, kind: Resource, name: str, manager: str) -> None:
        """Somebody sends a strategic merge patch."""
        self._patch(kind, name, data.draw(fields_of(kind)), PatchType.STRATEGIC, manager)

    @rule(data=st.data(), kind=st.sampled_from(KINDS), name=NAMES, manager=MANAGERS)
    def operate(self, data: st.DataObject, kind: Resource, name: str, manager: str) -> None:
        """Somebody sends a JSON patch."""
        self._patch(kind, name, data.draw(json_patches(kind)), PatchType.JSON, manager)

    @rule(data=st.data(), kind=st.sampled_from(list(STATUSES)), name=NAMES, manager=MANAGERS)
    def report(self, data: st.DataObject, kind: Resource, name: str, manager: str) -> None:
        """Somebody writes a status, in one of several ways."""
        body, write = data.draw(statuses(kind, name)), Write(manager=manager)
        match data.draw(st.sampled_from(["update", "merge", "apply", "force"])):
            case "update":
                self._both(lambda stage: stage.update(kind, name, body, subresource="status", write=write))
            case "merge":
                patch = {"status": body["status"]}
                how = PatchType.MERGE
                self._both(
                    lambda stage: stage.patch(kind, name, patch, how=how, subresource="status", write=write)
                )
            case way:
                force = way == "force"
                self._both(
                    lambda stage: stage.apply(
                        kind, name, body, subresource="status", manager=manager, force=force
                    )
                )

    @rule(data=st.data(), kind=st.sampled_from(SCALED), name=NAMES, manager=MANAGERS)
    def scale(self, data: st.DataObject, kind: Resource, name: str, manager: str) -> None:
        """Somebody asks for more or fewer replicas, in one of several ways."""
        body, write = data.draw(scales(name)), Write(manager=manager)
        match data.draw(st.sampled_from(["update", "merge", "apply", "force"])):
            case "update":
                self._both(lambda stage: stage.update(kind, name, body, subresource="scale", write=write))
            case "merge":
                patch, how = {"spec": body["spec"]}, PatchType.MERGE
                self._both(
                    lambda stage: stage.patch(kind, name, patch, how=how, subresource="scale", write=write)
                )
            case way:
                force = way == "force"
                self._both(
                    lambda stage: stage.apply(
                        kind, name, body, subresource="scale", manager=manager, force=force
                    )
                )

    @rule(data=st.data(), kind=st.sampled_from(KINDS), name=NAMES, force=st.booleans())
    def come_from_client_side_apply(
        self, data: st.DataObject, kind: Resource, name: str, *, force: bool
    ) -> None:
        """Somebody who has patched in the name of kubectl begins to apply."""
        body = data.draw(bodies(kind, name))
        noted = with_metadata(body, annotations={LAST_APPLIED: gotext.to_json(body) + "\n"})
        self._patch(kind, name, noted, PatchType.MERGE, CLIENT)
        declared = data.draw(st.one_of(st.just(body), bodies(kind, name)))
        self._both(lambda stage: stage.apply(kind, name, declared, manager=SERVER, force=force))

    @rule(kind=st.sampled_from(KINDS), name=NAMES, manager=MANAGERS, owners=st.sampled_from([[], [{}], None]))
    def forget_owners(self, kind: Resource, name: str, manager: str, owners: Any) -> None:
        """Somebody wants all owners forgotten."""
        self._patch(kind, name, {"metadata": {"managedFields": owners}}, PatchType.MERGE, manager)

    @rule(kind=st.sampled_from(KINDS), name=NAMES, how=st.sampled_from([None, *Propagation]))
    def delete(self, kind: Resource, name: str, how: Propagation | None) -> None:
        """Somebody deletes."""
        self._both(lambda stage: stage.delete(kind, name, how=Deletion(propagation=how)))

    @rule(data=st.data(), kind=st.sampled_from(KINDS), name=NAMES, manager=MANAGERS, force=st.booleans())
    def try_out(self, data: st.DataObject, kind: Resource, name: str, manager: str, *, force: bool) -> None:
        """Somebody asks what a write would do."""
        body, write = data.draw(bodies(kind, name)), Write(manager=manager, dry_run=True)
        match data.draw(st.sampled_from(["apply", "create", "update", "merge"])):
            case "apply":
                self._both(
                    lambda stage: stage.apply(
                        kind, name, body, manager=manager, force=force, write=Write(dry_run=True)
                    )
                )
            case "create":
                self._both(lambda stage: stage.create(kind, body, write=write))
            case "update":
                self._both(lambda stage: stage.update(kind, name, body, write=write))
            case _:
                patch = data.draw(merge_patches(kind))
                how = PatchType.MERGE
                self._both(lambda stage: stage.patch(kind, name, patch, how=how, write=write))

    def teardown(self) -> None:
        """Compare what is left and what every watch told, unless they differed already."""
        if not self._sides:
            return
        if self._agreed:
            self._both(None)
        else:
            for side in self._sides:
                self._runner.run(side.abandon())

    def _patch(self, kind: Resource, name: str, patch: Any, how: PatchType, manager: str) -> None:
        self._both(lambda stage: stage.patch(kind, name, patch, how=how, write=Write(manager=manager)))

    def _both(self, act: Act | None) -> None:
        """Do it to both (or close both), and compare what they told."""
        for side in self._sides:
            self._runner.run(act(side.stage) if act else side.close())
        left, right = (side.stage.told for side in self._sides)
        found = differences(right, left)
        self._agreed = not found
        for told in (left, right):
            told.clear()
        assert found == [], "\n".join(found)
