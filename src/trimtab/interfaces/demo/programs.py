"""The programs that the sample needs to be rendered: found or fetched before the story begins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import click

from trimtab.errors import Unavailable
from trimtab.programs import NotKept, Program, find, said_once
from trimtab.settings import ProgramsSettings
from trimtab.tasks.clock import Clock
from trimtab.tasks.loops import run_main

NEEDED: Final = ("helm", "kustomize")


def find_programs(environment: Mapping[str, str], settings: ProgramsSettings, clock: Clock) -> None:
    """Have helm and kustomize at hand, and say where they come from; of fetching, also how long it took."""
    started = clock.monotonic()
    found = run_main(_find(environment.get("PATH", ""), settings))
    if any(program.origin == "fetched" for program in found):
        click.echo(f"set-up took {clock.monotonic() - started:.1f} s")


def lacking(name: str, error: Unavailable) -> Unavailable:
    """What the demo says where it lacks a program; a folder that cannot keep one has advice of its own."""
    reason = f"the sample needs {name}, which is not on PATH and could not be fetched: {error.reason}"
    rather = f"Install {name}, or run this with a network once"
    return Unavailable("the demo", reason, error.remedy if isinstance(error, NotKept) else rather)


async def _find(path: str, settings: ProgramsSettings) -> list[Program]:
    tell, found = said_once(click.echo), []
    for name in NEEDED:
        try:
            program = await find(name, path=path, settings=settings, tell=tell)
        except Unavailable as error:
            raise lacking(name, error) from error
        version = ".".join(map(str, program.version or ()))
        click.echo(f"{name} {version}, from {'PATH' if program.origin == 'PATH' else 'the pinned package'}")
        found.append(program)
    return found
