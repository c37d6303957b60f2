"""Doors of packages that open when somebody comes: a name is imported when it is first asked for.

What a door offers often needs much that most who come by never use, and a short command pays for every
import. Type checkers see ordinary imports; what they see and what is opened here must be the same.
"""

from __future__ import annotations

import sys
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:  # a door costs nothing, not even this
    from collections.abc import Callable, Mapping
    from typing import Any


def opened_when_asked(package: str, places: Mapping[str, tuple[str, ...]]) -> Callable[[str], Any]:
    """The `__getattr__` of a package whose names are found in these modules of it."""
    modules = {name: module for module, names in places.items() for name in names}

    def ask(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(f"{package}.{modules[name]}"), name)
        setattr(sys.modules[package], name, found)
        return found

    return ask
