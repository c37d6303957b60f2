"""The operator's own program comes first, if it is new enough; otherwise the reason is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from trimtab import programs
from trimtab.errors import InvalidSpec, Missing
from trimtab.programs import find
from trimtab.programs.finding import version_in
from trimtab.programs.pins import KNOWN, Known, Version
from trimtab.settings import ProgramsSettings

TOOL = {"tool": Known(ask=("version",), minimum=(3, 8, 0), arguments=("build",))}


def test_the_door_exports_exactly_this() -> None:
    assert programs.__all__ == [
        "Finished",
        "Launches",
        "Limits",
        "NotKept",
        "Program",
        "ProgramStopped",
        "Progress",
        "Tell",
        "Walls",
        "find",
        "limits_of",
        "run",
        "said_once",
        "silently",
        "walls",
    ]


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("v3.17.3+ge4da497", (3, 17, 3)),
        ("Client Version: v1.32.4-dispatcher\nKustomize Version: v5.5.0", (1, 32, 4)),
        ("git version 2.39", (2, 39, 0)),
        ('version.BuildInfo{Version:"v4.2.3", GoVersion:"go1.26.5"}', (4, 2, 3)),
        ("at 10.0.0.1 nothing", None),
        ("", None),
        ("v1", None),
    ],
)
def test_a_version_is_read_from_what_programs_say(text: str, version: Version | None) -> None:
    assert version_in(text) == version


def install(folder: Path, script: str) -> str:
    folder.mkdir(exist_ok=True)
    (folder / "tool").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "tool").chmod(0o755)
    return str(folder)


async def test_what_path_has_is_taken(tmp_path: Path) -> None:
    path = install(tmp_path / "bin", "[ $1 = version ] && echo tool v3.9.1")
    program = await find("tool", path=path, known=TOOL)
    assert (program.path, program.version, program.origin) == (tmp_path / "bin/tool", (3, 9, 1), "PATH")
    assert program.command == (f"{tmp_path}/bin/tool", "build")


OWN = {"tool": Known(ask=("version",), minimum=(3, 8, 0), arguments=("build",), own_build="trimtab-tool")}


@pytest.mark.parametrize(
    ("theirs", "ours", "found", "many"),
    [
        ("v3.9.1", "v3.9.1", "tool", "trimtab-tool"),
        ("v3.9.1", "v3.9.2", "tool", None),
        ("v3.9.1", "", "tool", None),
        ("", "v3.9.2", "trimtab-tool", "trimtab-tool"),
        ("v3.7.0", "v3.9.2", "trimtab-tool", "trimtab-tool"),
    ],
)
async def test_our_own_build_stands_beside_a_program_of_its_version_and_in_for_one_that_is_missing(
    tmp_path: Path, theirs: str, ours: str, found: str, many: str | None
) -> None:
    folder = tmp_path / "bin"
    if ours:
        install(folder, f"echo {ours}")
        (folder / "tool").rename(folder / "trimtab-tool")
    path = install(folder, f"echo {theirs}") if theirs else str(folder)
    program = await find("tool", path=path, known=OWN)
    assert (program.path, program.many) == (folder / found, folder / many if many else None)
    assert (program.name, program.arguments) == ("tool", ("build",))


async def test_a_program_nobody_knows_is_taken_as_it_is(tmp_path: Path) -> None:
    path = install(tmp_path / "bin", "exit 1")
    program = await find("tool", path=path, known={})
    assert (program.version, program.arguments) == (None, ())


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo v3.7.9", "is too old (3.7.9)"),
        ("echo v3.9.0; exit 1", "does not say its version"),
        ("echo hello", "does not say its version"),
    ],
)
async def test_an_unsuitable_program_is_named_with_the_remedy(
    tmp_path: Path, script: str, reason: str
) -> None:
    path = install(tmp_path / "bin", script)
    with pytest.raises(Missing) as caught:
        await find("tool", path=path, known=TOOL, machine="riscv64")
    assert str(caught.value) == (
        f"tool: {tmp_path}/bin/tool {reason}, and there is no pinned package of it for riscv64. "
        "Install tool 3.8.0 or later on PATH."
    )


async def test_a_caller_may_ask_for_more(tmp_path: Path) -> None:
    path = install(tmp_path / "bin", "echo v3.9.0")
    with pytest.raises(Missing, match=r"Install tool 3\.10\.0 or later"):
        await find("tool", path=path, known=TOOL, minimum=(3, 10, 0))


async def test_fetching_can_be_switched_off(tmp_path: Path) -> None:
    settings = ProgramsSettings(fetch=False, cache=str(tmp_path))
    with pytest.raises(Missing) as caught:
        await find("helm", path="", settings=settings, machine="x86_64")
    assert caught.value.reason == "it is not on PATH, and fetching is switched off"


async def test_a_machine_without_a_pin_is_told_so() -> None:
    with pytest.raises(Missing) as caught:
        await find("helm", path="", machine="aarch64")
    assert caught.value.reason == "it is not on PATH, and there is no pinned package of it for aarch64"


@pytest.mark.parametrize("name", ["", "./tool", "/bin/sh", "../tool"])
async def test_only_bare_names_are_looked_for(name: str) -> None:
    with pytest.raises(InvalidSpec):
        await find(name, path="/bin")


def test_every_pin_is_new_enough_and_whole() -> None:
    for known in KNOWN.values():
        for pin in known.pins.values():
            assert pin.version >= known.minimum
            assert (len(pin.sha256), len(pin.program_sha256)) == (64, 64)
