"""A folder that is read before its render is asked for: the same answer, and what changed since counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sources.conftest import settings_in
from trimtab.resources.yaml import documents
from trimtab.settings import ProgramsSettings
from trimtab.sources import FolderOrigin, Renderer, Request, reading_ahead, workers_for
from trimtab.sources.rendering import foreknown, work
from trimtab.sources.rendering.rendered import Rendered
from trimtab.sources.rendering.specs import SourceSpec

RED = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {colour: red}\n"
BLUE = RED.replace("red", "blue")


async def render(tmp_path: Path, *, ahead: bool, then: str = "") -> Rendered:
    """A render of `app`, with the folder read before by its worker or not, and maybe changed in between."""
    settings = settings_in(tmp_path / f"{ahead}-{then == BLUE}")
    root, workers = tmp_path / "source", workers_for(settings)
    (root / "app").mkdir(parents=True, exist_ok=True)
    (root / "app" / "x.yaml").write_text(RED)
    async with Renderer(settings, ProgramsSettings(fetch=False), path="", workers=workers) as renderer:
        renderer.use_key(b"k" * 32)
        await workers.hire(reading_ahead(str(root), "app") if ahead else None)
        if then:
            tree = FolderOrigin(path=str(root))
            await renderer.changed(tree, tree)  # a job of the same worker: it has heeded the hint
            (root / "app" / "x.yaml").write_text(then)
        request = Request(
            name="web", namespace="shop", spec=SourceSpec(path="app"), tree=FolderOrigin(path=str(root))
        )
        return await renderer.render(request)


async def test_a_render_is_the_same_whether_its_folder_was_read_before_or_not(tmp_path: Path) -> None:
    assert await render(tmp_path, ahead=True) == await render(tmp_path, ahead=False)


async def test_a_file_that_was_changed_since_it_was_read_says_what_it_says_now(tmp_path: Path) -> None:
    changed = await render(tmp_path, ahead=True, then=BLUE)
    (one,) = changed.manifests
    assert one.manifest()["data"] == {"colour": "blue"}


def test_what_was_read_is_given_away_once_and_only_for_the_same_text(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "x.yaml").write_text(RED)
    work.read_ahead(reading_ahead(str(tmp_path), "app").payload)
    assert foreknown.given("app/x.yaml", BLUE.encode()) == ()
    assert foreknown.given("app/x.yaml", RED.encode()) == documents(RED, "app/x.yaml")
    assert foreknown.given("app/x.yaml", RED.encode()) == ()


@pytest.mark.parametrize("name", ["Chart.yaml", "kustomization.yaml"])
def test_nothing_is_read_ahead_of_what_a_program_renders(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("name: x\n")
    (tmp_path / "x.yaml").write_text(RED)
    work.read_ahead(reading_ahead(str(tmp_path), "").payload)
    assert foreknown.given("x.yaml", RED.encode()) == ()


def test_no_more_is_read_ahead_than_a_bound(tmp_path: Path) -> None:
    large = f"{RED}# {'x' * (9 << 20)}\n"
    for name in ("a.yaml", "b.yaml", "c.yaml"):
        (tmp_path / name).write_text(large)
    work.read_ahead(reading_ahead(str(tmp_path), "").payload)
    known = {name: foreknown.given(name, large.encode()) != () for name in ("a.yaml", "b.yaml", "c.yaml")}
    assert known == {"a.yaml": True, "b.yaml": False, "c.yaml": False}
