"""Our merging beside a real API server's, step by step on random objects: the same objects, the same owners.

Every step starts from what the server holds, so one difference is not carried into the next step. Only uid,
resourceVersion, generation and times are masked.
"""

from __future__ import annotations

import json
from datetime import datetime
from random import Random
from typing import Any

import pytest

from tests.kube.merging.patches import essence, live_deployment, strategic
from tests.kube.merging.samples import Sample, target_of
from tests.kube.servers import APPLY, JSON_PATCH, MERGE, STRATEGIC, Server
from trimtab.kube.merging.apply import applied, created, settled, updated
from trimtab.kube.merging.patch import json_patch, merge_patch, without_nulls
from trimtab.kube.merging.strategic import strategic_patch
from trimtab.kube.refusals import Refused

LONG_AGO = "2020-01-01T00:00:00Z"
SERVERS_OWN = ("uid", "resourceVersion", "generation", "creationTimestamp", "namespace")
ALLOCATED = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")
KINDS = ("gadget", "configmap", "deployment", "service")


def masked(value: dict[str, Any]) -> dict[str, Any]:
    """An object less what only a server can know."""
    metadata = {name: part for name, part in value.get("metadata", {}).items() if name not in SERVERS_OWN}
    lines = [
        {name: "T" if name == "time" else part for name, part in line.items()}
        for line in metadata.pop("managedFields", [])
    ]
    return {**value, "metadata": {"managedFields": lines, **_filled(metadata)}}


def _filled(value: Any) -> Any:
    """A value without empty fields, as Go structs drop them; metadata always is a Go struct."""
    if isinstance(value, dict):
        parts = {name: _filled(part) for name, part in value.items()}
        return {name: part for name, part in parts.items() if part not in (None, {}, [])}
    return [_filled(part) for part in value] if isinstance(value, list) else value


def comparable(value: dict[str, Any], sample: Sample) -> dict[str, Any]:
    """What must be equal: all of it, but of kinds that get defaults only the metadata."""
    known = masked(value)
    if sample.target.kind in ("Deployment", "Service"):
        return {"metadata": known["metadata"]}
    return {**_filled(known), "metadata": known["metadata"]} if sample.is_built_in else known


def bare(value: dict[str, Any]) -> dict[str, Any]:
    """An object as it is before its owners are worked out."""
    metadata = {name: part for name, part in value["metadata"].items() if name != "managedFields"}
    return {**value, "metadata": metadata}


def refusal(error: dict[str, Any]) -> dict[str, Any]:
    """A Status in which causes have an order: the server reports owners in that of a Go map."""
    causes = error.get("details", {}).get("causes", [])
    ordered = sorted(causes, key=lambda cause: (cause["message"], cause["field"]))
    return {**error, "details": {"causes": ordered}} if causes else error


def now_of(after: dict[str, Any]) -> datetime:
    """When the server answered: the latest time of an owner."""
    lines = after.get("metadata", {}).get("managedFields", [])
    return datetime.fromisoformat(max((line.get("time", "") for line in lines), default="") or LONG_AGO)


