"""Changes that are judged as new objects are, and what they leave: kinds with rules of their own."""

from __future__ import annotations

from typing import Any

from tests.contract.cluster.cases import Table
from tests.contract.cluster.kinds import (
    ACCOUNTS,
    AUTOSCALERS,
    BUDGETS,
    CONFIG_MAPS,
    CRON_JOBS,
    DAEMON_SETS,
    DEPLOYMENTS,
    ENDPOINTS,
    INGRESS_CLASSES,
    INGRESSES,
    JOBS,
    LEASES,
    NETWORK_POLICIES,
    OLD_AUTOSCALERS,
    PRIORITY_CLASSES,
    REPLICA_SETS,
    ROLES,
    STATEFUL_SETS,
    config_map,
    container,
    named,
    templated,
    with_metadata,
    with_spec,
)
from tests.contract.cluster.stage import Stage
from trimtab.kube.cluster import PatchType, Write
from trimtab.kube.discovery import Resource

TABLE = Table(__name__)
case = TABLE.case
TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}
DRY = Write(dry_run=True)
MANY = "9" * 4301  # one digit more than Python reads


def _cpu(**target: Any) -> dict[str, Any]:
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def _of_pods(name: str, **target: Any) -> dict[str, Any]:
    return {"type": "Pods", "pods": {"metric": {"name": name}, "target": target}}


async def _judged(stage: Stage, kind: Resource, made: dict[str, Any], *changes: dict[str, Any]) -> None:
    """Try changes of an object, and each as a new object beside it."""
    await stage.given(kind, made)
    for change in changes:
        await stage.patch(kind, "a", change, how=PatchType.MERGE, write=DRY)
        whole = {**made, **{name: {**made.get(name, {}), **part} for name, part in change.items()}}
        await stage.create(kind, {**whole, "metadata": {"name": "b"}}, write=DRY)


