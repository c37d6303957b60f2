"""Warnings: what the server accepts and yet has something to say about, on creation and on change."""

from __future__ import annotations

from typing import Any

from tests.contract.cluster.cases import Table
from tests.contract.cluster.kinds import (
    CLAIMS,
    CONFIG_MAPS,
    CRON_JOBS,
    DAEMON_SETS,
    DEPLOYMENTS,
    ENDPOINT_SLICES,
    ENDPOINTS,
    GADGETS,
    INGRESSES,
    JOBS,
    NETWORK_POLICIES,
    NODES,
    POD_TEMPLATES,
    PODS,
    REPLICA_SETS,
    SECRETS,
    SERVICES,
    STATEFUL_SETS,
    STORAGE_CLASSES,
    VOLUMES,
    config_map,
    container,
    deployment,
    gadget,
    job,
    named,
    pod,
    service,
    templated,
    with_metadata,
)
from tests.contract.cluster.stage import Stage
from trimtab.kube.cluster import PatchType, Write
from trimtab.kube.discovery import Resource

TABLE = Table(__name__)
case = TABLE.case
DRY = Write(dry_run=True)

#: fields of pods, and the annotations that come with them
PODS_WARNED: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "old labels of nodes": (
        {
            "nodeSelector": {"beta.kubernetes.io/os": "linux"},
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [
                            {
                                "matchExpressions": [
                                    {"key": "beta.kubernetes.io/arch", "operator": "In", "values": ["a"]}
                                ]
                            }
                        ]
                    },
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {
                            "weight": 1,
                            "preference": {
                                "matchExpressions": [
                                    {
                                        "key": "failure-domain.beta.kubernetes.io/zone",
                                        "operator": "In",
                                        "values": ["-bad-"],
                                    }
                                ]
                            },
                        }
                    ],
                }
            },
        },
        {},
    ),
    "selectors that match nothing": (
        {
            "topologySpreadConstraints": [
                {
                    "maxSkew": 1,
                    "topologyKey": "failure-domain.beta.kubernetes.io/zone",
                    "whenUnsatisfiable": "ScheduleAnyway",
                }
            ],
            "affinity": {
                "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]},
                "podAntiAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {"weight": 1, "podAffinityTerm": {"topologyKey": "zone"}}
                    ]
                },
            },
        },
        {},
    ),
    "old annotations": (
        {},
        {
            "scheduler.alpha.kubernetes.io/critical-pod": "",
            "security.alpha.kubernetes.io/sysctls": "a=b",
            "seccomp.security.alpha.kubernetes.io/pod": "runtime/default",
            "container.seccomp.security.alpha.kubernetes.io/web": "runtime/default",
        },
    ),
    "old volumes": (
        {
            "volumes": [
                {"name": "a", "gitRepo": {"repository": "https://example/x.git"}},
                {"name": "b", "glusterfs": {"endpoints": "e", "path": "p"}},
                {"name": "c", "cephfs": {"monitors": ["m"]}},
                {"name": "d", "rbd": {"monitors": ["m"], "image": "i"}},
                {"name": "e", "flocker": {"datasetName": "d"}},
                {"name": "f", "quobyte": {"registry": "r:1", "volume": "v"}},
                {"name": "g", "storageos": {"volumeName": "v", "volumeNamespace": "n"}},
                {"name": "h", "scaleIO": {"gateway": "g", "system": "s", "secretRef": {}, "volumeName": "v"}},
                {"name": "i", "photonPersistentDisk": {"pdID": "p"}},
            ]
        },
        {},
    ),
    "files that hide each other": (
        {
            "volumes": [
                {
                    "name": "a",
                    "configMap": {
                        "name": "m",
                        "items": [{"key": "x", "path": "p"}, {"key": "y", "path": "p/q"}],
                    },
                },
                {
                    "name": "b",
                    "secret": {
                        "secretName": "s",
                        "items": [{"key": "x", "path": "p"}, {"key": "y", "path": "p"}],
                    },
                },
                {
                    "name": "c",
                    "projected": {
                        "sources": [
                            {"configMap": {"name": "m", "items": [{"key": "x", "path": "token"}]}},
                            {"secret": {"name": "s", "items": [{"key": "x", "path": "token/a"}]}},
                            {"serviceAccountToken": {"path": "token"}},
                        ]
                    },
                },
            ]
        },
        {},
    ),
    "names that stand twice": (
        {
            "hostAliases": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.1"}],
            "imagePullSecrets": [{"name": "a"}, {"name": "a"}, {}],
            "containers": [
                container(
                    env=[
                        {"name": "A", "value": "1"},
                        {"name": "A", "value": "2"},
                        {"name": "A", "value": "$(A)3"},
                        {"name": "A", "value": "$(A)"},
                        {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                    ]
                )
            ],
        },
        {},
    ),
    "fractions of bytes": (
        {
            "containers": [
                container(
                    resources={
                        "limits": {"memory": "1.5", "ephemeral-storage": "100m"},
                        "requests": {"memory": "0.5"},
                    }
                )
            ]
        },
        {},
    ),
    "ports that clash": (
        {
            "initContainers": [container("init", ports=[{"containerPort": 80, "name": "http"}])],
            "containers": [
                container(
                    ports=[
                        {"containerPort": 80, "name": "http2", "hostPort": 8080},
                        {"containerPort": 80, "name": "http3", "hostPort": 8080, "hostIP": "10.0.0.1"},
                        {"containerPort": 81, "hostIP": "10.0.0.1"},
                    ]
                ),
                container("more", ports=[{"containerPort": 81, "name": "http"}]),
            ],
        },
        {},
    ),
    "a negative grace": ({"terminationGracePeriodSeconds": -5}, {}),
    "addresses in old forms": (
        {
            "dnsPolicy": "None",
            "dnsConfig": {"nameservers": ["10.0.0.1", "2001:DB8::0001"]},
            "hostAliases": [{"ip": "2001:0db8::1"}],
        },
        {},
    ),
}


