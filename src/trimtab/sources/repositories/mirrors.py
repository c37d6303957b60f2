"""Mirrors: one bare repository on disk for each repository out there, shared by all who may read it.

A mirror holds single revisions, each without its history, under refs of our own that say on which day
somebody last wanted them. Writing happens under a lock that the kernel takes from a process that dies, so
whatever lock files and half packs are met under it were left by the dead. Reading needs no lock: objects
only ever appear, and those that nobody has wanted for long go.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import itertools
import os
import secrets
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Final, TypeAlias

from trimtab.errors import SourceRefused, TrimtabError, Unavailable
from trimtab.resources.counting import counted
from trimtab.sources.repositories.complaints import Meaning, RevisionMissing
from trimtab.sources.repositories.gitsetup import Reach
from trimtab.sources.repositories.gittree import GitTree
from trimtab.sources.repositories.largestore import LargeStore
from trimtab.sources.repositories.pointers import Pointer
from trimtab.sources.repositories.program import GitComplained, GitProgram
from trimtab.sources.repositories.refs import Chosen
from trimtab.tasks.clock import Clock

_KEEP: Final = "refs/trimtab/keep"
_INCOMING: Final = "refs/trimtab/incoming"
_MOST_PACKS: Final = 40
_LOOK_AGAIN: Final = 0.02
_FETCH: Final = (
    *("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance"),
    *("--no-recurse-submodules", "--update-shallow", "--stdin"),
)


#: brings the files of Git LFS that a store lacks
Bring: TypeAlias = Callable[[LargeStore, tuple[Pointer, ...]], Awaitable[None]]


def mirror_path(root: Path, identity: str) -> Path:
    """Where the mirror of a repository lies; its name tells nothing about the repository."""
    name = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return root / f"{name}.git"


class Mirror:
    """The mirror of one repository."""

    def __init__(self, path: Path, git: GitProgram, clock: Clock, *, partial: bool = False) -> None:
        """Name a mirror; nothing is made before the first fetch. A partial one lacks files until `fill`."""
        self.path = path
        self._partial = partial
        self._lock = path.with_suffix(".lock")
        self._git = git
        self._clock = clock

    def holds(self, commit: str) -> bool:
        """Whether a revision is here, complete."""
        return any(self._kept(commit))

    async def keep(self, commit: str) -> None:
        """Note that a revision is wanted today."""
        if not self.holds(commit) or (self.path / self._today(commit)).exists():
            return
        async with self._held():
            await self._git.local(self.path, "update-ref", self._today(commit), commit)

    async def fetch(self, reach: Reach, chosen: Chosen) -> None:
        """Bring one revision here, unless it is here already."""
        if self.holds(chosen.commit):
            await self.keep(chosen.commit)
            return
        async with self._held():
            if self.holds(chosen.commit):
                return
            await self._made()
            try:
                await self._fetched(self.path, reach, chosen)
            except GitComplained as complaint:
                if complaint.meaning not in {Meaning.DAMAGED, Meaning.GARBLED} or await self._is_sound():
                    raise
                await self._replace(reach, chosen)
            await self._check_size(chosen.commit)
            await self._tidy()

    async def fill(self, reach: Reach, commit: str, paths: tuple[str, ...]) -> None:
        """Bring the files at and below some paths of a revision into a partial mirror."""
        missing = await asyncio.to_thread(lambda: GitTree(self.path, commit).missing(paths))
        if not missing:
            return
        async with self._held():
            ids = "".join(f"{id_}\n" for id_ in missing).encode()
            wall = self._git.settings.fetch_timeout
            # Else git would say that it has the commit, and the server conclude that it has all its files.
            asking = ("-c", "fetch.negotiationAlgorithm=noop", *self._command(reach))
            await self._git.remote(self.path, reach, *asking, stdin=ids, wall=wall)
            await self._check_size(commit)

    async def keep_large(self, commit: str, paths: tuple[str, ...], bring: Bring) -> None:
        """Have the files brought that a revision keeps in Git LFS at and below some paths."""
        store = LargeStore(self.path)
        if store.is_complete(commit, paths):
            return
        pointers = await asyncio.to_thread(lambda: GitTree(self.path, commit).pointers(paths))
        if not pointers:
            with self._told():
                store.note(commit, paths, pointers)
            return
        async with self._held():
            self._check_room(store, pointers)
            store.note(commit, paths, pointers)
            await bring(store, pointers)

    def _check_room(self, store: LargeStore, pointers: tuple[Pointer, ...]) -> None:
        most, wanted = self._git.settings.largest_mirror, (each for each in pointers if not store.has(each))
        if store.size() + sum(each.size for each in wanted) > most:
            reason = f"its files of Git LFS would take more than {most >> 20} MiB"
            raise SourceRefused(f"mirror {self.path.name}", reason, "Raise repositories.largest_mirror")

    async def mend(self, reach: Reach, chosen: Chosen) -> bool:
        """Look whether the mirror is damaged and, if so, make it anew; whether it was."""
        async with self._held():
            if self.path.exists() and await self._is_sound() and self.holds(chosen.commit):
                return False
            await self._replace(reach, chosen)
            return True

    async def full_id(self, reach: Reach, digits: str) -> str:
        """The only commit whose id begins so, by a look at the history; else `RevisionMissing`."""
        scratch = self.path.with_name(f"{self.path.stem}.{secrets.token_hex(4)}.history")
        try:
            with self._told():
                await self._init(scratch)
                await self._fetch_history(scratch, reach)
                listed = await self._git.local(scratch, "rev-parse", f"--disambiguate={digits}")
                commits = [id_ for id_ in listed.decode().split() if await self._is_commit(scratch, id_)]
        finally:
            await asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True)
        if len(commits) != 1:
            reason = f"{len(commits) or 'no'} commits begin with {digits}"
            raise RevisionMissing(f"repository {reach.address}", reason, "Give all 40 digits")
        return commits[0]

    async def changed_paths(self, before: str, after: str) -> tuple[str, ...]:
        """The files that differ between two revisions that are here."""
        command = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", before, after)
        with self._told():
            named = await self._git.local(self.path, *command)
        return tuple(name.decode("utf-8", "backslashreplace") for name in named.split(b"\0") if name)

    async def _fetched(self, mirror: Path, reach: Reach, chosen: Chosen) -> None:
        """Fetch by id, else by name, with as little history as the server lets us have."""
        attempts = [(chosen.commit, ("--depth=1",)), (chosen.commit, ())]
        if chosen.ref:
            attempts += [(chosen.ref, ("--depth=1",)), (chosen.ref, ())]
        attempts += [("refs/*", ())]
        for number, (wanted, depth) in enumerate(attempts, start=1):
            try:
                await self._fetch_one(mirror, reach, wanted, chosen.commit, depth)
            except GitComplained as complaint:
                given_up = complaint.meaning not in {Meaning.NO_SHALLOW, Meaning.NOT_OFFERED}
                if given_up or number == len(attempts):
                    raise
            else:
                return

    async def _fetch_one(
        self, mirror: Path, reach: Reach, wanted: str, commit: str, depth: tuple[str, ...]
    ) -> None:
        target = self._today(commit) if wanted == commit else _INCOMING
        refspec = f"+{wanted}:{target}{'/*' if wanted.endswith('*') else ''}\n"
        command = self._command(reach, *depth)
        wall = self._git.settings.fetch_timeout
        try:
            await self._git.remote(mirror, reach, *command, stdin=refspec.encode(), wall=wall)
        except GitComplained as complaint:
            raise self._too_large(mirror, reach) or complaint from complaint
        if not (mirror / self._today(commit)).exists():
            await self._accept(mirror, reach, commit)

    def _command(self, reach: Reach, *depth: str) -> tuple[str, ...]:
        """How to fetch; only a remote with a name can be asked to leave files out."""
        if not self._partial:
            return (*_FETCH, *depth, "--", reach.address.url)
        remote = ("-c", f"remote.origin.url={reach.address.url}")
        return (*remote, *_FETCH, *depth, "--filter=blob:none", "--", "origin")

    def _too_large(self, mirror: Path, reach: Reach) -> TrimtabError | None:
        """The refusal of a pack that reached the limit; git itself only says that its child died."""
        most = self._git.settings.largest_fetch
        if all(left.stat().st_size < most for left in mirror.glob("objects/pack/tmp_pack_*")):
            return None
        reason = f"one fetch brings more than {most >> 20} MiB"
        remedy = "Make it smaller, or raise repositories.largest_fetch"
        return SourceRefused(f"repository {reach.address}", reason, remedy)

    async def _accept(self, mirror: Path, reach: Reach, commit: str) -> None:
        """Keep a commit that came under another name; the name may have moved on before it was fetched."""
        try:
            await self._git.local(mirror, "update-ref", self._today(commit), commit)
        except GitComplained as complaint:
            reason = f"the server no longer offers {commit[:8]}"
            error = RevisionMissing(f"repository {reach.address}", reason, "It is looked for again")
            raise GitComplained(Meaning.NOT_OFFERED, error) from complaint

    async def _fetch_history(self, scratch: Path, reach: Reach) -> None:
        """Fetch all commits, and nothing else where the server can leave the rest out."""
        remote = ("-c", f"remote.origin.url={reach.address.url}", "-c", "remote.origin.promisor=true")
        filtered = ("-c", "remote.origin.partialCloneFilter=tree:0")
        command = (*remote, *filtered, *_FETCH, "--filter=tree:0", "--", "origin")
        refspecs = b"+refs/heads/*:refs/heads/*\n+refs/tags/*:refs/tags/*\n"
        wall = self._git.settings.fetch_timeout
        await self._git.remote(scratch, reach, *command, stdin=refspecs, wall=wall)

    async def _is_commit(self, repository: Path, id_: str) -> bool:
        try:
            return (await self._git.local(repository, "cat-file", "-t", id_)).strip() == b"commit"
        except GitComplained:
            return False

    async def _replace(self, reach: Reach, chosen: Chosen) -> None:
        """Make the mirror anew beside the damaged one, and only then put it in its place."""
        fresh = self.path.with_name(f"{self.path.stem}.{secrets.token_hex(4)}.fresh")
        try:
            await self._init(fresh)
            await self._fetched(fresh, reach, chosen)
            broken = self.path.with_name(f"{self.path.stem}.{secrets.token_hex(4)}.broken")
            if self.path.exists():
                self.path.rename(broken)
            fresh.rename(self.path)
            await asyncio.to_thread(shutil.rmtree, broken, ignore_errors=True)
        finally:
            await asyncio.to_thread(shutil.rmtree, fresh, ignore_errors=True)

    async def _is_sound(self) -> bool:
        """Whether every object that is wanted is here and whole."""
        command = ("fsck", "--full", "--no-dangling", "--no-progress", "--no-reflogs")
        try:
            await self._git.local(self.path, *command, wall=self._git.settings.fetch_timeout)
            for commit in {ref.name for ref in self._all_kept()}:
                GitTree(self.path, commit)
        except (GitComplained, TrimtabError):
            return False
        return True

    async def _made(self) -> None:
        if not (self.path / "HEAD").exists():
            fresh = self.path.with_name(f"{self.path.stem}.{secrets.token_hex(4)}.fresh")
            try:
                await self._init(fresh)
                if self.path.exists():
                    await asyncio.to_thread(shutil.rmtree, self.path)
                fresh.rename(self.path)
            finally:
                await asyncio.to_thread(shutil.rmtree, fresh, ignore_errors=True)

    async def _init(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        command = ("init", "--quiet", "--bare", "--template=", "--initial-branch=none")
        await self._git.local(path, *command)
        if self._partial:
            await self._git.local(path, "config", "remote.origin.promisor", "true")
            await self._git.local(path, "config", "remote.origin.partialCloneFilter", "blob:none")

    async def _check_size(self, commit: str) -> None:
        most = self._git.settings.largest_mirror
        size = sum(pack.stat().st_size for pack in self.path.glob("objects/pack/*"))
        if size <= most:
            return
        await self._git.local(self.path, "update-ref", "-d", self._today(commit))
        await self._repack()
        reason = f"its mirror would take more than {most >> 20} MiB"
        raise SourceRefused(f"revision {commit[:8]}", reason, "Raise repositories.largest_mirror")

    async def _tidy(self) -> None:
        """Let go of what nobody has wanted for long, and join packs when they are many."""
        oldest = (self._clock.now() - self._git.settings.keep_revisions).date().isoformat()
        stale = [ref for ref in self._all_kept() if ref.parent.name < oldest]
        for ref in stale:
            ref.unlink(missing_ok=True)
        if stale:
            LargeStore(self.path).tidy({ref.name for ref in self._all_kept()})
        if stale or len(list(self.path.glob("objects/pack/*.pack"))) > _MOST_PACKS:
            await self._repack()

    async def _repack(self) -> None:
        wall = self._git.settings.fetch_timeout
        shutil.rmtree(self.path / _INCOMING, ignore_errors=True)
        await self._git.local(self.path, "repack", "-a", "-d", "--quiet", wall=wall)
        await self._git.local(self.path, "prune", "--expire=now", wall=wall)

    @asynccontextmanager
    async def _held(self) -> AsyncIterator[None]:
        """Be the only one who writes here, among all processes of this machine."""
        with self._told(), _opened(self._lock) as file:
            await self._locked(file, self._git.settings.fetch_timeout * 2)
            _clear_leftovers(self.path)
            try:
                yield
            finally:
                _clear_leftovers(self.path)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Tell complaints of git and of the machine as what they mean to people."""
        try:
            yield
        except GitComplained as complaint:
            raise complaint.error from complaint
        except OSError as error:
            reason = f"its folder cannot be used: {os.strerror(error.errno or 0)}"
            remedy = "Look at the folder of mirrors: its rights and its free space"
            raise Unavailable(f"mirror {self.path.name}", reason, remedy) from error

    async def _locked(self, file: int, patience: timedelta) -> None:
        try:
            async with asyncio.timeout(patience.total_seconds()):
                # Whoever holds it may be another process: there is nothing to be woken by.
                for pause in itertools.repeat(_LOOK_AGAIN):
                    if _try_lock(file):
                        return
                    await asyncio.sleep(pause)
        except TimeoutError:
            reason = f"somebody else has been writing to it for {counted(patience.total_seconds(), 'second')}"
            raise Unavailable(f"mirror {self.path.name}", reason, "Look for a git that hangs") from None

    def _today(self, commit: str) -> str:
        return f"{_KEEP}/{self._clock.now().date().isoformat()}/{commit}"

    def _kept(self, commit: str) -> Iterator[Path]:
        return self.path.glob(f"{_KEEP}/*/{commit}")

    def _all_kept(self) -> list[Path]:
        return list(self.path.glob(f"{_KEEP}/*/*"))


@contextmanager
def _opened(lock: Path) -> Iterator[int]:
    lock.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    file = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        yield file
    finally:
        os.close(file)


def _try_lock(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _clear_leftovers(mirror: Path) -> None:
    """Remove what a git that was killed left; nobody else writes while we hold the lock."""
    for pattern in (
        "*.lock",
        "refs/**/*.lock",
        "objects/pack/tmp_*",
        "objects/pack/.tmp-*",
        "objects/??/tmp_*",
    ):
        for left in mirror.glob(pattern):
            left.unlink(missing_ok=True)
