"""Kubeconfigs are read, merged and chosen from as kubectl does it."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.errors import InvalidSpec
from trimtab.kube.auth.kubeconfig import (
    ClusterEntry,
    ContextEntry,
    Extension,
    Kubeconfig,
    Named,
    PluginEntry,
    PluginVariable,
    UserEntry,
    merged,
    parse,
    proxy_url,
    selected,
    server_url,
    tls_server_name,
)
from trimtab.kube.auth.redaction import Secret

EVERYTHING = b"""
apiVersion: v1
kind: Config
preferences: {colors: true}
current-context: prod
clusters:
- name: prod
  cluster:
    server: https://prod:6443
    tls-server-name: kubernetes
    insecure-skip-tls-verify: true
    certificate-authority: ca.crt
    certificate-authority-data: Y2E=
    proxy-url: http://proxy:3128
    disable-compression: true
    extensions:
    - name: client.authentication.k8s.io/exec
      extension: {audience: prod}
users:
- name: alice
  user:
    client-certificate: pki/alice.crt
    client-certificate-data: YQ==
    client-key: /pki/alice.key
    client-key-data: Yg==
    token: t
    tokenFile: token
    username: u
    password: p
    as: bob
    as-uid: "42"
    as-groups: [g, h]
    as-user-extra: {scopes: [view]}
    something-new: {ignored: true}
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: ./login
      args: [get]
      env: [{name: PROFILE, value: prod}]
      installHint: brew install login
      provideClusterInfo: true
      interactiveMode: Never
contexts:
- name: prod
  context: {cluster: prod, user: alice, namespace: shop}
