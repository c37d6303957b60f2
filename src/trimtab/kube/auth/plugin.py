"""Running a credential plugin: one run at a time, its answer kept until shortly before it expires.

What is asked and what an answer means is decided in `trimtab.kube.auth.execprotocol`.
"""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from trimtab import programs
from trimtab.errors import InvalidSpec, Missing, TrimtabError, Unavailable
from trimtab.kube.auth.execprotocol import Credential, credential, entry_problem, exec_info
from trimtab.kube.auth.kubeconfig import ClusterEntry, Named, PluginEntry
from trimtab.kube.auth.redaction import presentable, quoted, secrets_among, secrets_in_arguments
from trimtab.programs import Limits, ProgramStopped
from trimtab.tasks.clock import Clock

_LONGEST_ANSWER = 1 << 20
_TAKES_LONG = "Run it by hand to see what it waits for, or raise cluster.plugin_timeout"
_SAYS_TOO_MUCH = "Run it by hand to see what it says beside its credential, and have it say less"
_LONG_WORD = re.compile(r"[^\s\"'{}\[\]:,]{16,}")


class PluginAnswer(Protocol):
    """How a plugin ended and what it printed."""

    @property
    def code(self) -> int:
        """Its exit code."""

    @property
    def stdout(self) -> bytes:
        """Where the credential is."""

    @property
    def stderr(self) -> bytes:
        """Where the complaints are."""


class RunPlugin(Protocol):
    """Runs a program with network, without input, and kills it when `wall` is over (ProgramStopped)."""

    async def __call__(
        self, argv: Sequence[str], *, environment: Mapping[str, str], wall: timedelta
    ) -> PluginAnswer:
        """Run it to its end."""


async def run_plugin(argv: Sequence[str], *, environment: Mapping[str, str], wall: timedelta) -> PluginAnswer:
    """Run a plugin as its user would, with network and files as they are, but ended in time and whole."""
    limits = Limits(
        wall=wall, output=_LONGEST_ANSWER, network=True, memory=None, open_files=None, processes=None
    )
    return await programs.run(argv, limits=limits, environment=environment, namespaces="never")


class PluginCall(Struct, frozen=True, kw_only=True):
    """All that one plugin needs to be run."""

    subject: str
    entry: PluginEntry
    cluster: Named[ClusterEntry]
    environment: Mapping[str, str]
    timeout: timedelta

    def __repr__(self) -> str:
        """Without the environment, which holds secrets."""
        return f"PluginCall({self.subject!r}, {self.entry.command!r})"


class Plugin:
    """The credentials that a plugin gives, asked for when needed."""

    def __init__(
        self, call: PluginCall, *, run: RunPlugin, clock: Clock, authority: Callable[[], str | None]
    ) -> None:
        if problem := entry_problem(call.entry):
            raise InvalidSpec(call.subject, *problem)
        self._call = call
        self._run = run
        self._clock = clock
        self._authority = authority
        self._known: Credential | None = None
        self._running: asyncio.Future[Credential | TrimtabError | None] | None = None

    async def current(self) -> Credential:
        """A credential that is good for now; callers who come while the plugin runs share its outcome."""
        while True:
            if self._known and not self._is_due(self._known):
                return self._known
            if self._running is None:
                return await self._ask()
            # Shielded: a caller who gives up must not take the outcome away from the others.
            outcome = await asyncio.shield(self._running)
            if isinstance(outcome, TrimtabError):
                raise outcome
            # Otherwise look again: either it is known now, or the caller who ran the plugin gave up.

    def forget(self) -> None:
        """The server refused what the plugin gave: ask it again next time."""
        self._known = None

    def known(self) -> Credential | None:
        """What it gave last, if that is still thought to be good."""
        return self._known

    def _is_due(self, known: Credential) -> bool:
        return known.renew_at is not None and self._clock.now() >= known.renew_at

    async def _ask(self) -> Credential:
        """Run the plugin on behalf of everybody who waits."""
        running = self._running = asyncio.get_running_loop().create_future()
        outcome: Credential | TrimtabError | None = None
        try:
            self._known = outcome = await self._answered()
        except TrimtabError as exc:
            outcome = exc
            raise
        else:
            return outcome
        finally:
            self._running = None
            running.set_result(outcome)

    async def _answered(self) -> Credential:
        call, name = self._call, quoted(Path(self._call.entry.command).name)
        argv = [_found(call, name), *(argument.reveal() for argument in call.entry.args)]
        try:
            answer = await self._run(argv, environment=self._environment(), wall=call.timeout)
        except ProgramStopped as exc:
            remedy = _TAKES_LONG if exc.limit == "wall" else _SAYS_TOO_MUCH
            raise Unavailable(call.subject, f"its exec plugin {name} {exc.reason}", remedy) from exc
        except (OSError, TrimtabError) as exc:
            why = exc.reason if isinstance(exc, TrimtabError) else (exc.strerror or "no reason given").lower()
            reason = f"its exec plugin {name} could not be started ({why})"
            raise Unavailable(call.subject, reason, "Run it by hand to see why") from exc
        if answer.code != 0:
            raise _failed(call, name, answer)
        return credential(
            answer.stdout, entry=call.entry, subject=call.subject, plugin=name, now=self._clock.now()
        )

    def _environment(self) -> dict[str, str]:
        entry = self._call.entry
        return {
            **self._call.environment,
            **{variable.name: variable.value.reveal() for variable in entry.env},
            "KUBERNETES_EXEC_INFO": exec_info(entry, self._call.cluster, self._authority()),
        }


def _found(call: PluginCall, name: str) -> str:
    """The program's absolute path: by its own path, else on the PATH that we were given."""
    found = shutil.which(call.entry.command, path=call.environment.get("PATH", ""))
    if found and Path(found).is_absolute():  # a relative PATH would run what lies in the working directory
        return found
    hint = presentable(call.entry.install_hint, lines=10, width=1000)
    raise Missing(
        call.subject,
        f"its exec plugin {name} is not installed, or may not be run",
        f"Install it: {hint}" if hint else "Install it or correct exec.command",
    )


def _failed(call: PluginCall, name: str, answer: PluginAnswer) -> Unavailable:
    """The plugin's own last words, without what we know or guess to be secret."""
    secrets = (
        *(variable.value.reveal() for variable in call.entry.env),
        *secrets_in_arguments([argument.reveal() for argument in call.entry.args]),
        *secrets_among(call.environment),
        *_LONG_WORD.findall(answer.stdout.decode(errors="replace")),
    )
    words = presentable(answer.stderr.decode(errors="replace"), secrets=secrets)
    said = f" and said: {words}" if words else " and said nothing"
    reason = f"its exec plugin {name} failed with exit code {answer.code}{said}"
    return Unavailable(call.subject, reason, "Log in with it again, or run it by hand to see why")
