"""Make the data that reads protobuf bodies: `python -m scripts.make_wire` (needs Go and the pinned modules).

The numbers and names of all fields come from the `.proto` files beside the Go types of the same version.
"""

from __future__ import annotations

import json
import re
import subprocess
import zlib
from collections.abc import Iterator
from pathlib import Path

from testbed.builds import GO_SOURCES
from trimtab.kube.kinds import built_in

MODULES = ("k8s.io/api", "k8s.io/apimachinery", "k8s.io/apiextensions-apiserver", "k8s.io/kube-aggregator")
DATA = Path(__file__).parents[1] / "src" / "trimtab" / "apiserver" / "data" / "wire.json.z"
_MESSAGE = re.compile(r"^message (\w+) \{(.*?)^\}", re.DOTALL | re.MULTILINE)
_FIELD = re.compile(r"^  (optional|repeated|map<\w+, ?([.\w]+)>) ?([.\w]+)? (\w+) = (\d+);", re.MULTILINE)
_PACKAGE = re.compile(r"^package ([\w.]+);", re.MULTILINE)
Fields = dict[str, list[str]]


def main() -> None:
    """Read every `.proto` file, keep what built-in kinds reach, and write one compressed file."""
    known = dict(message for folder in map(folder_of, MODULES) for message in messages(folder))
    kept = {name: known[name] for name in sorted(reached(known))}
    DATA.parent.mkdir(exist_ok=True)
    packed = zlib.compress(json.dumps(kept, separators=(",", ":")).encode(), 9)
    DATA.write_bytes(packed)
    print(f"{DATA.name}: {len(kept)} messages, {len(packed)} bytes")


def folder_of(module: str) -> Path:
    """Where a pinned module lies."""
    command = ["go", "list", "-m", "-f", "{{.Dir}}", module]
    answer = subprocess.run(
        command, cwd=GO_SOURCES / "kubernetes", capture_output=True, text=True, check=True
    )
    return Path(answer.stdout.strip())


def messages(folder: Path) -> Iterator[tuple[str, Fields]]:
    """Every message below a folder: its name as OpenAPI has it, and its fields by number."""
    for path in sorted(folder.rglob("generated.proto")):
        text = path.read_text()
        found = _PACKAGE.search(text)
        if found is None:
            continue
        package = found[1].replace("k8s.io.", "io.k8s.", 1)
        for message in _MESSAGE.finditer(text):
            yield f"{package}.{message[1]}", dict(fields(message[2], package))


def fields(body: str, package: str) -> Iterator[tuple[str, list[str]]]:
    """The fields of a message: number → name, type, and whether it is repeated or a map."""
    for found in _FIELD.finditer(body):
        label, of_map, of_field, name, number = found.groups()
        shape = "map" if of_map else label
        yield number, [name, typed(of_map or of_field, package), shape]


def typed(text: str, package: str) -> str:
    """A type as OpenAPI names it; plain types keep their own name."""
    if text.startswith("."):
        return text[1:].replace("k8s.io.", "io.k8s.", 1)
    return f"{package}.{text}" if text[0].isupper() else text


def reached(known: dict[str, Fields]) -> set[str]:
    """The messages of built-in kinds, and of everything in them."""
    waiting = [model for model in built_in().models.values() if model in known]
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in found or name not in known:
            continue
        found.add(name)
        waiting.extend(kind for _, kind, _ in known[name].values() if "." in kind)
    return found


if __name__ == "__main__":
    main()
