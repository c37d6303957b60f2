"""From libyaml's events to one JSON value, as Kubernetes would understand it.

The parser in C finds structure and quotes; this module decides what words mean, merges `<<`, repeats
aliases within a budget and refuses what cannot be JSON. It keeps its own stack, so no nesting can exhaust
the interpreter's. Cutting a text into documents is the business of `reader`.
"""

from __future__ import annotations

import binascii
import math
import re
from typing import Any, Final

import msgspec
from yaml import YAMLError
from yaml._yaml import CParser
from yaml.error import MarkedYAMLError
from yaml.events import (
    AliasEvent,
    CollectionStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)
from yaml.reader import ReaderError

from trimtab.errors import InvalidSpec
from trimtab.resources.yaml.scalars import MAX_INT, Scalar, as_json, is_timestamp, key_text, meaning
from trimtab.resources.yaml.words import (
    MAX_DEPTH,
    TOO_HEAVY,
    Excessive,
    Limits,
    Twin,
    refusal,
    too_deep,
    too_many,
)

_TAG: Final = "tag:yaml.org,2002:"
_TYPES: Final[dict[str, tuple[type, ...]]] = {
    f"{_TAG}null": (type(None),),
    f"{_TAG}bool": (bool,),
    f"{_TAG}int": (int,),
    f"{_TAG}float": (float, int),
}
# Long texts weigh more when aliases repeat them.
_TEXT_PER_NODE: Final = 100
_NO_KEY: Final = object()
_MERGE: Final = object()


class _Frame:
    """A map or list that is still open."""

    __slots__ = ("height", "key", "merged", "nodes_before", "start", "value")

    def __init__(self, start: CollectionStartEvent, value: Any, nodes_before: int) -> None:
        self.start = start
        self.value = value
        self.key: Any = _NO_KEY
        self.merged: set[str] = set()
        self.height = 1
        self.nodes_before = nodes_before


class _Anchored:
    """A finished value that aliases may repeat, with its weight."""

    __slots__ = ("height", "nodes", "value")

    def __init__(self, value: Any, nodes: int, height: int) -> None:
        self.value = value
        self.nodes = nodes
        self.height = height


