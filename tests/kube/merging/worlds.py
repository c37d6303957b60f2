"""One Gadget and the managers who write it, on a real server or in memory: tests tell no difference."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from tests.kube.merging.samples import GROUP, gadget_target
from tests.kube.servers import APPLY, MERGE, Server
from trimtab.kube.merging.apply import applied, created, settled, updated
from trimtab.kube.merging.patch import merge_patch
from trimtab.kube.refusals import Refused


class World(Protocol):
    """Where a Gadget lives."""

    live: dict[str, Any]

    def apply(
        self, manager: str, fields: Mapping[str, Any], *, force: bool = False, status: bool = False
    ) -> dict[str, Any]:
        """Apply a configuration; the Status if it is refused, else nothing."""

    def create(self, manager: str, fields: Mapping[str, Any]) -> None:
        """Create the object."""

    def merge(self, manager: str, patch: Mapping[str, Any], *, status: bool = False) -> None:
        """Send a merge patch."""


def gadget(name: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """A Gadget; `fields` may hold metadata besides the name."""
    metadata = {"name": name, **fields.get("metadata", {})}
    return {**fields, "apiVersion": f"{GROUP}/v1", "kind": "Gadget", "metadata": metadata}


class OurWorld:
    """A Gadget in memory; every write happens a second after the one before."""

    def __init__(self) -> None:
        self.live: dict[str, Any] = {}
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self.version = 0

    def apply(
        self, manager: str, fields: Mapping[str, Any], *, force: bool = False, status: bool = False
    ) -> dict[str, Any]:
        target = gadget_target(subresource="status" if status else "")
        body = gadget("gadget", fields)
        try:
            new = applied(self.live or None, body, target, manager=manager, force=force, now=self._tick())
        except Refused as exc:
            return exc.status()
        self._store(new)
        return {}

    def create(self, manager: str, fields: Mapping[str, Any]) -> None:
        self._store(created(gadget("gadget", fields), gadget_target(), manager=manager, now=self._tick()))

    def merge(self, manager: str, patch: Mapping[str, Any], *, status: bool = False) -> None:
        target = gadget_target(subresource="status" if status else "")
        new = merge_patch(self.live, patch)
        if status:
            new = {**self.live, "status": new.get("status")}
        self._store(updated(self.live, new, target, manager=manager, now=self._tick()))

    def _tick(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now

    def _store(self, new: dict[str, Any]) -> None:
        """Keep the object as a server does: with a uid, and a new version if it has changed."""
        new = settled(self.live, new)
        if new != self.live:
            self.version += 1
        known = {"uid": "u", "resourceVersion": str(self.version)}
        self.live = {**new, "metadata": {**new["metadata"], **known}}


class RealWorld:
    """A Gadget on a real server."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.name = f"gadget-{secrets.token_hex(4)}"
        self.folder = f"/apis/{GROUP}/v1/namespaces/default/gadgets"
        self.live: dict[str, Any] = {}

    def apply(
        self, manager: str, fields: Mapping[str, Any], *, force: bool = False, status: bool = False
    ) -> dict[str, Any]:
        query = f"fieldManager={manager}&force={str(force).lower()}"
        return self._patch(query, gadget(self.name, fields), APPLY, status=status)

    def create(self, manager: str, fields: Mapping[str, Any]) -> None:
        body = gadget(self.name, fields)
        code, self.live = self.server.send("POST", f"{self.folder}?fieldManager={manager}", body)
        assert code == 201, self.live

    def merge(self, manager: str, patch: Mapping[str, Any], *, status: bool = False) -> None:
        assert self._patch(f"fieldManager={manager}", dict(patch), MERGE, status=status) == {}

    def _patch(self, query: str, body: dict[str, Any], kind: str, *, status: bool) -> dict[str, Any]:
        path = f"{self.folder}/{self.name}{'/status' if status else ''}?{query}"
        code, answer = self.server.send("PATCH", path, body, kind)
        if code >= 400:
            return dict(answer)
        self.live = answer
        return {}
