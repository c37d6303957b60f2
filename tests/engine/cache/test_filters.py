"""Which kinds are let in: built-in exclusions, rules, and rules for some clusters only."""

from __future__ import annotations

import pytest

from tests.engine.cache.objects import kind
from trimtab.engine.cache.filters import USUAL, ResourceFilter, Rule, is_watchable
from trimtab.kube.discovery import Resource

HERE, THERE = "https://here.example:6443", "https://there.example:6443"
NO_SECRETS = Rule(groups=("",), kinds=("Secret",))
ONLY_APPS = Rule(groups=("apps",))


@pytest.mark.fact("M18")
@pytest.mark.parametrize(
    ("exclusions", "inclusions", "group", "of", "cluster", "out"),
    [
        ((), (), "", "Secret", HERE, False),
        ((), (), "", "Event", HERE, True),
        ((), (), "events.k8s.io", "Event", HERE, True),
        ((), (), "metrics.k8s.io", "PodMetrics", HERE, True),
        ((), (), "coordination.k8s.io", "Lease", HERE, True),
        ((), (), "example.com", "Event", HERE, False),
        ((NO_SECRETS,), (), "", "Secret", HERE, True),
        ((NO_SECRETS,), (), "example.com", "Secret", HERE, False),
        ((Rule(groups=("*.example.com",)),), (), "a.example.com", "Any", HERE, True),
        ((Rule(groups=("*.example.com",)),), (), "example.com", "Any", HERE, False),
        ((Rule(kinds=("*",)),), (), "apps", "Deployment", HERE, True),
        ((Rule(kinds=("Deploy*",)),), (), "apps", "Deployment", HERE, False),
        ((Rule(),), (), "apps", "Deployment", HERE, True),
        ((Rule(clusters=("*there*",)),), (), "apps", "Deployment", HERE, False),
        ((Rule(clusters=("*there*",)),), (), "apps", "Deployment", THERE, True),
        ((), (ONLY_APPS,), "apps", "Deployment", HERE, False),
        ((), (ONLY_APPS,), "", "Secret", HERE, True),
        ((), (Rule(groups=("apps",), clusters=("*there*",)),), "", "Secret", HERE, False),
        ((), (Rule(groups=("apps",), clusters=("*there*",)),), "", "Secret", THERE, True),
        ((Rule(kinds=("Deployment",)),), (ONLY_APPS,), "apps", "Deployment", HERE, True),
        ((Rule(kinds=("Deployment",)),), (ONLY_APPS,), "apps", "StatefulSet", HERE, False),
        ((), (Rule(groups=("*",), kinds=("Event",)),), "", "Event", HERE, True),
        ((Rule(groups=()),), (), "apps", "Deployment", HERE, False),
    ],
)
def test_exclusions_beat_inclusions_and_rules_may_hold_for_some_clusters_only(
    exclusions: tuple[Rule, ...],
    inclusions: tuple[Rule, ...],
    group: str,
    of: str,
    cluster: str,
    *,
    out: bool,
) -> None:
    chosen = ResourceFilter(exclusions=exclusions, inclusions=inclusions)
    assert chosen.excludes(group, of, cluster) is out


@pytest.mark.parametrize(
    ("group", "of", "out"),
    [
        ("", "Endpoints", True),
        ("discovery.k8s.io", "EndpointSlice", True),
        ("authorization.k8s.io", "SubjectAccessReview", True),
        ("certificates.k8s.io", "CertificateSigningRequest", True),
        ("cert-manager.io", "CertificateRequest", True),
        ("cert-manager.io", "Certificate", False),
        ("cilium.io", "CiliumIdentity", True),
        ("wgpolicyk8s.io", "PolicyReport", True),
        ("", "ConfigMap", False),
    ],
)
def test_usually_what_nobody_declares_in_git_is_left_out(group: str, of: str, *, out: bool) -> None:
    assert USUAL.excludes(group, of, HERE) is out


@pytest.mark.parametrize(
    ("verbs", "watchable"),
    [(("list", "watch"), True), (("LIST", "Watch", "get"), True), (("list",), False), ((), False)],
)
def test_only_kinds_that_can_be_listed_and_watched_are(verbs: tuple[str, ...], *, watchable: bool) -> None:
    base = kind("Widget", "example.com")
    resource = Resource(
        group=base.group,
        version=base.version,
        kind=base.kind,
        plural=base.plural,
        namespaced=True,
        verbs=verbs,
    )
    assert is_watchable(resource) is watchable
