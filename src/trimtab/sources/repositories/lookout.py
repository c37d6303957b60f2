"""Repositories: one mirror and one look-out for each, however many consumers follow it.

Asking what a remote offers is done once for all who follow a repository, and remembered. Yet nobody reads
what another's credential has fetched before his own has opened the repository: every credential is tried by
itself, and again after a while, so that one which was revoked opens nothing any more.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack, suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from msgspec import structs

from trimtab.errors import InvalidSpec, SourceRefused, TrimtabError, Unavailable
from trimtab.programs.handover import Namespaces
from trimtab.settings import RepositoriesSettings
from trimtab.sources.hints.changes import Change, Concerned, Expected, Interest, Interests, expected_after
from trimtab.sources.repositories.addresses import Address, Scheme, address_of
from trimtab.sources.repositories.complaints import Meaning, RevisionMissing, with_word_of
from trimtab.sources.repositories.credentials import (
    ANONYMOUS,
    Belonging,
    belonging_for,
    credential_for,
    fingerprint,
    trust_digest,
)
from trimtab.sources.repositories.flights import Flights
from trimtab.sources.repositories.gitsetup import Reach
from trimtab.sources.repositories.gittree import GitTree
from trimtab.sources.repositories.largefiles import LargeFiles, LargeServer, large_server
from trimtab.sources.repositories.largestore import LargeStore
from trimtab.sources.repositories.mirrors import Mirror, mirror_path
from trimtab.sources.repositories.pointers import CONFIG as LFS_CONFIG
from trimtab.sources.repositories.pointers import Pointer, endpoint_of, grant_request, granted_in
from trimtab.sources.repositories.program import GitComplained, GitProgram, Redirected, found_git
from trimtab.sources.repositories.reaching import Gate
from trimtab.sources.repositories.refs import (
    Absent,
    Chosen,
    Listing,
    Target,
    Unlisted,
    choice,
    listing_in,
    patterns_of,
    target_of,
    target_text,
)
from trimtab.sources.repositories.revisions import GitRequest, Mount, Revision, Standing, Wanted
from trimtab.sources.repositories.submodules import DEEPEST, FILE, Submodule, plainly_listed, submodules_in
from trimtab.sources.repositories.vault import sweep
from trimtab.tasks import (
    Backoff,
    Chance,
    Clock,
    KeyedWorkers,
    SystemClock,
    WorkPolicy,
    WorkSnapshot,
    plain_group,
)
from trimtab.tasks.chance import draw

#: more refs than this are asked for all at once
_MOST_PATTERNS: Final = 64
_MOST_REDIRECTS: Final = 3
#: seconds between two looks at one repository, however many webhooks come
_HINT_GAP: Final = 5.0
_JITTER: Final = 0.1
#: credentials that must fail to reach a host before it is given up for this time
_ENOUGH: Final = 3
#: how many new repositories come between two looks for idle ones
_FORGET_EVERY: Final = 256

#: hears of every change in how it stands with a consumer
Tell = Callable[[str, Standing], None]


class _Access:
    """One credential at one repository."""

    def __init__(self, address: Address, shown: Belonging | None, known: tuple[Belonging, ...]) -> None:
        self.address = address
        self.credential = shown.credential if shown else ANONYMOUS
        #: how messages call the credential; empty if there is none
        self.name = (shown.name or f"the credential for {shown.url}") if shown else ""
        self._known = known
        #: when it last opened the repository; None if it never did, or does no longer
        self.proven_at: float | None = None
        self.error: TrimtabError | None = None

    def is_for(self, address: Address) -> bool:
        """Whether the credential may be shown at another address, too."""
        return credential_for(address, self._known) == self.credential


class _Follower:
    """One consumer of a repository."""

    def __init__(self, wanted: Wanted, target: Target, access: _Access, tell: Tell) -> None:
        self.wanted = wanted
        self.target = target
        self.access = access
        self.tell = tell
        self.standing = Standing()


class _Repository:
    """What is known of one repository."""

    def __init__(self, identity: str, address: Address, mirror: Mirror) -> None:
        self.identity = identity
        self.address = address
        self.mirror = mirror
        self.listing = Listing(refs={})
        self.listed_at = float("-inf")
        #: what was asked for when it was last listed; None if it was everything
        self.patterns: frozenset[str] | None = frozenset()
        self.accesses: dict[str, _Access] = {}
        self.followers: dict[str, _Follower] = {}
        self.full_ids: dict[str, str] = {}
        #: the last commit of a partial mirror that was filled for each set of paths
        self.filled: set[tuple[str, tuple[str, ...]]] = set()
        #: what a webhook announced and no look has found yet
        self.expected: Expected | None = None

    @property
    def host(self) -> str:
        """Whose turn it is to be asked: the queue is fair between hosts."""
        return self.address.host

    def targets(self) -> Iterable[Target]:
        """What is followed."""
        return (follower.target for follower in self.followers.values())


class Repositories:
    """All repositories of this process: `async with Repositories(settings, path=…) as repositories:`."""

    def __init__(
        self,
        settings: RepositoriesSettings,
        *,
        path: str,
        clock: Clock | None = None,
        chance: Chance = draw,
        gate: Gate | None = None,
        namespaces: Namespaces = "auto",
        told: Callable[[GitRequest], None] | None = None,
    ) -> None:
        """Take the settings and the PATH on which git is found; `told` hears of each talk with a server."""
        self._told = told
        self._settings = settings
        self._path = path
        self._clock = clock or SystemClock()
        self._chance = chance
        self._gate = gate or Gate(settings)
        self._namespaces = namespaces
        self._root = Path(settings.folder).expanduser().absolute()
        self._key = secrets.token_bytes(32)
        self._known: dict[str, _Repository] = {}
        self._of_consumer: dict[str, _Repository] = {}
        self._interests = Interests()
        self._places = asyncio.Semaphore(settings.concurrency)
        self._stack = AsyncExitStack()
        self._workers = self._look_out()

    async def __aenter__(self) -> Self:
        """Find git, remove what killed processes left, and begin to look out."""
        with suppress(OSError):  # whoever needs a mirror is told; not everybody does
            self._root.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._git: GitProgram = await found_git(
            self._settings,
            path=self._path,
            folder=self._root,
            namespaces=self._namespaces,
            told=self._told,
        )
        sweep(self._git.private, now=self._clock.now())
        group = await self._stack.enter_async_context(plain_group())
        self._flights = Flights(group)
        self._looking = group.create_task(self._workers.work())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End everything that is under way."""
        self._looking.cancel()
        self._flights.cancel()
        await self._stack.aclose()

    async def fetch(self, wanted: Wanted, *, fresh: bool = False) -> Revision:
        """The revision that is wanted, complete in a mirror.

        What the remote offers is known from the last look, if that is younger than the usual interval;
        `fresh` asks the remote in any case.
        """
        repository, access = self._entered(wanted)
        target = target_of(wanted.target, tag_prefix=wanted.tag_prefix)
        listing = await self._opened(repository, access, target, fresh=fresh)
        return await self._brought(repository, listing, access, target, wanted)

    def follow(self, consumer: str, wanted: Wanted, *, tell: Tell, in_force: Revision | None = None) -> None:
        """Look out for news on behalf of a consumer, who is told how it stands whenever that changes.

        `in_force` is what the consumer stood at before this process began: it stays in force until there is
        something better, provided that it is still here.
        """
        repository, access = self._entered(wanted)
        target = target_of(wanted.target, tag_prefix=wanted.tag_prefix)
        before = self._still_here(repository, self.standing(consumer).revision or in_force)
        self.unfollow(consumer)
        # If this consumer was its last, the repository has just been let go.
        self._known[repository.identity] = repository
        follower = _Follower(wanted, target, access, tell)
        follower.standing = Standing(revision=before)
        repository.followers[consumer] = follower
        self._of_consumer[consumer] = repository
        interest = Interest(
            consumer=consumer, repository=repository.identity, target=target, paths=wanted.paths
        )
        self._interests.add(repository.address.place, interest)
        self._workers.offer(repository.host, repository.identity)

    def recall(self, wanted: Wanted, commit: str) -> Revision | None:
        """A revision as an earlier process left it in the mirror, to be handed to `follow`; asks nobody."""
        return self._recalled(wanted, commit, depth=0)

    def _recalled(self, wanted: Wanted, commit: str, *, depth: int) -> Revision | None:
        repository, _access = self._entered(wanted)
        found = Revision(
            url=wanted.url, commit=commit, ref="", mirror=str(repository.mirror.path), lfs=wanted.lfs
        )
        here = self._still_here(repository, found)
        if here is None or not wanted.submodules:
            return here
        mounts = self._recalled_mounts(repository.address, here, wanted, depth)
        return None if mounts is None else structs.replace(here, submodules=mounts)

    def _recalled_mounts(
        self, outer: Address, revision: Revision, wanted: Wanted, depth: int
    ) -> tuple[Mount, ...] | None:
        """The submodules of a revision as an earlier process left them; None if they are not all here."""
        tree = GitTree(revision.mirror, revision.commit)
        if tree.entry(FILE) is None:
            return ()
        try:
            listed = plainly_listed(tree.read(FILE)) if depth < DEEPEST else None
            found = None if listed is None else submodules_in(tree, listed, outer)
        except TrimtabError:
            return None  # whoever fetches it is told
        if found is None:
            return None
        mounts = []
        for submodule in found:
            here = self._recalled(_below(wanted, submodule), submodule.commit, depth=depth + 1)
            if here is None:
                return None
            mounts.append(Mount(path=submodule.path, revision=here))
        return tuple(mounts)

    def renew(self, change: Callable[[Wanted], Wanted]) -> None:
        """Follow for everybody what this makes of his wish, such as the same with other credentials.

        Whoever wishes for something else now is looked out for at once, and what he stands at stays.
        """
        for consumer, repository in list(self._of_consumer.items()):
            follower = repository.followers[consumer]
            wanted = change(follower.wanted)
            if wanted != follower.wanted:
                self.follow(consumer, wanted, tell=follower.tell)

    def _still_here(self, repository: _Repository, revision: Revision | None) -> Revision | None:
        """A revision of this repository that can still be read; None if it cannot, or is another's."""
        if revision is None or revision.mirror != str(repository.mirror.path):
            return None
        whole = all(self._mirror_of(each).holds(each.commit) for each in _all_of(revision))
        return revision if whole else None

    def unfollow(self, consumer: str) -> None:
        """Look out no longer."""
        repository = self._of_consumer.pop(consumer, None)
        if repository is None:
            return
        del repository.followers[consumer]
        self._interests.remove(consumer)
        if not repository.followers:
            self._known.pop(repository.identity, None)

    def standing(self, consumer: str) -> Standing:
        """How it stands with a consumer."""
        repository = self._of_consumer.get(consumer)
        return repository.followers[consumer].standing if repository else Standing()

    def hint(self, change: Change) -> Concerned:
        """Look soon at the repositories of those whom a change concerns."""
        concerned = self._interests.concerned(change)
        for identity in concerned.repositories:
            repository = self._known.get(identity)
            if repository is not None:
                repository.expected = Expected(commit=change.after)
                gap = repository.listed_at + _HINT_GAP - self._clock.monotonic()
                self._workers.offer(repository.host, identity, after=max(0.0, gap))
        return concerned

    async def mend(self, wanted: Wanted, revision: Revision) -> bool:
        """Look whether the mirror of a revision is damaged and, if so, fetch it anew; whether it was."""
        repository, access = self._entered(wanted)
        await self._opened(repository, access, target_of(wanted.target, tag_prefix=wanted.tag_prefix))
        reach = await self._gate.reach(access.address, access.credential)
        repository.filled.clear()  # what was here may be what is missing now
        return await repository.mirror.mend(reach, Chosen(commit=revision.commit, ref=revision.ref))

    async def changed_paths(self, before: Revision, after: Revision) -> tuple[str, ...]:
        """The files that differ between two revisions of one repository."""
        if before.mirror != after.mirror:
            raise InvalidSpec("the revisions", "they belong to different repositories")
        return await self._mirror_of(after).changed_paths(before.commit, after.commit)

    def snapshot(self) -> WorkSnapshot[str]:
        """Which repositories are being looked at or waited for, since when and until when."""
        return self._workers.snapshot()

    # --- who may read ------------------------------------------------------------------------------------

    def _entered(self, wanted: Wanted) -> tuple[_Repository, _Access]:
        """The repository and the credential that a consumer means; nothing is asked or made yet."""
        address = address_of(wanted.url)
        shown = belonging_for(address, wanted.credentials)
        credential = shown.credential if shown else ANONYMOUS
        kind = "partial" if wanted.partial else ""
        identity = f"{address.identity} {trust_digest(credential.trust)} {kind}".rstrip()
        repository = self._known.get(identity)
        if repository is None:
            if len(self._known) % _FORGET_EVERY == 0:
                self._forget_idle()
            path = mirror_path(self._root, identity)
            mirror = Mirror(path, self._git, self._clock, partial=wanted.partial)
            repository = self._known[identity] = _Repository(identity, address, mirror)
        # Two may have the same credential from different places; each hears of his own place only.
        key = f"{fingerprint(credential, self._key)} {shown.name if shown else ''}"
        access = repository.accesses.setdefault(key, _Access(address, shown, wanted.credentials))
        return repository, access

    def _forget_idle(self) -> None:
        """Forget repositories that nobody follows or has asked for lately; their mirrors stay."""
        long_ago = self._clock.monotonic() - self._settings.access_lasts.total_seconds()
        idle = [each for each in self._known.values() if not each.followers and each.listed_at < long_ago]
        for repository in idle:
            del self._known[repository.identity]

    async def _opened(
        self, repository: _Repository, access: _Access, target: Target, *, fresh: bool = False
    ) -> Listing:
        """What a repository offers to this credential, which must open it; with all that the target needs."""
        patterns = frozenset(patterns_of((target,)))
        if not fresh and self._is_proven(access) and self._is_listed(repository, patterns):
            return repository.listing
        # What others asked for lately is asked for again, so that they find it, too.
        lately = repository.patterns or frozenset()
        wanted = patterns | lately | frozenset(patterns_of(repository.targets()))
        key = ("list", repository.identity, id(access), wanted)
        return await self._flights.join(key, partial(self._list, repository, access, wanted))

    def _is_proven(self, access: _Access) -> bool:
        lasts = self._settings.access_lasts.total_seconds()
        return access.proven_at is not None and self._clock.monotonic() - access.proven_at < lasts

    def _is_listed(self, repository: _Repository, patterns: frozenset[str]) -> bool:
        age = self._clock.monotonic() - repository.listed_at
        covered = repository.patterns is None or patterns <= repository.patterns
        return covered and age < self._settings.poll_every.total_seconds()

    async def _list(self, repository: _Repository, access: _Access, patterns: frozenset[str]) -> Listing:
        """Ask the remote what it offers, with one credential, which is thereby proven or not."""
        try:
            answer = await self._asked(access, patterns)
        except GitComplained as complaint:
            if complaint.meaning in {Meaning.REFUSED, Meaning.NO_REPOSITORY}:
                access.proven_at = None
            access.error = with_word_of(complaint.error, access.name)
            raise access.error from complaint
        except TrimtabError as error:
            access.error = error
            raise
        access.proven_at, access.error = self._clock.monotonic(), None
        repository.listing = listing_in(answer)
        repository.listed_at = self._clock.monotonic()
        repository.patterns = patterns if len(patterns) <= _MOST_PATTERNS else None
        return repository.listing

    async def _asked(self, access: _Access, patterns: frozenset[str]) -> bytes:
        """The remote's answer; a redirect on the same server, to where the credential is for, is followed."""
        wall = self._settings.list_timeout
        asked = sorted(patterns) if len(patterns) <= _MOST_PATTERNS else []
        for left in reversed(range(_MOST_REDIRECTS)):
            reach = await self._gate.reach(access.address, access.credential)
            command = ("ls-remote", "--symref", "--", reach.address.url, *asked)
            try:
                async with self._places:
                    return await self._git.remote(None, reach, *command, wall=wall)
            except Redirected as redirect:
                if not left or not access.is_for(redirect.target):
                    raise
                access.address = redirect.target
        raise AssertionError("the last turn returns or raises")

    # --- fetching ----------------------------------------------------------------------------------------

    async def _brought(
        self,
        repository: _Repository,
        listing: Listing,
        access: _Access,
        target: Target,
        wanted: Wanted,
        depth: int = 0,
    ) -> Revision:
        """The revision that a target means in a listing, complete in the mirror."""
        chosen = await self._chosen(repository, listing, access, target)
        reach = await self._gate.reach(access.address, access.credential)
        key = ("fetch", repository.identity, chosen.commit)
        await self._flights.join(key, lambda: self._fetched(repository, reach, chosen))
        if wanted.partial:
            modules = (FILE,) if wanted.submodules else ()
            await self._fill(repository, reach, chosen.commit, (*(wanted.paths or ("",)), *modules))
        revision = Revision(
            url=wanted.url, commit=chosen.commit, ref=chosen.ref, mirror=str(repository.mirror.path)
        )
        if wanted.lfs:
            revision = await self._with_large_files(repository, access, revision, wanted)
        if not wanted.submodules:
            return revision
        mounts = await self._mounts(repository, reach.address, revision, wanted, depth)
        return structs.replace(revision, submodules=mounts)

    async def _fetched(self, repository: _Repository, reach: Reach, chosen: Chosen) -> None:
        async with self._places:
            await repository.mirror.fetch(reach, chosen)

    async def _fill(self, repository: _Repository, reach: Reach, commit: str, paths: tuple[str, ...]) -> None:
        """Bring the files that a consumer of a partial mirror looks at, unless they are known to be here."""
        if (commit, paths) in repository.filled:
            return
        async with self._places:
            await repository.mirror.fill(reach, commit, tuple(path.strip("/") for path in paths))
        repository.filled = {each for each in repository.filled if each[1] != paths} | {(commit, paths)}

    async def _with_large_files(
        self, repository: _Repository, access: _Access, revision: Revision, wanted: Wanted
    ) -> Revision:
        """The revision with its files of Git LFS; that they cannot be had concerns only who reads them."""
        key = ("large", repository.identity, id(access), revision.commit, wanted.paths)
        try:
            await self._flights.join(key, partial(self._bring_large, repository, access, revision, wanted))
        except TrimtabError as error:
            problem = str(with_word_of(error, access.name))
            return structs.replace(revision, lfs=True, lfs_problem=problem)
        return structs.replace(revision, lfs=True)

    async def _bring_large(
        self, repository: _Repository, access: _Access, revision: Revision, wanted: Wanted
    ) -> None:
        async def bring(store: LargeStore, pointers: tuple[Pointer, ...]) -> None:
            server = await self._large_server(repository, access, revision, wanted)
            await LargeFiles(self._settings, self._gate).bring(store, pointers, server)

        async with self._places:
            await repository.mirror.keep_large(revision.commit, wanted.paths or ("",), bring)

    async def _large_server(
        self, repository: _Repository, access: _Access, revision: Revision, wanted: Wanted
    ) -> LargeServer:
        """Who keeps the files: whom the repository names, else whom its SSH server names, else its host."""
        configured, address = await self._lfs_url(repository, revision), access.address
        if address.scheme is Scheme.SSH and not configured:
            reach = await self._gate.reach(address, access.credential)
            try:
                answer = await self._git.over_ssh(reach, grant_request(address))
            except GitComplained:
                pass  # a server that does not know the command is asked the usual way
            else:
                endpoint, headers = granted_in(answer, address)
                server = large_server(address, endpoint, access.credential, wanted.credentials)
                return structs.replace(server, credential=server.trust_at(endpoint), headers=headers)
        endpoint = endpoint_of(address, configured)
        return large_server(address, endpoint, access.credential, wanted.credentials)

    async def _lfs_url(self, repository: _Repository, revision: Revision) -> str:
        """The server that the repository itself names, if it does."""
        if GitTree(revision.mirror, revision.commit).entry(LFS_CONFIG) is None:
            return ""
        command = ("config", "--blob", f"{revision.commit}:{LFS_CONFIG}", "--default", "", "--get", "lfs.url")
        listed = await self._git.local(repository.mirror.path, *command)
        return listed.decode("utf-8", "replace").strip()

    async def _chosen(
        self, repository: _Repository, listing: Listing, access: _Access, target: Target
    ) -> Chosen:
        found = choice(target, listing)
        subject = f"revision {target_text(target)} of {repository.address}"
        match found:
            case Chosen():
                return found
            case Absent(reason=reason, remedy=remedy):
                raise RevisionMissing(subject, reason, remedy)
            case Unlisted(digits=digits) if found.is_full:
                return Chosen(commit=digits)
            case Unlisted(digits=digits):
                return Chosen(commit=await self._full_id(repository, access, digits))

    async def _full_id(self, repository: _Repository, access: _Access, digits: str) -> str:
        known = repository.full_ids.get(digits)
        if known is None:
            reach = await self._gate.reach(access.address, access.credential)
            key = ("history", repository.identity, digits)
            known = await self._flights.join(key, lambda: repository.mirror.full_id(reach, digits))
            repository.full_ids[digits] = known
        return known

    async def _mounts(
        self, repository: _Repository, outer: Address, revision: Revision, wanted: Wanted, depth: int
    ) -> tuple[Mount, ...]:
        """The submodules of a revision, fetched each with the credential for its own address."""
        tree = GitTree(revision.mirror, revision.commit)
        if tree.entry(FILE) is None:
            return ()
        if depth >= DEEPEST:
            reason = f"it has submodules in submodules, more than {DEEPEST} deep"
            raise SourceRefused(f"repository {outer}", reason, "Vendor some of them")
        command = ("config", "--blob", f"{revision.commit}:{FILE}", "--null", "--list")
        try:
            listed = await self._git.local(repository.mirror.path, *command)
        except GitComplained as complaint:
            subject = f"{FILE} of {outer}"
            raise SourceRefused(subject, "git cannot read it", f"Mend {FILE}") from complaint
        mounts = []
        for submodule in submodules_in(tree, listed, outer):
            inner = _below(wanted, submodule)
            below, access = self._entered(inner)
            target = target_of(submodule.commit)
            listing = await self._opened(below, access, target)
            fetched = await self._brought(below, listing, access, target, inner, depth + 1)
            mounts.append(Mount(path=submodule.path, revision=fetched))
        return tuple(mounts)

    # --- looking out -------------------------------------------------------------------------------------

    def _look_out(self) -> KeyedWorkers[str]:
        backoff = Backoff(
            first=min(timedelta(seconds=10), self._settings.longest_pause), cap=self._settings.longest_pause
        )
        policy = WorkPolicy(
            concurrency=self._settings.concurrency, backoff=backoff, rhythm=self._settings.poll_every
        )
        return KeyedWorkers(
            self._look, clock=self._clock, on_failure=_heard_elsewhere, policy=policy, chance=self._chance
        )

    async def _look(self, host: str, identity: str) -> None:
        """Look at one repository once, for all who follow it, and say when to look again."""
        repository = self._known.get(identity)
        if repository is None or not repository.followers:
            return
        started, before = self._clock.monotonic(), repository.listing
        try:
            await self._keep_in_force(repository)
            await self._ask_once(repository)
        except Unavailable as error:
            for consumer in list(repository.followers):
                self._note(repository, consumer, None, error)
            raise
        await self._advance(repository)
        pause = self._pause(repository, before)
        self._workers.offer(host, identity, after=max(0.0, started + pause - self._clock.monotonic()))

    def _pause(self, repository: _Repository, before: Listing) -> float:
        """Seconds until the next look: fewer while something was announced and is not there yet."""
        pause = self._settings.poll_every.total_seconds() * (1 + _JITTER * self._chance())
        if repository.expected is None:
            return pause
        commits, is_new = repository.listing.refs.values(), repository.listing != before
        repository.expected = expected_after(repository.expected, commits, is_new=is_new)
        if repository.expected is None:
            return pause
        return min(pause, _HINT_GAP * (1 << repository.expected.looks - 1))

    async def _keep_in_force(self, repository: _Repository) -> None:
        """Note that revisions in force are still wanted, whatever becomes of what should replace them."""
        in_force = {follower.standing.revision for follower in repository.followers.values()}
        for revision in {each for whole in in_force for each in _all_of(whole)}:
            await self._mirror_of(revision).keep(revision.commit)

    def _mirror_of(self, revision: Revision) -> Mirror:
        return Mirror(Path(revision.mirror), self._git, self._clock)

    async def _ask_once(self, repository: _Repository) -> None:
        """List with one credential that is known to be good, and with each that has yet to prove itself."""
        patterns = frozenset(patterns_of(repository.targets()))
        used = {id(follower.access): follower.access for follower in repository.followers.values()}
        proven = [access for access in used.values() if self._is_proven(access)]
        listed, failures = False, 0
        for access in (*proven, *(each for each in used.values() if each not in proven)):
            if listed and self._is_proven(access):
                continue
            try:
                await self._list(repository, access, patterns)
                listed = True
            except Unavailable:
                # A good credential that fails speaks for all; of the others, one may have failed alone.
                failures += 1
                if not listed and (access in proven or failures == min(_ENOUGH, len(used))):
                    raise
            except TrimtabError:
                continue

    async def _advance(self, repository: _Repository) -> None:
        """Bring every follower to the commit that its target means now; those who want the same, together."""
        groups: dict[object, list[str]] = {}
        for consumer, follower in repository.followers.items():
            wanted = follower.wanted
            same = (wanted.url, follower.target, id(follower.access), wanted.submodules, wanted.partial)
            paths = wanted.paths if wanted.partial or wanted.lfs else ()
            groups.setdefault((same, wanted.lfs, paths), []).append(consumer)
        for consumers in groups.values():
            await self._advance_together(repository, consumers)

    async def _advance_together(self, repository: _Repository, consumers: list[str]) -> None:
        followers = {name: repository.followers[name] for name in consumers if name in repository.followers}
        first = next(iter(followers.values()), None)
        if first is None:
            return
        error: TrimtabError | None = None
        revision: Revision | None = None
        if self._is_proven(first.access):
            try:
                revision = await self._brought(
                    repository, repository.listing, first.access, first.target, first.wanted
                )
            except TrimtabError as raised:
                error = raised
        elif first.access.error is None:
            return  # came while others were looked after: the look that he asked for comes next
        else:
            error = first.access.error
        for consumer, follower in followers.items():
            if repository.followers.get(consumer) is follower:
                self._note(repository, consumer, revision, error)

    def _note(
        self, repository: _Repository, consumer: str, revision: Revision | None, error: TrimtabError | None
    ) -> None:
        """Write down how it stands; the last good revision stays whatever happens. Changes are told."""
        follower = repository.followers[consumer]
        before, now = follower.standing, self._clock.now()
        failing_since = (before.failing_since or now) if error else None
        follower.standing = Standing(
            revision=revision or before.revision, error=error, looked_at=now, failing_since=failing_since
        )
        if (follower.standing.revision, str(error)) != (before.revision, str(before.error)):
            follower.tell(consumer, follower.standing)


def _below(wanted: Wanted, submodule: Submodule) -> Wanted:
    """The wish for a submodule of what is wanted."""
    return Wanted(url=submodule.address.url, credentials=wanted.credentials, submodules=True, lfs=wanted.lfs)


def _all_of(revision: Revision | None) -> Iterable[Revision]:
    """A revision with those of its submodules."""
    if revision is not None:
        yield revision
        for mount in revision.submodules:
            yield from _all_of(mount.revision)


def _heard_elsewhere(host: str, identity: str, error: Exception) -> None:
    """Failures are in the standing of those who follow; bugs are in the workers' snapshot."""
