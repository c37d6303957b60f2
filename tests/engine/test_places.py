"""Where objects of a unit may be: what its record says grows with whatever is about to be written."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from trimtab.engine.operations import HookRun, Operation, OperationState, StepResult, SyncPhase
from trimtab.engine.places import Place, joined, places_of, widened
from trimtab.engine.stores.changing import declared_anew, with_operation, with_status
from trimtab.engine.units import Destination, SyncUnit, UnitStatus
from trimtab.resources.keys import ResourceKey

NOW = datetime(2026, 1, 1, tzinfo=UTC)
MAPS, PODS = Place("", "ConfigMap", "shop"), Place("", "Pod", "shop")
SETS, ROLES = Place("apps", "StatefulSet", "shop"), Place("rbac.authorization.k8s.io", "ClusterRole")
UNIT = SyncUnit(id="shop", source={}, destination=Destination(cluster="here"))


def key(place: Place, name: str = "one") -> ResourceKey:
    return ResourceKey(place.group, place.kind, place.namespace, name)


def state(**what: object) -> UnitStatus:
    begun = OperationState(operation=Operation(), started_at=NOW)
    return UnitStatus(operation_state=replace(begun, **what))


def test_each_place_is_named_once_and_in_order() -> None:
    assert places_of([key(PODS), key(MAPS, "b"), key(MAPS, "a"), key(ROLES)]) == (MAPS, PODS, ROLES)


@pytest.mark.parametrize(
    "status",
    [
        state(begun=(key(SETS),)),
        state(results=(StepResult(key=key(SETS), sync_phase=SyncPhase.SYNC),)),
        state(hooks=(HookRun(key=key(SETS), sync_phase=SyncPhase.PRE_SYNC),)),
    ],
    ids=["begun", "done", "hooks"],
)
def test_whatever_an_operation_speaks_of_is_a_place_from_then_on(status: UnitStatus) -> None:
    known = replace(UNIT, places=(MAPS,))
    noted = with_status(known, status)
    assert noted.places == (MAPS, SETS)
    asked = with_operation(noted, Operation())
    assert (asked.status.operation_state, asked.places) == (None, (MAPS, SETS))
    assert with_operation(known, None, status).places == (MAPS, SETS)
    assert with_operation(known, Operation(), status).places == (MAPS, SETS)


def test_what_is_not_known_stays_unknown_until_somebody_has_looked_everywhere() -> None:
    assert widened(None, state(begun=(key(MAPS),))) is None
    assert declared_anew(UNIT, replace(UNIT, places=(MAPS,))).places == (MAPS,)
    assert declared_anew(replace(UNIT, places=(PODS,)), UNIT).places == (PODS,)
    assert joined((MAPS,), (PODS,)) == (MAPS, PODS)
    assert joined(None, None) is None


def test_what_is_known_of_one_cluster_is_not_known_of_another() -> None:
    known = replace(UNIT, places=(MAPS,))
    moved = replace(known, destination=Destination(cluster="there"))
    assert declared_anew(known, moved).places is None
