"""Make what is known of the server's inside: `python -m scripts.make_inner` (needs Go and the control plane).

Three things that neither OpenAPI nor discovery tells: the types in which the server holds some kinds and
prints them in messages, and the kinds of versions that it reads but does not serve (both from the Go types,
which `testbed/go/innershapes` prints); and an object of each kind with nothing set, as bookmarks of watches
show it (asked of the server). `trimtab.kube.schemas.inner` reads the result.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import ssl
import subprocess
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from testbed.builds import Builder
from testbed.controlplane import ControlPlane
from trimtab.kube.schemas.kinds import GroupVersion, Resource, built_in

DATA = Path(__file__).parents[1] / "src" / "trimtab" / "kube" / "schemas" / "data" / "inner.json.z"
SIGNS = {"pointer": "*", "list": "[", "map": "{"}
WATCH = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
HEAD = ("apiVersion", "kind", "metadata")
Json = dict[str, Any]


def main() -> None:
    """Ask the Go types and a fresh control plane, and write the file."""
    builder = Builder()
    with ControlPlane(builder=builder, controllers=False) as plane:
        content = known_inside(plane, builder.tool("innershapes"))
    packed = zlib.compress(json.dumps(content, separators=(",", ":"), sort_keys=True).encode(), 9)
    DATA.write_bytes(packed)
    print(f"{DATA.name}: {len(content['types'])} types, {len(content['blanks'])} kinds, {len(packed)} bytes")


def known_inside(plane: ControlPlane, innershapes: Path) -> Json:
    """Everything that is known of the inside."""
    shapes = json.loads(subprocess.run([innershapes], capture_output=True, check=True).stdout)
    return {
        "types": {name: list(map(compact, fields)) for name, fields in shapes["types"].items()},
        "unserved": unserved(shapes["kinds"]),
        "blanks": dict(blanks(plane)),
    }


def compact(field: Mapping[str, Any]) -> list[str]:
    """A field as four words: its name inside, where it is written, its type, and what is special about it."""
    special = ("o" if field.get("omit") else "") + ("m" if field.get("made") else "")
    return [field["name"], field["from"], spelled(field["type"]), special]


def spelled(kind: Mapping[str, Any]) -> str:
    """A type in a word: signs for what wraps it, then what it is, or the name of a struct behind a sign."""
    if kind["kind"] == "struct":
        return f"@{kind['name']}"
    return f"{SIGNS[kind['kind']]}{spelled(kind['of'])}" if "of" in kind else str(kind["kind"])


def unserved(kinds: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """The kinds of versions that the server knows and does not serve."""
    served = {f"{each.group}/{each.version}".strip("/") for each in built_in().groups}
    own = {resource.kind for each in built_in().groups for resource in each.resources}
    known = {version: [kind for kind in names if kind in own] for version, names in kinds.items()}
    return {
        version: names
        for version, names in known.items()
        if names and version not in served and not version.endswith("__internal")
    }


def blanks(plane: ControlPlane) -> Iterator[tuple[str, Json]]:
    """What a bookmark shows of each kind that can be watched, besides its name and version."""
    for group in built_in().groups:
        for resource in group.resources:
            model = built_in().models.get((group.group, group.version, resource.kind))
            if model and "watch" in resource.verbs:
                shown = bookmark(plane, group, resource)
                rest = {name: each for name, each in shown.items() if name not in HEAD}
                if rest:
                    yield model, rest


def bookmark(plane: ControlPlane, group: GroupVersion, resource: Resource) -> Json:
    """The object of the bookmark that ends the initial events of a watch."""
    root = f"/apis/{group.group}/{group.version}" if group.group else f"/api/{group.version}"
    for line in watched(plane, f"{root}/{resource.name}?{WATCH}"):
        event = json.loads(line)
        if event["type"] == "BOOKMARK":
            found: Json = event["object"]
            return found
    raise LookupError(f"no bookmark for {resource.name}")


def watched(plane: ControlPlane, path: str) -> Iterator[bytes]:
    """What a watch tells, line by line."""
    trust = ssl.create_default_context(cafile=str(plane.ca_file))
    connection = http.client.HTTPSConnection("127.0.0.1", plane.port, timeout=30, context=trust)
    with contextlib.closing(connection):
        connection.request("GET", path, headers={"Authorization": f"Bearer {plane.token()}"})
        with connection.getresponse() as told:
            yield from told


if __name__ == "__main__":
    main()
