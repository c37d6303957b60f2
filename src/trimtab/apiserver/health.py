"""How the server is: what it says to those who ask, check by check. Pure.

A real server names what it has started and looks at; here all of that is one process that either answers or
does not, so every check that a real one makes is passed whenever somebody can be told.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

_STARTED = (
    "start-apiserver-admission-initializer",
    "generic-apiserver-start-informers",
    "priority-and-fairness-config-consumer",
    "priority-and-fairness-filter",
    "storage-object-count-tracker-hook",
    "start-apiextensions-informers",
    "start-apiextensions-controllers",
    "crd-informer-synced",
    "start-system-namespaces-controller",
    "peer-endpoint-reconciler-controller",
    "start-cluster-authentication-info-controller",
    "start-kube-apiserver-identity-lease-controller",
    "start-kube-apiserver-identity-lease-garbage-collector",
    "storage-readiness",
    "start-legacy-token-tracking-controller",
    "start-service-ip-repair-controllers",
    "rbac/bootstrap-roles",
    "scheduling/bootstrap-system-priority-classes",
    "priority-and-fairness-config-producer",
    "bootstrap-controller",
    "start-kubernetes-service-cidr-controller",
    "start-kube-aggregator-informers",
    "apiservice-status-local-available-controller",
    "apiservice-status-remote-available-controller",
    "apiservice-registration-controller",
    "apiservice-discovery-controller",
    "kube-apiserver-autoregistration",
)
_REGISTERED = ("autoregister-completion",)
_DESCRIBED = ("apiservice-openapi-controller", "apiservice-openapiv3-controller")


def _hooks(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"poststarthook/{name}" for name in names)


_COMMON = (*_hooks(_STARTED), *_REGISTERED, *_hooks(_DESCRIBED))
_ALIVE = ("ping", "log", "loopback-serving-certificate", "etcd", *_COMMON)
#: every path at which health is told, and the checks that are made there
CHECKS = {
    "/healthz": _ALIVE,
    "/livez": _ALIVE,
    "/readyz": ("ping", "log", "etcd", "etcd-readiness", "informer-sync", *_COMMON, "shutdown"),
}


def is_check(path: str) -> bool:
    """Whether a path is that of a single check."""
    start, _, name = path.removeprefix("/").partition("/")
    return name in CHECKS.get(f"/{start}", ())


def told(path: str, excluded: Collection[str], *, verbose: bool) -> str:
    """What is said at one of the paths; check by check if it is to be verbose."""
    if not verbose:
        return "ok"
    lines = [f"[+]{name} {'excluded: ' if name in excluded else ''}ok" for name in CHECKS[path]]
    if unknown := sorted({*excluded} - {*CHECKS[path]}):
        names = ",".join(f'"{name}"' for name in unknown)
        lines.append(f"warn: some health checks cannot be excluded: no matches for {names}")
    return "\n".join([*lines, f"{path[1:]} check passed", ""])
