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

    #: give up on one request (not a watch) after this long
    request_timeout: timedelta = timedelta(seconds=30)
    #: give up on opening a connection after this long
    connect_timeout: timedelta = timedelta(seconds=10)
    #: requests under way at once; watches have their own connections and do not count
    concurrency: Count = 32
    #: objects asked for per page of a list
    page_size: Count = 500
    #: tries of a request that the server answers with 429 or 503
    attempts: Count = 5
    #: an answer, or one event of a watch, larger than this is refused
    answer_limit: Size = 512 << 20
    #: a watch that says nothing for this long, not even a bookmark, is taken for dead and resumed
    watch_silence: timedelta = timedelta(seconds=90)
    #: a credential plugin that has not answered by then is killed
    plugin_timeout: timedelta = timedelta(seconds=30)


class Settings(Struct, frozen=True, kw_only=True):
    """Everything that can be set, one group per room."""

    cluster: ClusterSettings = ClusterSettings()
