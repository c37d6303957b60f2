"""Metadata inside of objects (of templates, of claims), and what annotations of pods have to say."""

from __future__ import annotations

from typing import Any

from tests.contract.cluster.cases import Table
from tests.contract.cluster.kinds import (
    CRON_JOBS,
    DEFINITIONS,
    DEPLOYMENTS,
    JOBS,
    POD_TEMPLATES,
    PODS,
    STATEFUL_SETS,
    STRING,
    container,
    definition,
    deployment,
    named,
    templated,
    with_metadata,
    with_spec,
)
from tests.contract.cluster.stage import Stage
from tests.contract.cluster.tables.defining import defined, things
from trimtab.kube.cluster import PatchType, Write
from trimtab.kube.discovery import Resource

TABLE = Table(__name__)
case = TABLE.case

LABELS = {"app": "a"}
#: what somebody may find in a template that was read from a cluster
INNER: dict[str, dict[str, Any]] = {
    "labels": {},
    "a name": {"name": "x"},
    "a namespace": {"namespace": "elsewhere"},
    "a name to generate": {"generateName": "x-"},
    "no time": {"creationTimestamp": None},
    "a time": {"creationTimestamp": "2001-01-01T00:00:00Z"},
    "a time of deletion": {"deletionTimestamp": "2001-01-01T00:00:00Z", "deletionGracePeriodSeconds": 3},
    "an identity": {"uid": "u"},
    "a version": {"resourceVersion": "7"},
    "a generation": {"generation": 3},
    "a link": {"selfLink": "/x"},
    "annotations": {"annotations": {"x": "1"}},
    "finalizers": {"finalizers": ["t.dev/1"]},
    "owners": {"ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"}]},
    "managers": {
        "managedFields": [
            {
                "manager": "m",
                "operation": "Update",
                "apiVersion": "v1",
                "fieldsType": "FieldsV1",
                "fieldsV1": {"f:metadata": {}},
                "time": "2001-01-01T00:00:00Z",
            }
        ]
    },
}


def _template(**metadata: Any) -> dict[str, Any]:
    return {"metadata": {"labels": LABELS, **metadata}, "spec": {"containers": [container()]}}


def _deployment(**metadata: Any) -> dict[str, Any]:
    return with_spec(deployment("a"), template=_template(**metadata))


async def _applied(stage: Stage, body: dict[str, Any]) -> None:
    """By one, written by another, and applied with less by the first."""
    await stage.apply(DEPLOYMENTS, "a", body)
    await stage.patch(DEPLOYMENTS, "a", {"spec": {"replicas": 2}}, how=PatchType.MERGE)
    await stage.apply(DEPLOYMENTS, "a", _deployment())


async def _written(stage: Stage, body: dict[str, Any]) -> None:
    await stage.create(DEPLOYMENTS, body)
    await stage.apply(DEPLOYMENTS, "a", body, force=True)


for what, metadata_ in INNER.items():
    TABLE.add(
        "apply", "inner metadata", f"a template with {what} is applied", _applied, _deployment(**metadata_)
    )
    TABLE.add(
        "create", "inner metadata", f"a template with {what} is made", _written, _deployment(**metadata_)
    )


JOB = {"metadata": {"labels": LABELS}, "spec": {"containers": [container()], "restartPolicy": "Never"}}
EVERYTHING = {
    "name": "x", "namespace": "y", "generateName": "x-", "creationTimestamp": None, "uid": "u",
    "resourceVersion": "7", "generation": 3, "annotations": {"x": "1"}, "finalizers": ["t.dev/1"],
}  # fmt: skip
CLAIM = {
    "metadata": {"name": "data", **{key: value for key, value in EVERYTHING.items() if key != "name"}},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    "status": {"phase": "Bound"},
}
OTHERS: dict[str, tuple[Resource, dict[str, Any]]] = {
    "a Job": (
        JOBS, named(JOBS, "a", spec={"template": {**JOB, "metadata": {"labels": LABELS, **EVERYTHING}}})
    ),
    "a CronJob": (
        CRON_JOBS,
        named(
            CRON_JOBS, "a",
            spec={
                "schedule": "* * * * *",
                "jobTemplate": {"metadata": {"labels": LABELS, **EVERYTHING}, "spec": {"template": JOB}},
            },
        ),
    ),
    "a claim of a StatefulSet": (
        STATEFUL_SETS, templated(STATEFUL_SETS, "a", serviceName="a", volumeClaimTemplates=[CLAIM])
    ),
    "a PodTemplate": (POD_TEMPLATES, named(POD_TEMPLATES, "a", template=_template(**EVERYTHING))),
}  # fmt: skip


