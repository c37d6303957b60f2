"""Pages as shell sessions: what they have people type, and what they say will be answered. Pure.

In a `console` block a line that begins with `$ ` is typed, and what follows is the answer; a command without
one need only succeed, and `# exits with 2` at its end says how it fails. `# in a moment; exits with 1` is for
an answer that becomes true: the command is typed again until its last line is said. `# until Ctrl-C` is for a
command that goes on: it is ended once the last line of its answer is said. `…` stands for anything
in a line, a line of it alone for any lines. Digests, ports, times and blanks are not compared. A block after
`<!-- file: PATH -->` is a file that is there from then on. `<!-- no-run -->` only shows.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from tests.docs.blocks import Block, blocks

_EXITS = re.compile(r"#\s*(in a moment; )?exits with (\d+)\s*$")
_UNTIL = re.compile(r"#.*\buntil Ctrl-C\s*$")
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
    #: whether it goes on until somebody ends it
    is_ended: bool = False


def session(page: str) -> list[Given | Typed]:
    """What is done with a page, in order."""
    return [step for block in blocks(page) for step in _steps(block)]


def _steps(block: Block) -> list[Given | Typed]:
    if block.file:
        return [Given(block.file, block.text)]
    return [*_typed(block)] if block.kind == "console" and not block.is_shown else []


def _typed(block: Block) -> list[Typed]:
    found: list[Typed] = []
    for number, line in enumerate(block.body, block.line):
        if line.startswith("$ "):
            exits, until = _EXITS.search(line), _UNTIL.search(line)
            command = _UNTIL.sub("", _EXITS.sub("", line[2:])).rstrip()
            code = int(exits[2]) if exits else 0
            found.append(Typed(command, code, (), number, bool(exits and exits[1]), bool(until)))
        elif found:
            found[-1] = found[-1]._replace(answer=(*found[-1].answer, line))
    return found


def sign_of(step: Typed) -> str:
    """By what a command is known to have answered: the longest stretch of its last line with words."""
    *_, last = (line for line in step.answer if line.strip() != "…")
    return max((part.strip() for part in last.split("…")), key=len)


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
