"""The results as people read them: ratios and aims in a table, the costs, the page they stand on. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from bench.measures import Figure, Quantity, Row
from bench.sampling import Cost

BEGIN = "<!-- {name}: written by `{command}`, do not edit -->"
END = "<!-- end of {name} -->"
SIDES = ("Go", "Trimtab")
NEW_PAGE = """# Results of the benchmarks

Ratios are Trimtab's median by Go's median of one run on one machine; in brackets the lowest and the highest
ratio of its rounds. What is measured, and how to measure again: [docs/bench.md](../docs/bench.md).
"""


class Setting(Struct, frozen=True, kw_only=True):
    """On what, with what and by which command the figures came about."""

    command: str
    how: str
    machine: str
    load: float  # processes that wanted to run in the minute before: ours alone should
    versions: Mapping[str, str]
    shared_by: str = ""  # who runs on the machine beside each other, if that matters

    def __str__(self) -> str:
        """The lines above the figures."""
        versions = ", ".join(f"{name} {version}" for name, version in self.versions.items())
        lines = [
            f"- Command: `{self.command}`; {self.how}.",
            f"- Machine: {self.machine}; load average at the start {self.load:.1f}.",
            f"  {self.shared_by} share it." if self.shared_by else "",
            f"- Versions: {versions}.",
        ]
        return "\n".join(filter(None, lines))


def table(rows: Sequence[Row], names: tuple[str, str] = SIDES) -> str:
    """One line per quantity, both sides beside each other."""
    return grid(["what", *names, "ratio", "aim", "met"], map(_line, rows))


def _line(row: Row) -> list[str]:
    spread = f"{row.ratio:.2f} ({min(row.ratios):.2f} to {max(row.ratios):.2f})"
    what = f"{row.scenario}: {_unit(row)}"
    return [what, _figure(row.go), _figure(row.ours), spread, str(row.aim or ""), answered(row.met)]


def figures_table(figures: Iterable[Figure], *, what: str = "what", ours: str = "Trimtab") -> str:
    """One line per figure of ours alone."""
    lines = ([each.what, each.shown, str(each.aim or ""), answered(each.met)] for each in figures)
    return grid([what, ours, "aim", "met"], lines)


def grid(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table of figures between what they are of and whether they are as they should be."""
    rule = f"|---|{'--:|' * (len(head) - 2)}---|"
    return "\n".join([_cells(head), rule, *map(_cells, lines)])


def answered(met: bool | None) -> str:  # noqa: FBT001 - one answer, shown
    """Whether an aim was met, as people read it; nothing where there is none."""
    return {True: "yes", False: "**no**", None: ""}[met]


def _unit(row: Row) -> str:
    return {
        Quantity.RATE: f"{_plural(row.item)}/s",
        Quantity.CPU: f"CPU µs per {row.item}",
        Quantity.PEAK: "peak MiB",
        Quantity.SECONDS: "seconds",
        Quantity.MEMORY: f"KiB per {row.item}",
        Quantity.HELD: "MiB held",
    }[row.quantity]


def _plural(item: str) -> str:
    return "applies" if item == "apply" else f"{item}s"


def _figure(value: float) -> str:
    """Three digits that mean something, thousands apart."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def verdict(rows: Sequence[Row]) -> str:
    """How many aims were met, in one sentence, with those that were not."""
    missed = [row for row in rows if row.met is False]
    aims = sum(row.aim is not None for row in rows)
    if not aims:
        return "No aims are judged at this size."
    if not missed:
        return f"All {aims} aims met."
    named = "; ".join(
        f"{row.scenario}, {_unit(row)}: {row.judged:.2f} instead of {row.aim}" for row in missed
    )
    return f"{aims - len(missed)} of {aims} aims met. Missed: {named}."


def costs_table(costs: Mapping[str, Sequence[Cost]]) -> str:
    """The biggest costs of each profiled scenario: the module, its share, and where in it most was spent."""
    width = max((len(each) for each in costs.values()), default=0)
    head = ["what", *(f"cost {number}" for number in range(1, width + 1))]
    lines = [_cells([name, *_padded([_cost(each) for each in most], width)]) for name, most in costs.items()]
    return "\n".join([_cells(head), _cells(["---"] * len(head)), *lines])


def _padded(cells: list[str], width: int) -> list[str]:
    return [*cells, *[""] * (width - len(cells))]


def _cost(cost: Cost) -> str:
    return f"{cost.share:.0%} `{cost.module}`, most in `{cost.function}`"


def _cells(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def part(
    setting: Setting,
    rows: Sequence[Row],
    costs: Mapping[str, Sequence[Cost]],
    names: tuple[str, str] = SIDES,
) -> str:
    """Everything about one benchmark: where it ran, the table, the verdict, the costs."""
    return "\n".join(
        [
            str(setting),
            "",
            table(rows, names),
            "",
            verdict(rows),
            "",
            "Where Trimtab's own processor time goes: the modules that take most of it, with the C code that",
            "they call.",
            "",
            costs_table(costs),
        ]
    )


def renewed(page: str, *, name: str, heading: str, command: str, text: str) -> str:
    """The page with the part of this name replaced, or added at the end."""
    begin, end = BEGIN.format(name=name, command=command), END.format(name=name)
    before, found, rest = page.partition(begin)
    if not found:
        return f"{page.rstrip()}\n\n## {heading}\n\n{begin}\n\n{text}\n\n{end}\n"
    _, closed, after = rest.partition(end)
    if not closed:
        raise ValueError(f"the page has {begin} but no {end}")
    return f"{before}{begin}\n\n{text}\n\n{end}{after}"
