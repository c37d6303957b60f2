"""Namespaces: what every one holds from the start, and how one empties itself when it goes. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from trimtab.apiserver.behaviours.changes import (
    NOTHING,
    Actor,
    Behaviour,
    Change,
    Create,
    Decision,
    Delete,
    Update,
    decision,
)
from trimtab.apiserver.behaviours.kinds import CONFIG_MAP, NAMESPACE, POD, SERVICE_ACCOUNT
from trimtab.apiserver.behaviours.manifests import (
    Condition,
    Manifest,
    Name,
    condition_in,
    finalizers_of,
    full_name,
    is_going,
    kind_of,
    moment,
    name_of,
    namespace_of,
    stamp,
    status_of,
    with_spec,
    with_status,
)
from trimtab.apiserver.behaviours.timing import Timing
from trimtab.apiserver.behaviours.world import World
from trimtab.kube.cluster import Propagation

FINALIZER = "kubernetes"
ROOT_CA = "kube-root-ca.crt"
_DESCRIPTION = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such "
    "as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions "
    "of Kubernetes clusters."
)
_FINE = {
    "NamespaceDeletionDiscoveryFailure": ("ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": (
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    "NamespaceDeletionContentFailure": (
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}


def namespaces_with(root_ca: str) -> Behaviour:
    """The behaviour of namespaces whose pods trust this certificate authority."""

    def decide(world: World, name: Name, now: datetime, timing: Timing) -> Decision:
        namespace = world.get(NAMESPACE, *name)
        if namespace is None:
            return NOTHING
        if is_going(namespace):
            return _emptied(world, namespace, now, timing)
        return decision(_furnished(world, name_of(namespace), root_ca))

    return Behaviour(title="namespaces", actor=Actor.CONTROLLERS, decide=decide, concerned=concerned)


def _furnished(world: World, namespace: str, root_ca: str) -> Iterator[Change]:
    """What every namespace holds: an account for its pods and the authority they trust."""
    if world.get(SERVICE_ACCOUNT, namespace, "default") is None:
        account = {"name": "default", "namespace": namespace}
        yield Create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account})
    if world.get(CONFIG_MAP, namespace, ROOT_CA) is None:
        metadata = {
            "name": ROOT_CA,
            "namespace": namespace,
            "annotations": {"kubernetes.io/description": _DESCRIPTION},
        }
        data = {"ca.crt": root_ca}
        yield Create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})


def _emptied(world: World, namespace: Manifest, now: datetime, timing: Timing) -> Decision:
    """The next step of emptying: pods first, then everything else; then the finalizer goes."""
    if status_of(namespace).get("phase") != "Terminating":
        status = {**status_of(namespace), "phase": "Terminating"}
        return decision([Update(body=with_status(namespace, status), subresource="status")])
    if FINALIZER not in (namespace["spec"].get("finalizers") or ()):
        return NOTHING
    contents = world.contents(name_of(namespace))
    if pods := [each for each in contents if kind_of(each) == POD]:
        return decision([*_deletions(pods), *_told(namespace, {}, now)])
    if now < (due := _drained_at(namespace, timing) or now):
        return decision((), due)
    if deletions := list(_deletions(contents)):
        return decision(deletions)
    if told := _told(namespace, _remaining(world, contents), now):
        return decision(told)
    if contents:
        return NOTHING
    finalizers = [each for each in namespace["spec"]["finalizers"] if each != FINALIZER]
    final = Update(body=with_spec(namespace, finalizers=finalizers), subresource="finalize")
    return Decision(changes=(final,), unless_news_in=name_of(namespace))


def _drained_at(namespace: Manifest, timing: Timing) -> datetime | None:
    """When the controllers have seen its pods go, if it had any: the conditions date from their deletion."""
    times = [each["lastTransitionTime"] for each in status_of(namespace).get("conditions") or ()]
    first = moment(min(times, default=None))
    return None if first is None else first + timing.drain


def _deletions(contents: Iterable[Manifest]) -> Iterator[Delete]:
    for each in contents:
        if not is_going(each):
            yield Delete(target=each, propagation=Propagation.BACKGROUND)


def _remaining(world: World, contents: Sequence[Manifest]) -> dict[str, tuple[str, str]]:
    """What is left, and what keeps it, as conditions that are true."""
    if not contents:
        return {}
    kinds = Counter(_resource_name(world, each) for each in contents)
    left = sorted(f"{kind} has {count} resource instances" for kind, count in kinds.items())
    told = {
        "NamespaceContentRemaining": (
            "SomeResourcesRemain",
            f"Some resources are remaining: {', '.join(left)}",
        )
    }
    keepers = Counter(finalizer for each in contents for finalizer in finalizers_of(each))
    if keepers:
        kept = sorted(f"{finalizer} in {count} resource instances" for finalizer, count in keepers.items())
        message = f"Some content in the namespace has finalizers remaining: {', '.join(kept)}"
        told["NamespaceFinalizersRemaining"] = ("SomeFinalizersRemain", message)
    return told


def _resource_name(world: World, manifest: Manifest) -> str:
    resource = world.served.get(kind_of(manifest))
    return f"{resource.plural}.{resource.group}" if resource else kind_of(manifest)


def _told(namespace: Manifest, problems: Mapping[str, tuple[str, str]], now: datetime) -> list[Change]:
    """The conditions of the deletion, if they say something new."""
    before = status_of(namespace).get("conditions") or []
    after = [_condition(before, kind, problems, now) for kind in _FINE]
    if before == after:
        return []
    status = {**status_of(namespace), "conditions": after}
    return [Update(body=with_status(namespace, status), subresource="status")]


def _condition(
    before: Sequence[Condition], kind: str, problems: Mapping[str, tuple[str, str]], now: datetime
) -> dict[str, Any]:
    reason, message = problems.get(kind, _FINE[kind])
    status = "True" if kind in problems else "False"
    old = condition_in(before, kind)
    same = old is not None and old["status"] == status
    at = old["lastTransitionTime"] if old is not None and same else stamp(now)
    return {"type": kind, "status": status, "lastTransitionTime": at, "reason": reason, "message": message}


def concerned(world: World, changed: Manifest) -> Iterator[Name]:
    """A namespace itself, one that lost what it should hold, and one that is going as its contents change."""
    kind, (space, name) = kind_of(changed), full_name(changed)
    if kind == NAMESPACE:
        yield "", name
    elif (kind, name) in ((SERVICE_ACCOUNT, "default"), (CONFIG_MAP, ROOT_CA)):
        yield "", space
    elif space:
        namespace = world.get(NAMESPACE, "", space)
        if namespace is not None and is_going(namespace):
            yield "", namespace_of(changed)
