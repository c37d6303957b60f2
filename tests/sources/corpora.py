"""Reads the corpus: small repositories, each one text with all its files, and how people would render it.

A case begins with a comment that says what it shows and with YAML: the `path` to render, the `spec`, the
`capabilities`, `refs` (other trees, as folders of the case) and `by_hand`, the shell line whose output is
right. Then come its files, `-- path --`, and its links, `-- path -> target`.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from trimtab.resources.yaml import load
from trimtab.sources import FolderOrigin, Request
from trimtab.sources.rendering.specs import Capabilities, SourceSpec

CORPUS = Path(__file__).parent / "corpus"
_HEAD = re.compile(r"^-- (.+?) (?:--|-> (.+))$", re.MULTILINE)


class Case(Struct, frozen=True, kw_only=True):
    """One small repository and what is asked of it."""

    name: str
    path: str
    by_hand: str
    files: Mapping[str, str]
    links: Mapping[str, str]
    spec: Mapping[str, Any] = {}
    refs: Mapping[str, str] = {}
    capabilities: Capabilities = Capabilities()
    #: a shell line that completes the repository
    before: str = ""

    def written(self, folder: Path, tools: str) -> Path:
        """The repository, on disk."""
        folder.mkdir(parents=True)
        for path, text in self.files.items():
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        for path, target in self.links.items():
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(target)
        if self.before:
            shell(self.before, folder, tools)
        return folder

    def request(self, folder: Path) -> Request:
        """What to ask the renderer."""
        spec = msgspec.convert({"path": self.path, **self.spec}, SourceSpec)

        def place(path: str) -> FolderOrigin:
            return FolderOrigin(path=str(folder / path))

        return Request(
            name="web",
            namespace="shop",
            spec=spec,
            tree=place(""),
            refs={name: place(path) for name, path in self.refs.items()},
            capabilities=self.capabilities,
        )


def shell(line: str, folder: Path, tools: str) -> bytes:
    """What a shell line prints, run as a person would in a checkout."""
    environment = {"PATH": f"{tools}:/usr/bin:/bin", "HOME": str(folder.parent / "home")}
    done = subprocess.run(["sh", "-c", line], cwd=folder, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def case(name: str) -> Case:
    """The case of that name."""
    text = (CORPUS / f"{name}.txt").read_text()
    parts = _HEAD.split(text)
    head = load(parts[0], name)
    files: dict[str, str] = {}
    links: dict[str, str] = {}
    for path, target, content in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        if target:
            links[path] = target
        else:
            files[path] = content.removeprefix("\n")
    return msgspec.convert({"name": name, "files": files, "links": links, **head}, Case)


NAMES = sorted(path.stem for path in CORPUS.glob("*.txt"))
