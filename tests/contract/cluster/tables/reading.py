"""Reading: get, list with selectors, pages and versions, unknown kinds and names."""

from __future__ import annotations

from typing import Any

from tests.contract.cluster.cases import Table
from tests.contract.cluster.kinds import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    GADGETS,
    JOBS,
    NAMESPACES,
    NODES,
    PODS,
    REPLICA_SETS,
    RESOURCE_SLICES,
    SECRETS,
    SERVICES,
    SIGNING_REQUESTS,
    VOLUMES,
    config_map,
    deployment,
    gadget,
    named,
    pod,
    service,
)
from tests.contract.cluster.stage import Stage
from trimtab.kube.cluster import AsOf, Selection, VersionMatch
from trimtab.kube.discovery import Resource

TABLE = Table(__name__)
case = TABLE.case
UNKNOWN = Resource(group="nobody.example", version="v1", kind="Thing", plural="things", namespaced=True)
UNKNOWN_VERSION = Resource(
    group="apps", version="v9", kind="Deployment", plural="deployments", namespaced=True
)
UNKNOWN_PLURAL = Resource(group="", version="v1", kind="Thing", plural="things", namespaced=True)


@case("get", "plain")
async def what_was_created_is_read(stage: Stage) -> None:
    await stage.given(CONFIG_MAPS, config_map("a", {"x": "1"}, k="v"))
    await stage.get(CONFIG_MAPS, "a")
    await stage.get(CONFIG_MAPS, "a")


@case("get", "missing objects")
async def what_is_not_there_is_not_found(stage: Stage) -> None:
    for resource in (CONFIG_MAPS, DEPLOYMENTS, GADGETS, NAMESPACES):
        await stage.get(resource, "nowhere")


@case("get", "missing objects")
async def nothing_is_found_in_a_missing_namespace(stage: Stage) -> None:
    await stage.get(CONFIG_MAPS, "a", namespace="nowhere")
    await stage.list(CONFIG_MAPS, namespace="nowhere")


@case("get", "unknown kinds")
async def unknown_kinds_are_not_found(stage: Stage) -> None:
    for resource in (UNKNOWN, UNKNOWN_VERSION, UNKNOWN_PLURAL):
        await stage.get(resource, "a")
        await stage.list(resource)
        await stage.create(resource, {"metadata": {"name": "a"}})
        await stage.delete(resource, "a")


@case("get", "unknown kinds")
async def unknown_subresources_are_not_found(stage: Stage) -> None:
    await stage.given(CONFIG_MAPS, config_map("a"))
    await stage.given(DEPLOYMENTS, deployment("a"))
    await stage.get(CONFIG_MAPS, "a", subresource="status")
    await stage.get(DEPLOYMENTS, "a", subresource="nonsense")


@case("get", "namespaces")
async def a_cluster_wide_object_is_read_without_a_namespace(stage: Stage) -> None:
    await stage.get(NAMESPACES, stage.namespace)


LABELLED = {
    "none": {},
    "red": {"colour": "red"},
    "blue": {"colour": "blue", "size": "1"},
    "empty": {"colour": ""},
    "big": {"size": "10", "shop.example/tier": "web"},
}
GOOD_LABELS = (
    "colour",
    "!colour",
    "colour=red",
    "colour==red",
    "colour!=red",
    "colour in (red,blue)",
    "colour in (red)",
    "colour notin (red, blue)",
    "colour in (red,)",
    "colour in ()",
    "colour=",
    "colour!=",
    "size>5",
    "size<5",
    "size>1,size<11",
    "colour,size",
    "colour,!size",
    "shop.example/tier=web",
    "shop.example/tier in (web, db),size",
    " colour = red ",
    "size=1,size=10",
    "nothing=there",
)
BAD_LABELS = (
    "=red",
    "colour=red=blue",
    "colour in red",
    "colour in (red",
    "colour>big",
    "colour=a b",
    "colour=_",
    "Bad Key=x",
    "a/b/c=x",
    "!colour=red",
    "colour notin red",
    ",",
    "colour,,size",
    "colour=" + "x" * 64,
    "x" * 64 + "=1",
    "colour~red",
    "&",
)


async def _labels(stage: Stage, selector: str) -> None:
    for name, labels in LABELLED.items():
        await stage.given(CONFIG_MAPS, config_map(name, labels or None))
    await stage.list(CONFIG_MAPS, select=Selection(labels=selector))


