"""Where kinds that few people write by hand are judged otherwise: more rows for docs/kinds-data.md."""

from __future__ import annotations

from tests.apiserver.bad_requests import MERGE
from tests.apiserver.wire import delete
from tests.differing.asking import Difference, Differences, Proof, patch, post

SERVICES = "/api/v1/namespaces/default/services?dryRun=All"
JOBS = "/apis/batch/v1/namespaces/default/jobs?dryRun=All"
#: pods with numbers, but not how many: the real server looks for that, and stumbles
UNCOUNTED = {
    "completionMode": "Indexed",
    "parallelism": 2,
    "successPolicy": {"rules": [{"succeededCount": 1}]},
    "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a:1"}]}},
}

RARER: Differences = {
    "an indexed Job with a `successPolicy` and without `completions`": Difference(
        real="the connection is cut",
        ours="refused, as without the policy",
        proofs=(Proof(asked=post(JOBS, {"metadata": {"name": "differing"}, "spec": UNCOUNTED})),),
    ),
    "`internalTrafficPolicy` of a Service of the type `ExternalName`": Difference(
        real="kept, and not shown",
        ours="shown",
        proofs=(
            Proof(
                asked=post(
                    SERVICES,
                    {
                        "metadata": {"name": "differing"},
                        "spec": {
                            "type": "ExternalName",
                            "externalName": "a.example",
                            "internalTrafficPolicy": "Local",
                        },
                    },
                ),
                part=("spec", "internalTrafficPolicy"),
            ),
        ),
    ),
    "`rules` of a Role that goes with its last finalizer": Difference(
        real="an empty list",
        ours="null",
        proofs=(
            Proof(
                given=(
                    post(
                        "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles",
                        {"metadata": {"name": "differing", "finalizers": ["a.example/b"]}, "rules": []},
                    ),
                    delete("/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles/differing"),
                ),
                asked=patch(
                    "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles/differing",
                    {"metadata": {"finalizers": None}, "rules": []},
                    MERGE,
                ),
                part=("rules",),
            ),
        ),
    ),
}
