"""Which kinds are watched at all: the built-in exclusions, and rules by group, kind and cluster. Pure."""

from __future__ import annotations

from fnmatch import fnmatchcase

from msgspec import Struct

from trimtab.kube.discovery import Resource

_NEVER_GROUPS = frozenset({"events.k8s.io", "metrics.k8s.io"})
_NEVER_KINDS = frozenset({("", "Event"), ("coordination.k8s.io", "Lease")})


class Rule(Struct, frozen=True, kw_only=True):
    """Some kinds of some clusters; an absent list means all of them.

    Groups and the addresses of clusters may hold `*` and `?`; a kind is meant exactly, or `*` for any.
    """

    groups: tuple[str, ...] | None = None
    kinds: tuple[str, ...] | None = None
    clusters: tuple[str, ...] | None = None

    def concerns(self, cluster: str) -> bool:
        """Whether the rule speaks of this cluster."""
        return self.clusters is None or _matches(cluster, self.clusters)

    def covers(self, group: str, kind: str, cluster: str) -> bool:
        """Whether the rule speaks of this kind of this cluster."""
        return (
            self.concerns(cluster)
            and (self.groups is None or _matches(group, self.groups))
            and (self.kinds is None or kind in self.kinds or "*" in self.kinds)
        )


class ResourceFilter(Struct, frozen=True, kw_only=True):
    """What is left out, and, where anything is named as included, what alone is let in."""

    exclusions: tuple[Rule, ...] = ()
    inclusions: tuple[Rule, ...] = ()

    def excludes(self, group: str, kind: str, cluster: str) -> bool:
        """Whether a kind of a cluster is left out."""
        if group in _NEVER_GROUPS or (group, kind) in _NEVER_KINDS:
            return True
        if any(rule.covers(group, kind, cluster) for rule in self.exclusions):
            return True
        if any(rule.covers(group, kind, cluster) for rule in self.inclusions):
            return False
        return any(rule.concerns(cluster) for rule in self.inclusions)


def _matches(text: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(text, pattern) for pattern in patterns)


#: nothing of interest, and plenty of it: addresses, reviews that are never stored, reports and their like
USUAL = ResourceFilter(
    exclusions=(
        Rule(groups=("", "discovery.k8s.io"), kinds=("Endpoints", "EndpointSlice")),
        Rule(
            groups=("authentication.k8s.io", "authorization.k8s.io"),
            kinds=(
                "SelfSubjectReview",
                "TokenReview",
                "LocalSubjectAccessReview",
                "SelfSubjectAccessReview",
                "SelfSubjectRulesReview",
                "SubjectAccessReview",
            ),
        ),
        Rule(groups=("certificates.k8s.io",), kinds=("CertificateSigningRequest",)),
        Rule(groups=("cert-manager.io",), kinds=("CertificateRequest",)),
        Rule(groups=("cilium.io",), kinds=("CiliumIdentity", "CiliumEndpoint", "CiliumEndpointSlice")),
        Rule(
            groups=("kyverno.io", "reports.kyverno.io", "wgpolicyk8s.io"),
            kinds=(
                "PolicyReport",
                "ClusterPolicyReport",
                "EphemeralReport",
                "ClusterEphemeralReport",
                "AdmissionReport",
                "ClusterAdmissionReport",
                "BackgroundScanReport",
                "ClusterBackgroundScanReport",
                "UpdateRequest",
            ),
        ),
    )
)


def is_watchable(resource: Resource) -> bool:
    """Whether the server lets a kind be listed and watched; the case of verbs does not matter."""
    return {"list", "watch"} <= {verb.lower() for verb in resource.verbs}
