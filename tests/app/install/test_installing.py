"""An installation is shown before it is brought, and what an earlier one left over goes."""

from __future__ import annotations

import pytest

from trimtab.apiserver import MemoryCluster
from trimtab.app.install.installing import Act, Item, carry_out, plan_install
from trimtab.app.install.manifests import Install, objects_of
from trimtab.errors import Missing
from trimtab.kube.discovery import Resource
from trimtab.kube.failures import NotFound
from trimtab.resources.manifests import key_of

NAMESPACES = Resource(group="", version="v1", kind="Namespace", plural="namespaces", namespaced=False)
EVERYWHERE, SHOP = Install(), Install(namespaces=("default",))


async def installed(cluster: MemoryCluster, install: Install) -> list[Item]:
    told: list[Item] = []
    await carry_out(cluster, await plan_install(cluster, install), told.append)
    return told


def acts(items: tuple[Item, ...] | list[Item]) -> dict[str, Act]:
    return {str(item.key): item.act for item in items if item.act is not Act.KEEP}


async def test_what_is_not_there_is_made_once_and_then_kept() -> None:
    cluster = MemoryCluster()
    wanted = {str(key_of(each)): Act.CREATE for each in objects_of(EVERYWHERE)}
    assert acts(await plan_install(cluster, EVERYWHERE)) == wanted
    with pytest.raises(NotFound):  # showing it has made nothing
        await cluster.get(NAMESPACES, "trimtab-system")
    assert acts(await installed(cluster, EVERYWHERE)) == wanted
    assert acts(await plan_install(cluster, EVERYWHERE)) == {}


async def test_another_choice_changes_what_it_concerns_and_nothing_else() -> None:
    cluster = MemoryCluster()
    await installed(cluster, EVERYWHERE)
    more = Install(image="example/trimtab:2", also=("widgets.example.org",))
    changed = {
        "ClusterRole.rbac.authorization.k8s.io trimtab-runner-trimtab-system": Act.CHANGE,
        "Deployment.apps trimtab-system/trimtab-runner": Act.CHANGE,
    }
    assert acts(await plan_install(cluster, more)) == changed
    assert acts(await installed(cluster, more)) == changed


async def test_rights_in_the_whole_cluster_go_when_some_namespaces_are_enough() -> None:
    cluster = MemoryCluster()
    await installed(cluster, EVERYWHERE)
    done = acts(await installed(cluster, SHOP))
    assert {name for name, act in done.items() if act is Act.DELETE} == {
        "ClusterRole.rbac.authorization.k8s.io trimtab-runner-trimtab-system",
        "ClusterRoleBinding.rbac.authorization.k8s.io trimtab-runner-trimtab-system",
    }
    assert acts(await plan_install(cluster, SHOP)) == {}


async def test_the_rights_of_another_installation_stay() -> None:
    cluster = MemoryCluster()
    await installed(cluster, Install(namespace="other"))
    assert Act.DELETE not in acts(await installed(cluster, SHOP)).values()


async def test_a_namespace_that_is_not_there_is_named_before_anything_is_made() -> None:
    cluster = MemoryCluster()
    with pytest.raises(Missing, match="namespace nowhere: the cluster has no such namespace"):
        await plan_install(cluster, Install(namespaces=("default", "nowhere")))
