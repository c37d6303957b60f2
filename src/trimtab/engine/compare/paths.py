"""Taking jq paths out of a value. Pure.

jq itself could do it (`del`), but it reads every number as a float: what it hands back of an object is not
what went in. So it is asked only for the paths, and what they name is taken out here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

#: names, places in lists, and parts of lists (`{"start": 0, "end": 2}`)
Path: TypeAlias = list[str | int | float | dict[str, float | None]]
#: the part of a list that is looked at; of anything else it means nothing
_Window: TypeAlias = range


class NoPath(ValueError):
    """What was given is no path into the value."""


def without_paths(value: dict[str, Any], paths: Iterable[Path]) -> dict[str, Any]:
    """The value less what the paths name, changed in place; what is not there is no problem."""
    doomed: dict[int, tuple[Any, set[Any]]] = {}
    for path in paths:
        found = _named(value, path)
        if found is not None:
            holder, keys = found
            doomed.setdefault(id(holder), (holder, set()))[1].update(keys)
    for holder, keys in doomed.values():
        for key in sorted(keys, reverse=True):
            del holder[key]
    return value


def _named(value: Any, path: Path) -> tuple[Any, Iterable[Any]] | None:
    """The map or list that holds what the path names, and under which keys; None if it is not there."""
    if not path:
        raise NoPath("it names the whole object")
    window = _all_of(value)
    for step in path[:-1]:
        keys, part = _keys(value, window, step)
        if part is not None:
            window = part
        elif not keys:
            return None
        else:
            value = value[keys[0]]
            window = _all_of(value)
    keys, part = _keys(value, window, path[-1])
    named = keys if part is None else tuple(part)
    return (value, named) if named else None


def _all_of(value: Any) -> _Window:
    return range(len(value)) if isinstance(value, list) else range(0)


def _keys(value: Any, window: _Window, step: Any) -> tuple[tuple[Any, ...], _Window | None]:
    """The key that a step means, if it is there; or the part of a list, if it means one."""
    match value, step:
        case None, _:
            return (), None
        case dict(), str():
            return ((step,) if step in value else ()), None
        case list(), {"start": start, "end": end}:
            return (), window[slice(_whole(start), _whole(end))]
        case list(), int() | float() if not isinstance(step, bool):
            place = int(step)
            return ((window[place],) if -len(window) <= place < len(window) else ()), None
        case _:
            raise NoPath("it goes where the object has nothing of that kind")


def _whole(number: float | None) -> int | None:
    return None if number is None else int(number)
