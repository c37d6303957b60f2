"""What a generator is given and what it answers. Pure values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct

from trimtab.resources.yaml import Document
from trimtab.sources.rendering.copies import Taken
from trimtab.sources.rendering.looking import Trees
from trimtab.sources.rendering.specs import Capabilities, SourceSpec

ProgramName: TypeAlias = Literal["helm", "kustomize"]


class Bounds(Struct, frozen=True, kw_only=True):
    """How much one render may take in."""

    files: int = 10_000
    bytes: int = 256 << 20


class Job(Struct, frozen=True, kw_only=True):
    """One source to render, without its trees."""

    #: the app, for messages and as the name of a release
    name: str
    namespace: str
    spec: SourceSpec
    capabilities: Capabilities = Capabilities()
    bounds: Bounds = Bounds()
    #: addresses that remote bases and chart dependencies may begin with; none unless the operator says so
    remotes: tuple[str, ...] = ()
    #: whether files that are kept in Git LFS are read as what they are, not as pointers
    lfs: bool = False
    #: versions of the programs that were found
    programs: Mapping[str, str] = {}

    @property
    def subject(self) -> str:
        """Whom a message is about."""
        return self.name or "the source"


class Ready(Struct, frozen=True, kw_only=True):
    """Manifests that needed no program."""

    documents: tuple[Document, ...]
    warnings: tuple[str, ...] = ()


class Call(Struct, frozen=True, kw_only=True):
    """A program to run in a private folder; its standard output is the manifests."""

    program: ProgramName
    #: after the program's own words; it stands in the private folder, so paths are relative to that
    arguments: tuple[str, ...]
    taken: tuple[Taken, ...]
    made: tuple[tuple[str, bytes], ...] = ()
    #: texts that must not appear in messages
    secrets: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class Generator(Protocol):
    """Makes manifests of the folder that the job's spec names, or says which program would."""

    def __call__(self, job: Job, trees: Trees, folder: str) -> Ready | Call:
        """Gather what the folder needs; the folder's path is free of links."""
