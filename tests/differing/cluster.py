"""Where the embedded cluster as a whole knowingly differs: the table of docs/embedded-cluster.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.apiserver.bad_requests import APPLY, COLOURS, CORE, MAPS, MERGE, STRATEGIC, WEB
from tests.apiserver.wire import PARTIAL, Exchange, deep, delete, get, send
from tests.differing.asking import Difference, Differences, Proof, patch, post
from trimtab.apiserver.negotiation import OPENAPI_V2


def pem(kind: str) -> str:
    """A block that says to be of a kind, and is of none."""
    return f"-----BEGIN {kind}-----\nYQ==\n-----END {kind}-----\n"


def metadata_of(path: str) -> Proof:
    """A small object of the system, of which its name is enough to see that it is there."""
    return Proof(asked=get(path), part=("metadata", "name"))


# -- what has to be there ---------------------------------------------------------------------------------

PODS = f"{CORE}/pods"
POD_SPEC = {"containers": [{"name": "a", "image": "a:1", "resources": {"requests": {"cpu": "1"}}}]}
RUNNING = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
POD = (
    post(f"{CORE}/serviceaccounts", {"metadata": {"name": "default"}}),
    post(PODS, {"metadata": {"name": "differing", "labels": {"app": "differing"}}, "spec": POD_SPEC}),
    patch(f"{PODS}/differing/status", {"status": RUNNING}, MERGE),
)
OTHER = "differing"  # a namespace in which some may write less
OTHER_MAPS = f"/api/v1/namespaces/{OTHER}/configmaps"
OTHER_THERE = post("/api/v1/namespaces", {"metadata": {"name": OTHER}})
NEW_MAP = post(f"{OTHER_MAPS}?dryRun=All", {"metadata": {"name": "new"}})
NOWHERE = "https://127.0.0.1:1/"  # nobody listens there
QUOTAS = f"/api/v1/namespaces/{OTHER}/resourcequotas"
NONE = {"configmaps": "0"}
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
WEBHOOK = {
    "name": "differing.example.com",
    "clientConfig": {"url": NOWHERE},
    "rules": [
        {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    ],
    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": OTHER}},
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
}
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
POLICY_BINDINGS = f"{POLICIES[:-8]}policybindings"
POLICY = {
    "metadata": {"name": "differing"},
    "spec": {
        "matchConstraints": {
            "resourceRules": WEBHOOK["rules"],
            "namespaceSelector": WEBHOOK["namespaceSelector"],
        },
        "validations": [{"expression": "false", "message": "nothing is good enough"}],
    },
}
BINDING = {
    "metadata": {"name": "differing"},
    "spec": {"policyName": "differing", "validationActions": ["Deny"]},
}
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def definition(plural: str, schema: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    versions = [
        {"name": name, "served": True, "storage": name == "v1", "schema": {"openAPIV3Schema": schema}}
        for name in ("v1", "v2")
    ]
    names = {"plural": plural, "kind": plural.title()}
    spec = {"group": "differing.example.com", "scope": "Namespaced", "names": names, "versions": versions}
    return {"metadata": {"name": f"{plural}.differing.example.com"}, "spec": {**spec, **more}}


CONVERTED = definition(
    "converted",
    ANYTHING,
    conversion={
        "strategy": "Webhook",
        "webhook": {"clientConfig": {"url": NOWHERE}, "conversionReviewVersions": ["v1"]},
    },
)
OUTDATED = definition("outdated", ANYTHING)
OUTDATED_OBJECTS = f"/apis/differing.example.com/v1/namespaces/{CORE[19:]}/outdated"
NEWER_OBJECTS = OUTDATED_OBJECTS.replace("/v1/", "/v2/")
OUTDATED_OBJECT = {
    "apiVersion": "differing.example.com/v1",
    "kind": "Outdated",
    "metadata": {"name": "kept"},
}
OUTDATED_PATH = f"{DEFINITIONS}/outdated.differing.example.com"


def served(*versions: str) -> Exchange:
    """The definition with these versions alone, the last of which is the one to keep objects in."""
    described = {"served": True, "schema": {"openAPIV3Schema": ANYTHING}}
    listed = [{"name": name, "storage": name == versions[-1], **described} for name in versions]
    return patch(OUTDATED_PATH, {"spec": {"versions": listed}}, MERGE)


RULED = definition("ruled", {**ANYTHING, "x-kubernetes-validations": [{"rule": "self.is.no.rule("}]})
REPLICAS = '{"metadata":{"name":"new"},"spec":{"replicas":%s}}'
BRIEFLY = f"Accept: {PARTIAL}"
LISTED = "/api/v1/namespaces/{namespace}/configmaps"
REVISIONS = f"/apis/apps/v1/namespaces/{CORE[19:]}/controllerrevisions"
REVISION = '{"metadata":{"name":"new"},"revision":1,"data":%s}'
ANY_OBJECTS = f"/apis/differing.example.com/v1/namespaces/{CORE[19:]}/anything"
ANY_OBJECT = '{"apiVersion":"differing.example.com/v1","kind":"Anything","metadata":{"name":"new"},"free":%s}'
DEEPEST_VALUE = '{"a":' * 9_999 + "1" + "}" * 9_999
MANY_BRANCHES = f"[{','.join([deep(9_990)] * 6)}]"

# -- the differences --------------------------------------------------------------------------------------

CLUSTER: Differences = {
    "Tables (`kubectl get` columns)": Difference(
        real="server-side columns",
        ours="the objects; kubectl shows name and age",
        proofs=(
            Proof(asked=get(COLOURS, "Accept: application/json;as=Table;g=meta.k8s.io;v=v1"), part=("kind",)),
        ),
    ),
    "rights": Difference(
        real="RBAC; who may may act as somebody else",
        ours="whoever has the token may do everything, as nobody else",
        proofs=(Proof(asked=get(f"{MAPS}/nothing", "Impersonate-User: somebody")),),
    ),
    "values nested thousands of levels deep": Difference(
        real="kept, up to 10,000; 504 where that takes longer than half a minute; laid out however long",
        ours="up to 9,994 in custom resources; 504 at once where many are so deep; laid out up to 64 MiB",
        proofs=(
            Proof(
                given=(post(DEFINITIONS, definition("anything", ANYTHING)),),
                asked=send("POST", f"{ANY_OBJECTS}?dryRun=All", ANY_OBJECT % DEEPEST_VALUE, BRIEFLY),
                settles=201,
                part=("kind",),
                after=(delete(f"{DEFINITIONS}/anything.differing.example.com"),),
            ),
            Proof(
                asked=send("POST", f"{REVISIONS}?dryRun=All", REVISION % MANY_BRANCHES, BRIEFLY),
                part=("kind",),
            ),
        ),
    ),
    "conversion webhooks of custom resources": Difference(
        real="asked",
        ours="not asked: versions differ in their name alone",
        proofs=(
            Proof(
                given=(post(DEFINITIONS, CONVERTED),),
                asked=post(
                    f"/apis/differing.example.com/v2/namespaces/{CORE[19:]}/converted?dryRun=All",
                    {
                        "apiVersion": "differing.example.com/v2",
                        "kind": "Converted",
                        "metadata": {"name": "new"},
                    },
                ),
                settles=500,
                after=(delete(f"{DEFINITIONS}/converted.differing.example.com"),),
            ),
        ),
    ),
    "watches of objects that are kept in a version which their definition gave up": Difference(
        real="429",
        ours="an event of an error",
        proofs=(
            Proof(
                given=(
                    post(DEFINITIONS, OUTDATED),
                    post(OUTDATED_OBJECTS, OUTDATED_OBJECT),
                    served("v1", "v2"),
                    patch(f"{OUTDATED_PATH}/status", {"status": {"storedVersions": ["v2"]}}, MERGE),
                    served("v2"),
                ),
                asked=get(f"{NEWER_OBJECTS}?watch=1&timeoutSeconds=1"),
                settles=429,
                part=("reason",),
                after=(served("v1", "v2"), delete(f"{NEWER_OBJECTS}/kept"), delete(OUTDATED_PATH)),
            ),
        ),
    ),
    "Warnings of TLS Secrets": Difference(
        real="of whatever makes no pair of a certificate and its key",
        ours="of what is no PEM",
        proofs=(
            Proof(
                asked=post(
                    f"{CORE}/secrets?dryRun=All",
                    {
                        "metadata": {"name": "new"},
                        "type": "kubernetes.io/tls",
                        "stringData": {"tls.crt": pem("CERTIFICATE"), "tls.key": pem("PRIVATE KEY")},
                    },
                ),
                part=("warning",),
            ),
        ),
    ),
    "tokens of ServiceAccounts": Difference(
        real="issued; their keys are told",
        ours="no; the token of the kubeconfig may do everything",
        proofs=(
            Proof(
                given=POD[:1],
                asked=post(f"{CORE}/serviceaccounts/default/token", {"spec": {"audiences": ["a"]}}),
                part=("kind",),
            ),
            Proof(asked=get("/openid/v1/jwks"), part=("keys", 0, "use")),
        ),
    ),
    "resizing a running pod (`pods/resize`)": Difference(
        real="yes",
        ours="refused like any other change of a pod",
        proofs=(
            Proof(
                given=POD,
                asked=patch(
                    f"{PODS}/differing/resize?dryRun=All",
                    {"spec": {"containers": [{"name": "a", "resources": {"requests": {"cpu": "2"}}}]}},
                    STRATEGIC,
                ),
                part=("kind",),
            ),
        ),
    ),
    "containers: logs, commands in them, ways to them": Difference(
        real="a node is asked",
        ours="501: no containers run",
        proofs=tuple(
            Proof(given=POD, asked=get(f"{PODS}/differing/{part}"))
            for part in ("log", "exec?command=a", "attach", "proxy", "portforward")
        ),
    ),
    "component statuses, `/metrics`, `/statusz`, `/flagz` and `/debug`": Difference(
        real="served, and named among the paths of `/`",
        ours="no",
        proofs=(
            *(
                Proof(asked=get(path))
                for path in (
                    "/api/v1/componentstatuses/etcd-0",
                    "/metrics",
                    "/metrics/slis",
                    "/statusz",
                    "/flagz",
                    "/debug/pprof/",
                    "/debug/api_priority_and_fairness/dump_priority_levels",
                )
            ),
            Proof(asked=get("/"), part=("paths", 0)),
        ),
    ),
    "`/version`": Difference(
        real="tells of the Go that it was built with",
        ours="no Go: these fields are empty",
        proofs=(Proof(asked=get("/version"), part=("compiler",)),),
    ),
    "the order of fields": Difference(
        real="that of its structures in Go",
        ours="that in which they were given; what the server adds comes last",
        proofs=(Proof(asked=get(COLOURS), part=("metadata",), order=True),),
    ),
    "`timeout` of a request": Difference(
        real="504 once it is over",
        ours="read, and refused if it is none, but every answer is whole: none takes long",
        proofs=(Proof(asked=get(f"{MAPS}/nothing?timeout=1ns")),),
    ),
    "system objects": Difference(
        real="RBAC roles, flow schemas, APIServices, ServiceCIDRs",
        ours="namespaces, priority classes, the Service `kubernetes`",
        proofs=tuple(
            metadata_of(path)
            for path in (
                "/apis/rbac.authorization.k8s.io/v1/clusterroles/view",
                "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/exempt",
                "/apis/apiregistration.k8s.io/v1/apiservices/v1.apps",
                "/apis/networking.k8s.io/v1/servicecidrs/kubernetes",
            )
        ),
    ),
    "flow control": Difference(
        real="each answer names the flow schema and the priority that it fell under",
        ours="there is none",
        proofs=(Proof(asked=get(f"{MAPS}/nothing"), part=("x-kubernetes-pf-flowschema-uid",)),),
    ),
    "`/openapi/v2`": Difference(
        real="paths, and schemas of all that is sent",
        ours="schemas of what is kept",
        proofs=(
            Proof(asked=get("/openapi/v2"), part=("paths", "/version/", "get", "operationId")),
            Proof(asked=get("/openapi/v2"), part=("definitions", "io.k8s.api.policy.v1.Eviction", "type")),
        ),
    ),
    "`/openapi/v2` in protobuf": Difference(
        real="the same",
        ours="a title alone: clients then know that v3 is all there is",
        proofs=(Proof(asked=get("/openapi/v2", f"Accept: {OPENAPI_V2}"), long=True),),
    ),
    "operations of `/openapi/v3`": Difference(
        real="ids, tags, descriptions, all parameters, schemas of bodies and answers; watches as paths",
        ours="the kind, the action, and the parameters of writes",
        proofs=(
            *(
                Proof(asked=get("/openapi/v3/api/v1"), part=("paths", LISTED, "get", *part))
                for part in (("operationId",), ("description",), ("parameters", 0, "name"))
            ),
            Proof(
                asked=get("/openapi/v3/api/v1"),
                part=("paths", LISTED, "get", "responses", "200", "content", "application/json", "schema"),
            ),
            Proof(
                asked=get("/openapi/v3/api/v1"),
                part=("paths", "/api/v1/watch/configmaps", "get", "x-kubernetes-action"),
            ),
        ),
    ),
    "answers in protobuf": Difference(
        real="on demand",
        ours="JSON and YAML; requests in protobuf are read",
        proofs=(Proof(asked=get(f"{MAPS}/nothing", "Accept: application/vnd.kubernetes.protobuf")),),
    ),
    "rules in CEL": Difference(
        real="compiled and run",
        ours="kept, and never looked at",
        proofs=(
            Proof(asked=post(f"{DEFINITIONS}?dryRun=All", RULED), part=("kind",)),
            Proof(
                given=(OTHER_THERE, post(POLICIES, POLICY), post(POLICY_BINDINGS, BINDING)),
                asked=NEW_MAP,
                settles=422,
                after=(delete(f"{POLICY_BINDINGS}/differing"), delete(f"{POLICIES}/differing")),
            ),
        ),
    ),
    "webhooks that admit": Difference(
        real="asked",
        ours="kept, and never asked",
        proofs=(
            Proof(
                given=(
                    OTHER_THERE,
                    post(WEBHOOKS, {"metadata": {"name": "differing"}, "webhooks": [WEBHOOK]}),
                ),
                asked=NEW_MAP,
                settles=500,
                after=(delete(f"{WEBHOOKS}/differing"),),
            ),
        ),
    ),
    "quotas": Difference(
        real="kept to",
        ours="kept, and never looked at",
        proofs=(
            Proof(
                given=(
                    OTHER_THERE,
                    post(QUOTAS, {"metadata": {"name": "none"}, "spec": {"hard": NONE}}),
                    patch(f"{QUOTAS}/none/status", {"status": {"hard": NONE, "used": NONE}}, MERGE),
                ),
                asked=post(OTHER_MAPS, {"metadata": {"name": "new"}}),  # trial runs are not counted
                settles=403,
                after=(delete(f"{QUOTAS}/none"), delete(f"{OTHER_MAPS}/new")),
            ),
        ),
    ),
    "refusals of numbers with an exponent in integers": Difference(
        real="show the number as it is written, and the field",
        ours="show the number as it is read; of one that nothing can hold not the field",
        proofs=tuple(
            Proof(asked=send("POST", WEB.replace("/web", "?dryRun=All"), REPLICAS % number))
            for number in ("1e2", "1e400")
        ),
    ),
    "an apply with a number that nothing can hold, such as `1e400`": Difference(
        real="read as text",
        ours="refused",
        proofs=(
            Proof(
                asked=send(
                    "PATCH",
                    f"{WEB}?dryRun=All&fieldManager=differing&force=true",
                    f'{{"apiVersion":"apps/v1","kind":"Deployment",{(REPLICAS % "1e400")[1:]}',
                    media=APPLY,
                )
            ),
        ),
    ),
    "an apply or a strategic merge patch with an integer that its field cannot hold": Difference(
        real="its lowest bits are kept, without a word",
        ours="the number is kept whole",
        proofs=(
            Proof(
                asked=patch(
                    f"{WEB}?dryRun=All&fieldManager=differing&force=true",
                    {
                        "apiVersion": "apps/v1",
                        "kind": "Deployment",
                        "metadata": {"name": "web"},
                        "spec": {"replicas": 4294967299},
                    },
                    APPLY,
                ),
                part=("spec", "replicas"),
            ),
            Proof(
                asked=patch(f"{WEB}?dryRun=All", {"spec": {"replicas": 4294967299}}, STRATEGIC),
                part=("spec", "replicas"),
            ),
        ),
    ),
}
