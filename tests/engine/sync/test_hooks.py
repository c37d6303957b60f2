"""Hooks as they are written: types, policies, names, and what their health means."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from trimtab.engine.health import Health, HealthStatus
from trimtab.engine.operations import StepPhase, SyncPhase
from trimtab.engine.sync.hooks import (
    DeletePolicy,
    HookType,
    Role,
    delete_policies,
    hook_name,
    hook_phases,
    hook_types,
    phase_from,
    role_of,
    unknown_hook_words,
)

NATIVE, HELM, OURS = "argocd.argoproj.io/hook", "helm.sh/hook", "trimtab.dev/hook"


@pytest.mark.fact("S51", "S52", "S53")
@pytest.mark.parametrize(
    ("annotations", "types", "role"),
    [
        ({}, (), Role.RESOURCE),
        ({NATIVE: "PreSync"}, (HookType.PRE_SYNC,), Role.HOOK),
        ({NATIVE: "PreSync,PostSync"}, (HookType.PRE_SYNC, HookType.POST_SYNC), Role.HOOK),
        ({NATIVE: "PreSync, PreSync"}, (HookType.PRE_SYNC,), Role.HOOK),
        ({NATIVE: "PreSync,Nonsense"}, (HookType.PRE_SYNC,), Role.HOOK),
        ({NATIVE: "Nonsense"}, (), Role.IGNORED),
        ({NATIVE: ""}, (), Role.IGNORED),
        ({NATIVE: "presync"}, (), Role.IGNORED),
        ({NATIVE: "Skip"}, (HookType.SKIP,), Role.IGNORED),
        ({NATIVE: "Skip,Sync"}, (HookType.SKIP, HookType.SYNC), Role.HOOK),
        ({NATIVE: "PreDelete"}, (HookType.PRE_DELETE,), Role.HOOK),
        ({HELM: "pre-install"}, (HookType.PRE_SYNC,), Role.HOOK),
        ({HELM: "pre-install,pre-upgrade"}, (HookType.PRE_SYNC,), Role.HOOK),
        ({HELM: "post-upgrade"}, (HookType.POST_SYNC,), Role.HOOK),
        ({HELM: "post-delete"}, (HookType.POST_DELETE,), Role.HOOK),
        ({HELM: "crd-install"}, (), Role.RESOURCE),
        ({HELM: "test"}, (), Role.IGNORED),
        ({HELM: "pre-rollback"}, (), Role.IGNORED),
        ({NATIVE: "Sync", HELM: "pre-install"}, (HookType.SYNC,), Role.HOOK),
        ({NATIVE: "Nonsense", HELM: "pre-install"}, (HookType.PRE_SYNC,), Role.HOOK),
        ({OURS: "SyncFail", NATIVE: "Sync"}, (HookType.SYNC_FAIL,), Role.HOOK),
    ],
)
def test_hook_annotations_are_read_in_all_their_spellings(
    annotations: dict[str, str], types: tuple[HookType, ...], role: Role
) -> None:
    assert (hook_types(annotations), role_of(annotations)) == (types, role)


@pytest.mark.parametrize(
    ("annotations", "odd"),
    [
        ({}, ()),
        ({OURS: "PreSync,PostSync", "trimtab.dev/hook-delete-policy": "HookFailed"}, ()),
        ({OURS: "PreSink, Sync"}, ("trimtab.dev/hook: PreSink",)),
        ({NATIVE: ""}, ("argocd.argoproj.io/hook: ",)),
        ({HELM: "pre-install,test,crd-install"}, ()),
        ({HELM: "pre-instal"}, ("helm.sh/hook: pre-instal",)),
        (
            {HELM: "pre-install", "helm.sh/hook-delete-policy": "never"},
            ("helm.sh/hook-delete-policy: never",),
        ),
    ],
)
def test_words_about_hooks_that_mean_nothing_are_told(
    annotations: dict[str, str], odd: tuple[str, ...]
) -> None:
    assert unknown_hook_words(annotations) == odd


def test_only_types_of_a_sync_are_phases_of_it() -> None:
    assert hook_phases({NATIVE: "Skip,PreDelete,SyncFail,PreSync"}) == (
        SyncPhase.SYNC_FAIL,
        SyncPhase.PRE_SYNC,
    )


def test_a_deletion_has_phases_of_its_own_by_helms_words_too() -> None:
    both = (SyncPhase.PRE_DELETE, SyncPhase.POST_DELETE)
    assert hook_phases({NATIVE: "PreDelete,PostSync,PostDelete"}, deletes=True) == both
    assert hook_phases({"helm.sh/hook": "pre-delete,post-delete,pre-install"}, deletes=True) == both


@pytest.mark.fact("S52")
@pytest.mark.parametrize(
    ("annotations", "policies"),
    [
        ({}, {DeletePolicy.BEFORE_HOOK_CREATION}),
        ({"argocd.argoproj.io/hook-delete-policy": "nonsense"}, {DeletePolicy.BEFORE_HOOK_CREATION}),
        ({"argocd.argoproj.io/hook-delete-policy": "HookSucceeded"}, {DeletePolicy.HOOK_SUCCEEDED}),
        (
            {
                "argocd.argoproj.io/hook-delete-policy": "HookSucceeded",
                "helm.sh/hook-delete-policy": "hook-failed, before-hook-creation",
            },
            set(DeletePolicy),
        ),
    ],
)
def test_delete_policies_of_all_spellings_add_up(
    annotations: dict[str, str], policies: set[DeletePolicy]
) -> None:
    assert delete_policies(annotations) == policies


@pytest.mark.fact("S26")
@pytest.mark.parametrize(
    ("revision", "name"),
    [
        ("4f2c9e1a7b3d", "pre-4f2c9e1-presync-1767225600"),
        ("4f2c9e1a", "pre-4f2c9e1-presync-1767225600"),
        ("4f2c9e1", "pre-4f2c9e1-presync-1767225600"),
        ("V1", "pre-v1-presync-1767225600"),
        ("files:7c5a1f0e", "pre-files-7-presync-1767225600"),
        ("1.2.0,4f2c9e1", "pre-1-2-0-4-presync-1767225600"),
    ],
)
def test_a_hook_without_a_name_is_named_by_revision_phase_and_start(revision: str, name: str) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    assert hook_name("pre-", revision, SyncPhase.PRE_SYNC, start) == name


@pytest.mark.parametrize(
    ("status", "phase"),
    [
        (HealthStatus.HEALTHY, StepPhase.SUCCEEDED),
        (HealthStatus.MISSING, StepPhase.SUCCEEDED),
        (None, StepPhase.SUCCEEDED),
        (HealthStatus.PROGRESSING, StepPhase.RUNNING),
        (HealthStatus.SUSPENDED, StepPhase.RUNNING),
        (HealthStatus.DEGRADED, StepPhase.FAILED),
        (HealthStatus.UNKNOWN, StepPhase.FAILED),
    ],
)
def test_a_hook_has_ended_when_its_health_says_so(status: HealthStatus | None, phase: StepPhase) -> None:
    assert phase_from(Health(status) if status else None) is phase
