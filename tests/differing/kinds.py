"""Where kinds and values are knowingly judged otherwise: the table of docs/kinds-data.md."""

from __future__ import annotations

import base64
from typing import Any

from tests.apiserver.bad_requests import MERGE
from tests.apiserver.wire import delete, send
from tests.differing.asking import Difference, Differences, Proof, patch, post

DRY = "?dryRun=All"
GROUP = "differing.example.com"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
RULED = f"/apis/{GROUP}/v1/ruled"
MAPS = f"/api/v1/namespaces/default/configmaps{DRY}"
DRIVERS = f"/apis/storage.k8s.io/v1/csidrivers{DRY}"
CLASSES = f"/apis/resource.k8s.io/v1/deviceclasses{DRY}"
BACKEND = {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}
INGRESSES = "/apis/networking.k8s.io/v1/namespaces/default/ingresses"
SIGNINGS = f"/apis/certificates.k8s.io/v1/certificatesigningrequests{DRY}"
NO_REQUEST = base64.b64encode(
    b"-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n"
).decode()
SECRETS = f"/api/v1/namespaces/default/secrets{DRY}"
SLICES = f"/apis/resource.k8s.io/v1/resourceslices{DRY}"
NODES = f"/api/v1/nodes{DRY}"
POLICIES = f"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies{DRY}"


def _named(api_version: str, kind: str, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "differing"}, **fields}


def _definition(rule: str) -> dict[str, Any]:
    """The definition of a kind with one field and one rule."""
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "x-kubernetes-validations": [{"rule": rule}],
    }
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        **_named("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
        "metadata": {"name": f"ruled.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Cluster",
            "names": {"plural": "ruled", "singular": "ruled", "kind": "Ruled"},
            "versions": [version],
        },
    }


NETWORK_POLICIES = "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies"
OPEN_POLICY = _named("networking.k8s.io/v1", "NetworkPolicy", spec={"podSelector": {}})
APPS = "/apis/apps/v1/namespaces/default"
REVISIONS, DAEMONS, SETS = (
    f"{APPS}/controllerrevisions",
    f"{APPS}/daemonsets{DRY}",
    f"{APPS}/statefulsets{DRY}",
)
REVISION = '{"metadata":{"name":"differing"},"revision":1,"data":'  # what it holds follows


