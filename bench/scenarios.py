"""What is measured of `trimtab.kube`, how much of it, and what is aimed at. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from bench.measures import Aim, Quantity

LIST_AIMS = {Quantity.RATE: None, Quantity.CPU: Aim(at_most=0.4), Quantity.PEAK: Aim(at_most=0.35)}
WATCH_AIMS = {Quantity.RATE: None, Quantity.CPU: Aim(at_most=0.5), Quantity.PEAK: None}
APPLY_AIMS = {Quantity.RATE: None, Quantity.CPU: None}
WIDE_APPLY_AIMS = {Quantity.RATE: Aim(at_least=0.95), Quantity.CPU: None}


class Size(Struct, frozen=True, kw_only=True):
    """How much there is of everything; aims are judged where there is enough of it to mean something."""

    config_maps: int
    pods: int
    applies: Mapping[int, int]  # how many, by how many are under way at once
    rounds: int
    judged: bool


SIZES = {
    "full": Size(
        config_maps=20_000, pods=20_000, applies={1: 1_000, 8: 3_000, 32: 3_000}, rounds=5, judged=True
    ),
    "small": Size(config_maps=600, pods=200, applies={1: 50, 8: 100, 32: 100}, rounds=2, judged=False),
}


class Scenario(Struct, frozen=True, kw_only=True):
    """One piece of work for both sides: its command line, what it counts, and what is read off it."""

    name: str
    item: str
    items: int
    arguments: tuple[str, ...]
    aims: Mapping[Quantity, Aim | None]
    for_go: tuple[str, ...] = ()  # arguments for Go's side alone
    profiled: bool = False
    often: int = 1  # rounds for each one of others: what waits for a disk varies more


def lists(resource: str, plural: str, count: int) -> tuple[Scenario, ...]:
    """Reading a whole collection, by pages or as the start of following it."""
    pages = Scenario(
        name=f"List {count:,} {plural}, page by page",
        item="object",
        items=count,
        arguments=("list", "--resource", resource),
        aims=LIST_AIMS,
    )
    uncompressed = replace(
        pages, name=f"{pages.name}, uncompressed", arguments=(*pages.arguments, "--uncompressed")
    )
    followed = _kept(pages, f"List {count:,} {plural}, ready to follow")
    unstreamed = replace(
        followed, name=f"{followed.name}, Go's list unstreamed", for_go=("--unstreamed",), profiled=False
    )
    return pages, uncompressed, followed, unstreamed


def watches(count: int, *, since: str) -> tuple[Scenario, ...]:
    """Hearing again of so many ConfigMaps' creation: the client is the limit, not whoever writes."""
    plain = Scenario(
        name=f"Watch {count:,} events, heard only",
        item="event",
        items=count,
        arguments=("watch", "--since", since, "--count", str(count)),
        aims=WATCH_AIMS,
    )
    return plain, _kept(plain, f"Watch {count:,} events, objects kept")


def _kept(scenario: Scenario, name: str) -> Scenario:
    """The same work by an informer, and by `follow`."""
    return replace(scenario, name=name, arguments=(*scenario.arguments, "--kept"), profiled=True)


def applies(counts: Mapping[int, int]) -> tuple[Scenario, ...]:
    """Server-side applies of ConfigMaps that differ in one key from what is there."""
    widest = max(counts)
    return tuple(
        Scenario(
            name=f"Apply {count:,} ConfigMaps, {workers} at once",
            item="apply",
            items=count,
            arguments=("apply", "--workers", str(workers)),
            aims=WIDE_APPLY_AIMS if workers == widest else APPLY_AIMS,
            profiled=workers == widest,
            often=2,
        )
        for workers, count in counts.items()
    )
