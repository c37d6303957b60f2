"""How one text is spelled in YAML: plain, quoted or as a literal block, broken after column 80.

The rules are those of the emitter that Kubernetes prints with, quirks included: characters beyond the
Basic Multilingual Plane are escaped, and a text that begins with a byte order mark is escaped whole.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from trimtab.resources.yaml.scalars import is_only_text

WIDTH: Final = 80
_LONGEST_SIMPLE_KEY: Final = 128
_MERGE_KEY: Final = "<<"

_BREAKS: Final = "\r\n\x85\u2028\u2029"
# Sets say what they leave out: those of few ranges, the last plane among them, are compiled in no time.
_CONTROLS: Final = "\x00-\x09\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufeff\ufffe-\U0010ffff"
_UNPRINTABLE: Final = re.compile(f"[{_CONTROLS}]")
_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_BREAK: Final = re.compile(f"[{_BREAKS}]")
_SPACE_THEN_BREAK: Final = re.compile(f" [{_BREAKS}]")
_BREAK_THEN_SPACE: Final = re.compile(f"[{_BREAKS}] ")
# What its characters allow to stand without quotes: no colon ends a word, no hash begins one.
_PLAIN: Final = re.compile(
    r"(?!---|\.\.\.)(?![-?:](?: |\Z))"
    rf"[^ {_BREAKS}{_CONTROLS}](?<![#,\[\]{{}}&*!|>'\"%@`])"
    rf"(?:(?!:(?: |\Z)| #| \Z)[^{_BREAKS}{_CONTROLS}])*"
)
_ESCAPES: Final = {
    "\0": "0", "\a": "a", "\b": "b", "\t": "t", "\n": "n", "\v": "v", "\f": "f", "\r": "r", "\x1b": "e",
    '"': '"', "\\": "\\", "\x85": "N", "\xa0": "_", "\u2028": "L", "\u2029": "P",
}  # fmt: skip
_ESCAPED: Final = re.compile(f'[{_CONTROLS}{_BREAKS}"\\\\]')


class Spelling(Struct, frozen=True):
    """The text of a node; one that ends its line needs no line break after it."""

    text: str
    ends_its_line: bool = False


def fits_one_line(key: str) -> bool:
    """Can this key stand before a `:`, or does it need the long form with `?`?"""
    return len(key.encode("utf-8", "replace")) <= _LONGEST_SIMPLE_KEY and not _BREAK.search(key)


def spelled(text: str, *, column: int, indent: int, is_key: bool = False) -> Spelling:
    """The spelling of a text that begins at `column`; its further lines begin at `indent`."""
    width = 2**31 if is_key else WIDTH
    if is_only_text(text):
        if _PLAIN.fullmatch(text) and not (is_key and text == _MERGE_KEY):
            return Spelling(_broken(text, column, indent, width))
    elif "\n" not in text:
        return Spelling(_double_quoted(text, column, indent, width))
    return _with_care(_LONE_SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text), column, indent, width)


def _with_care(text: str, column: int, indent: int, width: int) -> Spelling:
    """Texts that cannot be plain: literal, else in single quotes, else in double quotes."""
    unprintable = _UNPRINTABLE.search(text) is not None
    space_then_break = _SPACE_THEN_BREAK.search(text) is not None
    if "\n" in text:
        # A literal that ends in a foreign line break would swallow what is written after it.
        if not (unprintable or space_then_break or text.endswith((" ", "\u2028", "\u2029"))):
            return _literal(text, indent)
    elif text == _MERGE_KEY:
        # Go writes this key bare and then reads it as an instruction to merge.
        return Spelling(f'"{_MERGE_KEY}"')
    elif not (unprintable or space_then_break or _BREAK_THEN_SPACE.search(text)):
        return Spelling(_single_quoted(text, column, indent, width))
    return Spelling(_double_quoted(text, column, indent, width))


def _broken(text: str, column: int, indent: int, width: int) -> str:
    """Plain text, broken at single spaces beyond the width."""
    if column + len(text) <= width or " " not in text:
        return text
    return "".join(_broken_pieces(text, column, indent, width))


def _broken_pieces(text: str, column: int, indent: int, width: int, quote: str = "") -> list[str]:
    """Break where one space stands alone beyond the width, or a foreign line break asks for it."""
    pieces: list[str] = []
    after_space = after_break = False
    column += len(quote)
    inner = range(1, len(text) - 1) if quote else range(len(text))
    for place, char in enumerate(text):
        if char == " ":
            alone = not after_space and text[place + 1 : place + 2] != " "
            if alone and column > width and place in inner:
                pieces.append("\n" + " " * indent)
                column = indent
            else:
                pieces.append(" ")
                column += 1
            after_space = True
        elif char in _BREAKS:
            pieces.append(char)
            column = 0
            after_break = True
        else:
            if after_break:
                pieces.append(" " * (indent - column))
                column = max(column, indent)
            pieces.append(char + char if char == quote else char)
            column += 2 if char == quote else 1
            after_space = after_break = False
    return pieces


def _single_quoted(text: str, column: int, indent: int, width: int) -> str:
    if column + len(text) > width or _BREAK.search(text):
        return f"'{''.join(_broken_pieces(text, column, indent, width, quote=chr(39)))}'"
    return "'" + text.replace("'", "''") + "'"


def _double_quoted(text: str, column: int, indent: int, width: int) -> str:
    if text.startswith("\ufeff"):
        return f'"{"".join(map(_escape, text))}"'
    if column + len(text) * 10 <= width or " " not in text:
        return f'"{_ESCAPED.sub(_escaped_match, text)}"'
    pieces = ['"']
    column += 1
    after_space = False
    for place, char in enumerate(text):
        if char == " " and not after_space and column > width and 0 < place < len(text) - 1:
            pieces.append("\n" + " " * indent + ("\\" if text[place + 1] == " " else ""))
            column = indent + (text[place + 1] == " ")
        else:
            piece = _escape(char) if _ESCAPED.match(char) else char
            pieces.append(piece)
            column += len(piece)
        after_space = char == " "
    return "".join([*pieces, '"'])


def _escaped_match(match: re.Match[str]) -> str:
    return _escape(match[0])


def _escape(char: str) -> str:
    if char in _ESCAPES:
        return f"\\{_ESCAPES[char]}"
    code = ord(char)
    if code <= 0xFF:
        return f"\\x{code:02X}"
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"


def _literal(text: str, indent: int) -> Spelling:
    hint = "2" if text[0] in f" {_BREAKS}" else ""
    ends_its_line = text[-1] == "\n"
    keeps_more = ends_its_line and (len(text) == 1 or text[-2] in _BREAKS)
    chomping = "+" if keeps_more else "" if ends_its_line else "-"
    lines = re.sub(f"(^|[{_BREAKS}])(?=[^{_BREAKS}])", lambda found: found[0] + " " * indent, text)
    return Spelling(f"|{hint}{chomping}\n{lines}", ends_its_line)