def _workload(kind: str, container: dict[str, Any], **spec: Any) -> dict[str, Any]:
    labels = {"app": "differing"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    return _named("apps/v1", kind, spec={"selector": {"matchLabels": labels}, "template": template, **spec})


def _counting(count: str) -> dict[str, Any]:
    made = _workload("DaemonSet", {"name": "a", "image": "a:1"})
    annotations = {"deprecated.daemonset.template.generation": count}
    return {**made, "metadata": {**made["metadata"], "annotations": annotations}}


STOPPED = _workload("DaemonSet", {"name": "a", "image": "a:1", "lifecycle": {"stopSignal": "SIGTERM"}})
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
CLAIMING = _workload(
    "StatefulSet",
    {"name": "a", "image": "a:1"},
    volumeClaimTemplates=[{"metadata": {"name": name}, "spec": CLAIM} for name in ("A", "B")],
)


KINDS: Differences = {
    "several wrong keys of one map": Difference(
        real="told in random order",
        ours="told in the order given",
        proofs=(
            Proof(
                asked=post(MAPS, _named("v1", "ConfigMap", data={"a b": "", "c d": ""})),
                by_lot=True,
            ),
        ),
    ),
    "exponents of quantities above 1000": Difference(
        real="allowed",
        ours="refused, since a short text would fill the memory",
        proofs=(
            Proof(
                asked=post(NODES, _named("v1", "Node", status={"capacity": {"cpu": "1e1001"}})),
            ),
        ),
    ),
    "custom objects that break a CEL rule of their definition": Difference(
        real="refused",
        ours="accepted: rules are kept and shown, but not judged",
        proofs=(
            Proof(
                given=(post(DEFINITIONS, _definition("self.a != 'b'")),),
                settles=422,
                after=(delete(f"{DEFINITIONS}/ruled.{GROUP}"),),
                asked=post(f"{RULED}{DRY}", _named(f"{GROUP}/v1", "Ruled", a="b")),
            ),
        ),
    ),
    "CEL rules of a definition that cannot be compiled": Difference(
        real="refused",
        ours="accepted",
        proofs=(
            Proof(
                asked=post(f"{DEFINITIONS}{DRY}", _definition("self =")),
            ),
        ),
    ),
    "CEL of admission policies that cannot be compiled": Difference(
        real="refused",
        ours="accepted",
        proofs=(
            Proof(
                asked=post(
                    POLICIES,
                    _named(
                        "admissionregistration.k8s.io/v1",
                        "ValidatingAdmissionPolicy",
                        spec={
                            "matchConstraints": {
                                "resourceRules": [
                                    {
                                        "apiGroups": ["apps"],
                                        "apiVersions": ["v1"],
                                        "operations": ["CREATE"],
                                        "resources": ["deployments"],
                                    }
                                ]
                            },
                            "validations": [{"expression": "object.spec ="}],
                        },
                    ),
                ),
            ),
        ),
    ),
    "fields of features that are off by default": Difference(
        real="dropped silently",
        ours="dropped where `default_rules.SWITCHED_OFF` names them, else kept; what held them stays, empty",
        proofs=(
            Proof(
                asked=post(
                    DRIVERS,
                    _named("storage.k8s.io/v1", "CSIDriver", spec={"preventPodSchedulingIfMissing": True}),
                ),
                part=("spec", "preventPodSchedulingIfMissing"),
            ),
            Proof(
                asked=post(DAEMONS, STOPPED), part=("spec", "template", "spec", "containers", 0, "lifecycle")
            ),
        ),
    ),
    "JSON numbers as quantities": Difference(
        real="read as written (`1e3` stays `1e3`)",
        ours="read as numbers (`1k`)",
        proofs=(
            Proof(
                asked=send(
                    "POST",
                    NODES,
                    '{"apiVersion":"v1","kind":"Node","metadata":{"name":"differing"},"status":{"capacity":{"cpu":1e3}}}',
                ),
                part=("status", "capacity"),
            ),
        ),
    ),
    "`timeAdded` of device taints": Difference(
        real="set to now",
        ours="left out",
        proofs=(
            Proof(
                asked=post(
                    SLICES,
                    _named(
                        "resource.k8s.io/v1",
                        "ResourceSlice",
                        spec={
                            "driver": "d.example.com",
                            "nodeName": "n",
                            "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
                            "devices": [{"name": "a", "taints": [{"key": "k", "effect": "NoSchedule"}]}],
                        },
                    ),
                ),
                part=("spec", "devices", 0, "taints", 0, "timeAdded"),
            ),
        ),
    ),
    "kinds of device allocation (`resource.k8s.io`)": Difference(
        real="judged",
        ours="only their metadata is judged",
        proofs=(
            Proof(
                asked=post(CLASSES, _named("resource.k8s.io/v1", "DeviceClass", spec={"selectors": [{}]})),
            ),
        ),
    ),
    "status updates of kinds but pods, workloads, claims, Services, autoscalers and budgets": Difference(
        real="judged",
        ours="only the rest of the object is judged",
        proofs=(
            Proof(
                given=(post(INGRESSES, _named("networking.k8s.io/v1", "Ingress", spec=BACKEND)),),
                after=(delete(f"{INGRESSES}/differing"),),
                asked=patch(
                    f"{INGRESSES}/differing/status{DRY}",
                    {"status": {"loadBalancer": {"ingress": [{"ip": "nowhere"}]}}},
                    MERGE,
                ),
            ),
        ),
    ),
    "requests for certificates that are none inside": Difference(
        real="refused",
        ours="accepted: only the PEM around them is looked at",
        proofs=(
            Proof(
                asked=post(
                    SIGNINGS,
                    _named(
                        "certificates.k8s.io/v1",
                        "CertificateSigningRequest",
                        spec={
                            "request": NO_REQUEST,
                            "signerName": "example.com/s",
                            "usages": ["client auth"],
                        },
                    ),
                ),
            ),
        ),
    ),
    "refusals that show an empty map or list": Difference(
        real="as it was given",
        ours="as null",
        proofs=(
            Proof(
                asked=post(f"{INGRESSES}{DRY}", _named("networking.k8s.io/v1", "Ingress", spec={"rules": []}))
            ),
        ),
    ),
    "where the data of a PersistentVolume is": Difference(
        real="judged, for each type of volume",
        ours="only paths of hosts are judged",
        proofs=(
            Proof(
                asked=post(
                    f"/api/v1/persistentvolumes{DRY}",
                    _named(
                        "v1",
                        "PersistentVolume",
                        spec={
                            "accessModes": ["ReadWriteOnce"],
                            "capacity": {"storage": "1Gi"},
                            "iscsi": {"lun": 0},
                        },
                    ),
                )
            ),
        ),
    ),
    "fields given twice beside unknown ones": Difference(
        real="told in the order of the body",
        ours="those given twice are told first",
        proofs=(
            Proof(
                asked=send(
                    "POST",
                    f"{MAPS}&fieldValidation=Strict",
                    '{"metadata":{"name":"differing"},"dta":{},"data":{},"data":{}}',
                )
            ),
        ),
    ),
    "`data` of a ControllerRevision": Difference(
        real="may not change by a byte: spaces, escapes and order count, and patches write it anew",
        ours="may not change; what means the same is the same",
        proofs=(
            Proof(
                given=(send("POST", REVISIONS, f'{REVISION}{{ "a":1 }}}}'),),
                asked=patch(f"{REVISIONS}/differing{DRY}", {"metadata": {"labels": {"a": "b"}}}, MERGE),
                after=(delete(f"{REVISIONS}/differing"),),
            ),
            Proof(
                given=(send("POST", REVISIONS, f'{REVISION}{{"a":1,"b":2}}}}'),),
                asked=send("PUT", f"{REVISIONS}/differing{DRY}", f'{REVISION}{{"b":2,"a":1}}}}'),
                after=(delete(f"{REVISIONS}/differing"),),
            ),
        ),
    ),
    "the annotation `deprecated.daemonset.template.generation`": Difference(
        real="counts on from what it says, and refuses what is no number",
        ours="counts from 1, whatever it says",
        proofs=(
            Proof(asked=post(DAEMONS, _counting("12")), part=("metadata", "annotations")),
            Proof(asked=post(DAEMONS, _counting("x"))),
        ),
    ),
    "quantities of more than 4000 digits": Difference(
        real="allowed",
        ours="refused",
        proofs=(
            Proof(
                asked=post(NODES, _named("v1", "Node", status={"capacity": {"cpu": "1" * 4001}})),
                part=("kind",),
            ),
        ),
    ),
    "integers of more than 4300 digits": Difference(
        real="refused; the field is told",
        ours="refused; the field is not told",
        proofs=(
            Proof(
                asked=send("POST", MAPS, f'{{"metadata":{{"name":"differing","generation":{"1" * 4301}}}}}')
            ),
        ),
    ),
    "several claims of a StatefulSet with names that are none": Difference(
        real="told in random order",
        ours="told in the order given",
        proofs=(Proof(asked=post(SETS, CLAIMING), by_lot=True),),
    ),
    "`generation` of a NetworkPolicy": Difference(
        real="counts changes that state an empty list or map where there is none",
        ours="counts what changes",
        proofs=(
            Proof(
                given=(post(NETWORK_POLICIES, OPEN_POLICY),),
                asked=patch(f"{NETWORK_POLICIES}/differing{DRY}", {"spec": {"egress": []}}, MERGE),
                part=("metadata", "generation"),
                after=(delete(f"{NETWORK_POLICIES}/differing"),),
            ),
        ),
    ),
}