HALF = {"type": "Utilization", "averageUtilization": 50}
METRICS: tuple[dict[str, Any], ...] = (
    {"metrics": [_cpu(**HALF)]},
    {"metrics": [_cpu(type="Utilization")]},
    {"metrics": [_cpu(type="Utilization", averageUtilization=0)]},
    {"metrics": [_cpu(type="AverageValue")]},
    {"metrics": [_cpu(type="AverageValue", averageValue="0")]},
    {"metrics": [_cpu(type="Value", value="1")]},
    {"metrics": [_cpu(type="Any", averageUtilization=5)]},
    {"metrics": [_cpu(averageUtilization=5)]},
    {"metrics": [{"type": "Resource"}]},
    {"metrics": [{"type": "Resource", "resource": {"target": HALF}}]},
    {"metrics": [_of_pods("", type="AverageValue", averageValue="1")]},
    {"metrics": [_of_pods("a/b", type="AverageValue", averageValue="1")]},
    {"metrics": [_of_pods("a", type="Value", value="1")]},
    {"metrics": [{"type": "Pods", "resource": {"name": "cpu", "target": HALF}}]},
    {"metrics": [{"type": "ContainerResource", "containerResource": {"name": "cpu", "target": HALF}}]},
    {"metrics": [{"type": "External", "external": {"metric": {"name": "q"}, "target": {"type": "Value"}}}]},
    {"metrics": [{"type": "Object", "object": {"metric": {"name": "q"}, "target": {"type": "Value"}}}]},
    {"behavior": {"scaleUp": {"policies": []}}},
    {"behavior": {"scaleDown": {"stabilizationWindowSeconds": -1}}},
    {"behavior": {"scaleDown": {"stabilizationWindowSeconds": 3601, "selectPolicy": "Most"}}},
    {"behavior": {"scaleUp": {"policies": [{"type": "Pods", "value": 0, "periodSeconds": 0}]}}},
    {"behavior": {"scaleUp": {"policies": [{"type": "All", "value": 1, "periodSeconds": 1801}]}}},
)
TABLE.add(
    "patch merge",
    "judged like new",
    "HorizontalPodAutoscaler: metrics and behaviour",
    _judged,
    AUTOSCALERS,
    named(AUTOSCALERS, "a", spec={"maxReplicas": 3, "scaleTargetRef": TARGET}),
    *({"spec": each} for each in METRICS),
)
TABLE.add(
    "patch merge",
    "judged like new",
    "PodDisruptionBudget: whether unhealthy pods may go",
    _judged,
    BUDGETS,
    named(BUDGETS, "a", spec={"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}}),
    {"spec": {"unhealthyPodEvictionPolicy": "Sometimes"}},
    {"spec": {"unhealthyPodEvictionPolicy": "AlwaysAllow"}},
)
ENDLESS = {"template": {"spec": {"containers": [container()], "restartPolicy": "Sometimes"}}}


@case("create", "invalid Job")
async def a_restart_policy_that_is_none(stage: Stage) -> None:
    await stage.create(JOBS, named(JOBS, "a", spec=ENDLESS))
    spec = {"schedule": "* * * * *", "jobTemplate": {"spec": ENDLESS}}
    await stage.create(CRON_JOBS, named(CRON_JOBS, "a", spec=spec))


@case("create", "invalid Ingress")
async def a_backend_of_any_kind_that_is_none(stage: Stage) -> None:
    resource = {"apiGroup": "A b", "kind": "", "name": "a/b"}
    await stage.create(INGRESSES, named(INGRESSES, "a", spec={"defaultBackend": {"resource": resource}}))


for _resource in (DAEMON_SETS, DEPLOYMENTS, REPLICA_SETS):
    TABLE.add(
        "patch merge",
        "judged like new",
        f"{_resource.kind}: what may not change is told beside what cannot be",
        _judged,
        _resource,
        templated(_resource, "a"),
        {"spec": {"selector": {"matchLabels": {"app": "other"}}, "minReadySeconds": -1}},
        {"spec": {"selector": {"matchLabels": {"app": None}}}},
    )


@case("patch merge", "judged like new")
async def an_ingress_class_keeps_its_controller(stage: Stage) -> None:
    name = f"{stage.namespace}-a"
    await stage.create(INGRESS_CLASSES, named(INGRESS_CLASSES, name, spec={"controller": "example.com/a"}))
    for spec in (
        {"controller": None},
        {"controller": "example.com/b"},
        {"parameters": {"kind": "Some"}},
        {"parameters": {"name": "some", "apiGroup": "A b"}},
        {"parameters": {"kind": "Some", "name": "a/b", "scope": "Namespace"}},
        {"parameters": {"kind": "Some", "name": "some", "scope": "Cluster", "namespace": "default"}},
        {"parameters": {"kind": "Some", "name": "some", "scope": "World"}},
        {"parameters": {"kind": "Some", "name": "some"}},
    ):
        await stage.patch(INGRESS_CLASSES, name, {"spec": spec}, how=PatchType.MERGE, write=DRY)
    await stage.delete(INGRESS_CLASSES, name)


@case("update", "generation")
async def a_priority_class_has_one_generation(stage: Stage) -> None:
    name = f"{stage.namespace}-a"
    await stage.create(PRIORITY_CLASSES, named(PRIORITY_CLASSES, name, value=5))
    change = {"description": "new"}
    await stage.patch(PRIORITY_CLASSES, name, change, how=PatchType.MERGE)
    await stage.delete(PRIORITY_CLASSES, name)


@case("update", "plain")
async def an_account_names_its_secrets_alone(stage: Stage) -> None:
    secrets = [{"name": "s", "namespace": "n", "kind": "Secret"}]
    await stage.create(ACCOUNTS, named(ACCOUNTS, "a", secrets=secrets))
    await stage.update(ACCOUNTS, "a", named(ACCOUNTS, "a", {"l": "1"}, secrets=secrets))
    await stage.apply(ACCOUNTS, "a", named(ACCOUNTS, "a", secrets=secrets), force=True)


@case("update", "owners")
async def whoever_states_an_empty_list_owns_it(stage: Stage) -> None:
    await stage.create(ROLES, named(ROLES, "a", rules=[]))
    await stage.update(ROLES, "a", named(ROLES, "a"), write=Write(manager="another"))
    await stage.update(ROLES, "a", named(ROLES, "a", rules=[]), write=Write(manager="another"))
    await stage.apply(ROLES, "a", named(ROLES, "a", rules=[]))


@case("apply", "warnings")
async def a_conflict_over_an_old_kind_is_told_with_its_warning(stage: Stage) -> None:
    subsets = [{"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 80}]}]
    await stage.given(ENDPOINTS, named(ENDPOINTS, "a", subsets=subsets))
    await stage.apply(ENDPOINTS, "a", named(ENDPOINTS, "a", subsets=[]))


@case("patch merge", "judged like new")
async def what_jobs_do_about_failures_stays(stage: Stage) -> None:
    codes = {"containerName": "web", "operator": "In", "values": [1]}
    rule = {"action": "FailJob", "onExitCodes": codes}
    pod = {"restartPolicy": "Never", "containers": [container()]}
    spec = {"suspend": True, "podFailurePolicy": {"rules": [rule]}, "template": {"spec": pod}}
    await stage.given(JOBS, named(JOBS, "a", spec=spec))
    disrupted = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
    policies: tuple[dict[str, Any] | None, ...] = (
        None,
        {"rules": []},
        {"rules": [{**rule, "onExitCodes": {**codes, "containerName": None}}]},
        {"rules": [rule, disrupted]},
        {"rules": [{**rule, "action": "Any"}]},
    )
    for policy in policies:
        await stage.patch(JOBS, "a", {"spec": {"podFailurePolicy": policy}}, how=PatchType.MERGE, write=DRY)


CODES: dict[str, Any] = {"operator": "In", "values": [1]}
DISRUPTED = {"type": "DisruptionTarget", "status": "True"}
FAILURES: tuple[dict[str, Any], ...] = (
    {"action": "FailJob"},
    {"onExitCodes": CODES},
    {"action": "Any", "onExitCodes": CODES},
    {"action": "FailIndex", "onExitCodes": CODES},
    {"action": "FailJob", "onExitCodes": CODES, "onPodConditions": [DISRUPTED]},
    {"action": "FailJob", "onExitCodes": {"operator": "", "values": [2, 0, 2]}},
    {"action": "FailJob", "onExitCodes": {"operator": "Any", "values": []}},
    {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [2, 0, 2], "containerName": "other"}},
    {"action": "FailJob", "onExitCodes": {"operator": "NotIn", "values": [*range(256)]}},
    {"action": "Count", "onPodConditions": [{}, {"type": "A b", "status": "Maybe"}]},
    {"action": "Count", "onPodConditions": [DISRUPTED] * 21},
)


@case("create", "invalid Job")
async def rules_for_pods_that_fail(stage: Stage) -> None:
    judged = {"action": "FailJob", "onExitCodes": CODES}
    specs: list[dict[str, Any]] = [
        {"podFailurePolicy": {"rules": rules}} for rules in ([judged] * 21, *([each] for each in FAILURES))
    ]
    specs += [{**specs[1], "podReplacementPolicy": policy} for policy in ("Any", "TerminatingOrFailed")]
    for restart in ("Never", "OnFailure"):
        for spec in specs:
            pod = {"restartPolicy": restart, "containers": [container()]}
            made = named(JOBS, "a", spec={**spec, "template": {"spec": pod}})
            await stage.create(JOBS, made, write=DRY)


@case("patch merge", "judged like new")
async def how_daemon_sets_roll_is_shown(stage: Stage) -> None:
    await stage.given(DAEMON_SETS, templated(DAEMON_SETS, "a"))
    for strategy in (
        {"type": "Any"},
        {"type": "Any", "rollingUpdate": None},
        *(
            {"rollingUpdate": {"maxUnavailable": amount}}
            for amount in ("\u00b2", "0", "5", "000%", MANY, f"{MANY}%")
        ),
    ):
        change = {"spec": {"updateStrategy": strategy}}
        await stage.patch(DAEMON_SETS, "a", change, how=PatchType.MERGE, write=DRY)


@case("create", "invalid StatefulSet")
async def claims_of_one_name_are_one_volume(stage: Stage) -> None:
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claims = [{"metadata": {"name": "a"}, "spec": claim}]
    volumes = [{"name": "a", "emptyDir": {}}, {"name": "a"}]
    made = templated(STATEFUL_SETS, "a", {"volumes": volumes}, volumeClaimTemplates=claims * 2)
    await stage.create(STATEFUL_SETS, made, write=DRY)


@case("create", "invalid CronJob")
async def schedules_with_numbers_that_are_none(stage: Stage) -> None:
    pod = {"restartPolicy": "Never", "containers": [container()]}
    for schedule in (
        *(f"{number} * * * *" for number in ("\u00b2", MANY, "+1", "0x1", f"*/{MANY}", f"1-{MANY}", "*/-5")),
        *(
            f"@every {time}"
            for time in ("", "0", "1", "x", "1x", ".s", "-1s", "1\u00b2s", "1s 2s", '"1s', f"{MANY}s")
        ),
    ):
        spec = {"schedule": schedule, "jobTemplate": {"spec": {"template": {"spec": pod}}}}
        await stage.create(CRON_JOBS, named(CRON_JOBS, "a", spec=spec), write=DRY)


@case("update", "owners")
async def whoever_states_an_empty_list_in_a_list_owns_that(stage: Stage) -> None:
    rule: dict[str, Any] = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
    await stage.create(ROLES, named(ROLES, "a", rules=[rule]))
    for how in (PatchType.MERGE, PatchType.STRATEGIC):
        for manager, names in (("none", None), ("empty", [])):
            change = {"rules": [{**rule, "resourceNames": names}]}
            await stage.patch(ROLES, "a", change, how=how, write=Write(manager=f"{how.name}-{manager}"))
    stated = named(ROLES, "a", rules=[{**rule, "nonResourceURLs": []}])
    await stage.update(ROLES, "a", stated, write=Write(manager="another"))
    await stage.apply(ROLES, "a", stated)
    await stage.apply(ROLES, "a", named(ROLES, "a", rules=[rule]))


@case("update", "owners")
async def whoever_states_an_empty_list_in_a_selector_owns_nothing(stage: Stage) -> None:
    selector = {"matchLabels": {"app": "a"}}
    await stage.given(BUDGETS, named(BUDGETS, "a", spec={"minAvailable": 1, "selector": selector}))
    change: dict[str, Any] = {"spec": {"selector": {"matchExpressions": []}}}
    await stage.patch(BUDGETS, "a", change, how=PatchType.MERGE, write=Write(manager="another"))
    rules = [{"from": [{"podSelector": selector}]}]
    spec = {"podSelector": {}, "ingress": rules}
    await stage.given(NETWORK_POLICIES, named(NETWORK_POLICIES, "a", spec=spec))
    stated = named(NETWORK_POLICIES, "a", spec={"ingress": [{**rules[0], "ports": []}]})
    await stage.apply(NETWORK_POLICIES, "a", stated)


@case("update", "owners")
async def what_is_dropped_late_is_owned(stage: Stage) -> None:
    spec = {"holderIdentity": "a", "preferredHolder": "b", "strategy": "OldestEmulationVersion"}
    await stage.update(LEASES, "a", named(LEASES, "a", spec=spec))
    await stage.create(LEASES, named(LEASES, "b", spec=spec))
    await stage.patch(LEASES, "b", {"metadata": {"labels": {"a": "b"}}}, how=PatchType.MERGE)
    another = Write(manager="another")
    await stage.patch(LEASES, "b", {"spec": {"preferredHolder": "c"}}, how=PatchType.MERGE, write=another)
    await stage.apply(LEASES, "b", named(LEASES, "b", spec={"preferredHolder": "d"}))
    rolling = {"rollingUpdate": {"maxUnavailable": 2}}
    await stage.create(STATEFUL_SETS, templated(STATEFUL_SETS, "a", serviceName="a", updateStrategy=rolling))


@case("update", "optimistic locking")
async def versions_that_nothing_holds(stage: Stage) -> None:
    await stage.given(CONFIG_MAPS, config_map("a"))
    for version in ("\u00b2", "-1", "99999999999999999999", MANY):
        held = with_metadata(config_map("a"), resourceVersion=version)
        await stage.update(CONFIG_MAPS, "a", held)
        await stage.patch(CONFIG_MAPS, "a", held, how=PatchType.MERGE)


@case("patch json", "merge-key list")
async def places_in_a_list_that_nothing_holds(stage: Stage) -> None:
    await stage.given(CONFIG_MAPS, with_metadata(config_map("a"), finalizers=["example.com/a"]))
    for place in ("\u00b2", MANY, f"-{MANY}"):
        change = [{"op": "add", "path": f"/metadata/finalizers/{place}", "value": "example.com/b"}]
        await stage.patch(CONFIG_MAPS, "a", change, how=PatchType.JSON)
    await stage.patch(CONFIG_MAPS, "a", {"metadata": {"finalizers": None}}, how=PatchType.MERGE)


@case("create", "invalid Lease")
async def times_in_letters_beyond_ascii(stage: Stage) -> None:
    for time in (
        "2020-01-01T00:00:0\u00b2Z",
        "2020-01-01T00:00:00.\u00b2Z",
        "\u0662020-01-01T00:00:00.000000Z",
    ):
        await stage.create(LEASES, named(LEASES, "a", spec={"renewTime": time}))


# -- autoscalers in both of their versions ----------------------------------------------------------------

_SELECTOR = {"matchLabels": {"a": "<b>"}}
EVERY_METRIC: list[dict[str, Any]] = [
    {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 7}},
    },
    {
        "type": "Resource",
        "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1.5"}},
    },
    {
        "type": "ContainerResource",
        "containerResource": {
            "name": "cpu",
            "container": "web",
            "target": {"type": "Utilization", "averageUtilization": 9},
        },
    },
    {
        "type": "Pods",
        "pods": {
            "metric": {"name": "x", "selector": _SELECTOR},
            "target": {"type": "AverageValue", "averageValue": "1"},
        },
    },
    {
        "type": "Object",
        "object": {
            "describedObject": {"kind": "Service", "name": "s"},
            "metric": {"name": "x"},
            "target": {"type": "AverageValue", "averageValue": "1k"},
        },
    },
    {
        "type": "External",
        "external": {
            "metric": {"name": "x", "selector": _SELECTOR},
            "target": {"type": "Value", "value": "1000m"},
        },
    },
]
OLD_NOTES: dict[str, dict[str, str]] = {
    "nothing that can be read": {
        "metrics": "x",
        "behavior": "[]",
        "conditions": "{}",
        "current-metrics": "1",
    },
    "nothing": {"metrics": "null", "behavior": "{}", "conditions": "[]", "current-metrics": ""},
    "metrics": {
        "metrics": '[{"type":"Pods","pods":{"metricName":"x","targetAverageValue":"1000m"}},'
        '{"type":"External","external":{"metricName":"y","targetAverageValue":"2"}}]'
    },
    "things of other types": {
        "metrics": '[{"type":"Pods","pods":{"metricName":5}}]',
        "behavior": '{"scaleUp":{"policies":[{"value":"x"}]}}',
        "current-metrics": '[{"type":"Pods","pods":[]}]',
        "conditions": '[{"type":1}]',
    },
    "half a policy": {"behavior": '{"scaleDown":{"policies":[{}]}}'},
    "amounts that are none": {"metrics": '[{"type":"Pods","pods":{"targetAverageValue":"x"}}]'},
    "behaviour": {"behavior": '{"scaleUp":{"policies":[{"Type":"Pods","Value":1,"periodSeconds":5}]}}'},
    "rules without a policy": {"behavior": '{"ScaleUp":null,"ScaleDown":{"SelectPolicy":"Min"}}'},
    "rules of no policies": {"behavior": '{"ScaleUp":{"Policies":[]},"ScaleDown":{"Policies":null}}'},
    "empty rules beside a metric that is wrong": {
        "behavior": '{"ScaleUp":{}}',
        "metrics": '[{"type":"Resource","resource":{"name":"memory","targetAverageValue":"00"}}]',
    },
    "a tolerance": {
        "behavior": '{"scaleUp":{"policies":[{"type":"Pods","value":1,"periodSeconds":5}],"tolerance":"0.1"}}'
    },
    "what it is said to have observed": {
        "conditions": '[{"type":"AbleToScale","status":"True","lastTransitionTime":null}]',
        "current-metrics": '[{"type":"Resource","resource":{"name":"cpu","currentAverageValue":"2"}}]',
    },
    "two wishes for processors": {
        "metrics": '[{"type":"Resource","resource":{"name":"cpu","targetAverageUtilization":50}},'
        '{"type":"Resource","resource":{"name":"cpu","targetAverageUtilization":60}}]'
    },
    "metrics that are wrong": {
        "metrics": '[{"type":"Pods","pods":{"metricName":"","targetAverageValue":"0"}}]'
    },
}


