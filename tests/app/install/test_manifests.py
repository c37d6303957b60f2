"""What is installed follows from what was chosen."""

from __future__ import annotations

from typing import Any

import pytest

from trimtab.app.install.manifests import (
    INSTALL_LABEL,
    PORT,
    WEBHOOK_PORT,
    Install,
    deployment,
    network_policy,
    objects_of,
    settings_of,
    variable,
)
from trimtab.errors import InvalidSpec
from trimtab.resources.manifests import key_of
from trimtab.settings import RepositoriesSettings, Settings
from trimtab.settings.merge import merged


def kinds(install: Install) -> list[str]:
    return [str(key_of(each)) for each in objects_of(install)]


def container(install: Install) -> Any:
    (found,) = deployment(install)["spec"]["template"]["spec"]["containers"]
    return found


def test_a_repository_with_a_password_in_its_address_is_refused_and_the_password_is_not_shown() -> None:
    with pytest.raises(InvalidSpec, match="a password stands in its address") as refused:
        objects_of(Install(repo="https://ann:hunter2@git.example/fleet.git"))
    assert "hunter2" not in str(refused.value)


def test_a_whole_cluster_has_one_cluster_role() -> None:
    assert kinds(Install()) == [
        "Namespace trimtab-system",
        "ServiceAccount trimtab-system/trimtab-runner",
        "Role.rbac.authorization.k8s.io trimtab-system/trimtab-runner",
        "RoleBinding.rbac.authorization.k8s.io trimtab-system/trimtab-runner",
        "ClusterRole.rbac.authorization.k8s.io trimtab-runner-trimtab-system",
        "ClusterRoleBinding.rbac.authorization.k8s.io trimtab-runner-trimtab-system",
        "NetworkPolicy.networking.k8s.io trimtab-system/trimtab-runner",
        "Service trimtab-system/trimtab-runner",
        "PodDisruptionBudget.policy trimtab-system/trimtab-runner",
        "Deployment.apps trimtab-system/trimtab-runner",
    ]


def test_some_namespaces_have_a_role_each_and_nothing_is_granted_elsewhere() -> None:
    made = kinds(Install(namespaces=("shop", "blog")))
    assert [each for each in made if "Role.rbac" in each] == [
        "Role.rbac.authorization.k8s.io trimtab-system/trimtab-runner",
        "Role.rbac.authorization.k8s.io shop/trimtab-runner-trimtab-system",
        "Role.rbac.authorization.k8s.io blog/trimtab-runner-trimtab-system",
    ]
    assert not [each for each in made if each.startswith("Cluster")]
    assert settings_of(Install(namespaces=("shop", "blog")))["runner.namespaces"] == "shop,blog"


def test_two_installations_share_no_object() -> None:
    choices = [Install(namespace=name, namespaces=("shop",)) for name in ("one", "two")]
    first, second = (set(kinds(each)) for each in choices)
    assert first & second == set()
    assert set(kinds(Install(namespace="one"))) & set(kinds(Install(namespace="two"))) == set()
    assert {each["metadata"]["labels"][INSTALL_LABEL] for each in objects_of(choices[0])} == {"one"}


def test_every_binding_is_to_its_own_role_and_account() -> None:
    made = objects_of(Install(namespace="one", namespaces=("shop",)))
    bindings = [each for each in made if each["kind"].endswith("Binding")]
    assert [(each["metadata"]["name"], each["roleRef"]["name"]) for each in bindings] == [
        ("trimtab-runner", "trimtab-runner"),
        ("trimtab-runner-one", "trimtab-runner-one"),
    ]
    account = {"kind": "ServiceAccount", "name": "trimtab-runner", "namespace": "one"}
    assert [each["subjects"] for each in bindings] == [[account], [account]]


def test_the_pod_is_restricted_and_writes_only_where_room_is_bounded() -> None:
    pod = deployment(Install())["spec"]["template"]["spec"]
    (only,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert only["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    }
    writable = [each for each in pod["volumes"] if "emptyDir" in each]
    assert [(each["name"], each["emptyDir"]["sizeLimit"]) for each in writable] == [
        ("home", "4Gi"),
        ("tmp", "512Mi"),
    ]
    mounted = {each["name"]: each.get("readOnly", False) for each in only["volumeMounts"]}
    assert mounted == {"home": False, "tmp": False, "webhooks": True, "credentials": True}


def test_probes_and_ports_agree_with_what_the_runner_is_told() -> None:
    only = container(Install())
    ports = {each["name"]: each["containerPort"] for each in only["ports"]}
    assert ports == {"http": PORT, "webhooks": WEBHOOK_PORT}
    told = settings_of(Install())
    assert (told["runner.listen"], told["runner.webhooks"]) == ("0.0.0.0:8080", "0.0.0.0:8081")
    assert only["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": "http"}
    assert only["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "http"}


def test_settings_that_were_given_are_stronger_and_become_variables() -> None:
    install = Install(settings={"runner.log": "text", "repositories.poll_every": "1m"})
    named = {each["name"]: each.get("value") for each in container(install)["env"]}
    assert (named["TRIMTAB_RUNNER__LOG"], named["TRIMTAB_REPOSITORIES__POLL_EVERY"]) == ("text", "1m")
    assert variable("runner.log") == "TRIMTAB_RUNNER__LOG"


def test_a_repository_of_units_is_followed_by_arguments() -> None:
    assert container(Install())["args"] == ["run"]
    install = Install(repo="https://git.example/fleet.git", path="units")
    assert container(install)["args"] == ["run", "--repo=https://git.example/fleet.git", "--path=units"]


def test_what_the_runner_is_told_are_settings_it_knows() -> None:
    told = settings_of(Install(namespaces=("shop",), webhooks=("github",)))
    assert merged({}, {variable(name): value for name, value in told.items()}, {}) != Settings()


def test_the_secrets_of_webhooks_are_named_for_their_hosts() -> None:
    told = settings_of(Install(webhooks=("github", "gitea")))
    assert told["runner.webhook_secrets"] == (
        "github=/etc/trimtab/webhooks/github,gitea=/etc/trimtab/webhooks/gitea"
    )
    assert "runner.webhook_secrets" not in settings_of(Install())


def test_credentials_lie_where_the_runner_looks_for_them_and_are_read_by_it_alone() -> None:
    pod = deployment(Install())["spec"]["template"]["spec"]
    runner = container(Install())
    home = next(each["value"] for each in runner["env"] if each["name"] == "HOME")
    [mount] = [each for each in runner["volumeMounts"] if each["name"] == "credentials"]
    [volume] = [each for each in pod["volumes"] if each["name"] == "credentials"]
    looked_for = RepositoriesSettings().credentials_file.replace("~", home)
    assert f"{mount['mountPath']}/credentials.toml" == looked_for
    assert volume["secret"] == {"secretName": "trimtab-credentials", "optional": True, "defaultMode": 0o440}


def test_only_the_named_ports_are_reached() -> None:
    names, outside = network_policy(Install(egress_ports=(443,)))["spec"]["egress"]
    assert {each["port"] for each in names["ports"]} == {53}
    assert outside["ports"] == [{"port": 443, "protocol": "TCP"}]
