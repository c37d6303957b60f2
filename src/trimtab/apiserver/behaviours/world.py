"""What the behaviours know of the cluster: every object by name, by identity, by namespace and by owner.

Pure. It is painted from watches and from the answers to our own writes, whichever comes first; of two states
of one object the one with the higher resource version stays, and an object that is known to be gone never
returns. So a decision made right after a write already sees it, and nothing is done twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime

from msgspec import Struct

from trimtab.apiserver.behaviours.kinds import POD
from trimtab.apiserver.behaviours.load import requested
from trimtab.apiserver.behaviours.manifests import (
    Manifest,
    full_name,
    kind_of,
    labels_of,
    namespace_of,
    owners_of,
    uid_of,
    version_of,
)
from trimtab.apiserver.behaviours.readiness import is_over
from trimtab.kube.discovery import Resource
from trimtab.kube.selectors import LabelSelector

MOST_PODS = 5_000  # that controllers fill a cluster with
_REMEMBERED = 10_000  # identities that are gone: a word from before that is never later than so many ends


class Refused(Struct, frozen=True):
    """The server did not let us make something, and why."""

    message: str
    at: datetime


class World:
    """Every object that was told of, indexed; manifests in it are never changed, only replaced."""

    def __init__(self, objects: Iterable[Manifest] = ()) -> None:
        self._named: dict[str, dict[str, dict[str, Manifest]]] = {}
        self._by_uid: dict[str, Manifest] = {}
        self._dependents: dict[str, dict[str, None]] = {}
        self._contents: dict[str, dict[str, None]] = {}
        self._loads: dict[str, Counter[str]] = {}
        self._unplaced: dict[str, None] = {}
        self._gone: dict[str, None] = {}
        self.served: dict[str, Resource] = {}  # what the server has, by kind
        self.known_kinds: set[str] = set()  # of which everything that exists has been told
        self.refusals: dict[str, Refused] = {}  # by the identity of whoever wished it
        self.most_pods = MOST_PODS  # where there are so many, controllers make no more
        for each in objects:
            self.put(each)

    # -- reading ------------------------------------------------------------------------------------------

    def get(self, kind: str, namespace: str, name: str) -> Manifest | None:
        """The object of this kind and name."""
        return self._named.get(kind, {}).get(namespace, {}).get(name)

    def all(self, kind: str, namespace: str | None = None) -> list[Manifest]:
        """The objects of this kind, in one namespace or everywhere."""
        spaces = self._named.get(kind, {})
        if namespace is not None:
            return list(spaces.get(namespace, {}).values())
        return [each for space in spaces.values() for each in space.values()]

    def count(self, kind: str) -> int:
        """How many objects of this kind there are."""
        return sum(len(space) for space in self._named.get(kind, {}).values())

    def selected(self, kind: str, namespace: str, selector: LabelSelector) -> list[Manifest]:
        """The objects of this kind in this namespace whose labels match."""
        return [each for each in self.all(kind, namespace) if selector.matches(labels_of(each))]

    def by_uid(self, uid: str) -> Manifest | None:
        """The object with this identity."""
        return self._by_uid.get(uid)

    def dependents(self, uid: str) -> list[Manifest]:
        """The objects that name this identity as an owner."""
        return [self._by_uid[each] for each in self._dependents.get(uid, ())]

    def owned(self, owner: Manifest, kind: str) -> list[Manifest]:
        """The objects of one kind that name this object as an owner, in its namespace."""
        return [
            each
            for each in self.dependents(uid_of(owner))
            if kind_of(each) == kind and namespace_of(each) == namespace_of(owner)
        ]

    def contents(self, namespace: str) -> list[Manifest]:
        """Everything in a namespace."""
        return [self._by_uid[each] for each in self._contents.get(namespace, ())]

    def load(self, node: str) -> Counter[str]:
        """What the pods on a node ask of it, those that are over left out."""
        return self._loads.get(node, Counter())

    def unplaced(self) -> list[Manifest]:
        """The pods that have no node."""
        return [self._by_uid[each] for each in self._unplaced]

    # -- painting -----------------------------------------------------------------------------------------

    def put(self, manifest: Manifest) -> bool:
        """Take the object as it is now; False if this is no news."""
        uid = uid_of(manifest)
        known = self._by_uid.get(uid)
        if uid in self._gone or (known is not None and version_of(manifest) <= version_of(known)):
            return False
        if known is not None:
            self._unlink(known)
        self._link(manifest)
        return True

    def drop(self, uid: str) -> Manifest | None:
        """Forget the object, whoever told that it is gone; a word that lags cannot bring it back."""
        known = self._by_uid.get(uid)
        self._gone[uid] = None
        if len(self._gone) > _REMEMBERED:
            del self._gone[next(iter(self._gone))]
        if known is not None:
            self._unlink(known)
            self.refusals.pop(uid, None)
        return known

    def forget_kind(self, kind: str) -> None:
        """Forget every object of a kind that is no longer served."""
        self.known_kinds.discard(kind)
        for each in self.all(kind):
            self._unlink(each)

    def _link(self, manifest: Manifest) -> None:
        uid, (namespace, name) = uid_of(manifest), full_name(manifest)
        self._by_uid[uid] = manifest
        self._named.setdefault(kind_of(manifest), {}).setdefault(namespace, {})[name] = manifest
        if namespace:
            self._contents.setdefault(namespace, {})[uid] = None
        for owner in owners_of(manifest):
            self._dependents.setdefault(owner["uid"], {})[uid] = None
        if kind_of(manifest) == POD:
            self._place(manifest)

    def _unlink(self, manifest: Manifest) -> None:
        uid, (namespace, name) = uid_of(manifest), full_name(manifest)
        del self._by_uid[uid]
        space = self._named[kind_of(manifest)][namespace]
        if space.get(name) is manifest:
            del space[name]
        if namespace:
            del self._contents[namespace][uid]
        for owner in owners_of(manifest):
            self._dependents[owner["uid"]].pop(uid, None)
            if not self._dependents[owner["uid"]]:
                del self._dependents[owner["uid"]]
        if kind_of(manifest) == POD:
            self._unplace(manifest)

    def _place(self, pod: Manifest) -> None:
        node = pod["spec"].get("nodeName", "")
        if not node:
            self._unplaced[uid_of(pod)] = None
        elif not is_over(pod):
            self._loads.setdefault(node, Counter()).update(requested(pod))

    def _unplace(self, pod: Manifest) -> None:
        node = pod["spec"].get("nodeName", "")
        self._unplaced.pop(uid_of(pod), None)
        if node and not is_over(pod):
            self._loads[node].subtract(requested(pod))
