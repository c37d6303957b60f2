"""What a render gives, and what it has seen. Pure values.

A manifest stays the JSON text that the worker made of it: whoever needs the fields decodes them.
"""

from __future__ import annotations

import enum
from typing import Final, Literal, TypeAlias

import msgspec
from msgspec import Struct

from trimtab.resources import manifests
from trimtab.resources.keys import ResourceKey
from trimtab.resources.manifests import Manifest


class Tool(enum.Enum):
    """Who makes the manifests."""

    DIRECTORY = "directory"
    KUSTOMIZE = "kustomize"
    HELM = "helm"


#: the name of what is no manifest
NAMELESS: Final = ResourceKey("", "", "", "")


def name_of(manifest: Manifest, where: str) -> ResourceKey:
    """The object that a manifest is about, nameless if its server names it; `InvalidSpec` if it is none."""
    manifests.api_version(manifest, where)
    if manifests.name(manifest, where) or not manifests.generate_name(manifest, where):
        return manifests.key_of(manifest, where)
    group, kind = manifests.group(manifest, where), manifests.kind(manifest, where)
    return ResourceKey(group, kind, manifests.namespace(manifest, where), "")


class Made(Struct, frozen=True, kw_only=True, gc=False):
    """One manifest: its JSON text, its name, and where it came from; it may turn out to be none."""

    key: ResourceKey
    api_version: str
    json: bytes
    where: str

    def manifest(self) -> Manifest:
        """The decoded manifest."""
        decoded: Manifest = msgspec.json.decode(self.json)
        return decoded


#: what was asked of a path: what it is, what lies in it, which names a folder holds, or all that is below it
Question: TypeAlias = Literal["kind", "bytes", "names", "below"]


class Look(Struct, frozen=True, order=True, gc=False):
    """One question that a render asked a source, and the answer; together they are what it has read."""

    source: str
    path: str
    question: Question
    answer: str


class Rendered(Struct, frozen=True, kw_only=True):
    """The manifests of one source at one revision, in the order of the tool."""

    manifests: tuple[Made, ...]
    tool: Tool
    #: empty where no outside program was needed
    tool_version: str
    #: names everything that the result follows from: the same key is the same result
    key: str
    #: names the manifests themselves
    digest: str
    read: tuple[Look, ...]
    warnings: tuple[str, ...] = ()
