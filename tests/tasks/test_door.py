"""What the tasks room offers."""

from __future__ import annotations

from trimtab import tasks


def test_the_door_offers_exactly_these_names() -> None:
    assert tasks.__all__ == [
        "Backoff",
        "Chance",
        "Clock",
        "DeadlinePassed",
        "Decision",
        "GiveUp",
        "Hint",
        "JobRaised",
        "KeyedWork",
        "KeyedWorkers",
        "ManualClock",
        "PoolPolicy",
        "PoolSnapshot",
        "Rate",
        "ResultTooLarge",
        "RetryPolicy",
        "SystemClock",
        "Wait",
        "WorkPolicy",
        "WorkSnapshot",
        "WorkState",
        "WorkerCrashed",
        "WorkerProcesses",
        "WorkerReport",
        "WorkersBusy",
        "every",
        "in_turns",
        "next_move",
        "plain_group",
        "retrying",
        "run_together",
        "see_through",
        "time_limit",
    ]
    assert all(hasattr(tasks, name) for name in tasks.__all__)
