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
_WORDS: Final = {
    Tool.HELM: "a chart",
    Tool.KUSTOMIZE: "a kustomization",
    Tool.DIRECTORY: "plain files",
}


def tool_for(spec: SourceSpec, tree: Watched, folder: str) -> Tool:
    """The tool that the spec names, or that the folder's files ask for."""
    named = _named(spec, tree.subject)
    if named is None:
        return _found(tree, folder)
    if named is Tool.DIRECTORY or spec.chart or _is_for(named, tree, folder):
        return named
    held = _WORDS[_found(tree, folder)]
    reason = f"the source has options for {named.value}, and {folder or '.'!r} holds {held}"
    raise InvalidSpec(tree.subject, reason, "Remove the options, or name another folder")


def _found(tree: Watched, folder: str) -> Tool:
    """The tool that a folder's files ask for; one with both is a kustomization to Argo CD, too."""
    if _is_for(Tool.KUSTOMIZE, tree, folder):
        return Tool.KUSTOMIZE
    return Tool.HELM if _is_for(Tool.HELM, tree, folder) else Tool.DIRECTORY


def _is_for(tool: Tool, tree: Watched, folder: str) -> bool:
    names = KUSTOMIZATIONS if tool is Tool.KUSTOMIZE else (CHART,)
    return any(_holds(tree, folder, name) for name in names)


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
