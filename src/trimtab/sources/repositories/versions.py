"""Semantic versions, and ranges of them as Helm and Argo CD write them. Pure.

    ^1.2   ~1.2.3   1.x   >=1.2 <2, !=1.5.0   1.2 - 1.4   ^1 || ^3   *

Versions are read leniently (`v1.2` is 1.2.0). A range that names no pre-release chooses none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, TypeAlias

from msgspec import Struct

_VERSION: Final = re.compile(
    r"v?(\d{1,18})(?:\.(\d{1,18}))?(?:\.(\d{1,18}))?(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?"
)
_PART: Final = r"(?:\d{1,18}|[xX*])"
_LOOSE: Final = rf"v?({_PART})(?:\.({_PART}))?(?:\.({_PART}))?(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?"
_COMPARISON: Final = re.compile(rf"(=|==|!=|>|<|>=|=>|<=|=<|~|~>|\^)?\s*{_LOOSE}")
_HYPHEN: Final = re.compile(rf"\s*({_LOOSE})\s+-\s+({_LOOSE})\s*")
_LONGEST: Final = 512

Triple: TypeAlias = tuple[int, int, int]


class Version(Struct, frozen=True, order=False):
    """One version."""

    numbers: Triple
    pre: tuple[str, ...] = ()

    def key(self) -> tuple[object, ...]:
        """Sorts as versions do: a pre-release comes before its release, numbers before words."""
        words = tuple((0, int(word), "") if word.isdigit() else (1, 0, word) for word in self.pre)
        return self.numbers, not self.pre, words


class _Span(Struct, frozen=True, kw_only=True):
    """All versions from one to another; `outside` turns it inside out."""

    low: Version
    high: Version | None
    high_included: bool = False
    low_included: bool = True
    outside: bool = False
    #: whether pre-releases are looked at
    pre: bool = False

    def holds(self, version: Version) -> bool:
        """Whether a version lies in it."""
        if version.pre and not self.pre:
            return False
        key = version.key()
        above = key > self.low.key() or (self.low_included and key == self.low.key())
        below = self.high is None or key < self.high.key() or (self.high_included and key == self.high.key())
        return (above and below) != self.outside


class Range(Struct, frozen=True):
    """Some versions: any of several lists of conditions, each of which must hold."""

    text: str
    alternatives: tuple[tuple[_Span, ...], ...]

    def holds(self, version: Version) -> bool:
        """Whether a version lies in the range."""
        return any(all(span.holds(version) for span in spans) for spans in self.alternatives)


def version_of(text: str) -> Version | None:
    """The version that a text means; None if it means none."""
    match = _VERSION.fullmatch(text)
    if match is None:
        return None
    numbers = (int(match[1]), int(match[2] or 0), int(match[3] or 0))
    pre = tuple(match[4].split(".")) if match[4] else ()
    return None if "" in pre else Version(numbers, pre)


def range_of(text: str) -> Range | None:
    """The range that a text means; None if it means none."""
    if len(text) > _LONGEST:
        return None
    alternatives = tuple(_spans(part) for part in text.split("||"))
    if not all(alternatives):
        return None
    return Range(text, tuple(spans for spans in alternatives if spans))


def is_range(text: str) -> bool:
    """Whether a text means more than one version: it has an operator or leaves a part open."""
    return version_of(text) is None and range_of(text) is not None


def newest(range_: Range, names: Iterable[str], *, prefix: str = "") -> str | None:
    """The name of the newest version in the range; names without the prefix are not looked at."""
    best: tuple[tuple[object, ...], str] | None = None
    for name in names:
        version = version_of(name.removeprefix(prefix)) if name.startswith(prefix) else None
        if version is not None and range_.holds(version) and (best is None or (version.key(), name) > best):
            best = (version.key(), name)
    return best[1] if best else None


def _spans(text: str) -> tuple[_Span, ...]:
    """The conditions of one alternative; empty if they cannot be read."""
    if match := _HYPHEN.fullmatch(text):
        low, high = _COMPARISON.fullmatch(match[1]), _COMPARISON.fullmatch(match[6])
        return (*_span(">=", low), *_span("<=", high)) if low and high else ()
    found: list[_Span] = []
    rest = text.strip()
    while rest:
        match = _COMPARISON.match(rest)
        if match is None or (rest[match.end() :] and rest[match.end()] not in ", "):
            return ()
        found += _span(match[1] or "=", match)
        rest = rest[match.end() :].lstrip(" ,")
    return tuple(found)


def _span(operator: str, match: re.Match[str]) -> tuple[_Span, ...]:
    """What a comparison with a version, perhaps with open parts, means."""
    parts = [None if part in {None, "x", "X", "*"} else int(part) for part in match.groups()[1:4]]
    given = next((index for index, part in enumerate(parts) if part is None), 3)
    pre = tuple(match[5].split(".")) if match[5] else ()
    low = Version(
        (parts[0] or 0, (parts[1] or 0) if given > 1 else 0, (parts[2] or 0) if given > 2 else 0), pre
    )
    after = _next(low.numbers, given - 1)
    wide = after if given < 3 else None
    looks_at_pre = bool(pre)
    if operator in {"=", "==", "!=", "<=", "=<"} and given == 0:
        return (_Span(low=low, high=None, outside=operator == "!=", pre=looks_at_pre),)
    match operator:
        case "=" | "==" | "!=":
            exact = _Span(low=low, high=wide or low, high_included=wide is None, pre=looks_at_pre)
            return (_turned(exact) if operator == "!=" else exact,)
        case ">":
            return (_Span(low=wide or low, high=None, low_included=wide is not None, pre=looks_at_pre),)
        case ">=" | "=>":
            return (_Span(low=low, high=None, pre=looks_at_pre),)
        case "<":
            return (_Span(low=Version((0, 0, 0), ("0",)), high=low, pre=looks_at_pre),)
        case "<=" | "=<":
            lowest = Version((0, 0, 0), ("0",))
            return (_Span(low=lowest, high=wide or low, high_included=wide is None, pre=looks_at_pre),)
        case "~" | "~>":
            high = None if given == 0 else _next(low.numbers, min(given - 1, 1))
            return (_Span(low=low, high=high, pre=looks_at_pre),)
        case _:
            return (_Span(low=low, high=_caret(low.numbers, given), pre=looks_at_pre),)


def _turned(span: _Span) -> _Span:
    return _Span(low=span.low, high=span.high, high_included=span.high_included, outside=True, pre=span.pre)


def _caret(numbers: Triple, given: int) -> Version | None:
    """The end of a caret range: the first part that is not zero may not change."""
    if given == 0:
        return None
    first = next((index for index in range(given) if numbers[index]), given - 1)
    return _next(numbers, first)


def _next(numbers: Triple, part: int) -> Version | None:
    """The first version after all that agree up to this part."""
    if part < 0:
        return None
    kept = (*numbers[:part], numbers[part] + 1, 0, 0)
    return Version((kept[0], kept[1], kept[2]))
