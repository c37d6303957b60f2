"""What every part has in common: a run folder, ports and processes that come and go together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

from testbed.folders import RunFolder
from testbed.processes import Port, Process


class Part(ABC):
    """Started, used, stopped; also as a context manager. Stopping removes all data."""

    def __init__(self, purpose: str) -> None:
        self._run = RunFolder(purpose)
        self._ports: list[Port] = []
        self.folder = self._run.path

    @property
    @abstractmethod
    def processes(self) -> tuple[Process, ...]:
        """All processes that this part is made of."""

    @abstractmethod
    def _bring_up(self) -> None:
        """Start all processes and return when they are ready."""

    def start(self) -> Self:
        """Start everything and return when it is ready; after a failure the folder stays, for its logs."""
        try:
            self._bring_up()
        except BaseException:
            self._release()
            raise
        return self

    def stop(self) -> None:
        """End everything at once and remove the run folder."""
        self._release()
        self._run.remove()

    def resident_bytes(self) -> int:
        """How much memory all its processes hold now."""
        return sum(process.resident_bytes() for process in self.processes)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _reserve_port(self) -> int:
        """A loopback port that is ours until we stop."""
        self._ports.append(Port())
        return self._ports[-1].number

    def _release(self) -> None:
        for process in reversed(self.processes):
            process.kill()
        for port in self._ports:
            port.release()
        self._run.leave()
