"""Every command that a message tells somebody to run is one that the command understands, with its options.

Messages are read from the source: all strings but for docstrings, with what is filled in replaced by a word.
What such a command does in the circumstance that it is told in is tried in `tests/features/test_remedies.py`.
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path

import click
import pytest

import trimtab as package
from tests.interfaces.cli.understanding import told_in, understood
from trimtab.interfaces.cli.verbs import VERBS, trimtab

SOURCE = Path(package.__file__).parent
#: what stands for all that is filled in: an app, an entry of its history, a file
SOMETHING = "1"
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
#: options of others that messages speak of: git's and kubectl's
OTHERS = {"--depth", "--shallow", "--flatten", "--minify", "--previous", "--help"}


def texts() -> Iterator[tuple[str, str]]:
    """Every text of the source that may be shown, and where it is."""
    for file in sorted(SOURCE.rglob("*.py")):
        source = file.read_text(encoding="utf-8")
        if not re.search("trimtab [a-z]|--[a-z]", source):
            continue
        tree = ast.parse(source)
        scopes: list[ast.Module | ast.FunctionDef] = [tree]
        scopes += [each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)]
        for scope in scopes:
            names = {**dict(_named(scope)), **_flags(tree, scope)}
            for node in _strings(scope):
                where = f"{file.relative_to(SOURCE)}:{node.lineno}"
                yield from ((where, text) for text in _spelt(node, names))


def _flags(tree: ast.Module, scope: ast.Module | ast.FunctionDef) -> dict[str, tuple[str, ...]]:
    """The options that a function is handed for the command that it spells, if it is handed some."""
    if isinstance(scope, ast.Module) or "flags" not in {each.arg for each in scope.args.args}:
        return {}
    calls = (each for each in ast.walk(tree) if isinstance(each, ast.Call))
    ours = (each for each in calls if isinstance(each.func, ast.Name) and each.func.id == scope.name)
    given = (each.value for call in ours for each in call.args if isinstance(each, ast.Constant))
    return {"flags": ("", *(each for each in given if isinstance(each, str)))}


def _named(scope: ast.AST) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Names that stand for a text in a function."""
    for each in ast.walk(scope):
        if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name):
            spelt = tuple(_spelt(each.value, {}))
            yield from [(each.targets[0].id, spelt)] if spelt else []


def _strings(scope: ast.AST) -> Iterator[ast.JoinedStr | ast.Constant]:
    """The strings of a function, or of a module beside its functions, but for docstrings."""
    inside: set[int] = set()
    for node in ast.walk(scope):
        if isinstance(node, ast.FunctionDef) and node is not scope:
            inside |= {id(each) for each in ast.walk(node)}
        if isinstance(node, ast.Expr | ast.JoinedStr):
            inside |= {id(each) for each in ast.iter_child_nodes(node)}
    found = (each for each in ast.walk(scope) if id(each) not in inside)
    yield from (each for each in found if isinstance(each, ast.JoinedStr | ast.Constant))


def _spelt(node: ast.expr, names: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    """What a string may say, with something in the place of what is filled in."""
    if isinstance(node, ast.Constant):
        yield from (node.value,) if isinstance(node.value, str) else ()
    elif isinstance(node, ast.JoinedStr):
        parts = [tuple(_spelt(each, names)) for each in node.values]
        yield from ("".join(each) for each in product(*parts))
    elif isinstance(node, ast.FormattedValue):
        known = names.get(node.value.id) if isinstance(node.value, ast.Name) else None
        yield from known or (SOMETHING,)
    elif isinstance(node, ast.IfExp):
        yield from (*_spelt(node.body, names), *_spelt(node.orelse, names))


TEXTS = tuple(texts())


COMMANDS = sorted({(where, words) for where, text in TEXTS for words in told_in(text)})


def test_the_source_is_full_of_commands() -> None:
    told = {words for _, words in COMMANDS}
    some = {
        "cluster up",
        "delete 1 --skip-hooks",
        "resume 1",
        "rollback 1 1 --prune --confirm-deletions",
        "sync 1 --adopt",
    }
    assert some <= told, "they are found, whatever they are put together from"
    assert len({words.split()[0] for words in told}) > len(VERBS) / 2


@pytest.mark.parametrize(("where", "words"), COMMANDS, ids=[f"{at} {words}" for at, words in COMMANDS])
def test_every_command_that_is_told_is_understood(where: str, words: str) -> None:
    try:
        understood(shlex.split(words))
    except (click.MissingParameter, click.exceptions.NoArgsIsHelpError):
        pass  # it is spoken of, and whoever runs it says what about
    except click.UsageError as error:
        if error.format_message().endswith("requires an argument."):
            return  # likewise
        raise AssertionError(f"{where} tells of `trimtab {words}`: {error.format_message()}") from error


def options_of(command: click.Command) -> Iterator[str]:
    """The options of a verb and of those below it."""
    for each in command.params:
        yield from (*each.opts, *each.secondary_opts)
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            yield from options_of(found) if found is not None else ()


def test_every_option_that_a_sentence_speaks_of_is_there() -> None:
    known = {*options_of(trimtab)} | OTHERS
    unknown = [
        (where, option)
        for where, text in TEXTS
        for option in OPTION.findall(text)
        if " " in text.strip() and option not in known
    ]
    assert unknown == []
