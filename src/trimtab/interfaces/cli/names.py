"""Names on a command line, as types of arguments and options: what cannot be one is refused there."""

from __future__ import annotations

import re
from typing import Any, Final

import click

_NAMESPACE: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


class _Name(click.ParamType[str]):
    """The name of an app or of a source; a variable that is not set must not come to mean `here`."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not str(value).strip():
            self.fail("It is empty.", param, ctx)
        return str(value)


class _Namespace(click.ParamType[str]):
    """The name of a namespace; an empty one is none, as for kubectl."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return checked_namespace(str(value)) if value else ""


def checked_namespace(name: str) -> str:
    """The name, if a namespace may have it; nothing could ever be synced to any other."""
    if not _NAMESPACE.fullmatch(name):
        raise click.BadParameter(f"{name!r} is not the name of a namespace.")
    return name


NAME: Final = _Name()
NAMESPACE: Final = _Namespace()
