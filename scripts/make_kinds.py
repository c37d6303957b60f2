"""Make the data of the built-in kinds: `python -m scripts.make_kinds` (needs the testbed's control plane).

Three sources, in this order: discovery and OpenAPI v3 of a real API server; the Go types of the same
version, for what becomes of empty values; and the server's answers to dry-run creates of the manifests under
`tests/kube/manifests`, for the defaults that OpenAPI does not tell. `docs/kinds-data.md` explains the result.
"""

from __future__ import annotations

import json
import subprocess
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from scripts.learning import WITHOUT_ADMISSION, answer, learned_defaults, manifests, unexplained
from testbed.builds import Builder
from testbed.controlplane import ControlPlane
from trimtab.kube.schemas.kinds import Kinds

MANIFESTS = Path(__file__).parents[1] / "tests" / "kube" / "manifests"
DATA = Path(__file__).parents[1] / "src" / "trimtab" / "kube" / "schemas" / "data"
Json = dict[str, Any]


def main() -> None:
    """Ask a fresh control plane, and write both files."""
    builder = Builder()
    with ControlPlane(builder=builder, controllers=False, apiserver_flags=WITHOUT_ADMISSION) as plane:
        kinds, told = known_kinds(plane, builder.tool("kindshapes"))
    write("kinds.json.z", kinds)
    write("descriptions.json.z", told)


def known_kinds(plane: ControlPlane, kindshapes: Path) -> tuple[Json, Json]:
    """Everything that is known of the kinds, and their descriptions."""
    shapes = json.loads(subprocess.run([kindshapes], capture_output=True, check=True).stdout)
    version = plane.call("GET", "/version")["gitVersion"]
    types = openapi_types(plane)
    groups = list(group_versions(plane))
    kinds = {"kubernetes": version, "groups": groups, "types": compact_types(types, shapes)}
    learn(plane, kinds)
    return kinds, {model: descriptions_of(raw) for model, raw in types.items()}


def write(name: str, content: Json) -> None:
    """Write one compressed file; the same content always gives the same bytes."""
    DATA.mkdir(exist_ok=True)
    packed = zlib.compress(json.dumps(content, separators=(",", ":")).encode(), 9)
    (DATA / name).write_bytes(packed)
    print(f"{name}: {len(packed)} bytes")


# -- discovery -------------------------------------------------------------------------------------------


def group_versions(plane: ControlPlane) -> Iterator[Json]:
    """Every group version that is served, in the server's order."""
    yield group_version("", "v1", plane.call("GET", "/api/v1")["resources"], preferred=True)
    for group in plane.call("GET", "/apis")["groups"]:
        for version in group["versions"]:
            resources = plane.call("GET", f"/apis/{version['groupVersion']}")["resources"]
            preferred = version == group["preferredVersion"]
            yield group_version(group["name"], version["version"], resources, preferred=preferred)


def group_version(group: str, version: str, listed: list[Json], *, preferred: bool) -> Json:
    """One group version with its resources, each with its subresources."""
    tops = [each for each in listed if "/" not in each["name"]]
    return {
        "group": group,
        "version": version,
        "preferred": preferred,
        "resources": [resource(top, listed, group, version) for top in tops],
    }


def resource(top: Json, listed: list[Json], group: str, version: str) -> Json:
    """One resource in the words of `trimtab.kube.schemas.kinds.Resource`."""
    below = [each for each in listed if each["name"].startswith(f"{top['name']}/")]
    return {
        "name": top["name"],
        "singular": top["singularName"],
        "kind": top["kind"],
        "namespaced": top["namespaced"],
        "verbs": top["verbs"],
        "short_names": top.get("shortNames", []),
        "categories": top.get("categories", []),
        "storage_hash": top.get("storageVersionHash", ""),
        "subresources": [
            {
                "name": each["name"].partition("/")[2],
                "group": each.get("group", group),
                "version": each.get("version", version),
                "kind": each["kind"],
                "verbs": each["verbs"],
            }
            for each in below
        ],
    }


