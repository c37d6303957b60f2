"""The behaviours that the engine promises, as data, and which tests claim to prove them.

Each part of the engine has a file of facts: an id and a sentence. A test names the facts it proves with
`@pytest.mark.fact("S8")`; marks are found by reading the tests, so the answer does not depend on which of
them run. What is left for later says why.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from msgspec import Struct

FOLDER = Path(__file__).parent
TESTS = FOLDER.parent


class Fact(Struct, frozen=True, kw_only=True):
    """One behaviour: what holds, whose part it is, and why it may still be missing."""

    id: str
    sentence: str
    part: str
    finished: bool
    later: str = ""


class Claim(Struct, frozen=True, order=True):
    """One place in the tests that names a fact."""

    id: str
    where: str


class Spelled(Exception):
    """A mark names its facts by something other than plain text."""


def facts() -> dict[str, Fact]:
    """Every fact by its id."""
    found: dict[str, Fact] = {}
    for path in sorted(FOLDER.glob("*.toml")):
        for fact in facts_in(path.read_text()):
            if fact.id in found:
                raise ValueError(f"{fact.id} is a fact of {found[fact.id].part} and of {fact.part}")
            found[fact.id] = fact
    return found


def facts_in(text: str) -> Iterator[Fact]:
    """The facts of one file; an id only among those left for later has no sentence yet."""
    table = tomllib.loads(text)
    later = dict(table.get("later", {}))
    for name, sentence in table["facts"].items():
        yield Fact(
            id=name,
            sentence=sentence,
            part=table["part"],
            finished=table["finished"],
            later=later.pop(name, ""),
        )
    if later:
        raise ValueError(f"left for later, but no fact: {', '.join(later)}")


@cache
def claims() -> tuple[Claim, ...]:
    """Every place in the tests that names a fact."""
    return tuple(
        sorted(
            claim
            for path in TESTS.rglob("*.py")
            for claim in claims_in(path.read_text(), str(path.relative_to(TESTS)))
        )
    )


def claims_in(source: str, where: str) -> Iterator[Claim]:
    """The facts that one file of tests names."""
    if "mark.fact(" not in source:
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and _is_mark(node.func):
            for argument in node.args:
                if not (isinstance(argument, ast.Constant) and isinstance(argument.value, str)):
                    raise Spelled(f"{where}:{node.lineno}: spell out the ids of facts")
                yield Claim(argument.value, f"{where}:{node.lineno}")


def _is_mark(called: ast.expr) -> bool:
    return (
        isinstance(called, ast.Attribute)
        and called.attr == "fact"
        and isinstance(called.value, ast.Attribute)
        and called.value.attr == "mark"
    )


def gaps(known: dict[str, Fact], proved: frozenset[str]) -> list[str]:
    """Facts in scope of finished parts that no test names."""
    return [
        f"{fact.id}: {fact.sentence}"
        for fact in known.values()
        if fact.finished and not fact.later and fact.id not in proved
    ]


def kept_promises(known: dict[str, Fact], proved: frozenset[str]) -> list[str]:
    """Facts said to be left for later that a test names already."""
    return [fact.id for fact in known.values() if fact.later and fact.id in proved]