@case("get", "several versions")
async def an_old_autoscaler_tells_the_rest_in_annotations(stage: Stage) -> None:
    behavior = {"scaleUp": {"stabilizationWindowSeconds": 3, "tolerance": "0.05"}}
    spec = {"maxReplicas": 3, "scaleTargetRef": TARGET, "metrics": EVERY_METRIC, "behavior": behavior}
    await stage.create(AUTOSCALERS, named(AUTOSCALERS, "a", spec=spec))
    await stage.get(OLD_AUTOSCALERS, "a")
    await stage.list(OLD_AUTOSCALERS, whole=True)


async def _noted(stage: Stage, notes: dict[str, str], kind: Resource) -> None:
    annotations = {f"autoscaling.alpha.kubernetes.io/{name}": text for name, text in notes.items()}
    body = named(kind, "a", spec={"maxReplicas": 3, "scaleTargetRef": TARGET})
    await stage.create(kind, with_metadata(body, annotations={**annotations, "other": "1"}))
    await stage.get(AUTOSCALERS, "a")
    await stage.get(OLD_AUTOSCALERS, "a")


for what_, notes_ in OLD_NOTES.items():
    TABLE.add(
        "create", "several versions", f"an old autoscaler notes {what_}", _noted, notes_, OLD_AUTOSCALERS
    )
    TABLE.add("create", "several versions", f"an autoscaler notes {what_}", _noted, notes_, AUTOSCALERS)


