"""Applying with one, two and three managers, on kinds with every shape of list."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from msgspec import Struct

from tests.contract.cluster.cases import Table
from tests.contract.cluster.kinds import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    GADGETS,
    SERVICES,
    config_map,
    container,
    gadget,
    named,
    with_metadata,
)
from tests.contract.cluster.stage import Stage
from trimtab.kube.cluster import PatchType, Write
from trimtab.kube.discovery import Resource

TABLE = Table(__name__)


class Subject(Struct, frozen=True, kw_only=True):
    """A kind with the declarations that the scenarios play with.

    `base` is what one manager declares, `other` something beside it, `rival` the same field with another
    value, `less` the base without a part of it, and `change` a merge patch that a person makes by hand.
    """

    resource: Resource
    base: dict[str, Any]
    other: dict[str, Any]
    rival: dict[str, Any]
    less: dict[str, Any]
    change: dict[str, Any]


def _deployed(*containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    labels = {"app": "a"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": list(containers)}}
    return named(DEPLOYMENTS, "a", spec={"selector": {"matchLabels": labels}, "template": template, **spec})


def _served(*ports: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return named(SERVICES, "a", spec={"clusterIP": "None", "ports": list(ports), **spec})


VARIABLES = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]
SUBJECTS: dict[str, Subject] = {
    "ConfigMap": Subject(
        resource=CONFIG_MAPS,
        base=config_map("a", {"l": "1"}, one="1", two="2"),
        other=config_map("a", {"m": "1"}, three="3"),
        rival=config_map("a", one="9"),
        less=config_map("a", one="1"),
        change={"data": {"one": "hand"}},
    ),
    "Deployment": Subject(
        resource=DEPLOYMENTS,
        base=_deployed(
            container("web", env=VARIABLES, args=["x"], ports=[{"containerPort": 80}]),
            container("aid"),
            replicas=2,
        ),
        other=_deployed(
            {"name": "web", "env": [{"name": "C", "value": "3"}], "resources": {"limits": {"cpu": "1"}}},
            revisionHistoryLimit=3,
        ),
        rival=_deployed({"name": "web", "image": "other:9", "args": ["y"]}, replicas=5),
        less=_deployed(container("web", env=VARIABLES[:1])),
        change={"spec": {"replicas": 7}},
    ),
    "Service": Subject(
        resource=SERVICES,
        base=_served(
            {"name": "http", "port": 80}, {"name": "dns", "port": 53, "protocol": "UDP"}, selector={"x": "1"}
        ),
        other=_served({"name": "tls", "port": 443, "targetPort": "tls"}, publishNotReadyAddresses=True),
        rival=_served({"name": "http", "port": 80, "targetPort": 8080}, selector={"x": "9"}),
        less=_served({"name": "http", "port": 80}),
        change={"spec": {"selector": {"x": "hand"}}},
    ),
    "Gadget": Subject(
        resource=GADGETS,
        base=gadget(
            "a",
            size=1,
            tags=["x", "y"],
            parts=[{"name": "p", "count": 2, "notes": ["n"]}, {"name": "q"}],
            ports=[{"port": 1}, {"port": 1, "protocol": "UDP"}],
            steps=[{"run": "a"}],
            whole={"a": "1"},
            limits={"cpu": 1},
        ),
        other=gadget(
            "a",
            tags=["z"],
            parts=[{"name": "r"}, {"name": "p", "spare": {"left": 1}}],
            ports=[{"port": 2}],
            limits={"mem": "2"},
            flag=True,
        ),
        rival=gadget(
            "a",
            size=9,
            parts=[{"name": "p", "count": 9}],
            steps=[{"run": "b"}],
            whole={"b": "2"},
            limits={"cpu": 2},
        ),
        less=gadget("a", tags=["x"], parts=[{"name": "p", "count": 2}], ports=[{"port": 1}]),
        change={"spec": {"size": 7, "tags": ["hand"]}},
    ),
}
Scenario: TypeAlias = Callable[[Stage, Subject], Awaitable[None]]
SCENARIOS: list[tuple[str, str, Scenario]] = []


def scenario(feature: str) -> Callable[[Scenario], Scenario]:
    """A scenario that is played with every subject."""

    def add(play: Scenario) -> Scenario:
        SCENARIOS.append((feature, getattr(play, "__name__", "").replace("_", " "), play))
        return play

    return add


@scenario("one manager")
async def an_apply_creates(stage: Stage, on: Subject) -> None:
    await stage.apply(on.resource, "a", on.base)
    await stage.get(on.resource, "a")


@scenario("one manager")
async def the_same_again_changes_nothing(stage: Stage, on: Subject) -> None:
    await stage.apply(on.resource, "a", on.base)
    await stage.apply(on.resource, "a", on.base)
    await stage.apply(on.resource, "a", on.base, force=True)


@scenario("one manager")
async def what_is_no_longer_declared_goes(stage: Stage, on: Subject) -> None:
    await stage.apply(on.resource, "a", on.base)
    await stage.apply(on.resource, "a", on.less)
    await stage.apply(on.resource, "a", on.base)


@scenario("one manager")
async def a_value_changes(stage: Stage, on: Subject) -> None:
    await stage.apply(on.resource, "a", on.base)
    await stage.apply(on.resource, "a", on.rival)


@scenario("one manager")
async def a_dry_run_keeps_nothing(stage: Stage, on: Subject) -> None:
    dry = Write(dry_run=True)
    await stage.apply(on.resource, "a", on.base, write=dry)
    await stage.get(on.resource, "a")
    await stage.apply(on.resource, "a", on.base)
    await stage.apply(on.resource, "a", on.less, write=dry)
    await stage.get(on.resource, "a")


@scenario("two managers")
async def two_declare_side_by_side(stage: Stage, on: Subject) -> None:
    await stage.apply(on.resource, "a", on.base)
    await stage.apply(on.resource, "a", on.other, manager="two")
    await stage.apply(on.resource, "a", on.less)
    await stage.apply(on.resource, "a", named(on.resource, "a"), manager="two")


@scenario("two managers")
async def two_share_and_one_leaves(stage: Stage, on: Subject) -> None:
    await stage.apply(on.resource, "a", on.base)
    await stage.apply(on.resource, "a", on.base, manager="two")
    await stage.apply(on.resource, "a", on.less)
    await stage.apply(on.resource, "a", on.less, manager="two")


@scenario("two managers")
async def a_conflict_names_fields_and_managers(stage: Stage, on: Subject) -> None:
    await stage.apply(on.resource, "a", on.base)
    await stage.apply(on.resource, "a", on.rival, manager="two")
    await stage.apply(on.resource, "a", on.rival, manager="two", write=Write(dry_run=True))
    await stage.get(on.resource, "a")


@scenario("two managers")
async def force_takes_over(stage: Stage, on: Subject) -> None:
    await stage.apply(on.resource, "a", on.base)
    await stage.apply(on.resource, "a", on.rival, manager="two", force=True)
    await stage.apply(on.resource, "a", on.base)
    await stage.apply(on.resource, "a", on.less)


@scenario("hand-over")
async def the_second_declares_then_the_first_lets_go(stage: Stage, on: Subject) -> None:
    await stage.apply(on.resource, "a", on.base)
    await stage.apply(on.resource, "a", on.base, manager="two")
    await stage.apply(on.resource, "a", named(on.resource, "a"))
    await stage.apply(on.resource, "a", on.rival, manager="two")


@scenario("three managers")
async def a_conflict_with_two_at_once(stage: Stage, on: Subject) -> None:
    await stage.apply(on.resource, "a", on.base)
    await stage.apply(on.resource, "a", on.base, manager="two")
    await stage.apply(on.resource, "a", on.rival, manager="three")
    await stage.apply(on.resource, "a", on.rival, manager="three", force=True)


@scenario("three managers")
async def three_share_and_leave_one_by_one(stage: Stage, on: Subject) -> None:
    for manager in ("one", "two", "three"):
        await stage.apply(on.resource, "a", on.base, manager=manager)
    for manager in ("two", "one", "three"):
        await stage.apply(on.resource, "a", on.less, manager=manager)


@scenario("beside other writes")
async def a_change_by_hand_is_a_conflict(stage: Stage, on: Subject) -> None:
    await stage.apply(on.resource, "a", on.base)
    await stage.patch(on.resource, "a", on.change, how=PatchType.MERGE, write=Write(manager="hand"))
    await stage.apply(on.resource, "a", on.base)
    await stage.apply(on.resource, "a", on.base, force=True)


@scenario("beside other writes")
async def a_change_by_hand_stays_when_not_declared(stage: Stage, on: Subject) -> None:
    await stage.apply(on.resource, "a", on.less)
    await stage.patch(on.resource, "a", on.change, how=PatchType.MERGE, write=Write(manager="hand"))
    await stage.apply(on.resource, "a", on.less)
    await stage.get(on.resource, "a")


@scenario("beside other writes")
async def an_update_without_a_field_ends_its_ownership(stage: Stage, on: Subject) -> None:
    await stage.apply(on.resource, "a", on.base)
    await stage.update(on.resource, "a", on.less, write=Write(manager="hand"))
    await stage.apply(on.resource, "a", on.base)


@scenario("beside other writes")
async def an_apply_over_a_created_object(stage: Stage, on: Subject) -> None:
    await stage.given(on.resource, on.base)
    await stage.apply(on.resource, "a", on.base)
    await stage.apply(on.resource, "a", on.less)
    await stage.apply(on.resource, "a", on.rival)


@scenario("beside other writes")
async def the_same_manager_updates_and_applies(stage: Stage, on: Subject) -> None:
    await stage.given(on.resource, on.base, manager="one")
    await stage.apply(on.resource, "a", on.rival)
    await stage.apply(on.resource, "a", on.rival, force=True)


def _last_applied(body: dict[str, Any]) -> dict[str, Any]:
    """The body as client-side apply leaves it."""
    import json

    note = json.dumps(body, separators=(",", ":")) + "\n"
    return with_metadata(body, annotations={"kubectl.kubernetes.io/last-applied-configuration": note})


@scenario("client-side apply")
async def a_client_side_apply_moves_over(stage: Stage, on: Subject) -> None:
    await stage.given(on.resource, _last_applied(on.base), manager="kubectl-client-side-apply")
    await stage.apply(on.resource, "a", on.base, manager="kubectl")
    await stage.apply(on.resource, "a", on.less, manager="kubectl")


@scenario("client-side apply")
async def client_side_applies_go_on_after_a_move(stage: Stage, on: Subject) -> None:
    await stage.apply(on.resource, "a", _last_applied(on.base), manager="kubectl")
    note = _last_applied(on.less)["metadata"]
    patch = {"metadata": {"annotations": note["annotations"]}, **on.change}
    write = Write(manager="kubectl-client-side-apply")
    await stage.patch(on.resource, "a", patch, how=PatchType.MERGE, write=write)
    await stage.apply(on.resource, "a", on.less, manager="kubectl")


for feature_, name_, play_ in SCENARIOS:
    for kind_, subject_ in SUBJECTS.items():
        TABLE.add(
            "apply",
            feature_,
            f"{kind_}: {name_}",
            play_,
            subject_,
        )
