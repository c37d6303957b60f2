"""What an API server's words of refusal mean: no right, no room, not admitted. Pure.

The same words reach us as the answer to a write of ours, in the conditions of controllers whose writes were
refused, and in Events. Kubernetes has one code for all of them (403), so the words are read.
"""

from __future__ import annotations

import re
from typing import Final, TypeAlias

from msgspec import Struct


class NoRight(Struct, frozen=True, kw_only=True):
    """Somebody may not do something with a kind."""

    user: str
    verb: str
    resource: str
    group: str = ""
    namespace: str = ""

    @property
    def full_resource(self) -> str:
        """`deployments.apps`, or `pods` for the core group."""
        return f"{self.resource}.{self.group}" if self.group else self.resource

    @property
    def where(self) -> str:
        """In which namespace, or everywhere."""
        return f"in the namespace {self.namespace}" if self.namespace else "in the whole cluster"


class NoRoom(Struct, frozen=True, kw_only=True):
    """A quota, or a limit of the namespace, is in the way."""

    limit: str
    why: str


class NotAdmitted(Struct, frozen=True, kw_only=True):
    """Somebody who is asked before objects are written said no, or did not answer."""

    by: str
    why: str
    is_silent: bool = False


class OtherIdentity(Struct, frozen=True):
    """The object is not the one that the write was meant for."""


Meaning: TypeAlias = NoRight | NoRoom | NotAdmitted | OtherIdentity

_NO_RIGHT: Final = re.compile(
    r'User "(?P<user>[^"]*)" cannot (?P<verb>\S+) resource "(?P<resource>[^"]*)"'
    r' in API group "(?P<group>[^"]*)"(?: in the namespace "(?P<namespace>[^"]*)")?'
)
_NO_WAY: Final = re.compile(r'User "(?P<user>[^"]*)" cannot (?P<verb>\S+) path "(?P<resource>[^"]*)"')
_NO_ROOM: Final = (
    re.compile(r"exceeded quota: (?P<limit>[^,]+), (?P<why>requested: .*)"),
    re.compile(r"failed quota: (?P<limit>[^:]+): (?P<why>.*)"),
    re.compile(r"(?P<why>(?:minimum|maximum) \S+ (?:usage )?per (?P<limit>\w+) .*)"),
)
_NOT_ADMITTED: Final = (
    re.compile(r"(?P<by>ValidatingAdmissionPolicy '[^']+') with binding '[^']+' denied request: (?P<why>.*)"),
    re.compile(r'(?P<by>admission webhook "[^"]+") denied the request(?:: )?(?P<why>.*)'),
    re.compile(r'violates (?P<by>PodSecurity "[^"]+"): (?P<why>.*)'),
)
_SILENT: Final = re.compile(r'failed calling (?P<by>webhook "[^"]+"): (?P<why>.*)')
_OTHER: Final = re.compile(r"Precondition failed: UID|uid mismatch")


def meaning_of(words: str) -> Meaning | None:
    """What the words say; None if they say nothing that is known."""
    text = " ".join(words.split())
    if found := _NO_RIGHT.search(text) or _NO_WAY.search(text):
        return NoRight(**{name: value or "" for name, value in found.groupdict().items()})
    for pattern in _NO_ROOM:
        if found := pattern.search(text):
            return NoRoom(limit=found["limit"], why=found["why"])
    for pattern in _NOT_ADMITTED:
        if found := pattern.search(text):
            return NotAdmitted(by=found["by"], why=found["why"])
    if found := _SILENT.search(text):
        return NotAdmitted(by=found["by"], why=found["why"], is_silent=True)
    return OtherIdentity() if _OTHER.search(text) else None
