"""The index: every known object by key, by mark, by owner and by namespace. Pure, with one writer.

Objects lie on shelves, one per kind and scope, so that a kind in a scope can be counted, listed and forgotten
without looking at any other. Every question costs what it answers.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from trimtab.engine.cache.owners import Claims, is_claim, is_set
from trimtab.engine.live import Change, Live, Owner
from trimtab.engine.marks import Mark
from trimtab.resources.keys import ResourceKey


class Scope(Struct, frozen=True, order=True, gc=False):
    """One kind, in one namespace or (with none) everywhere: what one watch covers."""

    group: str
    kind: str
    namespace: str = ""


Shelf: TypeAlias = dict[ResourceKey, Live]
_NOTHING: Shelf = {}
#: owners are known by their uid, or by their key where they were inferred by name
_OwnerId: TypeAlias = str | ResourceKey
_K = TypeVar("_K", bound=Hashable)


class Index:
    """All that is known of the objects of one cluster."""

    def __init__(self) -> None:
        self._shelves: dict[tuple[str, str, str], Shelf] = {}
        self._roots: dict[Mark, Shelf] = {}
        self._orders: dict[Mark, list[ResourceKey]] = {}
        self._owned: dict[_OwnerId, set[ResourceKey]] = {}
        self._namespaces: dict[str, set[ResourceKey]] = {}
        self._claims = Claims()

    def __len__(self) -> int:
        return sum(map(len, self._shelves.values()))

    def is_empty(self) -> bool:
        """Whether nothing at all is kept, neither objects nor what pointed to them."""
        return not (
            self._shelves or self._roots or self._owned or self._namespaces or not self._claims.is_empty()
        )

    def get(self, key: ResourceKey) -> Live | None:
        """The object of this key."""
        wide = self._shelves.get((key.group, key.kind, ""), _NOTHING)
        if (found := wide.get(key)) is not None or not key.namespace:
            return found
        return self._shelves.get((key.group, key.kind, key.namespace), _NOTHING).get(key)

    def scopes(self) -> tuple[Scope, ...]:
        """Every kind and scope that something is known of."""
        return tuple(Scope(*place) for place in self._shelves)

    def shelf(self, scope: Scope) -> Shelf:
        """The objects of one kind and scope, to be read only."""
        return self._shelves.get((scope.group, scope.kind, scope.namespace), _NOTHING)

    def roots(self, mark: Mark) -> tuple[Live, ...]:
        """The roots that carry a mark, in the order of their keys."""
        held = self._roots.get(mark)
        if held is None:
            return ()
        # Roots change far more often than they come and go, so the order is worth remembering.
        if (order := self._orders.get(mark)) is None:
            order = self._orders[mark] = sorted(held)
        return tuple([held[key] for key in order])

    def marks(self) -> tuple[Mark, ...]:
        """Every mark that a root carries, in order."""
        return tuple(sorted(self._roots))

    def owned(self, owner: Live) -> tuple[Live, ...]:
        """What names this object as its owner, by uid or by name, in the order of the keys."""
        by_uid = self._owned.get(owner.uid, ()) if owner.uid else ()
        return self._all(sorted({*by_uid, *self._owned.get(owner.key, ())}))

    def within(self, namespace: str) -> Iterator[Live]:
        """The objects of one namespace."""
        for key in self._namespaces.get(namespace, ()):
            if (found := self.get(key)) is not None:
                yield found

    def _all(self, keys: list[ResourceKey]) -> tuple[Live, ...]:
        return tuple(found for key in keys if (found := self.get(key)) is not None)

    def put(self, scope: Scope, live: Live, stems: tuple[str, ...] = ()) -> tuple[Change, ...]:
        """Keep an object in its present state; `stems` name the claims of a StatefulSet."""
        if is_claim(live.key):
            self._claims.add_claim(live.key)
            live = self._with_set(live)
        change = self._placed(scope, live)
        if not is_set(live.key):
            return () if change is None else (change,)
        touched = self._claims.add_set(Owner(live.uid, live.key, True), stems)
        return (*(() if change is None else (change,)), *self._relinked(touched))

    def remove(self, scope: Scope, key: ResourceKey) -> tuple[Change, ...]:
        """Forget an object that is gone."""
        place = (scope.group, scope.kind, scope.namespace)
        shelf = self._shelves.get(place)
        before = None if shelf is None else shelf.pop(key, None)
        if shelf is None or before is None:
            return ()
        if not shelf:
            del self._shelves[place]
        self._unlink(before)
        _discard(self._namespaces, key.namespace, key)
        if is_claim(key):
            self._claims.drop_claim(key)
        touched = self._claims.drop_set(key) if is_set(key) else []
        return (Change(key, before, None), *self._relinked(touched))

    def move(self, key: ResourceKey, before: Scope, after: Scope) -> None:
        """Put an object on another shelf, since another watch covers it now."""
        places = [(scope.group, scope.kind, scope.namespace) for scope in (before, after)]
        shelf = self._shelves[places[0]]
        self._shelves.setdefault(places[1], {})[key] = shelf.pop(key)
        if not shelf:
            del self._shelves[places[0]]

    def _placed(self, scope: Scope, live: Live) -> Change | None:
        shelf = self._shelves.setdefault((scope.group, scope.kind, scope.namespace), {})
        before = shelf.get(live.key)
        if before == live:
            return None
        shelf[live.key] = live
        if before is None:
            self._namespaces.setdefault(live.key.namespace, set()).add(live.key)
            self._link(live)
        elif before.owners != live.owners or before.mark != live.mark:
            self._unlink(before)
            self._link(live)
        elif live.is_root and live.mark is not None:
            self._roots[live.mark][live.key] = live
        return Change(live.key, before, live)

    def _with_set(self, claim: Live) -> Live:
        """The claim with the StatefulSet it belongs to, if that is here."""
        owner = self._claims.owner(claim.key)
        if owner is None or any(each.uid == owner.uid for each in claim.owners):
            return claim
        return replace(claim, owners=(*claim.owners, owner))

    def _relinked(self, claims: list[ResourceKey]) -> Iterator[Change]:
        """The claims with the owners they have now, after a StatefulSet came, changed or went."""
        for key in claims:
            if (held := self.get(key)) is None:
                continue
            named = tuple(owner for owner in held.owners if not (owner.inferred and is_set(owner.key)))
            linked = self._with_set(replace(held, owners=named))
            if (change := self._placed(self._scope_of(key), linked)) is not None:
                yield change

    def _scope_of(self, key: ResourceKey) -> Scope:
        wide = Scope(key.group, key.kind)
        return wide if key in self.shelf(wide) else Scope(key.group, key.kind, key.namespace)

    def _link(self, live: Live) -> None:
        if live.is_root and live.mark is not None:
            self._roots.setdefault(live.mark, {})[live.key] = live
            self._orders.pop(live.mark, None)
        for owner in live.owners:
            self._owned.setdefault(owner.uid or owner.key, set()).add(live.key)

    def _unlink(self, live: Live) -> None:
        if live.mark is not None and (held := self._roots.get(live.mark)) is not None:
            held.pop(live.key, None)
            self._orders.pop(live.mark, None)
            if not held:
                del self._roots[live.mark]
        for owner in live.owners:
            _discard(self._owned, owner.uid or owner.key, live.key)


def _discard(sets: dict[_K, set[ResourceKey]], name: _K, key: ResourceKey) -> None:
    """Take a key out of one set; an empty set is not kept."""
    held = sets.get(name)
    if held is not None:
        held.discard(key)
        if not held:
            del sets[name]
