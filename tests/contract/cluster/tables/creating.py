"""Creating: names, dry runs, field validation, what the server sets and what it ignores."""

from __future__ import annotations

from typing import Any

from tests.contract.cluster.cases import Table
from tests.contract.cluster.kinds import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    GADGETS,
    NAMESPACES,
    SERVICES,
    config_map,
    container,
    deployment,
    gadget,
    named,
    service,
    with_metadata,
    with_spec,
)
from tests.contract.cluster.stage import Stage
from trimtab.kube.cluster import FieldValidation, Write
from trimtab.kube.discovery import Resource

TABLE = Table(__name__)
case = TABLE.case
DRY = Write(dry_run=True)
HOWS = {each.name.lower(): Write(validation=each) for each in FieldValidation}


@case("create", "plain")
async def a_new_object_gets_uid_version_and_time(stage: Stage) -> None:
    await stage.create(CONFIG_MAPS, config_map("a", {"tier": "web"}, key="value"))
    await stage.get(CONFIG_MAPS, "a")


@case("create", "plain")
async def a_new_deployment_has_generation_one(stage: Stage) -> None:
    await stage.create(DEPLOYMENTS, deployment("web"))
    await stage.get(DEPLOYMENTS, "web")


@case("create", "plain")
async def a_new_custom_object_has_generation_one(stage: Stage) -> None:
    await stage.create(GADGETS, gadget("a", size=3, parts=[{"name": "x"}]))
    await stage.get(GADGETS, "a")


@case("create", "plain")
async def a_name_taken_is_refused(stage: Stage) -> None:
    await stage.given(CONFIG_MAPS, config_map("a"))
    await stage.given(GADGETS, gadget("a"))
    await stage.given(DEPLOYMENTS, deployment("a"))
    await stage.create(CONFIG_MAPS, config_map("a"))
    await stage.create(GADGETS, gadget("a"))
    await stage.create(DEPLOYMENTS, deployment("a"))


@case("create", "plain")
async def what_only_the_server_sets_is_ignored(stage: Stage) -> None:
    claims = {
        "uid": "11111111-2222-3333-4444-555555555555",
        "creationTimestamp": "2001-01-01T00:00:00Z",
        "generation": 7,
        "selfLink": "/nowhere",
        "deletionTimestamp": "2001-01-01T00:00:00Z",
        "deletionGracePeriodSeconds": 7,
    }
    await stage.create(CONFIG_MAPS, with_metadata(config_map("a"), **claims))
    await stage.create(GADGETS, with_metadata(gadget("a"), **claims))


@case("create", "plain")
async def a_status_sent_with_a_new_object_is_dropped(stage: Stage) -> None:
    await stage.create(DEPLOYMENTS, deployment("a") | {"status": {"replicas": 3}})
    await stage.create(GADGETS, gadget("a") | {"status": {"replicas": 3}})
    await stage.create(
        SERVICES, service("a") | {"status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}}
    )


@case("create", "plain")
async def a_resource_version_in_a_new_object_is_refused(stage: Stage) -> None:
    await stage.create(CONFIG_MAPS, with_metadata(config_map("a"), resourceVersion="5"))


@case("create", "plain")
async def empty_maps_and_nulls_are_not_kept(stage: Stage) -> None:
    await stage.create(CONFIG_MAPS, named(CONFIG_MAPS, "a", data={}, binaryData=None))
    await stage.create(CONFIG_MAPS, with_metadata(config_map("b"), labels={}, annotations={}, finalizers=[]))
    await stage.create(CONFIG_MAPS, with_metadata(config_map("c"), labels=None, annotations=None))
    await stage.create(GADGETS, gadget("d", tags=[], limits={}, nothing=None, word=None, free={"x": None}))


@case("create", "plain")
async def kind_and_version_may_be_left_out(stage: Stage) -> None:
    await stage.create(CONFIG_MAPS, {"metadata": {"name": "a"}})
    await stage.create(GADGETS, {"metadata": {"name": "a"}})


@case("create", "plain")
async def another_kind_or_version_is_refused(stage: Stage) -> None:
    await stage.create(CONFIG_MAPS, config_map("a") | {"kind": "Secret"})
    await stage.create(CONFIG_MAPS, config_map("a") | {"kind": "Nonsense"})
    await stage.create(CONFIG_MAPS, config_map("a") | {"apiVersion": "v2"})
    await stage.create(DEPLOYMENTS, deployment("a") | {"apiVersion": "apps/v1beta1"})
    await stage.create(GADGETS, gadget("a") | {"kind": "Widget"})


@case("create", "plain")
async def what_managed_fields_a_client_sends_are_taken_as_they_are(stage: Stage) -> None:
    entry = {
        "manager": "before",
        "operation": "Apply",
        "apiVersion": "v1",
        "time": "2001-01-01T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {"f:x": {}}},
    }
    await stage.create(CONFIG_MAPS, with_metadata(config_map("a", x="1", y="2"), managedFields=[entry]))
    broken = {**entry, "fieldsV1": {"nonsense": {}}}
    await stage.create(CONFIG_MAPS, with_metadata(config_map("b", x="1"), managedFields=[broken]))


@case("create", "plain")
async def owners_and_finalizers_are_kept(stage: Stage) -> None:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "0-1"}
    body = with_metadata(config_map("a"), ownerReferences=[owner], finalizers=["trimtab.dev/test"])
    await stage.create(CONFIG_MAPS, body)


