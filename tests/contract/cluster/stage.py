"""The stage of one case: every verb of `Cluster`, with what it answered written down.

A case performs calls here and never looks at the answers itself unless its next call needs them; what it saw
is compared afterwards with what the real server once said.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any, TypeAlias

import msgspec

from tests.contract.cluster.masks import Masks
from trimtab.errors import TrimtabError
from trimtab.kube.cluster import (
    EVERYTHING,
    FOR_REAL,
    NEWEST,
    PLAINLY,
    AsOf,
    Body,
    Cluster,
    Deletion,
    EventType,
    PatchBody,
    PatchType,
    Selection,
    WatchEvent,
    Write,
    Written,
)
from trimtab.kube.discovery import Resource
from trimtab.kube.failures import NotFound, Refusal, StatusDetails
from trimtab.kube.objects import KubeObject

Observation: TypeAlias = dict[str, Any]
PATIENCE = 60.0  # seconds; what does not come by then, on a busy machine, does not come


Forget: TypeAlias = Callable[[], Awaitable[None]]


async def _nothing_to_forget() -> None:
    raise AssertionError("the history of this world cannot be ended")


class Stage:
    """A cluster, a namespace of the case's own, and the story so far."""

    def __init__(self, cluster: Cluster, namespace: str, forget: Forget = _nothing_to_forget) -> None:
        self.cluster = cluster
        self.forget = forget
        self.namespace = namespace
        self.told: list[Observation] = []
        self.masks = Masks(namespace)

    # -- setting up: must succeed and is not part of the story -----------------------------------------------

    async def given(self, resource: Resource, *bodies: Mapping[str, Any], manager: str = "setup") -> None:
        """Create these objects."""
        for body in bodies:
            await self.cluster.create(
                resource, body, namespace=self._in(resource), write=Write(manager=manager)
            )

    async def version_of(self, resource: Resource, name: str) -> str:
        """The object's version now."""
        return (await self._found(resource, name)).metadata.resource_version

    async def caught_up(self, resource: Resource) -> None:
        """Return when the server's memory is as new as its store: the newest list waits for that."""
        async for _ in self.cluster.list(resource, namespace=self._in(resource)):
            pass

    async def uid_of(self, resource: Resource, name: str) -> str:
        """The object's uid."""
        return (await self._found(resource, name)).metadata.uid

    async def manifest_of(self, resource: Resource, name: str) -> dict[str, Any]:
        """The object as it is now."""
        return (await self._found(resource, name)).manifest()

    async def _found(self, resource: Resource, name: str) -> KubeObject:
        return await self.cluster.get(resource, name, namespace=self._in(resource))

    async def until(
        self, resource: Resource, name: str, ready: Callable[[dict[str, Any]], bool]
    ) -> dict[str, Any]:
        """Wait until the object is as it should be."""
        select = Selection(fields=f"metadata.name={name}")
        async with (
            asyncio.timeout(PATIENCE),
            self.cluster.watch(
                resource, since="", namespace=self._in(resource), select=select, initial=True
            ) as events,
        ):
            async for event in events:
                if event.type is not EventType.BOOKMARK and ready(event.object.manifest()):
                    return event.object.manifest()
        raise AssertionError(f"the watch of {name} ended")

    async def gone(self, resource: Resource, name: str) -> None:
        """Wait until the object is no more, and write that down."""
        async with asyncio.timeout(PATIENCE):
            try:
                while True:
                    await self._found(resource, name)
                    await asyncio.sleep(0)  # a cluster in memory answers at once: let others have a turn
            except NotFound:
                self.say("gone", name)

    async def discovered(self, api_version: str, kind: str) -> Resource:
        """What discovery says of a kind, once it does: it may learn of a definition after others have."""
        async with asyncio.timeout(PATIENCE):
            while True:
                found = (await self.cluster.discover()).resource(api_version, kind)
                if found is not None:
                    return found
                await asyncio.sleep(0)  # as above

    async def served(self, definition: Mapping[str, Any]) -> None:
        """Return when every version of a definition is served: a moment after it is established."""
        spec = definition["spec"]
        names, namespaced = spec["names"], spec["scope"] == "Namespaced"
        async with asyncio.timeout(PATIENCE):
            for version in spec["versions"]:
                kind = Resource(
                    group=spec["group"],
                    version=version["name"],
                    kind=names["kind"],
                    plural=names["plural"],
                    namespaced=namespaced,
                )
                while version["served"] and not await self._is_served(kind):
                    continue

    async def _is_served(self, resource: Resource) -> bool:
        try:
            await self.caught_up(resource)
        except NotFound:
            return False
        return True

    async def until_tried(
        self, resource: Resource, body: Mapping[str, Any], ready: Callable[[Written | None], bool]
    ) -> None:
        """Try to create an object until the answer is right; None is a refusal.

        What was changed in a definition counts a moment later.
        """
        async with asyncio.timeout(PATIENCE):
            while not ready(await self._tried(resource, body)):
                continue

    async def _tried(self, resource: Resource, body: Mapping[str, Any]) -> Written | None:
        try:
            return await self.cluster.create(
                resource, body, namespace=self._in(resource), write=Write(dry_run=True)
            )
        except Refusal:
            return None

    # -- the story ------------------------------------------------------------------------------------------

    async def get(
        self, resource: Resource, name: str, *, subresource: str = "", namespace: str | None = None
    ) -> KubeObject | None:
        """Read an object and write it down."""
        call = f"get {resource.full_kind} {name} {subresource}".rstrip()
        reading = self.cluster.get(
            resource, name, namespace=self._in(resource, namespace), subresource=subresource
        )
        return await self._object(call, reading)

    async def create(
        self, resource: Resource, body: Body, *, write: Write = FOR_REAL, namespace: str | None = None
    ) -> KubeObject | None:
        """Create an object and write down the answer."""
        match body:
            case {"metadata": {"generateName": str(prefix)}}:
                self.masks.expect_drawn_name(prefix)
            case _:
                pass
        creating = self.cluster.create(resource, body, namespace=self._in(resource, namespace), write=write)
        return await self._written(f"create {resource.full_kind}", creating)

    async def update(
        self,
        resource: Resource,
        name: str,
        body: Body,
        *,
        subresource: str = "",
        write: Write = FOR_REAL,
    ) -> KubeObject | None:
        """Replace an object and write down the answer."""
        updating = self.cluster.update(
            resource, name, body, namespace=self._in(resource), subresource=subresource, write=write
        )
        return await self._written(f"update {resource.full_kind} {name} {subresource}".rstrip(), updating)

    async def patch(
        self,
        resource: Resource,
        name: str,
        body: PatchBody,
        *,
        how: PatchType,
        subresource: str = "",
        write: Write = FOR_REAL,
    ) -> KubeObject | None:
        """Patch an object and write down the answer."""
        patching = self.cluster.patch(
            resource, name, body, how=how, namespace=self._in(resource), subresource=subresource, write=write
        )
        call = f"patch {resource.full_kind} {name} {subresource}".rstrip()
        return await self._written(f"{call} ({how.name.lower()})", patching)

    async def apply(
        self,
        resource: Resource,
        name: str,
        body: Body,
        *,
        manager: str = "one",
        force: bool = False,
        subresource: str = "",
        write: Write = FOR_REAL,
    ) -> KubeObject | None:
        """Apply as one of several managers and write down the answer."""
        applying = self.cluster.apply(
            resource,
            name,
            body,
            namespace=self._in(resource),
            subresource=subresource,
            force=force,
            write=msgspec.structs.replace(write, manager=manager),
        )
        call = f"apply {resource.full_kind} {name} {subresource}".rstrip()
        return await self._written(f"{call} as {manager}{' by force' * force}", applying)

    async def delete(
        self, resource: Resource, name: str, *, how: Deletion = PLAINLY, namespace: str | None = None
    ) -> KubeObject | None:
        """Delete an object and write down the answer."""
        deleting = self.cluster.delete(resource, name, namespace=self._in(resource, namespace), how=how)
        return await self._object(f"delete {resource.full_kind} {name}", deleting)

    async def delete_all(
        self, resource: Resource, *, select: Selection = EVERYTHING, how: Deletion = PLAINLY
    ) -> None:
        """Delete a selection and write down what was said."""
        await self._object(
            f"delete all {resource.full_kind}",
            self.cluster.delete_all(resource, namespace=self._in(resource), select=select, how=how),
        )

    async def list(
        self,
        resource: Resource,
        *,
        select: Selection = EVERYTHING,
        as_of: AsOf = NEWEST,
        page_size: int | None = None,
        namespace: str | None = None,
        between: Callable[[], Awaitable[object]] | None = None,
        whole: bool = False,
    ) -> None:
        """List, and write down every page; `between` runs after the first page."""
        call = f"list {resource.full_kind} {select.labels} {select.fields}".strip()
        pages = self.cluster.list(
            resource,
            namespace=self._in(resource, namespace),
            select=select,
            as_of=as_of,
            page_size=page_size,
        )
        seen: list[Any] = []
        versions = set()
        try:
            async with aclosing(pages):
                async for page in pages:
                    names = [self._listed(each, whole=whole) for each in page.objects]
                    seen.append({"objects": names, "remaining": page.remaining})
                    versions.add(page.resource_version)
                    if between is not None and len(seen) == 1:
                        await between()
        except TrimtabError as error:
            self._tell(call, {"pages": seen, "refusal": self._refusal(error)})
            return
        self._tell(call, {"pages": seen, "versions": len(versions)})

    def _listed(self, each: KubeObject, *, whole: bool) -> Any:
        name = f"{each.metadata.namespace}/{each.metadata.name}" if each.metadata.namespace else ""
        return self.masks.object(each.manifest()) if whole else self.masks.text(name or each.metadata.name)

    @asynccontextmanager
    async def watching(
        self,
        resource: Resource,
        *,
        since: str = "",
        select: Selection = EVERYTHING,
        initial: bool = False,
        namespace: str | None = None,
    ) -> AsyncIterator[Ear]:
        """Watch for the length of the block; a refusal is written down and ends the block quietly."""
        call = f"watch {resource.full_kind} {select.labels} {select.fields}".strip()
        ear = Ear(self, self.masks.text(call))
        try:
            async with self.cluster.watch(
                resource,
                since=since,
                namespace=self._in(resource, namespace),
                select=select,
                initial=initial,
            ) as events:
                ear.events = events
                yield ear
        except TrimtabError as error:
            self._tell(ear.call, {"refusal": self._refusal(error)})
            if ear.events is None:
                ear.events = aiter(_silence())
                yield ear

    def say(self, what: str, seen: Any) -> None:
        """Write down something that no verb answers by itself."""
        self.told.append({"call": what, "seen": seen})

    # -- writing down ---------------------------------------------------------------------------------------

    async def _written(self, call: str, writing: Awaitable[Written]) -> KubeObject | None:
        try:
            written = await writing
        except TrimtabError as error:
            self._tell(call, {"refusal": self._refusal(error)})
            return None
        warned = {"warnings": [self.masks.text(each) for each in written.warnings]}
        self._tell(
            call,
            {
                "object": self.masks.object(written.object.manifest()),
                **(warned if written.warnings else {}),
            },
        )
        return written.object

    async def _object(self, call: str, asking: Awaitable[KubeObject | None]) -> KubeObject | None:
        try:
            found = await asking
        except TrimtabError as error:
            self._tell(call, {"refusal": self._refusal(error)})
            return None
        self._tell(call, {"object": self.masks.object(found.manifest()) if found else None})
        return found

    def _refusal(self, error: TrimtabError) -> Observation:
        if not isinstance(error, Refusal):
            return {"error": type(error).__name__, "message": self.masks.text(error.reason)}
        status = error.status
        details = status.details or StatusDetails()
        causes = [
            {"reason": each.reason, "field": each.field, "message": self.masks.text(each.message)}
            for each in status.causes
        ]
        message = self.masks.text(status.message)
        if len(causes) > 1:
            causes, message = in_order(causes, message, custom=is_custom(details.group))
        return {
            "code": status.code,
            "reason": status.reason,
            "message": message,
            "about": [details.group, details.kind, self.masks.text(details.name)],
            "causes": causes,
        }

    def _tell(self, call: str, answer: Observation) -> None:
        self.told.append({"call": self.masks.text(call), **answer})

    def _in(self, resource: Resource, namespace: str | None = None) -> str:
        if namespace is not None:
            return namespace
        return self.namespace if resource.namespaced else ""