async def _any_applied(stage: Stage, resource: Resource, body: dict[str, Any]) -> None:
    await stage.apply(resource, "a", body)
    await stage.apply(resource, "a", with_metadata(body, labels={"l": "1"}), manager="two")


for what, (resource_, body_) in OTHERS.items():
    TABLE.add("apply", "inner metadata", f"everything in {what} is applied", _any_applied, resource_, body_)


@case("apply", "inner metadata")
async def an_embedded_object_of_a_custom_kind(stage: Stage) -> None:
    kind = things("inner.trimtab.dev")
    marks = ("x-kubernetes-embedded-resource", "x-kubernetes-preserve-unknown-fields")
    own = {"metadata": {"type": "object", "properties": {"name": STRING}}, "data": {"type": "object"}}
    inner = {"type": "object", **dict.fromkeys(marks, True)}
    known = {"type": "object", marks[0]: True, "properties": own}
    spec = {"type": "object", "properties": {"inner": inner, "known": known, "plain": STRING}}
    schema = {"type": "object", "properties": {"spec": spec}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    await defined(stage, with_spec(definition("Thing", "inner.trimtab.dev"), versions=[version]))
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}

    async def applied(**fields: Any) -> None:
        await stage.apply(kind, "a", named(kind, "a", spec={"plain": "1", **fields}))

    unmasked = {key: value for key, value in EVERYTHING.items() if key != "resourceVersion"}
    whole = {**body, "metadata": {"labels": LABELS, **unmasked}}
    await applied(inner={**body, "metadata": {"name": "x", "odd": 1}})
    await applied(inner=body)
    await applied(inner=whole)
    await applied(known=body)
    await applied(known=whole)
    await applied(known={**body, "metadata": {"name": "x", "odd": 1}})
    await applied(inner={**body, "metadata": {"name": "X x", "labels": {"a": "b c"}}})
    change = {"spec": {"inner": {"metadata": {"annotations": {"x": "2"}}, "data": {"a": "1"}}}}
    await stage.patch(kind, "a", change, how=PatchType.MERGE)
    await applied(inner=body)


def _pod(**spec: Any) -> dict[str, Any]:
    quiet = {"automountServiceAccountToken": False, "containers": [container()]}
    return named(PODS, "a", spec={**quiet, **spec})


def _armed(value: str, name: str = "web", **pod: Any) -> dict[str, Any]:
    annotations = {f"container.apparmor.security.beta.kubernetes.io/{name}": value}
    return with_metadata(_pod(**pod), annotations=annotations)


def _profile(kind: str, **more: str) -> dict[str, Any]:
    return {"securityContext": {"appArmorProfile": {"type": kind, **more}}}