# -- names ------------------------------------------------------------------------------------------------


@case("create", "generateName")
async def a_name_is_made_from_its_beginning(stage: Stage) -> None:
    await stage.create(CONFIG_MAPS, {"metadata": {"generateName": "made-"}})
    await stage.create(GADGETS, gadget("x") | {"metadata": {"generateName": "made-"}})


@case("create", "generateName")
async def a_name_goes_before_its_beginning(stage: Stage) -> None:
    await stage.create(CONFIG_MAPS, {"metadata": {"name": "a", "generateName": "made-"}})


@case("create", "generateName")
async def a_long_beginning_is_cut(stage: Stage) -> None:
    await stage.create(CONFIG_MAPS, {"metadata": {"generateName": "m" * 250}})
    await stage.create(SERVICES, service("x") | {"metadata": {"generateName": "m" * 70}})


@case("create", "generateName")
async def a_bad_beginning_is_refused(stage: Stage) -> None:
    await stage.create(CONFIG_MAPS, {"metadata": {"generateName": "Made_"}})


@case("create", "generateName")
async def a_dry_run_of_a_made_name_shows_one(stage: Stage) -> None:
    await stage.create(CONFIG_MAPS, {"metadata": {"generateName": "made-"}}, write=DRY)


@case("create", "names")
async def a_nameless_object_is_refused(stage: Stage) -> None:
    await stage.create(CONFIG_MAPS, {"metadata": {}})
    await stage.create(GADGETS, gadget("x") | {"metadata": {}})
    await stage.create(DEPLOYMENTS, deployment("x") | {"metadata": {"name": ""}})


BAD_NAMES = ("A", "a_b", "-a", "a-", "a..b", "a/b", "a%b", ".", "..", "é", "a b", "a" * 254)


async def _bad_name(stage: Stage, name: str) -> None:
    await stage.create(CONFIG_MAPS, config_map(name))
    await stage.create(SERVICES, service("x") | {"metadata": {"name": name}})
    await stage.create(GADGETS, gadget(name))


for each in BAD_NAMES:
    shown = each if len(each) < 20 else f"{each[:3]}... of {len(each)} letters"
    TABLE.add("create", "names", f"a bad name: {shown}", _bad_name, each)


@case("create", "names")
async def names_that_only_some_kinds_allow(stage: Stage) -> None:
    for name in ("a.b", "1a", "a" * 64):
        await stage.create(CONFIG_MAPS, config_map(name))
        await stage.create(SERVICES, service("x") | {"metadata": {"name": name}})
        await stage.create(NAMESPACES, named(NAMESPACES, name), write=DRY)


# -- namespaces -------------------------------------------------------------------------------------------


@case("create", "namespaces")
async def a_missing_namespace_is_refused(stage: Stage) -> None:
    await stage.create(CONFIG_MAPS, config_map("a"), namespace="nowhere")
    await stage.create(GADGETS, gadget("a"), namespace="nowhere")


