"""Pages as shell sessions: what they have people type, and what they say will be answered. Pure.

In a `console` block a line that begins with `$ ` is typed, and what follows is the answer; a command without
one need only succeed, and `# exits with 2` at its end says how it fails. `# in a moment; exits with 1` is for
an answer that becomes true: the command is typed again until its last line is said. `…` stands for anything
in a line, a line of it alone for any lines. Digests, ports, times and blanks are not compared. A block after
`<!-- file: PATH -->` is a file that is there from then on. `<!-- no-run -->` only shows.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_FILE = re.compile(r"<!-- file: (\S+) -->")
_EXITS = re.compile(r"#\s*(in a moment; )?exits with (\d+)\s*$")
_NO_RUN: Final = "<!-- no-run -->"
#: what differs from run to run
_MASKS: Final = tuple(
    (re.compile(pattern), mask)
    for pattern, mask in (
        (r"\b[0-9a-f]{40}\b|\bfiles:[0-9a-f]{12}\b|\b[0-9a-f]{12}\b|\b[0-9a-f]{7}\b", "<id>"),
        (r"-[0-9a-z]{8,10}-[0-9a-z]{5}\b|-[0-9a-f]{8,10}\b", "-<made>"),
        (r"127\.0\.0\.1:\d+", "<address>"),
        (r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?( UTC|Z)?", "<time>"),
        (r"\b\d+(\.\d+)? ?(s|m|h)\b", "<span>"),
        (r"/tmp/\S+?/page\b|/\S+/\.local/state", "~"),
        (r"\s+|-{4,}", " "),
    )
)


class Given(NamedTuple):
    """A file that the page has people make."""

    path: str
    text: str


class Typed(NamedTuple):
    """A command, the exit code it ends with, what it answers, and its line in the page."""

    command: str
    code: int
    answer: tuple[str, ...]
    line: int
    #: whether it may have to be typed again until it answers so
    is_soon: bool = False


def session(page: str) -> list[Given | Typed]:
    """What is done with a page, in order."""
    found: list[Given | Typed] = []
    previous, block, start = "", None, 0
    body: list[str] = []
    for number, line in enumerate(page.splitlines(), 1):
        if block is None and line.startswith("```") and line != "```":
            block, body, start = line[3:].strip(), [], number + 1
        elif block is not None and line == "```":
            if named := _FILE.fullmatch(previous):
                found.append(Given(named[1], "\n".join(body) + "\n"))
            elif block == "console" and previous != _NO_RUN:
                found += _typed(body, start)
            block, previous = None, ""
        elif block is not None:
            body.append(line)
        else:
            previous = line.strip() or previous
    return found


def _typed(body: list[str], start: int) -> list[Typed]:
    found: list[Typed] = []
    for number, line in enumerate(body, start):
        if line.startswith("$ "):
            exits = _EXITS.search(line)
            command = _EXITS.sub("", line[2:]).rstrip()
            found.append(Typed(command, int(exits[2]) if exits else 0, (), number, bool(exits and exits[1])))
        elif found:
            found[-1] = found[-1]._replace(answer=(*found[-1].answer, line))
    return found


def answers(wanted: tuple[str, ...], said: str) -> bool:
    """Whether a command said what the page says it does."""
    if not wanted:
        return True
    lines = [_masked(line) for line in said.splitlines()]
    pattern = "".join(_pattern(_masked(line)) for line in wanted)
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in lines).rstrip("\n") + "\n") is not None


def _pattern(line: str) -> str:
    if line.strip() == "…":
        return r"(?:.*\n)*"
    return ".*".join(map(re.escape, line.split("…"))) + r"\n"


def _masked(line: str) -> str:
    for pattern, mask in _MASKS:
        line = pattern.sub(mask, line)
    return line.rstrip()
