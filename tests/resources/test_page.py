"""The page about this room tells the truth: its examples are run."""

from __future__ import annotations

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "resources.md"


def test_every_example_on_the_page_does_what_it_says() -> None:
    result = doctest.testfile(str(PAGE), module_relative=False)
    assert result.attempted > 10
    assert result.failed == 0
