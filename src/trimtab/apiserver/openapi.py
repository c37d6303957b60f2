"""OpenAPI v3 documents of group versions, as kubectl reads them: schemas in full, paths in outline. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from trimtab.apiserver.catalog import Served
from trimtab.kube.schemas.kinds import built_in, descriptions
from trimtab.kube.schemas.schema import OBJECT_META

Json = dict[str, Any]
OURS = ("x-go", "x-default", "x-go-struct")  # what our data adds to the server's words
LIST_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"
WRITE_PARAMETERS = ("dryRun", "fieldManager", "fieldValidation")
OF_MANY = ("list", "deletecollection")  # other actions are called after their methods
WAYS = ("attach", "exec", "portforward", "proxy")  # into containers, and to them
PATCHES = ("application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml")
STRATEGIC = "application/strategic-merge-patch+json"


def document(many: Iterable[Served]) -> Json:
    """The document of one group version."""
    kinds = list(many)
    schemas: Json = {}
    for served in kinds:
        if served.custom:
            schemas |= _custom_schemas(served)
        elif served.schema.model:
            _collect(served.schema.model, schemas)
            _collect_list(served, schemas)
    paths: Json = {}
    for served in kinds:
        paths |= {path: operations for path, operations in _paths(served) if operations}
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": built_in().kubernetes},
        "paths": paths,
        "components": {"schemas": schemas},
    }


# -- schemas ----------------------------------------------------------------------------------------------


def _collect_list(served: Served, schemas: Json) -> None:
    model = built_in().models.get((served.group, served.version, served.list_kind))
    if model:
        _collect(model, schemas)


def _collect(model: str, schemas: Json) -> None:
    """Add a type, and all that it refers to."""
    waiting = [model]
    while waiting:
        name = waiting.pop()
        if name in schemas or name not in built_in().types:
            continue
        schemas[name] = _type(name)
        waiting.extend(_references(built_in().types[name]))


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"].rpartition("/")[2]
        for name, value in node.items():
            if name not in OURS:
                yield from _references(value)
    elif isinstance(node, list):
        for value in node:
            yield from _references(value)


def _type(name: str) -> Json:
    """A type in the server's words, with what its fields are for."""
    words = descriptions().get(name, {})
    raw: Json = _plain(built_in().types[name])
    if words.get(""):
        raw["description"] = words[""]
    for field, node in raw.get("properties", {}).items():
        if words.get(field):
            node["description"] = words[field]
    return raw


def _plain(node: Any) -> Any:
    if isinstance(node, dict):
        return {
            name: f"#/components/schemas/{value}" if _is_reference(name, value) else _plain(value)
            for name, value in node.items()
            if name not in OURS
        }
    return [_plain(each) for each in node] if isinstance(node, list) else node


def _is_reference(name: str, value: Any) -> bool:
    """A name of a type, not yet an address; a field that is called `$ref` holds a schema instead."""
    return name == "$ref" and isinstance(value, str) and "/" not in value


def _custom_schemas(served: Served) -> Json:
    """The schemas of a custom resource and of its list."""
    schemas: Json = {}
    _collect(OBJECT_META, schemas)
    _collect(LIST_META, schemas)
    name = ".".join((*reversed(served.group.split(".")), served.version, served.kind))
    kind = {"group": served.group, "kind": served.kind, "version": served.version}
    schemas[name] = {**_plain(served.schema.rules), "x-kubernetes-group-version-kind": [kind]}
    items = {"type": "array", "items": {"$ref": f"#/components/schemas/{name}"}}
    properties = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"$ref": f"#/components/schemas/{LIST_META}"},
        "items": items,
    }
    listed = {"type": "object", "required": ["items"], "properties": properties}
    schemas[f"{name}List"] = {
        **listed,
        "x-kubernetes-group-version-kind": [{**kind, "kind": served.list_kind}],
    }
    return schemas


# -- paths ------------------------------------------------------------------------------------------------