@case("subresource", "status")
async def what_an_autoscaler_observes_is_told_in_both_versions(stage: Stage) -> None:
    await stage.given(AUTOSCALERS, named(AUTOSCALERS, "a", spec={"maxReplicas": 3, "scaleTargetRef": TARGET}))
    condition = {
        "type": "AbleToScale",
        "status": "True",
        "reason": "r",
        "message": "<m>",
        "lastTransitionTime": "2020-01-01T00:00:00Z",
    }
    current = {"averageUtilization": 5, "averageValue": "1500m"}
    observed = [
        {"type": "Resource", "resource": {"name": "cpu", "current": current}},
        {"type": "External", "external": {"metric": {"name": "x"}, "current": {"value": "1"}}},
    ]
    status = {"conditions": [condition], "currentMetrics": observed, "desiredReplicas": 2}
    await stage.patch(AUTOSCALERS, "a", {"status": status}, how=PatchType.MERGE, subresource="status")
    await stage.get(OLD_AUTOSCALERS, "a")


@case("patch merge", "judged like new")
async def an_autoscaler_keeps_the_version_that_it_scales(stage: Stage) -> None:
    spec = {"maxReplicas": 3, "scaleTargetRef": TARGET}
    await stage.given(AUTOSCALERS, named(AUTOSCALERS, "a", spec=spec))
    for change in ({"name": "other"}, {"apiVersion": "v1"}, {"kind": "Other"}):
        patch = {"spec": {"scaleTargetRef": change}}
        await stage.patch(AUTOSCALERS, "a", patch, how=PatchType.MERGE, write=Write(dry_run=True))
    core = {"kind": "ReplicationController", "apiVersion": "v1"}
    await stage.patch(AUTOSCALERS, "a", {"spec": {"scaleTargetRef": core}}, how=PatchType.MERGE)
    await stage.patch(AUTOSCALERS, "a", {"spec": {"minReplicas": 2}}, how=PatchType.MERGE)


