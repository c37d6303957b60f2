"""A tenant's kubeconfig can neither run programs nor reach files of this machine."""

from __future__ import annotations

import pytest

from trimtab.errors import SourceRefused
from trimtab.kube.auth.kubeconfig import parse
from trimtab.kube.auth.tenancy import LARGEST, check, check_size

INLINE = "Inline the file, for example with `kubectl config view --minify --flatten`."
OTHERWISE = "Use a token or a client certificate instead."


@pytest.mark.parametrize(
    ("user", "field", "remedy"),
    [
        ("exec: {command: /bin/true}", "exec", OTHERWISE),
        ("exec: {}", "exec", OTHERWISE),
        ("auth-provider: {name: oidc}", "auth-provider", OTHERWISE),
        ("client-certificate: a.crt", "client-certificate", INLINE),
        ("client-key: /etc/shadow", "client-key", INLINE),
        ("{token: t, tokenFile: /etc/shadow}", "tokenFile", "Set token instead."),
        ("{client-key-data: YQ==, client-key: /etc/shadow}", "client-key", INLINE),
    ],
)
def test_a_user_that_reaches_into_this_machine_is_refused(user: str, field: str, remedy: str) -> None:
    inner = user if user.startswith("{") else f"{{{user}}}"
    with pytest.raises(SourceRefused) as caught:
        _check(f"users: [{{name: good, user: {{token: t}}}}, {{name: eve, user: {inner}}}]")
    assert str(caught.value) == (
        f'secret shop/prod, user "eve": {field} is not allowed in a tenant\'s kubeconfig. {remedy}'
    )


@pytest.mark.parametrize(
    ("cluster", "field"),
    [
        ("certificate-authority: /etc/shadow", "certificate-authority"),
        ("proxy-url: 'http://169.254.169.254'", "proxy-url"),
        ("insecure-skip-tls-verify: true", "insecure-skip-tls-verify"),
        ("server: 'http://host'", "a server without TLS"),
        ("server: 'HTTP://host'", "a server without TLS"),
    ],
)
def test_a_cluster_that_reaches_elsewhere_is_refused(cluster: str, field: str) -> None:
    with pytest.raises(SourceRefused, match=f'secret shop/prod, cluster "c": {field} is not allowed'):
        _check(f"clusters: [{{name: c, cluster: {{{cluster}}}}}]")


def test_the_caller_may_consent_to_proxies_and_to_unverified_servers() -> None:
    text = "clusters: [{name: c, cluster: {proxy-url: 'http://p', insecure-skip-tls-verify: true}}]"
    _check(text, allow_insecure=True, allow_proxy=True)
    with pytest.raises(SourceRefused, match="proxy-url"):
        _check(text, allow_insecure=True)
    with pytest.raises(SourceRefused, match="insecure-skip-tls-verify"):
        _check(text, allow_proxy=True)


def test_a_kubeconfig_that_holds_everything_itself_is_allowed() -> None:
    _check(
        "clusters: [{name: c, cluster: {server: 'https://c', certificate-authority-data: YQ==}}]\n"
        "users: [{name: u, user: {client-certificate-data: YQ==, client-key-data: YQ==, as: bob}}]"
    )


def test_a_huge_text_is_refused_before_it_is_read() -> None:
    check_size(b"x" * LARGEST, subject="secret shop/prod")
    with pytest.raises(SourceRefused, match="the kubeconfig is larger than 128 KiB"):
        check_size(b"x" * (LARGEST + 1), subject="secret shop/prod")


def _check(text: str, *, allow_insecure: bool = False, allow_proxy: bool = False) -> None:
    config = parse(text.encode(), subject="secret shop/prod", folder=None)
    check(config, allow_insecure=allow_insecure, allow_proxy=allow_proxy)
