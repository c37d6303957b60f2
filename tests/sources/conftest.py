"""A renderer with the real tools and folders of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from trimtab.settings import ProgramsSettings, RenderingSettings
from trimtab.sources import Renderer


@pytest.fixture(scope="session")
def tools(helm: Path, kustomize: Path) -> str:
    """Where the real helm and kustomize are."""
    return f"{helm.parent}:{kustomize.parent}"


@pytest.fixture
def rendering(tmp_path: Path) -> RenderingSettings:
    return RenderingSettings(
        cache=str(tmp_path / "cache"),
        key=str(tmp_path / "apart" / "key"),
        folders=str(tmp_path / "private"),
        concurrency=2,
    )


@pytest.fixture
async def renderer(rendering: RenderingSettings, tools: str) -> AsyncIterator[Renderer]:
    async with Renderer(rendering, ProgramsSettings(fetch=False), path=tools) as renderer:
        yield renderer
