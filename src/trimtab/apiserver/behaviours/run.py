"""The one doer: it follows every kind, keeps the picture, lets behaviours decide, performs what they decide.

One decision is performed at a time, in the order in which names were touched, so a run on a clock that tests
move takes the same course every time. Whatever a write answers goes into the picture at once; what somebody
else was faster to change is read again and decided afresh.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import aclosing, asynccontextmanager
from typing import TypeAlias, assert_never

from trimtab.apiserver.behaviours.changes import (
    Behaviour,
    Bind,
    Change,
    Create,
    Decision,
    Delete,
    Done,
    News,
    Update,
    Voice,
)
from trimtab.apiserver.behaviours.chronicle import Chronicle
from trimtab.apiserver.behaviours.kinds import CUSTOM_RESOURCE_DEFINITION, POD
from trimtab.apiserver.behaviours.manifests import Manifest, Name, full_name, kind_of, namespace_of, uid_of
from trimtab.apiserver.behaviours.registry import every_behaviour
from trimtab.apiserver.behaviours.room import no_room
from trimtab.apiserver.behaviours.timing import Timing
from trimtab.apiserver.behaviours.world import MOST_PODS, Refused, World
from trimtab.errors import Retry, TrimtabError
from trimtab.kube.cluster import Cluster, Deletion, Write
from trimtab.kube.discovery import Resource
from trimtab.kube.failures import (
    AlreadyExists,
    ChangedMeanwhile,
    Forbidden,
    InvalidObject,
    NotFound,
    TooManyRequests,
)
from trimtab.kube.objects import KubeObject
from trimtab.kube.picture import Complete, Removed, Upserted
from trimtab.kube.watch import follow
from trimtab.tasks import Clock, KeyedWorkers, ManualClock, Rate, SystemClock, WorkPolicy, plain_group

Key: TypeAlias = tuple[str, Name]  # the behaviour's title, and what it is to look at
OnFailure: TypeAlias = Callable[[str, Name, Exception], None]

_DISCOVERY = "discovery"
#: one queue for all: what is touched again while it waits is looked at once, after what was touched before it
_EVERYBODY = ""
_POLICY = WorkPolicy(concurrency=1, per_tenant=1, rate=Rate(per_second=1e6, burst=1_000_000))
_LONGEST = 30 * 24 * 3600.0  # seconds; what is due later than that is looked at in between, and put off again
_log = logging.getLogger(__name__)


def _told(title: str, name: Name, error: Exception) -> None:
    _log.warning("%s could not look after %s: %s", title, "/".join(filter(None, name)), error)


class Behaviours:
    """The behaviours at work on one cluster; made by `behaviours_of`."""

    def __init__(
        self,
        cluster: Cluster,
        group: asyncio.TaskGroup,
        *,
        clock: Clock,
        timing: Timing,
        behaviours: Iterable[Behaviour],
        on_failure: OnFailure,
        most_pods: int,
    ) -> None:
        self._cluster = cluster
        self._group = group
        self._clock = clock
        self._timing = timing
        self._behaviours = {each.title: each for each in behaviours}
        self._on_failure = on_failure
        self._world = World()
        self._most_pods = most_pods
        self._working: asyncio.Task[None] | None = None
        self._followers: dict[str, asyncio.Task[None]] = {}
        self._complete = asyncio.Event()
        self._due: dict[Key, float] = {}  # what is to be looked at, and when
        self._held: set[Key] = set()  # what sits out after a failure, whoever asks for it
        self._chronicle = Chronicle()
        self._at_work = 0
        self._ran = asyncio.Event()
        self._workers: KeyedWorkers[Key] = KeyedWorkers(
            self._look, clock=clock, on_failure=self._failed, policy=_POLICY
        )

    async def settled(self) -> None:
        """Return when all that is due by this clock is done, and reading everything again finds no news."""
        while True:
            while self._is_busy():
                self._ran.clear()
                await self._ran.wait()
            if not await self._read(self._world.served.values()):
                return

    async def advance(self, clock: ManualClock, seconds: float) -> None:
        """Let time pass on a clock that stands still otherwise, settling at each moment something is due."""
        end = clock.monotonic() + seconds
        await self.settled()
        while self._due and (due := min(self._due.values())) <= end:
            await clock.advance(max(0.0, due - clock.monotonic()))
            await self.settled()
        await clock.advance(end - clock.monotonic())

    def _is_busy(self) -> bool:
        now = self._clock.monotonic()
        return self._at_work > 0 or any(due <= now for due in self._due.values())

    # -- following ----------------------------------------------------------------------------------------

    async def begin(self) -> None:
        """Follow every kind, and when all that exists is known, begin to work."""
        await self._follow_what_is_served()
        await self._complete.wait()
        self._world.most_pods = self._most_pods + self._world.count(POD)
        for behaviour in self._behaviours.values():
            for name in behaviour.at_start:
                self._offer((behaviour.title, name))
        self._working = self._group.create_task(self._workers.work())

    def end(self) -> None:
        """Stop working and following."""
        for task in (*self._followers.values(), *([self._working] if self._working else ())):
            task.cancel()

    async def _follow_what_is_served(self) -> None:
        discovery = await self._cluster.discover()
        served: dict[str, Resource] = {}
        for resource in discovery.resources:
            if {"list", "watch", "delete"} <= {*resource.verbs} and resource.full_kind not in _ELSEWHERE:
                served.setdefault(resource.full_kind, resource)
        for kind in self._followers.keys() - served.keys():
            self._followers.pop(kind).cancel()
            self._world.forget_kind(kind)
        self._world.served = served
        for kind in served.keys() - self._followers.keys():
            self._followers[kind] = self._group.create_task(self._follow(served[kind]))

    async def _follow(self, resource: Resource) -> None:
        """Hear of everything of this kind, until it is no longer served."""
        with contextlib.suppress(NotFound):
            await self._hear(resource)
        if self._followers.pop(resource.full_kind, None) is not None:
            self._world.forget_kind(resource.full_kind)
            self._offer((_DISCOVERY, ("", "")))

    async def _hear(self, resource: Resource) -> None:
        async with aclosing(follow(self._cluster, resource, clock=self._clock)) as told:
            async for news in told:
                match news:
                    case Upserted(object=found):
                        self._heard(found)
                    case Removed(uid=uid):
                        self._lost(uid)
                    case Complete():
                        self._completed(resource.full_kind)
                    case _:
                        pass

    def _completed(self, kind: str) -> None:
        self._world.known_kinds.add(kind)
        if self._world.known_kinds >= self._followers.keys():
            self._complete.set()

    def _heard(self, found: KubeObject) -> bool:
        """Take the object into the picture; whoever it concerns looks at it."""
        manifest = found.manifest()
        manifest["metadata"].pop("managedFields", None)
        before = self._world.by_uid(uid_of(manifest))
        if not self._world.put(manifest):
            return False
        if before is not None:
            self._concern(before)
        self._concern(manifest)
        return True

    def _lost(self, uid: str) -> None:
        """Take the object out of the picture, if it is in there."""
        last = self._world.drop(uid) if uid else None
        if last is not None:
            self._concern(last)

    def _concern(self, changed: Manifest) -> None:
        if kind_of(changed) == CUSTOM_RESOURCE_DEFINITION:
            self._offer((_DISCOVERY, ("", "")))
        for behaviour in self._behaviours.values():
            for name in behaviour.concerned(self._world, changed):
                self._offer((behaviour.title, name))

    def _offer(self, key: Key, *, after: float = 0.0) -> None:
        after = min(max(0.0, after), _LONGEST)
        due = self._clock.monotonic() + after
        if key not in self._held:
            self._due[key] = min(due, self._due.get(key, due))
        self._workers.offer(_EVERYBODY, key, after=after)

    # -- looking ------------------------------------------------------------------------------------------

    async def _look(self, _tenant: str, key: Key) -> None:
        self._due.pop(key, None)
        self._held.discard(key)
        self._at_work += 1
        title, name = key
        try:
            if title == _DISCOVERY:
                await self._follow_what_is_served()
            else:
                await self._decide_and_perform(self._behaviours[title], name)
        finally:
            self._at_work -= 1
            self._ran.set()

    def _failed(self, _tenant: str, key: Key, error: Exception) -> None:
        if not isinstance(error, TrimtabError) or error.retry is Retry.BACKOFF:
            self._held.add(key)
            self._due.pop(key, None)
        self._ran.set()
        self._on_failure(*key, error)

    async def _decide_and_perform(self, behaviour: Behaviour, name: Name) -> None:
        now = self._clock.now()
        decision = behaviour.decide(self._world, name, now, self._timing)
        if decision.again is not None:
            self._offer((behaviour.title, name), after=(decision.again - now).total_seconds())
        if not decision.changes and not decision.news:
            return
        if not await self._is_sure(decision):
            self._offer((behaviour.title, name))
            return
        if behaviour.voice is not None:
            for news in decision.news:
                await self._say(news, behaviour.voice)
        for change in decision.changes:
            if not await self._perform(change, behaviour, refused_to=decision.on_behalf_of):
                self._offer((behaviour.title, name))
                return
            await asyncio.sleep(0)  # a cluster in memory answers at once: let others have a turn

    async def _is_sure(self, decision: Decision) -> bool:
        """Whether a fresh look at what the decision rests on brings no news."""
        if decision.unless_news_in:
            spaced = [each for each in self._world.served.values() if each.namespaced]
            return not await self._read(spaced, decision.unless_news_in)
        for absent in decision.unless_alive:
            namespace, name = absent.name
            try:
                found = await self._cluster.get(self._world.served[absent.kind], name, namespace=namespace)
            except NotFound:
                continue
            self._heard(found)
            if absent.uid in ("", found.metadata.uid):
                return False
        return True

    async def _read(self, resources: Iterable[Resource], namespace: str = "") -> bool:
        """Read these collections anew; whether they held anything that was not known."""
        news = False
        for resource in list(resources):
            try:
                news |= await self._read_one(resource, namespace)
            except NotFound:
                self._offer((_DISCOVERY, ("", "")))
                news = True
        return news

    async def _read_one(self, resource: Resource, namespace: str) -> bool:
        news = False
        known = {uid_of(each) for each in self._world.all(resource.full_kind, namespace or None)}
        async with aclosing(self._cluster.list(resource, namespace=namespace)) as pages:
            async for page in pages:
                for found in page.objects:
                    known.discard(found.metadata.uid)
                    news |= self._heard(found)
        for uid in known:
            self._lost(uid)
        return news or bool(known)

    # -- performing ---------------------------------------------------------------------------------------

    async def _perform(self, change: Change, behaviour: Behaviour, *, refused_to: str) -> bool:
        """Write; False if what the decision rested on had changed, so that it has to be made again."""
        before = self._world.by_uid(uid_of(_target(change)))
        if refused_to and (why := no_room(self._world, change)):
            await self._refuse(behaviour, refused_to, change, why)
            return False
        try:
            after = await self._write(change, Write(manager=behaviour.actor.value))
        except (ChangedMeanwhile, AlreadyExists):
            if not await self._read_again(_target(change)):
                raise
            return False
        except NotFound:
            self._lost(uid_of(_target(change)))
            return True
        except (Forbidden, InvalidObject, TooManyRequests) as error:
            if any(cause.reason == "NamespaceTerminating" for cause in error.status.causes):
                return True
            if not refused_to:
                raise
            await self._refuse(behaviour, refused_to, change, error.reason)
            return False
        if isinstance(change, Create):
            self._world.refusals.pop(refused_to, None)
        await self._tell(behaviour, Done(change=change, before=before, after=after))
        return True

    async def _write(self, change: Change, write: Write) -> Manifest | None:
        """Do it; the object as it is then, where there is one."""
        match change:
            case Create(body=body):
                namespace = namespace_of(body)
                made = await self._cluster.create(
                    self._resource(body), body, namespace=namespace, write=write
                )
                self._heard(made.object)
                return made.object.manifest()
            case Update(body=body, subresource=subresource):
                namespace, name = full_name(body)
                written = await self._cluster.update(
                    self._resource(body),
                    name,
                    body,
                    namespace=namespace,
                    subresource=subresource,
                    write=write,
                )
                self._heard(written.object)
                return written.object.manifest()
            case Bind(pod=pod, node=node):
                await self._bind(pod, node, write)
            case Delete():
                await self._delete(change)
            case _:
                assert_never(change)
        return None

    # -- telling ------------------------------------------------------------------------------------------

    async def _tell(self, behaviour: Behaviour, done: Done) -> None:
        if behaviour.voice is not None:
            for news in behaviour.voice.tells(self._world, done):
                await self._say(news, behaviour.voice)

    async def _refuse(self, behaviour: Behaviour, owner: str, change: Change, why: str) -> None:
        """Remember that something could not be made for its owner, and tell of it."""
        self._world.refusals[owner] = Refused(why, self._clock.now())
        about = self._world.by_uid(owner)
        if behaviour.voice is not None and about is not None:
            await self._say(behaviour.voice.refused(about, change, why), behaviour.voice)

    async def _say(self, news: News, voice: Voice) -> None:
        """Write an Event, or count one up; nobody's work depends on it, so a failure is let go."""
        now = self._clock.now()
        telling = self._chronicle.telling(news, voice.component, now, combines=voice.combines)
        if telling is None:
            return
        change = Create(telling.body) if telling.is_new else Update(body=telling.body)
        try:
            written = await self._write(change, Write(manager=voice.component))
        except TrimtabError:
            self._chronicle.forget(telling.said)
        else:
            self._chronicle.keep(telling.said, written or telling.body)

    async def _bind(self, pod: Manifest, node: str, write: Write) -> None:
        namespace, name = full_name(pod)
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name, "namespace": namespace, "uid": uid_of(pod)},
            "target": {"kind": "Node", "name": node},
        }
        await self._cluster.create(
            self._world.served[POD],
            binding,
            namespace=namespace,
            name=name,
            subresource="binding",
            write=write,
        )
        await self._read_again(pod)

    async def _delete(self, change: Delete) -> None:
        target = change.target
        namespace, name = full_name(target)
        how = Deletion(uid=uid_of(target), propagation=change.propagation, grace_seconds=change.grace_seconds)
        left = await self._cluster.delete(self._resource(target), name, namespace=namespace, how=how)
        if left is not None:
            self._heard(left)
        else:
            self._lost(uid_of(target))

    async def _read_again(self, target: Manifest) -> bool:
        """Read one object anew; whether that was news."""
        namespace, name = full_name(target)
        try:
            found = await self._cluster.get(self._resource(target), name, namespace=namespace)
        except NotFound:
            self._lost(uid_of(target))
            return True
        if uid_of(target) and found.metadata.uid != uid_of(target):
            self._lost(uid_of(target))
        return self._heard(found)

    def _resource(self, manifest: Manifest) -> Resource:
        return self._world.served[kind_of(manifest)]


#: the same objects under a second name
_ELSEWHERE = frozenset({"Event.events.k8s.io"})


def _target(change: Change) -> Manifest:
    match change:
        case Create(body=body) | Update(body=body):
            return body
        case Bind(pod=pod):
            return pod
        case Delete(target=target):
            return target
        case _:
            assert_never(change)


@asynccontextmanager
async def behaviours_of(
    cluster: Cluster,
    *,
    clock: Clock | None = None,
    timing: Timing | None = None,
    behaviours: Iterable[Behaviour] | None = None,
    on_failure: OnFailure = _told,
    most_pods: int = MOST_PODS,
) -> AsyncIterator[Behaviours]:
    """Let the stand-ins for Kubernetes' controllers work on this cluster for as long as the block lasts.

    They make no further pods where there are `most_pods` more than in the beginning.
    """
    async with plain_group() as group:
        at_work = Behaviours(
            cluster,
            group,
            clock=clock or SystemClock(),
            timing=timing or Timing(),
            behaviours=every_behaviour() if behaviours is None else behaviours,
            on_failure=on_failure,
            most_pods=most_pods,
        )
        await at_work.begin()
        try:
            yield at_work
        finally:
            at_work.end()
