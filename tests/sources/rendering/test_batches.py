"""What a process is told that renders many, and what of its answers counts."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as some

from trimtab.sources.rendering.batches import Heard, Order, heard, told

WORDS = some.text(some.characters(exclude_categories=["Cs"]))


def answer(code: int, printed: bytes) -> bytes:
    return json.dumps({"code": code, "stdout": len(printed)}).encode() + b"\n" + printed


@given(some.lists(some.tuples(some.integers(0, 2), some.binary()), max_size=4), some.data())
def test_an_answer_counts_if_it_is_whole_and_ended_well(
    answers: list[tuple[int, bytes]], data: some.DataObject
) -> None:
    said = b"".join(answer(code, printed) for code, printed in answers)
    expected = tuple(printed if code == 0 else None for code, printed in answers)
    assert heard(said, len(answers)).printed == expected
    cut = data.draw(some.integers(0, len(said)))
    found = heard(said[:cut], len(answers)).printed
    assert found == expected[: len(found)]
    assert len(found) == len(answers) or cut < len(said)


@given(some.binary())
def test_words_that_make_no_sense_are_no_answer(said: bytes) -> None:
    good = answer(0, b"kind: A")
    assert heard(good + b"\0" + said, 9).printed == (b"kind: A",)


@pytest.mark.parametrize(
    "said", [b'{"code":0,"stdout":-1}\n', b'{"code":0}\n', b'{"code":0,"stdout":5}\nfour', b"[]\n", b"\n"]
)
def test_a_head_that_lies_is_no_answer(said: bytes) -> None:
    assert heard(said, 3).printed == ()


def test_more_answers_than_orders_are_not_heard() -> None:
    assert heard(answer(0, b"a") * 3, 2).printed == (b"a", b"a")


@given(some.lists(some.tuples(WORDS, some.lists(WORDS)), max_size=3))
def test_orders_are_values_of_json_on_lines_of_their_own(asked: list[tuple[str, list[str]]]) -> None:
    orders = [Order(folder=folder, arguments=tuple(words), environment={}) for folder, words in asked]
    lines = told(orders).split(b"\n") if orders else []
    assert [(line["folder"], line["arguments"]) for line in map(json.loads, lines)] == asked


@pytest.mark.parametrize(
    ("printed", "alone", "again"),
    [
        ((b"a", b"b", b"c"), [], []),
        ((b"a", None, b"c"), [1], []),
        ((b"a",), [1], [2]),
        ((None,), [0, 1], [2]),
        ((), [0, 1, 2], []),
    ],
)
def test_who_ended_the_process_goes_alone_and_who_came_after_it_is_asked_again(
    printed: tuple[bytes | None, ...], alone: list[int], again: list[int]
) -> None:
    found = Heard(printed=printed)
    unanswered = [place for place in range(3) if found.answer(place) is None]
    assert [place for place in unanswered if found.is_untried(place)] == again
    assert [place for place in unanswered if not found.is_untried(place)] == alone
