"""Updating: optimistic locking, generations, no-ops, immutable fields, ownership after a replace."""

from __future__ import annotations

from typing import Any

from tests.contract.cluster.cases import Table
from tests.contract.cluster.kinds import (
    CLAIMS,
    CONFIG_MAPS,
    CRON_JOBS,
    DAEMON_SETS,
    DEPLOYMENTS,
    ENDPOINTS,
    GADGETS,
    INGRESS_CLASSES,
    JOBS,
    PODS,
    PRIORITY_CLASSES,
    ROLE_BINDINGS,
    SECRETS,
    SERVICES,
    STATEFUL_SETS,
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
    with_spec,
)
from tests.contract.cluster.stage import Stage
from trimtab.kube.cluster import FieldValidation, PatchType, Write
from trimtab.kube.discovery import Resource

TABLE = Table(__name__)
case = TABLE.case
SHARED: tuple[tuple[Resource, dict[str, Any], dict[str, Any]], ...] = (
    (CONFIG_MAPS, config_map("a", one="1"), config_map("a", two="2")),
    (DEPLOYMENTS, deployment("a"), with_spec(deployment("a"), replicas=3)),
    (SERVICES, service("a"), service("a", {"port": 81})),
    (GADGETS, gadget("a", size=1), gadget("a", size=2, tags=["x"])),
)


def _for_each(verb: str, feature: str, name: str, play: Any) -> None:
    for resource, before, after in SHARED:
        TABLE.add(
            verb,
            feature,
            f"{resource.kind}: {name}",
            play,
            resource,
            before,
            after,
        )


async def _without_version(stage: Stage, kind: Resource, old: Any, new: Any) -> None:
    await stage.given(kind, old)
    await stage.update(kind, "a", new, write=Write(manager="updater"))
    await stage.get(kind, "a")


async def _with_version(stage: Stage, kind: Resource, old: Any, new: Any) -> None:
    await stage.given(kind, old)
    version = await stage.version_of(kind, "a")
    await stage.update(kind, "a", with_metadata(new, resourceVersion=version))
    await stage.update(kind, "a", with_metadata(old, resourceVersion=version))


async def _nothing_changed(stage: Stage, kind: Resource, old: Any, new: Any) -> None:
    await stage.given(kind, old, manager="same")
    manifest = await stage.manifest_of(kind, "a")
    await stage.get(kind, "a")
    await stage.update(kind, "a", manifest, write=Write(manager="same"))
    await stage.update(kind, "a", old, write=Write(manager="same"))
    await stage.update(kind, "a", manifest, write=Write(manager="another"))


async def _missing(stage: Stage, kind: Resource, old: Any, new: Any) -> None:
    await stage.update(kind, "a", new)
    await stage.update(kind, "a", with_metadata(new, resourceVersion="5"))


async def _dry(stage: Stage, kind: Resource, old: Any, new: Any) -> None:
    await stage.given(kind, old)
    await stage.update(kind, "a", new, write=Write(dry_run=True))
    await stage.get(kind, "a")


async def _other_name(stage: Stage, kind: Resource, old: Any, new: Any) -> None:
    await stage.given(kind, old)
    await stage.update(kind, "b", new)
    await stage.update(kind, "a", with_metadata(new, namespace="elsewhere"))
    await stage.update(kind, "a", {**new, "metadata": {}})


async def _other_uid(stage: Stage, kind: Resource, old: Any, new: Any) -> None:
    await stage.given(kind, old)
    await stage.update(kind, "a", with_metadata(new, uid="another"))


async def _metadata_alone(stage: Stage, kind: Resource, old: Any, new: Any) -> None:
    await stage.given(kind, old)
    await stage.update(kind, "a", with_metadata(old, labels={"l": "1"}, annotations={"n": "2"}))
    await stage.update(kind, "a", with_metadata(old, generation=9, creationTimestamp="2001-01-01T00:00:00Z"))


_for_each("update", "plain", "a replacement without a version", _without_version)
_for_each("update", "optimistic locking", "an old version is refused", _with_version)
_for_each("update", "no-ops", "the same again keeps the version", _nothing_changed)
_for_each("update", "missing objects", "nothing to update", _missing)
_for_each("update", "dry run", "a dry run changes nothing", _dry)
_for_each("update", "names", "another name", _other_name)
_for_each("update", "preconditions", "another uid", _other_uid)
_for_each("update", "generation", "metadata do not move the generation", _metadata_alone)


BYTES = ((SECRETS, "data"), (CONFIG_MAPS, "binaryData"))