@case("create", "namespaces")
async def a_namespace_in_the_body_has_to_be_the_same(stage: Stage) -> None:
    await stage.create(CONFIG_MAPS, with_metadata(config_map("a"), namespace="another"))
    await stage.create(GADGETS, with_metadata(gadget("a"), namespace="another"))
    await stage.create(CONFIG_MAPS, with_metadata(config_map("b"), namespace=stage.namespace))


@case("create", "namespaces")
async def a_namespaced_object_needs_a_namespace(stage: Stage) -> None:
    await stage.create(CONFIG_MAPS, config_map("a"), namespace="")
    await stage.create(GADGETS, gadget("a"), namespace="")


@case("create", "namespaces")
async def a_cluster_wide_object_has_no_namespace(stage: Stage) -> None:
    await stage.create(NAMESPACES, with_metadata(named(NAMESPACES, "create-wide"), namespace="somewhere"))


# -- dry runs ---------------------------------------------------------------------------------------------


@case("create", "dry run")
async def a_dry_run_shows_the_object_and_keeps_nothing(stage: Stage) -> None:
    for resource, body in _one_of_each():
        await stage.create(resource, body, write=DRY)
        await stage.get(resource, "a")


@case("create", "dry run")
async def a_dry_run_of_a_name_taken_is_refused(stage: Stage) -> None:
    await stage.given(CONFIG_MAPS, config_map("a"))
    await stage.create(CONFIG_MAPS, config_map("a"), write=DRY)


@case("create", "dry run")
async def a_dry_run_is_validated(stage: Stage) -> None:
    await stage.create(DEPLOYMENTS, with_spec(deployment("a"), replicas=-1), write=DRY)


def _one_of_each() -> tuple[tuple[Resource, dict[str, Any]], ...]:
    return (
        (CONFIG_MAPS, config_map("a", k="1")),
        (DEPLOYMENTS, deployment("a")),
        (SERVICES, service("a")),
        (GADGETS, gadget("a", size=1)),
    )


# -- field validation -------------------------------------------------------------------------------------

MISTAKES: dict[str, tuple[Resource, Any]] = {
    "an unknown field": (CONFIG_MAPS, config_map("a") | {"dta": {}}),
    "an unknown field of metadata": (CONFIG_MAPS, with_metadata(config_map("a"), lables={"a": "b"})),
    "unknown fields deep inside": (DEPLOYMENTS, deployment("a", container(imag="x"), hostNetwrk=True)),
    "a field of another letter case": (DEPLOYMENTS, with_spec(deployment("a"), Replicas=2)),
    "an unknown field of a custom object": (GADGETS, gadget("a", sizes=3)),
    "an unknown field at the root of a custom object": (GADGETS, gadget("a") | {"speck": 1}),
    "an unknown field in a list of a custom object": (GADGETS, gadget("a", parts=[{"name": "x", "nam": 1}])),
    "an unknown field of a custom object's metadata": (GADGETS, with_metadata(gadget("a"), lables={})),
    "a duplicate field": (
        CONFIG_MAPS,
        b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"1","k":"2"}}',
    ),
    "a duplicate field of a struct": (
        CONFIG_MAPS,
        b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"1"},"data":{"l":"2"}}',
    ),
    "a list given twice": (
        DEPLOYMENTS,
        (
            b'{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"},"spec":{"replicas":2,'
            b'"replicas":null,"selector":{"matchLabels":{"app":"a"}},"template":{"metadata":{"labels":'
            b'{"app":"a"}},"spec":{"containers":[{"name":"web","image":"x:1","tty":true},{"name":"b"}],'
            b'"containers":[{"name":"web","image":"y:1","image":null}]}}}}'
        ),
    ),
    "a duplicate field of a custom object": (
        GADGETS,
        (
            b'{"apiVersion":"contract.trimtab.dev/v1","kind":"Gadget","metadata":{"name":"a"},'
            b'"spec":{"size":1,"size":2}}'
        ),
    ),
}


async def _mistaken(stage: Stage, resource: Resource, body: Any, write: Write) -> None:
    await stage.create(resource, body, write=write)
    await stage.get(resource, "a")


