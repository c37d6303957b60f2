"""Trees without end: small in the object store, endless when walked."""

from __future__ import annotations

import pytest

from tests.sources.memorytree import MemoryTree
from trimtab.errors import SourceRefused
from trimtab.sources.rendering.generators import GENERATORS
from trimtab.sources.rendering.jobs import Bounds, Job
from trimtab.sources.rendering.looking import MAIN, Trees
from trimtab.sources.rendering.rendered import Tool
from trimtab.sources.rendering.specs import Directory, SourceSpec
from trimtab.sources.trees import Entry, EntryKind

CHART = "apiVersion: v2\nname: web\nversion: 1.0.0\n"


class EndlessTree(MemoryTree):
    """Every folder called `bomb` holds two more, and nothing else, as one tree object can say twice."""

    def entry(self, path: str) -> Entry | None:
        if "bomb" in path.split("/"):
            return Entry(name=path.rpartition("/")[2], kind=EntryKind.FOLDER, id="bomb")
        return super().entry(path)

    def entries(self, path: str) -> tuple[Entry, ...]:
        if "bomb" in path.split("/"):
            return tuple(Entry(name=name, kind=EntryKind.FOLDER, id="bomb") for name in ("a", "b"))
        return super().entries(path)


@pytest.mark.parametrize(
    ("tool", "files"),
    [
        (Tool.DIRECTORY, {"app/bomb/x": ""}),
        (Tool.HELM, {"app/Chart.yaml": CHART, "app/bomb/x": ""}),
        (
            Tool.KUSTOMIZE,
            {"app/kustomization.yaml": "transformers: [t.yaml]", "app/t.yaml": "", "app/bomb/x": ""},
        ),
    ],
)
def test_folders_that_hold_nothing_but_folders_are_refused(tool: Tool, files: dict[str, str]) -> None:
    spec = SourceSpec(path="app", directory=Directory(recurse=True))
    job = Job(name="web", namespace="shop", spec=spec, bounds=Bounds(files=500))
    with pytest.raises(SourceRefused, match=r"more than 500 folders|nested too deep"):
        GENERATORS[tool](job, Trees({MAIN: EndlessTree(files)}, "web"), "app")


def test_links_that_lead_round_in_a_local_dependency_are_refused() -> None:
    dependency = "dependencies: [{name: sub, version: 1.0.0, repository: 'file://../sub'}]\n"
    files = {
        "app/Chart.yaml": CHART + dependency,
        "sub/Chart.yaml": CHART.replace("web", "sub"),
        "sub/d/a": "-> .",
        "sub/d/b": "-> .",
    }
    job = Job(name="web", namespace="shop", spec=SourceSpec(path="app"), bounds=Bounds(files=500))
    with pytest.raises(SourceRefused, match="more than 500 folders"):
        GENERATORS[Tool.HELM](job, Trees({MAIN: MemoryTree(files)}, "web"), "app")