@case("apply", "several versions")
async def owners_of_an_autoscaler_in_both_of_its_versions(stage: Stage) -> None:
    new = named(AUTOSCALERS, "a", spec={"maxReplicas": 3, "scaleTargetRef": TARGET, "metrics": EVERY_METRIC})
    busy = {"maxReplicas": 4, "scaleTargetRef": TARGET, "targetCPUUtilizationPercentage": 7}
    old = named(OLD_AUTOSCALERS, "a", spec=busy)
    await stage.apply(AUTOSCALERS, "a", new)
    await stage.apply(OLD_AUTOSCALERS, "a", old, manager="two")
    await stage.apply(OLD_AUTOSCALERS, "a", old, manager="two", force=True)
    busier = {**busy, "targetCPUUtilizationPercentage": 8, "scaleTargetRef": {**TARGET, "name": "b"}}
    await stage.apply(OLD_AUTOSCALERS, "a", named(OLD_AUTOSCALERS, "a", spec=busier), manager="three")
    await stage.patch(OLD_AUTOSCALERS, "a", {"spec": {"minReplicas": 2}}, how=PatchType.MERGE)
    await stage.get(AUTOSCALERS, "a")
    await stage.patch(AUTOSCALERS, "a", {"spec": {"maxReplicas": 5}}, how=PatchType.MERGE)
    await stage.get(OLD_AUTOSCALERS, "a")


