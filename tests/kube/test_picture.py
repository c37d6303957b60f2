"""Whatever lists and events say, the picture ends as they do, and nothing is told twice."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.kube.cluster import EventType, WatchEvent
from trimtab.kube.objects import KubeObject, Metadata, Page
from trimtab.kube.picture import Complete, Listing, News, Picture, Removed, Upserted, Version


def told(name: str, version: int, uid: str = "u") -> KubeObject:
    metadata = Metadata(name=name, namespace="n", uid=uid, resource_version=str(version))
    return KubeObject(api_version="v1", kind="ConfigMap", metadata=metadata, raw=b"{}")


def page(version: int, *objects: KubeObject) -> Page:
    return Page(objects=objects, resource_version=str(version), continue_token="", remaining=None)


def listed(picture: Picture, *pages: Page) -> list[News]:
    listing = Listing(picture)
    return [*(news for each in pages for news in listing.page(each)), *listing.end()]


def test_a_second_list_tells_only_what_differs() -> None:
    picture = Picture({})
    listed(picture, page(5, told("same", 1), told("changed", 2), told("gone", 3)))
    assert listed(picture, page(9, told("same", 1), told("changed", 8), told("new", 9))) == [
        Upserted(told("changed", 8)),
        Upserted(told("new", 9)),
        Removed(namespace="n", name="gone", uid="u"),
        Complete("9"),
    ]


def test_a_name_that_lives_again_was_removed_in_between() -> None:
    picture = Picture({})
    listed(picture, page(5, told("a", 1, uid="first")))
    assert listed(picture, page(9, told("a", 8, uid="second"))) == [
        Removed(namespace="n", name="a", uid="first"),
        Upserted(told("a", 8, uid="second")),
        Complete("9"),
    ]


def test_what_stands_on_two_pages_of_one_list_is_told_once_for_each_state() -> None:
    first, again = told("a", 1), told("a", 8, uid="second")
    assert listed(Picture({}), page(5, first), page(5, first), page(9, again)) == [
        Upserted(first),
        Removed(namespace="n", name="a", uid="u"),
        Upserted(again),
        Complete("9"),
    ]


def test_a_list_that_never_ends_removes_nothing() -> None:
    picture = Picture({("n", "a"): Version("u", "1")})
    assert list(Listing(picture).page(page(9))) == []
    assert picture.seen == {("n", "a"): Version("u", "1")}
    assert picture.position == ""


@pytest.mark.parametrize(
    ("event", "news"),
    [
        (WatchEvent(EventType.ADDED, told("a", 1)), None),
        (WatchEvent(EventType.MODIFIED, told("a", 2)), Upserted(told("a", 2))),
        (
            WatchEvent(EventType.DELETED, told("a", 2)),
            Removed(namespace="n", name="a", uid="u", object=told("a", 2)),
        ),
        (WatchEvent(EventType.DELETED, told("unknown", 2)), None),
        (WatchEvent(EventType.BOOKMARK, told("", 2)), None),
    ],
)
def test_an_event_is_news_only_if_it_changes_the_picture(event: WatchEvent, news: News | None) -> None:
    picture = Picture({("n", "a"): Version("u", "1")})
    assert picture.after(event) == news
    assert picture.position == event.object.metadata.resource_version


class World:
    """A collection with a history, and somebody who hears of it with interruptions."""

    def __init__(self) -> None:
        self.version = 0
        self.objects: dict[str, KubeObject] = {}
        self.picture = Picture({})
        self.painted: dict[str, str] = {}

    def change(self, name: str, *, remove: bool) -> Iterator[WatchEvent]:
        self.version += 1
        if remove and name in self.objects:
            uid = self.objects.pop(name).metadata.uid
            yield WatchEvent(EventType.DELETED, told(name, self.version, uid))
        elif not remove:
            before = self.objects.get(name)
            uid = before.metadata.uid if before else f"u{self.version}"
            self.objects[name] = told(name, self.version, uid)
            yield WatchEvent(EventType.MODIFIED if before else EventType.ADDED, self.objects[name])

    def paint(self, news: News | None) -> None:
        match news:
            case Upserted(found):
                assert self.painted.get(found.metadata.name) != found.metadata.resource_version
                self.painted[found.metadata.name] = found.metadata.resource_version
            case Removed(name=name):
                del self.painted[name]
            case _:
                pass

    def relist(self, *, page_size: int) -> None:
        objects = [self.objects[name] for name in sorted(self.objects)]
        pages = [
            page(self.version, *objects[at : at + page_size]) for at in range(0, len(objects), page_size)
        ]
        for news in listed(self.picture, *pages or [page(self.version)]):
            self.paint(news)


changes = st.lists(
    st.tuples(st.sampled_from("abcd"), st.booleans(), st.booleans(), st.integers(1, 3)), max_size=60
)


@given(changes)
def test_the_picture_ends_like_the_world_however_often_history_is_lost(
    happened: list[tuple[str, bool, bool, int]],
) -> None:
    world = World()
    hears = True
    for name, remove, breaks, page_size in happened:
        for event in world.change(name, remove=remove):
            if hears:
                world.paint(world.picture.after(event))
        if breaks and hears:
            hears = False
        elif breaks:
            world.relist(page_size=page_size)
            hears = True
    if not hears:
        world.relist(page_size=2)
    assert world.painted == {name: each.metadata.resource_version for name, each in world.objects.items()}