async def _null_bytes(stage: Stage, kind: Resource, field: str) -> None:
    """Null bytes are kept otherwise than none, and read as the same."""
    await stage.given(kind, {**named(kind, "a"), field: {"x": None}}, manager="same")
    await stage.get(kind, "a")
    for value in ("", "", None, None, ""):
        body = {**named(kind, "a"), field: {"x": value}}
        await stage.update(kind, "a", body, write=Write(manager="same"))
    for value in (None, ""):
        await stage.create(kind, {**named(kind, "b"), field: {"x": value}}, write=Write(dry_run=True))


async def _frozen_bytes(stage: Stage, kind: Resource, field: str) -> None:
    """What cannot be changed cannot be given as empty, either."""
    await stage.given(kind, named(kind, "a", immutable=True))
    await stage.given(kind, {**named(kind, "b", immutable=True), field: {"x": ""}})
    for name, values in (("a", {}), ("a", None), ("a", {"x": None}), ("b", {"x": None}), ("b", {"x": ""})):
        body = {**named(kind, name, immutable=True), field: values}
        await stage.update(kind, name, body, write=Write(dry_run=True))
        await stage.apply(kind, name, body, force=True, write=Write(dry_run=True))
    wrong = with_metadata(named(kind, "a", type="x", data={}), finalizers=["A b"])
    await stage.update(kind, "a", wrong)


for _kind, _field in BYTES:
    TABLE.add("update", "no-ops", f"{_kind.kind}: null bytes are kept as such", _null_bytes, _kind, _field)
    _name = f"{_kind.kind}: what is immutable is not even emptied"
    TABLE.add("update", "immutable fields", _name, _frozen_bytes, _kind, _field)


WRONG = {"labels": {"A b": ""}, "finalizers": ["A b"]}
ROLE = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role"}
FIXED = (
    (
        ROLE_BINDINGS,
        named(ROLE_BINDINGS, "fixed", roleRef={**ROLE, "name": "a"}),
        named(ROLE_BINDINGS, "fixed", roleRef={**ROLE, "name": "b"}),
    ),
    (
        INGRESS_CLASSES,
        named(INGRESS_CLASSES, "fixed", spec={"controller": "example.com/a"}),
        named(INGRESS_CLASSES, "fixed", spec={"controller": "example.com/b"}),
    ),
    (
        PRIORITY_CLASSES,
        named(PRIORITY_CLASSES, "fixed", value=1),
        named(PRIORITY_CLASSES, "fixed", value=2, preemptionPolicy="Never"),
    ),
)


async def _fixed_and_wrong(stage: Stage, kind: Resource, old: Any, new: Any) -> None:
    """What may not be changed, beside metadata that nobody may have."""
    await stage.given(kind, old)
    await stage.update(kind, "fixed", with_metadata(new, **WRONG))
    await stage.update(kind, "fixed", new)
    await stage.update(kind, "fixed", with_metadata(old, **WRONG))


for _kind, _old, _new in FIXED:
    _name = f"{_kind.kind}: another one, and wrong metadata"
    TABLE.add("update", "immutable fields", _name, _fixed_and_wrong, _kind, _old, _new)


@case("create", "invalid PriorityClass")
async def an_empty_policy_of_preemption_is_none(stage: Stage) -> None:
    for policy in ("", "Odd", None):
        body = named(PRIORITY_CLASSES, "empty", value=1, preemptionPolicy=policy)
        await stage.create(PRIORITY_CLASSES, body, write=Write(dry_run=True))


GATED = {"schedulingGates": [{"name": "a"}, {"name": "b"}], "nodeSelector": {"x": "y"}}
NEARBY: dict[str, Any] = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}
TERM: dict[str, Any] = {"matchExpressions": [{"key": "a", "operator": "Exists"}]}
FIELD: dict[str, Any] = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}


def _required(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}


def _more(term: dict[str, Any]) -> dict[str, Any]:
    """A term with one more condition of each kind that it has."""
    return {kind: [*conditions, conditions[0]] for kind, conditions in term.items()}


