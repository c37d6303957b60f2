"""From manifests to desired objects, and from those to pairs with what is live. Pure.

One bad object is reported with its reason and remedy and the others go on. It is never taken for absent:
what Git declares badly is kept in the cluster, and when not even the name of a bad object can be told, it is
refused by the place where it stands, `complete` is false and nothing at all may be pruned.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, TypeAlias

from msgspec import Struct

from trimtab.engine.compare.normalising import with_data_for_string_data
from trimtab.engine.digests import digest_of_bytes, encoded
from trimtab.engine.live import Live
from trimtab.engine.marks import Tracking
from trimtab.engine.rows import Desired
from trimtab.engine.stretches import STRETCH, Stretches, whole
from trimtab.errors import InvalidSpec, TrimtabError
from trimtab.resources import manifests as reading
from trimtab.resources.keys import ResourceKey
from trimtab.resources.manifests import Found, Manifest

#: whether a kind is namespaced; None when that is not known
ScopeOf: TypeAlias = Callable[[str, str], bool | None]

#: what etcd takes in one request, unless somebody has set it otherwise
LARGEST_OBJECT: Final = 1536 * 1024
_UNENCODABLE: Final = (TypeError, ValueError, OverflowError, RecursionError)
#: the kind of what has no name: no server serves it
_NAMELESS: Final = "Manifest"
#: what to do about words that mean nothing
MEND_WORDS: Final = "Mend these words, or remove them"
#: what may be read in one stretch, in bytes, and what an object counts beside its own
_STRETCH_WEIGHT: Final = 1024 * 1024
_OBJECT_WEIGHT: Final = _STRETCH_WEIGHT // STRETCH
#: written by servers alone: an apply that carries them is refused or means nothing
_SERVERS_OWN: Final = frozenset(
    {"creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid"}
)


class Role(enum.Enum):
    """What an object of a unit is for."""

    RESOURCE = "resource"
    HOOK = "hook"
    #: neither: it asks to be skipped, or for a hook that does not exist
    IGNORED = "ignored"


class FindingKind(enum.Enum):
    """What is the matter with an object in Git; see `MERE_WARNINGS`."""

    #: about the source as a whole
    SOURCE = "SourceWarning"
    REPEATED = "RepeatedResourceWarning"
    EXCLUDED = "ExcludedResourceWarning"
    UNKNOWN_OPTION = "UnknownSyncOptionWarning"
    UNKNOWN_KIND = "UnknownKindWarning"
    INVALID = "InvalidResourceError"
    OUTSIDE = "NamespaceNotAllowedError"
    TOO_LARGE = "ResourceTooLargeError"


#: what keeps nothing from being compared and synced
MERE_WARNINGS: Final = frozenset(
    {
        FindingKind.SOURCE,
        FindingKind.REPEATED,
        FindingKind.EXCLUDED,
        FindingKind.UNKNOWN_OPTION,
        FindingKind.UNKNOWN_KIND,
    }
)


class Finding(Struct, frozen=True, kw_only=True):
    """Something about an object, or its source, that whoever declares it should know."""

    kind: FindingKind
    subject: str
    reason: str
    remedy: str
    key: ResourceKey | None = None

    @property
    def place(self) -> ResourceKey:
        """The object that this is about; where it has no name, where it stands in its source."""
        return self.key or ResourceKey("", _NAMELESS, "", self.subject)

    def __str__(self) -> str:
        """Object, reason and remedy in one line."""
        return str(TrimtabError(self.subject, self.reason, self.remedy))


def _everything(_group: str, _kind: str) -> bool:
    return True


def _plain(_manifest: Manifest) -> Role:
    return Role.RESOURCE


def _unknown(_group: str, _kind: str) -> bool | None:
    return None


def _understood(_manifest: Manifest) -> tuple[str, ...]:
    return ()


class Terms(Struct, frozen=True, kw_only=True):
    """What has to be known of a unit and its cluster to read the unit's manifests."""

    unit: str
    tracking: Tracking
    #: where objects without a namespace go
    namespace: str = ""
    scope_of: ScopeOf = _unknown
    role_of: Callable[[Manifest], Role] = _plain
    #: what the annotations of an object say about its sync that means nothing
    odd_words_of: Callable[[Manifest], tuple[str, ...]] = _understood
    #: whether objects of this kind are looked at
    includes: Callable[[str, str], bool] = _everything
    #: the namespaces that may be written to; None means all
    namespaces: frozenset[str] | None = None
    cluster_resources: bool = True
    largest: int = LARGEST_OBJECT


