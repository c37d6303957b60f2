"""What has been told in Events: the same is counted up, similar things are combined, floods end. Pure.

As client-go does it for every controller: after nine messages of one kind about an object within ten minutes
the others share one Event, and after 25 Events about an object one more is told every five minutes.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from datetime import datetime, timedelta
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from trimtab.apiserver.behaviours.changes import News
from trimtab.apiserver.behaviours.events import event, told_again
from trimtab.apiserver.behaviours.manifests import Manifest, uid_of

Key = TypeVar("Key")
Value = TypeVar("Value")

COMBINED = "(combined from similar events): "
DISTINCT = 10  # so many different messages are similar ones
SIMILAR_FOR = timedelta(minutes=10)
BURST = 25
ONE_MORE_AFTER = timedelta(minutes=5)
_REMEMBERED = 4096


class Said(Struct, frozen=True):
    """By what an Event is known again: who says what of whom. Combined ones go by an empty message."""

    component: str
    uid: str
    warning: bool
    reason: str
    message: str
    field: str = ""


class Telling(Struct, frozen=True):
    """An Event to be written: a new one, or a known one with a higher count."""

    said: Said
    body: Manifest
    is_new: bool


class _Similar(Struct, frozen=True):
    """The messages of one kind about one object, and when the last of them came."""

    messages: tuple[str, ...]
    last: datetime


class _Budget(Struct, frozen=True):
    """How many Events about an object may still be told, at a moment."""

    left: float
    at: datetime


class Chronicle:
    """The memory of one teller of Events."""

    def __init__(self) -> None:
        self._similar: dict[Said, _Similar] = {}
        self._budgets: dict[tuple[str, str, bool], _Budget] = {}
        self._events: dict[Said, Manifest] = {}
        self._count = 0

    def telling(self, news: News, component: str, now: datetime, *, combines: bool = True) -> Telling | None:
        """The Event that tells this now, or nothing if enough was told of the object."""
        said = Said(component, uid_of(news.about), news.warning, news.reason, news.message, news.field)
        if combines and self._is_one_of_many(said, now):
            said = replace(said, message="", field="")
            news = News(news.about, news.reason, COMBINED + news.message, warning=news.warning)
        before = self._events.get(said)
        self._count += 1
        body = told_again(before, news, now) if before else event(news, component, now, self._count)
        _note(self._events, said, body)
        if combines and not self._may_be_told((component, said.uid, said.warning), now):
            return None
        return Telling(said, body, before is None or "uid" not in before["metadata"])

    def keep(self, said: Said, written: Manifest) -> None:
        """Remember the Event as the server has it."""
        _note(self._events, said, written)

    def forget(self, said: Said) -> None:
        """The Event could not be written: the next one is a new one."""
        self._events.pop(said, None)

    def _is_one_of_many(self, said: Said, now: datetime) -> bool:
        kind = replace(said, message="", field="")
        known = self._similar.get(kind)
        fresh = known is not None and now - known.last <= SIMILAR_FOR
        messages = dict.fromkeys((*(known.messages if known and fresh else ()), said.message))
        many = len(messages) >= DISTINCT
        _note(self._similar, kind, _Similar(tuple(messages)[1:] if many else tuple(messages), now))
        return many

    def _may_be_told(self, about: tuple[str, str, bool], now: datetime) -> bool:
        budget = self._budgets.get(about, _Budget(BURST, now))
        left = min(float(BURST), budget.left + (now - budget.at) / ONE_MORE_AFTER)
        _note(self._budgets, about, _Budget(left - 1 if left >= 1 else left, now))
        return left >= 1


def _note(memory: MutableMapping[Key, Value], key: Key, value: Value) -> None:
    """Remember this last; what was not touched for longest is forgotten."""
    memory.pop(key, None)
    memory[key] = value
    if len(memory) > _REMEMBERED:
        del memory[next(iter(memory))]
