"""How the reading of a kind goes on, stops and is told."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.engine.cache.objects import CONFIG_MAPS
from trimtab.engine.cache.index import Scope
from trimtab.engine.cache.states import KindStatus, Memory, Reading, begun, facts_of, heard, stopped
from trimtab.errors import ClusterUnreachable, NotAllowed, Throttled, TrimtabError, Unavailable
from trimtab.kube.failures import Status, failure
from trimtab.kube.picture import Complete, FellBack, Interrupted, News, Resumed
from trimtab.tasks.backoff import Backoff, pause

START = datetime(2026, 1, 1, tzinfo=UTC)
LATER = START + timedelta(minutes=1)
BEGUN = begun(Scope("", "ConfigMap"), CONFIG_MAPS, START)
COMPLETE = heard(BEGUN, Complete("7"), START)
CUT = ClusterUnreachable("watch ConfigMap", "cut")
NO_MEMORY = Memory(records=0, bodies=0, limit=None, given_up=0)


@pytest.mark.parametrize(
    ("news", "reading", "current"),
    [
        (Complete("8"), Reading.FOLLOWING, True),
        (Resumed("8"), Reading.FOLLOWING, True),
        (Interrupted(CUT, 2.0), Reading.INTERRUPTED, False),
        (FellBack(CUT), Reading.LISTING, False),
    ],
)
def test_only_while_every_change_is_heard_is_a_kind_current(
    news: News, reading: Reading, *, current: bool
) -> None:
    after = heard(COMPLETE, news, LATER)
    assert (after.reading, after.is_current) == (reading, current)


def test_a_kind_is_settled_when_it_is_complete_or_has_said_why_not() -> None:
    assert not BEGUN.is_settled
    assert COMPLETE.is_settled
    assert heard(BEGUN, Interrupted(CUT, 2.0), LATER).is_settled
    assert heard(BEGUN, FellBack(CUT), LATER).is_settled


def test_an_interruption_says_why_since_when_and_when_it_is_tried_again() -> None:
    first = heard(COMPLETE, Interrupted(CUT, 2.0), LATER)
    assert (first.error, first.since) == ("watch ConfigMap: cut.", LATER)
    assert first.next_try == LATER + timedelta(seconds=2)
    again = heard(first, Interrupted(CUT, 4.0), LATER + timedelta(seconds=2))
    assert again.since == LATER
    back = heard(again, Resumed("8"), LATER + timedelta(seconds=6))
    assert (back.error, back.next_try, back.complete_at) == ("", None, START)


def refused(code: int) -> TrimtabError:
    return failure("list ConfigMap", Status(code=code, message="no"))


@pytest.mark.parametrize(
    ("error", "reading"),
    [
        (refused(401), Reading.REFUSED),
        (refused(403), Reading.REFUSED),
        (NotAllowed("list", "no"), Reading.REFUSED),
        (refused(404), Reading.UNSERVED),
        (refused(400), Reading.FAILED),
        (refused(500), Reading.FAILED),
        (ZeroDivisionError("with a secret in it"), Reading.FAILED),
    ],
)
def test_what_stopped_a_reading_says_how_it_stands(error: Exception, reading: Reading) -> None:
    after = stopped(COMPLETE, error, LATER, 60)
    assert (after.reading, after.is_current, after.next_try) == (reading, False, LATER + timedelta(minutes=1))
    assert after.error
    assert "secret" not in after.error


@pytest.mark.fact("C49")
@pytest.mark.parametrize(
    ("error", "passes_by_itself"),
    [
        *((refused(code), True) for code in (429, 500, 502, 503, 504)),
        (ClusterUnreachable("list", "connection reset"), True),
        (Throttled("list", "slow down", after=2), True),
        *((refused(code), False) for code in (400, 401, 403, 404, 405, 422)),
    ],
)
def test_which_failures_of_a_list_pass_by_themselves_is_decided_by_what_failed(
    error: TrimtabError, *, passes_by_itself: bool
) -> None:
    assert isinstance(error, Unavailable) is passes_by_itself
    assert pause(error, failures=1, backoff=Backoff(), chance=0.5) > 0


def status(**fields: object) -> KindStatus:
    return KindStatus(
        **{"scope": Scope("", "ConfigMap"), "resource": CONFIG_MAPS, "reading": Reading.FOLLOWING,
           "since": START, "complete_at": START, **fields}  # type: ignore[arg-type] # made of loose parts
    )  # fmt: skip


def test_a_cache_is_as_old_as_the_kind_that_was_read_longest_ago() -> None:
    kinds = (status(objects=2), status(scope=Scope("", "Pod"), objects=3, complete_at=LATER))
    facts = facts_of(kinds, "v1.36.3", 2, "", NO_MEMORY, LATER)
    assert (facts.kinds, facts.objects, facts.age) == (2, 5, timedelta(minutes=1))
    assert facts.errors == ()


def test_a_cache_with_a_kind_that_was_never_read_has_no_age() -> None:
    kinds = (status(), status(scope=Scope("", "Pod"), complete_at=None, error="forbidden"))
    facts = facts_of(kinds, "", 0, "discovery failed", NO_MEMORY, LATER)
    assert (facts.complete_at, facts.age) == (None, None)
    assert facts.errors == ("discovery failed", "ConfigMap: forbidden")
