"""What unit files say, and what follows for the records."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from trimtab.app.running.declared import (
    Amend,
    Hold,
    Move,
    Record,
    Refuse,
    Remove,
    Snapshot,
    Stay,
    Withdraw,
    moves,
    snapshot_of,
)
from trimtab.app.shards import Shard
from trimtab.app.unitfiles import Origin, unit_in
from trimtab.engine.units import Pause, SyncUnit, UnitStatus
from trimtab.errors import InvalidSpec, Missing
from trimtab.sources import FolderTree

GIT = Origin(url="https://git.example/fleet.git", target="main", path="units")
FOLDER = Origin(folder="/srv/units")
ALL = Shard(0, 1)
SHOP = """
source: {repoURL: "https://git.example/shop.git", targetRevision: v1, spec: {path: live}}
destination: {cluster: prod, namespace: shop}
policy: {automated: {prune: true, selfHeal: true}}
tenant: shop
"""
PLAIN = "source: {spec: {path: web}}\n"


def said(text: str, origin: Origin = GIT, name: str = "shop/web") -> SyncUnit:
    return unit_in(text.encode(), name, f"{name}.yaml", origin)


def test_files_below_a_folder_are_units_by_their_path(tmp_path: Path) -> None:
    for name in ("shop/web.yaml", "cart%2Fapi.yml", ".hidden.yaml", "notes.txt"):
        place = tmp_path / "units" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(PLAIN)
    (tmp_path / "units" / "broken.yaml").write_text("source: {")
    (tmp_path / "units" / "shop%2Fweb.yaml").write_text(PLAIN)
    found = snapshot_of(FolderTree(tmp_path), GIT, "4f2c9e1")
    assert sorted(found.units) == ["cart/api"]
    assert sorted(found.problems) == ["broken", "shop/web"]
    assert "two files describe it" in str(found.problems["shop/web"])


def test_a_folder_that_is_not_there_is_an_error_and_not_empty(tmp_path: Path) -> None:
    with pytest.raises(Missing):
        snapshot_of(FolderTree(tmp_path), GIT, "4f2c9e1")


WEB = said(PLAIN, name="web")
API = said(PLAIN, name="api")
GOES = said(f"{PLAIN}onRemoval: delete\n", name="api")


def read(*units: SyncUnit, **problems: str) -> Snapshot:
    errors = {name: InvalidSpec(name, reason) for name, reason in problems.items()}
    return Snapshot(revision="4f2c9e1", units={unit.id: unit for unit in units}, problems=errors)


@pytest.mark.parametrize(
    ("snapshot", "known", "expected"),
    [
        (read(WEB), (), (Record(WEB),)),
        (read(WEB), (WEB,), ()),
        # how it stands, what was asked of it and whether it is held is nothing that files say
        (read(WEB), (replace(WEB, status=UnitStatus(revision="1"), paused=Pause(by="ann")),), ()),
        (read(WEB), (replace(WEB, tenant="other"),), (Amend(WEB),)),
        # an app of the command line is taken over, a unit of other files is not
        (read(WEB), (replace(WEB, declared_in=""),), (Amend(WEB),)),
        (
            read(WEB),
            (replace(WEB, declared_in="elsewhere"),),
            (Refuse("web", "a unit of this id is declared in elsewhere"),),
        ),
        # only what came from here is withdrawn, and never what has a file
        (read(WEB), (WEB, API), (Withdraw("api"),)),
        (read(WEB), (WEB, replace(API, declared_in="")), ()),
        (read(WEB), (WEB, replace(API, declared_in="elsewhere")), ()),
        (read(WEB, api="broken"), (WEB, API), (Refuse("api", "api: broken."),)),
        # objects go only where the file said so, and only on the word of files that can all be read
        (read(WEB), (WEB, GOES), (Remove("api"),)),
        (read(WEB), (WEB, replace(GOES, declared_in="elsewhere")), ()),
        (
            read(),
            (GOES,),
            (Hold("api", "no unit is declared any more, and an empty folder deletes nothing"),),
        ),
        (
            read(WEB, other="broken"),
            (WEB, GOES),
            (Refuse("other", "other: broken."), Hold("api", "not every file can be read (other)")),
        ),
        (read(API), (GOES,), (Amend(API),)),
    ],
)
def test_records_follow_the_files(
    snapshot: Snapshot, known: tuple[SyncUnit, ...], expected: tuple[Move, ...]
) -> None:
    assert moves(snapshot, known, GIT, ALL) == expected


def test_objects_of_most_units_do_not_go_at_once() -> None:
    known = [replace(GOES, id=f"unit-{number}") for number in range(9)]
    few = moves(read(*known[4:]), known, GIT, ALL)
    assert few == tuple(Remove(f"unit-{number}") for number in range(4))
    many = moves(read(*known[5:]), known, GIT, ALL)
    reason = "5 of 9 units went at once, which is more than half"
    assert many == tuple(Hold(f"unit-{number}", reason) for number in range(5))
    assert moves(read(*known[3:4]), known[:4], GIT, ALL) == tuple(map(Remove, ("unit-0", "unit-1", "unit-2")))


def test_a_folder_that_was_emptied_takes_the_records_of_a_few_units_and_not_of_all() -> None:
    known = [replace(API, id=f"unit-{number}") for number in range(4)]
    assert moves(read(), known[1:], GIT, ALL) == tuple(map(Withdraw, ("unit-1", "unit-2", "unit-3")))
    stays = moves(read(), known, GIT, ALL)
    assert {type(each) for each in stays} == {Stay}
    assert [each.id for each in stays if isinstance(each, Stay)] == [each.id for each in known]
    assert moves(read(known[0]), known, GIT, ALL) == tuple(map(Withdraw, ("unit-1", "unit-2", "unit-3")))


def test_units_of_other_shards_are_left_to_their_keepers() -> None:
    mine = next(Shard(number, 2) for number in (0, 1) if Shard(number, 2).has("web"))
    theirs = Shard(1 - mine.number, 2)
    assert moves(read(), (WEB,), GIT, mine) == (Withdraw("web"),)
    assert moves(read(), (WEB,), GIT, theirs) == ()
    assert moves(read(WEB, web="broken"), (), GIT, theirs) == ()
