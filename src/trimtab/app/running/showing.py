"""How everything stands, as JSON for programs and as an answer to probes. Pure; no secrets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct

from trimtab.app.appsources import AppSource, sources_of
from trimtab.engine.units import SyncUnit
from trimtab.errors import TrimtabError
from trimtab.sources.charts.wishes import WantedChart, access_of
from trimtab.sources.repositories.addresses import address_of


class ClusterStand(Struct, frozen=True, kw_only=True):
    """How one cluster stands with one engine."""

    name: str
    state: str
    problem: str = ""


class ShardStand(Struct, frozen=True, kw_only=True):
    """How one shard stands with this runner."""

    shard: str
    #: whether it is kept here
    held: bool
    #: who keeps it, as far as this runner knows
    holder: str = ""
    #: whether every unit of it is known
    known: bool = False
    clusters: tuple[ClusterStand, ...] = ()
    units: tuple[SyncUnit, ...] = ()
    #: units that are recorded and not kept, and why
    left: Mapping[str, str] = {}
    #: units whose file is gone and whose objects are still there, and why
    removals: Mapping[str, str] = {}


def unready(shards: Iterable[ShardStand], *, declared: bool) -> tuple[str, ...]:
    """What is missing before the runner does its work; nothing if it does.

    A cluster that cannot be reached is known to be so: it harms its own units and not the runner.
    """
    found = [] if declared else ["the unit files have not been read yet"]
    for each in shards:
        if not each.held and not each.holder:
            found.append(f"shard {each.shard}: it is not known yet who keeps it")
        if each.held and not each.known:
            found.append(f"shard {each.shard}: its units are not known yet")
        starting = [cluster.name for cluster in each.clusters if cluster.state == "starting"]
        found.extend(f"cluster {name}: its live state is still being read" for name in starting)
    return tuple(found)


def status_json(
    me: str,
    shards: Iterable[ShardStand],
    problems: Mapping[str, str],
    *,
    declared_in: str,
    trouble: str,
    refused: Mapping[str, str],
) -> dict[str, Any]:
    """Everything a person or a program may want to know of a runner."""
    stands = tuple(shards)
    return {
        "runner": me,
        "declaredIn": declared_in,
        "declarationProblem": trouble,
        "fileProblems": dict(refused),
        "shards": [{"shard": each.shard, "held": each.held, "holder": each.holder} for each in stands],
        "clusters": [
            {"shard": each.shard, "name": room.name, "state": room.state, "problem": room.problem}
            for each in stands
            for room in each.clusters
        ],
        "units": [unit_json(unit, problems.get(unit.id, "")) for each in stands for unit in each.units],
        "removals": {unit_id: reason for each in stands for unit_id, reason in each.removals.items()},
        "left": {unit_id: reason for each in stands for unit_id, reason in each.left.items()},
    }


def unit_json(unit: SyncUnit, source_problem: str) -> dict[str, Any]:
    """How one unit stands, and what it waits for."""
    status, automated = unit.status, unit.policy.automated
    return {
        "unit": unit.id,
        "cluster": unit.destination.cluster,
        "namespace": unit.destination.namespace,
        "source": _source(unit),
        "declaredIn": unit.declared_in,
        "automated": automated is not None and automated.enabled,
        "sync": status.verdict.value,
        "health": status.health.status.value,
        "revision": status.revision,
        "lookedAt": _stamp(status.reconciled_at),
        "waitingFor": waiting_for(unit),
        "sourceProblem": source_problem,
        "conditions": [f"{each.type.value}: {each.message}" for each in status.conditions],
    }


def waiting_for(unit: SyncUnit) -> str:
    """What the unit's operation waits for, or what its health lacks; empty if it waits for nothing."""
    state = unit.status.operation_state
    if unit.operation is not None:
        return (state.message if state is not None else "") or "its operation has just been asked for"
    return unit.status.health.message


def _source(unit: SyncUnit) -> str:
    """Where the unit comes from; an address that could hold a password is told without it."""
    try:
        return "; ".join(map(_place, sources_of(unit).entries))
    except TrimtabError:
        return ""


def _place(source: AppSource) -> str:
    if source.spec.chart:
        return str(access_of(WantedChart(url=source.repo_url, name=source.spec.chart)).place)
    place = str(address_of(source.repo_url)) if source.repo_url else source.folder
    return f"{place} {source.spec.path}".rstrip()


def _stamp(at: datetime | None) -> str:
    return "" if at is None else at.strftime("%Y-%m-%dT%H:%M:%SZ")
