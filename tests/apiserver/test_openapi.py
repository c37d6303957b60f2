"""Documents of OpenAPI name what the real server's do, as far as they say anything of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from testbed.controlplane import ControlPlane
from trimtab.apiserver import MemoryCluster
from trimtab.apiserver.documents import group_version_document, schema_index

Json = dict[str, Any]
TOLD = ("x-kubernetes-action", "x-kubernetes-group-version-kind")
METHODS = ("get", "put", "post", "patch", "delete")
CATALOG = MemoryCluster().api.catalog
GROUPS = [each for each in schema_index(CATALOG)["paths"] if each.count("/") == 1 + each.startswith("apis/")]


def said(document: Json) -> Json:
    """Of each operation what both servers say, on the paths that both have.

    The real server has more: watches in paths, which nobody asks for any more, and paths within containers.
    """
    return {
        path: {
            method: {name: operation.get(name) for name in TOLD}
            for method, operation in operations.items()
            if method in METHODS and not ("proxy" in path and method in ("post", "put", "patch", "delete"))
        }
        for path, operations in sorted(document["paths"].items())
        if "/watch/" not in path and not path.endswith(("/", "{path}", "/logs"))
    }


@pytest.mark.parametrize("group", GROUPS)
def test_operations_are_those_of_the_real_server(api_server: ControlPlane, group: str) -> None:
    ours = json.loads(group_version_document(CATALOG, group.partition("/")[2]) or b"{}")
    assert said(ours) == said(api_server.call("GET", f"/openapi/v3/{group}"))