"""


def config(text: str, name: str = "a") -> Kubeconfig:
    return parse(text.encode(), subject=f"kubeconfig /{name}", folder=PurePosixPath("/"))


def test_every_field_is_read_by_its_wire_name_and_paths_are_seen_from_the_file() -> None:
    read = parse(EVERYTHING, subject="kubeconfig /etc/kube/config", folder=PurePosixPath("/etc/kube"))
    assert read == Kubeconfig(
        subject="kubeconfig /etc/kube/config",
        current_context="prod",
        clusters={
            "prod": Named(
                subject='kubeconfig /etc/kube/config, cluster "prod"',
                entry=ClusterEntry(
                    server="https://prod:6443",
                    tls_server_name="kubernetes",
                    disable_compression=True,
                    insecure_skip_tls_verify=True,
                    certificate_authority="/etc/kube/ca.crt",
                    certificate_authority_data="Y2E=",
                    proxy_url=Secret("http://proxy:3128"),
                    extensions=(
                        Extension(name="client.authentication.k8s.io/exec", extension={"audience": "prod"}),
                    ),
                ),
            )
        },
        users={"alice": Named(subject='kubeconfig /etc/kube/config, user "alice"', entry=alice())},
        contexts={
            "prod": Named(
                subject='kubeconfig /etc/kube/config, context "prod"',
                entry=ContextEntry(cluster="prod", user="alice", namespace="shop"),
            )
        },
    )


def alice() -> UserEntry:
    return UserEntry(
        client_certificate="/etc/kube/pki/alice.crt",
        client_certificate_data=Secret("YQ=="),
        client_key="/pki/alice.key",
        client_key_data=Secret("Yg=="),
        token=Secret("t"),
        token_file="/etc/kube/token",
        username="u",
        password=Secret("p"),
        act_as="bob",
        as_uid="42",
        as_groups=("g", "h"),
        as_user_extra={"scopes": ("view",)},
        exec=PluginEntry(
            api_version="client.authentication.k8s.io/v1",
            command="/etc/kube/login",
            args=(Secret("get"),),
            env=(PluginVariable(name="PROFILE", value=Secret("prod")),),
            install_hint="brew install login",
            provide_cluster_info=True,
            interactive_mode="Never",
        ),
    )


def test_a_command_without_a_slash_is_left_to_the_path() -> None:
    read = config("users: [{name: a, user: {exec: {command: aws}}}]").users["a"].entry
    assert read.exec == PluginEntry(command="aws")


def test_null_is_as_good_as_absent() -> None:
    read = config("current-context: null\nusers: null\nclusters:\n- name: c\n  cluster: {server: null}\n")
    assert (read.current_context, read.users, read.clusters["c"].entry) == ("", {}, ClusterEntry())


def test_the_first_file_wins_with_its_whole_entry_and_with_its_current_context() -> None:
    first = config(
        "clusters: [{name: c, cluster: {server: 'https://first'}}]\nusers: [{name: u, user: {token: first}}]"
    )
    second = config(
        "current-context: x\n"
        "clusters: [{name: c, cluster: {server: 'https://second', tls-server-name: second}},"
        " {name: d, cluster: {server: 'https://d'}}]\n"
        "contexts: [{name: x, context: {cluster: c}}]",
        "b",
    )
    third = config("current-context: z", "c")
    both = merged([first, second, third])
    assert both.current_context == "x"
    assert both.clusters == {"c": first.clusters["c"], "d": second.clusters["d"]}
    assert both.users == first.users
    assert both.contexts == second.contexts


@settings(deadline=None)
@given(
    st.lists(st.dictionaries(st.sampled_from("abc"), st.sampled_from(["one", "two"])), min_size=1, max_size=4)
)
def test_merging_gives_each_name_to_the_first_file_that_has_it(files: list[dict[str, str]]) -> None:
    configs = [
        config(
            "\n".join(["users:"] + [f"- {{name: {name}, user: {{token: {t}}}}}" for name, t in file.items()])
        )
        for file in files
    ]
    expected = {name: token for file in reversed(files) for name, token in file.items()}
    assert {name: user.entry.token.reveal() for name, user in merged(configs).users.items()} == expected


CHOICE = """
current-context: one
clusters: [{name: c1, cluster: {server: https://c1}}, {name: c2, cluster: {server: https://c2}}]
users: [{name: u1, user: {token: t1}}, {name: u2, user: {token: t2}}]
contexts:
- {name: one, context: {cluster: c1, user: u1, namespace: shop}}
- {name: two, context: {cluster: c2, user: u2}}
- {name: nobody, context: {cluster: c1}}
"""


@pytest.mark.parametrize(
    ("asked", "server", "token", "namespace"),
    [
        ({}, "https://c1", "t1", "shop"),
        ({"context": "two"}, "https://c2", "t2", "default"),
        ({"cluster": "c2"}, "https://c2", "t1", "shop"),
        ({"context": "two", "user": "u1"}, "https://c2", "t1", "default"),
        ({"context": "nobody"}, "https://c1", "", "default"),
    ],
)
def test_a_context_is_chosen_and_its_parts_can_be_overridden(
    asked: dict[str, str], server: str, token: str, namespace: str
) -> None:
    chosen = selected(config(CHOICE), **asked)
    assert chosen.cluster.entry.server == server
    assert chosen.user.entry.token.reveal() == token
    assert chosen.namespace == namespace


def test_a_cluster_by_argument_needs_no_context() -> None:
    bare = config("clusters: [{name: c, cluster: {server: https://c}}]")
    assert selected(bare, cluster="c").cluster.entry.server == "https://c"


def test_many_names_are_not_all_listed() -> None:
    contexts = ", ".join(f"{{name: c{number}}}" for number in range(8))
    with pytest.raises(InvalidSpec) as caught:
        selected(config(f"contexts: [{contexts}]"))
    assert str(caught.value) == (
        "kubeconfig /a: it sets no current-context."
        ' Choose one of its contexts: "c0", "c1", "c2", "c3", "c4" and 3 more.'
    )


@pytest.mark.parametrize(
    ("server", "url"),
    [
        ("https://host", "https://host"),
        ("https://host:6443/", "https://host:6443"),
        ("https://[::1]:6443/k8s/clusters/c-1//", "https://[::1]:6443/k8s/clusters/c-1"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("HTTPS://Host.Example.", "HTTPS://Host.Example."),
    ],
)
def test_a_server_is_a_url_without_trailing_slash(server: str, url: str) -> None:
    assert server_url(Named(subject="c", entry=ClusterEntry(server=server))) == url


@pytest.mark.parametrize(
    ("server", "problem"),
    [
        ("", "it has no server"),
        ("host:6443", "its server is not a URL with a host"),
        ("https://", "its server is not a URL with a host"),
        ("https://host:99999", "its server is not a URL with a host"),
        ("https://host:", "its server is not a URL with a host"),
        ("https://[::1", "its server is not a URL with a host"),
        ("https://ho st", "its server is not a URL with a host"),
        ("https://host\n", "its server is not a URL with a host"),
        ("ftp://host", "its server must begin with https:// or http://"),
        ("https://me:secret@host", "its server holds a user name or password"),  # pragma: allowlist secret
        ("https://host?a=b", "its server holds a query or fragment"),
        ("https://host#a", "its server holds a query or fragment"),
        ("https://a..b", "its server has a host name that cannot be one"),
        (f"https://{'a' * 64}.b", "its server has a host name that cannot be one"),
    ],
)
def test_what_is_no_server_is_refused(server: str, problem: str) -> None:
    with pytest.raises(InvalidSpec) as caught:
        server_url(Named(subject="c", entry=ClusterEntry(server=server)))
    assert str(caught.value) == f"c: {problem}. Set server to https://host:port."


@pytest.mark.parametrize("proxy", ["http://proxy:3128", "https://u:p@proxy"])  # pragma: allowlist secret
def test_an_http_proxy_is_taken_as_it_is(proxy: str) -> None:
    assert proxy_url(Named(subject="c", entry=ClusterEntry(proxy_url=Secret(proxy)))) == proxy


@pytest.mark.parametrize(
    ("proxy", "problem"),
    [
        ("socks5://proxy", "is a SOCKS proxy, which is not supported"),
        ("proxy:3128", "is not an http or https URL with a host"),
        ("http://", "is not an http or https URL with a host"),
        ("ftp://u:canary@proxy", "is not an http or https URL with a host"),  # pragma: allowlist secret
    ],
)
def test_another_proxy_is_refused_without_repeating_it(proxy: str, problem: str) -> None:
    with pytest.raises(InvalidSpec, match=problem) as caught:
        proxy_url(Named(subject="c", entry=ClusterEntry(proxy_url=Secret(proxy))))
    assert "canary" not in str(caught.value)


def test_no_proxy_and_no_server_name_are_none() -> None:
    nothing = Named(subject="c", entry=ClusterEntry())
    assert (proxy_url(nothing), tls_server_name(nothing)) == (None, None)


@pytest.mark.parametrize("name", ["a b", "a\0b", "a..b", "ä"])
def test_a_server_name_that_cannot_be_shown_in_a_handshake_is_refused(name: str) -> None:
    with pytest.raises(InvalidSpec, match="its tls-server-name is not a host name"):
        tls_server_name(Named(subject="c", entry=ClusterEntry(tls_server_name=name)))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("users: {}", "kubeconfig /a: users must be a list, not a map. Correct it."),
        ("users: [1]", "kubeconfig /a: number 1 of its users must be a map. Correct it."),
        (
            "users: [{name: 1}]",
            "kubeconfig /a: number 1 of its users has a name that is not text. Correct it.",
        ),
        (
            "current-context: 1",
            "kubeconfig /a: current-context must be text, not a number. Put it in quotes.",
        ),
        (
            "users: [{name: u}, {name: u}]",
            'kubeconfig /a: it has two users named "u". Rename or remove one.',
        ),
        (
            "users: [{name: u, user: {token: 1}}]",
            'kubeconfig /a, user "u": token must be text, not a number. Correct the field.',
        ),
        (
            "users: [{name: u, user: {as-groups: {}}}]",
            'kubeconfig /a, user "u": as-groups must be a list, not a map. Correct the field.',
        ),
        (
            "users: [{name: u, user: {exec: {env: [{value: true}]}}}]",
            'kubeconfig /a, user "u": exec.env[0].value must be text, not a boolean. Correct the field.',
        ),
        (
            "users: [{name: u, user: {as-user-extra: {a: [1]}}}]",
            'kubeconfig /a, user "u": as-user-extra[...][0] must be text, not a number. Correct the field.',
        ),
        (
            "users: [{name: u, user: {exec: login}}]",
            'kubeconfig /a, user "u": exec must be a map, not text. Correct the field.',
        ),
        (
            "clusters: [{name: c, cluster: [a]}]",
            'kubeconfig /a, cluster "c": it must be a map, not a list. Correct the field.',
        ),
    ],
)
def test_a_wrong_type_is_told_with_file_entry_and_field(text: str, problem: str) -> None:
    with pytest.raises(InvalidSpec) as caught:
        config(text)
    assert str(caught.value) == problem


@pytest.mark.parametrize(
    "bomb",
    [
        "[" * 100_000,
        "- " * 50_000,
        "a: &a [*a]",
        "a: &a {<<: *a}",
        "\n".join(
            ["a0: &a0 [x,x,x,x,x,x,x,x,x,x]"]
            + [f"a{n + 1}: &a{n + 1} [{','.join([f'*a{n}'] * 10)}]" for n in range(9)]
        ),
    ],
    ids=["nested lists", "nested items", "circle", "merge keys", "billion laughs"],
)
def test_a_bomb_is_refused(bomb: str) -> None:
    with pytest.raises(InvalidSpec):
        config(bomb)
