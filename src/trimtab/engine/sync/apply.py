"""Performs one act against a cluster, and says what came of it; deciding what to do is done elsewhere.

On the usual way an object costs one request: a server-side apply that takes conflicting fields over, without
reading first. What the server refuses becomes an outcome with its words; only bugs are raised.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Any, assert_never

from msgspec import Struct

from trimtab.engine.cache.records import Judge
from trimtab.engine.health.values import HOOK_FINALIZERS
from trimtab.engine.live import Live, live_of
from trimtab.engine.marks import Tracking
from trimtab.engine.sync.acts import Act, Clear, Discard, Look, Outcome, Rehearse, Release
from trimtab.engine.sync.judging import SINCE_PLANNED
from trimtab.engine.sync.kinds import Kinds
from trimtab.engine.sync.messages import told
from trimtab.engine.sync.patience import Patience
from trimtab.engine.sync.releasing import release
from trimtab.engine.sync.steps import Apply, CreateNamespace, Prune, RunHook, Step, WriteMode
from trimtab.errors import Conflict, Missing, TrimtabError, Unavailable, UserError
from trimtab.kube.cluster import Cluster, Deletion, FieldValidation, Write, Written
from trimtab.kube.discovery import Resource
from trimtab.kube.failures import AlreadyExists, ChangedMeanwhile, InvalidObject, NotFound
from trimtab.kube.objects import KubeObject
from trimtab.resources.keys import ResourceKey
from trimtab.resources.manifests import Manifest
from trimtab.resources.sentences import joined
from trimtab.tasks import Clock

_TRIES = 5
#: what the server says when a webhook has effects that a dry-run cannot leave out
_UNTRIABLE = "does not support dry run"
#: kinds that are never deleted to be made anew: too much hangs on them
_PRECIOUS = frozenset({"Namespace", "CustomResourceDefinition"})
_SERVERS_OWN = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink")


class WriteSettings(Struct, frozen=True, kw_only=True):
    """How clusters are written to."""

    #: in whose name fields are owned
    manager: str = "trimtab"
    #: how many writes of one operation are under way at once
    concurrency: int = 32
    #: how long an object that is deleted to be made anew may take to go
    gone_within: timedelta = timedelta(minutes=5)
    #: how long a kind that was just defined may be unknown to the server
    served_within: timedelta = timedelta(seconds=10)
    #: how long whoever ends an operation waits for the answers to its writes, lest they land afterwards
    answered_within: timedelta = timedelta(seconds=5)
    #: how long a server is asked again that cannot answer, if asking twice does no more than asking once
    patience: timedelta = timedelta(seconds=30)


def _unknown(_: ResourceKey) -> Live | None:
    return None


def _validation(step: Apply | CreateNamespace | RunHook) -> FieldValidation:
    """How strictly the server is to read what is sent.

    Fields that it does not know it refuses in every server-side apply. All that strictness adds there is that
    no key is given twice, which what we send never does; and it has every body parsed once more, which takes
    a fifth of the server's time for an apply.
    """
    if isinstance(step, Apply) and step.mode is not WriteMode.SERVER_SIDE and step.validate:
        return FieldValidation.STRICT
    return FieldValidation.IGNORE


class Performer:
    """Performs the acts of one operation."""

    def __init__(
        self,
        cluster: Cluster,
        kinds: Kinds,
        clock: Clock,
        judge: Judge,
        settings: WriteSettings,
        *,
        exact: bool = False,
        watched: bool = True,
        tracking: Tracking | None = None,
        known: Callable[[ResourceKey], Live | None] = _unknown,
    ) -> None:
        self._cluster, self._kinds, self._clock, self._judge = cluster, kinds, clock, judge
        self._settings, self._tracking, self._known = settings, tracking, known
        self._patience = Patience(clock, settings.patience)
        #: every write names the identity it expects
        self._exact = exact
        #: somebody waits for what was written, so its health is read from the server's answer
        self._watched = watched

    async def perform(self, act: Act) -> Outcome:
        """Do it; what the server refuses is part of the outcome."""
        try:
            return await self._perform(act)
        except Unavailable as error:
            if isinstance(act, Look):
                return Outcome(act=act, at=self._clock.now(), known=False)
            return Outcome(act=act, at=self._clock.now(), problem=told(error))
        except TrimtabError as error:
            return Outcome(act=act, at=self._clock.now(), problem=told(error))

    async def _perform(self, act: Act) -> Outcome:
        match act:
            case Apply() | CreateNamespace() | RunHook():
                return self._wrote(act, *await self._write(act, dry_run=False))
            case Rehearse(step=step):
                return Outcome(act=act, at=self._clock.now(), message=await self._rehearse(step))
            case Prune():
                return Outcome(act=act, at=self._clock.now(), message=await self._prune(act))
            case Clear(step=step, uid=uid, delete=delete):
                await self._tidy(step, uid, delete=delete)
            case Release(step=step, uid=uid, before=before):
                await self._tidy(step, uid, delete=False, before=before)
            case Discard(step=step, uid=uid, before=before):
                await self._tidy(step, uid, delete=True, before=before)
            case Look(step=step):
                return await self._look(act, step)
            case _:
                assert_never(act)
        return Outcome(act=act, at=self._clock.now())

    # -- writing -----------------------------------------------------------------------------------------

    async def _write(self, step: Apply | CreateNamespace | RunHook, *, dry_run: bool) -> tuple[Written, str]:
        write = Write(manager=self._settings.manager, dry_run=dry_run, validation=_validation(step))
        match step:
            case CreateNamespace():
                return await self._apply(step, _namespace(step), write), "namespace applied"
            case RunHook():
                return await self._apply(step, _hook(step), write), "hook created"
            case Apply(mode=WriteMode.SERVER_SIDE):
                return await self._apply_object(step, write)
            case Apply(mode=WriteMode.CREATE):
                return await self._create(step, step.body.manifest, write), "created"
            case Apply(mode=WriteMode.REPLACE):
                return await self._replace(step, write)
            case _:
                raise AssertionError(f"no way to write {step.key}")

    async def _rehearse(self, step: Apply | CreateNamespace | RunHook) -> str:
        try:
            await self._write(step, dry_run=True)
        except UserError as error:
            if _UNTRIABLE not in error.reason:
                raise
            return "not tried: an admission webhook does not take part"
        return "accepted"

    async def _apply_object(self, step: Apply, write: Write) -> tuple[Written, str]:
        try:
            written = await self._apply(step, self._body(step), write)
        except (InvalidObject, Conflict) as error:
            if isinstance(error, ChangedMeanwhile) or not self._is_forced(step, write):
                raise
            return await self._recreate(step, write)
        return written, "configured" if step.expected.uid else "created"

    async def _apply(self, step: Step, body: Mapping[str, Any], write: Write) -> Written:
        resource = self._resource(step)

        async def once() -> Written:
            key = step.key
            return await self._cluster.apply(
                resource, key.name, body, namespace=key.namespace, force=True, write=write
            )

        def patiently() -> Awaitable[Written]:
            return self._patience.ask(once)

        if not self._kinds.is_new(step.api_version, step.key.kind):
            return await patiently()
        return await self._until_served(patiently)

    async def _until_served(self, once: Callable[[], Awaitable[Written]]) -> Written:
        """A kind that was just defined is served a moment later than the server says so."""
        pause, left = 0.1, self._settings.served_within.total_seconds()
        while left > 0:
            try:
                return await once()
            except NotFound:
                await self._clock.sleep(pause)
                left, pause = left - pause, pause * 2
        return await once()

    def _body(self, step: Apply) -> Mapping[str, Any]:
        """The manifest; with the identity it must have where the plan is to be kept to exactly."""
        manifest = step.body.manifest
        if not self._exact or not step.expected.uid:
            return manifest
        return {**manifest, "metadata": {**manifest["metadata"], "uid": step.expected.uid}}

    async def _create(self, step: Step, body: Mapping[str, Any], write: Write) -> Written:
        return await self._cluster.create(
            self._resource(step), body, namespace=step.key.namespace, write=write
        )

    async def _replace(self, step: Apply, write: Write) -> tuple[Written, str]:
        """Write the whole object in place of the one that is there; without an answer, look again."""
        if self._is_forced(step, write) and await self._get(step) is not None:
            return await self._recreate(step, write)
        return await self._patience.ask(partial(self._put, step, write))

    async def _put(self, step: Apply, write: Write) -> tuple[Written, str]:
        for _ in range(_TRIES):
            found = await self._get_once(step)
            self._check_identity(step, found)
            if found is None:
                return await self._create(step, step.body.manifest, write), "created"
            body = _with_version(step.body.manifest, found.metadata.resource_version)
            try:
                return await self._update(step, body, write), "replaced"
            except ChangedMeanwhile:
                continue
        raise Conflict(str(step.key), "it changes faster than it can be replaced", "Try again later.")

    def _check_identity(self, step: Apply, found: KubeObject | None) -> None:
        """Where the plan is to be kept to exactly, no other object is deleted or overwritten."""
        if self._exact and found is not None and found.metadata.uid != step.expected.uid:
            raise Conflict(str(step.key), f"another object has taken its name {SINCE_PLANNED}")

    async def _update(self, step: Step, body: Mapping[str, Any], write: Write) -> Written:
        key = step.key
        return await self._cluster.update(
            self._resource(step), key.name, body, namespace=key.namespace, write=write
        )

    def _is_forced(self, step: Apply, write: Write) -> bool:
        return step.force and not write.dry_run and step.key.kind not in _PRECIOUS

    async def _recreate(self, step: Apply, write: Write) -> tuple[Written, str]:
        """Delete and make anew; if the new one is refused, the old one is put back."""
        old = await self._get(step)
        self._check_identity(step, old)
        if old is not None:
            await self._delete(step, Deletion(uid=old.metadata.uid))
            await self._until_gone(step, old.metadata.uid)
        try:
            return await self._apply(step, step.body.manifest, write), "deleted and created"
        except TrimtabError:
            if old is not None:
                await self._put_back(step, old, write)
            raise

    async def _put_back(self, step: Step, old: KubeObject, write: Write) -> None:
        with suppress(AlreadyExists):  # by a try that got no answer
            await self._patience.ask(partial(self._create, step, _as_new(old.manifest()), write))

    async def _until_gone(self, step: Step, uid: str) -> None:
        pause, left = 0.1, self._settings.gone_within.total_seconds()
        while left > 0:
            found = await self._get(step)
            if found is None or found.metadata.uid != uid:
                return
            await self._clock.sleep(pause)
            left, pause = left - pause, min(pause * 2, 1.0)
        raise Unavailable(str(step.key), "it does not go away", "See which finalizers it has.")

    # -- deleting ----------------------------------------------------------------------------------------

    async def _prune(self, step: Prune) -> str:
        """Delete an object in no other state than one in which it was seen to be ours.

        What is known of it may be older than somebody's claim: then the server refuses, and is asked first.
        """
        version = self._known_version(step)
        for _ in range(_TRIES):
            how = Deletion(propagation=step.propagation, uid=step.expected.uid, resource_version=version)
            try:
                return await self._patience.ask(partial(self._pruned, step, how))
            except ChangedMeanwhile:
                if version is None:
                    raise
                version = await self._version_of_ours(step)
        raise Conflict(str(step.key), "it changes faster than it can be deleted", "Try again later.")

    def _known_version(self, step: Prune) -> str | None:
        found = self._known(step.key) if self._tracking is not None else None
        return found.resource_version if found is not None and found.uid == step.expected.uid else None

    async def _version_of_ours(self, step: Prune) -> str | None:
        """The state of an object that is to be pruned, unless it is another one, or somebody else's now."""
        found = await self._get(step)
        if found is None or found.metadata.uid != step.expected.uid:
            return None
        if live_of(found, self._tracking).mark != step.mark:
            raise Conflict(str(step.key), f"somebody else has claimed it {SINCE_PLANNED}")
        return found.metadata.resource_version

    async def _pruned(self, step: Prune, how: Deletion) -> str:
        """Delete an object, and say what became of it."""
        resource, key, uid = self._resource(step), step.key, step.expected.uid
        try:
            left = await self._cluster.delete(resource, key.name, namespace=key.namespace, how=how)
        except NotFound:
            return "pruned (it was gone already)"
        if left is not None and HOOK_FINALIZERS.intersection(left.metadata.finalizers or ()):
            # A hook whose operation nobody saw to its end: only we could let it go.
            await release(self._cluster, resource, key, uid.__eq__, self._settings.manager)
        return "pruned"

    async def _delete(self, step: Step, how: Deletion) -> None:
        """Delete an object; one that is gone is fine."""
        resource, key = self._resource(step), step.key
        with suppress(NotFound):
            await self._patience.ask(
                partial(self._cluster.delete, resource, key.name, namespace=key.namespace, how=how)
            )

    async def _tidy(self, step: RunHook, uid: str, *, delete: bool, before: str = "") -> None:
        """Take a hook away: nobody else releases what we hold."""
        meant = uid or await self._made_unheard(step, before)
        if meant:
            await self._take_away(step, meant, delete=delete)

    async def _made_unheard(self, step: RunHook, before: str) -> str:
        """The identity of a hook whose making was not answered, if it was made."""
        found = await self._get(step)
        if found is None or found.metadata.uid == before:
            return ""
        is_ours = step.mark is None or live_of(found, self._tracking).mark == step.mark
        return found.metadata.uid if is_ours else ""

    async def _take_away(self, step: RunHook, uid: str, *, delete: bool) -> None:
        """Take our finalizer off a hook, and delete it if it is to go; one that is gone is fine."""
        resource, manager = self._resource(step), self._settings.manager
        await self._patience.ask(
            partial(release, self._cluster, resource, step.key, lambda found: found == uid, manager)
        )
        if not delete:
            return
        try:
            await self._delete(step, Deletion(propagation=step.propagation, uid=uid))
        except ChangedMeanwhile:
            # Another object has taken the name: the one that was to go is gone.
            return

    # -- reading -----------------------------------------------------------------------------------------

    async def _look(self, act: Look, step: Step) -> Outcome:
        found = await self._get_once(step)
        seen = self._live(found, step) if found else None
        return Outcome(act=act, at=self._clock.now(), seen=seen)

    async def _get(self, step: Step) -> KubeObject | None:
        return await self._patience.ask(partial(self._get_once, step))

    async def _get_once(self, step: Step) -> KubeObject | None:
        try:
            return await self._cluster.get(self._resource(step), step.key.name, namespace=step.key.namespace)
        except NotFound:
            return None

    def _resource(self, step: Step) -> Resource:
        found = self._kinds.resource(step.api_version, step.key.kind)
        if found is None:
            problem = self._kinds.problem(step.api_version, step.key.kind)
            raise Missing(str(step.key), problem)
        return found

    def _wrote(self, act: Apply | CreateNamespace | RunHook, written: Written, message: str) -> Outcome:
        metadata = written.object.metadata
        return Outcome(
            act=act,
            at=self._clock.now(),
            message=joined((message, *(f"warning: {each}" for each in written.warnings))),
            uid=metadata.uid,
            resource_version=metadata.resource_version,
            seen=self._live(written.object, act) if self._watched else None,
        )

    def _live(self, found: KubeObject, step: Step) -> Live:
        return live_of(found, self._tracking, self._judge(found, self._resource(step)))


def _namespace(step: CreateNamespace) -> Manifest:
    told_of = {
        field: dict(words)
        for field, words in (("labels", step.labels), ("annotations", step.annotations))
        if words
    }
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": step.key.name, **told_of}}


def _hook(step: RunHook) -> Manifest:
    """The hook's object under its own name, held until its outcome has been read."""
    manifest = step.body.manifest
    metadata = {key: value for key, value in manifest["metadata"].items() if key != "generateName"}
    finalizers = [*(metadata.get("finalizers") or ()), step.finalizer]
    named = {**metadata, "name": step.key.name, "finalizers": list(dict.fromkeys(finalizers))}
    if step.key.namespace:
        named["namespace"] = step.key.namespace
    return {**manifest, "metadata": named}


def _with_version(manifest: Manifest, version: str) -> Manifest:
    return {**manifest, "metadata": {**manifest["metadata"], "resourceVersion": version}}


def _as_new(manifest: Manifest) -> Manifest:
    """An object as it can be created again."""
    metadata = {key: value for key, value in manifest["metadata"].items() if key not in _SERVERS_OWN}
    return {**{key: value for key, value in manifest.items() if key != "status"}, "metadata": metadata}
