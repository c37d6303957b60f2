"""Where merging knowingly differs from the real server's: the table of docs/merging.md."""

from __future__ import annotations

from typing import Any

from tests.apiserver.bad_requests import APPLY, JSON_PATCH, STRATEGIC
from tests.apiserver.wire import Exchange, delete
from tests.differing.asking import Difference, Differences, Proof, patch, post
from tests.kube.merging.samples import GADGET_CRD, GROUP

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MAPS = "/api/v1/namespaces/default/configmaps"
GADGETS = f"/apis/{GROUP}/v1/namespaces/default/gadgets"


def _map(name: str, **fields: Any) -> dict[str, Any]:
    metadata = {"name": name, **fields.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **fields}


def _applies(path: str, manager: str, body: dict[str, Any]) -> Exchange:
    return patch(f"{path}/{body['metadata']['name']}?fieldManager={manager}", body, APPLY)


MERGING: Differences = {
    "conflicts with several owners": Difference(
        real="causes in random order (the message is sorted)",
        ours="causes in the order of the message",
        proofs=(
            Proof(
                given=(
                    _applies(MAPS, "alice", _map("differing-owners", data={"a": "1"})),
                    _applies(MAPS, "bob", _map("differing-owners", data={"b": "1"})),
                ),
                asked=_applies(MAPS, "carol", _map("differing-owners", data={"a": "2", "b": "2"})),
                after=(delete(f"{MAPS}/differing-owners"),),
                by_lot=True,
            ),
        ),
    ),
    "several fields that do not fit the schema of what is applied": Difference(
        real="listed in random order",
        ours="listed by name",
        proofs=(
            Proof(
                given=(post(DEFINITIONS, GADGET_CRD),),
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
                settles=500,
                by_lot=True,
            ),
        ),
    ),
    "a strategic patch that adds a plain value to a list and deletes it from there": Difference(
        real="either first, at random",
        ours="deletes first",
        proofs=(
            Proof(
                given=(post(MAPS, _map("differing-lots")),),
                asked=patch(
                    f"{MAPS}/differing-lots?dryRun=All",
                    {
                        "metadata": {
                            "finalizers": ["a.io/a", "a.io/b"],
                            "$deleteFromPrimitiveList/finalizers": ["a.io/a"],
                        }
                    },
                    STRATEGIC,
                ),
                part=("metadata", "finalizers"),
                after=(delete(f"{MAPS}/differing-lots"),),
                by_lot=True,
            ),
        ),
    ),
    "JSON patch `test` of text with `<`, `>` or `&`": Difference(
        real="compares encodings: such text only equals itself if the client escaped it as Go does",
        ours="compares values",
        proofs=(
            Proof(
                given=(post(MAPS, _map("differing-text", data={"a": "x<y"})),),
                asked=patch(
                    f"{MAPS}/differing-text?dryRun=All",
                    [{"op": "test", "path": "/data/a", "value": "x<y"}],
                    JSON_PATCH,
                ),
                after=(delete(f"{MAPS}/differing-text"),),
            ),
        ),
    ),
    "`managedFields` in what is applied, with times that are none": Difference(
        real="overlooked, and later refused by built-in kinds over the time",
        ours="refused like any `managedFields` that are applied",
        proofs=(
            Proof(
                asked=_applies(
                    MAPS,
                    "alice",
                    _map("differing-times", metadata={"managedFields": [{"time": "yesterday"}]}),
                )
            ),
        ),
    ),
}