class Story:
    """One object's life on the server, each step told by us as well."""

    def __init__(self, server: Server, sample: Sample, seed: int) -> None:
        self.server, self.sample = server, sample
        self.random = Random(f"{sample.target.kind} {seed}")
        self.name = f"story-{seed}"
        self.path = f"{sample.folder}/{self.name}"
        self.live: dict[str, Any] | None = None
        self.outcomes: list[str] = []

    def step(self) -> None:
        choices = ["apply", "apply", "apply", "put", "merge", "reset"] if self.live else ["apply", "post"]
        manager = self.random.choice("ABC")
        fields = self.sample.fill(self.random)
        kind = self.random.choice(choices)
        code, after, ours = getattr(self, kind)(self.sample.named(self.name, fields), manager)
        self.outcomes.append(kind if code < 400 else f"{kind} refused")
        if code < 400:
            assert comparable(ours, self.sample) == comparable(after, self.sample), (kind, fields)
            self.live = after
        elif ours is not None:
            assert refusal(ours) == refusal(after)

    def apply(self, body: dict[str, Any], manager: str) -> tuple[int, Any, Any]:
        force = self.random.random() < 0.4
        query = f"fieldManager={manager}&force={str(force).lower()}"
        code, after = self.server.send("PATCH", f"{self.path}?{query}", body, APPLY)
        now = now_of(after)
        given = json.dumps([self.live, body])
        try:
            ours = applied(self.live, body, self.sample.target, manager=manager, force=force, now=now)
        except Refused as exc:
            ours = exc.status()
        assert json.dumps([self.live, body]) == given, "what is given is never changed"
        if code == 422:  # merging may leave a null where everything was taken out: refused by validation
            assert "Invalid" in after["reason"]
            return code, after, None
        return code, after, settled(self.live, ours) if self.live and code < 400 else ours

    def post(self, body: dict[str, Any], manager: str) -> tuple[int, Any, Any]:
        code, after = self.server.send("POST", f"{self.sample.folder}?fieldManager={manager}", body)
        assert code == 201, after
        new = bare(after)
        if "spec" in new:  # addresses are allocated after owners have been worked out
            new["spec"] = {name: part for name, part in new["spec"].items() if name not in ALLOCATED}
        ours = created(new, self.sample.target, manager=manager, now=now_of(after))
        return code, after, {**ours, "spec": after["spec"]} if "spec" in after else ours

    def put(self, body: dict[str, Any], manager: str) -> tuple[int, Any, Any]:
        assert self.live
        version = self.live["metadata"]["resourceVersion"]
        whole = {**body, "metadata": {**body["metadata"], "resourceVersion": version}}
        if self.sample.target.kind == "Service":  # addresses left out are put back after owners are known
            held = {name: self.live["spec"][name] for name in ALLOCATED}
            whole["spec"] = {**body["spec"], **held}
        code, after = self.server.send("PUT", f"{self.path}?fieldManager={manager}", whole)
        return self._stored(code, after, manager)

    def merge(self, body: dict[str, Any], manager: str) -> tuple[int, Any, Any]:
        patch = {name: body[name] for name in ("metadata", "spec", "data") if name in body}
        code, after = self.server.send("PATCH", f"{self.path}?fieldManager={manager}", patch, MERGE)
        return self._stored(code, after, manager)

    def reset(self, _body: dict[str, Any], manager: str) -> tuple[int, Any, Any]:
        # An empty list is lost on custom resources before anybody looks at it; one empty line is not.
        asked: list[Any] = self.random.choice([[{}], []]) if self.sample.is_built_in else [{}]
        patch: dict[str, Any] = {"metadata": {"managedFields": asked}}
        code, after = self.server.send("PATCH", f"{self.path}?fieldManager={manager}", patch, MERGE)
        assert self.live
        new = {**bare(after), "metadata": {**bare(after)["metadata"], **patch["metadata"]}}
        return code, after, updated(self.live, new, self.sample.target, manager=manager, now=now_of(after))

    def _stored(self, code: int, after: Any, manager: str) -> tuple[int, Any, Any]:
        if code >= 400:
            return code, after, None
        assert self.live
        ours = updated(self.live, bare(after), self.sample.target, manager=manager, now=now_of(after))
        return code, after, settled(self.live, ours)


@pytest.mark.parametrize("kind", KINDS)
def test_objects_and_their_owners_are_equal_after_every_step_of_random_stories(
    server: Server, kinds: dict[str, Sample], kind: str
) -> None:
    outcomes: list[str] = []
    for seed in range(16):
        story = Story(server, kinds[kind], seed)
        for _ in range(10):
            story.step()
        outcomes.extend(story.outcomes)
    assert {"apply", "apply refused", "post", "put", "merge", "reset"} <= set(outcomes)


POD = {
    "containers": [
        {
            "name": "c",
            "image": "i",
            "ports": [{"containerPort": 80}],
            "env": [{"name": "a", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
            "livenessProbe": {"httpGet": {"path": "/", "port": 80}},
        }
    ],
    "volumes": [{"name": "v", "configMap": {"name": "m"}}],
}
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": POD}
SELECTED = {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}
JOB = {"template": {"spec": {**POD, "restartPolicy": "Never"}}}
RULES = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
BACKEND = {"service": {"name": "x", "port": {"number": 80}}}
INGRESS = [{"http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": BACKEND}]}}]
NEW: list[tuple[str, str, str, dict[str, Any]]] = [
    ("v1", "PodTemplate", "podtemplates", {"template": TEMPLATE}),
    ("v1", "Secret", "secrets", {"stringData": {"a": "b"}}),
    ("apps/v1", "StatefulSet", "statefulsets", {"spec": {**SELECTED, "serviceName": "x"}}),
    ("apps/v1", "DaemonSet", "daemonsets", {"spec": SELECTED}),
    ("apps/v1", "ReplicaSet", "replicasets", {"spec": SELECTED}),
    ("apps/v1", "ControllerRevision", "controllerrevisions", {"revision": 1, "data": {"a": {"b": 1}}}),
    ("batch/v1", "CronJob", "cronjobs", {"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": JOB}}}),
    ("networking.k8s.io/v1", "Ingress", "ingresses", {"spec": {"rules": INGRESS}}),
    ("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies", {"spec": {"podSelector": {}}}),
    ("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", {"spec": {"minAvailable": 1}}),
    ("rbac.authorization.k8s.io/v1", "Role", "roles", {"rules": RULES}),
    ("coordination.k8s.io/v1", "Lease", "leases", {"spec": {"holderIdentity": "x"}}),
]


