"""Where kinds and values are knowingly judged otherwise: the table of docs/kinds-data.md."""

from __future__ import annotations

import base64
from typing import Any

from tests.kube.differences import Difference, Request
from tests.kube.servers import MERGE

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


DIFFERENCES = (
    Difference(
        what="several wrong keys of one map",
        real="told in random order",
        here="told in the order given",
        asked=Request("POST", MAPS, _named("v1", "ConfigMap", data={"a b": "", "c d": ""})),
        by_lot=True,
    ),
    Difference(
        what="exponents of quantities above 1000",
        real="allowed",
        here="refused, since a short text would fill the memory",
        asked=Request("POST", NODES, _named("v1", "Node", status={"capacity": {"cpu": "1e1001"}})),
    ),
    Difference(
        what="custom objects that break a CEL rule of their definition",
        real="refused",
        here="accepted: rules are kept and shown, but not judged",
        given=(Request("POST", DEFINITIONS, _definition("self.a != 'b'")),),
        served=RULED,
        asked=Request("POST", f"{RULED}{DRY}", _named(f"{GROUP}/v1", "Ruled", a="b")),
    ),
    Difference(
        what="CEL rules of a definition that cannot be compiled",
        real="refused",
        here="accepted",
        asked=Request("POST", f"{DEFINITIONS}{DRY}", _definition("self =")),
    ),
    Difference(
        what="CEL of admission policies that cannot be compiled",
        real="refused",
        here="accepted",
        asked=Request(
            "POST",
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
    Difference(
        what="text that is no JSON in a Secret of a docker configuration",
        real="quotes its parser's complaint",
        here="says `invalid JSON`",
        asked=Request(
            "POST",
            SECRETS,
            _named("v1", "Secret", type="kubernetes.io/dockerconfigjson", data={".dockerconfigjson": "bm8="}),
        ),
    ),
    Difference(
        what="fields of features that are off by default",
        real="dropped silently",
        here="dropped where `default_rules.SWITCHED_OFF` names them, else kept",
        asked=Request(
            "POST",
            DRIVERS,
            _named("storage.k8s.io/v1", "CSIDriver", spec={"preventPodSchedulingIfMissing": True}),
        ),
        seen=lambda _, answer: answer["spec"].get("preventPodSchedulingIfMissing"),
    ),
    Difference(
        what="JSON numbers as quantities",
        real="read as written (`1e3` stays `1e3`)",
        here="read as numbers (`1k`)",
        asked=Request(
            "POST",
            NODES,
            '{"apiVersion":"v1","kind":"Node","metadata":{"name":"differing"},"status":{"capacity":{"cpu":1e3}}}',
        ),
        seen=lambda _, answer: answer["status"]["capacity"],
    ),
    Difference(
        what="`timeAdded` of device taints",
        real="set to now",
        here="left out",
        asked=Request(
            "POST",
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
        seen=lambda _, answer: "timeAdded" in answer["spec"]["devices"][0]["taints"][0],
    ),
    Difference(
        what="kinds of device allocation (`resource.k8s.io`)",
        real="judged",
        here="only their metadata is judged",
        asked=Request("POST", CLASSES, _named("resource.k8s.io/v1", "DeviceClass", spec={"selectors": [{}]})),
    ),
    Difference(
        what="status updates of kinds other than workloads, Services, autoscalers and budgets",
        real="judged",
        here="only the rest of the object is judged",
        given=(Request("POST", INGRESSES, _named("networking.k8s.io/v1", "Ingress", spec=BACKEND)),),
        asked=Request(
            "PATCH",
            f"{INGRESSES}/differing/status{DRY}",
            {"status": {"loadBalancer": {"ingress": [{"ip": "nowhere"}]}}},
            MERGE,
        ),
    ),
    Difference(
        what="requests for certificates that are none inside",
        real="refused",
        here="accepted: only the PEM around them is looked at",
        asked=Request(
            "POST",
            SIGNINGS,
            _named(
                "certificates.k8s.io/v1",
                "CertificateSigningRequest",
                spec={"request": NO_REQUEST, "signerName": "example.com/s", "usages": ["client auth"]},
            ),
        ),
    ),
)
