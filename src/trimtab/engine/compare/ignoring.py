"""Ignore rules: what is left out of a comparison on purpose. Pure; jq runs elsewhere (`jq`).

A rule names fields by JSON pointers, by jq paths, or by who manages them. A rule that cannot be read is
reported, and what it was meant for is not judged until it is mended: without it, a field that somebody
wanted left alone would be set back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any, Final, TypeAlias

from msgspec import Struct

from trimtab.engine.compare.owners import Elements, Ownership, covers
from trimtab.engine.digests import digest_of
from trimtab.resources.keys import ResourceKey
from trimtab.resources.manifests import Manifest

Tokens: TypeAlias = tuple[str, ...]
#: no group or kind is nearly as long, and reading a longer pattern would take its square of time
_LONGEST_PATTERN: Final = 512
_OVERLONG: Final = f"a group or kind of more than {_LONGEST_PATTERN} characters names nothing"
_NOT_A_POINTER: Final = "a JSON pointer begins with / and names a field"
_BAD_ESCAPE: Final = "in a JSON pointer ~ is written ~0, and / inside of a name ~1"


class IgnoreRule(Struct, frozen=True, kw_only=True):
    """What to leave out of the comparison of some objects; group and kind may be globs."""

    group: str = ""
    kind: str = ""
    #: only objects of this name, or in this namespace; empty means any
    name: str = ""
    namespace: str = ""
    json_pointers: tuple[str, ...] = ()
    jq_path_expressions: tuple[str, ...] = ()
    managed_fields_managers: tuple[str, ...] = ()

    def matches(self, key: ResourceKey) -> bool:
        """Whether the rule is about this object; one that cannot be read may be about any."""
        return bool(self.overlong) or (
            fnmatchcase(key.group, self.group)
            and fnmatchcase(key.kind, self.kind)
            and self.name in ("", key.name)
            and self.namespace in ("", key.namespace)
        )

    @property
    def overlong(self) -> str:
        """The beginning of a pattern that is too long to be read, if there is one."""
        texts = (self.group, self.kind)
        return next((f"{text[:20]}…" for text in texts if len(text) > _LONGEST_PATTERN), "")


class KeyRules(Struct, frozen=True, kw_only=True):
    """All rules about one object, joined; nothing is in them twice."""

    pointers: tuple[Tokens, ...] = ()
    expressions: tuple[str, ...] = ()
    managers: tuple[str, ...] = ()
    #: what is wrong with them; if anything is, the object cannot be judged
    problem: str = ""

    def trusts(self, owners: Ownership, path: Elements) -> bool:
        """Whether a manager whose changes are accepted owns the field."""
        return bool(self.managers) and any(
            owner.manager in self.managers and covers(owner.fields, path) for owner in owners.others
        )


NOTHING_IGNORED: Final = KeyRules()


class Rules:
    """The rules that hold for one unit: those of the installation first, then the unit's own."""

    def __init__(
        self, *sources: Iterable[IgnoreRule], bad_expressions: Mapping[str, str] | None = None
    ) -> None:
        self._rules = tuple(dict.fromkeys(rule for source in sources for rule in source))
        self._bad = {**_bad_patterns(self._rules), **_bad_pointers(self._rules), **(bad_expressions or {})}
        self._by_key: dict[ResourceKey, KeyRules] = {}
        #: tells these rules from others
        self.digest: bytes = digest_of([self._rules, self._bad])
        #: every jq expression in the rules
        self.expressions: tuple[str, ...] = tuple(
            dict.fromkeys(text for rule in self._rules for text in rule.jq_path_expressions)
        )
        #: what is wrong with the rules, one sentence each
        self.problems: tuple[str, ...] = tuple(
            f"ignore rule {text!r}: {reason}" for text, reason in self._bad.items()
        )

    def with_bad_expressions(self, bad: Mapping[str, str]) -> Rules:
        """The same rules, knowing that some jq expressions cannot be used."""
        return Rules(self._rules, bad_expressions=bad) if bad else self

    def for_key(self, key: ResourceKey) -> KeyRules:
        """All rules about one object."""
        if not self._rules:
            return NOTHING_IGNORED
        found = self._by_key.get(key)
        if found is None:
            found = self._by_key[key] = self._joined(key)
        return found

    def _joined(self, key: ResourceKey) -> KeyRules:
        rules = [rule for rule in self._rules if rule.matches(key)]
        pointers = dict.fromkeys(text for rule in rules for text in rule.json_pointers)
        expressions = dict.fromkeys(text for rule in rules for text in rule.jq_path_expressions)
        managers = dict.fromkeys(name for rule in rules for name in rule.managed_fields_managers)
        unread = dict.fromkeys(rule.overlong for rule in rules if rule.overlong)
        bad = [
            f"ignore rule {text!r}: {self._bad[text]}"
            for text in (*unread, *pointers, *expressions)
            if text in self._bad
        ]
        return KeyRules(
            pointers=tuple(tokens_of(text) for text in pointers if text not in self._bad),
            expressions=tuple(text for text in expressions if text not in self._bad),
            managers=tuple(managers),
            problem="; ".join(bad),
        )


def _bad_patterns(rules: Iterable[IgnoreRule]) -> dict[str, str]:
    return {rule.overlong: _OVERLONG for rule in rules if rule.overlong}


def _bad_pointers(rules: Iterable[IgnoreRule]) -> dict[str, str]:
    texts = dict.fromkeys(text for rule in rules for text in rule.json_pointers)
    return {text: problem for text in texts if (problem := _problem_of(text))}


def _problem_of(pointer: str) -> str:
    if pointer[:1] != "/":
        return _NOT_A_POINTER
    return _BAD_ESCAPE if any(rest[:1] not in {"0", "1"} for rest in pointer.split("~")[1:]) else ""


def tokens_of(pointer: str) -> Tokens:
    """The steps of a JSON pointer."""
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:])


def pointer_of(tokens: Iterable[str]) -> str:
    """The JSON pointer of some steps."""
    return "".join(f"/{step.replace('~', '~0').replace('/', '~1')}" for step in tokens)


def without(manifest: Manifest, pointers: Iterable[Tokens]) -> Manifest:
    """The manifest less what the pointers name; one that names nothing is no problem."""
    for tokens in pointers:
        manifest = _without(manifest, tokens)
    return manifest


def _without(value: Any, tokens: Tokens) -> Any:
    """A copy along the path, less its end; the value itself if there is nothing at the end."""
    step, rest = tokens[0], tokens[1:]
    if isinstance(value, dict) and step in value:
        if not rest:
            return {name: each for name, each in value.items() if name != step}
        inner = _without(value[step], rest)
        return value if inner is value[step] else {**value, step: inner}
    if isinstance(value, list) and (place := _place_in(value, step)) is not None:
        if not rest:
            return [*value[:place], *value[place + 1 :]]
        inner = _without(value[place], rest)
        return value if inner is value[place] else [*value[:place], inner, *value[place + 1 :]]
    return value


def _place_in(items: list[Any], step: str) -> int | None:
    """The place in a list that a step names; None if there is no such place."""
    # Numbers of more digits than any list is long are not even read: Python refuses very long ones.
    is_read = step.isdecimal() and len(step) <= len(str(len(items)))
    place = int(step) if is_read else len(items)
    return place if place < len(items) and str(place) == step else None


NO_RULES: Final = Rules()
