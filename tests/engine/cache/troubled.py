"""An embedded cluster with troubles: some kinds refuse, hang, lose events or forget their history."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

from trimtab.apiserver import MemoryCluster
from trimtab.errors import TrimtabError
from trimtab.kube.failures import Status, failure

if TYPE_CHECKING:
    from trimtab.kube.cluster import Cluster, WatchEvent
    from trimtab.kube.discovery import Discovery, Resource
    from trimtab.kube.objects import KubeObject, Page
    from trimtab.tasks import Clock


def refusal(code: int, words: str = "no") -> TrimtabError:
    return failure("list it", Status(code=code, message=words))


class Troubled:
    """Passes everything on, unless told otherwise, and notes what it was asked."""

    def __init__(self, clock: Clock | None = None) -> None:
        self.inner = MemoryCluster(clock=clock)
        self.refusing: dict[str, Exception] = {}
        self.refusing_second_page: dict[str, Exception] = {}
        self.hanging: set[str] = set()
        self.swallowing: set[str] = set()
        self.failing_next: dict[str, Exception] = {}
        self.asked: list[tuple[str, str, str]] = []
        self.discovering: Exception | None = None
        self.hidden: set[str] = set()
        self.failed: dict[str, str] = {}
        self.listing = 0

    @property
    def cluster(self) -> Cluster:
        return cast("Cluster", self)  # what is not spelled out here is the embedded cluster's

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def count(self, verb: str, kind: str = "") -> int:
        return sum(each[0] == verb and kind in ("", each[1]) for each in self.asked)

    async def get(self, resource: Resource, name: str, *, namespace: str = "") -> KubeObject:
        self.asked.append(("get", resource.kind, namespace))
        return await self.inner.get(resource, name, namespace=namespace)

    async def discover(self) -> Discovery:
        self.asked.append(("discover", "", ""))
        if self.discovering is not None:
            raise self.discovering
        found = await self.inner.discover()
        kept = tuple(each for each in found.resources if each.kind not in self.hidden)
        return type(found)(resources=kept, failed=self.failed)

    async def list(self, resource: Resource, **options: Any) -> AsyncGenerator[Page]:
        self.asked.append(("list", resource.kind, options.get("namespace", "")))
        await self._meet(resource.kind)
        if resource.kind in self.refusing_second_page:
            options["page_size"] = 1
        async with aclosing(self.inner.list(resource, **options)) as pages:
            async for page in pages:
                yield page
                if resource.kind in self.refusing_second_page:
                    raise self.refusing_second_page[resource.kind]

    @asynccontextmanager
    async def watch(self, resource: Resource, **options: Any) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        self.asked.append(("watch", resource.kind, options.get("namespace", "")))
        await self._meet(resource.kind)
        async with self.inner.watch(resource, **options) as events:
            yield self._passed_on(resource.kind, events)

    async def _passed_on(self, kind: str, events: AsyncIterator[WatchEvent]) -> AsyncIterator[WatchEvent]:
        async for event in events:
            if (error := self.failing_next.pop(kind, None)) is not None:
                raise error
            if kind not in self.swallowing:
                yield event

    async def _meet(self, kind: str) -> None:
        if kind in self.hanging:
            await asyncio.Event().wait()
        if kind in self.refusing:
            raise self.refusing[kind]
