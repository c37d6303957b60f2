"""What recorded words say about a world that moved."""

from __future__ import annotations

import pytest

from trimtab.engine.live import Live
from trimtab.engine.marks import Mark
from trimtab.engine.operations import StepPhase, StepResult, StepStatus, SyncPhase
from trimtab.engine.sync.judging import AGREED_OTHERWISE, is_unheard, moved, tells_of_a_move
from trimtab.engine.sync.steps import Apply, Body, Expected, Prune, Step
from trimtab.resources.keys import ResourceKey

KEY = ResourceKey("", "ConfigMap", "shop", "settings")
KNOWN = Expected(uid="u1", digest="d1")


def live(uid: str = "u1", mark: Mark | None = None, version: str = "1") -> Live:
    return Live(key=KEY, api_version="v1", uid=uid, resource_version=version, mark=mark)


def prune(hold: str = "") -> Prune:
    return Prune(key=KEY, phase=SyncPhase.SYNC, wave=0, why="", api_version="v1", expected=KNOWN, hold=hold)


def apply(expected: Expected = KNOWN) -> Apply:
    return Apply(
        key=KEY,
        phase=SyncPhase.SYNC,
        wave=0,
        why="",
        api_version="v1",
        body=Body({}),
        content="",
        expected=expected,
    )


@pytest.mark.parametrize(
    ("step", "found", "digest"),
    [
        (prune(), live("u2"), "d1"),
        (prune(), live(mark=Mark("helm", "shop/web")), "d1"),
        (prune("it takes things along"), live(), "d2"),
        (apply(), None, ""),
        (apply(), live("u2"), "d1"),
        (apply(Expected()), live(), "d1"),
        (apply(), live(), "d2"),
    ],
)
def test_every_reason_why_a_step_is_not_done_after_a_move_is_known_again(
    step: Step, found: Live | None, digest: str
) -> None:
    why = moved(step, found, exact=True, digest=digest)
    assert why
    assert tells_of_a_move(why)


def test_what_has_not_moved_is_done_and_other_words_tell_of_no_move() -> None:
    assert moved(apply(), live(), exact=True, digest="d1") == ""
    assert tells_of_a_move(f"{AGREED_OTHERWISE}: agreed to was 1, now it is 2")
    assert not tells_of_a_move("exceeded quota: few")


@pytest.mark.parametrize(
    ("status", "version", "shown", "unheard"),
    [
        (StepStatus.SYNCED, "10", None, True),
        (StepStatus.SYNCED, "10", live(version="9"), True),
        (StepStatus.SYNCED, "10", live(version="10"), False),
        (StepStatus.SYNCED, "9", live(version="10"), False),
        (StepStatus.SYNCED, "", live(), False),
        # Servers behind an APIService may count as they like: nobody can tell which of two is the later.
        (StepStatus.SYNCED, "b2f1", live(version="a77c"), False),
        (StepStatus.SYNCED, "b2f1", live(version="12"), False),
        (StepStatus.PRUNED, "", live(), True),
        (StepStatus.PRUNED, "", live("u2"), False),
        (StepStatus.PRUNED, "", None, False),
        (StepStatus.SYNC_FAILED, "", live(), False),
    ],
)
def test_a_write_is_heard_of_when_the_cache_shows_it_or_something_later(
    status: StepStatus, version: str, shown: Live | None, *, unheard: bool
) -> None:
    result = StepResult(
        key=KEY,
        sync_phase=SyncPhase.SYNC,
        order=0,
        status=status,
        phase=StepPhase.SUCCEEDED,
        uid="u1",
        resource_version=version,
    )
    assert is_unheard(result, shown) is unheard
