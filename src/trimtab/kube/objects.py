"""Objects as an API server sends them: typed metadata, and the raw bytes for whoever needs more.

Decoding every field of every object is most of the cost of a Kubernetes client, and keeping the result is
most of its memory. Here only metadata is typed; the rest stays bytes until `manifest()` asks for it.
Pure: nothing here touches the network.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw, Struct

from trimtab.errors import ClusterUnreachable
from trimtab.kube.shallow import DEEPEST, shallow
from trimtab.resources.keys import ResourceKey

#: what reading JSON raises when the bytes are none, are not UTF-8, or are nested beyond all reason
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class OwnerReference(Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """One owner of an object, as garbage collection sees it."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class Metadata(Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """The part of metadata that everybody needs; field ownership stays in the raw bytes."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: tuple[OwnerReference, ...] | None = None
    finalizers: tuple[str, ...] | None = None


class KubeObject(Struct, frozen=True, kw_only=True, gc=False):
    """One object: what it is, its typed metadata, and the bytes the server sent."""

    api_version: str
    kind: str
    metadata: Metadata
    raw: bytes

    def __repr__(self) -> str:
        # The bytes of a Secret, or its annotations, must not end up in a log by way of a value that holds it.
        return f"<{self.key} at {self.metadata.resource_version}, {len(self.raw)} bytes>"

    @property
    def key(self) -> ResourceKey:
        """The object's name, independent of the version it was read in."""
        group, slash, _ = self.api_version.partition("/")
        return ResourceKey(
            group=group if slash else "",
            kind=self.kind,
            namespace=self.metadata.namespace,
            name=self.metadata.name,
        )

    def manifest(self) -> dict[str, Any]:
        """The whole object, decoded now; items of lists get back the kind that lists leave out."""
        try:
            decoded: dict[str, Any] = msgspec.json.decode(self.raw)
        except UNREADABLE as error:
            # Reading only the metadata passed over it.
            raise ClusterUnreachable(str(self.key), "the server sent something that is not JSON") from error
        return {**decoded, "apiVersion": self.api_version, "kind": self.kind}


class Page(Struct, frozen=True, kw_only=True):
    """One page of a list, all of it at one resource version."""

    objects: tuple[KubeObject, ...]
    resource_version: str
    continue_token: str
    remaining: int | None


class _Head(Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """The typed part of any object."""

    api_version: str = ""
    kind: str = ""
    metadata: Metadata = Metadata()


class _ListMetadata(Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")
    remaining_item_count: int | None = None


class _List(Struct, frozen=True, kw_only=True, rename="camel"):
    # Without defaults: of any other JSON one would read that nothing exists, and nobody says that in passing.
    kind: str
    items: list[Raw] | None
    metadata: _ListMetadata = _ListMetadata()


class _Answered(_Head, frozen=True, kw_only=True, gc=False, rename="camel"):
    # As above: a gateway's `{"status": "ok"}` is no object, least of all one that was written.
    api_version: str
    kind: str


_head = msgspec.json.Decoder(_Head)
_answered = msgspec.json.Decoder(_Answered)
_list = msgspec.json.Decoder(_List)


def object_from(raw: bytes | Raw, *, api_version: str = "", kind: str = "") -> KubeObject:
    """The object in these bytes; `api_version` and `kind` stand in where the bytes do not say.

    The bytes are copied at their exact size, so keeping one object never keeps the page it came in.
    """
    try:
        head = _head.decode(raw)
    except RecursionError:
        raw = shallow(bytes(raw))
        head = _head.decode(raw)
    return KubeObject(
        api_version=head.api_version or api_version,
        kind=head.kind or kind,
        metadata=head.metadata,
        raw=bytes(raw),
    )


def answered_from(body: bytes) -> KubeObject:
    """The object that is a whole answer: unlike an item of a list it says itself what it is."""
    try:
        head = _answered.decode(body)
    except RecursionError:
        body = shallow(body)
        head = _answered.decode(body)
    return KubeObject(api_version=head.api_version, kind=head.kind, metadata=head.metadata, raw=body)


def page_from(body: bytes, *, api_version: str, kind: str) -> Page:
    """The page of a list in this body."""
    try:
        listed = _list.decode(body)
    except RecursionError:
        listed = _list.decode(shallow(body, DEEPEST + 2))
    return Page(
        objects=tuple(object_from(item, api_version=api_version, kind=kind) for item in listed.items or ()),
        resource_version=listed.metadata.resource_version,
        continue_token=listed.metadata.continue_,
        remaining=listed.metadata.remaining_item_count,
    )
