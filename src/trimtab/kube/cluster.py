"""The `Cluster` protocol: all that the rest of the house may ask of a Kubernetes API.

Two things speak it: `HttpCluster` over the network and, in memory, the embedded cluster. Objects cross it as
typed metadata plus raw bytes; manifests may be sent as decoded JSON or as bytes.
"""

from __future__ import annotations

import enum
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, TypeAlias

from msgspec import Struct

from trimtab.kube.discovery import Discovery, Resource, ServerVersion
from trimtab.kube.objects import KubeObject, Page

Body: TypeAlias = bytes | Mapping[str, Any]
PatchBody: TypeAlias = bytes | Mapping[str, Any] | list[Any]


class Selection(Struct, frozen=True, kw_only=True):
    """Which objects: label and field selectors as the API spells them; empty means all."""

    labels: str = ""
    fields: str = ""


EVERYTHING = Selection()


class VersionMatch(enum.Enum):
    """How a resource version given to a list is meant."""

    EXACT = "Exact"
    NOT_OLDER_THAN = "NotOlderThan"


class AsOf(Struct, frozen=True, kw_only=True):
    """How fresh a list has to be; the default is the newest state, read consistently."""

    resource_version: str = ""
    match: VersionMatch | None = None


NEWEST = AsOf()


class PatchType(enum.Enum):
    """The ways to patch, by their content type."""

    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"


class FieldValidation(enum.Enum):
    """What the server does about unknown and duplicate fields."""

    IGNORE = "Ignore"
    WARN = "Warn"
    STRICT = "Strict"


class Write(Struct, frozen=True, kw_only=True):
    """In whose name, how strictly, and whether for real."""

    manager: str = "trimtab"
    dry_run: bool = False
    validation: FieldValidation = FieldValidation.WARN


FOR_REAL = Write()


class Written(Struct, frozen=True, kw_only=True):
    """The object as it is after a write, and what the server warned of."""

    object: KubeObject
    warnings: tuple[str, ...] = ()


class Propagation(enum.Enum):
    """What happens to the objects that the deleted one owns."""

    FOREGROUND = "Foreground"
    BACKGROUND = "Background"
    ORPHAN = "Orphan"


class Deletion(Struct, frozen=True, kw_only=True):
    """How to delete: for whom, on which conditions, with which grace; None leaves it to the server."""

    propagation: Propagation | None = None
    uid: str | None = None
    resource_version: str | None = None
    grace_seconds: int | None = None
    dry_run: bool = False


PLAINLY = Deletion()


class EventType(enum.Enum):
    """What a watch says happened."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"


class WatchEvent(Struct, frozen=True, gc=False):
    """One thing a watch told; a bookmark's object holds little more than a resource version."""

    type: EventType
    object: KubeObject


class Question(Struct, frozen=True, kw_only=True):
    """May I? One verb on one kind, in one namespace or all, on one object or all."""

    verb: str
    resource: Resource
    namespace: str = ""
    name: str = ""
    subresource: str = ""


class Verdict(Struct, frozen=True, kw_only=True):
    """The server's answer to a question of rights."""

    allowed: bool
    reason: str = ""


class Collections(Protocol):
    """Reading whole kinds: all that following one takes."""

    def list(
        self,
        resource: Resource,
        *,
        namespace: str = "",
        select: Selection = EVERYTHING,
        as_of: AsOf = NEWEST,
        page_size: int | None = None,
    ) -> AsyncGenerator[Page]:
        """Read a collection page by page, all pages at one version; a page size of 0 asks for all at once."""

    def watch(
        self,
        resource: Resource,
        *,
        since: str,
        namespace: str = "",
        select: Selection = EVERYTHING,
        initial: bool = False,
    ) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent]]:
        """Hear of changes after a resource version, until the block or the server ends the watch.

        With `initial` the server first tells what exists, then sends a bookmark that says so.
        """


class Cluster(Collections, Protocol):
    """One Kubernetes API."""

    async def get(
        self, resource: Resource, name: str, *, namespace: str = "", subresource: str = ""
    ) -> KubeObject:
        """Read one object, or its status or scale."""

    async def create(
        self,
        resource: Resource,
        body: Body,
        *,
        namespace: str = "",
        name: str = "",
        subresource: str = "",
        write: Write = FOR_REAL,
    ) -> Written:
        """Make a new object, or what an object's subresource makes: a binding, an eviction, a token."""

    async def update(
        self,
        resource: Resource,
        name: str,
        body: Body,
        *,
        namespace: str = "",
        subresource: str = "",
        write: Write = FOR_REAL,
    ) -> Written:
        """Replace an object; with a resourceVersion in the body only if nobody changed it meanwhile."""

    async def patch(
        self,
        resource: Resource,
        name: str,
        body: PatchBody,
        *,
        how: PatchType,
        namespace: str = "",
        subresource: str = "",
        write: Write = FOR_REAL,
    ) -> Written:
        """Change parts of an object."""

    async def apply(
        self,
        resource: Resource,
        name: str,
        body: Body,
        *,
        namespace: str = "",
        subresource: str = "",
        force: bool = False,
        write: Write = FOR_REAL,
    ) -> Written:
        """Declare the fields this manager wants (server-side apply)."""

    async def delete(
        self, resource: Resource, name: str, *, namespace: str = "", how: Deletion = PLAINLY
    ) -> KubeObject | None:
        """Delete an object; the answer is the object while something keeps it, None once it is gone."""

    async def delete_all(
        self,
        resource: Resource,
        *,
        namespace: str = "",
        select: Selection = EVERYTHING,
        how: Deletion = PLAINLY,
    ) -> None:
        """Delete a selection of one collection."""

    async def discover(self) -> Discovery:
        """Every kind the server serves, and which group versions did not answer."""

    async def version(self) -> ServerVersion:
        """What the server says of itself."""

    async def schema(self, api_version: str) -> bytes:
        """The OpenAPI v3 document of one group version, as JSON."""

    async def may(self, question: Question) -> Verdict:
        """Ask whether we have a right, without using it."""