async def _pod(stage: Stage, spec: dict[str, Any], annotations: dict[str, str]) -> None:
    await stage.create(PODS, with_metadata(pod("a", **spec), annotations=annotations), write=DRY)


async def _template(stage: Stage, spec: dict[str, Any], annotations: dict[str, str]) -> None:
    body = templated(DEPLOYMENTS, "a", spec)
    body["spec"]["template"]["metadata"]["annotations"] = annotations
    await stage.create(DEPLOYMENTS, body)
    await _changed(stage, DEPLOYMENTS, {"metadata": {"labels": {"l": "1"}}})
    await _changed(stage, DEPLOYMENTS, {"spec": {"replicas": 2}})


async def _changed(stage: Stage, resource: Resource, change: dict[str, Any]) -> None:
    await stage.patch(resource, "a", change, how=PatchType.MERGE)


for what, given in PODS_WARNED.items():
    TABLE.add("create", "warnings of pods", f"{what}: a pod", _pod, *given)
    TABLE.add("create", "warnings of pods", f"{what}: a template", _template, *given)

BAD_POD = {"terminationGracePeriodSeconds": -5}
OLD_TERM = {"matchExpressions": [{"key": "beta.kubernetes.io/os", "operator": "In", "values": ["linux"]}]}
FRACTION = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1500m"}}}
WARNED: dict[str, tuple[Resource, dict[str, Any]]] = {
    "a replica set": (REPLICA_SETS, templated(REPLICA_SETS, "a", BAD_POD)),
    "a daemon set": (DAEMON_SETS, templated(DAEMON_SETS, "a", BAD_POD)),
    "a stateful set": (
        STATEFUL_SETS,
        templated(
            STATEFUL_SETS,
            "a",
            BAD_POD,
            serviceName="a",
            revisionHistoryLimit=-1,
            volumeClaimTemplates=[{"metadata": {"name": "v"}, "spec": FRACTION}],
        ),
    ),
    "a job": (JOBS, job("a", pod=BAD_POD)),
    "a job of very many": (
        JOBS,
        job("a", completionMode="Indexed", completions=100_001, parallelism=10_001, suspend=True),
    ),
    "a cron job": (
        CRON_JOBS,
        named(
            CRON_JOBS,
            "a",
            spec={"schedule": "* * * * *", "jobTemplate": {"spec": job("a", pod=BAD_POD)["spec"]}},
        ),
    ),
    "a pod template": (
        POD_TEMPLATES,
        named(POD_TEMPLATES, "a", template=deployment("a", **BAD_POD)["spec"]["template"]),
    ),
    "a headless service": (
        SERVICES,
        service("a", sessionAffinity="ClientIP", externalIPs=["2001:DB8::1"], loadBalancerIP="10.0.0.1"),
    ),
    "a service with addresses of its own": (
        SERVICES,
        service("a", clusterIP=None, externalIPs=["203.0.113.7"], externalName="x.example"),
    ),
    "a service by another name": (
        SERVICES,
        service(
            "a", clusterIP=None, type="ExternalName", externalName="x.example", externalIPs=["203.0.113.7"]
        ),
    ),
    "a service that prefers what is close": (
        SERVICES,
        service(
            "a",
            clusterIP=None,
            type="LoadBalancer",
            trafficDistribution="PreferClose",
            loadBalancerSourceRanges=["10.0.0.0/8", "2001:DB8::/32"],
        ),
    ),
    "a service with hints": (
        SERVICES,
        with_metadata(service("a"), annotations={"service.kubernetes.io/topology-aware-hints": "Auto"}),
    ),
    "an ingress's class": (
        INGRESSES,
        with_metadata(
            named(INGRESSES, "a", spec={"defaultBackend": {"service": {"name": "s", "port": {"number": 1}}}}),
            annotations={"kubernetes.io/ingress.class": "x"},
        ),
    ),
    "a network policy's blocks": (
        NETWORK_POLICIES,
        named(
            NETWORK_POLICIES,
            "a",
            spec={
                "podSelector": {},
                "ingress": [{"from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}]}],
                "egress": [{"to": [{"ipBlock": {"cidr": "2001:DB8::/32"}}]}],
            },
        ),
    ),
    "an endpoint slice of names": (
        ENDPOINT_SLICES,
        named(ENDPOINT_SLICES, "a", addressType="FQDN", endpoints=[{"addresses": ["x.example"]}]),
    ),
    "endpoints of old addresses": (
        ENDPOINTS,
        named(
            ENDPOINTS,
            "a",
            subsets=[{"addresses": [{"ip": "2001:DB8::1"}], "ports": [{"port": 80}]}],
        ),
    ),
    "a claim": (
        CLAIMS,
        with_metadata(
            named(CLAIMS, "a", spec=FRACTION), annotations={"volume.beta.kubernetes.io/storage-class": "x"}
        ),
    ),
    "a gadget's finalizers": (
        GADGETS,
        with_metadata(gadget("a"), finalizers=["plain", "with.dots", "trimtab.dev/good"]),
    ),
    "a secret that is no key": (
        SECRETS,
        named(SECRETS, "a", type="kubernetes.io/tls", data={"tls.crt": "eA==", "tls.key": "eA=="}),
    ),
}
WIDE: dict[str, tuple[Resource, dict[str, Any]]] = {
    "a volume": (
        VOLUMES,
        with_metadata(
            named(
                VOLUMES,
                "warned-volume",
                spec={
                    "accessModes": ["ReadWriteOnce"],
                    "capacity": {"storage": "1Gi"},
                    "persistentVolumeReclaimPolicy": "Recycle",
                    "hostPath": {"path": "/tmp/x"},
                    "nodeAffinity": {"required": {"nodeSelectorTerms": [OLD_TERM]}},
                },
            ),
            annotations={"volume.beta.kubernetes.io/storage-class": "x"},
        ),
    ),
    "an old volume": (
        VOLUMES,
        named(
            VOLUMES,
            "warned-volume",
            spec={
                "accessModes": ["ReadWriteOnce"],
                "capacity": {"storage": "1Gi"},
                "glusterfs": {"endpoints": "e", "path": "p"},
            },
        ),
    ),
    "a storage class": (
        STORAGE_CLASSES,
        named(
            STORAGE_CLASSES,
            "warned-class",
            provisioner="example.com/x",
            allowedTopologies=[
                {
                    "matchLabelExpressions": [
                        {"key": "failure-domain.beta.kubernetes.io/zone", "values": ["a"]}
                    ]
                }
            ],
        ),
    ),
    "a node": (
        NODES,
        named(NODES, "warned-node", spec={"podCIDR": "2001:DB8::/64", "podCIDRs": ["2001:DB8::/64"]}),
    ),
}


async def _warned(stage: Stage, resource: Resource, body: dict[str, Any]) -> None:
    await stage.create(resource, body)
    await _changed(stage, resource, {"metadata": {"labels": {"l": "1"}}})


async def _warned_dryly(stage: Stage, resource: Resource, body: dict[str, Any]) -> None:
    await stage.create(resource, body, write=DRY)


for what, (kind, body) in WARNED.items():
    TABLE.add("create", "warnings", what, _warned, kind, body)
for what, (kind, body) in WIDE.items():
    TABLE.add("create", "warnings", what, _warned_dryly, kind, body)


@case("create", "warnings")
async def names_that_make_bad_hostnames(stage: Stage) -> None:
    await stage.create(PODS, pod("a.b"), write=DRY)
    await stage.create(DEPLOYMENTS, deployment("a.b"), write=DRY)
    await stage.create(REPLICA_SETS, templated(REPLICA_SETS, "a.b"), write=DRY)
    await stage.create(DAEMON_SETS, templated(DAEMON_SETS, "a.b"), write=DRY)
    await stage.create(JOBS, job("a.b"), write=DRY)


@case("update", "warnings")
async def a_gadget_gets_a_finalizer(stage: Stage) -> None:
    await stage.given(GADGETS, with_metadata(gadget("a"), finalizers=["old"]))
    await _changed(stage, GADGETS, {"metadata": {"finalizers": ["old", "new"]}})
    await _changed(stage, GADGETS, {"metadata": {"finalizers": []}})


@case("update", "warnings")
async def an_owner_given_twice(stage: Stage) -> None:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"}
    await stage.given(CONFIG_MAPS, config_map("a"))
    await stage.update(CONFIG_MAPS, "a", with_metadata(config_map("a"), ownerReferences=[owner, owner]))
    await _changed(stage, CONFIG_MAPS, {"metadata": {"ownerReferences": None}})
    await _changed(stage, CONFIG_MAPS, {"metadata": {"ownerReferences": [owner, owner]}})


@case("update", "warnings")
async def a_status_with_old_addresses(stage: Stage) -> None:
    await stage.given(SERVICES, service("a", type="LoadBalancer", clusterIP=None))
    change = {"status": {"loadBalancer": {"ingress": [{"ip": "2001:DB8::1"}]}}}
    await stage.patch(SERVICES, "a", change, how=PatchType.MERGE, subresource="status")
