"""One `Settings` out of file, environment and flags; every complaint says which of them is wrong. Pure.

Flags beat the environment, the environment beats the file, the file beats the defaults. Nothing is guessed:
an unknown name, a wrong type or a value out of range is an `InvalidSpec`, even where a stronger layer would
have hidden it. Reading the file and the environment is the business of `trimtab.interfaces`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import TypeVar

from msgspec import Struct
from msgspec.inspect import StructType, Type, type_info

from trimtab.errors import InvalidSpec
from trimtab.settings import Settings
from trimtab.settings.places import placed
from trimtab.settings.shapes import Nothing, Shape, shape_of

PREFIX = "TRIMTAB_"
DEFAULT = "default"

S = TypeVar("S", bound=Struct)


class Field(Struct, frozen=True, kw_only=True):
    """One thing that can be set."""

    group: str
    name: str
    shape: Shape
    default: object

    @property
    def key(self) -> str:
        """How the file and `--setting` name it."""
        return f"{self.group}.{self.name}"

    @property
    def variable(self) -> str:
        """How the environment names it."""
        return f"{PREFIX}{self.group}__{self.name}".upper()


class Effective(Struct, frozen=True, kw_only=True):
    """A setting as it holds, and who said so."""

    field: Field
    value: object
    origin: str


def merged(
    file: Mapping[str, object],
    environment: Mapping[str, str],
    flags: Mapping[str, str],
    *,
    path: str = "the settings file",
) -> Settings:
    """The settings that hold; `path` names the file in complaints."""
    return built(Settings, effective(Settings, file, environment, flags, path=path))


def built(kind: type[S], values: Iterable[Effective]) -> S:
    """The settings of these values, one struct per group."""
    groups: dict[str, dict[str, object]] = {}
    for one in values:
        groups.setdefault(one.field.group, {})[one.field.name] = one.value
    return kind(**{name: type(getattr(kind(), name))(**group) for name, group in groups.items()})


def effective(
    kind: type[Struct],
    file: Mapping[str, object],
    environment: Mapping[str, str],
    flags: Mapping[str, str],
    *,
    path: str,
) -> tuple[Effective, ...]:
    """Every setting with its value and its origin, the strongest layer winning."""
    known = {field.key: field for field in fields_of(kind)}
    layers = {
        **{key: _by_default(field, environment) for key, field in known.items()},
        **_from_file(known, file, path),
        **_from_environment(known, environment),
        **_from_flags(known, flags),
    }
    return tuple(layers.values())


def _by_default(field: Field, environment: Mapping[str, str]) -> Effective:
    """The setting that nobody made; a place of the user's is where the environment has such places."""
    if not isinstance(field.default, str):
        return Effective(field=field, value=field.default, origin=DEFAULT)
    path, variable = placed(field.default, environment)
    origin = f"{DEFAULT}, below {variable}" if variable else DEFAULT
    return Effective(field=field, value=type(field.default)(path), origin=origin)


def fields_of(kind: type[Struct]) -> tuple[Field, ...]:
    """Everything that can be set, in the order of its description."""
    return tuple(
        Field(group=group.name, name=field.name, shape=shape_of(field.type), default=field.default)
        for group in _struct(type_info(kind)).fields
        for field in _struct(group.type).fields
    )


def _struct(kind: Type) -> StructType:
    if not isinstance(kind, StructType):
        raise TypeError(f"settings are structs of structs, not {kind!r}")
    return kind


def _from_file(known: Mapping[str, Field], file: Mapping[str, object], path: str) -> dict[str, Effective]:
    groups = {field.group for field in known.values()}
    found = {}
    for group, entries in file.items():
        if group not in groups:
            raise _unknown(f"{path}: {group}", "group of settings", group, groups)
        if not isinstance(entries, Mapping):
            raise InvalidSpec(f"{path}: {group}", "it is a group of settings", f"Write [{group}] above them")
        for name, raw in entries.items():
            key = f"{group}.{name}"
            field = _known(known, key, f"{path}: {key}")
            found[key] = _checked(field, field.shape.read(raw), f"{path}: {key}", raw)
    return found


def _from_environment(known: Mapping[str, Field], environment: Mapping[str, str]) -> dict[str, Effective]:
    variables = {field.variable: field for field in known.values()}
    lookalikes = {name.replace("__", "_"): name for name in variables}
    found = {}
    for name, text in environment.items():
        subject = f"environment variable {name}"
        if name in variables and text:
            field = variables[name]
            found[field.key] = _checked(field, field.shape.read_text(text.strip()), subject, text)
        elif name not in variables and name in lookalikes:
            raise InvalidSpec(subject, "it is not a setting", f"Did you mean {lookalikes[name]}?")
        elif name not in variables and name.startswith(PREFIX) and "__" in name:
            raise _unknown(subject, "setting", name, variables)
    return found


def _from_flags(known: Mapping[str, Field], flags: Mapping[str, str]) -> dict[str, Effective]:
    found = {}
    for key, text in flags.items():
        field = _known(known, key, f"--setting {key}")
        found[key] = _checked(field, field.shape.read_text(text.strip()), f"--setting {key}", text)
    return found


def _known(known: Mapping[str, Field], key: str, subject: str) -> Field:
    if key not in known:
        raise _unknown(subject, "setting", key, known)
    return known[key]


def _unknown(subject: str, what: str, name: str, known: Iterable[str]) -> InvalidSpec:
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.8)
    remedy = f"Did you mean {near[0]}?" if near else "`trimtab settings` lists them all"
    return InvalidSpec(subject, f"there is no such {what}", remedy)


def _checked(field: Field, value: object, subject: str, raw: object) -> Effective:
    """The value with its origin, or a complaint when there was none to read."""
    if value is None:
        reason = f"{_clipped(raw)} is not {field.shape.expected}"
        raise InvalidSpec(subject, reason, f"The default is {field.shape.written(field.default) or 'empty'}")
    return Effective(field=field, value=None if value is Nothing.NOTHING else value, origin=subject)


def _clipped(raw: object) -> str:
    text = repr(raw)
    return text if len(text) <= 60 else f"{text[:57]}..."
