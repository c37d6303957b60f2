"""What admission adds to Pods."""

from __future__ import annotations

from typing import Any

import pytest

from trimtab.apiserver import MemoryCluster
from trimtab.apiserver.pods import TOKEN_PATH, admitted
from trimtab.apiserver.store import Store
from trimtab.kube.refusals import Refused


def pod(**spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "a", "namespace": "default"},
        "spec": {"containers": [{"name": "c"}], **spec},
    }


@pytest.fixture
def store(memory: MemoryCluster) -> Store:
    """A store with an account and the priority classes of every cluster."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
    memory.api.store.put(("", "serviceaccounts"), "default/default", account)
    return memory.api.store


def test_a_pod_gets_the_default_account_and_its_token(store: Store) -> None:
    spec = admitted(pod(), store)["spec"]
    assert spec["serviceAccountName"] == "default"
    [mount] = spec["containers"][0]["volumeMounts"]
    assert (mount["mountPath"], mount["name"]) == (TOKEN_PATH, spec["volumes"][0]["name"])


def test_a_pod_may_do_without_the_token(store: Store) -> None:
    assert "volumes" not in admitted(pod(automountServiceAccountToken=False), store)["spec"]


def test_a_mount_of_ones_own_is_left_alone(store: Store) -> None:
    own = {"name": "c", "volumeMounts": [{"name": "mine", "mountPath": TOKEN_PATH}]}
    assert admitted(pod(containers=[own]), store)["spec"]["containers"] == [own]


def test_an_account_that_is_not_there_is_refused(store: Store) -> None:
    with pytest.raises(Refused, match='serviceaccount "nobody" not found'):
        admitted(pod(serviceAccountName="nobody"), store)


@pytest.mark.parametrize(("name", "value"), [("", 0), ("system-node-critical", 2000001000)])
def test_priority_comes_from_the_class(store: Store, name: str, value: int) -> None:
    spec = admitted(pod(**({"priorityClassName": name} if name else {})), store)["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (value, "PreemptLowerPriority")


def test_a_class_that_is_not_there_is_refused(store: Store) -> None:
    with pytest.raises(Refused, match="no PriorityClass with name x was found"):
        admitted(pod(priorityClassName="x"), store)


def test_nodes_that_fail_are_tolerated_for_a_while_unless_the_pod_says_otherwise(store: Store) -> None:
    added = admitted(pod(), store)["spec"]["tolerations"]
    assert {each["tolerationSeconds"] for each in added} == {300}
    everything = [{"operator": "Exists"}]
    assert admitted(pod(tolerations=everything), store)["spec"]["tolerations"] == everything
