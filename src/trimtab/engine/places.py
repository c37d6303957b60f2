"""Places: the kinds and namespaces in which a unit may have objects, so that nobody looks elsewhere. Pure.

A unit's record names its places before anything is written there and never forgets one, so whoever reads them
has seen every object that ever got the unit's mark from us. What is known of no unit (None) is everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from trimtab.engine.units import UnitStatus
    from trimtab.resources.keys import ResourceKey


class Place(Struct, frozen=True, order=True, gc=False, omit_defaults=True):
    """One kind in one namespace; without one, wherever objects of the kind are."""

    group: str
    kind: str
    namespace: str = ""


def places_of(keys: Iterable[ResourceKey]) -> tuple[Place, ...]:
    """Where these objects are, in order, each place once."""
    return tuple(sorted(Place(*each) for each in {(key.group, key.kind, key.namespace) for key in keys}))


def widened(known: tuple[Place, ...] | None, status: UnitStatus) -> tuple[Place, ...] | None:
    """The places of a unit, with those of everything that its status speaks of."""
    if known is None:
        return None
    found = places_of(_keys_in(status))
    return known if set(found) <= set(known) else tuple(sorted({*known, *found}))


def joined(known: tuple[Place, ...] | None, more: tuple[Place, ...] | None) -> tuple[Place, ...] | None:
    """What is recorded of a unit's places and what was found; who knows nothing learns it from the other."""
    if known is None or more is None:
        return more if known is None else known
    return tuple(sorted({*known, *more}))


def _keys_in(status: UnitStatus) -> Iterator[ResourceKey]:
    yield from (each.key for each in status.resources)
    state = status.operation_state
    if state is not None:
        yield from state.begun
        yield from (each.key for each in state.results)
        yield from (each.key for each in state.hooks)
