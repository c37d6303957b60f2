"""Make the shapes of the messages of built-in kinds: `python -m scripts.make_wire` (needs Go once).

The Go types say how they are written in protocol buffers; `testbed/go/wireshapes` prints that. Kept is what
the served kinds reach. `trimtab.apiserver.protobuf` reads the result.
"""

from __future__ import annotations

import json
import subprocess
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from testbed.builds import Builder
from trimtab.kube.schemas.kinds import built_in

DATA = Path(__file__).parents[1] / "src" / "trimtab" / "apiserver" / "data" / "wire.json.z"
META, SCHEMAS = (
    "k8s.io/apimachinery/pkg/apis/meta/v1",
    "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1",
)
#: What is a message on the wire and something else in JSON.
SPECIAL = {
    f"{META}.Time": "time",
    f"{META}.MicroTime": "microtime",
    f"{META}.FieldsV1": "json",
    "k8s.io/apimachinery/pkg/api/resource.Quantity": "quantity",
    "k8s.io/apimachinery/pkg/util/intstr.IntOrString": "intorstring",
    "k8s.io/apimachinery/pkg/runtime.RawExtension": "json",
    f"{SCHEMAS}.JSON": "json",
    f"{SCHEMAS}.JSONSchemaPropsOrBool": "schemaorbool",
    f"{SCHEMAS}.JSONSchemaPropsOrArray": "schemaorarray",
    f"{SCHEMAS}.JSONSchemaPropsOrStringArray": "schemaorstrings",
}
PLAIN = ("string", "strings", "bytes", "bool", "int", "double")
Json = dict[str, Any]


def main() -> None:
    """Ask the Go types and write the file."""
    content = known_shapes(Builder().tool("wireshapes"))
    packed = zlib.compress(json.dumps(content, separators=(",", ":"), sort_keys=True).encode(), 9)
    DATA.write_bytes(packed)
    print(f"{DATA.name}: {len(content['messages'])} messages in {len(packed)} bytes")


def known_shapes(wireshapes: Path) -> Json:
    """Everything that is known of the messages."""
    return compact(json.loads(subprocess.run([wireshapes], capture_output=True, check=True).stdout))


def compact(shapes: Mapping[str, Any]) -> Json:
    """The messages that served kinds reach, by number instead of name."""
    roots = {kind: name for kind, name in sorted(shapes["kinds"].items()) if kind in served()}
    roots["JSONSchemaProps"] = f"{SCHEMAS}.JSONSchemaProps"
    order = {name: number for number, name in enumerate(reached(shapes["messages"], roots.values()))}
    messages = [fields_of(shapes["messages"][name], order) for name in order]
    return {"kinds": {kind: order[name] for kind, name in roots.items()}, "messages": messages}


def served() -> frozenset[str]:
    """Every kind that a body may be of, as `group/version/Kind`."""
    return frozenset(f"{group}/{version}/{kind}".lstrip("/") for group, version, kind in built_in().models)


def reached(messages: Mapping[str, Mapping[str, Json]], roots: Iterable[str]) -> list[str]:
    """The names of all messages within these messages, each once, in order."""
    seen: set[str] = set()
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            types = (field["type"] for field in messages[name].values())
            waiting += [each for each in types if each not in PLAIN and each not in SPECIAL]
    return sorted(seen)


def fields_of(fields: Mapping[str, Json], order: Mapping[str, int]) -> list[list[Any]]:
    """The fields of one message: number, JSON name, type, and whether there are many."""
    found = []
    for number, field in sorted(fields.items(), key=lambda item: int(item[0])):
        kind = field["type"]
        many = "list" if field.get("repeated") else "map" if field.get("map") else ""
        entry = [int(number), field["name"], SPECIAL.get(kind, order.get(kind, kind)), many]
        found.append(entry if many else entry[:3])
    return found


if __name__ == "__main__":
    main()
