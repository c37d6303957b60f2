"""Runs the git program, under limits, with nothing but the configuration that it is given here.

Arguments are fixed words, ids that were checked, paths of our own and addresses written anew from their
parts; what a tenant names travels through standard input or after `--`. What git's words mean is decided in
`complaints`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from msgspec import Struct

from trimtab.errors import InvalidSpec, SourceRefused, TrimtabError
from trimtab.programs import Limits, ProgramStopped, find, run
from trimtab.programs.handover import Namespaces
from trimtab.settings import RepositoriesSettings
from trimtab.sources.repositories.addresses import Address, address_of
from trimtab.sources.repositories.complaints import (
    Meaning,
    error_of,
    error_of_mirror,
    error_of_stop,
    meaning_of,
)
from trimtab.sources.repositories.credentials import secrets_of
from trimtab.sources.repositories.gitsetup import (
    SSH_CONFIG,
    TRACE,
    Reach,
    environment_of,
    files_of,
    local_files,
    location_in,
    traced,
)
from trimtab.sources.repositories.revisions import GitRequest
from trimtab.sources.repositories.vault import private_folder, private_parent
from trimtab.tasks import Clock, SystemClock

_OLDEST = (2, 37, 0)  # the first that can be told a host's address
_MIB = 1 << 20


class GitComplained(Exception):
    """git ended with a complaint; `error` is what it means to people."""

    def __init__(self, meaning: Meaning, error: TrimtabError, words: str = "") -> None:
        super().__init__(meaning)
        self.meaning = meaning
        self.error = error
        #: what git said, secrets and all: never to be shown as it is
        self.words = words


class GitProgram(Struct, frozen=True, kw_only=True):
    """Where git is, and how it is run."""

    path: str
    #: PATH for git, which starts ssh
    search: str
    settings: RepositoriesSettings
    #: folder in which private folders are made
    private: Path
    namespaces: Namespaces = "auto"
    #: hears of each talk with a server
    told: Callable[[GitRequest], None] | None = None
    clock: Clock = SystemClock()

    async def local(
        self, mirror: Path, *arguments: str, stdin: bytes = b"", wall: timedelta | None = None
    ) -> bytes:
        """What git answers about a mirror, without any network; `GitComplained` if it does not."""
        with private_folder(self.private, lambda _: local_files()) as folder:
            environment = environment_of(folder=str(folder), path=self.search)
            limits = self._limits(wall or self.settings.list_timeout, network=False)
            command = (f"--git-dir={mirror}", *arguments)
            # One that is being made is told of by the name that it will have, each time the same.
            subject = f"mirror {mirror.name.partition('.')[0]}.git"
            try:
                return await self._run(command, environment, limits, stdin, subject, ())
            except GitComplained as complaint:
                raise GitComplained(
                    complaint.meaning, error_of_mirror(subject, complaint.words)
                ) from complaint

    async def remote(
        self, mirror: Path | None, reach: Reach, *arguments: str, stdin: bytes = b"", wall: timedelta
    ) -> bytes:
        """What git answers after talking to a server; `GitComplained` if it does not.

        Without a mirror it can only ask what there is, for which an eighth of the memory is plenty.
        """
        with private_folder(self.private, lambda folder: files_of(reach, folder=folder)) as folder:
            scheme = reach.address.scheme
            environment = environment_of(folder=str(folder), path=self.search, scheme=scheme)
            limits = self._limits(wall, network=True, share=1 if mirror else 8)
            command = ((f"--git-dir={mirror}",) if mirror else ()) + arguments
            subject, secrets = f"repository {reach.address}", secrets_of(reach.credential)
            try:
                with self._timed("fetch" if mirror else "ls-remote"):
                    return await self._run(command, environment, limits, stdin, subject, secrets)
            except GitComplained as complaint:
                if complaint.meaning is not Meaning.REDIRECT:
                    raise
                environment = traced(environment, folder=str(folder))
                await self._try(command, environment, limits, stdin, subject)
                raise _redirected(reach.address, _traced_location(folder), complaint) from None

    @contextmanager
    def _timed(self, type_: str) -> Iterator[None]:
        """Tell whoever wants to hear of it how long a talk took, and whether it failed."""
        started, failed = self.clock.monotonic(), True
        try:
            yield
            failed = False
        finally:
            if self.told is not None:
                seconds = self.clock.monotonic() - started
                self.told(GitRequest(type=type_, seconds=seconds, failed=failed))

    async def over_ssh(self, reach: Reach, command: str) -> bytes:
        """What a server answers to a command by SSH; `GitComplained` if it does not know it."""
        ssh = await find("ssh", path=self.search)
        with private_folder(self.private, lambda folder: files_of(reach, folder=folder)) as folder:
            address, environment = reach.address, environment_of(folder=str(folder), path=self.search)
            limits = self._limits(self.settings.list_timeout, network=True, share=8)
            there = ("-p", str(address.port), "-l", address.user, "--", address.host)
            argv = (str(ssh.path), "-F", f"{folder}/{SSH_CONFIG}", *there, command)
            subject, secrets = f"repository {address}", secrets_of(reach.credential)
            return await self._started(argv, environment, limits, b"", subject, secrets)

    async def _try(
        self,
        command: tuple[str, ...],
        environment: dict[str, str],
        limits: Limits,
        stdin: bytes,
        subject: str,
    ) -> None:
        """Run it once more, for its trace alone."""
        try:
            await self._run(command, environment, limits, stdin, subject, ())
        except GitComplained:
            return

    async def _run(
        self,
        arguments: tuple[str, ...],
        environment: dict[str, str],
        limits: Limits,
        stdin: bytes,
        subject: str,
        secrets: tuple[str, ...],
    ) -> bytes:
        argv = (self.path, "--no-pager", "--no-replace-objects", *arguments)
        return await self._started(argv, environment, limits, stdin, subject, secrets)

    async def _started(
        self,
        argv: tuple[str, ...],
        environment: dict[str, str],
        limits: Limits,
        stdin: bytes,
        subject: str,
        secrets: tuple[str, ...],
    ) -> bytes:
        cwd = Path(environment["HOME"])
        try:
            finished = await run(
                argv, limits=limits, environment=environment, cwd=cwd, stdin=stdin, namespaces=self.namespaces
            )
        except ProgramStopped as stop:
            raise error_of_stop(stop, subject) from stop
        if finished.code == 0:
            return finished.stdout
        stderr = finished.stderr.decode("utf-8", "replace")
        meaning = meaning_of(stderr)
        raise GitComplained(meaning, error_of(meaning, subject, stderr, secrets=secrets), stderr)

    def _limits(self, wall: timedelta, *, network: bool, share: int = 1) -> Limits:
        settings = self.settings
        return Limits(
            wall=wall,
            memory=settings.memory // share,
            output=64 * _MIB,
            file_size=settings.largest_fetch if network else settings.largest_mirror,
            network=network,
        )


class Redirected(GitComplained):
    """The server sent us to another address of its own; `target` is where."""

    def __init__(self, error: TrimtabError, target: Address) -> None:
        super().__init__(Meaning.REDIRECT, error)
        self.target = target


def _redirected(asked: Address, location: str, complaint: GitComplained) -> GitComplained:
    """What a redirect amounts to: another address on the same server, or a refusal."""
    subject = f"repository {asked}"
    ending = "/info/refs"
    try:
        target = address_of(location.partition("?")[0].removesuffix(ending))
    except InvalidSpec:
        return complaint
    reason = f"the server redirects to {target}, where nothing was asked for and no credential is sent"
    error = SourceRefused(subject, reason, "Use that address, if it is the right one")
    if target.origin == asked.origin and target != asked:
        return Redirected(error, target)
    return GitComplained(Meaning.REDIRECT, error)


def _traced_location(folder: Path) -> str:
    trace = folder / TRACE
    return location_in(trace.read_text("utf-8", "replace")[:_MIB]) if trace.exists() else ""


async def found_git(
    settings: RepositoriesSettings,
    *,
    path: str,
    folder: Path,
    namespaces: Namespaces = "auto",
    told: Callable[[GitRequest], None] | None = None,
) -> GitProgram:
    """The git program of this machine; an error with a remedy if there is none, or one that is too old."""
    program = await find("git", path=path)
    finished = await run((str(program.path), "--version"), environment={"PATH": path}, namespaces=namespaces)
    words = finished.stdout.decode("utf-8", "replace").split()
    version = (
        tuple(int(part) for part in words[2].split(".")[:3] if part.isdecimal()) if len(words) > 2 else ()
    )
    if version < _OLDEST:
        remedy = f"Install git {'.'.join(map(str, _OLDEST))} or later"
        raise InvalidSpec("git", f"{program.path} is too old ({' '.join(words)})", remedy)
    return GitProgram(
        path=str(program.path),
        search=path,
        settings=settings,
        private=private_parent(folder),
        namespaces=namespaces,
        told=told,
    )
