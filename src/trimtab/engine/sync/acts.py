"""What progress asks to be done, what came of it, and what it is told of the world. Pure.

Acts are the steps of a plan and the little things around them; every act has one outcome. Outcomes become
part of the operation's state in `results`.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TypeAlias

from msgspec import Struct

from trimtab.engine.live import Live
from trimtab.engine.operations import OperationPhase, OperationState, SyncPhase
from trimtab.engine.sync.steps import Apply, CreateNamespace, Prune, RunHook, Step
from trimtab.resources.keys import ResourceKey


class Rehearse(Struct, frozen=True):
    """Try a write as a dry-run."""

    step: CreateNamespace | Apply | RunHook


class Clear(Struct, frozen=True):
    """Take away what an earlier run left under a hook's name, or only its finalizer."""

    step: RunHook
    uid: str
    delete: bool


class Release(Struct, frozen=True):
    """Take our finalizer off a hook that has ended.

    Without a uid nobody has heard whether it was made: whatever is ours under its name is meant, but for what
    stood there before.
    """

    step: RunHook
    uid: str
    before: str = ""


class Discard(Struct, frozen=True):
    """Delete a hook of this operation; without a uid as in `Release`."""

    step: RunHook
    uid: str
    before: str = ""


class Look(Struct, frozen=True):
    """Ask the server for an object that the cache does not show as it was written."""

    step: Apply | RunHook


Write: TypeAlias = CreateNamespace | Apply | Prune | RunHook
Act: TypeAlias = Write | Rehearse | Clear | Release | Discard | Look


class Outcome(Struct, frozen=True, kw_only=True):
    """What came of one act; `problem` is empty if it was done."""

    act: Act
    at: datetime
    problem: str = ""
    message: str = ""
    uid: str = ""
    resource_version: str = ""
    #: the object as the server showed it; None if it is not there, or was not asked for
    seen: Live | None = None
    #: the server answered, whatever it said
    known: bool = True


class Sighting(Struct, frozen=True):
    """What the server said of one object, and when; None means that it was not there, if it said so."""

    live: Live | None
    at: datetime
    known: bool = True


class Asks(Struct, frozen=True, kw_only=True):
    """What others asked of a running operation."""

    terminate: bool = False
    approved_at: datetime | None = None
    #: a newer revision that waits for this operation to end
    newer: str = ""


def _plain(found: Live) -> str:
    return found.digest.hex()


def _always(_: ResourceKey) -> bool:
    return True


class Facts(Struct, frozen=True, kw_only=True):
    """The world as progress is told of it: the cache, what the server said itself, and what others want."""

    live: Callable[[ResourceKey], Live | None]
    sightings: Mapping[ResourceKey, Sighting] = {}
    #: whether an object that the cache does not show is not there
    knows: Callable[[ResourceKey], bool] = _always
    #: names what an object holds as plans name it
    content: Callable[[Live], str] = _plain
    asks: Asks = Asks()


class Wave(Struct, frozen=True, kw_only=True):
    """One wave whose writes are all made; `final` if no other follows."""

    phase: SyncPhase
    wave: int
    final: bool


class Next(Struct, frozen=True, kw_only=True):
    """Do these now, all at once."""

    acts: tuple[Act, ...]
    #: the wave that these writes complete
    completes: Wave | None = None


class Awaited(enum.Enum):
    """What kind of thing an operation waits for."""

    HOOKS = "completion of hook"
    HEALTH = "healthy state of"
    DELETION = "deletion of"
    CONSENT = "consent to delete"
    KINDS = "the server to serve the kind of"
    ANSWER = "the server to say whether there is"


class Wait(Struct, frozen=True, kw_only=True):
    """Nothing can be done before one of these objects changes, or that time comes."""

    on: Awaited
    what: str
    keys: frozenset[ResourceKey] = frozenset()
    until: datetime | None = None


class Done(Struct, frozen=True, kw_only=True):
    """All is as planned."""

    message: str


class Failed(Struct, frozen=True, kw_only=True):
    """It is over, and not as planned."""

    message: str
    phase: OperationPhase = OperationPhase.FAILED
    #: whether another attempt may be made
    again: bool = True


Move: TypeAlias = Next | Wait | Done | Failed


class Progress(Struct, frozen=True):
    """What is known now of the operation, and what follows from it."""

    state: OperationState
    move: Move


def step_of(act: Act) -> Step:
    """The step that an act belongs to."""
    match act:
        case Rehearse() | Clear() | Release() | Discard() | Look():
            return act.step
        case _:
            return act
