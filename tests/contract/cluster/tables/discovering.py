"""What the server says of itself: its kinds, its version, its schemas, and our rights."""

from __future__ import annotations

from typing import Any

import msgspec

from tests.contract.cluster.cases import Table
from tests.contract.cluster.kinds import CONFIG_MAPS, DEPLOYMENTS, GADGETS, GROUP
from tests.contract.cluster.stage import Stage
from trimtab.errors import TrimtabError
from trimtab.kube.cluster import Question
from trimtab.kube.discovery import Resource

TABLE = Table(__name__)
case = TABLE.case
#: kinds of the suite's own tables come and go; the others are always there
OWN = "trimtab.dev"


def _shown(resource: Resource) -> dict[str, Any]:
    return {
        **msgspec.structs.asdict(resource),
        "short_names": list(resource.short_names),
        "categories": list(resource.categories),
        "verbs": sorted(resource.verbs),
        "subresources": sorted(resource.subresources),
    }


async def _built_in(stage: Stage) -> list[Resource]:
    found = await stage.cluster.discover()
    return [each for each in found.resources if not each.group.endswith(OWN)]


@case("discover", "kinds")
async def every_built_in_kind(stage: Stage) -> None:
    for each in sorted(await _built_in(stage), key=lambda one: (one.group, one.version, one.plural)):
        stage.say(f"{each.api_version} {each.plural}", _shown(each))


@case("discover", "order")
async def groups_and_versions_in_the_order_of_preference(stage: Stage) -> None:
    stage.say("order", list(dict.fromkeys(each.api_version for each in await _built_in(stage))))


@case("discover", "kinds")
async def a_custom_kind(stage: Stage) -> None:
    stage.say("Gadget", _shown(await stage.discovered(GADGETS.api_version, "Gadget")))


@case("discover", "failures")
async def every_group_answers(stage: Stage) -> None:
    stage.say("failed", dict((await stage.cluster.discover()).failed))


@case("version", "plain")
async def the_version(stage: Stage) -> None:
    version = await stage.cluster.version()
    stage.say("version", [version.major, version.minor])


SCHEMAS = {
    "v1": ("io.k8s.api.core.v1.Pod", "io.k8s.api.core.v1.ConfigMap", "io.k8s.api.core.v1.Service"),
    "apps/v1": ("io.k8s.api.apps.v1.Deployment", "io.k8s.api.core.v1.PodSpec"),
    "batch/v1": ("io.k8s.api.batch.v1.Job",),
    "networking.k8s.io/v1": ("io.k8s.api.networking.v1.Ingress",),
    f"{GROUP}/v1": ("dev.trimtab.contract.v1.Gadget",),
}


async def _schema(stage: Stage, api_version: str, names: tuple[str, ...]) -> None:
    document = msgspec.json.decode(await stage.cluster.schema(api_version))
    schemas = document["components"]["schemas"]
    for name in names:
        schema = schemas.get(name, {})
        kinds = schema.get("x-kubernetes-group-version-kind")
        properties = {field: _outline(each) for field, each in schema.get("properties", {}).items()}
        stage.say(name, {"kinds": kinds, "properties": properties, "required": schema.get("required")})


def _outline(schema: dict[str, Any]) -> dict[str, Any]:
    """What a client needs to know of a field: its type and how it merges."""
    return {
        name: value
        for name, value in schema.items()
        if name in {"type", "format", "$ref"} or name.startswith("x-kubernetes-")
    }


for version_, names_ in SCHEMAS.items():
    TABLE.add(
        "schema",
        "existence",
        f"the schema of {version_}",
        _schema,
        version_,
        names_,
    )


@case("schema", "missing")
async def no_schema_of_an_unknown_version(stage: Stage) -> None:
    try:
        await stage.cluster.schema("nobody.example/v1")
    except TrimtabError as error:
        stage.say("refusal", [type(error).__name__, error.reason])


@case("schema", "every group version")
async def every_group_version_has_a_schema(stage: Stage) -> None:
    served: dict[str, set[str]] = {}
    for each in await _built_in(stage):
        served.setdefault(each.api_version, set()).add(each.kind)
    for version, kinds in sorted(served.items()):
        document = msgspec.json.decode(await stage.cluster.schema(version))
        stage.say(version, sorted(kinds & _described(document, version)))


def _described(document: Any, api_version: str) -> set[str]:
    """The kinds of a group version that its document describes."""
    group, _, version = api_version.rpartition("/")
    return {
        kind["kind"]
        for schema in document["components"]["schemas"].values()
        for kind in schema.get("x-kubernetes-group-version-kind", [])
        if (kind["group"], kind["version"]) == (group, version)
    }


@case("may", "plain")
async def an_admin_may_everything(stage: Stage) -> None:
    for verb, resource in (
        ("get", CONFIG_MAPS),
        ("delete", DEPLOYMENTS),
        ("patch", GADGETS),
        ("fly", GADGETS),
    ):
        verdict = await stage.cluster.may(Question(verb=verb, resource=resource, namespace=stage.namespace))
        stage.say(f"{verb} {resource.plural}", verdict.allowed)