class Wanted(Struct, frozen=True, kw_only=True):
    """What Git wants of one unit."""

    unit: str
    desired: tuple[Desired, ...] = ()
    hooks: tuple[Desired, ...] = ()
    findings: tuple[Finding, ...] = ()
    #: objects that are declared, but not so that they could be written; they are not pruned.
    #: What has no name is called by where it stands
    refused: Mapping[ResourceKey, Finding] = {}
    #: objects that are declared and not ours to write now (skipped, hooks): nothing is said of live ones
    left: frozenset[ResourceKey] = frozenset()
    #: whether every declared object has at least been recognised; if not, nothing may be pruned
    complete: bool = True


class _Refused(Exception):
    """An object that cannot be used."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding)
        self.finding = finding


# -- desired ------------------------------------------------------------------------------------------------


def desired_from(manifests: Iterable[Found], terms: Terms) -> Wanted:
    """The desired objects and hooks of a unit, with what is to be said about single ones."""
    return whole(reading_of(manifests, terms))


def reading_of(manifests: Iterable[Found], terms: Terms) -> Stretches[Wanted]:
    """`desired_from` in stretches: not too many objects each, nor too many bytes."""
    found, findings = _flat(manifests)
    read = _Reading(terms, _Scopes(terms.scope_of, _declared_scopes(found)))
    for finding in findings:
        read.refuse(finding)
    weight = 0
    for number, one in enumerate(found):
        weight += read.take(one, number)
        if weight >= _STRETCH_WEIGHT:
            yield
            weight = 0
    return read.wanted()


class _Reading:
    """What is known of a unit's manifests while they are read one after the other."""

    def __init__(self, terms: Terms, scopes: ScopeOf) -> None:
        self._terms, self._scopes = terms, scopes
        self._findings: list[Finding] = []
        self._kept: dict[tuple[Role, ResourceKey], Desired] = {}
        self._repeated: dict[ResourceKey, int] = {}
        self._refused: dict[ResourceKey, Finding] = {}
        self._left: set[ResourceKey] = set()

    def take(self, one: Found, number: int) -> int:
        """Read one manifest; says how much work that was, in bytes."""
        try:
            role, desired, size = _read(one, number, self._terms, self._scopes)
        except _Refused as refusal:
            self.refuse(refusal.finding)
            return _STRETCH_WEIGHT  # for all that is known it was a large one
        if role is not Role.RESOURCE:
            self._left.add(desired.key)
        if role is Role.IGNORED:
            self._note_odd_words(desired, "so it is neither kept nor run")
        else:
            self._keep(role, desired)
        return _OBJECT_WEIGHT + size

    def _keep(self, role: Role, desired: Desired) -> None:
        terms, key, findings = self._terms, desired.key, self._findings
        if not terms.includes(key.group, key.kind):
            findings.append(_excluded(desired))
            return
        if self._scopes(key.group, key.kind) is None:
            findings.append(_unknown_kind(desired))
        self._note_odd_words(desired)
        if (role, key) in self._kept:
            self._repeated[key] = self._repeated.get(key, 1) + 1
        self._kept[role, key] = desired
        self._refused.pop(key, None)

    def _note_odd_words(self, desired: Desired, effect: str = "") -> None:
        if words := self._terms.odd_words_of(desired.manifest):
            self._findings.append(odd_words(str(desired.key), words, desired.key, effect))

    def refuse(self, finding: Finding) -> None:
        """Of several declarations of one object the last counts, also if it is one that cannot be used."""
        self._findings.append(finding)
        self._refused[finding.place] = finding
        for role in Role:
            self._kept.pop((role, finding.place), None)

    def wanted(self) -> Wanted:
        """What all of them say."""
        findings = (*self._findings, *(_repeated(key, count) for key, count in self._repeated.items()))
        return Wanted(
            unit=self._terms.unit,
            desired=tuple(one for (role, _), one in self._kept.items() if role is Role.RESOURCE),
            hooks=tuple(one for (role, _), one in self._kept.items() if role is Role.HOOK),
            findings=findings,
            refused=self._refused,
            left=frozenset(self._left),
            complete=all(each.key is not None for each in findings if each.kind is FindingKind.INVALID),
        )


def _flat(manifests: Iterable[Found]) -> tuple[list[Found], list[Finding]]:
    """The manifests with lists taken apart, and what of them cannot be read, item by item."""
    flat: list[Found] = []
    findings: list[Finding] = []
    for one in manifests:
        if not str(one.manifest.get("kind", "")).endswith("List"):
            flat.append(one)
            continue
        found, errors = reading.taken_apart(one.manifest, one.where)
        flat += found
        findings += map(_invalid, errors)
    return flat, findings