def _paths(served: Served) -> Iterator[tuple[str, Json]]:
    root = f"/apis/{served.api_version}" if served.group else f"/api/{served.version}"
    base = (
        f"{root}/namespaces/{{namespace}}/{served.plural}" if served.namespaced else f"{root}/{served.plural}"
    )
    kind = {"group": served.group, "kind": served.kind, "version": served.version}
    collection = {"get": "list", "post": "create", "delete": "deletecollection"}
    yield base, dict(_operations(served, kind, collection, served.verbs))
    if served.namespaced:
        yield f"{root}/{served.plural}", dict(_operations(served, kind, {"get": "list"}, served.verbs))
    single = {"get": "get", "put": "update", "patch": "patch", "delete": "delete"}
    yield f"{base}/{{name}}", dict(_operations(served, kind, single, served.verbs))
    for part in served.subresources:
        own = {
            "group": part.group or served.group,
            "kind": part.kind,
            "version": part.version or served.version,
        }
        methods = {"post": "create", **single}
        operations = dict(_operations(served, own, methods, part.verbs))
        if part.name in WAYS:
            operations = {
                each: {**found, "x-kubernetes-action": "connect"} for each, found in operations.items()
            }
        yield f"{base}/{{name}}/{part.name}", operations


def _operations(
    served: Served, kind: Mapping[str, str], methods: Mapping[str, str], verbs: Iterable[str]
) -> Iterator[tuple[str, Json]]:
    for method, verb in methods.items():
        if verb not in verbs:
            continue
        action = verb if verb in OF_MANY else method
        operation: Json = {"x-kubernetes-action": action, "x-kubernetes-group-version-kind": kind}
        if method in ("post", "put", "patch"):
            names = (*WRITE_PARAMETERS, *(("force",) if method == "patch" else ()))
            operation["parameters"] = [
                {"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}}
                for name in names
            ]
        if method == "patch":
            patches = PATCHES if served.custom else (*PATCHES, STRATEGIC)
            operation["requestBody"] = {"content": {media: {} for media in patches}}
        operation["responses"] = {"200": {"description": "OK"}}
        yield method, operation


def swagger(catalog: Iterable[Served]) -> Json:
    """The OpenAPI v2 document of everything, for clients of old: schemas alone."""
    schemas: Json = {}
    for served in catalog:
        if served.custom:
            schemas |= _custom_schemas(served)
        elif served.schema.model:
            _collect(served.schema.model, schemas)
            _collect_list(served, schemas)
    release = {"title": "Kubernetes", "version": built_in().kubernetes}
    return {"swagger": "2.0", "info": release, "paths": {}, "definitions": _with_v2_references(schemas)}


def swagger_outline() -> bytes:
    """The OpenAPI v2 document as protocol buffers, without definitions: clients find those in v3.

    Clients ask for it when v3 does not have a kind; that nobody else has it either is what they learn here.
    """
    version = built_in().kubernetes.encode()
    info = b"\x0a\x0aKubernetes\x12" + bytes((len(version),)) + version
    return b"\x0a\x032.0\x12" + bytes((len(info),)) + info + b"\x42\x00\x4a\x00"


def _with_v2_references(node: Any) -> Any:
    """A schema as v2 writes it: no choices, no defaults, and one reference stands alone."""
    if isinstance(node, dict):
        parts = node.get("allOf")
        if isinstance(parts, list) and len(parts) == 1 and "$ref" in parts[0]:
            rest = {name: value for name, value in node.items() if name != "allOf"}
            return _with_v2_references({**rest, **parts[0]})
        if "oneOf" in node and "properties" not in node:  # a number or a text: v2 knows no choice
            return {"type": "string", **{name: value for name, value in node.items() if name != "oneOf"}}
        return {
            name: value.replace("#/components/schemas/", "#/definitions/")
            if name == "$ref" and isinstance(value, str)
            else _with_v2_references(value)
            for name, value in node.items()
            if name != "default" or _is_schema(value)
        }
    return [_with_v2_references(each) for each in node] if isinstance(node, list) else node


def _is_schema(value: Any) -> bool:
    """Whether what is called `default` is a field of that name, with a schema of its own."""
    return isinstance(value, dict) and bool({"$ref", "allOf", "type", "description"} & value.keys())
