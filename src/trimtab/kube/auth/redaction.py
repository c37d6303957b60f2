"""Secret values that cannot be printed by accident, and foreign text made fit to show.

Pure. This is about credentials on their way to a server; the keyed hashes that stand in for the values of
Secret objects live in `trimtab.resources`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final

HIDDEN: Final = "<hidden>"

_CONTROLS = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e]"
)
_SECRET_NAME = re.compile(r"secret|token|passw|pwd|credential|api-?_?key|private|auth", re.IGNORECASE)
_PEM = re.compile(r"-----BEGIN [^-]*-----.*?(?:-----END [^-]*-----|\Z)", re.DOTALL)
_AFTER_A_SECRET_NAME = re.compile(
    r"((?:bearer|basic)\s+|(?:secret|token|password|passwd|credential|api_?key)[\"']?\s*[=:]\s*[\"']?)[^\s\"',;]+",
    re.IGNORECASE,
)
_JWT = re.compile(r"eyJ[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)*")
_LONG_RUN = re.compile(r"[A-Za-z0-9_+=-]{20,}")
_LETTER, _DIGIT = re.compile("[A-Za-z]"), re.compile("[0-9]")
_BASE64_LINE = re.compile(r"^[ \t]*[A-Za-z0-9+/=]{40,}[ \t]*$", re.MULTILINE)
_SHORTEST_SECRET = 4
#: foreign text is judged from its end; more than this is never looked at
_LONGEST_TEXT = 64 * 1024


class Secret:
    """A text that only `reveal()` shows; printing, formatting and encoding it do not."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself: for a header or a handshake, never for a message."""
        return self._text

    def __bool__(self) -> bool:
        return bool(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        return HIDDEN


def secrets_among(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The values of variables whose name says that they are secret."""
    return tuple(value for name, value in environment.items() if _SECRET_NAME.search(name))


def secrets_in_arguments(arguments: Sequence[str]) -> tuple[str, ...]:
    """What follows a flag whose name says that its value is secret: `--client-secret=x`, `--token x`."""
    found = []
    for argument, following in pairwise([*arguments, ""]):
        flag, equals, value = argument.partition("=")
        if flag.startswith("-") and _SECRET_NAME.search(flag):
            found.append(value if equals else following)
    return tuple(found)


def presentable(text: str, *, secrets: Iterable[str] = (), lines: int = 3, width: int = 300) -> str:
    """The last lines of foreign text in one, without control characters or anything that looks secret."""
    text = text[-_LONGEST_TEXT:]
    for secret in sorted(set(secrets), key=len, reverse=True):
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, HIDDEN)
    text = _PEM.sub(HIDDEN, _CONTROLS.sub("", text))
    text = _JWT.sub(HIDDEN, _AFTER_A_SECRET_NAME.sub(rf"\1{HIDDEN}", text))
    text = _LONG_RUN.sub(_unless_key, _BASE64_LINE.sub(HIDDEN, text))
    last = [line.strip() for line in text.splitlines() if line.strip()][-lines:]
    joined = " / ".join(last)
    return joined if len(joined) <= width else f"…{joined[-width:]}"


def _unless_key(run: re.Match[str]) -> str:
    """The run of characters; with both letters and digits it is more likely a key than a word."""
    return HIDDEN if _LETTER.search(run[0]) and _DIGIT.search(run[0]) else run[0]


def printable(text: str) -> str:
    """The text in one line, whatever it holds."""
    return "".join(char if char.isprintable() else "?" for char in text)


def quoted(name: str) -> str:
    """A name as messages show it: one line, in quotes, not endless."""
    shown = printable(name)
    return f'"{shown[:100]}…"' if len(shown) > 100 else f'"{shown}"'
