"""The objects that `trimtab run` lives by in a cluster. Pure; the one source of all ways to install.

`trimtab install` prints and applies them; the Helm chart and the Kustomize base in `deploy/` are written from
them by `make docs`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct, field

from trimtab import __version__
from trimtab.app.install import rights
from trimtab.resources.manifests import Manifest
from trimtab.sources.repositories.addresses import address_of

NAME: Final = "trimtab-runner"
#: for probes, metrics and status
PORT: Final = 8080
#: for Git hosts; apart, so that what is shown to the world is this alone
WEBHOOK_PORT: Final = 8081
#: holds the secret of each Git host under its name
WEBHOOK_WORDS: Final = "trimtab-webhooks"
WEBHOOK_FOLDER: Final = "/etc/trimtab/webhooks"
#: holds the file of credentials for private repositories, and whatever that names beside it
CREDENTIALS: Final = "trimtab-credentials"
USUAL_RESOURCES: Final[Mapping[str, Mapping[str, str]]] = {
    "requests": {"cpu": "100m", "memory": "256Mi", "ephemeral-storage": "512Mi"},
    "limits": {"memory": "1Gi", "ephemeral-storage": "5Gi"},
}
#: which installation an object belongs to, by its namespace: what an earlier one left over is found by it
INSTALL_LABEL: Final = "trimtab.dev/install"
_SELECTOR: Final = {"app.kubernetes.io/name": "trimtab", "app.kubernetes.io/component": "runner"}
#: nobody in particular, in the group of nobody in particular; the image makes this user
USER: Final = 65532
_HOME: Final = "/home/trimtab"
#: where the file is looked for unless a setting says otherwise, and where it may be absent
CREDENTIALS_FOLDER: Final = f"{_HOME}/.config/trimtab"
_TEMPORARY: Final = "/tmp"  # noqa: S108 - of the pod, and of nobody else
_RBAC: Final = "rbac.authorization.k8s.io"


class Install(Struct, frozen=True, kw_only=True):
    """What may be chosen about an installation."""

    #: where the runner lives and keeps the records of apps
    namespace: str = "trimtab-system"
    #: the namespaces it looks after; none: the whole cluster
    namespaces: tuple[str, ...] = ()
    #: further kinds it may manage, as `certificates.cert-manager.io`
    also: tuple[str, ...] = ()
    #: the repository that declares units, a folder of it, and what to follow; none: units are recorded
    repo: str = ""
    path: str = ""
    revision: str = ""
    #: whether it may do everything, where it may do anything
    everything: bool = False
    #: built from deploy/Containerfile
    image: str = f"trimtab:{__version__}"
    replicas: int = 2
    #: TCP ports that it may reach anywhere: Git over SSH, HTTPS, API servers
    egress_ports: tuple[int, ...] = (22, 443, 6443)
    #: settings of the runner, by their names as `trimtab settings` prints them
    settings: Mapping[str, str] = {}
    #: Git hosts, such as github, whose webhooks are heard; their secrets are in the Secret trimtab-webhooks
    webhooks: tuple[str, ...] = ()
    #: what a runner asks for and may take
    resources: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: USUAL_RESOURCES)

    @property
    def rbac_name(self) -> str:
        """How roles outside of the own namespace are called: two installations never share one."""
        return f"{NAME}-{self.namespace}"


def objects_of(install: Install) -> tuple[Manifest, ...]:
    """Everything that has to be in the cluster, in the order in which it is made."""
    if install.repo:
        address_of(install.repo)  # refused here, not by a pod that has the password in its arguments
    return (
        namespace(install),
        service_account(install),
        *records_role(install),
        *(roles(install) if install.namespaces else cluster_roles(install)),
        network_policy(install),
        service(install),
        disruption_budget(install),
        deployment(install),
    )


def namespace(install: Install) -> Manifest:
    """The runner's own namespace, where nothing may run that has more rights than it needs."""
    levels = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("audit", "enforce", "warn")}
    made = _object("v1", "Namespace", install.namespace, install)
    made["metadata"]["labels"] |= levels
    return made


