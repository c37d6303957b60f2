"""What a behaviour wants done: plain values, performed by `run`. Pure."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import TypeAlias

from msgspec import Struct

from trimtab.apiserver.behaviours.manifests import Manifest, Name
from trimtab.apiserver.behaviours.timing import Timing
from trimtab.apiserver.behaviours.world import World
from trimtab.kube.cluster import Propagation


class Create(Struct, frozen=True):
    """Make this object."""

    body: Manifest


class Update(Struct, frozen=True, kw_only=True):
    """Replace the object, or a part of it, if nobody changed it meanwhile."""

    body: Manifest
    subresource: str = ""


class Bind(Struct, frozen=True, kw_only=True):
    """Put the pod on the node."""

    pod: Manifest
    node: str


class Delete(Struct, frozen=True, kw_only=True):
    """Delete exactly this life of the object."""

    target: Manifest
    propagation: Propagation | None = None
    grace_seconds: int | None = None


Change: TypeAlias = Create | Update | Bind | Delete


class Absent(Struct, frozen=True, kw_only=True):
    """An object that is not in the picture: one life of a name, or any."""

    kind: str
    name: Name
    uid: str = ""


class News(Struct, frozen=True):
    """Something users are told about an object, in an Event."""

    about: Manifest
    reason: str
    message: str
    warning: bool = False
    field: str = ""


class Decision(Struct, frozen=True, kw_only=True):
    """What to write now, and when to look again even if nothing happens."""

    changes: tuple[Change, ...] = ()
    again: datetime | None = None
    #: whose wish a refused write was: the refusal is remembered under this identity
    on_behalf_of: str = ""
    #: read this namespace anew before writing, and decide again if that brings news
    unless_news_in: str = ""
    #: ask for these objects before writing, and decide again if one is there after all
    unless_alive: tuple[Absent, ...] = ()
    #: what users are told even if nothing is written
    news: tuple[News, ...] = ()


NOTHING = Decision()


def decision(changes: Iterable[Change] = (), *again: datetime | None) -> Decision:
    """These changes, and the earliest of these times."""
    times = [each for each in again if each is not None]
    return Decision(changes=tuple(changes), again=min(times) if times else None)


class Actor(enum.Enum):
    """In whose name a behaviour writes: the name that the real one gives as field manager."""

    CONTROLLERS = "kube-controller-manager"
    KUBELET = "kubelet"
    SCHEDULER = "kube-scheduler"


class Done(Struct, frozen=True, kw_only=True):
    """A change that was made, with the object before and after it, where there is one."""

    change: Change
    before: Manifest | None = None
    after: Manifest | None = None


def _error_creating(owner: Manifest, _change: Change, why: str) -> News:
    return News(owner, "FailedCreate", f"Error creating: {why}", warning=True)


def nothing_more(_world: World, _done: Done) -> Iterator[News]:
    """What is told of changes by somebody who tells only what was decided."""
    return iter(())


class Voice(Struct, frozen=True):
    """Who tells users, what of a change, and what of one that was refused."""

    component: str
    tells: Callable[[World, Done], Iterator[News]]
    refused: Callable[[Manifest, Change, str], News] = _error_creating
    #: whether similar Events are combined; who tells them in the newer way does not
    combines: bool = True


class Behaviour(Struct, frozen=True, kw_only=True):
    """One stand-in: how it decides about one name, and which names it looks at when an object changes."""

    title: str
    actor: Actor
    decide: Callable[[World, Name, datetime, Timing], Decision]
    concerned: Callable[[World, Manifest], Iterator[Name]]
    #: names to look at once, when the work begins
    at_start: tuple[Name, ...] = ()
    voice: Voice | None = None