TOLERATED = [{"key": "a", "operator": "Exists"}, {"key": "b", "operator": "Exists", "effect": "NoExecute"}]
POD_CHANGES: dict[str, tuple[dict[str, Any], tuple[dict[str, Any], ...]]] = {
    "tolerations may be added": (
        {"tolerations": TOLERATED},
        (
            {"tolerations": [*TOLERATED, {"key": "c", "operator": "Exists"}]},
            {"tolerations": [TOLERATED[0], {**TOLERATED[1], "tolerationSeconds": 5}]},
            {"tolerations": TOLERATED[1:]},
            {"tolerations": [{**TOLERATED[0], "operator": "Equal"}, TOLERATED[1]]},
            {"tolerations": [*TOLERATED, {"key": "-", "operator": "x"}]},
            {"tolerations": []},
        ),
    ),
    "gates may be opened": (
        GATED,
        (
            {"schedulingGates": [{"name": "b"}]},
            {"schedulingGates": []},
            {"schedulingGates": [{"name": "a"}, {"name": "c"}]},
            {"nodeSelector": {"x": "y", "z": ""}},
            {"nodeSelector": {"x": "z"}},
            {"nodeSelector": {}},
            {"affinity": {}},
            {"affinity": {"nodeAffinity": {}}},
            {"affinity": NEARBY, "hostNetwork": True},
        ),
    ),
    "the choice of nodes may become narrower": (
        {**GATED, "affinity": {"nodeAffinity": _required(TERM, FIELD)}},
        (
            {"affinity": None},
            {"affinity": {"nodeAffinity": {}}},
            {"affinity": {"nodeAffinity": {}, "podAffinity": {}}},
            {"affinity": {"nodeAffinity": _required(TERM)}},
            {"affinity": {"nodeAffinity": _required(TERM, FIELD, TERM)}},
            {"affinity": {"nodeAffinity": _required(FIELD, TERM)}},
            {"affinity": {"nodeAffinity": _required(_more(TERM), _more(FIELD))}},
            {"affinity": {"nodeAffinity": _required(_more(TERM), {**FIELD, **TERM})}},
            {"affinity": {"nodeAffinity": _required(TERM, TERM)}, "hostNetwork": True},
            {"affinity": {"nodeAffinity": {**_required(TERM, FIELD), **NEARBY["nodeAffinity"]}}},
            {"affinity": {"nodeAffinity": _required(TERM, FIELD), "podAntiAffinity": {}}},
            {"affinity": {"nodeAffinity": _required({}, FIELD)}},
        ),
    ),
    "the choice of nodes may begin": (
        {**GATED, "affinity": NEARBY},
        (
            {"affinity": {"nodeAffinity": _required(TERM)}},
            {"affinity": {"nodeAffinity": _required({})}},
            {"affinity": None},
        ),
    ),
    "any node, once nothing was meant": (
        {**GATED, "affinity": {"nodeAffinity": _required({}, TERM)}},
        (
            {"affinity": {"nodeAffinity": _required(TERM, TERM)}},
            {"affinity": {"nodeAffinity": _required({}, _more(TERM))}},
        ),
    ),
    "a deadline may come nearer": (
        {"activeDeadlineSeconds": 10},
        ({"activeDeadlineSeconds": 9}, {"activeDeadlineSeconds": 11}, {"activeDeadlineSeconds": None}),
    ),
    "images stay images": (
        {"initContainers": [container("i")]},
        (
            {"containers": [{**container(), "image": ""}]},
            {"containers": [{**container(), "image": " b "}], "hostNetwork": True},
            {"initContainers": [{**container("i"), "image": "b "}]},
            {"nodeSelector": {}, "hostAliases": [], "volumes": []},
            {"nodeSelector": {}, "hostAliases": [], "volumes": [], "hostname": "h"},
        ),
    ),
}


async def _changed_pod(stage: Stage, before: dict[str, Any], changes: tuple[dict[str, Any], ...]) -> None:
    given: dict[str, Any] = {"automountServiceAccountToken": False, "containers": [container()], **before}
    await stage.given(PODS, named(PODS, "a", spec=given))
    for change in changes:
        await stage.update(PODS, "a", named(PODS, "a", spec={**given, **change}), write=Write(dry_run=True))


for _name, (_before, _changes) in POD_CHANGES.items():
    TABLE.add("update", "immutable fields", f"Pod: {_name}", _changed_pod, _before, _changes)


@case("update", "generation")
async def whoever_changes_a_template_does_not_own_its_counter(stage: Stage) -> None:
    """The counter is raised after owners were noted: they own what they sent."""
    await stage.given(DAEMON_SETS, templated(DAEMON_SETS, "a"))
    for image in ("b", "c"):
        manifest = await stage.manifest_of(DAEMON_SETS, "a")
        manifest["spec"]["template"]["spec"]["containers"][0]["image"] = image
        await stage.update(DAEMON_SETS, "a", manifest, write=Write(manager="updater"))
    await stage.update(DAEMON_SETS, "a", templated(DAEMON_SETS, "a"), write=Write(manager="replacer"))