class Builder:
    """Builds the documents of one text, one after the other, within one budget."""

    def __init__(self, source: str, limits: Limits, twins: list[Twin] | None = None) -> None:
        """Keys that are set twice are refused, unless there is a list in which they are to be noted."""
        self._source = source
        self._twins = twins
        self._limits = limits
        self._aliased = 0
        self._lines_before = 0
        self._nodes = 0
        self._steps = 0
        self._parsed: Any = None
        self._stack: list[_Frame] = []
        self._anchors: dict[str, _Anchored | _Frame] = {}

    def build(self, text: bytes, lines_before: int) -> tuple[Any, int]:
        """The value of the only document in this piece of the text, and the line it begins on."""
        self._lines_before = lines_before
        self._nodes = 0
        self._stack = []
        self._anchors = {}
        parser = CParser(text)
        try:
            return self._document(parser)
        except MarkedYAMLError as exc:
            raise self._syntax_error(exc) from exc
        except ReaderError as exc:
            raise self._character_error(exc, text) from exc
        except YAMLError as exc:
            raise InvalidSpec(self._source, "it is not YAML", "Check the file with a YAML editor.") from exc
        finally:
            parser.dispose()

    def _document(self, parser: CParser) -> tuple[Any, int]:
        next_event = parser.get_event
        next_event()
        if isinstance(next_event(), StreamEndEvent):
            return None, self._lines_before + 1
        value, line = self._content(next_event)
        next_event()
        after = next_event()
        if not isinstance(after, StreamEndEvent):
            raise self._refusal(
                after, "a second document begins here", "Separate documents by a line that is only `---`"
            )
        return value, line

    def _content(self, next_event: Any) -> tuple[Any, int]:
        """The root value; every event of the document but its end is consumed here."""
        stack, scalar = self._stack, self._scalar
        first = event = next_event()
        while True:
            kind = type(event)
            if kind is ScalarEvent:
                value = scalar(event)
            elif kind is MappingStartEvent:
                self._open(event, {})
                next_event = self._weighed(next_event)
                event = next_event()
                continue
            elif kind is SequenceStartEvent:
                self._open(event, [])
                next_event = self._weighed(next_event)
                event = next_event()
                continue
            elif kind is MappingEndEvent or kind is SequenceEndEvent:
                event, value = self._close()
            else:
                value = self._repeated(event)
            if not stack:
                return self._narrow(event, value), first.start_mark.line + 1 + self._lines_before
            self._place(stack[-1], event, value)
            event = next_event()

    def _weighed(self, next_event: Any) -> Any:
        """The same, but once it is deep every step is counted: a parser looks back at all that is open."""
        if len(self._stack) != MAX_DEPTH + 1 or next_event == self._step:
            return next_event
        self._parsed = next_event
        return self._step

    def _step(self) -> Any:
        event = self._parsed()
        self._steps += len(self._stack)
        if self._steps > self._limits.steps:
            raise self._excess(event, TOO_HEAVY, "Flatten the document")
        return event

    def _place(self, frame: _Frame, event: Any, value: Any) -> None:
        """Give a finished node to the map or list that holds it."""
        holder = frame.value
        if type(holder) is list:
            holder.append(value if type(value) is str else self._narrow(event, value))
            return
        key = frame.key
        if key is _NO_KEY:
            frame.key = self._key(frame, event, value)
        elif key is _MERGE:
            frame.key = _NO_KEY
            self._merge(frame, event, value)
        else:
            frame.key = _NO_KEY
            holder[key] = value if type(value) is str else self._narrow(event, value)

    def _narrow(self, event: Any, value: Any) -> Any:
        """Numbers as JSON carries them; JSON has no infinity and no NaN."""
        kind = type(value)
        if kind is float:
            if not math.isfinite(value):
                raise self._refusal(event, "JSON has no infinity and no NaN", "Quote it if text is meant")
            return as_json(value)
        return float(value) if kind is int and value > MAX_INT else value

    def _open(self, event: Any, value: dict[str, Any] | list[Any]) -> None:
        if len(self._stack) >= self._limits.depth:
            raise self._too_deep(event)
        self._count(event, 1)
        frame = _Frame(event, value, self._nodes - 1)
        self._stack.append(frame)
        if event.anchor is not None:
            self._anchors[event.anchor] = frame

    def _close(self) -> tuple[Any, Any]:
        stack = self._stack
        frame = stack.pop()
        if stack and stack[-1].height <= frame.height:
            stack[-1].height = frame.height + 1
        start = frame.start
        if start.anchor is not None and self._anchors[start.anchor] is frame:
            nodes = self._nodes - frame.nodes_before
            self._anchors[start.anchor] = _Anchored(frame.value, nodes, frame.height)
        return start, frame.value

    def _scalar(self, event: Any) -> Scalar:
        """What the word means, with number types as wide as the YAML library has them."""
        text: str = event.value
        weight = 1 + len(text) // _TEXT_PER_NODE
        self._count(event, weight)
        if event.tag is not None:
            value = self._tagged(event, text)
        else:
            value = meaning(text) if event.implicit[0] else text
        if event.anchor is not None:
            self._anchors[event.anchor] = _Anchored(value, weight, 0)
        return value

    def _tagged(self, event: Any, text: str) -> Scalar:
        """An explicit tag decides, where Kubernetes knows it; every other tag means text."""
        tag: str = event.tag
        if tag == f"{_TAG}binary":
            return self._binary(event, text)
        if tag == f"{_TAG}timestamp" and is_timestamp(text):
            return text
        expected = _TYPES.get(tag)
        if expected is None and tag != f"{_TAG}timestamp":
            return text
        value = meaning(text)
        name = tag.removeprefix(_TAG)
        if expected is None or type(value) not in expected or _too_wide(value, name):
            raise self._refusal(
                event, f"the value does not fit its tag !!{name}", "Remove the tag or correct the value"
            )
        return float(value) if name == "float" and isinstance(value, int) else value

    def _binary(self, event: Any, text: str) -> str:
        try:
            raw = binascii.a2b_base64(text.translate(_NO_BREAKS).encode(), strict_mode=True)
        except (binascii.Error, ValueError) as exc:
            raise self._refusal(event, "!!binary needs base64", "Correct or remove the tag") from exc
        # Like Go's JSON: every byte that is not UTF-8 becomes one replacement character.
        return _STRAY_BYTE.sub("\N{REPLACEMENT CHARACTER}", raw.decode("utf-8", "surrogateescape"))

    def _repeated(self, event: Any) -> Any:
        """A copy of what the alias names, charged to the budget before it is made."""
        anchored = self._anchors.get(event.anchor)
        if anchored is None:
            raise self._refusal(event, f"the anchor &{event.anchor} is not defined before", "Define it first")
        if isinstance(anchored, _Frame):
            raise self._refusal(event, f"the anchor &{event.anchor} contains itself", "Write the value out")
        self._aliased += anchored.nodes
        if self._aliased > self._limits.aliased:
            raise self._excess(
                event,
                f"aliases repeat more than {self._limits.aliased} values",
                "Write the values out, or generate them with a tool made for it",
            )
        if len(self._stack) + anchored.height > self._limits.depth:
            raise self._too_deep(event)
        self._count(event, anchored.nodes)
        if self._stack:
            self._stack[-1].height = max(self._stack[-1].height, anchored.height + 1)
        return _copy(anchored.value) if anchored.height else anchored.value

    def _key(self, frame: _Frame, event: Any, value: Any) -> Any:
        if type(event) is ScalarEvent and event.value == "<<" and _may_merge(event):
            return _MERGE
        key = value if type(value) is str else None if isinstance(value, dict | list) else key_text(value)
        if key is None:
            raise self._refusal(event, "this cannot be a key", "Use text as the key, in quotes if need be")
        if key in frame.value and key not in frame.merged:
            self._set_twice(event, key)
        frame.merged.discard(key)
        return key

    def _set_twice(self, event: Any, key: str) -> None:
        if self._twins is None:
            raise self._refusal(event, f"the key {key!r} is set twice in one map", "Remove one of the two")
        self._twins.append(Twin(event.start_mark.line + 1 + self._lines_before, key))

    def _merge(self, frame: _Frame, event: Any, value: Any) -> None:
        """As Kubernetes merges: in the order written, so `<<` also overrides keys that stand before it."""
        direct_list = type(value) is list and type(event) is not AliasEvent
        maps: list[Any] = value if direct_list else [value]
        if not all(type(one) is dict for one in maps):
            raise self._refusal(event, "<< merges only maps and lists of maps", "Quote << if text is meant")
        for one in reversed(maps):
            frame.merged.update(key for key in one if key not in frame.value)
            frame.value.update(one)

    def _count(self, event: Any, nodes: int) -> None:
        self._nodes += nodes
        if self._nodes > self._limits.values:
            raise self._excess(event, *too_many(self._limits))

    def _too_deep(self, event: Any) -> Excessive:
        return self._excess(event, *too_deep(self._limits))

    def _excess(self, event: Any, reason: str, remedy: str) -> Excessive:
        return Excessive(*self._refusal(event, reason, remedy).args)

    def _refusal(self, event: Any, reason: str, remedy: str) -> InvalidSpec:
        mark = event.start_mark
        return refusal(self._source, mark.line + 1 + self._lines_before, mark.column + 1, reason, remedy)

    def _syntax_error(self, exc: MarkedYAMLError) -> InvalidSpec:
        mark = exc.problem_mark or exc.context_mark
        problem = exc.problem or "it is not YAML"
        reason = f"{exc.context}, {problem}" if exc.context else problem
        line, column = (mark.line, mark.column) if mark else (0, 0)
        return refusal(self._source, line + 1 + self._lines_before, column + 1, reason, _remedy(problem))

    def _character_error(self, exc: ReaderError, text: bytes) -> InvalidSpec:
        before = text[: exc.position]
        line = before.count(b"\n") + 1 + self._lines_before
        column = len(before) - (before.rfind(b"\n") + 1) + 1
        return refusal(self._source, line, column, exc.reason, "Escape it in double quotes, or remove it")


