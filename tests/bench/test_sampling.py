"""Processor time is charged to whoever used it."""

from __future__ import annotations

import time

from bench.sampling import Cost, biggest_costs, profiled


def test_the_biggest_costs_are_modules_with_their_heaviest_function() -> None:
    seconds = {("json", "decode"): 3.0, ("json", "scan"): 2.0, ("ssl", "read"): 4.0, ("re", "match"): 1.0}
    assert biggest_costs(seconds, 2) == (
        Cost(module="json", share=0.5, function="decode"),
        Cost(module="ssl", share=0.4, function="read"),
    )


def test_nothing_measured_costs_nothing() -> None:
    assert biggest_costs({}, 3) == ()


def busy_until(deadline: float) -> None:
    while time.process_time() < deadline:
        pass


def test_processor_time_is_charged_to_the_function_that_used_it() -> None:
    with profiled() as profile:
        busy_until(time.process_time() + 0.1)
    charged = {function: used for (_, function), used in profile.seconds.items()}
    assert charged["busy_until"] > 0.05
    assert charged["busy_until"] == max(charged.values())
