"""Sync options and waves: what annotations and units say about how objects are written and pruned. Pure.

An option is a text such as `Prune=false`. An object carries options in an annotation, ours or Argo CD's (ours
is read first); a unit and an operation carry lists of them. What an object says beats what its unit says.
Hooks are read in `hooks`.
"""

from __future__ import annotations

import difflib
import enum
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from msgspec import Struct

from trimtab.errors import InvalidSpec
from trimtab.kube.cluster import Propagation

_OPTIONS = ("trimtab.dev/sync-options", "argocd.argoproj.io/sync-options")
_OPTION_NAMES = frozenset(_OPTIONS)
_RESOURCE_POLICY = "helm.sh/resource-policy"
_WAVES = ("trimtab.dev/sync-wave", "argocd.argoproj.io/sync-wave", "helm.sh/hook-weight")
_READ_NAMES = frozenset({*_OPTIONS, *_WAVES})
#: options that an object alone carries, about itself
_OBJECTS_OWN: Final = frozenset({"Delete", "Force"})


class Consent(enum.Enum):
    """Whether something may be deleted."""

    YES = "true"
    NO = "false"
    CONFIRM = "confirm"


class ObjectOptions(Struct, frozen=True):
    """What one object's annotations say; None where they say nothing."""

    words: tuple[str, ...] = ()

    @property
    def prune(self) -> Consent | None:
        """Whether it may be deleted when Git no longer asks for it."""
        return _consent(value_of(self.words, "Prune"))

    @property
    def delete(self) -> Consent | None:
        """Whether it may be deleted with its unit."""
        return _consent(value_of(self.words, "Delete"))

    @property
    def prune_last(self) -> bool:
        """Whether it goes after everything else."""
        return value_of(self.words, "PruneLast") == "true"

    @property
    def replace(self) -> bool:
        """Whether it is written whole instead of applied."""
        return value_of(self.words, "Replace") == "true"

    @property
    def force(self) -> bool:
        """Whether it is deleted and made anew when the server refuses the change."""
        return value_of(self.words, "Force") == "true"

    @property
    def validate(self) -> bool:
        """Whether the server checks it for unknown fields."""
        return value_of(self.words, "Validate") != "false"

    @property
    def server_side(self) -> bool | None:
        """Whether it is written by server-side apply."""
        return _truth(value_of(self.words, "ServerSideApply"))

    @property
    def skip_rehearsal_of_missing_kind(self) -> bool:
        """Whether it may be of a kind that nobody serves yet."""
        return value_of(self.words, "SkipDryRunOnMissingResource") == "true"


class SyncOptions(Struct, frozen=True, kw_only=True):
    """What a unit, or one operation on it, says about all of its objects."""

    prune: Consent = Consent.YES
    prune_last: bool = False
    propagation: Propagation = Propagation.FOREGROUND
    replace: bool = False
    server_side: bool = True
    validate: bool = True
    skip_rehearsal_of_missing_kinds: bool = False
    #: leave alone what is as Git wants it
    out_of_sync_only: bool = True
    create_namespace: bool = False
    #: ignored fields stay as they are when something else of their object is written
    respect_ignore_differences: bool = False


def option_list(text: str) -> tuple[str, ...]:
    """The options in an annotation: split at commas, trimmed, each told once."""
    return tuple(dict.fromkeys(word for part in text.split(",") if (word := part.strip())))


def value_of(words: Collection[str], key: str) -> str | None:
    """What an option is set to: the first `key=` wins, and a bare key says nothing."""
    if not words:
        return None
    prefix = f"{key}="
    return next((word.removeprefix(prefix) for word in words if word.startswith(prefix)), None)


def unknown_words(words: Iterable[str]) -> tuple[str, ...]:
    """The words among these that are no option, or no value of one."""
    return tuple(word for word in words if word.partition("=")[2] not in _VALUES.get(_key(word), ()))


def idle_words(words: Collection[str]) -> tuple[str, ...]:
    """The words among these that mean nothing of a unit or an operation: no option, or an object's own."""
    unknown = unknown_words(words)
    return tuple(word for word in words if word in unknown or _key(word) in _OBJECTS_OWN)


def odd_words(annotations: Mapping[str, str]) -> tuple[str, ...]:
    """What an object says of options and waves that means nothing, or the opposite of what it said before."""
    if _READ_NAMES.isdisjoint(annotations):
        return ()
    words = object_options(annotations).words
    waves = (f"{name}: {annotations[name]}" for name in _WAVES if _number(annotations.get(name, "0")) is None)
    return (*unknown_words(words), *_taken_back(words), *waves)


def _taken_back(words: Iterable[str]) -> Iterator[str]:
    """Options that are set a second time, to something else: the first one counts."""
    first: dict[str, str] = {}
    for word in words:
        said = first.setdefault(_key(word), word)
        if said != word and word.partition("=")[2] in _VALUES.get(_key(word), ()):
            yield f"{word} after {said}"


