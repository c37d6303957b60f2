"""Manifests as verbs print them."""

from __future__ import annotations

import json

from trimtab.interfaces.cli.manifests import manifests_shown
from trimtab.resources.manifests import Manifest
from trimtab.resources.tables import Paper

WEB: Manifest = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "shop"},
}
MIGRATE: Manifest = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"generateName": "migrate-"}}


def shown(output: str, *manifests: Manifest) -> str:
    return manifests_shown(manifests, output, Paper())


def test_json_is_one_list_as_kubectl_takes_it() -> None:
    told = [json.loads(shown("json", *manifests)) for manifests in ((WEB, MIGRATE), (WEB,), ())]
    assert [(each["apiVersion"], each["kind"]) for each in told] == [("v1", "List")] * 3
    assert [each["items"] for each in told] == [[WEB, MIGRATE], [WEB], []]


def test_names_are_as_kubectl_takes_them_and_begin_as_a_server_would_have_them() -> None:
    assert shown("name", WEB, MIGRATE) == "deployment.apps/web\njob.batch/migrate-\n"


def test_rows_tell_kind_namespace_and_name_and_wider_ones_the_version() -> None:
    assert shown("table", WEB, MIGRATE) == (
        "KIND             NAMESPACE  NAME\n"
        "Deployment.apps  shop       web\n"
        "Job.batch        -          migrate-\n"
    )
    assert [line.split()[-1] for line in shown("wide", WEB, MIGRATE).splitlines()] == [
        "VERSION", "apps/v1", "batch/v1",
    ]  # fmt: skip


def test_yaml_is_one_document_each_and_nothing_is_nothing() -> None:
    assert shown("yaml", MIGRATE, MIGRATE).count("---\n") == 1
    assert [shown(output) for output in ("yaml", "table", "wide", "name")] == [""] * 4
