"""The table, the verdict and the page around them."""

from __future__ import annotations

import pytest

from bench.measures import Aim, Figure, Quantity, Row
from bench.report import NEW_PAGE, Setting, costs_table, figures_table, part, renewed, table, verdict
from bench.sampling import Cost


def row(
    *,
    quantity: Quantity = Quantity.CPU,
    item: str = "object",
    go: float = 100.0,
    ours: float = 25.0,
    aim: Aim | None = None,
) -> Row:
    ratios = (0.2, ours / go, 0.3)
    return Row(scenario="List", item=item, quantity=quantity, go=go, ours=ours, ratios=ratios, aim=aim)


def lines_of(text: str) -> list[str]:
    return text.splitlines()[2:]


def test_the_table_shows_figures_ratio_spread_aim_and_whether_it_was_met() -> None:
    rows = [
        row(aim=Aim(at_most=0.4)),
        row(quantity=Quantity.PEAK, ours=50.0, aim=Aim(at_most=0.35)),
        row(quantity=Quantity.RATE, item="apply", go=12_345.6, ours=3_086.4),
    ]
    assert lines_of(table(rows)) == [
        "| List: CPU µs per object | 100 | 25.0 | 0.25 (0.20 to 0.30) | ≤ 0.4 | yes |",
        "| List: peak MiB | 100 | 50.0 | 0.50 (0.20 to 0.50) | ≤ 0.35 | **no** |",
        "| List: applies/s | 12,346 | 3,086 | 0.25 (0.20 to 0.30) |  |  |",
    ]


def test_a_figure_of_ours_alone_says_whether_it_keeps_to_its_aim() -> None:
    figures = [
        Figure(what="a", shown="20.0 µs", found=19.96, aim=Aim(at_most=20)),
        Figure(what="b", shown="21.0 µs", found=21.0, aim=Aim(at_most=20, itself=True)),
        Figure(what="c", shown="1", found=1.0),
    ]
    assert figures_table(figures, ours="CPU").splitlines() == [
        "| what | CPU | aim | met |",
        "|---|--:|--:|---|",
        "| a | 20.0 µs | ≤ 20 | yes |",
        "| b | 21.0 µs | ≤ 20 itself | **no** |",
        "| c | 1 |  |  |",
    ]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([row()], "No aims are judged at this size."),
        ([row(), row(aim=Aim(at_most=0.4))], "All 1 aims met."),
        (
            [row(aim=Aim(at_most=0.4)), row(ours=50.0, aim=Aim(at_most=0.4))],
            "1 of 2 aims met. Missed: List, CPU µs per object: 0.50 instead of ≤ 0.4.",
        ),
    ],
)
def test_the_verdict_counts_aims_and_names_those_that_were_missed(rows: list[Row], said: str) -> None:
    assert verdict(rows) == said


def test_costs_are_told_with_their_share_and_place() -> None:
    costs = {
        "List": [Cost(module="ssl", share=0.256, function="read"), Cost(module="m", share=0.1, function="f")]
    }
    assert costs_table(costs).splitlines() == [
        "| what | cost 1 | cost 2 |",
        "| --- | --- | --- |",
        "| List | 26% `ssl`, most in `read` | 10% `m`, most in `f` |",
    ]


def test_a_part_says_on_what_it_was_measured() -> None:
    setting = Setting(
        command="make bench",
        how="medians of 5 rounds",
        machine="2 cores",
        load=0.14,
        versions={"Python": "3.11", "Go": "1.26"},
        shared_by="Clients and servers",
    )
    text = part(setting, [row()], {})
    assert text.splitlines()[:5] == [
        "- Command: `make bench`; medians of 5 rounds.",
        "- Machine: 2 cores; load average at the start 0.1.",
        "  Clients and servers share it.",
        "- Versions: Python 3.11, Go 1.26.",
        "",
    ]
    assert table([row()]) in text


def test_a_new_part_is_added_and_an_old_one_replaced_while_the_rest_of_the_page_stays() -> None:
    def with_part(page: str, name: str, text: str) -> str:
        return renewed(page, name=name, heading=name.title(), command="make bench", text=text)

    first = with_part(NEW_PAGE, "kube", "old figures")
    both = with_part(first, "engine", "other figures")
    again = with_part(both, "kube", "new figures")
    assert first.startswith(NEW_PAGE)
    assert "## Kube" in first
    assert both.startswith(first.rstrip())
    assert again == both.replace("old figures", "new figures")


def test_a_page_whose_part_never_ends_is_refused_rather_than_cut() -> None:
    page = renewed("", name="kube", heading="Kube", command="make bench", text="figures")
    with pytest.raises(ValueError, match="no <!-- end of kube -->"):
        renewed(page.replace("end of", ""), name="kube", heading="Kube", command="make bench", text="new")
