"""What a folder holds: a chart, a kustomization, or plain files; told as Argo CD tells it. Pure."""

from __future__ import annotations

from typing import Final

from trimtab.errors import InvalidSpec
from trimtab.sources.rendering.looking import Watched
from trimtab.sources.rendering.paths import below
from trimtab.sources.rendering.rendered import Tool
from trimtab.sources.rendering.specs import SourceSpec
from trimtab.sources.trees import EntryKind

CHART: Final = "Chart.yaml"
KUSTOMIZATIONS: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")


def tool_for(spec: SourceSpec, tree: Watched, folder: str) -> Tool:
    """The tool that the spec names, or that the folder's files ask for."""
    named = _named(spec, tree.subject)
    if named is not None:
        return named
    if any(_holds(tree, folder, name) for name in KUSTOMIZATIONS):
        return Tool.KUSTOMIZE  # a folder with both is a kustomization to Argo CD, too
    return Tool.HELM if _holds(tree, folder, CHART) else Tool.DIRECTORY


def _holds(tree: Watched, folder: str, name: str) -> bool:
    return tree.kind(below(folder, name)) in {EntryKind.FILE, EntryKind.LINK}


def _named(spec: SourceSpec, subject: str) -> Tool | None:
    options = {Tool.DIRECTORY: spec.directory, Tool.KUSTOMIZE: spec.kustomize, Tool.HELM: spec.helm}
    named = [tool for tool, given in options.items() if given is not None]
    if spec.chart and named not in ([], [Tool.HELM]):
        raise InvalidSpec(subject, "a chart can only have options for helm", "Remove the others")
    if len(named) > 1:
        words = " and ".join(tool.value for tool in named)
        raise InvalidSpec(subject, f"the source has options for {words}", "Keep those of one tool")
    if spec.chart:
        return Tool.HELM
    return named[0] if named else None
