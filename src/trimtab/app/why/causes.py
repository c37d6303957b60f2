"""The table of causes: what each is called, means, and is found by; the nearest to the root first. Pure.

A new cause is a function from facts to findings and a row here; `docs/why.md` is written from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from msgspec import Struct

from trimtab.app.why import reaching, running, syncing
from trimtab.app.why.facts import Facts, Finding


class Cause(Struct, frozen=True, kw_only=True):
    """One kind of cause."""

    name: str
    find: Callable[[Facts], Iterable[Finding]]
    #: it only passes on what something deeper causes, and is told where nothing deeper is found
    weak: bool = False

    @property
    def meaning(self) -> str:
        """What it means, in a sentence."""
        return (self.find.__doc__ or "").splitlines()[0]


def _strong(name: str, *finds: Callable[[Facts], Iterable[Finding]]) -> tuple[Cause, ...]:
    return tuple(Cause(name=name, find=find) for find in finds)


def _weak(name: str, find: Callable[[Facts], Iterable[Finding]]) -> tuple[Cause, ...]:
    return (Cause(name=name, find=find, weak=True),)


CAUSES: Final[tuple[Cause, ...]] = (
    *_strong("cluster-unreachable", reaching.cluster_unreachable),
    *_strong("unauthenticated", reaching.unauthenticated),
    *_strong("no-rights", reaching.no_rights_to_look, syncing.no_rights),
    *_strong("credentials-refused", reaching.credentials_refused),
    *_strong("repository-missing", reaching.repository_missing),
    *_strong("unknown-revision", reaching.unknown_revision),
    *_strong("source-refused", reaching.source_refused),
    *_strong("fetch-failed", reaching.fetch_failed),
    *_strong("render-failed", reaching.render_failed),
    *_strong("bad-manifest", reaching.bad_manifest),
    *_strong("foreign-owner", syncing.foreign_owner),
    *_strong("precondition-moved", syncing.moved),
    *_strong("quota", syncing.quota),
    *_strong("admission", syncing.admission),
    *_strong("refused", syncing.refused, syncing.unplannable),
    *_strong("hook-failed", syncing.hook_failed),
    *_strong("image-pull", running.image_pull),
    *_strong("bad-container", running.bad_container),
    *_strong("cannot-start", running.cannot_start),
    *_strong("crash-loop", running.crash_loop),
    *_strong("unschedulable", running.unschedulable),
    *_strong("not-ready", running.not_ready),
    *_strong("finalizer-stuck", running.finalizer_stuck),
    *_strong("being-deleted", syncing.being_deleted),
    *_strong("held", syncing.held),
    *_strong("prune-held", syncing.prune_held),
    *_strong("interrupted", syncing.interrupted),
    *_strong("field-owner", syncing.field_owner),
    *_weak("pod-failed", running.pod_failed),
    *_weak("wave-waits", syncing.wave_waits),
    *_strong("auto-sync", syncing.auto_sync_waits),
    *_weak("not-synced", syncing.not_synced),
    *_strong("not-pruned", syncing.not_pruned),
    *_weak("unwell", running.unwell),
    *_weak("sync-failed", syncing.sync_failed),
    *_weak("odd-words", reaching.odd_words),
    *_strong("unseen", reaching.unseen),
    *_weak("unexplained", syncing.unexplained),
)
