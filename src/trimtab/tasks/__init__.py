"""The shapes concurrency may take; the only room that may start bare tasks."""

from typing import TYPE_CHECKING

from trimtab.doors import opened_when_asked

if TYPE_CHECKING:
    from trimtab.tasks.backoff import Backoff, Decision, GiveUp, RetryPolicy, Wait, next_move
    from trimtab.tasks.chance import Chance
    from trimtab.tasks.clock import Clock, ManualClock, SystemClock
    from trimtab.tasks.deadlines import DeadlinePassed, time_limit
    from trimtab.tasks.finishing import see_through
    from trimtab.tasks.intervals import every
    from trimtab.tasks.keyed import KeyedWork, KeyedWorkers, WorkSnapshot
    from trimtab.tasks.outcomes import Rate, WorkPolicy
    from trimtab.tasks.processes import (
        Hint,
        PoolPolicy,
        PoolSnapshot,
        ResultTooLarge,
        WorkerCrashed,
        WorkerProcesses,
        WorkerReport,
        WorkersBusy,
    )
    from trimtab.tasks.retry import retrying
    from trimtab.tasks.schedule import WorkState
    from trimtab.tasks.together import plain_group, run_together
    from trimtab.tasks.turns import in_turns
    from trimtab.tasks.wire import JobRaised
else:
    __getattr__ = opened_when_asked(
        __name__,
        {
            "backoff": ("Backoff", "Decision", "GiveUp", "RetryPolicy", "Wait", "next_move"),
            "chance": ("Chance",),
            "clock": ("Clock", "ManualClock", "SystemClock"),
            "deadlines": ("DeadlinePassed", "time_limit"),
            "finishing": ("see_through",),
            "intervals": ("every",),
            "keyed": ("KeyedWork", "KeyedWorkers", "WorkSnapshot"),
            "outcomes": ("Rate", "WorkPolicy"),
            "processes": (
                "Hint",
                "PoolPolicy",
                "PoolSnapshot",
                "ResultTooLarge",
                "WorkerCrashed",
                "WorkerProcesses",
                "WorkerReport",
                "WorkersBusy",
            ),
            "retry": ("retrying",),
            "schedule": ("WorkState",),
            "together": ("plain_group", "run_together"),
            "turns": ("in_turns",),
            "wire": ("JobRaised",),
        },
    )

__all__ = [
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