for mistake, (kind, wrong) in MISTAKES.items():
    for how, as_asked in HOWS.items():
        TABLE.add("create", f"field validation {how}", f"{mistake}: {how}", _mistaken, kind, wrong, as_asked)


# -- bodies that are none ---------------------------------------------------------------------------------

NO_BODIES: dict[str, bytes] = {
    "nothing": b"",
    "no JSON": b"nonsense",
    "half an object": b'{"metadata": {"name": "a"',
    "a list": b"[]",
    "a string": b'"a"',
    "null": b"null",
    "an empty object": b"{}",
    "two objects": b'{"metadata":{"name":"a"}}{"metadata":{"name":"b"}}',
    "a name that is a number": b'{"metadata": {"name": 5}}',
    "labels that are a list": b'{"metadata": {"name": "a", "labels": []}}',
    "a label that is a number": b'{"metadata": {"name": "a", "labels": {"a": 1}}}',
    "data that is a string": b'{"metadata": {"name": "a"}, "data": "x"}',
    "bytes that are not base64": b'{"metadata": {"name": "a"}, "binaryData": {"x": "???"}}',
    "metadata that is a list": b'{"metadata": []}',
    "metadata that is a string": b'{"metadata": "x"}',
    "bytes that are not UTF-8": b'{"metadata": {"name": "\xff"}}',
    "deep nesting": b'{"a":' * 11000 + b"1" + b"}" * 11000,
    "more than is allowed": b'{"metadata": {"name": "a"}, "data": {"x": "' + b"x" * 3200000 + b'"}}',
    "more than a ConfigMap may hold": (
        b'{"metadata": {"name": "a"}, "data": {"x": "' + b"x" * 1100000 + b'"}}'
    ),
}


async def _sent(stage: Stage, body: bytes) -> None:
    await stage.create(CONFIG_MAPS, body)
    await stage.create(GADGETS, body.replace(b'"data"', b'"spec"'))


for what, sent in NO_BODIES.items():
    TABLE.add("create", "bad bodies", what, _sent, sent)

TYPES: dict[str, tuple[Resource, Any]] = {
    "a string for a number": (DEPLOYMENTS, with_spec(deployment("a"), replicas="two")),
    "a fraction for an integer": (DEPLOYMENTS, with_spec(deployment("a"), replicas=1.5)),
    "a number too large": (DEPLOYMENTS, with_spec(deployment("a"), replicas=2**40)),
    "a number for a string": (DEPLOYMENTS, deployment("a", container(image=5))),
    "a string for a boolean": (DEPLOYMENTS, with_spec(deployment("a"), paused="yes")),
    "an object for a list": (
        DEPLOYMENTS,
        deployment("a") | {"spec": {"template": {"spec": {"containers": {}}}}},
    ),
    "a list for an object": (DEPLOYMENTS, deployment("a") | {"spec": []}),
    "a string in a list of objects": (
        DEPLOYMENTS,
        deployment("a") | {"spec": {"template": {"spec": {"containers": ["x"]}}}},
    ),
    "a bad time": (CONFIG_MAPS, with_metadata(config_map("a"), creationTimestamp="yesterday")),
    "a bad quantity": (DEPLOYMENTS, deployment("a", container(resources={"limits": {"cpu": "much"}}))),
    "a bad port of a service": (SERVICES, service("a", {"port": "http"})),
    "a bad int-or-string": (SERVICES, service("a", {"port": 80, "targetPort": True})),
    "a string for a custom number": (GADGETS, gadget("a", size="three")),
    "a fraction for a custom integer": (GADGETS, gadget("a", size=1.5)),
    "a number for a custom string": (GADGETS, gadget("a", word=5)),
    "an object for a custom list": (GADGETS, gadget("a", tags={})),
    "a list for a custom object": (GADGETS, gadget("a", limits=[])),
    "a null for a custom list item": (GADGETS, gadget("a", tags=[None])),
    "a spec that is a string": (GADGETS, named(GADGETS, "a", spec="x")),
}


async def _typed(stage: Stage, resource: Resource, body: Any) -> None:
    await stage.create(resource, body)


for what, (kind, wrong) in TYPES.items():
    TABLE.add("create", "wrong types", what, _typed, kind, wrong)
