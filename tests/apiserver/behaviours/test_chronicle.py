"""What is told in Events again and again: counted up, combined, and at last told no more."""

from __future__ import annotations

from datetime import timedelta

from tests.apiserver.behaviours.making import NOW, made
from trimtab.apiserver.behaviours.changes import News
from trimtab.apiserver.behaviours.chronicle import Chronicle, Telling

WEB = made("apps/v1", "Deployment", "web")


def say(chronicle: Chronicle, message: str, *, after: float = 0, combines: bool = True) -> Telling | None:
    """Tell this, and take what would be written as written."""
    news = News(WEB, "ScalingReplicaSet", message)
    told = chronicle.telling(news, "deployment-controller", NOW + timedelta(seconds=after), combines=combines)
    if told is not None:
        metadata = {**told.body["metadata"], "uid": f"uid-of-{told.body['metadata']['name']}"}
        chronicle.keep(told.said, {**told.body, "metadata": metadata})
    return told


def shown(told: Telling | None) -> tuple[str, int, bool] | None:
    return None if told is None else (told.body["message"], told.body["count"], told.is_new)


def test_the_same_words_are_counted_up() -> None:
    chronicle = Chronicle()
    assert [shown(say(chronicle, "up")) for _ in range(3)] == [
        ("up", 1, True),
        ("up", 2, False),
        ("up", 3, False),
    ]


def test_the_tenth_message_of_a_kind_is_combined_with_those_that_follow() -> None:
    chronicle = Chronicle()
    told = [shown(say(chronicle, f"to {number}")) for number in range(12)]
    assert told[8] == ("to 8", 1, True)
    assert told[9:] == [
        ("(combined from similar events): to 9", 1, True),
        ("(combined from similar events): to 10", 2, False),
        ("(combined from similar events): to 11", 3, False),
    ]


def test_what_was_similar_long_ago_is_forgotten() -> None:
    chronicle = Chronicle()
    for number in range(9):
        say(chronicle, f"to {number}")
    assert shown(say(chronicle, "to 9", after=601)) == ("to 9", 1, True)


def test_after_a_flood_one_more_is_told_every_five_minutes_and_nothing_is_uncounted() -> None:
    chronicle = Chronicle()
    told = [shown(say(chronicle, "up")) for _ in range(30)]
    assert [each is None for each in told] == [False] * 25 + [True] * 5
    assert shown(say(chronicle, "up", after=299)) is None
    assert shown(say(chronicle, "up", after=301)) == ("up", 32, False)


def test_who_tells_in_the_newer_way_neither_combines_nor_stops() -> None:
    chronicle = Chronicle()
    told = [shown(say(chronicle, f"to {number}", combines=False)) for number in range(40)]
    assert told == [(f"to {number}", 1, True) for number in range(40)]


def test_an_event_that_could_not_be_written_is_a_new_one_next_time() -> None:
    chronicle = Chronicle()
    first = say(chronicle, "up")
    assert first is not None
    chronicle.forget(first.said)
    assert shown(say(chronicle, "up")) == ("up", 1, True)
