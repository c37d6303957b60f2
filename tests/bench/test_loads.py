"""What is measured of the embedded cluster, and what is aimed at."""

from __future__ import annotations

from bench.loads import IDLE_AIM, SIZES, START_AIM, applies, fan_outs, listing, reads
from bench.measures import Aim, Quantity

SMALL = SIZES["small"]


def test_reading_and_telling_shall_be_at_least_as_quick_as_the_real_one() -> None:
    scenarios = (*reads(SMALL), listing(7), *fan_outs(SMALL, among=7))
    assert [scenario.aims for scenario in scenarios] == [{Quantity.RATE: Aim(at_least=1.0)}] * 5


def test_applies_are_told_and_not_judged() -> None:
    assert [scenario.aims for scenario in applies({1: 5, 8: 9})] == [{Quantity.RATE: None}] * 2


def test_every_watcher_hears_every_change() -> None:
    live, late = fan_outs(SMALL, among=7)
    assert (live.items, late.items) == (SMALL.events * SMALL.watchers,) * 2
    assert "-workers" in live.arguments
    assert "-workers" not in late.arguments


def test_starting_and_idling_are_judged_by_themselves() -> None:
    assert (str(START_AIM), str(IDLE_AIM)) == ("≤ 0.5 itself", "≤ 80 itself")


def test_every_kind_of_work_is_profiled_once() -> None:
    everything = (*reads(SMALL), *applies({1: 5, 8: 9}))
    assert [each.arguments[0] for each in everything if each.profiled] == ["get", "list", "apply"]


def test_the_full_size_is_what_people_ask_about() -> None:
    full = SIZES["full"]
    assert (full.many, full.watchers, full.judged, SMALL.judged) == (100_000, 50, True, False)
