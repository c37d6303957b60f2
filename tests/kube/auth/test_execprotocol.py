"""What is asked of a credential plugin, and what its answers mean."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from testbed.pki import Authority
from trimtab.errors import InvalidSpec, TrimtabError
from trimtab.kube.auth.execprotocol import Credential, credential, entry_problem, exec_info, renewal
from trimtab.kube.auth.kubeconfig import ClusterEntry, Extension, Named, PluginEntry, PluginVariable
from trimtab.kube.auth.redaction import Secret

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
V1, V1BETA1 = "client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"
ENTRY = PluginEntry(api_version=V1, command="login", interactive_mode="Never")
NO_PLUGIN = 'alice: its exec plugin "login" did not print an ExecCredential in JSON.'
CHECK = "Check that exec.command is a credential plugin."
AGAIN = "Log in with it again."


def answer(status: object, version: str = V1, kind: str = "ExecCredential") -> bytes:
    return json.dumps({"apiVersion": version, "kind": kind, "status": status}).encode()


def given_by(stdout: bytes, version: str = V1) -> Credential:
    entry = msgspec.structs.replace(ENTRY, api_version=version)
    return credential(stdout, entry=entry, subject="alice", plugin='"login"', now=NOW)


@pytest.mark.parametrize("version", [V1, V1BETA1])
def test_a_token_without_expiry_is_kept(version: str) -> None:
    assert given_by(answer({"token": "t"}, version), version) == Credential(token=Secret("t"))


@pytest.mark.parametrize(
    ("life", "margin"),
    [(timedelta(hours=1), timedelta(seconds=30)), (timedelta(seconds=60), timedelta(seconds=6))],
)
def test_a_credential_is_renewed_shortly_before_it_expires(life: timedelta, margin: timedelta) -> None:
    expires = (NOW + life).isoformat().replace("+00:00", "Z")
    assert given_by(answer({"token": "t", "expirationTimestamp": expires})).renew_at == NOW + life - margin
    assert renewal(NOW, None) is None


def test_an_expiry_in_another_time_zone_is_understood() -> None:
    given_at = given_by(answer({"token": "t", "expirationTimestamp": "2026-01-01T15:00:00+02:00"}))
    assert given_at.renew_at == NOW + timedelta(hours=1) - timedelta(seconds=30)


def test_a_client_certificate_is_renewed_before_it_ends_even_if_the_plugin_is_silent() -> None:
    issued = Authority().issue("alice", not_after=NOW + timedelta(hours=1))
    status = {"clientCertificateData": issued.certificate.decode(), "clientKeyData": issued.key.decode()}
    result = given_by(answer(status))
    assert result.pair is not None
    assert result.renew_at == NOW + timedelta(hours=1) - timedelta(seconds=30)
    assert issued.key.decode() not in repr(result)


@pytest.mark.parametrize(
    ("stdout", "message"),
    [
        (b"", f"{NO_PLUGIN} {CHECK}"),
        (b"canary", f"{NO_PLUGIN} {CHECK}"),
        (b"\xff", f"{NO_PLUGIN} {CHECK}"),
        (b"[1]", f"{NO_PLUGIN} {CHECK}"),
        (b"[" * 100_000, f"{NO_PLUGIN} {CHECK}"),
        (answer({"token": "canary"}, kind="Secret"), f"{NO_PLUGIN} {CHECK}"),
        (answer({"token": "canary"}, version="v1"), f"{NO_PLUGIN} {CHECK}"),
        (answer({"token": 1}), f"{NO_PLUGIN} {CHECK}"),
        (
            answer({"token": "canary"}, version=V1BETA1),
            (
                f'alice: its exec plugin "login" answered in another version than the {V1} that'
                " exec.apiVersion asks for. Set exec.apiVersion to the version that the plugin speaks."
            ),
        ),
        (answer(None), f'alice: its exec plugin "login" gave no status, hence no credential. {AGAIN}'),
        (
            answer({}),
            f'alice: its exec plugin "login" gave neither a token nor a client certificate. {AGAIN}',
        ),
        (
            answer({"token": "canary\n"}),
            (
                'alice: its exec plugin "login" gave a token that holds line breaks or control characters.'
                f" {CHECK}"
            ),
        ),
        (
            answer({"clientKeyData": "canary"}),  # pragma: allowlist secret
            f'alice: its exec plugin "login" gave a client certificate or a key, but not both. {CHECK}',
        ),
        (
            answer(dict.fromkeys(("clientCertificateData", "clientKeyData"), "canary")),
            (
                'alice, exec plugin "login": its status.clientCertificateData holds no readable PEM'
                " certificate. Set status.clientCertificateData to a PEM certificate."
            ),
        ),
        (
            answer({"token": "canary", "expirationTimestamp": "soon"}),
            f'alice: its exec plugin "login" gave an expirationTimestamp that is not a time. {CHECK}',
        ),
        (
            answer({"token": "canary", "expirationTimestamp": "9999-12-31T23:59:59-12:00"}),
            f'alice: its exec plugin "login" gave an expirationTimestamp that is not a time. {CHECK}',
        ),
        (
            answer({"token": "canary", "expirationTimestamp": "2026-01-01T11:59:59Z"}),
            (
                'alice: its exec plugin "login" gave a credential that had already expired at'
                " 2026-01-01 11:59:59 UTC. Log in with it again, and check this machine's clock."
            ),
        ),
    ],
)
def test_an_answer_that_gives_nothing_is_explained_without_repeating_it(stdout: bytes, message: str) -> None:
    with pytest.raises(InvalidSpec) as caught:
        given_by(stdout)
    assert str(caught.value) == message
    assert caught.value.__cause__ is None


def test_an_expired_certificate_is_refused() -> None:
    issued = Authority().issue("alice", not_after=NOW)
    status = {"clientCertificateData": issued.certificate.decode(), "clientKeyData": issued.key.decode()}
    with pytest.raises(InvalidSpec, match="gave a credential whose client certificate expired at 2026-01-01"):
        given_by(answer(status))


texts = st.one_of(st.none(), st.text(max_size=20), st.integers(), st.datetimes().map(str))
statuses = st.dictionaries(
    st.sampled_from(["token", "clientCertificateData", "clientKeyData", "expirationTimestamp"]), texts
)


@settings(deadline=None)
@given(st.one_of(st.binary(max_size=100), statuses.map(answer)))
def test_any_answer_is_a_credential_or_one_error(stdout: bytes) -> None:
    try:
        result = given_by(stdout)
    except TrimtabError:
        return
    assert result.token or result.pair


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({}, None),
        ({"interactive_mode": "IfAvailable"}, None),
        ({"api_version": V1BETA1, "interactive_mode": ""}, None),
        ({"api_version": ""}, ("its exec plugin has no apiVersion", f"Set exec.apiVersion to {V1}")),
        (
            {"api_version": "client.authentication.k8s.io/v1alpha1"},
            ("its exec plugin has an apiVersion that is not supported", f"Set exec.apiVersion to {V1}"),
        ),
        ({"command": ""}, ("its exec plugin has no command", "Set exec.command")),
        (
            {"args": (Secret("a\0b"),)},
            ("its exec plugin has a NUL character in command or args", "Remove it"),
        ),
        (
            {"env": (PluginVariable(name="a=b"),)},
            ("its exec plugin has an env entry without a usable name or value", "Correct exec.env"),
        ),
        (
            {"interactive_mode": ""},
            (
                "its exec plugin has no valid interactiveMode",
                "Set exec.interactiveMode to Never or IfAvailable",
            ),
        ),
        (
            {"interactive_mode": "Always"},
            (
                "its exec plugin wants a terminal (interactiveMode: Always), and there is none",
                "Use a plugin that can log in by itself and set exec.interactiveMode to Never",
            ),
        ),
    ],
)
def test_an_entry_that_cannot_be_run_is_refused_beforehand(
    changes: dict[str, object], problem: tuple[str, str] | None
) -> None:
    assert entry_problem(msgspec.structs.replace(ENTRY, **changes)) == problem


CLUSTER = Named(
    subject="c",
    entry=ClusterEntry(
        server="https://c",
        tls_server_name="kubernetes",
        proxy_url=Secret("http://proxy"),
        extensions=(
            Extension(name="other", extension=1),
            Extension(name="client.authentication.k8s.io/exec", extension={"audience": "a"}),
        ),
    ),
)


def test_a_plugin_is_told_that_nobody_is_there_to_answer() -> None:
    assert json.loads(exec_info(ENTRY, CLUSTER, "Y2E=")) == {
        "apiVersion": V1,
        "kind": "ExecCredential",
        "spec": {"interactive": False},
    }


def test_a_plugin_that_asks_for_it_is_told_of_the_cluster() -> None:
    asking = msgspec.structs.replace(ENTRY, provide_cluster_info=True)
    assert json.loads(exec_info(asking, CLUSTER, "Y2E="))["spec"] == {
        "interactive": False,
        "cluster": {
            "server": "https://c",
            "tls-server-name": "kubernetes",
            "certificate-authority-data": "Y2E=",
            "proxy-url": "http://proxy",
            "config": {"audience": "a"},
        },
    }


def test_an_extension_that_json_cannot_hold_is_refused() -> None:
    asking = msgspec.structs.replace(ENTRY, provide_cluster_info=True)
    extension = Extension(name="client.authentication.k8s.io/exec", extension={"a": object()})
    cluster = Named(subject="c", entry=ClusterEntry(extensions=(extension,)))
    with pytest.raises(InvalidSpec, match="cannot be written as JSON"):
        exec_info(asking, cluster, None)