def service_account(install: Install) -> Manifest:
    """Who the runner is; only pods that say so themselves get a token."""
    made = _object("v1", "ServiceAccount", NAME, install, install.namespace)
    return {**made, "automountServiceAccountToken": False}


def records_role(install: Install) -> tuple[Manifest, Manifest]:
    """The rights to keep records, in the own namespace alone."""
    return _role(NAME, install.namespace, rights.keeping_records(), install)


def roles(install: Install) -> tuple[Manifest, ...]:
    """The rights in each of the namespaces that the runner looks after, and nowhere else."""
    rules = rights.everything(cluster=False) if install.everything else rights.in_one_namespace(install.also)
    return tuple(
        made for each in install.namespaces for made in _role(install.rbac_name, each, rules, install)
    )


def cluster_roles(install: Install) -> tuple[Manifest, Manifest]:
    """The rights in the whole cluster."""
    name, kind = install.rbac_name, "ClusterRole"
    rules = (
        rights.everything(cluster=True) if install.everything else rights.in_the_whole_cluster(install.also)
    )
    role = _object(f"{_RBAC}/v1", kind, name, install)
    binding = _object(f"{_RBAC}/v1", "ClusterRoleBinding", name, install)
    return {**role, "rules": rules}, {**binding, **_bound(kind, name, install)}


def _role(name: str, where: str, rules: list[rights.Rule], install: Install) -> tuple[Manifest, Manifest]:
    role = _object(f"{_RBAC}/v1", "Role", name, install, where)
    binding = _object(f"{_RBAC}/v1", "RoleBinding", name, install, where)
    return {**role, "rules": rules}, {**binding, **_bound("Role", name, install)}


def _bound(kind: str, name: str, install: Install) -> Manifest:
    return {
        "roleRef": {"apiGroup": _RBAC, "kind": kind, "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": install.namespace}],
    }


def network_policy(install: Install) -> Manifest:
    """Who may speak to the runner, and to whom it may speak."""
    made = _object("networking.k8s.io/v1", "NetworkPolicy", NAME, install, install.namespace)
    names = [{"port": 53, "protocol": protocol} for protocol in ("UDP", "TCP")]
    outside = [{"port": port, "protocol": "TCP"} for port in install.egress_ports]
    spec = {
        "podSelector": {"matchLabels": dict(_SELECTOR)},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [{"ports": [{"port": name, "protocol": "TCP"} for name in ("http", "webhooks")]}],
        "egress": [{"ports": names}, {"ports": outside}],
    }
    return {**made, "spec": spec}


def service(install: Install) -> Manifest:
    """Where metrics are read and webhooks arrive."""
    made = _object("v1", "Service", NAME, install, install.namespace)
    ports = [
        {"name": "http", "port": PORT, "protocol": "TCP", "targetPort": "http"},
        {"name": "webhooks", "port": WEBHOOK_PORT, "protocol": "TCP", "targetPort": "webhooks"},
    ]
    return {**made, "spec": {"type": "ClusterIP", "selector": dict(_SELECTOR), "ports": ports}}


def disruption_budget(install: Install) -> Manifest:
    """Draining nodes takes one runner at a time."""
    made = _object("policy/v1", "PodDisruptionBudget", NAME, install, install.namespace)
    return {**made, "spec": {"maxUnavailable": 1, "selector": {"matchLabels": dict(_SELECTOR)}}}


