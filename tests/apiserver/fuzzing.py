"""Random bad requests, the same for the same seed: bodies, paths, options and headers gone wrong."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from msgspec.structs import replace

from scripts.learning import manifests, path_of
from tests.apiserver.bad_requests import (
    APPLY,
    COLOURS,
    JSON,
    JSON_PATCH,
    LARGEST,
    MAPS,
    MERGE,
    PROTOBUF,
    REQUESTS,
    STRATEGIC,
    WEB,
    YAML,
    Request,
)
from trimtab.kube.schemas.kinds import built_in

MANIFESTS = Path(__file__).parents[1] / "kube" / "manifests"
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "PROPFIND", "LINK")
MEDIA = (JSON, YAML, PROTOBUF, JSON_PATCH, MERGE, STRATEGIC, APPLY, "text/plain", "", ";;", "a/b; c=d; e")
JUNK: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, 2**63, -(2**70), 1e308, "", "x", "\x00", "\ud7ff", "💡" * 40, "a/b", "../..", [],
    {}, [[]], {"": {}}, {"a": None}, [None], ["x"] * 50, {"$patch": "delete"}, {"$retainKeys": ["a"]},
    {"$setElementOrder/containers": [1]}, {"metadata": {"name": 3}}, "10Gi", "-5m", "1e3", "9" * 400,
)  # fmt: skip
#: Values of the sort that is there: objects with them are often kept, and met by whoever looks after them.
PLAUSIBLE: Mapping[type, tuple[Any, ...]] = {
    str: ("", "a", "web", "0", "-1", "5", "50%", "1e3", "100Mi", "0.5", "10.0.0.1", "Never", "Always", "True",
          "default", "* * * * *", "0-3,5", "x" * 63, "2024-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "9" * 9),
    int: (0, 1, 2, 3, 10, -1, 100, 65535, 2**31 - 1, -(2**31)),
    float: (0.5,),
    bool: (True, False),
}  # fmt: skip
GENTLY = 0.5  # of all requests
MANY = 40  # objects of one kind that gentle requests may make before they are tidied away
COUNTED = frozenset({"replicas", "parallelism", "completions"})  # as many pods as that are really made
QUERIES = (
    "labelSelector", "fieldSelector", "limit", "continue", "resourceVersion", "resourceVersionMatch", "watch",
    "timeoutSeconds", "allowWatchBookmarks", "sendInitialEvents", "dryRun", "fieldManager", "fieldValidation",
    "force", "propagationPolicy", "gracePeriodSeconds", "orphanDependents", "pretty", "unknown",
)  # fmt: skip
VALUES = (
    "", "0", "-1", "1", "true", "false", "All", "Exact", "NotOlderThan", "9999999999999999999999", "a=b",
    "a in (b,c),!d", "a in (", "metadata.name=x", "spec.nodeName!=", "%", "\x00", "é", "Foreground",
    "x" * 200, "Strict", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiIvYVx1MDAwMCJ9",
)  # fmt: skip
PIECES = (
    "api", "apis", "v1", "apps", "namespaces", "default", "configmaps", "status", "scale", "watch", "..", "",
    "%00", "%2e%2e", "é", "x" * 300, "customresourcedefinitions", "openapi", "v2", "v3", "healthz",
)  # fmt: skip
#: What controllers read in the metadata of objects that are theirs, and of others.
MARKS: Mapping[str, Any] = {
    "labels": {
        "app": "web",
        "kubernetes.io/service-name": "web",
        "controller-revision-hash": "1",
        "pod-template-hash": "1",
        "apps.kubernetes.io/pod-index": "0",
        "batch.kubernetes.io/job-completion-index": "0",
    },
    "annotations": {
        "deployment.kubernetes.io/revision": "1",
        "deployment.kubernetes.io/revision-history": "1,2",
        "deployment.kubernetes.io/desired-replicas": "3",
        "deployment.kubernetes.io/max-replicas": "4",
        "deprecated.daemonset.template.generation": "2",
        "batch.kubernetes.io/cronjob-scheduled-timestamp": "2024-01-01T00:00:00Z",
        "batch.kubernetes.io/job-completion-index": "0",
        "batch.kubernetes.io/job-index-failure-count": "1",
        "controller.kubernetes.io/pod-deletion-cost": "5",
        "storageclass.kubernetes.io/is-default-class": "true",
        "endpoints.kubernetes.io/last-change-trigger-time": "2024-01-01T00:00:00Z",
    },
    "finalizers": ["foregroundDeletion"],
    "ownerReferences": [
        {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "1", "controller": True}
    ],
}
CONDITION = {"type": "Ready", "status": "True", "lastTransitionTime": "2024-01-01T00:00:00Z"}
REPLICAS = {
    "replicas": 3,
    "updatedReplicas": 3,
    "readyReplicas": 2,
    "availableReplicas": 1,
    "observedGeneration": 7,
    "collisionCount": 1,
    "currentRevision": "a",
    "updateRevision": "b",
    "conditions": [CONDITION],
}
#: The kinds that controllers look after, and what they may find in a status.
STATUSES: Mapping[str, Mapping[str, Any]] = {
    "Deployment": REPLICAS,
    "ReplicaSet": REPLICAS,
    "StatefulSet": REPLICAS,
    "DaemonSet": {
        "currentNumberScheduled": 1,
        "desiredNumberScheduled": 1,
        "numberMisscheduled": 1,
        "numberReady": 1,
        "observedGeneration": 7,
        "collisionCount": 1,
    },
    "Pod": {
        "phase": "Running",
        "podIP": "10.0.0.1",
        "podIPs": [{"ip": "10.0.0.1"}],
        "startTime": "2024-01-01T00:00:00Z",
        "conditions": [CONDITION],
        "containerStatuses": [
            {
                "name": "a",
                "ready": True,
                "restartCount": 1,
                "image": "a",
                "imageID": "a",
                "state": {"terminated": {"exitCode": 1, "finishedAt": "2024-01-01T00:00:00Z"}},
            }
        ],
    },
    "Job": {
        "active": 1,
        "succeeded": 1,
        "failed": 1,
        "ready": 1,
        "completedIndexes": "0-3,5",
        "failedIndexes": "4",
        "startTime": "2024-01-01T00:00:00Z",
        "uncountedTerminatedPods": {"succeeded": ["1"], "failed": ["2"]},
        "conditions": [{**CONDITION, "type": "Suspended"}],
    },
    "CronJob": {
        "active": [{"kind": "Job", "name": "a", "uid": "1"}],
        "lastScheduleTime": "2024-01-01T00:00:00Z",
        "lastSuccessfulTime": "2024-01-01T00:00:00Z",
    },
    "Node": {
        "allocatable": {"cpu": "4", "pods": "10"},
        "capacity": {"cpu": "4", "memory": "1Gi"},
        "conditions": [CONDITION],
        "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
    },
    "PersistentVolumeClaim": {
        "phase": "Bound",
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
    },
    "PersistentVolume": {"phase": "Available"},
    "PodDisruptionBudget": {
        "currentHealthy": 1,
        "desiredHealthy": 1,
        "disruptionsAllowed": 1,
        "expectedPods": 1,
        "disruptedPods": {"a": "2024-01-01T00:00:00Z"},
    },
    "Namespace": {"phase": "Active", "conditions": [{**CONDITION, "type": "A"}]},
    "Service": {"loadBalancer": {"ingress": [{"ip": "10.0.0.1"}]}},
    "EndpointSlice": {},
    "Endpoints": {},
    "ControllerRevision": {},
    "StorageClass": {},
    "Event": {},
}
HEADERS = (
    "Accept",
    "Content-Type",
    "User-Agent",
    "Authorization",
    "Content-Encoding",
    "Expect",
    "X-Anything",
)


def creations() -> tuple[Request, ...]:
    """Good objects of many kinds."""
    return tuple(
        Request(method="POST", path=path_of(built_in(), each), body=json.dumps(each).encode(), media=JSON)
        for each in manifests(MANIFESTS)
    )


def updates() -> tuple[Request, ...]:
    """Good changes of what stand-ins for controllers read of these, beside what is declared."""
    return tuple(
        Request(method="PATCH", path=f"{path}{of}", body=json.dumps(body).encode(), media=MERGE)
        for path in _named()
        for of, body in _looked_at(path)
    )


def seeds() -> tuple[Request, ...]:
    """Requests to begin with: all bad ones of the table, and good ones of many kinds."""
    applies = [
        replace(each, method="PATCH", path=f"{each.path}/x?fieldManager=m&force=true", media=APPLY)
        for each in creations()
    ]
    whole = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "colours"}}).encode()
    changes = [
        Request(method="PATCH", path=WEB, body=b'{"spec":{"replicas":3}}', media=media)
        for media in (MERGE, STRATEGIC)
    ]
    small = [each for each in REQUESTS.values() if len(each.body) < LARGEST]
    return (
        *small,
        *creations(),
        *applies,
        *changes,
        *updates(),
        Request(method="PUT", path=COLOURS, body=whole, media=JSON),
    )


def _named() -> tuple[str, ...]:
    """The paths of what stand-ins for controllers look after."""
    made = [(path_of(built_in(), each), each) for each in manifests(MANIFESTS) if each["kind"] in STATUSES]
    return (WEB, *(f"{path}/{each['metadata']['name']}" for path, each in made if "name" in each["metadata"]))


def _looked_at(path: str) -> Iterator[tuple[str, Any]]:
    """What controllers read of an object at a path, beside its declaration."""
    yield "", {"metadata": MARKS}
    plural = path.split("/")[-2]
    for kind, status in STATUSES.items():
        if f"{kind.lower()}s" == plural and status:
            yield "/status", {"status": status}


class Fuzzer:
    """Requests without end; the same seed gives the same ones."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._seeds = seeds()
        self._kept = (*creations(), *updates())
        self._changes: tuple[Callable[[Request], Request], ...] = (
            self._bytes, self._value, self._value, self._value, self._path, self._query, self._query,
            self._method, self._media, self._header,
        )  # fmt: skip

    def __iter__(self) -> Iterator[Request]:
        while True:
            if self._random.random() < GENTLY:
                yield self._gentle(self._random.choice(self._kept))
                continue
            request = self._random.choice(self._seeds)
            for _ in range(self._random.randint(1, 3)):
                request = self._random.choice(self._changes)(request)
            yield request

    def _gentle(self, request: Request) -> Request:
        """The request with other values of the same sorts, or without some."""
        body = json.loads(request.body)
        if request.method == "POST":
            body.setdefault("metadata", {})["name"] = (
                f"{request.path.rpartition('/')[2]}{self._random.randrange(MANY)}"
            )
        for _ in range(self._random.randint(1, 3)):
            body = self._plausible(body)
        return replace(request, body=json.dumps(body).encode())

    def _plausible(self, value: Any, field: str = "") -> Any:
        if isinstance(value, list) and value:
            at = self._random.randrange(len(value))
            change = [[], [value[at], value[at]], [self._plausible(value[at])], [self._plausible(value[at])]]
            return [*value[:at], *self._random.choice(change), *value[at + 1 :]]
        if isinstance(value, dict) and value:
            name = self._random.choice(list(value))
            if self._random.random() < 0.1:
                return {each: kept for each, kept in value.items() if each != name}
            return {**value, name: self._plausible(value[name], name)}
        if field in COUNTED:
            return self._random.randrange(4)
        return self._random.choice(PLAUSIBLE.get(type(value), JUNK))

    def _bytes(self, request: Request) -> Request:
        body = bytearray(request.body)
        for _ in range(self._random.randint(1, 8)):
            at = self._random.randrange(len(body) + 1)
            change = self._random.randrange(3)
            if change == 0:
                body[at:at] = self._random.randbytes(self._random.randint(1, 6))
            elif change == 1:
                del body[at : at + self._random.randint(1, 20)]
            else:
                body[at:at] = body[: self._random.randint(0, 30)]
        return replace(request, body=bytes(body))

    def _value(self, request: Request) -> Request:
        """Put junk somewhere into a body that is JSON."""
        try:
            value = json.loads(request.body)
        except (ValueError, RecursionError):
            return self._bytes(request)
        changed = self._with_junk(value)
        return replace(request, body=json.dumps(changed).encode())

    def _with_junk(self, value: Any) -> Any:
        if self._random.random() < 0.15 or not isinstance(value, dict | list) or not value:
            return self._random.choice(JUNK)
        if isinstance(value, list):
            at = self._random.randrange(len(value))
            return [*value[:at], self._with_junk(value[at]), *value[at + 1 :]]
        return self._object_with_junk(value)

    def _object_with_junk(self, value: Mapping[str, Any]) -> dict[str, Any]:
        name = self._random.choice(list(value))
        if self._random.random() < 0.1:
            return {**value, self._random.choice(("", "x", "$patch", "metadata")): self._random.choice(JUNK)}
        return {**value, name: self._with_junk(value[name])}

    def _path(self, request: Request) -> Request:
        parts = request.path.split("/")
        at = self._random.randrange(len(parts))
        parts[at : at + self._random.randint(0, 1)] = [self._random.choice(PIECES)]
        return replace(request, path=quote("/" + "/".join(parts).lstrip("/"), safe="/?&=%+"))

    def _query(self, request: Request) -> Request:
        pair = f"{self._random.choice(QUERIES)}={quote(self._random.choice(VALUES))}"
        return replace(request, path=f"{request.path}{'&' if '?' in request.path else '?'}{pair}")

    def _method(self, request: Request) -> Request:
        return replace(request, method=self._random.choice(METHODS))

    def _media(self, request: Request) -> Request:
        return replace(request, media=self._random.choice(MEDIA))

    def _header(self, request: Request) -> Request:
        letters = "".join(chr(self._random.randint(32, 126)) for _ in range(self._random.randint(0, 60)))
        header = (self._random.choice(HEADERS), letters.strip())
        return replace(request, headers=(*request.headers, header))


def list_paths() -> tuple[str, ...]:
    """Where the objects lie that creations leave behind."""
    paths = {path_of(built_in(), each) for each in manifests(MANIFESTS)} | {MAPS}
    return tuple(sorted(paths - {"/api/v1/namespaces"}))