@pytest.mark.parametrize(("version", "kind", "plural", "fields"), NEW)
def test_whoever_creates_an_object_owns_what_was_not_there_in_a_blank_one(
    server: Server, version: str, kind: str, plural: str, fields: dict[str, Any]
) -> None:
    folder = "api/v1" if version == "v1" else f"apis/{version}"
    body = {"apiVersion": version, "kind": kind, "metadata": {"name": "new", "labels": {"l": "m"}}, **fields}
    path = f"/{folder}/namespaces/default/{plural}?fieldManager=me&dryRun=All"
    code, after = server.send("POST", path, body)
    assert code == 201, after
    target = target_of(server.get(f"/openapi/v3/{folder}"), version, kind)
    ours = created(bare(after), target, manager="me", now=now_of(after))
    assert ours["metadata"]["managedFields"] == after["metadata"]["managedFields"]


def test_random_strategic_merge_patches_have_the_same_outcome(
    server: Server, kinds: dict[str, Sample]
) -> None:
    deployments = kinds["deployment"]
    compared = 0
    for seed in range(30):
        random = Random(seed)
        body = live_deployment(random)
        body["metadata"]["name"] = f"patched-{seed}"
        code, live = server.send("POST", deployments.folder, body)
        assert code == 201, live
        for _ in range(5):
            patch = strategic(random)
            path = f"{deployments.folder}/patched-{seed}?dryRun=All"
            code, after = server.send("PATCH", path, patch, STRATEGIC)
            given = json.dumps([live, patch])
            ours = strategic_patch(live, patch, deployments.target.shape)
            assert json.dumps([live, patch]) == given, "what is given is never changed"
            if code != 422:  # valid at all
                assert (code, essence(ours)) == (200, essence(after)), patch
                compared += 1
    assert compared > 50


def test_random_merge_and_json_patches_have_the_same_outcome(
    server: Server, kinds: dict[str, Sample]
) -> None:
    gadgets = kinds["gadget"]
    for seed in range(25):
        random = Random(seed)
        body = gadgets.named(f"patched-{seed}", gadgets.fill(random))
        code, live = server.send("POST", gadgets.folder, body)
        assert code == 201, live
        path = f"{gadgets.folder}/patched-{seed}?dryRun=All"
        for _ in range(4):
            patch = {**gadgets.fill(random), **random.choice([{}, {"spec": {"tags": None, "inner": None}}])}
            code, after = server.send("PATCH", path, patch, MERGE)
            assert (code, masked(after)) == (200, _as_stored(merge_patch(live, patch), after))
            operations = [_operation(random, gadgets) for _ in range(3)]
            code, after = server.send("PATCH", path, operations, JSON_PATCH)
            _same_outcome(live, operations, code, after)


def _operation(random: Random, sample: Sample) -> dict[str, Any]:
    pointers = ["/spec", "/spec/tags", "/spec/tags/k", "/spec/free", "/spec/free/x", "/spec/free/list/0"]
    pointers += [
        "/spec/free/list/-",
        "/spec/free/list/-1",
        "/spec/free/deep/u",
        "/metadata/labels",
        "/spec/size",
    ]
    path, source = random.choice(pointers), random.choice(pointers)
    op = random.choice(["add", "remove", "replace", "copy", "move", "test"])
    spec = sample.fill(random).get("spec", {})
    values: dict[str, Any] = {"spec": spec, "tags": {"k": "v"}, "labels": {"a": "b"}, "size": 1, "k": "x"}
    value = values.get(path.rpartition("/")[2], {"deep": {"u": "x"}, "list": [1, 2]})
    return {"op": op, "path": path, "from": source, "value": value}


def _same_outcome(live: dict[str, Any], operations: Any, code: int, after: dict[str, Any]) -> None:
    try:
        ours = json_patch(live, operations)
    except Refused as exc:
        ours = exc.status()
    if ours["kind"] == "Status":
        assert (code, after) == (ours["code"], ours), operations
    elif code == 422:
        assert after["message"] != "the server rejected our request due to an error in our request"
    else:
        assert (code, masked(after)) == (200, _as_stored(ours, after)), operations


def _as_stored(ours: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Our object beside the server's owners (they are compared in the stories); nulls are not stored."""
    metadata = {**ours["metadata"], "managedFields": after["metadata"].get("managedFields", [])}
    return masked({**without_nulls(ours), "metadata": metadata})