ARMOUR: dict[str, dict[str, Any]] = {
    "an unknown word": _armed("x"),
    "nothing": _armed(""),
    "the default": _armed("runtime/default"),
    "no armour": _armed("unconfined"),
    "a profile of the node": _armed("localhost/mine"),
    "a profile without a name": _armed("localhost/"),
    "an unknown container": _armed("runtime/default", "other"),
    "an unknown container and word": _armed("x", "other"),
    "an init container": _armed("x", "first", initContainers=[container("first")]),
    "the field of the pod as well": _armed("unconfined", **_profile("RuntimeDefault")),
    "the same field of the pod": _armed("unconfined", **_profile("Unconfined")),
    "the field of the container as well": _armed(
        "localhost/a", containers=[container(**_profile("Localhost", localhostProfile="b"))]
    ),
    "fields alone": _pod(**_profile("RuntimeDefault")),
    "a field of a container alone": _pod(
        containers=[container(**_profile("Localhost", localhostProfile="b")), container("aid")]
    ),
    "both fields": _pod(
        **_profile("RuntimeDefault"), containers=[container(**_profile("Unconfined")), container("aid")]
    ),
    "a bad field": _pod(containers=[container(**_profile("Localhost"))]),
    "a bad field of the pod": _pod(**_profile("Localhost", localhostProfile="")),
    "a useless field": _pod(containers=[container(**_profile("Unconfined", localhostProfile="b"))]),
    "an unknown field": _pod(containers=[container(**_profile("Odd"))]),
    "an empty field": _pod(containers=[container(securityContext={"appArmorProfile": {}})]),
    "spaces": _pod(containers=[container(**_profile("Localhost", localhostProfile=" b"))]),
    "everything wrong": {
        **_armed("x", "other", restartPolicy="Odd", hostname="a b", **_profile("Odd")),
        "metadata": {
            "name": "a",
            "annotations": {
                "container.apparmor.security.beta.kubernetes.io/other": "x",
                "container.apparmor.security.beta.kubernetes.io/web": "unconfined",
                "a b": "",
            },
        },
    },
    "a mismatch among other faults": _armed(
        "unconfined",
        containers=[{"name": "web", **_profile("RuntimeDefault")}],
        hostAliases=[{"ip": "x"}],
        nodeSelector={"a b": "c"},
        priorityClassName="a b",
        preemptionPolicy="Odd",
        tolerations=[{"operator": "Odd"}],
        topologySpreadConstraints=[{}],
        activeDeadlineSeconds=0,
        securityContext={"runAsUser": -1},
    ),
    "too long a field": _pod(containers=[container(**_profile("Localhost", localhostProfile="b" * 5000))]),
}


async def _guarded(stage: Stage, body: dict[str, Any]) -> None:
    await stage.create(PODS, body)


async def _guarded_template(stage: Stage, body: dict[str, Any]) -> None:
    annotations = body["metadata"].get("annotations") or {}
    template = {"metadata": {"labels": LABELS, "annotations": annotations}, "spec": body["spec"]}
    await stage.create(DEPLOYMENTS, with_spec(deployment("a"), template=template))


for what, body_ in ARMOUR.items():
    TABLE.add("create", "AppArmor", f"a pod with {what}", _guarded, body_)
    TABLE.add("create", "AppArmor", f"a template with {what}", _guarded_template, body_)


CONTEXTS: dict[str, dict[str, Any]] = {
    "seccomp of an unknown type": {"seccompProfile": {"type": "Odd"}},
    "seccomp without a type": {"seccompProfile": {}},
    "seccomp of the node without a name": {"seccompProfile": {"type": "Localhost"}},
    "seccomp with a useless name": {"seccompProfile": {"type": "Unconfined", "localhostProfile": "a"}},
    "seccomp outside of its folder": {"seccompProfile": {"type": "Localhost", "localhostProfile": "../a"}},
    "seccomp at the root": {"seccompProfile": {"type": "Localhost", "localhostProfile": "/a"}},
    "a negative user": {
        "runAsUser": -1,
        "appArmorProfile": {"type": "Odd"},
        "seccompProfile": {"type": "Odd"},
    },
}
OF_CONTAINERS: dict[str, dict[str, Any]] = {
    "no escalation but privileges": {"allowPrivilegeEscalation": False, "privileged": True},
    "no escalation but a capability": {
        "allowPrivilegeEscalation": False, "capabilities": {"add": ["CAP_SYS_ADMIN"]}
    },
    "no escalation but another capability": {
        "allowPrivilegeEscalation": False, "capabilities": {"add": ["SYS_ADMIN"]}
    },
    "a way to mount": {"procMount": "Odd"},
    "no way to mount": {"procMount": "Unmasked"},
    "everything": {
        "allowPrivilegeEscalation": False, "privileged": True, "procMount": "Odd", "runAsUser": -1,
        "runAsGroup": -1, "appArmorProfile": {}, "seccompProfile": {},
    },
}  # fmt: skip
OF_PODS: dict[str, dict[str, Any]] = {
    "groups below zero": {"supplementalGroups": [1, -1], "fsGroup": -1},
    "a policy of groups": {"fsGroupChangePolicy": "Odd", "supplementalGroupsPolicy": "Odd"},
    "settings of the kernel": {"sysctls": [{"name": ""}, {"name": "a b"}, {"name": "kernel.x"}]},
    "a setting twice": {"sysctls": [{"name": "kernel.x", "value": "1"}, {"name": "kernel/x", "value": "1"}]},
    "a change of labels": {"seLinuxChangePolicy": "Odd"},
    "everything": {
        "runAsUser": -1, "runAsGroup": -1, "fsGroup": -1, "supplementalGroups": [-1],
        "sysctls": [{"name": ""}], "fsGroupChangePolicy": "Odd", "seccompProfile": {}, "appArmorProfile": {},
        "supplementalGroupsPolicy": "Odd",
    },
}  # fmt: skip
for what, context_ in (CONTEXTS | OF_CONTAINERS).items():
    body_ = _pod(containers=[container(securityContext=context_)])
    TABLE.add("create", "security", f"a container with {what}", _guarded, body_)