async def _bad_labels(stage: Stage, selector: str) -> None:
    await stage.list(CONFIG_MAPS, select=Selection(labels=selector))
    await stage.list(GADGETS, select=Selection(labels=selector))


for each in GOOD_LABELS:
    TABLE.add("list", "label selectors", f"labels {each}", _labels, each)
for each in BAD_LABELS:
    shown = each if len(each) < 50 else f"{each[:20]}... of {len(each)} letters"
    TABLE.add("list", "bad selectors", f"labels {shown}", _bad_labels, each)

FIELDS: dict[str, tuple[Resource, str]] = {
    "a name": (CONFIG_MAPS, "metadata.name=red"),
    "another name": (CONFIG_MAPS, "metadata.name!=red"),
    "two equal signs": (CONFIG_MAPS, "metadata.name==red"),
    "two names": (CONFIG_MAPS, "metadata.name!=red,metadata.name!=blue"),
    "a name that contradicts": (CONFIG_MAPS, "metadata.name=red,metadata.name=blue"),
    "the namespace": (CONFIG_MAPS, "metadata.namespace=nowhere"),
    "an unknown field": (CONFIG_MAPS, "data.x=1"),
    "no operator": (CONFIG_MAPS, "metadata.name"),
    "no field": (CONFIG_MAPS, "=x"),
    "a label operator": (CONFIG_MAPS, "metadata.name in (red)"),
    "an escaped comma": (CONFIG_MAPS, "metadata.name=a\\,b"),
    "a bad escape": (CONFIG_MAPS, "metadata.name=a\\b"),
    "a secret's type": (SECRETS, "type=Opaque"),
    "an unknown field of a custom object": (GADGETS, "spec.size=1"),
    "a custom object's name": (GADGETS, "metadata.name=red"),
    "a pod's phase": (PODS, "status.phase=Pending"),
    "a pod's node": (PODS, "spec.nodeName=n"),
    "an unknown field of a pod": (PODS, "spec.nothing=n"),
    "a service's type": (SERVICES, "spec.type=ClusterIP"),
    "a namespace's phase": (NAMESPACES, "status.phase=Nothing"),
    "a deployment's field": (DEPLOYMENTS, "spec.replicas=1"),
    "a replica set's size": (REPLICA_SETS, "status.replicas=0"),
    "an unknown field of a job": (JOBS, "status.phase=x"),
    "an unknown field of a resource slice": (RESOURCE_SLICES, "spec.pool=x"),
    "a resource slice's driver": (RESOURCE_SLICES, "spec.driver=none.example"),
    "the namespace of a node": (NODES, "metadata.namespace=x"),
    "the namespace of a namespace": (NAMESPACES, "metadata.namespace=x"),
    "the namespace of a signing request": (SIGNING_REQUESTS, "metadata.namespace=x"),
    "the namespace of a volume": (VOLUMES, "metadata.namespace=x"),
    "nothing at all": (CONFIG_MAPS, "="),
    "nothing of a custom object": (GADGETS, "!="),
    "nothing, and a name": (PODS, "==,metadata.name=q"),
}


async def _fields(stage: Stage, resource: Resource, selector: str) -> None:
    for name in ("red", "blue"):
        await stage.given(CONFIG_MAPS, config_map(name))
        await stage.given(GADGETS, gadget(name))
    await stage.given(SECRETS, named(SECRETS, "s"), named(SECRETS, "t", type="mine"))
    await stage.given(PODS, pod("p"), pod("q", nodeName="n"))
    await stage.given(
        SERVICES, service("s"), service("t", type="ExternalName", externalName="x.example", clusterIP="")
    )
    await stage.list(resource, select=Selection(fields=selector))


for what, (kind, selector_) in FIELDS.items():
    TABLE.add("list", "field selectors", what, _fields, kind, selector_)


@case("list", "plain")
async def a_list_holds_whole_objects_in_order(stage: Stage) -> None:
    await stage.given(
        CONFIG_MAPS, config_map("b", k="1"), config_map("a", k="2"), config_map("a.b"), config_map("a-b")
    )
    await stage.list(CONFIG_MAPS, whole=True)
    await stage.given(GADGETS, gadget("b"), gadget("a"))
    await stage.list(GADGETS, whole=True)


@case("list", "plain")
async def an_empty_list_is_no_refusal(stage: Stage) -> None:
    await stage.list(DEPLOYMENTS)
    await stage.list(GADGETS)