class _Scopes:
    """Which kinds are namespaced: by the definitions among the manifests, else as the cluster knows it."""

    def __init__(self, known: ScopeOf, declared: Mapping[tuple[str, str], bool]) -> None:
        self._known = known
        self._declared = declared

    def __call__(self, group: str, kind: str) -> bool | None:
        found = self._declared.get((group, kind)) if self._declared else None
        return self._known(group, kind) if found is None else found


def _declared_scopes(manifests: Iterable[Found]) -> dict[tuple[str, str], bool]:
    scopes: dict[tuple[str, str], bool] = {}
    for one in manifests:
        if one.manifest.get("kind") != "CustomResourceDefinition":
            continue
        spec = one.manifest.get("spec")
        names = spec.get("names") if isinstance(spec, dict) else None
        if isinstance(spec, dict) and isinstance(names, dict):
            scopes[str(spec.get("group")), str(names.get("kind"))] = spec.get("scope") == "Namespaced"
    return scopes


def _read(one: Found, number: int, terms: Terms, scopes: ScopeOf) -> tuple[Role, Desired, int]:
    """One manifest as a desired object, and its bytes; raises `_Refused` about what cannot be used."""
    try:
        key, generated = _named(one, number)
        reading.annotations(one.manifest, one.where)
        reading.labels(one.manifest, one.where)
    except InvalidSpec as exc:
        raise _Refused(_invalid(exc, _key_or_none(one, terms, scopes))) from exc
    key = _placed(key, terms, scopes)
    placed = _normal(one.manifest, key.namespace)
    try:
        marked = terms.tracking.marked(placed, terms.unit, namespace=terms.namespace)
    except InvalidSpec as exc:
        raise _Refused(_invalid(exc, key)) from exc
    _check_place(key, scopes, terms)
    raw = _encoded(marked, key)
    if len(raw) > terms.largest:
        raise _Refused(_too_large(key, len(raw), terms.largest))
    desired = Desired(
        key=key,
        api_version=one.manifest["apiVersion"],
        manifest=marked,
        digest=digest_of_bytes(raw),
        where=one.where,
        generate_name=generated,
    )
    return terms.role_of(marked), desired, len(raw)


def _named(one: Found, number: int) -> tuple[ResourceKey, str]:
    """The key, made up where there is only the beginning of a name: such objects never repeat each other."""
    generated = reading.generate_name(one.manifest, one.where)
    if not generated or reading.metadata(one.manifest, one.where).get("name"):
        return reading.key_of(one.manifest, one.where), ""
    named = {**reading.metadata(one.manifest, one.where), "name": f"{generated}{number}"}
    return reading.key_of({**one.manifest, "metadata": named}, one.where), generated


def _key_or_none(one: Found, terms: Terms, scopes: ScopeOf) -> ResourceKey | None:
    try:
        return _placed(reading.key_of(one.manifest, one.where), terms, scopes)
    except InvalidSpec:
        return None


def _placed(key: ResourceKey, terms: Terms, scopes: ScopeOf) -> ResourceKey:
    """The key in its namespace: none for what has none, the unit's own where none is given."""
    scope = scopes(key.group, key.kind)
    namespace = "" if scope is False else key.namespace or terms.namespace
    return key if namespace == key.namespace else ResourceKey(key.group, key.kind, namespace, key.name)


def _normal(manifest: Manifest, namespace: str) -> Manifest:
    """The manifest in its namespace, without what only servers write."""
    held = {name: value for name, value in manifest["metadata"].items() if name not in _SERVERS_OWN}
    held.pop("namespace", None)
    if namespace:
        held["namespace"] = namespace
    return with_data_for_string_data({**manifest, "metadata": held})


def _check_place(key: ResourceKey, scopes: ScopeOf, terms: Terms) -> None:
    if not key.namespace:
        if scopes(key.group, key.kind):
            raise _Refused(_without_namespace(key))
        if not terms.cluster_resources:
            raise _Refused(_outside(key, "objects without a namespace may not be managed here"))
    elif terms.namespaces is not None and key.namespace not in terms.namespaces:
        raise _Refused(_outside(key, f"the namespace {key.namespace} is not among those allowed"))


def _encoded(manifest: Manifest, key: ResourceKey) -> bytes:
    try:
        return encoded(manifest)
    except _UNENCODABLE as exc:
        spoken = InvalidSpec(str(key), "it holds something that JSON cannot say", "Look for odd values in it")
        raise _Refused(_invalid(spoken, key)) from exc


# -- what is said about single objects ----------------------------------------------------------------------