for what, context_ in (CONTEXTS | OF_PODS).items():
    TABLE.add("create", "security", f"a whole pod with {what}", _guarded, _pod(securityContext=context_))


def _kept(schema: dict[str, Any] | None, **spec: Any) -> dict[str, Any]:
    version: dict[str, Any] = {"name": "v1", "served": True, "storage": True}
    if schema is not None:
        version["schema"] = {"openAPIV3Schema": schema}
    body = definition("Thing", "kept.trimtab.dev")
    return with_spec(body, versions=[version], preserveUnknownFields=True, **spec)


KEPT: dict[str, dict[str, Any]] = {
    "no schema": _kept(None),
    "a default": _kept({"type": "object", "properties": {"a": {"type": "string", "default": "x"}}}),
    "no types": _kept({"properties": {"a": {"description": "x"}}}),
    "a wrong default": _kept({"type": "object", "properties": {"a": {"type": "string", "default": 1}}}),
    "kept fields in the schema": _kept({"type": "object", "x-kubernetes-preserve-unknown-fields": True}),
    "an int or string": _kept({"type": "object", "properties": {"a": {"x-kubernetes-int-or-string": True}}}),
    "an embedded object": _kept(
        {"type": "object", "properties": {"a": {"type": "object", "x-kubernetes-embedded-resource": True}}}
    ),
    "a webhook": _kept(
        {"type": "object"},
        conversion={
            "strategy": "Webhook",
            "webhook": {"clientConfig": {"url": "https://x.example/"}, "conversionReviewVersions": ["v1"]},
        },
    ),
    "an unknown conversion": _kept({"type": "object"}, conversion={"strategy": "Odd"}),
    "an embedded object without type": _kept(
        {"type": "object", "properties": {"a": {"x-kubernetes-embedded-resource": True}}}
    ),
    "a list map": _kept(
        {
            "type": "object",
            "properties": {
                "a": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["k"],
                    "items": {"type": "object", "required": ["k"], "properties": {"k": STRING}},
                }
            },
        }
    ),
    "a rule": _kept({"type": "object", "x-kubernetes-validations": [{"rule": "true"}]}),
    "a default below": _kept(
        {
            "type": "object",
            "properties": {
                "default": {"type": "object", "additionalProperties": {"type": "string", "default": "x"}}
            },
        }
    ),
    "a field called default": _kept({"type": "object", "properties": {"default": STRING}}),
    "a nullable": _kept({"type": "object", "properties": {"a": {"type": "string", "nullable": True}}}),
}


async def _tried(stage: Stage, body: dict[str, Any]) -> None:
    await stage.create(DEFINITIONS, body, write=Write(dry_run=True))


for what, body_ in KEPT.items():
    TABLE.add("definitions", "unknown fields kept", f"beside {what}", _tried, body_)
