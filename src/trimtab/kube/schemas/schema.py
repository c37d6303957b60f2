"""What is known of the fields of a kind: one tree of `Schema` nodes for built-in kinds and for CRDs alike.

A node answers the questions that patches, server-side apply, defaulting, pruning and validation ask. It is
read from OpenAPI as Kubernetes writes it (`x-kubernetes-*` included); references resolve when they are
followed, so schemas that contain themselves are no trouble. Where the nodes of built-in kinds come from is
the business of `trimtab.kube.schemas.kinds`; whether a CRD's schema is structural, that of `structural`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from msgspec import Struct

QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
TIME = "io.k8s.apimachinery.pkg.apis.meta.v1.Time"
MICRO_TIME = "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime"
RAW_EXTENSION = "io.k8s.apimachinery.pkg.runtime.RawExtension"
# Built-in types that hold whatever they are given.
OPAQUE = frozenset(
    {
        "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1",
        "io.k8s.apimachinery.pkg.apis.meta.v1.Patch",
        RAW_EXTENSION,
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON",
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray",
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool",
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray",
    }
)
Types: TypeAlias = Mapping[str, Mapping[str, Any]]
NOTHING: frozenset[str] = frozenset()
NO_FIELDS: Mapping[str, Mapping[str, Any]] = {}
TYPE_META: Mapping[str, Mapping[str, Any]] = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}}
HEAD = (*TYPE_META, "metadata")


class GoField(Struct, frozen=True, gc=False):
    """How the server keeps a field of a built-in kind, which decides what it does with empty values."""

    type: str  # as the server's decoding errors name it
    pointer: bool = False  # an empty value is told apart from none
    omit_empty: bool = False  # an empty value is not written
    omit_zero: bool = False  # nor is an empty struct
    inside: str = ""  # the embedded struct that holds it, which decoding errors name


class Schema:
    """One node: what may stand at one place of an object, and how it is merged there."""

    __slots__ = (
        "_children",
        "_element",
        "_key_defaults",
        "_present",
        "_raw",
        "_types",
        "_values",
        "atomic",
        "declared_default",
        "embedded",
        "format",
        "go",
        "int_or_string",
        "list_keys",
        "list_type",
        "merge_key",
        "merge_strategies",
        "model",
        "nullable",
        "open",
        "preserves_unknown",
        "properties",
        "type",
    )

    def __init__(
        self,
        raw: Mapping[str, Any],
        types: Types | None = None,
        *,
        model: str = "",
        within_open: bool = False,
    ) -> None:
        """A node from OpenAPI; `types` holds what its references name."""
        reference = _reference(raw)
        self._types: Types = types if types is not None else {}
        self.model = reference or model
        self._raw: Mapping[str, Any] = {**self._types[reference], **raw} if reference else raw
        self._children: dict[str, Schema | None] = {}
        self._element: Schema | None = None
        self._values: Schema | None = None
        self._key_defaults: Mapping[str, Any] | None = None
        self._present: tuple[tuple[str, Schema], ...] | None = None
        self._read(self._raw)
        #: whether fields that nobody declared may be applied; what is beneath an open node is open, too
        self.open: bool = self.preserves_unknown or (within_open and not reference)

    def _read(self, raw: Mapping[str, Any]) -> None:
        self.int_or_string = raw.get("x-kubernetes-int-or-string", False) or self.model == INT_OR_STRING
        self.type: str = raw.get("type", "")
        self.format: str = raw.get("format", "")
        self.nullable: bool = raw.get("nullable", False)
        self.embedded: bool = raw.get("x-kubernetes-embedded-resource", False)
        self.preserves_unknown: bool = _preserves_unknown(raw, self.model)
        self.list_type: str = raw.get("x-kubernetes-list-type", "atomic")
        self.list_keys: tuple[str, ...] = tuple(raw.get("x-kubernetes-list-map-keys", ()))
        self.atomic: bool = raw.get("x-kubernetes-map-type") == "atomic" or self.model == RAW_EXTENSION
        self.merge_key: str = raw.get("x-kubernetes-patch-merge-key", "")
        strategies = raw.get("x-kubernetes-patch-strategy", "")
        self.merge_strategies: frozenset[str] = frozenset(strategies.split(",")) if strategies else NOTHING
        self.declared_default: Any = raw.get("default")
        #: the named fields, as they are written in OpenAPI
        self.properties: Mapping[str, Mapping[str, Any]] = raw.get("properties", NO_FIELDS)
        self.go: GoField | None = _go_field(raw.get("x-go"))

    # -- walking ------------------------------------------------------------------------------------------

    def child(self, name: str) -> Schema | None:
        """The node of a field, or of a map's values; None for a field that the kind does not have."""
        if name in self._children:  # not `try`: within generators an error costs more the deeper they are
            return self._children[name]
        found = self._child(name)
        if name in self.properties:  # map keys come from users: remembering them would grow forever
            self._children[name] = found
        return found

    def _child(self, name: str) -> Schema | None:
        raw = self.properties.get(name)
        if self.embedded and name == "metadata":  # whatever is declared, it has the fields of all metadata
            return Schema({"$ref": OBJECT_META}, self._types)
        if raw is not None:
            return Schema(raw, self._types, within_open=self.open)
        if self.embedded and name in TYPE_META:
            return Schema(TYPE_META[name], self._types)
        if self.values is not None:
            return self.values
        return ANYTHING if self.preserves_unknown else None

    def declared(self, name: str) -> Schema | None:
        """The node of a field, or of a map's values, as far as the definition itself says something of it."""
        if self.embedded and name == "metadata" and name in self.properties:
            return Schema(self.properties[name], self._types)
        return self.child(name) if name in self.properties or self.values is not None else None

    def names(self, name: str) -> bool:
        """Whether it has a field of this name: declared, or because it is an object of its own."""
        return name in self.properties or (self.embedded and name in HEAD)

    @property
    def element(self) -> Schema | None:
        """The node of an array's elements."""
        if self._element is None and "items" in self._raw:
            self._element = Schema(self._raw["items"], self._types, within_open=self.open)
        return self._element

    @property
    def values(self) -> Schema | None:
        """The node of a map's values; None where fields have names."""
        if self._values is None:
            raw = self._raw.get("additionalProperties")
            if isinstance(raw, Mapping):
                self._values = Schema(raw, self._types, within_open=self.open)
            elif raw is True:
                self._values = UNDECLARED
        return self._values

    def fields(self) -> Iterator[tuple[str, Schema]]:
        """The named fields with their nodes."""
        for name in self.properties:
            found = self.child(name)
            if found is not None:
                yield name, found

    # -- what may be there --------------------------------------------------------------------------------

    @property
    def key_defaults(self) -> Mapping[str, Any]:
        """Defaults of the key fields of a list-map's elements, such as `{"protocol": "TCP"}`."""
        if self._key_defaults is None:
            fields = self.element.properties if self.element is not None else NO_FIELDS
            known = {key: fields[key] for key in self.list_keys if key in fields}
            self._key_defaults = {key: raw["default"] for key, raw in known.items() if "default" in raw}
        return self._key_defaults

    @property
    def has_default(self) -> bool:
        """Whether a value is filled in where none is given and the parent is there."""
        return "x-default" in self._raw or (self.go is None and "default" in self._raw)

    @property
    def default(self) -> Any:
        """The value filled in; of a built-in kind the one its server was seen to fill in."""
        return self._raw["x-default"] if "x-default" in self._raw else self._raw.get("default")

    @property
    def is_struct(self) -> bool:
        """Whether the server keeps this as a struct of its own: there even where nothing was given."""
        kept = self.go is not None and not (self.go.pointer or self.go.omit_zero)
        return kept and self.type == "object" and self.values is None and not self.preserves_unknown

    @property
    def always_present(self) -> tuple[tuple[str, Schema], ...]:
        """The fields that an answer of the server holds even where the request did not."""
        if self._present is None:
            self._present = tuple(
                (name, field)
                for name, field in self.fields()
                if field.has_default or field.is_struct or (field.go is not None and field.is_written)
            )
        return self._present

    @property
    def is_written(self) -> bool:
        """Whether a field of a built-in kind is written where it has no value."""
        if self.go is None or self.go.omit_zero or (self.go.pointer and self.go.omit_empty):
            return False
        # A struct that writes itself knows no emptiness: what Go leaves out is only what has length zero.
        return not self.go.omit_empty or self.model in (QUANTITY, INT_OR_STRING, TIME, MICRO_TIME)

    @property
    def required(self) -> tuple[str, ...]:
        """Names of fields that must be there."""
        return tuple(self._raw.get("required", ()))

    @property
    def enum(self) -> tuple[Any, ...]:
        """The values allowed; none means any."""
        return tuple(self._raw.get("enum", ()))

    @property
    def rules(self) -> Mapping[str, Any]:
        """The node as OpenAPI has it: limits, patterns, oneOf and the rest, for validation."""
        return self._raw

    def __repr__(self) -> str:
        return f"Schema({self.model or self.type or 'anything'})"


