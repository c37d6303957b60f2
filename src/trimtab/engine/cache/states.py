"""How far the reading of one kind in one scope has come, and what the cache says about it. Pure."""

from __future__ import annotations

import enum
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from trimtab.engine.cache.index import Scope
from trimtab.errors import Missing, NotAllowed, TrimtabError
from trimtab.kube.discovery import Resource
from trimtab.kube.failures import Forbidden, Unauthenticated
from trimtab.kube.picture import Complete, FellBack, Interrupted, News, Resumed


class Reading(enum.Enum):
    """Where the reading of a kind stands."""

    LISTING = "listing"  # for the first time, or again after history was lost
    FOLLOWING = "following"  # complete, and every change is heard
    INTERRUPTED = "interrupted"  # the server cannot be heard; goes on by itself
    REFUSED = "refused"  # the rights are missing
    UNSERVED = "unserved"  # the server says there is no such kind
    FAILED = "failed"  # anything else; tried again


class KindStatus(Struct, frozen=True, kw_only=True):
    """One kind in one scope: how its reading stands, since when, what went wrong, when it is tried next.

    `complete_at` is when all that existed had last been read; until then nothing absent is known to be.
    """

    scope: Scope
    resource: Resource
    reading: Reading
    since: datetime
    objects: int = 0
    complete_at: datetime | None = None
    error: str = ""
    next_try: datetime | None = None

    @property
    def is_current(self) -> bool:
        """Whether what is absent here is absent in the cluster."""
        return self.reading is Reading.FOLLOWING

    @property
    def is_settled(self) -> bool:
        """Whether it is complete or has said why not."""
        return self.reading is not Reading.LISTING or bool(self.error)


def begun(scope: Scope, resource: Resource, now: datetime) -> KindStatus:
    """A kind whose reading begins."""
    return KindStatus(scope=scope, resource=resource, reading=Reading.LISTING, since=now)


def heard(status: KindStatus, news: News, now: datetime) -> KindStatus:
    """The status after news that are about the reading itself."""
    match news:
        case Complete():
            return replace(_moved(status, Reading.FOLLOWING, now), complete_at=now)
        case Resumed():
            return _moved(status, Reading.FOLLOWING, now)
        case FellBack(error):
            return _moved(status, Reading.LISTING, now, error)
        case Interrupted(error, retry_in):
            later = now + timedelta(seconds=retry_in)
            return replace(_moved(status, Reading.INTERRUPTED, now, error), next_try=later)
        case _:
            return status


def stopped(status: KindStatus, error: Exception, now: datetime, retry_in: float) -> KindStatus:
    """The status after an error that ended the reading."""
    later = now + timedelta(seconds=retry_in)
    return replace(_moved(status, reading_after(error), now, error), next_try=later)


def reading_after(error: Exception) -> Reading:
    """Where an error leaves the reading of a kind."""
    match error:
        case Forbidden() | Unauthenticated() | NotAllowed():
            return Reading.REFUSED
        case Missing():
            return Reading.UNSERVED
        case _:
            return Reading.FAILED


def _moved(status: KindStatus, reading: Reading, now: datetime, error: Exception | None = None) -> KindStatus:
    since = status.since if status.reading is reading else now
    return replace(status, reading=reading, since=since, error=_told(error), next_try=None)


def _told(error: Exception | None) -> str:
    """An error's words; those of a bug may hold anything, so only its type is told."""
    if error is None:
        return ""
    return str(error) if isinstance(error, TrimtabError) else f"a bug: {type(error).__name__}"


class Memory(Struct, frozen=True, kw_only=True):
    """Bytes that the cache takes, by its own account; at the limit bodies are given up, records never."""

    records: int
    bodies: int
    limit: int | None
    given_up: int

    @property
    def total(self) -> int:
        """All of it."""
        return self.records + self.bodies

    @property
    def is_over(self) -> bool:
        """Whether even without bodies it would be too much."""
        return self.limit is not None and self.total > self.limit


class Facts(Struct, frozen=True, kw_only=True):
    """A cluster's cache at a glance; `error` is why there is no discovery, or not a whole one."""

    version: str
    kinds: int
    api_versions: int
    objects: int
    complete_at: datetime | None
    age: timedelta | None
    errors: tuple[str, ...]
    memory: Memory


def facts_of(
    statuses: tuple[KindStatus, ...],
    version: str,
    api_versions: int,
    error: str,
    memory: Memory,
    now: datetime,
) -> Facts:
    """What the statuses of all kinds come to; it is as old as the kind that was read longest ago."""
    times = [each.complete_at for each in statuses]
    oldest = min((each for each in times if each is not None), default=None)
    complete = oldest if oldest is not None and None not in times else None
    told = (f"{each.resource.full_kind}: {each.error}" for each in statuses if each.error)
    return Facts(
        version=version,
        kinds=len({(each.scope.group, each.scope.kind) for each in statuses}),
        api_versions=api_versions,
        objects=sum(each.objects for each in statuses),
        complete_at=complete,
        age=None if complete is None else now - complete,
        errors=(*((error,) if error else ()), *told),
        memory=memory,
    )
