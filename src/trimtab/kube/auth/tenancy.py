"""What a kubeconfig that came from a tenant may not say.

Pure, and judged over the whole file before anything in it is used: also an entry that no context picks may
not run a program, name a file on this machine or send our traffic elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator

from trimtab.errors import SourceRefused
from trimtab.kube.auth.kubeconfig import ClusterEntry, Kubeconfig, UserEntry

LARGEST = 128 * 1024
_INLINE = "Inline the file, for example with `kubectl config view --minify --flatten`"
_NO_PROGRAM = "Use a token or a client certificate instead"


def check_size(text: bytes, *, subject: str) -> None:
    """Refuse a text that is too large to be read for somebody else."""
    if len(text) > LARGEST:
        raise SourceRefused(
            subject,
            f"the kubeconfig is larger than {LARGEST // 1024} KiB",
            "Remove entries that are not needed",
        )


def check(config: Kubeconfig, *, allow_insecure: bool, allow_proxy: bool) -> None:
    """Refuse the kubeconfig if any entry says what a tenant's may not."""
    for user in config.users.values():
        for field, remedy in _user_problems(user.entry):
            raise SourceRefused(user.subject, f"{field} is not allowed in a tenant's kubeconfig", remedy)
    for cluster in config.clusters.values():
        for field, remedy in _cluster_problems(
            cluster.entry, allow_insecure=allow_insecure, allow_proxy=allow_proxy
        ):
            raise SourceRefused(cluster.subject, f"{field} is not allowed in a tenant's kubeconfig", remedy)


def _user_problems(user: UserEntry) -> Iterator[tuple[str, str]]:
    if user.exec:
        yield "exec", _NO_PROGRAM
    if user.auth_provider:
        yield "auth-provider", _NO_PROGRAM
    if user.client_certificate:
        yield "client-certificate", _INLINE
    if user.client_key:
        yield "client-key", _INLINE
    if user.token_file:
        yield "tokenFile", "Set token instead"


def _cluster_problems(
    cluster: ClusterEntry, *, allow_insecure: bool, allow_proxy: bool
) -> Iterator[tuple[str, str]]:
    if cluster.certificate_authority:
        yield "certificate-authority", _INLINE
    if cluster.proxy_url and not allow_proxy:
        yield "proxy-url", "Remove it, or ask the operator of this installation to allow proxies"
    if cluster.insecure_skip_tls_verify and not allow_insecure:
        yield "insecure-skip-tls-verify", "Set certificate-authority-data instead"
    if cluster.server.lower().startswith("http:") and not allow_insecure:
        yield "a server without TLS", "Set server to https://host:port"
