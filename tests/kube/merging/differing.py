"""Where merging knowingly differs from the real server's: the table of docs/merging.md."""

from __future__ import annotations

from typing import Any

from tests.kube.differences import Difference, Request
from tests.kube.merging.samples import GROUP
from tests.kube.servers import APPLY, JSON_PATCH, STRATEGIC

MAPS = "/api/v1/namespaces/default/configmaps"
GADGETS = f"/apis/{GROUP}/v1/namespaces/default/gadgets"
SCALERS = {
    version: f"/apis/autoscaling/{version}/namespaces/default/horizontalpodautoscalers"
    for version in ("v1", "v2")
}


def _map(name: str, **fields: Any) -> dict[str, Any]:
    metadata = {"name": name, **fields.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **fields}


def _applies(path: str, manager: str, body: dict[str, Any]) -> Request:
    return Request("PATCH", f"{path}/{body['metadata']['name']}?fieldManager={manager}", body, APPLY)


def _scaler(version: str, **spec: Any) -> dict[str, Any]:
    whole = {
        "maxReplicas": 3,
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
        **spec,
    }
    return {
        "apiVersion": f"autoscaling/{version}",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "differing"},
        "spec": whole,
    }


def _usage(percent: int) -> dict[str, Any]:
    target = {"type": "Utilization", "averageUtilization": percent}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def _finalizers(code: int, answer: Any) -> Any:
    return {"code": code, "finalizers": answer["metadata"].get("finalizers", [])}


def _result(code: int, answer: Any) -> Any:
    return {"code": code, "message": answer.get("message", "")}


DIFFERENCES = (
    Difference(
        what="conflicts with several owners",
        real="causes in random order (the message is sorted)",
        here="causes in the order of the message",
        given=(
            _applies(MAPS, "alice", _map("differing-owners", data={"a": "1"})),
            _applies(MAPS, "bob", _map("differing-owners", data={"b": "1"})),
        ),
        asked=_applies(MAPS, "carol", _map("differing-owners", data={"a": "2", "b": "2"})),
        by_lot=True,
    ),
    Difference(
        what="several fields that do not fit the schema of what is applied",
        real="listed in random order",
        here="listed by name",
        asked=_applies(
            GADGETS,
            "alice",
            {
                "apiVersion": f"{GROUP}/v1",
                "kind": "Gadget",
                "metadata": {"name": "differing-fields"},
                "spec": {"title": 1, "size": "many"},
            },
        ),
        by_lot=True,
    ),
    Difference(
        what="a strategic patch that adds a plain value to a list and deletes it from there",
        real="either first, at random",
        here="deletes first",
        given=(Request("POST", MAPS, _map("differing-lots")),),
        asked=Request(
            "PATCH",
            f"{MAPS}/differing-lots?dryRun=All",
            {
                "metadata": {
                    "finalizers": ["a.io/a", "a.io/b"],
                    "$deleteFromPrimitiveList/finalizers": ["a.io/a"],
                }
            },
            STRATEGIC,
        ),
        seen=_finalizers,
        by_lot=True,
    ),
    Difference(
        what="JSON patch `test` of text with `<`, `>` or `&`",
        real="compares encodings: such text only equals itself if the client escaped it as Go does",
        here="compares values",
        given=(Request("POST", MAPS, _map("differing-text", data={"a": "x<y"})),),
        asked=Request(
            "PATCH",
            f"{MAPS}/differing-text?dryRun=All",
            [{"op": "test", "path": "/data/a", "value": "x<y"}],
            JSON_PATCH,
        ),
        seen=_result,
    ),
    Difference(
        what="an owner who wrote a built-in kind in another API version",
        real="the object is converted to that version before it is compared",
        here="fields are taken to have the same names in all versions",
        given=(_applies(SCALERS["v1"], "alice", _scaler("v1", targetCPUUtilizationPercentage=50)),),
        asked=_applies(SCALERS["v2"], "bob", _scaler("v2", metrics=[_usage(60)])),
    ),
    Difference(
        what="`managedFields` in what is applied, with times that are none",
        real="overlooked, and later refused by built-in kinds over the time",
        here="refused like any `managedFields` that are applied",
        asked=_applies(
            MAPS, "alice", _map("differing-times", metadata={"managedFields": [{"time": "yesterday"}]})
        ),
    ),
)
