"""The objects that benchmarks are made of. Pure: the same number gives the same object on every machine."""

from __future__ import annotations

import random
from typing import Any

_DATA_KEYS = 8
_LINES = 6


def config_map(number: int, *, state: int = 0) -> dict[str, Any]:
    """A ConfigMap of about 2 KB in eight keys; another state gives the same object, changed in one key."""
    text = random.Random(number)
    data = {f"settings-{key}.properties": _properties(text) for key in range(_DATA_KEYS)}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"config-{number:05}", "labels": _labels(number)},
        "data": {**data, "state": str(state)},
    }


def _properties(text: random.Random) -> str:
    """Lines that compress about as well as configuration does: known words, unknown values."""
    words = ("cache", "queue", "limit", "window", "retry", "socket", "worker", "buffer")
    return "".join(
        f"{text.choice(words)}.{text.choice(words)}={text.getrandbits(80):020x}\n" for _ in range(_LINES)
    )


def _labels(number: int) -> dict[str, str]:
    return {
        "app.kubernetes.io/name": f"app-{number % 100}",
        "app.kubernetes.io/part-of": "bench",
        "app.kubernetes.io/managed-by": "trimtab",
    }


def pod(number: int) -> dict[str, Any]:
    """A Pod as people have them: one container with a probe, some environment and a volume."""
    container = {
        "name": "web",
        "image": f"registry.example/shop/web:1.{number % 50}",
        "ports": [{"name": "http", "containerPort": 8080}],
        "env": [{"name": f"SETTING_{each}", "value": f"value-{number}-{each}"} for each in range(3)],
        "resources": {
            "requests": {"cpu": "100m", "memory": "128Mi"},
            "limits": {"cpu": "500m", "memory": "256Mi"},
        },
        "readinessProbe": {"httpGet": {"path": "/healthz", "port": "http"}, "periodSeconds": 10},
        "volumeMounts": [{"name": "settings", "mountPath": "/etc/settings"}],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"web-{number:05}", "labels": _labels(number)},
        "spec": {
            "nodeName": f"node-{number % 100}",
            "containers": [container],
            "volumes": [{"name": "settings", "configMap": {"name": f"config-{number:05}"}}],
        },
    }


def pod_status(number: int) -> dict[str, Any]:
    """The status that a kubelet would have given the Pod, as a merge patch."""
    since = "2024-05-01T10:00:00Z"
    address = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
    conditions = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    return {
        "status": {
            "phase": "Running",
            "conditions": [
                {"type": each, "status": "True", "lastTransitionTime": since} for each in conditions
            ],
            "podIP": address,
            "podIPs": [{"ip": address}],
            "hostIP": "192.0.2.1",
            "startTime": since,
            "containerStatuses": [
                {
                    "name": "web",
                    "image": f"registry.example/shop/web:1.{number % 50}",
                    "imageID": f"registry.example/shop/web@sha256:{number:064x}",
                    "containerID": f"containerd://{number:064x}",
                    "ready": True,
                    "started": True,
                    "restartCount": 0,
                    "state": {"running": {"startedAt": since}},
                    "lastState": {},
                }
            ],
        }
    }


def deployment(number: int) -> dict[str, Any]:
    """A Deployment of two Pods as `pod` makes them."""
    name, template = f"web-{number:05}", pod(number)
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": _labels(number)},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": _unbound(template["spec"])},
        },
    }


def replica_set(number: int, owner_uid: str) -> dict[str, Any]:
    """The ReplicaSet that the Deployment of this number would have made."""
    owner = deployment(number)
    name, hashed = owner["metadata"]["name"], f"{number:08x}"
    labels = {"app": name, "pod-template-hash": hashed}
    spec = owner["spec"]["template"]["spec"]
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"{name}-{hashed}",
            "labels": labels,
            "ownerReferences": [owned_by("Deployment", "apps/v1", name, owner_uid)],
        },
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def owned_by(kind: str, api_version: str, name: str, uid: str) -> dict[str, Any]:
    """The reference to the controller of an object."""
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": name,
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def workload_status(message: str = "") -> dict[str, Any]:
    """The status that a controller would have given a Deployment of two, as a merge patch."""
    since = "2024-05-01T10:00:00Z"
    told = {"status": "True", "lastTransitionTime": since, "lastUpdateTime": since, "message": message}
    return {
        "status": {
            "observedGeneration": 1,
            "replicas": 2,
            "updatedReplicas": 2,
            "readyReplicas": 2,
            "availableReplicas": 2,
            "conditions": [
                {"type": "Available", "reason": "MinimumReplicasAvailable", **told},
                {"type": "Progressing", "reason": "NewReplicaSetAvailable", **told},
            ],
        }
    }


def _unbound(spec: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in spec.items() if name != "nodeName"}