def crd_schema(declared: Mapping[str, Any], types: Types) -> Schema:
    """The root node of a CRD version's `openAPIV3Schema`; `types` are the built-in ones, for metadata."""
    own = {**TYPE_META, "metadata": {"allOf": [{"$ref": OBJECT_META}]}}
    properties = {**(declared.get("properties") or {}), **own}
    return Schema({**declared, "type": "object", "properties": properties}, types)


def _reference(raw: Mapping[str, Any]) -> str:
    """The model that a node refers to, written either way."""
    if "$ref" in raw:
        return str(raw["$ref"]).rpartition("/")[2]
    parts = raw.get("allOf", ())
    if len(parts) == 1 and "$ref" in parts[0]:
        return str(parts[0]["$ref"]).rpartition("/")[2]
    return ""


def _preserves_unknown(raw: Mapping[str, Any], model: str) -> bool:
    return model in OPAQUE or bool(raw.get("x-kubernetes-preserve-unknown-fields"))


def _go_field(text: str | None) -> GoField | None:
    """From the compact form of the data file: flags (p, o, z), the embedded struct, the Go type."""
    if text is None:
        return None
    flags, inside, kind = text.split(" ", 2)
    return GoField(kind, "p" in flags, "o" in flags, "z" in flags, inside)


ANYTHING = Schema({"x-kubernetes-preserve-unknown-fields": True})
#: what may stand in a map that only says that it is one: plain values, and nothing beneath
UNDECLARED = Schema({})
