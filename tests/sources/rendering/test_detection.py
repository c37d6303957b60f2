"""What a folder holds, and that options of one tool are not taken for those of another."""

from __future__ import annotations

import pytest

from tests.sources.memorytree import MemoryTree
from trimtab.errors import InvalidSpec
from trimtab.sources.rendering.detection import tool_for
from trimtab.sources.rendering.looking import MAIN, Watched
from trimtab.sources.rendering.rendered import Tool
from trimtab.sources.rendering.specs import Directory, Helm, Kustomize, SourceSpec

TREE = MemoryTree(
    {
        "chart/Chart.yaml": "",
        "overlay/kustomization.yml": "",
        "both/Chart.yaml": "",
        "both/Kustomization": "",
        "plain/a.yaml": "",
    }
)
NOTHING = SourceSpec()
HELM, KUSTOMIZE = SourceSpec(helm=Helm()), SourceSpec(kustomize=Kustomize())


def tool(spec: SourceSpec, folder: str) -> Tool:
    return tool_for(spec, Watched(TREE, MAIN, "app web"), folder)


@pytest.mark.parametrize(
    ("spec", "folder", "expected"),
    [
        (NOTHING, "chart", Tool.HELM),
        (NOTHING, "overlay", Tool.KUSTOMIZE),
        (NOTHING, "both", Tool.KUSTOMIZE),
        (NOTHING, "plain", Tool.DIRECTORY),
        (HELM, "both", Tool.HELM),
        (KUSTOMIZE, "both", Tool.KUSTOMIZE),
        (SourceSpec(directory=Directory()), "chart", Tool.DIRECTORY),
        (SourceSpec(chart="web", helm=Helm()), "", Tool.HELM),
    ],
)
def test_a_folder_is_rendered_by_what_it_holds_or_by_whose_options_it_has(
    spec: SourceSpec, folder: str, expected: Tool
) -> None:
    assert tool(spec, folder) is expected


@pytest.mark.parametrize(
    ("spec", "folder", "reason"),
    [
        (HELM, "overlay", "the source has options for helm, and 'overlay' holds a kustomization"),
        (HELM, "plain", "the source has options for helm, and 'plain' holds plain files"),
        (KUSTOMIZE, "chart", "the source has options for kustomize, and 'chart' holds a chart"),
    ],
)
def test_options_of_another_tool_are_refused_in_one_sentence(
    spec: SourceSpec, folder: str, reason: str
) -> None:
    with pytest.raises(InvalidSpec) as refused:
        tool(spec, folder)
    assert refused.value.reason == reason