class Ear:
    """What one watch tells, written down as it is heard."""

    def __init__(self, stage: Stage, call: str) -> None:
        self.call = call
        self.events: AsyncIterator[WatchEvent] | None = None
        self._stage = stage

    async def hear(self, count: int) -> None:
        """Write down the next events; periodic bookmarks do not count."""
        while count:
            event = await self._next()
            if event is None:
                return
            if event.type is not EventType.BOOKMARK:
                self._tell(event)
                count -= 1

    async def hear_the_beginning(self) -> None:
        """Write down everything up to the bookmark that ends the initial events."""
        while (event := await self._next()) is not None:
            self._tell(event)
            if event.type is EventType.BOOKMARK:
                return

    async def hear_until(self, name: str) -> None:
        """Write down everything up to an object of this name."""
        while (event := await self._next()) is not None:
            if event.type is not EventType.BOOKMARK:
                self._tell(event)
            if event.object.metadata.name == name:
                return

    async def _next(self) -> WatchEvent | None:
        if self.events is None:
            raise AssertionError("nothing is being watched")
        async with asyncio.timeout(PATIENCE):
            return await anext(self.events, None)

    def _tell(self, event: WatchEvent) -> None:
        bookmark = event.type is EventType.BOOKMARK
        seen = self._stage.masks.object(event.object.manifest(), versions=not bookmark)
        self._stage.told.append({"call": self.call, "event": event.type.value, "object": seen})


async def _silence() -> AsyncIterator[WatchEvent]:
    """A watch that was refused tells nothing."""
    nothing: tuple[WatchEvent, ...] = ()
    for event in nothing:
        yield event


def is_custom(group: str) -> bool:
    """Whether kinds of this group are defined by somebody, or themselves define some."""
    return "." in group and (group == "apiextensions.k8s.io" or not group.endswith(".k8s.io"))


def in_order(causes: list[dict[str, str]], message: str, *, custom: bool) -> tuple[list[dict[str, str]], str]:
    """What the real server tells in any order: conflicts with several, and faults of custom objects."""
    told = sorted(causes, key=lambda cause: (cause["message"], cause["field"]))
    if causes[0]["reason"] == "FieldManagerConflict":
        beginning, *managers = re.split(r"\s+(?=conflicts? with \")", message)
        return told, "\n".join([beginning, *sorted(managers)])
    parts = [f"{cause['field']}: {cause['message']}" for cause in told]
    if not custom or not all(part in message for part in parts):
        return causes, message
    return told, f"{message.partition('[')[0]}[{', '.join(parts)}]"
