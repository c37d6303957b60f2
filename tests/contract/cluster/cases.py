"""A case of the contract: a verb, a feature, and a few calls whose answers every implementation shares.

Cases are collected from the modules of `tables/`; each module's recorded answers are one file.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from msgspec import Struct

from tests.contract.cluster.stage import Stage

Play: TypeAlias = Callable[[Stage], Awaitable[None]]
TABLES = "tests.contract.cluster.tables"


class Case(Struct, frozen=True, kw_only=True):
    """One case; its name is a sentence, unique in its table.

    A case that forgets needs a world whose history can be ended, and disturbs others in it.
    """

    table: str
    verb: str
    feature: str
    name: str
    play: Play
    forgets: bool = False

    @property
    def id(self) -> str:
        """The name by which tests and docs call it."""
        return f"{self.table}: {self.name}"


class Table:
    """The cases of one module, in the order they were written."""

    def __init__(self, name: str, *, forgets: bool = False) -> None:
        self.name = name.rpartition(".")[2]
        self._forgets = forgets
        self.cases: list[Case] = []

    def case(self, verb: str, feature: str) -> Callable[[Play], Play]:
        """A function as a case; its name is the case's."""

        def add(play: Play) -> Play:
            self.add(verb, feature, getattr(play, "__name__", "").replace("_", " "), play)
            return play

        return add

    def add(
        self, verb: str, feature: str, name: str, play: Callable[..., Awaitable[None]], *given: Any
    ) -> None:
        """One case of a table written as data: what is played, and what it is given beside the stage."""

        async def played(stage: Stage) -> None:
            await play(stage, *given)

        self.cases.append(
            Case(table=self.name, verb=verb, feature=feature, name=name, play=played, forgets=self._forgets)
        )


def tables() -> tuple[Table, ...]:
    """Every table, by name."""
    package = importlib.import_module(TABLES)
    names = sorted(module.name for module in pkgutil.iter_modules(package.__path__))
    return tuple(importlib.import_module(f"{TABLES}.{name}").TABLE for name in names)


def all_cases() -> tuple[Case, ...]:
    """Every case of every table."""
    return tuple(case for table in tables() for case in table.cases)


def counts() -> Counter[tuple[str, str]]:
    """How many cases there are for each verb and feature."""
    return Counter((case.verb, case.feature) for case in all_cases())
