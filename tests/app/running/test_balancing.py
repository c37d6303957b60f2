"""Shards are shared fairly: it comes to rest, one moves at a time, and nobody has one that another has."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from trimtab.app.running.balancing import Division, division_of, surplus, turn
from trimtab.app.shards import Shard, seats, shards
from trimtab.kube.leases import Holding, Sighting

NOW = 100.0


def division(*holders: str, seated: str = "abc") -> Division:
    count = len(holders)
    held = {Shard(number, count): holder for number, holder in enumerate(holders) if holder}
    return Division(count=count, holders=held, seated=frozenset(seated))


@pytest.mark.parametrize(
    ("holders", "seated", "found"),
    [
        ("aaaa", "ab", (3, "b")),
        ("aaab", "ab", (2, "b")),
        ("aabb", "ab", None),
        ("aab", "ab", None),
        ("aaaa", "a", None),
        ("aaaa", "", None),
        ("aaaabc", "bc", (3, "b")),
        ("aaaabb", "bc", (3, "c")),
        ("bbbbaaaa", "abc", (7, "c")),
        ("ccccaa", "ab", None),
    ],
)
def test_the_richest_hands_over_its_last_shard_to_the_poorest_who_has_room(
    holders: str, seated: str, found: tuple[int, str] | None
) -> None:
    every = shards(len(holders))
    expected = (Shard(found[0], len(holders)), found[1]) if found else None
    assert surplus(division(*holders, seated=seated), "a", every) == expected


def test_only_what_is_between_operations_is_handed_over() -> None:
    assert surplus(division(*"aaaa", seated="ab"), "a", [Shard(1, 4)]) == (Shard(1, 4), "b")
    assert surplus(division(*"aaaa", seated="ab"), "a", []) is None


def test_while_a_shard_is_on_its_way_no_other_is_let_go() -> None:
    assert surplus(division("a", "a", "a", "a", "", seated="ab"), "a", shards(5)) is None


def test_a_free_shard_is_left_to_those_with_fewer_first() -> None:
    seen = division(*"aaabb", seated="abc")
    assert [turn(seen, who) for who in "cba"] == [0, 1, 2]


def test_leases_that_ran_out_and_those_of_another_division_are_nobodys() -> None:
    def held(holder: str, at: float = NOW) -> Sighting:
        return Sighting(holding=Holding(holder=holder, seconds=15), at=at)

    sightings = {
        Shard(0, 2).lease: held("a"),
        Shard(1, 2).lease: held("dead", at=NOW - 16),
        Shard(0, 3).lease: held("other"),
        seats(2)[0]: held("b"),
        seats(2)[1]: held("dead", at=NOW - 11),
        seats(3)[0]: held("other"),
        "trimtab-app-0": held("ann"),
        "free": Sighting(holding=None, at=NOW),
    }
    assert division_of(sightings, 2, "a", NOW, fresh=10) == Division(
        count=2, holders={Shard(0, 2): "a"}, seated=frozenset("b")
    )


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Division, dict[str, int]]:
    """Any division of shards among runners, and how many each has room for."""
    runners = draw(st.lists(st.sampled_from("abcdef"), min_size=1, unique=True))
    count = draw(st.integers(min_value=1, max_value=12))
    holders = {shard: draw(st.sampled_from(runners)) for shard in shards(count)}
    room = {
        runner: max(draw(st.integers(min_value=1, max_value=12)), list(holders.values()).count(runner))
        for runner in runners
    }
    return Division(count=count, holders=holders), room


def seated(found: Division, room: dict[str, int]) -> Division:
    return replace(found, seated=frozenset(each for each in room if found.load(each) < room[each]))


@given(worlds())
def test_it_comes_to_rest_fairly_and_only_one_shard_is_ever_on_its_way(
    world: tuple[Division, dict[str, int]],
) -> None:
    found, room = world
    for _ in range(found.count * len(room)):
        found = seated(found, room)
        given_up = {who: surplus(found, who, shards(found.count)) for who in room}
        moves = [(who, move) for who, move in given_up.items() if move is not None]
        assert len(moves) <= 1
        if not moves:
            break
        ((giver, (shard, heir)),) = moves
        assert found.holders[shard] == giver
        free = replace(found, holders={each: who for each, who in found.holders.items() if each != shard})
        assert all(surplus(free, who, shards(found.count)) is None for who in room)
        takers = [who for who in free.seated if turn(free, who) == 0]
        assert takers == [heir], "the first in turn is the one it was meant for"
        found = replace(free, holders={**free.holders, shard: heir})
    else:
        pytest.fail("it never came to rest")
    loads = [found.load(each) for each in found.seated]
    assert not loads or max(map(found.load, room)) - min(loads) < 2
