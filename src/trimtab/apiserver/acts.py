"""What is done to Pods through parts of them: bound to a node, evicted; `budgets` may mind that. Pure."""

from __future__ import annotations

from datetime import datetime
from functools import cache
from typing import Any

import msgspec

from trimtab.apiserver.catalog import Served
from trimtab.apiserver.refusing import conflict
from trimtab.apiserver.requests import Address, DeleteOptions, delete_options
from trimtab.kube.refusals import Refused, bad_request
from trimtab.kube.schemas.validation.causes import part
from trimtab.kube.times import seconds_text

Json = dict[str, Any]
SUCCESS: Json = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
#: parts that need a node, or keys of a real cluster, and why they are not served
NO_CONTAINERS = "no containers run in it"
BEYOND = {
    **dict.fromkeys(("attach", "exec", "log", "portforward", "proxy"), NO_CONTAINERS),
    "token": "it issues no tokens; the one in its kubeconfig may do everything",
}


def beyond(address: Address) -> Refused:
    """The refusal of a part that is not served here."""
    what, why = f"{address.served.plural}/{address.subresource}", BEYOND[address.subresource]
    return Refused(501, "", f"the embedded cluster does not serve {what}: {why}")


def check_name(binding: Json, address: Address) -> None:
    """Refuse a binding of another Pod than the one addressed."""
    if part(binding, "metadata").get("name") != address.name:
        raise bad_request("name in URL does not match name in Binding object")


def bound(pod: Json, binding: Json, address: Address, now: datetime) -> Json:
    """The Pod on the node that a binding names."""
    _check_bindable(pod, binding, address)
    scheduled = {
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": seconds_text(now),
    }
    others = [each for each in pod["status"].get("conditions") or () if each["type"] != "PodScheduled"]
    status = {**pod["status"], "conditions": [*others, scheduled]}
    return {
        **pod,
        "spec": {**pod["spec"], "nodeName": part(binding, "target").get("name", "")},
        "status": status,
    }


@cache
def eviction_kind() -> Served:
    """The kind Eviction, which is served nowhere by itself."""
    return Served(
        group="policy",
        version="v1",
        kind="Eviction",
        plural="evictions",
        singular="eviction",
        namespaced=True,
        verbs=(),
        collection=("policy", "evictions"),
        stored_as="policy/v1",
    )


def eviction_options(eviction: Json, address: Address, *, dry_run: bool) -> DeleteOptions:
    """How an eviction wants its Pod deleted."""
    if part(eviction, "metadata").get("name") != address.name:
        raise bad_request("name in URL does not match name in Eviction object")
    how = delete_options({}, part(eviction, "deleteOptions"))
    return msgspec.structs.replace(how, dry_run=how.dry_run or dry_run)


def to_be_evicted(pod: Json, now: datetime) -> Json:
    """The Pod with the condition that says why it goes."""
    going = {
        "type": "DisruptionTarget",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": seconds_text(now),
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    }
    before = pod["status"].get("conditions") or ()
    others = [each for each in before if each["type"] != "DisruptionTarget"]
    return {**pod, "status": {**pod["status"], "conditions": [*others, going]}}


def _check_bindable(pod: Json, binding: Json, address: Address) -> None:
    """Refuse to bind another life of the name, a Pod that is going, or one that has a node."""
    wanted, uid = part(binding, "metadata").get("uid"), pod["metadata"]["uid"]
    if wanted and wanted != uid:
        why = (
            f"StorageError: invalid object, Code: 4, Key: /registry/pods/{address.key}, ResourceVersion: 0, "
            f"AdditionalErrorMsg: Precondition failed: UID in precondition: {wanted}, "
            f"UID in object meta: {uid}"
        )
        raise conflict("", "pods", address.name, why)
    if pod["metadata"].get("deletionTimestamp"):
        why = f"pod {address.name} is being deleted, cannot be assigned to a host"
        raise conflict("", "pods/binding", address.name, why)
    if taken := pod["spec"].get("nodeName"):
        why = f'pod {address.name} is already assigned to node "{taken}"'
        raise conflict("", "pods/binding", address.name, why)
