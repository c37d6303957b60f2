"""How two stories differ: each difference on a line of its own, with the path that leads there. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

_NOTHING = "<nothing>"


def differences(seen: Sequence[Any], expected: Sequence[Any]) -> list[str]:
    """Every difference between what was seen and what should have been."""
    return list(_between("", list(seen), list(expected)))


def _between(path: str, seen: Any, expected: Any) -> Iterator[str]:
    match seen, expected:
        case dict(), dict():
            for key in sorted({*seen, *expected}, key=str):
                yield from _between(f"{path}.{key}", seen.get(key, _NOTHING), expected.get(key, _NOTHING))
        case list(), list():
            for index in range(max(len(seen), len(expected))):
                yield from _between(_step(path, index, expected), *_at(index, seen, expected))
        case _:
            if seen != expected or type(seen) is not type(expected):
                yield f"{path}: {seen!r}, expected {expected!r}"


def _at(index: int, *lists: list[Any]) -> Iterator[Any]:
    for each in lists:
        yield each[index] if index < len(each) else _NOTHING


def _step(path: str, index: int, expected: list[Any]) -> str:
    """An index; at the root with the call that was made."""
    call = expected[index].get("call", "") if not path and index < len(expected) else ""
    return f"{path}[{index}{' ' if call else ''}{call}]"
