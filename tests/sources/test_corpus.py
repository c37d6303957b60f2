"""Over the whole corpus: rendered output is what the tools print when people run them by hand, also for those
who share a process, and whoever edits a file that they open changes the key.

Which files they open is read off the file system, where it notes when a file was last read.
"""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct, structs

from trimtab.resources.manifests import Manifest, found_in
from trimtab.resources.yaml import documents
from trimtab.settings import ProgramsSettings, RenderingSettings
from trimtab.sources import FolderTree, Renderer
from trimtab.sources.rendering.looking import MAIN, still_true
from trimtab.sources.rendering.rendered import Look
from trimtab.sources.trees import Tree

from .corpora import NAMES, Case, case, shell


class ByHand(Struct, frozen=True):
    """What a person sees who runs the tools in a checkout, and the files that the tools opened."""

    manifests: list[Manifest]
    opened: frozenset[str]


Answers: TypeAlias = dict[str, list[Manifest]]


def by_hand(one: Case, folder: Path, tools: str) -> ByHand:
    one.written(folder, tools)
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    for path in files:
        os.utime(path, (1, path.stat().st_mtime))
    printed = shell(one.by_hand, folder, tools)
    opened = {path.relative_to(folder) for path in files if path.exists() and path.stat().st_atime > 1}
    manifests = [found.manifest for found in found_in(documents(printed, one.name))]
    return ByHand(manifests, frozenset(map(str, opened)))


def trees(one: Case, folder: Path) -> dict[str, Tree]:
    return {MAIN: FolderTree(folder), **{name: FolderTree(folder / path) for name, path in one.refs.items()}}


def overlooked(one: Case, folder: Path, opened: frozenset[str], looks: tuple[Look, ...]) -> list[str]:
    """Files that could be edited without changing the key."""
    found = []
    for path in sorted(opened - {"own.yaml"}):  # the values of the spec are no file of the repository
        original = (folder / path).read_bytes()
        (folder / path).write_bytes(original + b"\n")
        if still_true(looks, trees(one, folder)):
            found.append(path)
        (folder / path).write_bytes(original)
    return found


async def test_rendered_output_equals_what_the_tools_print_and_its_key_names_all_that_they_open(
    tmp_path: Path, rendering: RenderingSettings, tools: str, own_builds: str
) -> None:
    opened, right = 0, {}
    async with Renderer(rendering, ProgramsSettings(fetch=False), path=tools) as renderer:
        for name in NAMES:
            one = case(name)
            folder = one.written(tmp_path / name / "ours", tools)
            rendered = await renderer.render(one.request(folder))
            ours = [made.manifest() for made in rendered.manifests]
            theirs = by_hand(one, tmp_path / name / "theirs", tools)
            assert ours == theirs.manifests, name
            assert ours, name
            assert rendered.tool.value.replace("directory", "plain") == name.partition("-")[0], name
            assert still_true(rendered.read, trees(one, folder)), name
            assert overlooked(one, folder, theirs.opened, rendered.read) == [], name
            opened += len(theirs.opened)
            if can_be_in_one_repository(one):
                one.written(tmp_path / "repository" / name, tools)
                right[name] = ours
    assert opened > 100 or not notes_reads(tmp_path)
    for answers in await in_company([*right], tmp_path / "repository", rendering, f"{tools}:{own_builds}"):
        assert answers == right
    assert len(right) >= 40


def can_be_in_one_repository(one: Case) -> bool:
    """Whether a case means the same below a folder of its own: nothing in it is named from the root."""
    return one.name.startswith(("helm", "kustomize")) and not one.refs and "'/" not in str(one.spec)


async def in_company(names: list[str], folder: Path, settings: RenderingSettings, path: str) -> list[Answers]:
    """What each is given of those who ask at once and share processes, in one order and in the other."""

    async def rendered(renderer: Renderer, name: str) -> list[Manifest]:
        one = structs.replace(case(name), path=f"{name}/{case(name).path}")
        made = await renderer.render(one.request(folder))
        return [each.manifest() for each in made.manifests]

    answers = []
    for number, order in enumerate((names, [*reversed(names)])):
        anew = structs.replace(settings, cache=f"{settings.cache}-{number}")
        async with Renderer(anew, ProgramsSettings(fetch=False), path=path) as renderer:
            async with asyncio.TaskGroup() as group:
                asked = {name: group.create_task(rendered(renderer, name)) for name in order}
            assert renderer.shared > len(names) - 10
        answers.append({name: task.result() for name, task in asked.items()})
    return answers


def notes_reads(folder: Path) -> bool:
    """Whether this file system notes when a file was read."""
    probe = folder / "probe"
    probe.write_text("x")
    os.utime(probe, (1, probe.stat().st_mtime))
    probe.read_text()
    return probe.stat().st_atime > 1


def test_the_corpus_is_large_enough() -> None:
    assert len([name for name in NAMES if re.match("helm|kustomize", name)]) >= 40
