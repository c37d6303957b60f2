"""Medians, ratios and aims are what they say."""

from __future__ import annotations

import pytest

from bench.measures import Aim, Quantity, Round, Sample, row_of


def sample(*, items: int = 100, seconds: float = 1.0, cpu: float = 1.0, mebibytes: int = 100) -> Sample:
    return Sample(items=items, seconds=seconds, cpu_seconds=cpu, peak_bytes=mebibytes << 20)


def test_a_row_holds_the_medians_of_both_sides_and_the_ratio_of_every_round() -> None:
    rounds = [
        Round(go=sample(cpu=go), ours=sample(cpu=ours)) for go, ours in ((1.0, 0.5), (2.0, 0.4), (9.0, 0.9))
    ]
    row = row_of(rounds, Quantity.CPU, scenario="List", item="object")
    assert (row.go, row.ours) == pytest.approx((20_000, 5_000))
    assert row.ratio == pytest.approx(0.25)
    assert row.ratios == pytest.approx((0.5, 0.2, 0.1))


@pytest.mark.parametrize(
    ("quantity", "figure"),
    [(Quantity.RATE, 500.0), (Quantity.CPU, 40.0), (Quantity.PEAK, 7.0)],
)
def test_figures_are_items_a_second_microseconds_an_item_and_mebibytes(
    quantity: Quantity, figure: float
) -> None:
    one = sample(items=1000, seconds=2.0, cpu=0.04, mebibytes=7)
    row = row_of([Round(go=one, ours=one)], quantity, scenario="List", item="object")
    assert (row.go, row.ours, row.ratio) == pytest.approx((figure, figure, 1.0))


@pytest.mark.parametrize(
    ("aim", "ratio", "met"),
    [
        (Aim(at_most=0.4), 0.39, True),
        (Aim(at_most=0.4), 0.4, True),
        (Aim(at_most=0.4), 0.41, False),
        (Aim(at_least=0.95), 0.94, False),
        (Aim(at_least=0.95), 0.95, True),
        (Aim(at_least=0.95), 3.0, True),
        (Aim(at_least=0.5, at_most=2.0), 0.4, False),
        (Aim(at_least=0.5, at_most=2.0), 2.1, False),
    ],
)
def test_an_aim_is_met_up_to_its_bound(aim: Aim, ratio: float, met: bool) -> None:  # noqa: FBT001 - a table
    assert aim.is_met(ratio) is met


@pytest.mark.parametrize(("ours", "met"), [(39, True), (41, False)])
def test_a_row_is_judged_by_its_medians(ours: int, met: bool) -> None:  # noqa: FBT001 - a table
    rounds = [Round(go=sample(mebibytes=100), ours=sample(mebibytes=ours))]
    assert row_of(rounds, Quantity.PEAK, scenario="", item="", aim=Aim(at_most=0.4)).met is met


@pytest.mark.parametrize(("ours", "met"), [(80, True), (81, False)])
def test_a_row_may_be_judged_by_our_figure_itself(ours: int, met: bool) -> None:  # noqa: FBT001 - a table
    rounds = [Round(go=sample(mebibytes=1), ours=sample(mebibytes=ours))]
    row = row_of(rounds, Quantity.PEAK, scenario="", item="", aim=Aim(at_most=80, itself=True))
    assert (row.judged, row.met) == (ours, met)


def test_memory_is_told_by_the_item() -> None:
    grown = Sample(items=4, seconds=1.0, cpu_seconds=0.0, peak_bytes=0, held_bytes=4096)
    row = row_of([Round(go=grown, ours=grown)], Quantity.MEMORY, scenario="", item="object")
    assert (row.ours, row.ratio) == (1.0, 1.0)


def test_a_row_without_an_aim_is_not_judged() -> None:
    rounds = [Round(go=sample(), ours=sample())]
    assert row_of(rounds, Quantity.PEAK, scenario="List", item="object").met is None


@pytest.mark.parametrize(
    ("aim", "written"),
    [(Aim(at_most=0.4), "≤ 0.4"), (Aim(at_least=0.95), "≥ 0.95"), (Aim(at_least=1, at_most=2), "≤ 2 ≥ 1")],
)
def test_an_aim_is_written_with_its_bounds(aim: Aim, written: str) -> None:
    assert str(aim) == written
