"""A terminal for programs that want one: runs a command under a pty and shows what a person would see.

    with Terminal(["trimtab", "sync", "."], environment=environment, folder=folder) as terminal:
        terminal.until("[y/N]")
        terminal.enter("y")
        terminal.end()
    assert "shop is Synced" in terminal.screen.text()[-1]

`Emulated` understands what command lines use: colours, going up, clearing. Full-screen programs need more.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

LIMIT: Final = 200.0  # seconds
_TOKEN = re.compile(r"\x1b\[([0-9;]*)([A-Za-z])|(\r|\n|\x08)|([^\x1b\r\n\x08]+)|(\x1b)")
_NAMES = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_COLOURS = {30 + number: name for number, name in enumerate(_NAMES)}


class Style(NamedTuple):
    """How one character looks."""

    colour: str = ""
    bold: bool = False
    dim: bool = False


class Cell(NamedTuple):
    """One character on the screen."""

    char: str
    style: Style


class Emulated:
    """What stands on an endless roll of paper that a program writes to, and may go up on to write anew."""

    def __init__(self) -> None:
        self.rows: list[list[Cell]] = [[]]
        self._row = self._column = 0
        self._style = Style()

    def feed(self, text: str) -> None:
        """Take in what a program wrote."""
        for match in _TOKEN.finditer(text):
            numbers, command, control, plain, _lone = match.groups()
            if plain is not None:
                for char in plain:
                    self._put(char)
            elif control is not None:
                self._move(control)
            elif command is not None:
                self._obey(command, [int(each) for each in numbers.split(";") if each])

    def text(self) -> list[str]:
        """The rows as plain text, without blanks at their ends."""
        return ["".join(cell.char for cell in row).rstrip() for row in self.rows]

    def _put(self, char: str) -> None:
        row = self.rows[self._row]
        row.extend([Cell(" ", Style())] * (self._column - len(row)))
        row[self._column : self._column + 1] = [Cell(char, self._style)]
        self._column += 1

    def _move(self, control: str) -> None:
        if control == "\r":
            self._column = 0
        elif control == "\x08":
            self._column = max(0, self._column - 1)
        else:
            self._row += 1
            if self._row == len(self.rows):
                self.rows.append([])

    def _obey(self, command: str, numbers: list[int]) -> None:
        first = numbers[0] if numbers else 0
        if command in "AF":
            self._row = max(0, self._row - (first or 1))
            self._column = 0 if command == "F" else self._column
        elif command == "K" and first == 2:
            self.rows[self._row] = []
        elif command == "J":
            del self.rows[self._row + 1 :]
            del self.rows[self._row][self._column :]
        elif command == "m":
            for number in numbers or [0]:
                self._style = _styled(self._style, number)


def _styled(style: Style, number: int) -> Style:
    match number:
        case 0:
            return Style()
        case 1:
            return style._replace(bold=True)
        case 2:
            return style._replace(dim=True)
        case 22:
            return style._replace(bold=False, dim=False)
        case _:
            return style._replace(colour=_COLOURS.get(number % 60 if number >= 90 else number, ""))


class Terminal:
    """A command with a terminal of its own; it ends with the block at the latest."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        folder: Path,
        columns: int = 100,
        lines: int = 40,
    ) -> None:
        self.screen = Emulated()
        self.written = ""
        self._name = command[0]
        self._end, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self._process = subprocess.Popen(
            list(command),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={"TERM": "xterm-256color", **environment},
            cwd=folder,
            start_new_session=True,
        )
        os.close(theirs)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._end)

    def enter(self, words: str) -> None:
        """Type these words and press Enter."""
        self.press(f"{words}\n")

    def press(self, keys: str) -> None:
        """Press these keys, one after another."""
        os.write(self._end, keys.encode())

    def interrupt(self) -> None:
        """What Ctrl-C does."""
        self._process.send_signal(signal.SIGINT)

    def until(self, words: str) -> None:
        """Return when the program has written these words."""
        deadline = time.monotonic() + LIMIT
        while words not in self.written:
            if not self._read(deadline):
                raise AssertionError(f"{words!r} was never written, but:\n{self.written}")

    def end(self) -> int:
        """The exit code, once the program has ended."""
        deadline = time.monotonic() + LIMIT
        while self._read(deadline):
            pass
        return self._process.wait()

    def _read(self, deadline: float) -> bool:
        """Take in what comes next; false at the end."""
        ready, _, _ = select.select([self._end], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            raise AssertionError(f"{self._name} has not gone on in time:\n{self.written}")
        try:
            block = os.read(self._end, 65536)
        except OSError:  # a terminal whose last program has gone
            return False
        text = block.decode("utf-8", "replace")
        self.written += text
        self.screen.feed(text)
        return bool(block)


if __name__ == "__main__":
    with Terminal(sys.argv[1:], environment=dict(os.environ), folder=Path.cwd()) as terminal:
        code = terminal.end()
    print("\n".join(terminal.screen.text()))
    sys.exit(code)