@case("update", "several versions")
async def an_autoscaler_that_is_written_back_in_v1_loses_nothing(stage: Stage) -> None:
    spec = {"maxReplicas": 3, "scaleTargetRef": TARGET, "metrics": EVERY_METRIC, "behavior": {"scaleUp": {}}}
    await stage.given(AUTOSCALERS, named(AUTOSCALERS, "a", spec=spec))
    old = await stage.manifest_of(OLD_AUTOSCALERS, "a")
    await stage.update(OLD_AUTOSCALERS, "a", with_spec(old, minReplicas=2))
    await stage.get(AUTOSCALERS, "a")


def _old(notes: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    body = named(OLD_AUTOSCALERS, "a", spec={"maxReplicas": 3, "scaleTargetRef": TARGET, **spec})
    annotations = {f"autoscaling.alpha.kubernetes.io/{name}": text for name, text in (notes or {}).items()}
    return with_metadata(body, annotations=annotations) if annotations else body


def _new(**spec: Any) -> dict[str, Any]:
    return named(AUTOSCALERS, "a", spec={"maxReplicas": 3, "scaleTargetRef": TARGET, **spec})


@case("create", "several versions")
async def what_an_old_autoscaler_notes_is_completed_in_a_dry_run_too(stage: Stage) -> None:
    body = _old({"behavior": '{"ScaleDown":{"Policies":[{"Type":"Pods","Value":1,"PeriodSeconds":5}]}}'})
    await stage.create(OLD_AUTOSCALERS, body, write=Write(dry_run=True))
    await stage.create(OLD_AUTOSCALERS, body)
    await stage.patch(AUTOSCALERS, "a", {"spec": {"maxReplicas": 3}}, how=PatchType.MERGE)


@case("update", "several versions")
async def an_old_autoscaler_keeps_what_was_reported(stage: Stage) -> None:
    await stage.given(AUTOSCALERS, _new())
    status = {
        "conditions": [{"type": "AbleToScale", "status": "True", "lastTransitionTime": None}],
        "currentMetrics": [
            {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 5}}}
        ],
    }
    await stage.patch(AUTOSCALERS, "a", {"status": status}, how=PatchType.MERGE, subresource="status")
    forged = {"conditions": "[]", "current-metrics": '[{"type":"Pods","pods":{"metricName":"x"}}]'}
    await stage.update(OLD_AUTOSCALERS, "a", _old(forged, maxReplicas=4))
    await stage.get(AUTOSCALERS, "a")


