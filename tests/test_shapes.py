"""Types are worked out when modules are imported: a thread that meets a half-made one ends the process."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from msgspec import Struct

import trimtab
from trimtab.shapes import Shape

SOURCES = Path(trimtab.__file__).parent
READS = ("json.decode", "msgpack.decode", "yaml.decode", "toml.decode", "convert")
MAKES = ("Decoder", "Shape")


class Port(Struct):
    number: int


class Name(str):
    __slots__ = ()


class Named(Struct):
    name: Name


def test_a_value_is_turned_into_its_shape_from_plain_values_and_from_json() -> None:
    shape = Shape(Port)
    assert shape.of({"number": 80}) == shape.from_json(b'{"number": 80}') == Port(80)


def test_what_does_not_fit_is_said() -> None:
    with pytest.raises(msgspec.ValidationError, match=r"Expected `int`, got `str` - at `\$.number`"):
        Shape(Port).of({"number": "http"})


def test_what_msgspec_does_not_know_is_made_by_the_hook() -> None:
    shape = Shape(Named, dec_hook=lambda wanted, value: wanted(f"the {value}"))
    assert shape.of({"name": "shop"}) == shape.from_json('{"name": "shop"}') == Named(Name("the shop"))


def calls(tree: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    """Every call in a tree, and what is called."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


def late(source: str) -> list[int]:
    """The lines at which a type may be worked out after its module was imported."""
    tree = ast.parse(source)
    named = {
        node.lineno
        for called, node in calls(tree)
        if called.removeprefix("msgspec.") in READS
        and called.startswith("msgspec.")
        and (len(node.args) > 1 or node.keywords)
    }
    functions = (each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef))
    made = {
        node.lineno
        for function in functions
        for statement in function.body
        for called, node in calls(statement)
        if called.rpartition(".")[2] in MAKES
    }
    return sorted(named | made)


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("import msgspec\nX = msgspec.json.Decoder(int)\ndef f(raw): return X.decode(raw)", []),
        ("import msgspec\ndef f(raw): return msgspec.json.decode(raw)", []),
        ("import msgspec\ndef f(raw): return msgspec.json.decode(raw, type=Port)", [2]),
        ("import msgspec\ndef f(raw): return msgspec.convert(raw, Port)", [2]),
        ("import msgspec\ndef f(raw):\n    x = msgspec.msgpack.Decoder(Port)\n    return x.decode(raw)", [3]),
        ("from trimtab.shapes import Shape\nasync def f(raw): return Shape(Port).of(raw)", [2]),
    ],
)
def test_the_look_for_types_that_are_worked_out_late_finds_them(source: str, lines: list[int]) -> None:
    assert late(source) == lines


def test_no_type_is_worked_out_after_its_module_was_imported() -> None:
    found = {
        str(path.relative_to(SOURCES)): lines
        for path in sorted(SOURCES.rglob("*.py"))
        if "msgspec" in (text := path.read_text()) or "Shape" in text
        if path != SOURCES / "shapes.py" and (lines := late(text))
    }
    assert found == {}