def check_words(words: Collection[str]) -> None:
    """Refuse the first word that means nothing of a unit or an operation, with what does."""
    for word in idle_words(words):
        key = _key(word)
        if key in _OBJECTS_OWN:
            reason, remedy = (
                "only an object says it, of itself",
                f"Write it into its annotation {_OPTIONS[0]}",
            )
        elif key in _VALUES:
            values = " or ".join(f"{key}={each}" for each in _VALUES[key])
            reason, remedy = "it has no such value", f"There is {values}"
        else:
            reason, remedy = "there is no such option", f"There is {', '.join(_by_likeness(key))}"
        raise InvalidSpec(f"sync option {word}", reason, remedy)


def _by_likeness(key: str) -> tuple[str, ...]:
    """Every option of units and operations, those that are spelled most alike first."""
    known = _VALUES.keys() - _OBJECTS_OWN
    near = difflib.get_close_matches(key.casefold(), map(str.casefold, known), n=len(known))
    place = {each: number for number, each in enumerate(near)}
    return tuple(sorted(known, key=lambda each: (place.get(each.casefold(), len(near)), each)))


def _key(word: str) -> str:
    return word.partition("=")[0]


def object_options(annotations: Mapping[str, str]) -> ObjectOptions:
    """The options that an object carries."""
    if _OPTION_NAMES.isdisjoint(annotations):
        return _NONE
    words = [word for name in _OPTIONS for word in option_list(annotations.get(name, ""))]
    return ObjectOptions(tuple(dict.fromkeys(words))) if words else _NONE


_NONE = ObjectOptions()


_USUAL = SyncOptions()


def sync_options(words: Iterable[str], defaults: SyncOptions | None = None) -> SyncOptions:
    """The options of a unit or an operation, over those that its front end has by default."""
    given = tuple(words)
    known = defaults or _USUAL
    if not given:
        return known

    def flag(key: str, *, default: bool) -> bool:
        said = _truth(value_of(given, key))
        return default if said is None else said

    return SyncOptions(
        prune=_consent(value_of(given, "Prune")) or known.prune,
        prune_last=flag("PruneLast", default=known.prune_last),
        propagation=_PROPAGATIONS.get(value_of(given, "PrunePropagationPolicy") or "", known.propagation),
        replace=flag("Replace", default=known.replace),
        server_side=flag("ServerSideApply", default=known.server_side),
        validate=flag("Validate", default=known.validate),
        skip_rehearsal_of_missing_kinds=flag(
            "SkipDryRunOnMissingResource", default=known.skip_rehearsal_of_missing_kinds
        ),
        out_of_sync_only=flag("ApplyOutOfSyncOnly", default=known.out_of_sync_only),
        create_namespace=flag("CreateNamespace", default=known.create_namespace),
        respect_ignore_differences=flag("RespectIgnoreDifferences", default=known.respect_ignore_differences),
    )


_PROPAGATIONS = {each.value.lower(): each for each in Propagation}


def written_server_side(one: ObjectOptions, unit: SyncOptions) -> bool:
    """Whether an object is written by server-side apply: its own word beats its unit's."""
    return unit.server_side if one.server_side is None else one.server_side


def prune_consent(one: ObjectOptions, unit: SyncOptions) -> Consent:
    """Whether an object may be pruned: its own word beats its unit's."""
    return one.prune or unit.prune


def delete_consent(one: ObjectOptions, annotations: Mapping[str, str]) -> Consent:
    """Whether an object may be deleted with its unit: the strictest of all that it says of itself."""
    said = {one.prune, one.delete}
    if Consent.NO in said or annotations.get(_RESOURCE_POLICY) == "keep":
        return Consent.NO
    return Consent.CONFIRM if Consent.CONFIRM in said else Consent.YES


def wave_of(annotations: Mapping[str, str]) -> int:
    """The wave of an object: by our word, Argo CD's or Helm's weight; what is no number is not there."""
    for name in _WAVES:
        text = annotations.get(name)
        if text is not None and (number := _number(text)) is not None:
            return number
    return 0


def _number(text: str) -> int | None:
    digits = text.strip().removeprefix("-").removeprefix("+")
    return int(text) if digits.isascii() and digits.isdigit() and len(digits) < 10 else None


def _truth(text: str | None) -> bool | None:
    return _TRUTH.get(text or "")


def _consent(text: str | None) -> Consent | None:
    return _CONSENTS.get(text or "")


_TRUTH = {"true": True, "false": False}
#: every option there is, and what it may be set to
_VALUES: Final[Mapping[str, Collection[str]]] = {
    **dict.fromkeys(("Prune", "Delete"), tuple(each.value for each in Consent)),
    "PrunePropagationPolicy": tuple(_PROPAGATIONS),
    **dict.fromkeys(
        (
            *("PruneLast", "Replace", "Force", "Validate", "ServerSideApply", "ApplyOutOfSyncOnly"),
            *("SkipDryRunOnMissingResource", "CreateNamespace", "RespectIgnoreDifferences"),
        ),
        tuple(_TRUTH),
    ),
    # Argo CD's words for what is always so here.
    "FailOnSharedResource": ("true",),
    "ClientSideApplyMigration": ("false",),
}
_CONSENTS = {each.value: each for each in Consent}
