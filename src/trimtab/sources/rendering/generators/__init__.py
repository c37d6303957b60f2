"""Generators: each makes manifests of a folder, or says which program would. One file each.

A generator is a function of a job and its trees. It runs in a worker process, reads the trees and nothing
else, and answers with manifests (`Ready`) or with a program to run (`Call`) in a private folder. To add one,
write such a function and name it in `GENERATORS`; key, store, walls and errors come by themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from trimtab.sources.rendering.generators import helm, kustomize, plain
from trimtab.sources.rendering.jobs import Generator
from trimtab.sources.rendering.rendered import Tool

GENERATORS: Final[Mapping[Tool, Generator]] = {
    Tool.DIRECTORY: plain.gathered,
    Tool.KUSTOMIZE: kustomize.gathered,
    Tool.HELM: helm.gathered,
}
