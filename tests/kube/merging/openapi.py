"""Shapes read from a real server's OpenAPI documents, for tests of merging."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trimtab.kube.merging.shapes import ANYTHING, Shape

RAW_EXTENSION = "io.k8s.apimachinery.pkg.runtime.RawExtension"


class OpenApiShape:
    """A node of an OpenAPI document, or of a CRD's schema."""

    def __init__(
        self, node: Mapping[str, Any], types: Mapping[str, Mapping[str, Any]], model: str = ""
    ) -> None:
        reference = _reference(node)
        self.model = reference or model
        self.node = {**types[reference], **node} if reference else node
        self.types = types
        self.type: str = self.node.get("type", "")
        self.format: str = self.node.get("format", "")
        self.properties: Mapping[str, Any] = self.node.get("properties", {})
        self.list_type: str = self.node.get("x-kubernetes-list-type", "atomic")
        self.list_keys: tuple[str, ...] = tuple(self.node.get("x-kubernetes-list-map-keys", ()))
        self.atomic = self.node.get("x-kubernetes-map-type") == "atomic" or self.model == RAW_EXTENSION
        self.merge_key: str = self.node.get("x-kubernetes-patch-merge-key", "")
        strategies = self.node.get("x-kubernetes-patch-strategy", "")
        self.merge_strategies = frozenset(filter(None, strategies.split(",")))

    def names(self, name: str) -> bool:
        return name in self.properties

    def child(self, name: str) -> Shape | None:
        if name in self.properties:
            return OpenApiShape(self.properties[name], self.types)
        values = self.node.get("additionalProperties")
        if isinstance(values, dict):
            return OpenApiShape(values, self.types)
        return ANYTHING if self.node.get("x-kubernetes-preserve-unknown-fields") else None

    @property
    def open(self) -> bool:
        return bool(self.node.get("x-kubernetes-preserve-unknown-fields"))

    @property
    def element(self) -> Shape | None:
        return OpenApiShape(self.node["items"], self.types) if "items" in self.node else None

    @property
    def key_defaults(self) -> Mapping[str, Any]:
        element = OpenApiShape(self.node["items"], self.types)
        return {
            name: element.properties[name]["default"]
            for name in self.list_keys
            if "default" in element.properties.get(name, {})
        }


def _reference(node: Mapping[str, Any]) -> str:
    parts = node.get("allOf", [node])
    return str(parts[0].get("$ref", "")).rpartition("/")[2]


def shape_from_openapi(document: Mapping[str, Any], name: str) -> OpenApiShape:
    """The shape of a type in one of a server's `/openapi/v3/...` documents."""
    types = document["components"]["schemas"]
    return OpenApiShape(types[name], types, name)


def blank_of(shape: OpenApiShape, depth: int = 0) -> dict[str, Any]:
    """An object with nothing set, as a built-in kind's Go struct holds it: structs that are no pointers.

    OpenAPI shows them by their default, `{}`; lists and maps that are required are null rather than absent.
    """
    blank: dict[str, Any] = {}
    for name, node in shape.properties.items():
        child = OpenApiShape(node, shape.types)
        if node.get("default") == {} and child.properties and depth < 8:
            blank[name] = blank_of(child, depth + 1)
        elif name in shape.node.get("required", ()) and child.type in ("array", "object"):
            blank[name] = None
    return blank
