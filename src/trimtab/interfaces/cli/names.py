"""Names on a command line, as types of arguments and options: what cannot be one is refused there."""

from __future__ import annotations

from typing import Any, Final

import click
from click.core import ParameterSource

from trimtab.resources.names import is_namespace_name


class _Name(click.ParamType[str]):
    """The name of an app or of a source; a variable that is not set must not come to mean `here`."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not str(value).strip():
            self.fail("It is empty.", param, ctx)
        return str(value)


class _Namespace(click.ParamType[str]):
    """The name of a namespace; where it may be left out, an empty one is none, as for kubectl."""

    name = "text"

    def __init__(self, *, is_needed: bool) -> None:
        self._is_needed = is_needed

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return checked_namespace(str(value)) if value or self._is_needed else ""


class _Namespaces(click.ParamType[tuple[str, ...]]):
    """Names of namespaces with commas between them; none would mean all, which nobody means who gives it."""

    name = "text"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        found = namespaces_in(value) if isinstance(value, str) else tuple(value)
        if not found:
            self.fail(f"{value!r} names no namespace; without --namespaces all are kept.", param, ctx)
        return found


def not_empty(context: click.Context, option: click.Parameter, word: str) -> str:
    """What an option says, which may be left out; a variable that is not set must not come to mean that."""
    is_said = context.get_parameter_source(option.name or "") is ParameterSource.COMMANDLINE
    if is_said and not word.strip():
        raise click.BadParameter("It is empty.")
    return word


def namespaces_in(listed: str) -> tuple[str, ...]:
    """The namespaces that a list with commas names, each once."""
    names = dict.fromkeys(each.strip() for each in listed.split(",") if each.strip())
    return tuple(checked_namespace(name) for name in names)


def checked_namespace(name: str) -> str:
    """The name, if a namespace may have it; nothing could ever be synced to any other."""
    if not is_namespace_name(name):
        raise click.BadParameter(f"{name!r} is not the name of a namespace.")
    return name


NAME: Final = _Name()
NAMESPACE: Final = _Namespace(is_needed=False)
#: where nobody who gives an empty one can mean the usual one
SOME_NAMESPACE: Final = _Namespace(is_needed=True)
NAMESPACES: Final = _Namespaces()