@case("list", "namespaces")
async def all_namespaces_are_listed_together(stage: Stage) -> None:
    await stage.given(CONFIG_MAPS, config_map("a", {"everywhere": stage.namespace}))
    select = Selection(labels=f"everywhere={stage.namespace}")
    await stage.list(CONFIG_MAPS, namespace="", select=select)


@case("list", "paging")
async def pages_are_consistent(stage: Stage) -> None:
    await stage.given(CONFIG_MAPS, *(config_map(f"c-{number}") for number in range(7)))

    async def meddle() -> None:
        await stage.given(CONFIG_MAPS, config_map("c-55"))
        await stage.cluster.delete(CONFIG_MAPS, "c-6", namespace=stage.namespace)

    await stage.list(CONFIG_MAPS, page_size=3, between=meddle)
    await stage.list(CONFIG_MAPS, page_size=3)


@case("list", "paging")
async def pages_of_a_selection_do_not_say_how_many_remain(stage: Stage) -> None:
    await stage.given(
        CONFIG_MAPS, *(config_map(f"c-{number}", {"odd": str(number % 2)}) for number in range(7))
    )
    await stage.list(CONFIG_MAPS, page_size=2, select=Selection(labels="odd=1"))
    await stage.list(CONFIG_MAPS, page_size=2, select=Selection(fields="metadata.name!=c-0"))


@case("list", "paging")
async def a_page_before_what_is_not_selected_is_not_the_last(stage: Stage) -> None:
    await stage.given(CONFIG_MAPS, *(config_map(name, {"is": name}) for name in ("a", "b", "c")))
    for labels in ("is=b", "is=c", "is in (a,b)", "is in (a,c)"):
        await stage.list(CONFIG_MAPS, page_size=1, select=Selection(labels=labels))
    await stage.list(CONFIG_MAPS, page_size=2, select=Selection(fields="metadata.name!=c"))


@case("list", "paging")
async def a_page_of_one_name_is_the_last(stage: Stage) -> None:
    await stage.given(CONFIG_MAPS, config_map("a"), config_map("b"))
    await stage.given(PODS, pod("p", nodeName="n"), pod("q"))
    select = Selection(fields="metadata.name=a")
    await stage.list(CONFIG_MAPS, page_size=1, select=select)
    for fields in ("spec.nodeName=n", "spec.schedulerName=default-scheduler,metadata.name!=q"):
        await stage.list(PODS, page_size=1, select=Selection(fields=fields))


@case("list", "paging")
async def pages_of_a_namespace_that_is_selected_among_all(stage: Stage) -> None:
    await stage.given(CONFIG_MAPS, *(config_map(f"0-{number}") for number in range(3)))
    select = Selection(fields=f"metadata.namespace={stage.namespace}")
    await stage.list(CONFIG_MAPS, namespace="", page_size=2, select=select)


@case("list", "paging")
async def a_page_that_fits_exactly_is_the_last(stage: Stage) -> None:
    await stage.given(GADGETS, *(gadget(f"g-{number}") for number in range(4)))
    for size in (1, 2, 4, 5, 0):
        await stage.list(GADGETS, page_size=size)


@case("list", "paging")
async def pages_cross_namespaces(stage: Stage) -> None:
    label = {"everywhere": stage.namespace}
    await stage.given(CONFIG_MAPS, *(config_map(f"c-{number}", label) for number in range(3)))
    await stage.list(
        CONFIG_MAPS, namespace="", page_size=2, select=Selection(labels=f"everywhere={stage.namespace}")
    )


def _as_of(version: str, match: VersionMatch | None) -> Any:
    async def play(stage: Stage) -> None:
        await stage.given(CONFIG_MAPS, config_map("first"))
        first = await stage.version_of(CONFIG_MAPS, "first")
        await stage.given(CONFIG_MAPS, config_map("second"), config_map("third"))
        await stage.caught_up(CONFIG_MAPS)  # an old version is answered from memory, which lags a little
        for size in (0, 1):
            as_of = AsOf(resource_version=version.replace("first", first), match=match)
            await stage.list(CONFIG_MAPS, as_of=as_of, page_size=size)

    return play


for version_ in ("first", "0", "", "99999999999", "nonsense", "-1"):
    for match_ in (None, *VersionMatch):
        shown = match_.value if match_ else "no match"
        TABLE.add(
            "list",
            "resourceVersionMatch",
            f"version {version_ or 'empty'}, {shown}",
            _as_of(version_, match_),
        )
