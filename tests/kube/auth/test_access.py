"""An Access gives the right headers and TLS context for every kind of login, and follows their rotation."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from testbed.pki import Authority, Issued, in_base64
from testbed.plugins import plugin_script
from testbed.tlsserver import seen_by, server_context, serving
from trimtab.errors import InvalidSpec, Missing, SourceRefused
from trimtab.kube.auth import Access, from_kubeconfig, from_tenant_kubeconfig, in_cluster
from trimtab.kube.auth.impersonation import Impersonation
from trimtab.settings import ClusterSettings
from trimtab.tasks.clock import ManualClock

AUTHORITY = Authority()
SERVER = AUTHORITY.issue("server", "127.0.0.1")
V1 = "client.authentication.k8s.io/v1"
CA = {"certificate-authority-data": in_base64(AUTHORITY.pem)}


def described(
    user: Mapping[str, Any], cluster: Mapping[str, Any] | None = None, server: str = "https://c:6443"
) -> dict[str, Any]:
    return {
        "current-context": "x",
        "clusters": [{"name": "c", "cluster": {"server": server, **(cluster or {})}}],
        "users": [{"name": "alice", "user": dict(user)}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "alice", "namespace": "shop"}}],
    }


def write(path: Path, content: bytes | str | dict[str, Any]) -> Path:
    match content:
        case bytes():
            path.write_bytes(content)
        case str():
            path.write_text(content)
        case _:
            path.write_text(json.dumps(content))
    return path


def opened(
    folder: Path, config: dict[str, Any], clock: ManualClock | None = None, who: Impersonation | None = None
) -> Access:
    return from_kubeconfig(
        [write(folder / "config", config)],
        impersonate=who,
        settings=ClusterSettings(),
        clock=clock or ManualClock(),
        environment={"PATH": "/usr/bin:/bin"},
    )


def token_script(path: Path, *tokens: str) -> Path:
    """A plugin that gives these tokens in turn."""
    answers = [
        json.dumps({"apiVersion": V1, "kind": "ExecCredential", "status": {"token": token}})
        for token in tokens
    ]
    write(path.with_suffix(".answers"), "\n".join(answers) + "\n")
    count = path.with_suffix(".runs")
    return plugin_script(
        path, f"echo run >> {count}", f'sed -n "$(wc -l < {count})p" {path.with_suffix(".answers")}'
    )


def exec_user(command: Path | str, **more: object) -> dict[str, object]:
    return {"exec": {"apiVersion": V1, "command": str(command), "interactiveMode": "Never", **more}}


def pair_data(issued: Issued) -> dict[str, str]:
    return {
        "client-certificate-data": in_base64(issued.certificate),
        "client-key-data": in_base64(issued.key),
    }


async def sent(access: Access) -> list[tuple[str, str]]:
    return list((await access.headers()).items())


# What a kubeconfig says


def test_the_plain_facts_are_taken_from_the_cluster_and_the_context(tmp_path: Path) -> None:
    cluster = {"proxy-url": "http://u:p@proxy", "tls-server-name": "kubernetes"}  # pragma: allowlist secret
    access = opened(tmp_path, described({}, cluster, "https://c:6443/"))
    assert (access.server, access.proxy) == ("https://c:6443", "http://u:p@proxy")
    assert (access.tls_server_name, access.namespace) == ("kubernetes", "shop")
    assert repr(access) == f"ServerAccess('kubeconfig {tmp_path}/config, user \"alice\"', 'https://c:6443')"


async def test_nobody_sends_nothing(tmp_path: Path) -> None:
    access = opened(tmp_path, described({}))
    assert await sent(access) == []
    assert (access.proxy, access.tls_server_name) == (None, None)
    assert not await access.rejected()


async def test_a_token_is_sent(tmp_path: Path) -> None:
    access = opened(tmp_path, described({"token": "t"}))
    assert await sent(access) == [("Authorization", "Bearer t")]
    assert not await access.rejected()


async def test_a_user_name_and_password_are_sent(tmp_path: Path) -> None:
    access = opened(tmp_path, described({"username": "ä", "password": "p:q"}))
    assert await sent(access) == [("Authorization", "Basic w6Q6cDpx")]


async def test_nothing_that_proves_who_we_are_is_sent_over_plain_http(tmp_path: Path) -> None:
    for user in ({"token": "t"}, {"username": "u", "password": "p"}, exec_user(tmp_path / "missing")):
        access = opened(tmp_path, described({**user, "as": "bob"}, server="http://127.0.0.1:8001"))
        assert await sent(access) == [("Impersonate-User", "bob")]
        assert await access.tls() is None
        assert not await access.rejected()


async def test_a_kubeconfig_may_say_whom_to_act_as(tmp_path: Path) -> None:
    user = {"as": "bob", "as-uid": "7", "as-groups": ["g", "h"], "as-user-extra": {"a/b": ["1", "2"]}}
    assert await sent(opened(tmp_path, described(user))) == [
        ("Impersonate-User", "bob"),
        ("Impersonate-Uid", "7"),
        ("Impersonate-Group", "g"),
        ("Impersonate-Group", "h"),
        ("Impersonate-Extra-a%2Fb", "1"),
        ("Impersonate-Extra-a%2Fb", "2"),
    ]


async def test_whom_the_caller_acts_as_goes_before_what_the_kubeconfig_says(tmp_path: Path) -> None:
    user = {"as": "bob", "as-groups": ["g"], "token": "t"}
    access = opened(tmp_path, described(user), who=Impersonation(user="carol"))
    assert await sent(access) == [("Impersonate-User", "carol"), ("Authorization", "Bearer t")]


async def test_several_files_are_one_and_missing_ones_do_not_matter(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    write(elsewhere / "token", "t")
    whole = described({"tokenFile": "token"})
    users = {"users": whole.pop("users")}
    access = from_kubeconfig(
        [tmp_path / "missing", write(tmp_path / "a", whole), write(elsewhere / "b", users)],
        settings=ClusterSettings(),
        clock=ManualClock(),
        environment={},
    )
    assert await sent(access) == [("Authorization", "Bearer t")]


# Rotation


async def test_a_token_file_is_followed_and_goes_before_a_token(tmp_path: Path) -> None:
    clock = ManualClock()
    write(tmp_path / "token", " first\n")
    access = opened(tmp_path, described({"token": "old", "tokenFile": "token"}), clock)
    assert await sent(access) == [("Authorization", "Bearer first")]
    write(tmp_path / "token", "second")
    assert await sent(access) == [("Authorization", "Bearer first")]
    await clock.advance(10)
    assert await sent(access) == [("Authorization", "Bearer second")]


async def test_a_token_file_is_read_again_at_once_when_the_server_says_401(tmp_path: Path) -> None:
    write(tmp_path / "token", "first")
    access = opened(tmp_path, described({"tokenFile": "token"}))
    assert not await access.rejected()
    write(tmp_path / "token", "second")
    assert await access.rejected()
    assert await sent(access) == [("Authorization", "Bearer second")]


async def test_an_emptied_token_file_does_not_take_the_token_away(tmp_path: Path) -> None:
    clock = ManualClock()
    write(tmp_path / "token", "first")
    access = opened(tmp_path, described({"tokenFile": "token"}), clock)
    write(tmp_path / "token", "")
    await clock.advance(10)
    assert await sent(access) == [("Authorization", "Bearer first")]


async def test_the_tls_context_is_the_same_until_a_certificate_changes(tmp_path: Path) -> None:
    clock = ManualClock()
    alice, bob = AUTHORITY.issue("alice"), AUTHORITY.issue("bob")
    user = {"client-certificate": "crt", "client-key": "key"}
    write(tmp_path / "crt", alice.certificate)
    write(tmp_path / "key", alice.key)
    async with serving(server_context(tmp_path, SERVER, AUTHORITY)) as url:
        access = opened(tmp_path, described(user, CA, url), clock)
        first = await access.tls()
        assert first
        assert await access.tls() is first
        assert await seen_by(url, first) == "alice"
        write(tmp_path / "crt", bob.certificate)
        await clock.advance(10)
        assert await access.tls() is first, "found between the writing of certificate and key"
        write(tmp_path / "key", bob.key)
        await clock.advance(10)
        second = await access.tls()
        assert second
        assert second is not first
        assert await seen_by(url, second) == "bob"


async def test_a_certificate_that_expires_is_replaced_by_the_renewed_one_or_told(tmp_path: Path) -> None:
    clock = ManualClock()
    soon = clock.now().replace(minute=1)
    old, new = AUTHORITY.issue("alice", not_after=soon), AUTHORITY.issue("alice")
    both = write(tmp_path / "both", old.certificate + old.key)
    access = opened(tmp_path, described({"client-certificate": str(both), "client-key": str(both)}), clock)
    await clock.advance(55)
    first = await access.tls()
    await clock.advance(5)
    with pytest.raises(InvalidSpec, match="its client certificate expired at 2026-01-01 00:01:00 UTC"):
        await access.tls()
    write(both, new.certificate + new.key)
    assert await access.tls() is not first


async def test_a_rotated_authority_gives_another_context(tmp_path: Path) -> None:
    clock = ManualClock()
    write(tmp_path / "ca", AUTHORITY.pem)
    access = opened(tmp_path, described({}, {"certificate-authority": "ca"}), clock)
    first = await access.tls()
    write(tmp_path / "ca", b"half")
    await clock.advance(10)
    assert await access.tls() is first
    write(tmp_path / "ca", Authority().pem)
    await clock.advance(10)
    assert await access.tls() is not first


# Plugins


async def test_a_plugin_gives_the_token_and_another_one_after_a_401(tmp_path: Path) -> None:
    script = token_script(tmp_path / "login", "one", "two", "three")
    access = opened(tmp_path, described(exec_user(script)))
    first = await access.headers()
    assert first["Authorization"] == "Bearer one"
    assert await access.tls() is await access.tls()
    assert await access.rejected(first)
    assert await sent(access) == [("Authorization", "Bearer two")]
    assert await access.rejected(first), "a 401 to the first token, told late"
    assert await sent(access) == [("Authorization", "Bearer two")]
    assert await access.rejected()
    assert await sent(access) == [("Authorization", "Bearer three")]


async def test_a_plugin_beside_the_kubeconfig_is_found_by_its_relative_path(tmp_path: Path) -> None:
    token_script(tmp_path / "login", "one")
    access = opened(tmp_path, described(exec_user("./login")))
    assert await sent(access) == [("Authorization", "Bearer one")]


async def test_a_plugin_is_told_of_the_authority_in_a_file(tmp_path: Path) -> None:
    write(tmp_path / "ca", AUTHORITY.pem)
    script = plugin_script(
        tmp_path / "login",
        f'echo "$KUBERNETES_EXEC_INFO" > {tmp_path}/told',
        f"""echo '{{"apiVersion":"{V1}","kind":"ExecCredential","status":{{"token":"t"}}}}'""",
    )
    user = exec_user(script, provideClusterInfo=True)
    await opened(tmp_path, described(user, {"certificate-authority": "ca"})).headers()
    told = json.loads(read(tmp_path / "told"))["spec"]["cluster"]
    assert told == {"server": "https://c:6443", "certificate-authority-data": in_base64(AUTHORITY.pem)}


def read(path: Path) -> str:
    return path.read_text()


async def test_a_plugin_gives_a_client_certificate(tmp_path: Path) -> None:
    names = ["alice", "bob"]
    issued = [AUTHORITY.issue(name) for name in names]
    answers = [
        {"clientCertificateData": pair.certificate.decode(), "clientKeyData": pair.key.decode()}
        for pair in issued
    ]
    for number, status in enumerate(answers, start=1):
        write(tmp_path / f"answer{number}", {"apiVersion": V1, "kind": "ExecCredential", "status": status})
    script = plugin_script(
        tmp_path / "login",
        f"echo run >> {tmp_path}/runs",
        f'cat {tmp_path}/answer"$(wc -l < {tmp_path}/runs | tr -d " ")"',
    )
    async with serving(server_context(tmp_path, SERVER, AUTHORITY)) as url:
        access = opened(tmp_path, described(exec_user(script), CA, url))
        for name in names:
            context = await access.tls()
            assert context
            assert await seen_by(url, context) == name
            assert await sent(access) == []
            assert await access.rejected({})


async def test_a_token_goes_before_a_plugin(tmp_path: Path) -> None:
    access = opened(tmp_path, described({"token": "t", **exec_user(tmp_path / "missing")}))
    assert await sent(access) == [("Authorization", "Bearer t")]


# In a pod


def pod(folder: Path) -> Path:
    write(folder / "token", "first\n")
    write(folder / "ca.crt", AUTHORITY.pem)
    write(folder / "namespace", "shop\n")
    return folder


@pytest.mark.parametrize(
    ("host", "server"), [("10.0.0.1", "https://10.0.0.1:443"), ("fd00::1", "https://[fd00::1]:443")]
)
async def test_a_pod_is_its_service_account(host: str, server: str, tmp_path: Path) -> None:
    clock = ManualClock()
    variables = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": "443"}
    access = in_cluster(clock=clock, environment=variables, folder=pod(tmp_path))
    assert (access.server, access.namespace) == (server, "shop")
    assert await access.tls()
    assert await sent(access) == [("Authorization", "Bearer first")]
    write(tmp_path / "token", "second")
    await clock.advance(10)
    assert await sent(access) == [("Authorization", "Bearer second")]
    write(tmp_path / "token", "third")
    assert await access.rejected()
    assert await sent(access) == [("Authorization", "Bearer third")]


def test_a_pod_without_a_namespace_file_works_in_default(tmp_path: Path) -> None:
    (pod(tmp_path) / "namespace").unlink()
    variables = {"KUBERNETES_SERVICE_HOST": "h", "KUBERNETES_SERVICE_PORT": "443"}
    assert in_cluster(clock=ManualClock(), environment=variables, folder=tmp_path).namespace == "default"


@pytest.mark.parametrize(
    ("variables", "gone", "problem"),
    [
        ({}, "namespace", "are not set, so this is not a pod. Run inside a pod, or give a kubeconfig."),
        ({"KUBERNETES_SERVICE_HOST": "h", "KUBERNETES_SERVICE_PORT": "1"}, "token", "token) does not exist."),
        (
            {"KUBERNETES_SERVICE_HOST": "h", "KUBERNETES_SERVICE_PORT": "1"},
            "ca.crt",
            "ca.crt) does not exist.",
        ),
    ],
)
def test_what_is_no_pod_is_told(variables: dict[str, str], gone: str, problem: str, tmp_path: Path) -> None:
    (pod(tmp_path) / gone).unlink()
    with pytest.raises(Missing) as caught:
        in_cluster(clock=ManualClock(), environment=variables, folder=tmp_path)
    assert problem in str(caught.value)


# A tenant's


def test_a_tenants_plugin_is_refused_before_anything_is_opened_or_run(tmp_path: Path) -> None:
    trap = plugin_script(tmp_path / "trap", f"touch {tmp_path}/ran")
    config = described({**exec_user(trap), "tokenFile": str(tmp_path / "missing")})
    with pytest.raises(SourceRefused) as caught:
        from_tenant_kubeconfig(json.dumps(config).encode(), subject="secret shop/prod", clock=ManualClock())
    assert str(caught.value) == (
        'secret shop/prod, user "alice": exec is not allowed in a tenant\'s kubeconfig.'
        " Use a token or a client certificate instead."
    )
    assert not (tmp_path / "ran").exists()


async def test_a_tenants_certificate_and_token_are_used() -> None:
    config = described({"token": "t", **pair_data(AUTHORITY.issue("eve"))}, CA)
    access = from_tenant_kubeconfig(json.dumps(config).encode(), subject="secret a", clock=ManualClock())
    assert await sent(access) == [("Authorization", "Bearer t")]
    assert await access.tls()
