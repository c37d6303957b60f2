"""A collection kept by following it: always what was told last, whatever happened before."""

from __future__ import annotations

from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kube.world import CONFIG_MAPS
from trimtab.kube.keeping import Kept
from trimtab.kube.objects import KubeObject, Page, object_from
from trimtab.kube.picture import Complete, Listing, Picture, Removed, Upserted, Version

MANY = 150


def config_map(name: str, *, version: int = 1, uid: str = "u") -> KubeObject:
    body = f'{{"metadata":{{"name":"{name}","namespace":"n","uid":"{uid}","resourceVersion":"{version}"}}}}'
    return object_from(body.encode(), api_version="v1", kind="ConfigMap")


def page(*objects: KubeObject) -> Page:
    return Page(objects=objects, resource_version="9", continue_token="", remaining=None)


def test_objects_come_back_as_they_were_told_before_and_after_there_is_a_dictionary() -> None:
    kept, told = Kept(CONFIG_MAPS), [config_map(f"c-{number}") for number in range(MANY)]
    for number, each in enumerate(told):
        kept.hear(Upserted(each))
        assert kept.object("n", f"c-{number}") == each
    assert list(kept.objects()) == told
    assert kept["n", "c-0"] == Version("u", "1")
    assert kept.object("n", "none") is None
    kept.hear(Complete("9"))
    assert len(kept) == MANY


def test_the_newest_state_is_kept_in_place_of_the_one_before() -> None:
    kept = Kept(CONFIG_MAPS)
    kept.keep(config_map("a"))
    kept.keep(config_map("a", version=2))
    assert list(kept.objects()) == [config_map("a", version=2)]


@pytest.mark.parametrize(("uid", "left"), [("u", 0), ("another", 1)])
def test_what_is_gone_is_kept_no_longer_unless_its_name_lives_again(uid: str, left: int) -> None:
    kept = Kept(CONFIG_MAPS)
    kept.keep(config_map("a"))
    kept.hear(Removed(namespace="n", name="a", uid=uid))
    assert len(kept) == left


Round = st.dictionaries(st.sampled_from("abcd"), st.tuples(st.integers(1, 3), st.sampled_from("uv")))


@given(st.lists(Round, max_size=4))
def test_after_every_reading_exactly_what_the_server_has_is_kept(
    rounds: list[dict[str, tuple[int, str]]],
) -> None:
    kept = Kept(CONFIG_MAPS)
    for there in rounds:
        listing = Listing(Picture(kept))
        objects = [config_map(name, version=version, uid=uid) for name, (version, uid) in there.items()]
        for news in chain(listing.page(page(*objects)), listing.end()):
            kept.hear(news)
        assert {each.metadata.name: each for each in kept.objects()} == {
            each.metadata.name: each for each in objects
        }
