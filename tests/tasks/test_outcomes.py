"""What a run of keyed work leads to."""

from __future__ import annotations

from datetime import timedelta

import pytest

from trimtab.errors import ClusterUnreachable, InvalidSpec, Missing, Throttled
from trimtab.tasks.backoff import Backoff
from trimtab.tasks.outcomes import Held, Hold, LookAgain, Outcome, Rate, Settled, WorkPolicy, outcome_of

POLICY = WorkPolicy(
    backoff=Backoff(first=timedelta(seconds=4)),
    quarantine=Backoff(first=timedelta(seconds=30), cap=timedelta(seconds=100)),
    rhythm=timedelta(seconds=180),
)


@pytest.mark.parametrize(
    ("error", "failures", "outcome"),
    [
        (None, 5, Settled()),
        (InvalidSpec("app a", "no source"), 0, Settled()),
        (Missing("branch b", "absent"), 3, LookAgain(seconds=180, error="branch b: absent.")),
        (
            ClusterUnreachable("cluster c", "no answer"),
            0,
            Held(why=Hold.BACKING_OFF, seconds=2, error="cluster c: no answer."),
        ),
        (
            ClusterUnreachable("cluster c", "no answer"),
            2,
            Held(why=Hold.BACKING_OFF, seconds=8, error="cluster c: no answer."),
        ),
        (
            Throttled("cluster c", "slow down", after=60),
            0,
            Held(why=Hold.BACKING_OFF, seconds=62, error="cluster c: slow down."),
        ),
        (KeyError("token=hunter2"), 0, Held(why=Hold.QUARANTINED, seconds=30, error="a bug: KeyError")),
        (KeyError("token=hunter2"), 1, Held(why=Hold.QUARANTINED, seconds=60, error="a bug: KeyError")),
        (KeyError("token=hunter2"), 9, Held(why=Hold.QUARANTINED, seconds=100, error="a bug: KeyError")),
    ],
)
def test_the_class_of_the_error_decides(error: Exception | None, failures: int, outcome: Outcome) -> None:
    assert outcome_of(error, failures=failures, policy=POLICY, chance=0.5) == outcome


@pytest.mark.parametrize(("per_second", "burst"), [(0, 1), (-1, 1), (1, 0)])
def test_a_rate_that_lets_nothing_through_is_refused(per_second: float, burst: int) -> None:
    with pytest.raises(ValueError, match="let something through"):
        Rate(per_second=per_second, burst=burst)


@pytest.mark.parametrize(("concurrency", "per_tenant"), [(0, 1), (1, 0)])
def test_workers_without_a_place_to_run_are_refused(concurrency: int, per_tenant: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        WorkPolicy(concurrency=concurrency, per_tenant=per_tenant)
