"""Whatever is sent, it is read, defaulted and judged without an accident."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from scripts.learning import schema_of
from scripts.refusals import bases, gadget
from trimtab.kube.schemas.creation import created
from trimtab.kube.schemas.decoding import unreadable
from trimtab.kube.schemas.defaults import completed, defaulted, read_back
from trimtab.kube.schemas.kinds import built_in
from trimtab.kube.schemas.pruning import pruned
from trimtab.kube.schemas.schema import ANYTHING, Schema, crd_schema
from trimtab.kube.schemas.validation import creation_causes, update_causes
from trimtab.kube.times import parse_time

Json = dict[str, Any]
NOW = parse_time("2026-01-01T00:00:00Z")
BASES = list(bases().values())
GADGET = gadget()
SCHEMA = crd_schema(
    GADGET["definition"]["spec"]["versions"][0]["schema"]["openAPIV3Schema"], built_in().types
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([2**31, 2**63, -(2**70), 1.5, -0.0, 1e300]),
    st.text(max_size=5),
    st.sampled_from(["", "None", "1Gi", "-1", "25%", "a/b", "*", "2026-01-02T03:04:05Z", "10.0.0.1", "::/0"]),
)
KEYS = st.sampled_from(
    ["name", "a", "", "matchLabels", "type", "spec", "limits", "cpu", "$ref", "properties"]
)
VALUES = st.recursive(
    SCALARS,
    lambda below: st.one_of(st.lists(below, max_size=3), st.dictionaries(KEYS, below, max_size=3)),
    max_leaves=6,
)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every place of an object that can be replaced, and new fields of its schema's own names."""
    found: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        for key in value:
            found += [(value, key), *places(value[key])]
    elif isinstance(value, list):
        for number in range(len(value)):
            found += [(value, number), *places(value[number])]
    return found


@st.composite
def spoiled_objects(draw: st.DrawFn, given_bases: list[Json]) -> Json:
    manifest = copy.deepcopy(draw(st.sampled_from(given_bases)))
    for _ in range(draw(st.integers(1, 3))):
        parent, key = draw(st.sampled_from(places(manifest)))
        if isinstance(parent, dict) and draw(st.booleans()):
            key = draw(st.one_of(st.just(key), KEYS))
        if parent is not manifest or key not in ("apiVersion", "kind"):
            parent[key] = draw(VALUES)
    return manifest


@settings(max_examples=150, deadline=None)
@given(spoiled_objects(BASES))
def test_a_built_in_kind_is_judged_whatever_it_holds(manifest: Json) -> None:
    schema = schema_of(built_in(), manifest)
    if unreadable(manifest, schema) is None:
        kept = created(pruned(manifest, schema).manifest, schema, uid="u", now=NOW)
        creation_causes(kept, schema, namespaced=True)
        update_causes(kept, kept, schema)


def fitting(schema: Schema) -> st.SearchStrategy[Any]:
    """Values that can be read at a place, sensible or not."""
    match schema.type:
        case "string":
            return st.one_of(st.text(max_size=5), st.sampled_from(["", "None", "a.b", "-", "YQ==", "*.x"]))
        case "integer":
            return st.one_of(st.integers(-3, 3), st.sampled_from([2**31 - 1, 65536, 80]))
        case "boolean":
            return st.booleans()
        case "array":
            return st.lists(st.one_of(st.none(), fitting(schema.element or ANYTHING)), max_size=3)
        case "object":
            return st.dictionaries(KEYS, fitting(schema.values or ANYTHING), max_size=2)
        case _:
            return st.sampled_from([0, -1, 5, "1Gi", "-2", "50%", "x", "0", "1500m"])


@st.composite
def filled_objects(draw: st.DrawFn) -> Json:
    """A base with one more field that its schema knows, wherever that is."""
    manifest = copy.deepcopy(draw(st.sampled_from(BASES)))
    schema, value = schema_of(built_in(), manifest), manifest
    for _ in range(draw(st.integers(1, 6))):
        names = sorted(schema.properties)
        if not names or not isinstance(value, dict):
            break
        name = draw(st.sampled_from(names))
        below = schema.child(name)
        assert below is not None
        if name in ("apiVersion", "kind", "metadata") and value is manifest:
            continue
        if below.type == "array" and below.element is not None and below.element.properties:
            value[name] = value.get(name) or [{}]
            value, schema = value[name][0], below.element
        elif below.properties:
            value[name] = value.get(name) or {}
            value, schema = value[name], below
        else:
            value[name] = draw(st.one_of(fitting(below), VALUES))
            break
    return manifest


@settings(max_examples=200, deadline=None)
@given(filled_objects())
def test_a_built_in_kind_is_judged_whichever_field_is_set(manifest: Json) -> None:
    schema = schema_of(built_in(), manifest)
    if unreadable(manifest, schema) is None:
        kept = created(pruned(manifest, schema).manifest, schema, uid="u", now=NOW)
        creation_causes(kept, schema, namespaced=True)
        assert completed(kept, schema) == kept
        assert defaulted(kept, schema) == read_back(kept, schema)


@settings(max_examples=150, deadline=None)
@given(spoiled_objects([GADGET["object"]]))
def test_a_custom_kind_is_judged_whatever_it_holds(manifest: Json) -> None:
    kept = defaulted(pruned(manifest, SCHEMA).manifest, SCHEMA)
    if (
        isinstance(kept.get("metadata"), dict)
        and unreadable({"metadata": manifest["metadata"]}, schema_of(built_in(), BASES[0])) is None
    ):
        creation_causes(kept, SCHEMA, namespaced=True)
