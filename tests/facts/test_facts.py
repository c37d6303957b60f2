"""No fact in scope without a test, no test that names an unknown fact."""

from __future__ import annotations

import pytest

from tests.facts.facts import Claim, Fact, Spelled, claims, claims_in, facts, facts_in, gaps, kept_promises

MARKED = '@pytest.mark.{}("X1", "X2")\ndef test_it() -> None: ...\n'.format("fact")


def fact(name: str, *, finished: bool = True, later: str = "") -> dict[str, Fact]:
    return {name: Fact(id=name, sentence="it holds", part="cache", finished=finished, later=later)}


def test_every_fact_in_scope_of_a_finished_part_names_its_test() -> None:
    assert gaps(facts(), frozenset(claim.id for claim in claims())) == []


def test_every_fact_that_a_test_names_exists() -> None:
    known = facts()
    assert [claim for claim in claims() if claim.id not in known] == []


def test_what_is_left_for_later_is_not_proved_yet() -> None:
    assert kept_promises(facts(), frozenset(claim.id for claim in claims())) == []


def test_every_behaviour_of_the_list_is_there_once() -> None:
    counts = {"C": 50, "M": 18, "D": 44, "H": 22, "S": 60}
    known = facts()
    wanted = {f"{letter}{number}" for letter, most in counts.items() for number in range(1, most + 1)}
    assert wanted - set(known) == set()
    assert {name for name in known if name[0] != "A"} == wanted


def test_a_fact_without_a_test_is_a_gap_only_when_its_part_is_finished_and_it_is_in_scope() -> None:
    assert gaps(fact("X1"), frozenset()) == ["X1: it holds"]
    assert gaps(fact("X1"), frozenset({"X1"})) == []
    assert gaps(fact("X1", finished=False), frozenset()) == []
    assert gaps(fact("X1", later="Lua"), frozenset()) == []


def test_a_mark_is_found_wherever_it_stands() -> None:
    assert list(claims_in(MARKED, "a.py")) == [Claim("X1", "a.py:1"), Claim("X2", "a.py:1")]


def test_ids_that_are_computed_are_refused() -> None:
    with pytest.raises(Spelled, match=r"a\.py:1: spell out"):
        list(claims_in(MARKED.replace('"X2"', "NAME"), "a.py"))


def test_what_is_left_for_later_must_be_a_fact() -> None:
    with pytest.raises(ValueError, match="no fact: X9"):
        list(facts_in('part = "cache"\nfinished = true\n[facts]\nX1 = "it holds"\n[later]\nX9 = "Lua"\n'))
