"""What is measured, and what the figures mean: samples, medians, ratios, aims. Pure."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from statistics import median
from typing import Generic, TypeVar

from msgspec import Struct

_T = TypeVar("_T")


class Sample(Struct, frozen=True, kw_only=True):
    """What one run of one side printed: the work done, what it took, how large the process was."""

    items: int
    seconds: float
    cpu_seconds: float
    peak_bytes: int
    held_bytes: int = 0


class Round(Struct, frozen=True, kw_only=True):
    """One run of each side, one after the other, so that both met the same machine."""

    go: Sample
    ours: Sample


class Quantity(enum.Enum):
    """What is read off a sample."""

    RATE = "rate"
    CPU = "cpu"
    PEAK = "peak"
    SECONDS = "seconds"
    MEMORY = "memory"
    HELD = "held"


_READ: dict[Quantity, Callable[[Sample], float]] = {
    Quantity.RATE: lambda sample: sample.items / sample.seconds,
    Quantity.CPU: lambda sample: sample.cpu_seconds / sample.items * 1e6,
    Quantity.PEAK: lambda sample: sample.peak_bytes / (1 << 20),
    Quantity.SECONDS: lambda sample: sample.seconds,
    Quantity.MEMORY: lambda sample: sample.held_bytes / sample.items / (1 << 10),
    Quantity.HELD: lambda sample: sample.held_bytes / (1 << 20),
}


class Aim(Struct, frozen=True, kw_only=True):
    """How our figure shall stand to Go's: at most, or at least, so many times it; or what it shall be."""

    at_most: float | None = None
    at_least: float | None = None
    itself: bool = False

    def is_met(self, found: float) -> bool:
        """Does this ratio, or this figure, keep to the aim?"""
        return (self.at_most is None or found <= self.at_most) and (
            self.at_least is None or found >= self.at_least
        )

    def __str__(self) -> str:
        bounds = ((" ≤", self.at_most), (" ≥", self.at_least))
        told = "".join(f"{sign} {bound:g}" for sign, bound in bounds if bound is not None).strip()
        return f"{told} itself" if self.itself else told


class Row(Struct, frozen=True, kw_only=True):
    """One quantity of one scenario: the medians of both sides, their ratio, and the ratio of each round."""

    scenario: str
    item: str  # what is counted: object, event, apply
    quantity: Quantity
    go: float
    ours: float
    ratios: tuple[float, ...]
    aim: Aim | None = None

    @property
    def ratio(self) -> float:
        """Our median by Go's."""
        return self.ours / self.go

    @property
    def judged(self) -> float:
        """What the aim speaks of: the ratio, or our figure itself."""
        return self.ours if self.aim and self.aim.itself else self.ratio

    @property
    def met(self) -> bool | None:
        """Whether the aim was met; None where there is none."""
        return self.aim.is_met(self.judged) if self.aim else None


def row_of(
    rounds: Sequence[Round], quantity: Quantity, *, scenario: str, item: str, aim: Aim | None = None
) -> Row:
    """The row for one quantity of what these rounds measured."""
    read = _READ[quantity]
    pairs = [(read(each.go), read(each.ours)) for each in rounds]
    return Row(
        scenario=scenario,
        item=item,
        quantity=quantity,
        go=median(go for go, _ in pairs),
        ours=median(ours for _, ours in pairs),
        ratios=tuple(ours / go for go, ours in pairs),
        aim=aim,
    )


class Figure(Struct, frozen=True, kw_only=True):
    """What was found on our side alone: as people read it, as it is judged, and what it shall be."""

    what: str
    shown: str
    found: float
    aim: Aim | None = None

    @property
    def met(self) -> bool | None:
        """Whether the aim was met; None where there is none."""
        return self.aim.is_met(self.found) if self.aim else None


class Measure(Struct, Generic[_T], frozen=True):
    """One figure: what it is, how it is read off a round, what it shall be, and how exactly it is shown."""

    what: str
    read: Callable[[_T], float]
    aim: Aim | None = None
    digits: int = 3

    def figure(self, rounds: Sequence[_T], *, judged: bool) -> Figure:
        """The median of all rounds."""
        found = median(map(self.read, rounds))
        aim = self.aim if judged else None
        return Figure(what=self.what, shown=f"{found:,.{self.digits}f}", found=found, aim=aim)
