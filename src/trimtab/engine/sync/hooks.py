"""Hooks: objects that run at a phase of a sync or a deletion instead of being kept. Pure.

Read from our annotations, from Argo CD's or from Helm's, the first that names a known type; any kind of
object can be a hook. When hooks run and when they are cleared away is decided in `progress`.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from typing import TypeVar

from trimtab.engine.health import Health, HealthStatus
from trimtab.engine.operations import StepPhase, SyncPhase

_T = TypeVar("_T", bound=enum.Enum)
_NATIVE = ("trimtab.dev/hook", "argocd.argoproj.io/hook")
_HELM = "helm.sh/hook"
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9]")
_MARKS = frozenset({*_NATIVE, _HELM})
_POLICIES = (
    "trimtab.dev/hook-delete-policy",
    "argocd.argoproj.io/hook-delete-policy",
    "helm.sh/hook-delete-policy",
)


class HookType(enum.Enum):
    """When a hook runs; `Skip` alone means that the object is not written at all."""

    PRE_SYNC = "PreSync"
    SYNC = "Sync"
    POST_SYNC = "PostSync"
    SYNC_FAIL = "SyncFail"
    SKIP = "Skip"
    PRE_DELETE = "PreDelete"
    POST_DELETE = "PostDelete"


class DeletePolicy(enum.Enum):
    """When a hook's object is deleted."""

    BEFORE_HOOK_CREATION = "BeforeHookCreation"
    HOOK_SUCCEEDED = "HookSucceeded"
    HOOK_FAILED = "HookFailed"


class Role(enum.Enum):
    """What an object is to a sync."""

    RESOURCE = "resource"
    HOOK = "hook"
    #: neither written nor pruned: it asks to be skipped, or for hooks that do not exist here
    IGNORED = "ignored"


_HELM_TYPES = {
    "pre-install": HookType.PRE_SYNC,
    "pre-upgrade": HookType.PRE_SYNC,
    "post-install": HookType.POST_SYNC,
    "post-upgrade": HookType.POST_SYNC,
    "pre-delete": HookType.PRE_DELETE,
    "post-delete": HookType.POST_DELETE,
}
_HELM_POLICIES = {
    "before-hook-creation": DeletePolicy.BEFORE_HOOK_CREATION,
    "hook-succeeded": DeletePolicy.HOOK_SUCCEEDED,
    "hook-failed": DeletePolicy.HOOK_FAILED,
}
#: what Helm runs at moments that are none of ours, or keeps like any other object
_HELM_ONLY = frozenset(
    {"test", "test-success", "test-failure", "pre-rollback", "post-rollback", "crd-install"}
)
_TYPES = {each.value: each for each in HookType}
_NATIVE_POLICIES = {each.value: each for each in DeletePolicy}
_DELETION = frozenset({SyncPhase.PRE_DELETE, SyncPhase.POST_DELETE})
_PHASES = {phase.value: phase for phase in SyncPhase}
_DEFAULT_POLICIES = frozenset({DeletePolicy.BEFORE_HOOK_CREATION})


def hook_types(annotations: Mapping[str, str]) -> tuple[HookType, ...]:
    """The types an object names, each once and in its order; unknown names are dropped."""
    for name in _NATIVE:
        if types := _known(annotations.get(name, ""), _TYPES):
            return types
    return _known(annotations.get(_HELM, ""), _HELM_TYPES)


def role_of(annotations: Mapping[str, str]) -> Role:
    """What an object with these annotations is to a sync."""
    if _MARKS.isdisjoint(annotations):
        return Role.RESOURCE
    types = hook_types(annotations)
    if types:
        return Role.IGNORED if types == (HookType.SKIP,) else Role.HOOK
    if any(name in annotations for name in _NATIVE):
        return Role.IGNORED
    # Helm marks its CRDs with the same annotation, though they are kept like any other object.
    return Role.RESOURCE if annotations.get(_HELM, "crd-install") == "crd-install" else Role.IGNORED


def hook_phases(annotations: Mapping[str, str], *, deletes: bool = False) -> tuple[SyncPhase, ...]:
    """The phases in which a hook runs: of a sync, or of a deletion."""
    phases = (_PHASES[each.value] for each in hook_types(annotations) if each.value in _PHASES)
    return tuple(phase for phase in phases if (phase in _DELETION) is deletes)


def delete_policies(annotations: Mapping[str, str]) -> frozenset[DeletePolicy]:
    """When a hook's object is deleted; before the next run unless it says otherwise."""
    found = {
        policy
        for name in _POLICIES
        for policy in _known(annotations.get(name, ""), _NATIVE_POLICIES | _HELM_POLICIES)
    }
    return frozenset(found) or _DEFAULT_POLICIES


def unknown_hook_words(annotations: Mapping[str, str]) -> tuple[str, ...]:
    """What an object's annotations about hooks say that means nothing: `trimtab.dev/hook: PreSink`."""
    if _HOOK_NAMES.isdisjoint(annotations):
        return ()
    told = [(name, word) for name in _HOOK_NAMES if name in annotations for word in _words(annotations[name])]
    return tuple(f"{name}: {word}" for name, word in sorted(told) if word not in _MEANT[name])


def hook_name(generate_name: str, revision: str, phase: SyncPhase, started_at: datetime) -> str:
    """The name of a hook that leaves it to us: it tells revision, phase and start of the operation."""
    short = revision[:7] if len(revision) >= 8 else revision
    told = _NOT_IN_NAMES.sub("-", short)  # it may be a version, the digest of a folder, or several of these
    return f"{generate_name}{told}-{phase.value}-{int(started_at.timestamp())}".lower()


def phase_from(health: Health | None) -> StepPhase:
    """Whether a hook still runs, judged by its object's health."""
    match health.status if health else None:
        case HealthStatus.UNKNOWN | HealthStatus.DEGRADED:
            return StepPhase.FAILED
        case HealthStatus.PROGRESSING | HealthStatus.SUSPENDED:
            return StepPhase.RUNNING
        case _:
            return StepPhase.SUCCEEDED


def _known(text: str, names: Mapping[str, _T]) -> tuple[_T, ...]:
    return tuple(dict.fromkeys(names[word] for word in _words(text) if word in names))


def _words(text: str) -> Iterator[str]:
    return (word.strip() for word in text.split(","))


#: every word that means something, by the annotation that may say it
_MEANT: Mapping[str, Collection[str]] = {
    **dict.fromkeys(_NATIVE, _TYPES),
    _HELM: frozenset(_HELM_TYPES) | _HELM_ONLY,
    **dict.fromkeys(_POLICIES, frozenset(_NATIVE_POLICIES) | frozenset(_HELM_POLICIES)),
}
_HOOK_NAMES = frozenset(_MEANT)
