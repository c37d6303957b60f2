"""What the server adds to Pods when they are created: identity, priority, tolerations.

The account must exist. Its token, the authority's certificate and the namespace are mounted into every
container that has nothing else there, unless the Pod or the account asks not to.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trimtab.apiserver.refusing import forbidden
from trimtab.apiserver.store import Store
from trimtab.apiserver.suffixes import suffix
from trimtab.kube.schemas import apparmor

Json = dict[str, Any]
TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105 - a path
DEFAULT_SECONDS = 300
KEYS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
PRIORITIES = ("scheduling.k8s.io", "priorityclasses")


def admitted(pod: Json, store: Store) -> Json:
    """The Pod as admission lets it through."""
    if "kubernetes.io/config.mirror" in (pod["metadata"].get("annotations") or {}):
        return pod
    spec = _with_account(pod, store)
    spec = _with_priority(pod, spec, store)
    return {**pod, "spec": _with_profiles(_with_tolerations(spec), pod["metadata"])}


def warnings(pod: Json) -> Iterator[str]:
    """What is to be said of the annotations of a new Pod, before their fields are added."""
    annotations, whole = _armour(pod["metadata"]), apparmor.own_profile(pod["spec"].get("securityContext"))
    for each in _containers(pod["spec"]):
        key = f"{apparmor.PREFIX}{each.get('name', '')}"
        if key in annotations and apparmor.own_profile(each.get("securityContext")) is None:
            profile = apparmor.profile_of(annotations[key])
            if profile is None or profile != whole:
                yield f"metadata.annotations[{key}]: {apparmor.OLD}"


def readmitted(pod: Json, live: Json) -> Json:
    """A changed Pod as admission lets it through: of its priority it keeps what the request leaves out."""
    kept = {name: live["spec"][name] for name in ("priority", "preemptionPolicy") if name in live["spec"]}
    return {**pod, "spec": _with_tolerations({**kept, **pod["spec"]})}


def _armour(metadata: Json) -> dict[str, str]:
    annotations: dict[str, str] = metadata.get("annotations") or {}
    return {key: value for key, value in annotations.items() if key.startswith(apparmor.PREFIX)}


def _containers(spec: Json) -> Iterator[Json]:
    for field in ("initContainers", "containers"):
        yield from spec.get(field) or ()


def _with_profiles(spec: Json, metadata: Json) -> Json:
    """What annotations say of AppArmor becomes a field of the container, where the Pod does not say it."""
    annotations, whole = _armour(metadata), apparmor.own_profile(spec.get("securityContext"))
    if not annotations:
        return spec

    def armed(container: Json) -> Json:
        context = container.get("securityContext") or {}
        annotation = annotations.get(f"{apparmor.PREFIX}{container.get('name', '')}", "")
        profile = apparmor.profile_of(annotation)
        if apparmor.own_profile(context) is not None or profile in (None, whole):
            return container
        return {**container, "securityContext": {**context, "appArmorProfile": profile}}

    fields = [field for field in ("initContainers", "containers") if spec.get(field)]
    return {**spec, **{field: [armed(each) for each in spec[field]] for field in fields}}


def _with_account(pod: Json, store: Store) -> Json:
    spec, metadata = pod["spec"], pod["metadata"]
    name = spec.get("serviceAccountName") or "default"
    entry = store.get(("", "serviceaccounts"), f"{metadata['namespace']}/{name}")
    if entry is None:
        where = f"{metadata['namespace']}/{name}"
        why = f'error looking up service account {where}: serviceaccount "{name}" not found'
        raise forbidden("", "pods", metadata.get("name", ""), why)
    account = entry.decoded()
    spec = {**spec, "serviceAccountName": name, "serviceAccount": name}
    if account.get("imagePullSecrets") and not spec.get("imagePullSecrets"):
        spec["imagePullSecrets"] = account["imagePullSecrets"]
    asked = spec.get("automountServiceAccountToken", account.get("automountServiceAccountToken"))
    return spec if asked is False else _with_token(spec)


def _with_token(spec: Json) -> Json:
    name = f"kube-api-access-{suffix()}"
    mount = {"name": name, "readOnly": True, "mountPath": TOKEN_PATH}
    mounted = {
        field: [_mounting(each, mount) for each in spec[field]]
        for field in ("initContainers", "containers")
        if spec.get(field)
    }
    if all(mounted[field] == spec[field] for field in mounted):
        return spec
    return {**spec, **mounted, "volumes": [*(spec.get("volumes") or []), _volume(name)]}


def _mounting(container: Json, mount: Json) -> Json:
    mounts = container.get("volumeMounts") or []
    if any(each.get("mountPath") == TOKEN_PATH for each in mounts):
        return container
    return {**container, "volumeMounts": [*mounts, mount]}


def _volume(name: str) -> Json:
    token = {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}
    authority = {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}}
    field = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    namespace = {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": field}]}}
    return {"name": name, "projected": {"sources": [token, authority, namespace], "defaultMode": 420}}


def _with_priority(pod: Json, spec: Json, store: Store) -> Json:
    name = spec.get("priorityClassName", "")
    if name:
        entry = store.get(PRIORITIES, f"/{name}")
        if entry is None:
            why = f"no PriorityClass with name {name} was found"
            raise forbidden("", "pods", pod["metadata"].get("name", ""), why)
        chosen = entry.decoded()
    else:
        every = (entry.decoded() for entry in store.entries(PRIORITIES))
        chosen = next((each for each in every if each.get("globalDefault")), {})
        name = chosen.get("metadata", {}).get("name", "")
    policy = spec.get("preemptionPolicy") or chosen.get("preemptionPolicy", "PreemptLowerPriority")
    found = {**spec, "priority": chosen.get("value", 0), "preemptionPolicy": policy}
    return {**found, "priorityClassName": name} if name else found


def _with_tolerations(spec: Json) -> Json:
    given = spec.get("tolerations") or []
    added = [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": DEFAULT_SECONDS}
        for key in KEYS
        if not any(_tolerates(each, key) for each in given)
    ]
    return {**spec, "tolerations": [*given, *added]} if given or added else spec


def _tolerates(toleration: Json, key: str) -> bool:
    about = toleration.get("key") in (key, None, "")
    return about and toleration.get("effect") in ("NoExecute", None, "")