@case("subresource", "status")
async def a_report_in_v1_leaves_what_v2_wants(stage: Stage) -> None:
    await stage.given(AUTOSCALERS, _new(metrics=EVERY_METRIC, behavior={"scaleUp": {}}))
    status = {"currentCPUUtilizationPercentage": 5, "currentReplicas": 1, "desiredReplicas": 2}
    await stage.patch(OLD_AUTOSCALERS, "a", {"status": status}, how=PatchType.MERGE, subresource="status")
    await stage.get(AUTOSCALERS, "a")
    report = {**named(OLD_AUTOSCALERS, "a"), "status": {**status, "currentCPUUtilizationPercentage": 6}}
    await stage.apply(OLD_AUTOSCALERS, "a", report, force=True, subresource="status")
    await stage.get(AUTOSCALERS, "a")


@case("apply", "several versions")
async def a_null_takes_nothing_from_an_owner_in_another_version(stage: Stage) -> None:
    await stage.apply(AUTOSCALERS, "a", _new(minReplicas=2))
    await stage.apply(OLD_AUTOSCALERS, "a", _old(minReplicas=None, maxReplicas=4), manager="two")
    await stage.apply(AUTOSCALERS, "a", _new(minReplicas=None), manager="two")
    await stage.apply(OLD_AUTOSCALERS, "a", _old(minReplicas=None), manager="two")


@case("apply", "several versions")
async def what_is_empty_is_lost_on_the_way_from_one_version_to_the_other(stage: Stage) -> None:
    await stage.apply(OLD_AUTOSCALERS, "a", _old())
    await stage.patch(
        AUTOSCALERS, "a", {"spec": {"minReplicas": 2}}, how=PatchType.MERGE, write=Write(manager="one")
    )
    rules = {"scaleUp": {"policies": [], "tolerance": "0.1"}, "scaleDown": None}
    await stage.apply(AUTOSCALERS, "a", _new(minReplicas=None, behavior=rules))
    await stage.apply(AUTOSCALERS, "a", _new(minReplicas=None, behavior=rules))


@case("apply", "several versions")
async def an_apply_in_v1_that_changes_nothing_leaves_the_order_of_metrics(stage: Stage) -> None:
    await stage.given(AUTOSCALERS, _new(metrics=EVERY_METRIC))
    await stage.apply(OLD_AUTOSCALERS, "a", _old(targetCPUUtilizationPercentage=7), manager="two")
    await stage.get(AUTOSCALERS, "a")
    await stage.apply(OLD_AUTOSCALERS, "a", _old(maxReplicas=4), manager="two", force=True)
    await stage.get(AUTOSCALERS, "a")
