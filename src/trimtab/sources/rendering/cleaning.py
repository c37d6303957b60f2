"""A program's last words, fit to be shown: without secrets, private paths or control characters. Pure.

Values that a spec or a values file gives under a telling name are known and struck out wherever they appear,
also in base64; what looks like a credential is struck out unknown.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

HIDDEN: Final = "(hidden)"
_SHORTEST: Final = 4
_LINES: Final = 12
_LONGEST: Final = 2000
#: what stands further from the end is not looked at; far more is than is shown, so no secret is cut in half
_MOST_READ: Final = 64 * 1024
_TELLING: Final = re.compile(
    r"pass|secret|token|credential|private|api[_-]?key|access[_-]?key|auth|cert|signature"
    r"|connection[_-]?string|dsn|(^|[^a-z])(key|pwd|pw|salt)([^a-z]|$)",
    re.IGNORECASE,
)
_PATTERNS: Final = (
    re.compile(r"-----BEGIN [^-]*-----.*?(-----END [^-]*-----|$)", re.DOTALL),
    re.compile(r"(?<=://)[^\s/@]+@"),
    re.compile(r"(?i)(?<=bearer )\S+"),
    re.compile(r"(?i)(?<=basic )[A-Za-z0-9+/=]{8,}"),
    re.compile(
        r"\b(gh[pousr]_|github_pat_|glpat-|xox[abprs]-|AKIA|ASIA|AGE-SECRET-KEY-|eyJ)[A-Za-z0-9_.-]{8,}"
    ),
    # Go's YAML libraries quote what they could not understand.
    re.compile(r"(?<=!!str )`[^`]*`?"),
    re.compile(r"(?<=!!binary )`[^`]*`?"),
    # Long runs without a space or a dot are keys and digests, not words.
    re.compile(
        r"(?<![\w/+.-])(?=[A-Za-z0-9+/_-]*\d)(?=[A-Za-z0-9+/_-]*[A-Za-z])[A-Za-z0-9+_-]{32,}={0,2}(?![\w/])"
    ),
)
_CONTROL: Final = re.compile(
    r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
_NAMED: Final = re.compile(
    # Bounded: a text may be made of such names, and each would look at all that follow.
    r"(?i)((?:password|passwd|secret|token|credential|api[_-]?key)[\w.-]{0,253}[\"']?\s{0,100}[:=]\s*)"
    r"([\"']?)([^\s\"',;]+)\2"
)


def secret_texts(value: Any, *, everything: bool = False) -> tuple[str, ...]:
    """The texts of a value that must not be shown: those under a telling name, or all of them."""
    return tuple(dict.fromkeys(_found(value, everything=everything)))


def is_telling(name: str) -> bool:
    """Does a name say that what stands under it is secret?"""
    return _TELLING.search(name) is not None


def _found(value: Any, *, everything: bool) -> Iterator[str]:
    waiting: list[tuple[Any, bool]] = [(value, everything)]
    while waiting:
        item, is_secret = waiting.pop()
        if isinstance(item, dict):
            waiting.extend((each, is_secret or is_telling(str(name))) for name, each in item.items())
        elif isinstance(item, list):
            waiting.extend((each, is_secret) for each in item)
        elif is_secret and not isinstance(item, bool) and item is not None:
            yield from _spellings(str(item))


def _spellings(text: str) -> Iterator[str]:
    """A text as it may appear: whole, line by line, after an equals sign, in base64."""
    lines = text.splitlines()
    parts = [text, *lines, *(part for line in lines for part in line.split("=", 1))]
    for part in dict.fromkeys(each.strip() for each in parts):
        if len(part) >= _SHORTEST:
            yield part
            yield base64.b64encode(part.encode("utf-8", "surrogatepass")).decode()


def cleaned(text: str, secrets: Iterable[str] = (), private: Iterable[str] = ()) -> str:
    """The last lines of a text, as they may be shown to whoever asked."""
    text = text[-_MOST_READ:]
    for folder in sorted(private, key=len, reverse=True):
        text = text.replace(f"{folder}/", "").replace(folder, ".")
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    text = _CONTROL.sub("", text)
    for pattern in _PATTERNS:
        text = pattern.sub(HIDDEN, text)
    text = _NAMED.sub(rf"\1{HIDDEN}", text)
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    return "\n".join(lines[-_LINES:])[-_LONGEST:]