def deployment(install: Install) -> Manifest:
    """The runners themselves: one works, the others wait for its lease."""
    made = _object("apps/v1", "Deployment", NAME, install, install.namespace)
    spread = {
        "labelSelector": {"matchLabels": dict(_SELECTOR)},
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
    }
    pod = {
        "serviceAccountName": NAME,
        "automountServiceAccountToken": True,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 30,
        "securityContext": {
            "fsGroup": USER,
            "runAsGroup": USER,
            "runAsNonRoot": True,
            "runAsUser": USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "topologySpreadConstraints": [spread],
        "containers": [_container(install)],
        "volumes": [
            {"name": "home", "emptyDir": {"sizeLimit": "4Gi"}},
            {"name": "tmp", "emptyDir": {"sizeLimit": "512Mi"}},
            {"name": "webhooks", "secret": {"secretName": WEBHOOK_WORDS, "optional": True}},
            {"name": "credentials", "secret": _own_secret(CREDENTIALS)},
        ],
    }
    template = {"metadata": {"labels": _labels(install)}, "spec": pod}
    selector = {"matchLabels": dict(_SELECTOR)}
    return {**made, "spec": {"replicas": install.replicas, "selector": selector, "template": template}}


def _own_secret(name: str) -> Manifest:
    """A Secret that may be absent, and whose files only the runner's group may read."""
    return {"secretName": name, "optional": True, "defaultMode": 0o440}


def _container(install: Install) -> Manifest:
    return {
        "name": "runner",
        "image": install.image,
        "imagePullPolicy": "IfNotPresent",
        "args": _arguments(install),
        "env": _environment(install),
        "ports": [
            {"name": "http", "containerPort": PORT, "protocol": "TCP"},
            {"name": "webhooks", "containerPort": WEBHOOK_PORT, "protocol": "TCP"},
        ],
        "livenessProbe": _probe("/healthz", patience=6),
        "readinessProbe": _probe("/readyz", patience=3),
        "resources": {which: dict(each) for which, each in install.resources.items()},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        "volumeMounts": [
            {"name": "home", "mountPath": _HOME},
            {"name": "tmp", "mountPath": _TEMPORARY},
            {"name": "webhooks", "mountPath": WEBHOOK_FOLDER, "readOnly": True},
            {"name": "credentials", "mountPath": CREDENTIALS_FOLDER, "readOnly": True},
        ],
    }


def _arguments(install: Install) -> list[str]:
    said = {"repo": install.repo, "path": install.path, "revision": install.revision}
    return ["run", *(f"--{name}={value}" for name, value in said.items() if value)]


def _environment(install: Install) -> list[dict[str, Any]]:
    own = {"valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}}
    home: list[dict[str, Any]] = [
        {"name": "HOME", "value": _HOME},
        {"name": variable("apps.namespace"), **own},
    ]
    said = [{"name": variable(name), "value": value} for name, value in settings_of(install).items()]
    return [*home, *said]


def settings_of(install: Install) -> dict[str, str]:
    """The settings that follow from what was chosen, and those that were given, which are the stronger."""
    secrets = (f"{host}={WEBHOOK_FOLDER}/{host}" for host in install.webhooks)
    follow = {
        "rendering.folders": f"{_TEMPORARY}/renders",
        "runner.listen": f"0.0.0.0:{PORT}",
        "runner.log": "json",
        "runner.namespaces": ",".join(install.namespaces),
        "runner.webhook_secrets": ",".join(secrets),
        "runner.webhooks": f"0.0.0.0:{WEBHOOK_PORT}",
    }
    return {name: value for name, value in sorted({**follow, **install.settings}.items()) if value}


def variable(setting: str) -> str:
    """How the environment names a setting."""
    return f"TRIMTAB_{setting.replace('.', '__').upper()}"


def _probe(path: str, *, patience: int) -> Manifest:
    return {
        "httpGet": {"path": path, "port": "http"},
        "periodSeconds": 10,
        "timeoutSeconds": 5,
        "failureThreshold": patience,
    }


def _object(api_version: str, kind: str, name: str, install: Install, where: str = "") -> Manifest:
    place = {"namespace": where} if where else {}
    metadata = {"name": name, **place, "labels": _labels(install)}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def _labels(install: Install) -> dict[str, str]:
    return {**_SELECTOR, "app.kubernetes.io/part-of": "trimtab", INSTALL_LABEL: install.namespace}