def _invalid(error: InvalidSpec, key: ResourceKey | None = None) -> Finding:
    return Finding(
        kind=FindingKind.INVALID, subject=error.subject, reason=error.reason, remedy=error.remedy, key=key
    )


def _without_namespace(key: ResourceKey) -> Finding:
    remedy = "Give the object a metadata.namespace, or the unit a namespace of its own"
    reason = "it needs a namespace and has none"
    return Finding(kind=FindingKind.INVALID, subject=str(key), reason=reason, remedy=remedy, key=key)


def _outside(key: ResourceKey, reason: str) -> Finding:
    remedy = "Move the object, or have this place allowed"
    return Finding(kind=FindingKind.OUTSIDE, subject=str(key), reason=reason, remedy=remedy, key=key)


def _too_large(key: ResourceKey, size: int, largest: int) -> Finding:
    return Finding(
        kind=FindingKind.TOO_LARGE,
        subject=str(key),
        reason=f"it has {size} bytes and may have {largest}",
        remedy="Split it, or move large contents elsewhere",
        key=key,
    )


def _repeated(key: ResourceKey, count: int) -> Finding:
    return Finding(
        kind=FindingKind.REPEATED,
        subject=str(key),
        reason=f"it is declared {count} times; the last one counts",
        remedy="Declare it once",
        key=key,
    )


def _excluded(desired: Desired) -> Finding:
    return Finding(
        kind=FindingKind.EXCLUDED,
        subject=str(desired.key),
        reason="objects of its kind are excluded by the settings, so it is left alone",
        remedy="Take it out of the source, or its kind out of the exclusions",
        key=desired.key,
    )


def odd_words(
    subject: str, words: Iterable[str], key: ResourceKey | None = None, effect: str = ""
) -> Finding:
    """That somebody wrote sync options which mean nothing: mistyped ones look as if they were heeded."""
    told = f"nothing is meant by {', '.join(words)}"
    return Finding(
        kind=FindingKind.UNKNOWN_OPTION,
        subject=subject,
        reason=f"{told}, {effect}" if effect else told,
        remedy=MEND_WORDS,
        key=key,
    )


def _unknown_kind(desired: Desired) -> Finding:
    return Finding(
        kind=FindingKind.UNKNOWN_KIND,
        subject=str(desired.key),
        reason=f"the cluster knows no {desired.key.kind} of {desired.api_version}",
        remedy="Install its definition, or declare that in the same unit",
        key=desired.key,
    )


# -- pairs --------------------------------------------------------------------------------------------------


class Pair(Struct, frozen=True):
    """One object as it is wanted and as it is; at least one of the two."""

    desired: Desired | None
    live: Live | None

    @property
    def key(self) -> ResourceKey:
        """The live object's key, if there is one: of an unknown kind only that tells the scope."""
        found = self.live or self.desired
        if found is None:
            raise ValueError("a pair of nothing")
        return found.key


def paired(
    desired: Iterable[Desired],
    managed: Iterable[Live],
    find: Callable[[ResourceKey], Live | None],
    scope_of: ScopeOf = _unknown,
) -> tuple[Pair, ...]:
    """Each desired object with its live one, in order; then what is managed and not desired any more.

    `find` looks for live objects that do not carry the unit's mark.
    """
    wanted = tuple(desired)
    left = _by_key(managed, wanted)
    pairs: list[Pair] = []
    for one in wanted:
        live = left.pop(one.key, None) or find(one.key)
        if live is None and one.key.namespace and scope_of(one.key.group, one.key.kind) is None:
            bare = ResourceKey(one.key.group, one.key.kind, "", one.key.name)
            live = left.pop(bare, None) or find(bare)
        pairs.append(Pair(one, live))
    pairs.extend(Pair(None, live) for live in left.values())
    return tuple(pairs)


def _by_key(managed: Iterable[Live], wanted: tuple[Desired, ...]) -> dict[ResourceKey, Live]:
    """The managed objects by key; one that is served under several keys is there once, as it is wanted."""
    found = {live.key: live for live in managed}
    if len({live.uid for live in found.values()}) == len(found):
        return found
    keys = {one.key for one in wanted}
    for same in _doubles(found.values()):
        spare = [live.key for live in same if live.key not in keys]
        for key in spare[: len(same) - 1]:
            del found[key]
    return found


def _doubles(managed: Iterable[Live]) -> Iterator[list[Live]]:
    """Objects that share a uid."""
    groups: dict[str, list[Live]] = {}
    for live in managed:
        groups.setdefault(live.uid, []).append(live)
    return (group for uid, group in groups.items() if uid and len(group) > 1)
