"""A folder, a home, and people who call the command there; the worlds that they live in are `worlds`'."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from testbed.toll import Toll, is_any
from tests.features.calling import Call, Caller, Heard
from tests.features.test_sync import MIGRATION, SETTINGS, shop


def named(name: str, colour: str = "blue") -> str:
    """A ConfigMap."""
    return SETTINGS.replace("settings", name).replace("blue", colour)


_STARVED, _STARVED_OFTEN = "it could not be renewed for", 4


class Scene:
    """A folder, a home, and people who call the command over a toll."""

    def __init__(self, caller: Caller, folder: Path, *, records: str = "records") -> None:
        self._caller = caller
        self.records = records
        self.folder = folder
        self.home = folder / "home"
        self.home.mkdir()
        self.pid = folder / "pid"
        self.shop = shop(folder / "shop", one=named("one"), two=named("two"), migration=MIGRATION)
        self.plan = folder / "web.plan"

    def call(self, toll: Toll, words: tuple[str, ...], **around: Any) -> Heard:
        """Call the command over a toll, to its end."""
        return self.call_with(toll.kubeconfig, words, **around)

    def call_with(
        self,
        kubeconfig: Path,
        words: tuple[str, ...],
        *,
        environment: Mapping[str, str] = MappingProxyType({}),
        **around: Any,
    ) -> Heard:
        """Call the command in these surroundings, to its end."""
        usual = {
            "HOME": str(self.home),
            "KUBECONFIG": str(kubeconfig),
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "USER": "ann",
            "TERM": "xterm",
            "TRIMTAB_APPS__NAMESPACE": self.records,
            "TRIMTAB_REPOSITORIES__ALLOW_SCHEMES": "https,http,ssh,file",
            "TRIMTAB_REPOSITORIES__ALLOW_HOSTS": "127.0.0.1",
        }
        spelt = tuple(
            word.replace("{shop}", str(self.shop)).replace("{plan}", str(self.plan)) for word in words
        )
        call = Call(
            arguments=spelt,
            environment={**usual, **environment},
            folder=str(self.folder),
            pid=str(self.pid),
            **around,
        )
        return self._caller.call(call)

    def seen_through(self, toll: Toll, words: tuple[str, ...]) -> Heard:
        """Call the command, and again if it had to stop half-way because the machine gave it no time.

        A process that stands still for longer than its lease lasts loses it, stops, and says so.
        """
        told = self.call(toll, words)
        for _ in range(_STARVED_OFTEN):
            if _STARVED not in told.err:
                break
            told = self.call(toll, words)
        return told

    def done(self, toll: Toll, *words: str) -> None:
        """Call the command, which has to succeed."""
        told = self.seen_through(toll, words)
        assert told.code == 0, told.err

    def bury(self, toll: Toll) -> None:
        """Nobody else dies; and the leases of the dead run out by themselves: here nobody waits for that."""
        toll.strike(is_any, 0, self.kill)
        toll.read(f"/apis/coordination.k8s.io/v1/namespaces/{self.records}/leases", method="DELETE")

    def kill(self) -> None:
        """Kill whoever was called last, and all that it started."""
        os.killpg(int(self.pid.read_text()), signal.SIGKILL)
