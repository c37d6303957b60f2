"""What is measured of the engine's cache, how much of it, and what is aimed at. Pure."""

from __future__ import annotations

from msgspec import Struct

from bench.measures import Aim, Quantity
from bench.scenarios import Scenario

#: what Go's side reads as a mark, and what ours does
GO_MARK, OUR_MARK, INSTALLATION = "trimtab.dev/bench", "trimtab.dev/owner", "bench"
UNITS = 50
_CPU_AIM, _TIME_AIM = Aim(at_most=0.25), Aim(at_most=0.4)
MILLION_AIM = Aim(at_most=2048.0, itself=True)  # MiB
QUESTION_AIM = Aim(at_most=1.0, itself=True)  # milliseconds


class Size(Struct, frozen=True, kw_only=True):
    """How much there is of everything; aims are judged where there is enough of it to mean something."""

    config_maps: int
    rollouts: int  # a Deployment, a ReplicaSet and two Pods each
    events: int
    rate: int  # events a second
    synthetic: int
    rounds: int
    judged: bool

    @property
    def objects(self) -> int:
        """All that is created."""
        return self.config_maps + 4 * self.rollouts


SIZES = {
    "full": Size(
        config_maps=28_000,
        rollouts=5_000,
        events=10_000,
        rate=500,
        synthetic=1_000_000,
        rounds=5,
        judged=True,
    ),
    "small": Size(
        config_maps=400, rollouts=50, events=200, rate=200, synthetic=20_000, rounds=2, judged=False
    ),
}


def fills(size: Size) -> tuple[Scenario, ...]:
    """Reading a whole cluster until every change of it is heard, without and with marked manifests kept."""
    plain = Scenario(
        name=f"Fill with {size.objects:,} objects",
        item="object",
        items=size.objects,
        arguments=("cache",),
        aims={
            Quantity.SECONDS: _TIME_AIM,
            Quantity.CPU: _CPU_AIM,
            Quantity.HELD: Aim(at_most=0.6),
            Quantity.PEAK: None,
        },
    )
    kept = Scenario(
        name=f"{plain.name}, {size.config_maps + size.rollouts:,} manifests kept",
        item="object",
        items=size.objects,
        arguments=("cache", "--marked"),
        aims={
            Quantity.SECONDS: _TIME_AIM,
            Quantity.CPU: _CPU_AIM,
            Quantity.HELD: Aim(at_most=0.3),
            Quantity.PEAK: None,
        },
        profiled=True,
    )
    return plain, kept


def storm(size: Size) -> Scenario:
    """Hearing status updates of marked Deployments as they are made, so many a second."""
    return Scenario(
        name=f"Hear {size.events:,} status updates, {size.rate} a second",
        item="event",
        items=size.events,
        arguments=("storm", "--marked", "--count", str(size.events)),
        aims={Quantity.SECONDS: None, Quantity.CPU: Aim(at_most=1.0)},
        profiled=True,
    )


def marks(number: int) -> dict[str, str]:
    """The marks that put an object into one of the units, for both sides."""
    unit = f"unit-{number % UNITS:02}"
    return {GO_MARK: unit, OUR_MARK: f"{INSTALLATION}/{unit}"}
