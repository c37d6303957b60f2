"""Where the files of a user belong: below the folders that the XDG variables name, where they do. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

#: what stands in a default → the variable that names another folder for it
BASES: Final = {
    "~/.cache/": "XDG_CACHE_HOME",
    "~/.config/": "XDG_CONFIG_HOME",
    "~/.local/state/": "XDG_STATE_HOME",
}


class Usual(str):
    """A path that nobody named: unlike one that somebody did, it may well lead to nothing."""

    __slots__ = ()


def placed(path: str, environment: Mapping[str, str]) -> tuple[str, str]:
    """The path where this user keeps such files, and the variable that says so, if one does.

    A folder that is not named from the root counts as not named, as the XDG specification asks for.
    """
    for base, variable in BASES.items():
        folder = environment.get(variable, "")
        if path.startswith(base) and folder.startswith("/"):
            return f"{folder.rstrip('/')}/{path.removeprefix(base)}", variable
    return path, ""
