"""No block of a page is left out: it is run, or is a file for what is run, or a table here says why not."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import Final

import pytest

from tests.docs.blocks import PAGES, ROOT, Block, blocks, name_of
from tests.docs.consoles import Typed, session

DRAWING: Final = "a drawing: there is nothing to run"
LONG: Final = "runs for minutes, and measures the machine that it runs on"
PRIVATE: Final = "tests/features/test_private_repositories.py"
SHOWN: Final = "tests/docs/test_shown.py"

#: what cannot be run in a test, by page and the beginning of its first line: why
NOT_RUN: Final = MappingProxyType(
    {
        ("README.md", "make demo"): "sets up the checkout; tests/features/test_demo.py runs the demo itself",
        ("docs/architecture.md", "people and programs"): DRAWING,
        ("docs/bench.md", "make bench"): LONG,
        ("docs/bench.md", "python -m testbed up"): LONG,
        (
            "docs/contract-suite.md",
            "pytest tests/contract",
        ): "is the suite itself, and long searches beside it",
        ("docs/contributing.md", "make test"): "is what runs this test",
        ("docs/how-to/ci-plans.md", "gh pr comment"): "speaks to GitHub",
        ("docs/install.md", "podman build"): "takes images from a registry; tests/deploy follows its steps",
        ("docs/metrics.md", "scrape_configs:"): "is for Prometheus, which is none of our parts",
        ("docs/programs.md", "owner ── launcher"): DRAWING,
        ("docs/rendering.md", "make renderers"): "compiles for minutes; tests use what it builds",
        ("docs/sync.md", "rows, hooks"): DRAWING,
        ("docs/testbed.md", "python -m testbed build"): "`down` ends what a developer has running; "
        "tests/testbed/test_main.py runs the verbs on a testbed of its own",
    }
)
#: what is run by a test of its own, which names the page: by page and beginning, where
ELSEWHERE: Final = MappingProxyType(
    {
        ("docs/contract-suite.md", "@case("): SHOWN,
        ("docs/doctor.md", "$ trimtab doctor -n shop"): "tests/app/doctor/test_checks.py",
        ("docs/errors.md", "Error: this is a bug"): SHOWN,
        ("docs/how-to/private-repositories.md", "[[credential]]"): PRIVATE,
        ("docs/how-to/private-repositories.md", "chmod 600"): PRIVATE,
        ("docs/repositories.md", "[[credential]]"): SHOWN,
        ("docs/repositories.md", "repository https://git.example"): "tests/app/test_sources.py",
        ("docs/testbed.md", "def test_a_config_map_is_kept"): SHOWN,
        ("docs/why.md", "$ trimtab why shop"): "tests/app/why/test_chain.py",
    }
)
TABLED: Final = NOT_RUN.keys() | ELSEWHERE.keys()


def is_run(block: Block) -> bool:
    """Whether `test_consoles.py` or `test_examples.py` runs a block, or a script wrote it."""
    if block.is_generated or block.file:
        return True
    return block.kind in {"console", "python", "pycon"} and not block.is_shown


def entries(page: Path, block: Block) -> set[tuple[str, str]]:
    """What the tables say of a block."""
    first = next((line.strip() for line in block.body if line.strip()), "")
    return {each for each in TABLED if each[0] == name_of(page) and first.startswith(each[1])}


LEFT = [(page, block) for page in PAGES for block in blocks(page.read_text()) if not is_run(block)]


@pytest.mark.parametrize(
    ("page", "block"), LEFT, ids=[f"{name_of(page)}:{block.line}" for page, block in LEFT]
)
def test_a_block_that_is_not_run_says_why(page: Path, block: Block) -> None:
    assert len(entries(page, block)) == 1, (
        f"{name_of(page)}:{block.line}: nobody runs this block. Make it a `console` or `python` one, or put "
        "`<!-- file: PATH -->` before it and use the file; if it cannot run, say why in NOT_RUN"
    )


def test_the_tables_name_nothing_that_is_gone() -> None:
    assert TABLED - {entry for page, block in LEFT for entry in entries(page, block)} == set()
    assert not NOT_RUN.keys() & ELSEWHERE.keys()


@pytest.mark.parametrize(("block", "test"), ELSEWHERE.items(), ids=str)
def test_what_is_run_elsewhere_is_run_by_a_test_that_knows_the_page(
    block: tuple[str, str], test: str
) -> None:
    assert Path(block[0]).name in (ROOT / test).read_text()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_files_of_a_page_are_used_by_its_commands(page: Path) -> None:
    steps = session(page.read_text())
    assert not steps or isinstance(steps[-1], Typed), "nothing is typed after the last file is made"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_fence_of_a_page_is_seen(page: Path) -> None:
    text = page.read_text()
    fences = [line for line in text.splitlines() if line.lstrip().startswith(("```", "~~~"))]
    assert len(fences) == 2 * len(blocks(text))
    assert all(line.startswith("```") for line in fences), "an indented fence is not seen by everybody"


def test_examples_that_are_files_have_a_test_that_runs_them() -> None:
    tests = "".join(each.read_text() for each in (ROOT / "tests").rglob("*.py"))
    for example in (each for each in (ROOT / "examples").iterdir() if each.name != "__pycache__"):
        assert f'"examples" / "{example.name}"' in tests or f"examples/{example.name}" in tests
