"""Every Python example of the documentation runs as it is written.

The `python` blocks of one page share a namespace and run in a fresh interpreter, with warnings as errors. A
block after the line `<!-- no-run -->` is only shown. Comments at the beginning of a line, right after what
prints, say what it prints. `pycon` blocks show what an interpreter answers, and the answers are compared.
"""

from __future__ import annotations

import doctest
import subprocess
import sys
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import pytest

from tests.docs.blocks import NO_RUN, PAGES, blocks, name_of
from tests.docs.internet import Internet

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


def printed(page: str) -> list[str]:
    """What the page says that its examples print, line by line."""
    lines = program(page).splitlines()
    told: list[str] = []
    for before, line in pairwise(lines):
        is_more = before.startswith("# ") and told[-1:] == [before[2:]]
        if line.startswith("# ") and (is_more or "print(" in before or before.startswith("asyncio.run(")):
            told.append(line[2:])
    return told


def run(
    path: Path, folder: Path, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the examples of a page in a folder that is also its reader's home."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", INTERPRETER, str(path)],
        input=program(path.read_text()),
        cwd=folder,
        env={"HOME": str(folder), "PATH": "/usr/local/bin:/usr/bin:/bin", **(environment or {})},
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
def test_the_examples_of_a_page_run_and_print_what_it_says(
    page: Path, tmp_path: Path, hosts: Internet
) -> None:
    ran = run(page, tmp_path, hosts.environment)
    assert ran.returncode == 0, ran.stderr
    told = printed(page.read_text())
    assert [line for line in ran.stdout.splitlines() if line in told] == told, ran.stdout


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


def test_comments_after_what_prints_say_what_it_prints() -> None:
    code = "# aside\nx = 1  # one\nprint(x)\n# 1\nasyncio.run(tell())\n# a\n# b\n\n# also aside\n"
    page = f"```python\n{code}```\n"
    assert printed(page) == ["1", "a", "b"]
