"""Every Python example of the documentation runs as it is written.

The `python` blocks of one page share a namespace and run in a fresh interpreter, with warnings as errors. A
block after the line `<!-- no-run -->` is only shown. `pycon` blocks show what an interpreter answers, and
the answers are compared.
"""

from __future__ import annotations

import doctest
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.blocks import NO_RUN, PAGES, blocks, name_of

#: compiled under the page's own name and line numbers, so that a failure points into the page
INTERPRETER = """
import sys
page = sys.argv[1]
exec(compile(sys.stdin.read(), page, "exec"), {"__name__": "__main__"})
"""


def program(page: str) -> str:
    """The page's examples, each line where the page has it and everything else blank."""
    lines = [""] * len(page.splitlines())
    for block in blocks(page):
        if block.kind == "python" and not block.is_shown and not block.file:
            lines[block.line - 1 : block.line - 1 + len(block.body)] = block.body
    return "\n".join(lines)


def run(path: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", INTERPRETER, str(path)],
        input=program(path.read_text()),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )


def pages_with_examples() -> list[Path]:
    return [page for page in PAGES if program(page.read_text()).strip()]


def pages_with_dialogues() -> list[Path]:
    return [page for page in PAGES if "```pycon" in page.read_text()]


@pytest.mark.parametrize("page", pages_with_examples(), ids=name_of)
def test_the_examples_of_a_page_run(page: Path, tmp_path: Path) -> None:
    ran = run(page, tmp_path)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("page", pages_with_dialogues(), ids=name_of)
def test_the_dialogues_of_a_page_are_true(page: Path) -> None:
    failed, tried = doctest.testfile(str(page), module_relative=False)
    assert (failed, tried > 0) == (0, True)


def test_examples_share_a_namespace_and_a_failure_points_to_its_line(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Page\n\n```python\nx = 1\n```\n\nThen:\n\n```python\nassert x == 2\n```\n")
    ran = run(page, tmp_path)
    assert ran.returncode == 1
    assert f'File "{page}", line 10' in ran.stderr


def test_only_unmarked_python_blocks_are_run() -> None:
    marked, shell = f"{NO_RUN}\n\n```python\nmarked\n```\n", "```sh\nshell\n```\n"
    page = f"{marked}\n{shell}\n```python\nplain\n```\n\n```\nbare\n```\n"
    assert program(page).split() == ["plain"]
