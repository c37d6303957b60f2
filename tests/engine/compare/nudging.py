"""Small random changes to manifests: another value, something removed, emptied or reordered."""

from __future__ import annotations

import copy
from random import Random
from typing import Any


def nudged(random: Random, value: Any) -> Any:
    """The value with one small thing changed, taken out, emptied or put in another order."""
    value = copy.deepcopy(value)
    place: Any = {name: part for name, part in value.items() if name in ("metadata", "spec", "data")}
    for _ in range(random.randrange(1, 7)):
        parts = place.values() if isinstance(place, dict) else place
        inner = [each for each in parts if each and isinstance(each, dict | list)]
        if not inner:
            break
        place = random.choice(inner)
    _nudge(random, place)
    return value


def _nudge(random: Random, place: Any) -> None:
    if isinstance(place, list) and place:
        random.choice([place.pop, place.reverse, place.clear])()
    elif isinstance(place, dict) and place:
        name = random.choice(sorted(place))
        if name == "name":
            return
        match random.randrange(3):
            case 0:
                del place[name]
            case 1 if isinstance(place[name], str):
                place[name] = random.choice(["x", "y", "1"])
            case _:
                place[name] = random.choice([None, {}, []])
