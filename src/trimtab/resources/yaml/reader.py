"""Reading YAML and JSON files as kubectl does: cut into documents, empty ones left out.

kubectl tries JSON while a text looks like it, cuts the rest at lines that begin with `---`, and reads each
piece as one YAML document. We do the same and refuse what it would lose in silence: keys set twice and
documents hidden inside a piece.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterator
from typing import Any, Final

from trimtab.errors import InvalidSpec
from trimtab.resources.yaml.builder import Builder
from trimtab.resources.yaml.scalars import as_json
from trimtab.resources.yaml.words import (
    DEFAULT_LIMITS,
    Document,
    Excessive,
    Forgiven,
    Limits,
    Twin,
    Unread,
    refusal,
    too_deep,
    too_many,
    too_torn,
)

_SEPARATOR: Final = re.compile(rb"^---([^\n]*)\n?", re.MULTILINE)
_NOTHING: Final = re.compile(rb"(?:---)?[ \n]*")
_JSON_SPACE: Final = re.compile(r"[ \t\r\n]*")
_LINE_REST: Final = re.compile(r"[^\S\n]*\n?")
_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def documents(text: bytes | str, source: str, limits: Limits = DEFAULT_LIMITS) -> tuple[Document, ...]:
    """Every document of a YAML or JSON text that is not empty; `source` names the text in refusals."""
    found = _values(_decoded(text, source, limits), source, limits)
    return tuple(
        Document(value=value, source=source, line=line, index=index)
        for index, (value, line) in enumerate(found)
    )


def each_document(
    text: bytes | str, source: str, limits: Limits = DEFAULT_LIMITS
) -> tuple[Document | Unread, ...]:
    """The same, one by one: those that cannot be read say why, and keep no other from being read.

    A text that cannot be cut into documents is one that cannot be read from there on.
    """
    found: list[Document | Unread] = []
    try:
        for value, line in _values(_decoded(text, source, limits), source, limits, is_each=True):
            found.append(_one(value, source, line, len(found)))
    except Excessive:
        raise
    except InvalidSpec as error:
        found.append(_one(error, source, found[-1].line + 1 if found else 1, len(found)))
    return tuple(found)


def _one(value: Any, source: str, line: int, index: int) -> Document | Unread:
    if isinstance(value, InvalidSpec):
        return Unread(error=value, source=source, line=line, index=index)
    return Document(value=value, source=source, line=line, index=index)


def load(text: bytes | str, source: str, limits: Limits = DEFAULT_LIMITS) -> Any:
    """The value of a text that holds one document; None when it holds none."""
    found = _values(_decoded(text, source, limits), source, limits)
    value, _ = next(found, (None, 0))
    for _, line in found:
        raise refusal(source, line, 1, "a second document begins here", "Keep only one document")
    return value


def forgiven(text: bytes | str, source: str, limits: Limits = DEFAULT_LIMITS) -> Forgiven:
    """The first document as the API server reads it: of two equal keys in one map the last one counts."""
    twins: list[Twin] = []
    values = _values(_decoded(text, source, limits), source, limits, twins)
    value = next((value for value, _ in values), None)
    return Forgiven(value, tuple(twins))


def _decoded(text: bytes | str, source: str, limits: Limits) -> str:
    """The text with Unix line ends; refused when it is too long or not UTF-8."""
    if len(text) > limits.size:
        reason = f"it is larger than {limits.size} bytes"
        raise Excessive(source, reason, "Split the file, or keep large data elsewhere")
    if isinstance(text, bytes):
        try:
            text = text.decode()
        except UnicodeDecodeError as exc:
            line = exc.object[: exc.start].count(b"\n") + 1
            raise InvalidSpec(f"{source}, line {line}", "it is not UTF-8", "Save the file as UTF-8") from exc
    return text.replace("\r\n", "\n")


def _values(
    text: str, source: str, limits: Limits, twins: list[Twin] | None = None, *, is_each: bool = False
) -> Iterator[tuple[Any, int]]:
    """Every value that is not nothing, and its line; where `is_each`, errors in the place of such values."""
    end = 0
    if text.lstrip().startswith("{"):
        for value, line, after in _json_values(text, source, limits):
            end = after
            if value is not None:
                yield value, line
    yield from _yaml_values(text, end, Builder(source, limits, twins), source, limits, is_each=is_each)


def _json_values(text: str, source: str, limits: Limits) -> Iterator[tuple[Any, int, int]]:
    """JSON values from the start on, each with its line and where the next piece begins."""
    decoder = json.JSONDecoder(
        object_pairs_hook=_map_without_twins, parse_constant=_refused_constant, parse_int=_integer
    )
    position = _skipped(_JSON_SPACE, text, 0)
    count, line = 0, text.count("\n", 0, position) + 1
    while position < len(text):
        try:
            value, end = decoder.raw_decode(text, position)
        except (ValueError, RecursionError) as exc:
            if isinstance(exc, RecursionError) and limits.depth > sys.getrecursionlimit():
                raise  # whoever allows for such depths finds room for them
            if count > 1:
                raise _json_error(exc, source, line) from exc
            return
        count += 1
        settled = _Settling(f"{source}, line {line}", limits).settled(value, 0)
        after = _skipped(_JSON_SPACE, text, end)
        # The rest of the line after a value belongs to it, should YAML follow.
        yield settled, line, after if after == len(text) else _skipped(_LINE_REST, text, end)
        line += text.count("\n", position, after)
        position = after


def _json_error(exc: Exception, source: str, line: int) -> InvalidSpec:
    if isinstance(exc, json.JSONDecodeError):
        return refusal(source, exc.lineno, exc.colno, f"it is not JSON: {exc.msg}", "Correct the JSON here")
    reason = str(exc) if isinstance(exc, ValueError) else "maps and lists are nested too deep"
    return refusal(source, line, 1, reason, "Correct the JSON that begins here")


def _map_without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key!r} is set twice in one map")
        found[key] = value
    return found


def _refused_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _integer(digits: str) -> int | float:
    """Long numbers are floats at once: Python refuses to read thousands of digits as an integer."""
    return int(digits) if len(digits) <= 20 else float(digits)


class _Settling:
    """Brings decoded JSON to what Kubernetes makes of it: 64-bit numbers, whole characters, bounded depth."""

    def __init__(self, where: str, limits: Limits) -> None:
        self._where = where
        self._limits = limits
        self._values = 1

    def settled(self, value: Any, depth: int) -> Any:
        match value:
            case dict() | list() if depth >= self._limits.depth:
                raise Excessive(self._where, *too_deep(self._limits))
            case dict() | list() if self._counted(value) > self._limits.values:
                raise Excessive(self._where, *too_many(self._limits))
            case dict():
                # Loops, not comprehensions: those cost a second frame per level before Python 3.12.
                settled: dict[str, Any] = {}
                for key, item in value.items():
                    settled[self._whole(key)] = self.settled(item, depth + 1)
                return settled
            case list():
                for place, item in enumerate(value):
                    value[place] = self.settled(item, depth + 1)
                return value
            case str():
                return self._whole(value)
            case bool() | None:
                return value
            case _:
                return self._number(value)

    def _counted(self, value: dict[str, Any] | list[Any]) -> int:
        """How many values there are with those of this map or list; keys are such, too."""
        self._values += len(value) * (2 if isinstance(value, dict) else 1)
        return self._values

    def _whole(self, text: str) -> str:
        """Half a surrogate pair becomes the replacement character, as in Go."""
        return text if text.isascii() else _LONE_SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)

    def _number(self, value: float) -> int | float:
        number = as_json(value)
        if math.isinf(number):
            raise InvalidSpec(self._where, "a number is too large for 64 bits", "Quote it if text is meant")
        return number


def _skipped(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return match.end() if match else position


def _yaml_values(
    text: str, start: int, builder: Builder, source: str, limits: Limits, *, is_each: bool
) -> Iterator[tuple[Any, int]]:
    try:
        raw = text[start:].encode()
    except UnicodeEncodeError as exc:
        raise InvalidSpec(source, "it holds half a surrogate pair", "Save the file as UTF-8") from exc
    cut = _pieces(raw, text.count("\n", 0, start), source, limits, is_each=is_each)
    for piece, lines_before, problem in cut:
        if problem is None and _NOTHING.fullmatch(piece):
            continue
        try:
            if problem is not None:
                raise problem
            value, line = builder.build(piece, lines_before)
        except InvalidSpec as error:
            if not is_each or isinstance(error, Excessive):
                raise
            value, line = error, lines_before + 1
        if value is not None:
            yield value, line


def _pieces(
    text: bytes, lines_before: int, source: str, limits: Limits, *, is_each: bool
) -> Iterator[tuple[bytes, int, InvalidSpec | None]]:
    """The text between separator lines; one at the very start of a piece stays in it.

    Where `is_each`, what is wrong with a separator is told with the piece that it begins.
    """
    if text and not text.endswith(b"\n"):
        text += b"\n"
    start, line, counted = 0, lines_before, 0
    problem: InvalidSpec | None = None
    for before, separator in enumerate(_SEPARATOR.finditer(text)):
        if before == limits.separators:
            raise Excessive(source, *too_torn(limits))
        line += text.count(b"\n", counted, separator.start())
        counted = separator.start()
        found = _wrong_with(separator[1], line + 1, source)
        if found is not None and not is_each:
            raise found
        if separator.start() > start:
            yield text[start : separator.start()], lines_before, problem
            start, lines_before, problem = separator.end(), line + 1, None
        problem = problem or found
    if start < len(text) or problem is not None:
        yield text[start:], lines_before, problem


def _wrong_with(rest: bytes, line: int, source: str) -> InvalidSpec | None:
    """What is wrong with a separator that is followed by this on its line."""
    words = rest.decode().strip()
    if not words or words.startswith("#"):
        return None
    return refusal(
        source,
        line,
        4,
        "something follows `---` on its line",
        "Put the document on the next line, or indent the text",
    )
