"""Over the whole corpus: rendered output is what the tools print when people run them by hand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from trimtab.resources.manifests import found_in
from trimtab.resources.yaml import documents
from trimtab.settings import ProgramsSettings, RenderingSettings
from trimtab.sources import Renderer

from .corpora import NAMES, case, shell


def by_hand(name: str, folder: Path, tools: str) -> list[Any]:
    printed = shell(case(name).by_hand, case(name).written(folder, tools), tools)
    return [found.manifest for found in found_in(documents(printed, name))]


async def test_rendered_output_equals_what_the_tools_print(
    tmp_path: Path, rendering: RenderingSettings, tools: str
) -> None:
    async with Renderer(rendering, ProgramsSettings(fetch=False), path=tools) as renderer:
        for name in NAMES:
            folder = case(name).written(tmp_path / name / "ours", tools)
            rendered = await renderer.render(case(name).request(folder))
            ours = [made.manifest() for made in rendered.manifests]
            assert ours == by_hand(name, tmp_path / name / "theirs", tools), name
            assert rendered.tool.value.replace("directory", "plain") == name.partition("-")[0], name
            assert ours, name


def test_the_corpus_is_large_enough() -> None:
    assert len([name for name in NAMES if re.match("helm|kustomize", name)]) >= 40