# -- defaults ---------------------------------------------------------------------------------------------


def learn(plane: ControlPlane, kinds: Json) -> None:
    """Add what the server was seen to fill in and whose changes it counts; say what remains unexplained."""
    bare = msgspec.convert(kinds, Kinds)
    pairs = [(manifest, answer(plane, bare, manifest)) for manifest in manifests(MANIFESTS)]
    for (model, field), value in learned_defaults(pairs, bare).items():
        kinds["types"][model]["properties"][field]["x-default"] = value
    taught = msgspec.convert(kinds, Kinds)
    counted = {kept["kind"] for _, kept in pairs if "generation" in kept.get("metadata", {})}
    for found in (found for group in kinds["groups"] for found in group["resources"]):
        found["generation"] = found["kind"] in counted
    for sent, kept in pairs:
        for line in unexplained(sent, kept, taught):
            print(f"not explained: {kept['kind']} {sent.get('metadata', {}).get('name', '')}: {line}")


# -- types ------------------------------------------------------------------------------------------------


def openapi_types(plane: ControlPlane) -> dict[str, Json]:
    """The types of all OpenAPI v3 documents in one table, kinds of every group version listed once."""
    types: dict[str, Json] = {}
    for path, entry in plane.call("GET", "/openapi/v3")["paths"].items():
        if path.startswith("api"):
            document = plane.call("GET", entry["serverRelativeURL"])
            for model, raw in document.get("components", {}).get("schemas", {}).items():
                types[model] = merged_kinds(types.get(model), raw)
    return dict(sorted(types.items()))


def merged_kinds(known: Json | None, raw: Json) -> Json:
    """The same type from two documents: each tells only the kinds of its own group."""
    label = "x-kubernetes-group-version-kind"
    if known is None or label not in raw:
        return raw
    return {**raw, label: known[label] + [kind for kind in raw[label] if kind not in known[label]]}


def descriptions_of(raw: Json) -> dict[str, str]:
    """What a type and its fields are for; the type itself under the empty name."""
    told = {name: field.get("description", "") for name, field in raw.get("properties", {}).items()}
    return {name: text for name, text in {"": raw.get("description", ""), **told}.items() if text}


def compact_types(types: dict[str, Json], shapes: Json) -> dict[str, Json]:
    """The types without descriptions, each field with what Go knows of it."""
    return {model: compact_type(raw, shapes.get(model)) for model, raw in types.items()}


def compact_type(raw: Json, shape: Json | None) -> Json:
    """One type; where Go has a struct for it, with its name, and with its fields in the order of Go."""
    bare: Json = undescribed(raw)
    if shape is None:
        return bare
    if "properties" in bare:
        bare["properties"] = dict(
            sorted(bare["properties"].items(), key=lambda it: shape["order"].index(it[0]))
        )
    for name, field in bare.get("properties", {}).items():
        field["x-go"] = go_field(shape["fields"][name])
        if field.get("default") not in (None, "", 0, {}):
            field["x-default"] = field["default"]  # the others only say that an empty value is written
    return {**bare, "x-go-struct": shape["name"]}


def go_field(field: Mapping[str, Any]) -> str:
    """Flags and type in the form that `trimtab.kube.schemas.schema` reads."""
    flags = (("p", "pointer"), ("o", "omitempty"), ("z", "omitzero"))
    letters = "".join(letter for letter, said in flags if field.get(said))
    return f"{letters} {field.get('inline', '')} {field['type']}"


def undescribed(raw: Any) -> Any:
    """A copy without descriptions, references in their short form."""
    if isinstance(raw, list):
        return [undescribed(each) for each in raw]
    if not isinstance(raw, dict):
        return raw
    bare = {}
    for key, value in raw.items():
        if key == "properties":
            bare[key] = {name: undescribed(field) for name, field in value.items()}
        elif key == "$ref":
            bare[key] = value.rpartition("/")[2]
        elif key != "description":
            bare[key] = undescribed(value)
    return bare


if __name__ == "__main__":
    main()
