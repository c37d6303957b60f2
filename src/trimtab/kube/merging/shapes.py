"""What merging must know about a type: its fields, and how its lists and maps are merged.

`Shape` is a role: schemas satisfy it by their form. The functions that merge, compare and track owners
read nothing else of a schema. Pure; no schema is read or stored here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from msgspec import Struct


class Shape(Protocol):
    """One node of a schema, as far as merging goes."""

    @property
    def model(self) -> str:
        """The name of a built-in type, such as io.k8s.api.core.v1.PodSpec; empty for others."""

    @property
    def type(self) -> str:
        """One of object, array, string, integer, number, boolean; empty for anything."""

    @property
    def format(self) -> str:
        """What kind of string it is; most formats let numbers stand for it too. Empty for plain text."""

    def child(self, name: str) -> Shape | None:
        """The shape of a field, or of a map's values; None for a field that may not be there."""

    @property
    def properties(self) -> Mapping[str, Any]:
        """The fields that the schema names; not the keys of a map, nor preserved unknown fields."""

    def names(self, name: str) -> bool:
        """Whether the schema names this field, if only because every object has it."""

    @property
    def open(self) -> bool:
        """Whether fields that nobody declared may be applied, here and beneath."""

    @property
    def element(self) -> Shape | None:
        """The shape of an array's elements."""

    @property
    def list_type(self) -> str:
        """One of atomic (the default), set and map."""

    @property
    def list_keys(self) -> tuple[str, ...]:
        """The fields that tell the elements of a list of type map apart."""

    @property
    def key_defaults(self) -> Mapping[str, Any]:
        """Values of key fields that an element may leave out, such as protocol TCP."""

    @property
    def atomic(self) -> bool:
        """Whether a map or struct is owned and replaced as a whole."""

    @property
    def merge_key(self) -> str:
        """The field that strategic merge patches tell elements apart by; empty if none."""

    @property
    def merge_strategies(self) -> frozenset[str]:
        """What strategic merge patches do here: merge, replace, retainKeys."""


class Anything(Struct, frozen=True):
    """The shape of what no schema describes: maps merge key by key, lists are atomic."""

    @property
    def model(self) -> str:
        """No type of a name."""
        return ""

    @property
    def type(self) -> str:
        """Any type."""
        return ""

    @property
    def format(self) -> str:
        """No format."""
        return ""

    def child(self, _name: str) -> Shape | None:
        """Values of maps may be anything again."""
        return self

    @property
    def properties(self) -> Mapping[str, Any]:
        """No field has a name."""
        return {}

    def names(self, _name: str) -> bool:
        """No field has a name."""
        return False

    @property
    def open(self) -> bool:
        """No field needs to be declared."""
        return True

    @property
    def element(self) -> Shape | None:
        """Elements may be anything again."""
        return self

    @property
    def list_type(self) -> str:
        """Lists of unknown elements cannot be merged."""
        return "atomic"

    @property
    def list_keys(self) -> tuple[str, ...]:
        """No keys are known."""
        return ()

    @property
    def key_defaults(self) -> Mapping[str, Any]:
        """No defaults are known."""
        return {}

    @property
    def atomic(self) -> bool:
        """Maps merge key by key."""
        return False

    @property
    def merge_key(self) -> str:
        """No key is known."""
        return ""

    @property
    def merge_strategies(self) -> frozenset[str]:
        """No strategy is known."""
        return frozenset()


ANYTHING = Anything()
