"""Units are divided evenly and the same way everywhere, and nobody keeps what is another's."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.app.shards import (
    Shard,
    app_lease,
    is_app_lease,
    is_kept,
    rivals,
    shard_named,
    shards,
    terms_of,
)
from trimtab.engine.units import Destination, SyncUnit


@given(st.text(min_size=1), st.integers(min_value=1, max_value=50))
def test_every_unit_belongs_to_exactly_one_shard(unit_id: str, count: int) -> None:
    assert sum(shard.has(unit_id) for shard in shards(count)) == 1


def test_where_a_unit_belongs_never_changes_with_the_version() -> None:
    assert [shard.number for shard in shards(4) if shard.has("shop/web")] == [2]


def test_many_units_are_spread_evenly() -> None:
    spread = Counter(
        next(shard.number for shard in shards(4) if shard.has(f"team-{n}/app")) for n in range(4000)
    )
    assert all(900 < units < 1100 for units in spread.values()), spread


@given(st.integers(min_value=1, max_value=100), st.data())
def test_a_lease_says_which_shard_of_how_many_it_is_for(count: int, data: st.DataObject) -> None:
    shard = Shard(data.draw(st.integers(min_value=0, max_value=count - 1)), count)
    assert shard_named(shard.lease) == shard


@pytest.mark.parametrize("name", ["trimtab-shard-2-of-2", "trimtab-shard-x-of-2", "other", app_lease("shop")])
def test_other_leases_are_for_no_shard(name: str) -> None:
    assert shard_named(name) is None


def test_a_lease_of_an_app_is_known_by_its_name() -> None:
    assert is_app_lease(app_lease("shop"))
    assert not is_app_lease(Shard(0, 1).lease)


def test_shards_of_another_division_are_rivals() -> None:
    held = [Shard(0, 1), Shard(1, 2), Shard(0, 3)]
    assert rivals(Shard(0, 2), held) == (Shard(0, 1), Shard(0, 3))


@pytest.mark.parametrize(
    ("source", "declared_in", "kept"),
    [
        ({"repoURL": "https://git.example/shop.git"}, "", True),
        ({"folder": "/home/ann/shop"}, "", False),
        ({"folder": "/srv/shop"}, "/srv/units", True),
        ({"sources": [{"repoURL": "c"}, {"repoURL": "v", "ref": "v"}]}, "", True),
        ({"sources": [{"repoURL": "c"}, {"folder": "/home/ann/v", "ref": "v"}]}, "", False),
        ("nothing that could be read", "", False),
    ],
)
def test_what_comes_from_somebodys_folder_is_left_to_him(
    source: object,
    declared_in: str,
    kept: bool,  # noqa: FBT001 - it is the expected answer
) -> None:
    unit = SyncUnit(
        id="shop", source=source, destination=Destination(cluster="here"), declared_in=declared_in
    )
    assert is_kept(unit) is kept


def test_a_holder_gives_up_well_before_others_may_take_over() -> None:
    terms = terms_of(timedelta(seconds=15))
    assert (terms.give_up_after, terms.rhythm) == (timedelta(seconds=10), timedelta(seconds=2))