_NO_BREAKS: Final = {ord("\r"): None, ord("\n"): None}
_STRAY_BYTE: Final = re.compile("[\udc80-\udcff]")


def _too_wide(value: Scalar, name: str) -> bool:
    """Is this an integer that Kubernetes cannot turn into the float its tag asks for?"""
    return name == "float" and isinstance(value, int) and value > MAX_INT


def _may_merge(event: ScalarEvent) -> bool:
    return event.implicit[0] or event.tag == f"{_TAG}merge"


def _copy(value: Any) -> Any:
    """An independent copy, by way of JSON: quicker than walking the value in Python."""
    return msgspec.json.decode(msgspec.json.encode(value))


def _remedy(problem: str) -> str:
    for words, remedy in _REMEDIES.items():
        if words in problem:
            return remedy
    return "Check indentation and quotes around this place"


_REMEDIES: Final = {
    "cannot start any token": "Indent with spaces, not tabs, and quote text that begins with @, ` or %",
    "mapping values are not allowed": "Quote text that contains `: `, and check the indentation",
    "expected key": "Check the indentation, and quote text that contains quotes or `: `",
    "document start": "Separate documents by a line that is only `---`, and put a space after each `:`",
    "end of stream": "Close the quote or bracket that is still open",
    "escape": "In double quotes write \\\\ for a backslash, or use single quotes",
    "undefined tag handle": "Remove the tag: Kubernetes knows none of its own",
}
