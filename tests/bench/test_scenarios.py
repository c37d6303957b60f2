"""What is measured, and what is aimed at."""

from __future__ import annotations

import pytest

from bench.measures import Aim, Quantity
from bench.scenarios import SIZES, Scenario, applies, lists, watches


def aims(scenario: Scenario) -> dict[Quantity, Aim]:
    return {quantity: aim for quantity, aim in scenario.aims.items() if aim}


@pytest.mark.parametrize("scenario", lists("pods", "Pods", 7))
def test_lists_are_judged_by_processor_time_and_memory(scenario: Scenario) -> None:
    assert aims(scenario) == {Quantity.CPU: Aim(at_most=0.4), Quantity.PEAK: Aim(at_most=0.35)}


@pytest.mark.parametrize("scenario", watches(7, since="42"))
def test_watches_are_judged_by_processor_time(scenario: Scenario) -> None:
    assert aims(scenario) == {Quantity.CPU: Aim(at_most=0.5)}


def test_only_the_widest_applies_are_judged_by_their_rate() -> None:
    one, many = applies({1: 10, 32: 20})
    assert (aims(one), aims(many)) == ({}, {Quantity.RATE: Aim(at_least=0.95)})
    assert (one.items, many.items) == (10, 20)


def test_each_kind_of_work_is_profiled() -> None:
    everything = [*lists("pods", "Pods", 7), *watches(7, since="42"), *applies({1: 10, 32: 20})]
    assert {each.arguments[0] for each in everything if each.profiled} == {"list", "watch", "apply"}


def test_a_small_run_judges_nothing() -> None:
    assert {name: size.judged for name, size in SIZES.items()} == {"full": True, "small": False}
