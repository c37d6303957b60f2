"""Stored plans: what was planned, on which conditions, and how to find out whether these still hold.

A file holds the plan for people and programs to read, with digests for contents and keyed ones for Secrets;
and, sealed with the installation's key, the same once more beside what was asked. So a file tells nothing
that is secret, one that somebody edited is refused, and only the cluster it was made for can open it.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from trimtab.engine.control.policy import declared_digest
from trimtab.engine.operations import Operation, OperationPhase
from trimtab.engine.stores.sealing import Keyring, SealBroken
from trimtab.engine.sync.showing import moved_between, plan_json
from trimtab.engine.sync.steps import SyncPlan
from trimtab.engine.units import SyncUnit, UnitStatus
from trimtab.errors import Conflict, InvalidSpec
from trimtab.resources.keys import ResourceKey
from trimtab.resources.sentences import joined

_KIND: Final = "trimtab plan, version 1"
#: of all that moved, so much is told
_MOST_TOLD: Final = 5


class PreconditionMoved(Conflict):
    """What a stored plan was made on is no longer so; nothing was done."""


class StoredPlan(Struct, frozen=True, kw_only=True, rename="camel"):
    """One plan of a file: what was asked of which app, and what that came to."""

    #: the app as it was to be declared
    unit: SyncUnit
    operation: Operation
    #: names how the app was recorded before; empty for none
    recorded: str
    shown: dict[str, Any]

    @property
    def digest(self) -> str:
        """Names what the plan does, to what, and on which conditions."""
        return str(self.shown["digest"])

    def asked_of(self, now: SyncUnit | None) -> SyncUnit:
        """The app as it is to be declared, and as it stands; refused if it was declared otherwise since.

        Where it has objects is what its record says now. Of one that has none, that is to be found out.
        """
        if _recorded(now) != self.recorded:
            words = "there is such an app by now" if not self.recorded else "it was declared otherwise since"
            raise moved(self.unit.id, [words if now is not None else "the app was deleted"])
        if now is None:
            return replace(self.unit, places=None)
        return replace(
            self.unit,
            places=now.places,
            status=now.status,
            operation=now.operation,
            paused=now.paused,
            pinned=now.pinned,
        )

    def is_under_way(self, now: SyncUnit | None) -> bool:
        """Whether somebody began to carry out this very plan, and did not see it through."""
        return now is not None and now.operation is not None and now.operation.plan_digest == self.digest

    def is_done(self, now: SyncUnit | None) -> bool:
        """Whether the last that was done to the app is this very plan."""
        last = now.status.operation_state if now is not None and now.operation is None else None
        is_this = last is not None and last.operation.plan_digest == self.digest
        return is_this and last is not None and last.phase is OperationPhase.SUCCEEDED

    def agreed(self) -> Operation:
        """What was asked, at the revision that was planned."""
        return replace(self.operation, revision=str(self.shown["revision"]))

    def check(self, now: SyncPlan) -> None:
        """Refuse a plan that is not this one, and say what moved."""
        if now.digest != self.digest:
            found = moved_between(self.shown, plan_json(now)) or ("how it is carried out",)
            raise moved(self.unit.id, found)


_PLANS: Final = msgspec.json.Decoder(list[StoredPlan])


def moved(app: str, found: Sequence[str]) -> PreconditionMoved:
    """The error that says what moved."""
    more = len(found) - _MOST_TOLD
    told = [*found[:_MOST_TOLD], f"and {more} more"] if more > 0 else found
    reason = f"something moved since it was planned: {joined(told)}"
    return PreconditionMoved(f"app {app}", reason, "Plan it again")


def stored_plan(unit: SyncUnit, known: SyncUnit | None, operation: Operation, plan: SyncPlan) -> StoredPlan:
    """A plan to be stored; `known` is the app as it is recorded now."""
    declared = replace(unit, status=UnitStatus(), operation=None, paused=None, pinned=None)
    return StoredPlan(unit=declared, operation=operation, recorded=_recorded(known), shown=plan_json(plan))


def _recorded(unit: SyncUnit | None) -> str:
    return "" if unit is None else declared_digest(unit)


class _File(Struct, frozen=True, kw_only=True):
    """A file of plans as it is written."""

    kind: str
    installation: str
    plans: list[dict[str, Any]]
    sealed: str


_FILE: Final = msgspec.json.Decoder(_File)


def written(plans: Iterable[StoredPlan], *, installation: str, keys: Keyring) -> bytes:
    """The file that holds these plans; refused if carrying out one of them would move another."""
    kept = list(plans)
    _check_apart(kept)
    sealed = keys.sealed(msgspec.json.encode(kept), _seal_name(installation))
    file = _File(
        kind=_KIND,
        installation=installation,
        plans=[each.shown for each in kept],
        sealed=base64.b64encode(sealed).decode(),
    )
    return msgspec.json.format(msgspec.json.encode(file), indent=2) + b"\n"


def _check_apart(plans: Iterable[StoredPlan]) -> None:
    """Refuse plans that touch the same object: the second would find it otherwise than it was planned on."""
    touched: dict[ResourceKey, str] = {}
    for each in plans:
        for key in _touched(each):
            before = touched.setdefault(key, each.unit.id)
            if before != each.unit.id:
                both = f"{before} and {each.unit.id}"
                reason = f"the plans of {both} touch it, and the second would find it moved"
                raise Conflict(str(key), reason, "Plan and apply these apps one after the other")


def _touched(plan: StoredPlan) -> Iterator[ResourceKey]:
    return (ResourceKey(**step["object"]) for step in plan.shown["steps"] if not step.get("skip"))


def read(content: bytes, *, name: str, installation: str, keys: Keyring) -> list[StoredPlan]:
    """The plans in a file; refused if it is of another cluster, or was edited."""
    try:
        file = _FILE.decode(content)
        sealed = base64.b64decode(file.sealed, validate=True)
    except (msgspec.MsgspecError, binascii.Error, UnicodeDecodeError, RecursionError) as error:
        raise _unreadable(name) from error
    if file.kind != _KIND:
        raise _unreadable(name)
    if file.installation != installation:
        reason = "it was made for another cluster, or another installation in this one"
        raise InvalidSpec(f"plan file {name}", reason, "Choose the cluster with --context, or plan again")
    try:
        plans = _PLANS.decode(keys.opened(sealed, _seal_name(installation)))
    except (SealBroken, msgspec.MsgspecError) as error:
        raise _edited(name) from error
    if [each.shown for each in plans] != file.plans:
        raise _edited(name)
    return plans


def _seal_name(installation: str) -> str:
    return f"plans of {installation}"


def _unreadable(name: str) -> InvalidSpec:
    return InvalidSpec(f"plan file {name}", "it is not what `trimtab plan --out` writes", "Plan again")


def _edited(name: str) -> InvalidSpec:
    return InvalidSpec(f"plan file {name}", "it is damaged, or was edited since it was made", "Plan again")