@case("update", "no-ops")
async def the_first_write_of_a_job_keeps_its_labels(stage: Stage) -> None:
    """A new Job without labels is kept so; every reading brings those of its template."""
    labelled = with_metadata(job("b"), labels={"a": "b"})
    await stage.given(JOBS, job("a"), labelled)
    for name in ("a", "b"):
        await stage.get(JOBS, name)
        for _ in range(2):
            manifest = await stage.manifest_of(JOBS, name)
            await stage.update(JOBS, name, manifest, write=Write(manager="setup"))


@case("update", "invalid metadata")
async def endpoints_are_judged_as_new_once_more(stage: Stage) -> None:
    await stage.given(ENDPOINTS, named(ENDPOINTS, "a"))
    for metadata in ({"labels": {"a": "A b"}}, {"finalizers": ["A b"]}):
        await stage.update(ENDPOINTS, "a", with_metadata(named(ENDPOINTS, "a"), **metadata))


@case("update", "immutable fields")
async def a_template_without_labels_is_shown_as_it_is_sent(stage: Stage) -> None:
    for kind in (DEPLOYMENTS, DAEMON_SETS, STATEFUL_SETS):
        body = templated(kind, "a")
        body["spec"]["template"]["metadata"]["labels"] = {}
        await stage.create(kind, body)
        await stage.given(kind, templated(kind, "a"))
        await stage.update(kind, "a", body)


@case("update", "generation")
async def tolerations_that_come_back_change_nothing(stage: Stage) -> None:
    await stage.given(PODS, pod("a"))
    manifest = await stage.manifest_of(PODS, "a")
    await stage.get(PODS, "a")
    manifest["spec"]["tolerations"] = []
    await stage.update(PODS, "a", manifest, write=Write(manager="setup"))


@case("subresource", "status")
async def what_the_status_of_a_pod_cannot_be(stage: Stage) -> None:
    await stage.given(PODS, pod("a"))
    for status in (
        {"podIP": "x"},
        {"podIP": "1.2.3.4"},
        {"podIPs": [{"ip": "1.2.3.4"}]},
        {"podIP": "1.2.3.4", "podIPs": [{"ip": "1.2.3.5"}]},
        {"conditions": [{"type": "A b", "status": "True", "observedGeneration": -1}]},
        {"nominatedNodeName": "A b"},
        {"qosClass": "Guaranteed"},
        {"observedGeneration": -1},
    ):
        body = {"status": status}
        await stage.patch(
            PODS, "a", body, how=PatchType.MERGE, subresource="status", write=Write(dry_run=True)
        )


TWICE = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"x":"1","x":"2"}}'


async def _mistaken(stage: Stage, validation: FieldValidation) -> None:
    write = Write(validation=validation)
    await stage.given(CONFIG_MAPS, config_map("a"))
    await stage.given(DEPLOYMENTS, deployment("a"))
    await stage.given(GADGETS, gadget("a"))
    await stage.update(CONFIG_MAPS, "a", config_map("a") | {"dta": {}}, write=write)
    await stage.update(CONFIG_MAPS, "a", TWICE, write=write)
    await stage.update(DEPLOYMENTS, "a", deployment("a", container(imag="x"), hostNetwrk=True), write=write)
    await stage.update(GADGETS, "a", gadget("a", sizes=1), write=write)


for asked in FieldValidation:
    how = asked.name.lower()
    TABLE.add("update", f"field validation {how}", f"mistakes in an update: {how}", _mistaken, asked)


@case("update", "bad bodies")
async def a_body_that_is_none(stage: Stage) -> None:
    await stage.given(CONFIG_MAPS, config_map("a"))
    for body in (b"", b"nonsense", b"[]", b"null", b'{"metadata": {"name": 5}}'):
        await stage.update(CONFIG_MAPS, "a", body)
    await stage.update(CONFIG_MAPS, "a", config_map("a") | {"kind": "Secret"})


@case("update", "optimistic locking")
async def a_version_that_is_none(stage: Stage) -> None:
    await stage.given(CONFIG_MAPS, config_map("a"))
    await stage.given(GADGETS, gadget("a"))
    for version in ("0", "x", "-1", "99999999999"):
        await stage.update(CONFIG_MAPS, "a", with_metadata(config_map("a"), resourceVersion=version))
        await stage.update(GADGETS, "a", with_metadata(gadget("a"), resourceVersion=version))


@case("update", "generation")
async def a_changed_spec_moves_the_generation_by_one(stage: Stage) -> None:
    await stage.given(DEPLOYMENTS, deployment("a"))
    for replicas in (2, 2, 3):
        await stage.update(DEPLOYMENTS, "a", with_spec(deployment("a"), replicas=replicas))
    await stage.given(GADGETS, gadget("a"))
    for size in (2, 2, 3):
        await stage.update(GADGETS, "a", gadget("a", size=size))


