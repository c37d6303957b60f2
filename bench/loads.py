"""What is measured of the embedded cluster, how much of it, and what is aimed at. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from bench.measures import Aim, Quantity
from bench.scenarios import Scenario

EQUAL = {Quantity.RATE: Aim(at_least=1.0)}
TOLD = {Quantity.RATE: None}
START_AIM = Aim(at_most=0.5, itself=True)  # seconds
IDLE_AIM = Aim(at_most=80.0, itself=True)  # MiB


class Size(Struct, frozen=True, kw_only=True):
    """How much there is of everything; aims are judged where there is enough of it to mean something."""

    objects: int
    gets: int
    events: int
    watchers: int
    applies: Mapping[int, int]  # how many, by how many are under way at once
    many: int
    rounds: int
    judged: bool


SIZES = {
    "full": Size(
        objects=10_000,
        gets=20_000,
        events=1_000,
        watchers=50,
        applies={1: 1_000, 8: 3_000},
        many=100_000,
        rounds=5,
        judged=True,
    ),
    "small": Size(
        objects=100, gets=50, events=20, watchers=5, applies={1: 10, 8: 20}, many=200, rounds=2, judged=False
    ),
}


def reads(size: Size) -> tuple[Scenario, ...]:
    """Reading one by one, and all of a collection."""
    one = Scenario(
        name=f"Get {size.gets:,} ConfigMaps, 8 at once",
        item="object",
        items=size.gets,
        arguments=("get", "-count", str(size.gets), "-objects", str(size.objects), "-workers", "8"),
        aims=EQUAL,
        profiled=True,
    )
    return one, listing(size.objects, profiled=True)


def listing(count: int, *, profiled: bool = False) -> Scenario:
    """Reading a collection page by page."""
    return Scenario(
        name=f"List {count:,} ConfigMaps",
        item="object",
        items=count,
        arguments=("list",),
        aims=EQUAL,
        profiled=profiled,
    )


def fan_outs(size: Size, *, among: int) -> tuple[Scenario, ...]:
    """The same changes for many watchers: told while they are made, and told to those who come afterwards."""
    heard = ("fan", "-watchers", str(size.watchers), "-count", str(size.events))
    live = Scenario(
        name=f"{size.watchers} watchers hear {size.events:,} changes being made among {among:,} objects",
        item="event",
        items=size.events * size.watchers,
        arguments=(*heard, "-workers", "8"),
        aims=EQUAL,
        profiled=True,
    )
    late = f"{size.watchers} watchers hear {size.events:,} earlier changes among {among:,} objects"
    return live, replace(live, name=late, arguments=heard)


def applies(counts: Mapping[int, int]) -> tuple[Scenario, ...]:
    """Server-side applies of ConfigMaps that differ in one key from what is there."""
    return tuple(
        Scenario(
            name=f"Apply {count:,} ConfigMaps over HTTP, {workers} at once",
            item="apply",
            items=count,
            arguments=("apply", "-workers", str(workers)),
            aims=TOLD,
            profiled=workers == max(counts),
        )
        for workers, count in counts.items()
    )
