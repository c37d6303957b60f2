"""Which live objects a sync may delete: the deletion law. Pure.

Only objects that are provably ours, that a complete render no longer holds, and that nobody asked to keep.
More of them at once than the budget allows wait until somebody agrees, and so does every object whose
deletion takes along what the plan does not name.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from trimtab.engine.live import LiveView
from trimtab.engine.operations import Operation, SyncPhase
from trimtab.engine.rows import Row
from trimtab.engine.stretches import STRETCH, Stretches
from trimtab.engine.sync.hooks import Role, role_of
from trimtab.engine.sync.options import (
    Consent,
    SyncOptions,
    delete_consent,
    object_options,
    prune_consent,
    wave_of,
)
from trimtab.engine.sync.steps import Expected, Prune
from trimtab.engine.sync.sums import content_name
from trimtab.resources import manifests
from trimtab.resources.keys import ResourceKey
from trimtab.resources.manifests import Manifest
from trimtab.resources.secrets import StandIns

REQUIRES_PRUNING = "no longer declared (requires pruning)"
NO_PRUNE = "ignored (no prune)"
NO_DELETE = "ignored (it says that it is to be kept)"
INCOMPLETE = "ignored (what Git wants is not known completely)"
REFUSED = "ignored (another object was refused)"
UNREAD = "ignored (whether it may be pruned could not be read from it)"


CONSENT = "it is deleted only with somebody's consent"
#: what goes along with an object of these kinds, whoever made it
TAKES_ALONG = {
    ("apiextensions.k8s.io", "CustomResourceDefinition"): "every object of its kind is deleted with it",
    ("", "Namespace"): "everything in it is deleted with it",
}


class PruneBudget(Struct, frozen=True, kw_only=True):
    """How much one sync may delete without asking: it asks for more than `share` and more than `count`."""

    share: float = 0.5
    count: int = 10

    def exceeded(self, pruned: int, owned: int) -> bool:
        """Whether so many of the unit's objects are too many."""
        return pruned > self.count and pruned > self.share * owned


#: for whoever asks for the deletion of everything
WITHOUT_END = PruneBudget(share=1)


def prunes(
    extra: Sequence[Row],
    *,
    owned: int,
    operation: Operation,
    options: SyncOptions,
    budget: PruneBudget,
    kept: str,
    live: LiveView,
    stand_ins: StandIns,
) -> Stretches[tuple[Prune, ...]]:
    """A step for every object of ours that Git no longer asks for, also for those that are kept.

    `kept` is why none of them may go, if so.
    """
    pruning = _Pruning(operation, options, kept)
    found: list[Prune] = []
    for number, row in enumerate(extra, 1):
        if (step := pruning.step(row, live, stand_ins)) is not None:
            found.append(step)
        if number % STRETCH == 0:
            yield
    going = [step for step in found if not step.skip]
    if not budget.exceeded(len(going), owned):
        return tuple(found)
    why = f"{len(going)} of {owned} objects would be deleted, more than the budget allows"
    return tuple(step if step.skip else replace(step, hold=step.hold or why) for step in found)


class _Pruning:
    """What one operation says about deleting."""

    def __init__(self, operation: Operation, options: SyncOptions, kept: str) -> None:
        self._operation = operation
        self._options = options
        self._kept = kept

    def step(self, row: Row, live: LiveView, stand_ins: StandIns) -> Prune | None:
        """What happens to one object; None for hooks and for what is not ours."""
        found, deletes = row.live, self._operation.delete
        if found is None or self._is_anothers(row):
            return None
        kept = live.manifest(row.key)
        told = manifests.annotations(kept) if kept else {}
        if role_of(told) is not Role.RESOURCE and not deletes:
            return None
        own = object_options(told)
        consent = delete_consent(own, told) if deletes else prune_consent(own, self._options)
        return Prune(
            key=row.key,
            phase=SyncPhase.SYNC,
            wave=wave_of(told),
            why="the app is deleted" if deletes else "no longer declared",
            api_version=found.api_version,
            expected=Expected(uid=found.uid, digest=content_name(row.key, found.digest, stand_ins)),
            propagation=self._options.propagation,
            last=own.prune_last,
            hold=_hold(row.key, consent),
            mark=found.mark,
            skip=self._skip(row, consent, known=kept is not None),
            defines=defined_by(kept) if kept else None,
        )

    def _is_anothers(self, row: Row) -> bool:
        """Whether nothing is to be said of an object; a deletion says what it leaves to somebody else."""
        if self._operation.delete and row.claimed_by is not None:
            return False
        return not row.ours or row.claimed_by is not None

    def _skip(self, row: Row, consent: Consent, *, known: bool) -> str:
        if row.claimed_by is not None:
            return f"ignored (it is managed by {row.claimed_by})"
        if not self._operation.prune:
            return REQUIRES_PRUNING
        if self._kept or not known:
            return self._kept or UNREAD
        if consent is not Consent.NO:
            return ""
        return NO_DELETE if self._operation.delete else NO_PRUNE


def defined_by(manifest: Manifest) -> tuple[str, str] | None:
    """Group and kind that an object defines, if it is a CustomResourceDefinition."""
    if manifest.get("kind") != "CustomResourceDefinition":
        return None
    spec = manifest.get("spec")
    names = spec.get("names") if isinstance(spec, dict) else None
    if not isinstance(spec, dict) or not isinstance(names, dict):
        return None
    group, kind = spec.get("group"), names.get("kind")
    return (group, kind) if isinstance(group, str) and isinstance(kind, str) else None


def _hold(key: ResourceKey, consent: Consent) -> str:
    """Why it waits for somebody's consent; empty if it need not."""
    return CONSENT if consent is Consent.CONFIRM else TAKES_ALONG.get((key.group, key.kind), "")