@case("update", "status")
async def an_update_leaves_the_status_alone(stage: Stage) -> None:
    await stage.given(DEPLOYMENTS, deployment("a"))
    await stage.given(GADGETS, gadget("a"))
    await stage.update(DEPLOYMENTS, "a", deployment("a") | {"status": {"replicas": 4}})
    await stage.update(GADGETS, "a", gadget("a") | {"status": {"replicas": 4}})


@case("update", "managed fields")
async def managed_fields_are_reset_by_an_empty_list(stage: Stage) -> None:
    await stage.given(CONFIG_MAPS, config_map("a", one="1"))
    await stage.update(CONFIG_MAPS, "a", with_metadata(config_map("a", one="1"), managedFields=[]))
    await stage.update(CONFIG_MAPS, "a", with_metadata(config_map("a", one="1"), managedFields=[{}]))
    await stage.update(CONFIG_MAPS, "a", config_map("a", one="2"), write=Write(manager="later"))


SELECTOR = {"matchLabels": {"app": "other"}}
OTHER_TEMPLATE = {"metadata": {"labels": {"app": "other"}}, "spec": {"containers": [container()]}}
CLAIM = named(
    CLAIMS, "a", spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
)
BINDING = named(
    ROLE_BINDINGS, "a", roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}
)
IMMUTABLE: dict[str, tuple[Resource, dict[str, Any], dict[str, Any]]] = {
    "a deployment's selector": (
        DEPLOYMENTS,
        deployment("a"),
        with_spec(deployment("a"), selector=SELECTOR, template=OTHER_TEMPLATE),
    ),
    "a stateful set's service": (
        STATEFUL_SETS,
        templated(STATEFUL_SETS, "a", serviceName="s"),
        templated(STATEFUL_SETS, "a", serviceName="t"),
    ),
    "a daemon set's selector": (
        DAEMON_SETS,
        templated(DAEMON_SETS, "a"),
        templated(DAEMON_SETS, "a", selector=SELECTOR, template=OTHER_TEMPLATE),
    ),
    "a job's template": (JOBS, job("a"), job("a", pod={"containers": [container("other")]})),
    "a job's completions": (JOBS, job("a"), job("a", completions=3)),
    "a pod's container image may change": (PODS, pod("a"), pod("a", containers=[container(image="x:2")])),
    "a pod's containers may not": (PODS, pod("a"), pod("a", containers=[container("other")])),
    "a pod's node": (PODS, pod("a"), pod("a", nodeName="n")),
    "a service's address": (SERVICES, service("a"), service("a", clusterIP="10.96.0.80")),
    "a claim's size": (
        CLAIMS,
        CLAIM,
        with_spec(CLAIM, resources={"requests": {"storage": "2Gi"}}),
    ),
    "a claim's modes": (CLAIMS, CLAIM, with_spec(CLAIM, accessModes=["ReadOnlyMany"])),
    "an immutable config map": (
        CONFIG_MAPS,
        config_map("a", one="1") | {"immutable": True},
        config_map("a", one="2") | {"immutable": True},
    ),
    "an immutable config map made mutable": (
        CONFIG_MAPS,
        config_map("a", one="1") | {"immutable": True},
        config_map("a", one="1"),
    ),
    "an immutable secret": (
        SECRETS,
        named(SECRETS, "a", immutable=True, data={"k": "MQ=="}),
        named(SECRETS, "a", immutable=True, data={"k": "Mg=="}),
    ),
    "a secret's type": (SECRETS, named(SECRETS, "a"), named(SECRETS, "a", type="mine")),
    "a binding's role": (
        ROLE_BINDINGS,
        BINDING,
        BINDING | {"roleRef": {**BINDING["roleRef"], "name": "s"}},
    ),
    "a cron job may change": (
        CRON_JOBS,
        named(CRON_JOBS, "a", spec={"schedule": "* * * * *", "jobTemplate": {"spec": job("a")["spec"]}}),
        named(CRON_JOBS, "a", spec={"schedule": "0 * * * *", "jobTemplate": {"spec": job("a")["spec"]}}),
    ),
}


async def _immutable(stage: Stage, kind: Resource, old: Any, new: Any) -> None:
    await stage.given(kind, old)
    version = await stage.version_of(kind, "a")
    await stage.update(kind, "a", with_metadata(new, resourceVersion=version))


for what, (kind_, old_, new_) in IMMUTABLE.items():
    TABLE.add(
        "update",
        "immutable fields",
        what,
        _immutable,
        kind_,
        old_,
        new_,
    )
