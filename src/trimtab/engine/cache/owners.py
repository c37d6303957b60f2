"""Whose an object is: the owners it names, and those that only its name or annotations give away. Pure.

Claims of StatefulSets are the exception: whether one has an owner depends on which sets exist, so `claims`
keeps book of both, and the index links them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import TypeAlias

import msgspec
from msgspec import Struct

from trimtab.engine.live import Owner
from trimtab.kube.objects import KubeObject, OwnerReference
from trimtab.resources.keys import ResourceKey

#: whether objects of a group and kind live in namespaces; None where nobody knows
Scopes: TypeAlias = Callable[[str, str], bool | None]

_ACCOUNT_UID = "kubernetes.io/service-account.uid"
_ACCOUNT_NAME = "kubernetes.io/service-account.name"
_ACCOUNT_TOKEN = "kubernetes.io/service-account-token"  # noqa: S105 - the name of a type, no token
_OPERATOR_GROUP = "olm.operatorGroup"
_OPERATORS = "operators.coreos.com"
_NUMBERED = re.compile(r"(.+)-\d+")


def owners_of(told: KubeObject, key: ResourceKey, scopes: Scopes) -> tuple[Owner, ...]:
    """The owners an object names, or else the one that can be inferred."""
    references = told.metadata.owner_references
    if references:
        return tuple(_named(reference, key.namespace, scopes) for reference in references)
    infer = _INFERRED.get((key.group, key.kind))
    return () if infer is None else infer(told, key)


def _named(reference: OwnerReference, namespace: str, scopes: Scopes) -> Owner:
    """An owner lives in the namespace of what it owns, or in none."""
    group, slash, _ = reference.api_version.partition("/")
    group, kind = sys.intern(group if slash else ""), sys.intern(reference.kind)  # few, many times each
    where = "" if scopes(group, kind) is False else namespace
    return Owner(reference.uid, ResourceKey(group, kind, where, reference.name))


def _service(_: KubeObject, key: ResourceKey) -> tuple[Owner, ...]:
    return (Owner("", ResourceKey("", "Service", key.namespace, key.name), True),)


def _service_account(told: KubeObject, key: ResourceKey) -> tuple[Owner, ...]:
    annotations = told.metadata.annotations or {}
    uid, name = annotations.get(_ACCOUNT_UID), annotations.get(_ACCOUNT_NAME)
    if not uid or not name or _typed.decode(told.raw).type != _ACCOUNT_TOKEN:
        return ()
    return (Owner(uid, ResourceKey("", "ServiceAccount", key.namespace, name), True),)


def _operator_group(told: KubeObject, key: ResourceKey) -> tuple[Owner, ...]:
    name = (told.metadata.annotations or {}).get(_OPERATOR_GROUP)
    if not name:
        return ()
    return (Owner("", ResourceKey(_OPERATORS, "OperatorGroup", key.namespace, name), True),)


_INFERRED: dict[tuple[str, str], Callable[[KubeObject, ResourceKey], tuple[Owner, ...]]] = {
    ("", "Endpoints"): _service,
    ("", "Secret"): _service_account,
    (_OPERATORS, "ClusterServiceVersion"): _operator_group,
}


class _Typed(Struct, frozen=True, gc=False):
    type: str | None = None


class _Named(Struct, frozen=True, gc=False):
    name: str = ""


class _Template(Struct, frozen=True, gc=False):
    metadata: _Named = _Named()


class _SetSpec(Struct, frozen=True, gc=False, rename="camel"):
    volume_claim_templates: tuple[_Template, ...] | None = None


class _Set(Struct, frozen=True, gc=False):
    spec: _SetSpec | None = None


_typed = msgspec.json.Decoder(_Typed)
_set = msgspec.json.Decoder(_Set)


def is_claim(key: ResourceKey) -> bool:
    """Whether this is a PersistentVolumeClaim."""
    return key.kind == "PersistentVolumeClaim" and not key.group


def is_set(key: ResourceKey) -> bool:
    """Whether this is a StatefulSet."""
    return key.kind == "StatefulSet" and key.group in {"apps", "extensions"}


def stems_of(told: KubeObject) -> tuple[str, ...]:
    """What the names of a StatefulSet's claims begin with: a template's name and its own."""
    spec = _set.decode(told.raw).spec
    templates = (spec.volume_claim_templates if spec else None) or ()
    return tuple(f"{each.metadata.name}-{told.metadata.name}" for each in templates)


def stem_of(claim: str) -> str:
    """The name of a claim without its number; empty when it has none."""
    found = _NUMBERED.fullmatch(claim)
    return found[1] if found else ""


class Claims:
    """Which claims belong to which StatefulSet, whichever comes first."""

    def __init__(self) -> None:
        self._stems: dict[ResourceKey, tuple[str, ...]] = {}
        self._sets: dict[tuple[str, str], Owner] = {}
        self._claims: dict[tuple[str, str], set[ResourceKey]] = {}

    def is_empty(self) -> bool:
        """Whether neither sets nor claims are known."""
        return not (self._stems or self._sets or self._claims)

    def owner(self, claim: ResourceKey) -> Owner | None:
        """The set that a claim belongs to, as far as it is known."""
        return self._sets.get((claim.namespace, stem_of(claim.name)))

    def add_claim(self, claim: ResourceKey) -> None:
        """A claim is there."""
        if stem := stem_of(claim.name):
            self._claims.setdefault((claim.namespace, stem), set()).add(claim)

    def drop_claim(self, claim: ResourceKey) -> None:
        """A claim is gone."""
        name = (claim.namespace, stem_of(claim.name))
        if kept := self._claims.get(name):
            kept.discard(claim)
            if not kept:
                del self._claims[name]

    def add_set(self, owner: Owner, stems: tuple[str, ...]) -> list[ResourceKey]:
        """A set is there with these templates; the claims whose owner that changes, in order."""
        touched = self.drop_set(owner.key)
        self._stems[owner.key] = stems
        for stem in stems:
            self._sets[owner.key.namespace, stem] = owner
        return sorted({*touched, *self._claimed(owner.key.namespace, stems)})

    def drop_set(self, key: ResourceKey) -> list[ResourceKey]:
        """A set is gone; the claims that lose their owner, in order."""
        stems = self._stems.pop(key, ())
        for stem in stems:
            if (held := self._sets.get((key.namespace, stem))) is not None and held.key == key:
                del self._sets[key.namespace, stem]
        return sorted(self._claimed(key.namespace, stems))

    def _claimed(self, namespace: str, stems: tuple[str, ...]) -> set[ResourceKey]:
        return {claim for stem in stems for claim in self._claims.get((namespace, stem), ())}
