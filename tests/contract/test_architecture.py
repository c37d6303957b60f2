"""The house's own rules, checked in every run: floors, purity, doors, sizes, exported names."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "trimtab"
LONGEST_FUNCTION = 60
LONGEST_FILE = 800


def python_files() -> Iterator[Path]:
    for folder in ("src", "tests", "testbed", "scripts", "bench"):
        yield from sorted((ROOT / folder).rglob("*.py"))


class Seen(NamedTuple):
    """What the rules ask of a file."""

    path: str
    says_what_it_is_for: bool
    long_functions: list[str]


@cache
def seen() -> list[Seen]:
    """Every file, parsed once."""
    found = []
    for path in python_files():
        tree, name = ast.parse(path.read_text()), str(path.relative_to(ROOT))
        long = [
            f"{name}:{each.lineno} {each.name}" for each in functions(tree) if lines(each) > LONGEST_FUNCTION
        ]
        found.append(Seen(name, bool(ast.get_docstring(tree)), long))
    return found


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (function.end_lineno or 0) - function.lineno + 1


def test_the_import_contracts_hold() -> None:
    # In a process of its own: it sets up logging to its taste, for whoever comes after it.
    linter = Path(sys.executable).parent / "lint-imports"
    done = subprocess.run(
        [linter, "--config", ROOT / ".importlinter", "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_no_function_is_longer_than_sixty_lines() -> None:
    assert [name for file in seen() for name in file.long_functions] == []


def test_no_file_is_longer_than_eight_hundred_lines() -> None:
    long = [
        str(path.relative_to(ROOT))
        for path in python_files()
        if len(path.read_text().splitlines()) > LONGEST_FILE
    ]
    assert long == []


def test_every_module_says_what_it_is_for() -> None:
    silent = [file.path for file in seen() if not file.says_what_it_is_for]
    assert [path for path in silent if Path(path).name != "__init__.py"] == []


def test_nothing_is_called_utils_common_helpers_or_core() -> None:
    nameless = [
        str(path.relative_to(ROOT))
        for path in SOURCES.rglob("*")
        if path.stem in {"utils", "util", "common", "helpers", "helper", "core", "misc"}
    ]
    assert nameless == []
