"""How far what somebody asks of an app has come: whom it waits for, whether it was begun, how it goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

#: is told who works on the app while that is waited for
Held: TypeAlias = Callable[[str], None]
_NOTHING = "Nothing was begun: run the same command again"


class Course:
    """The course of one thing that is asked of an app."""

    def __init__(self) -> None:
        #: who else works on the app, while that is waited for
        self.holder = ""
        #: whether the cluster knows of it, so that it can be gone on with
        self.is_begun = False

    def restart(self) -> None:
        """Have something else be asked."""
        self.holder, self.is_begun = "", False

    def begin(self) -> None:
        """Have it be begun: the app's record tells of it."""
        self.holder, self.is_begun = "", True

    def have_way(self) -> None:
        """Wait for nobody any more."""
        self.holder = ""

    def hearing(self, held: Held) -> Held:
        """The same listener, heard here, too."""

        def hear(holder: str) -> None:
            self.holder = holder
            held(holder)

        return hear

    def late(self, what: str, seconds: float, waits: str) -> str:
        """What to say when it has only waited for so long; `waits` is what for, if it was begun."""
        if self.holder:
            return f"{self.holder} works on it, and was waited for {seconds:g} s"
        return f"{what} has waited {seconds:g} s {waits}"

    def remedy(self, goes_on: str) -> str:
        """How it goes on; what was not begun has left nothing to go on with."""
        return goes_on if self.is_begun else _NOTHING
