"""Whatever is wrong with a kubeconfig is told in one sentence with file, entry and remedy, and no secret.

Every case plants the word `canary` wherever a secret can stand; no message and no value may repeat it.
"""

from __future__ import annotations

import json
import os
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yarl
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct

from testbed.pki import Authority, in_base64
from testbed.plugins import plugin_script
from trimtab.errors import InvalidSpec, Missing, NotAllowed, TrimtabError, Unavailable
from trimtab.kube.auth import Access, from_kubeconfig, from_tenant_kubeconfig
from trimtab.resources import yaml
from trimtab.settings import ClusterSettings
from trimtab.tasks.clock import ManualClock

AUTHORITY = Authority()
ALICE = AUTHORITY.issue("alice")
BOB = AUTHORITY.issue("bob")
EXPIRED = AUTHORITY.issue("alice", not_after=datetime(2025, 1, 1, tzinfo=UTC))
EARLY = AUTHORITY.issue("alice", not_before=datetime(2027, 1, 1, tzinfo=UTC))
V1 = "client.authentication.k8s.io/v1"
HINT = "Check that exec.command is a credential plugin."
SERVER = "Set server to https://host:port."
HASTE = timedelta(seconds=0.5)


class Case(Struct, frozen=True, kw_only=True):
    """What is written to the folder, and what is said about it; `{}` stands for the folder."""

    name: str
    config: str | bytes | dict[str, Any] | None
    error: type[TrimtabError]
    says: str
    script: tuple[str, ...] = ()
    #: how long its plugin may take; a busy machine takes long over the shortest script
    patience: timedelta = timedelta(minutes=1)
    asked: dict[str, str] = {}


def user(entry: dict[str, Any], **cluster: object) -> dict[str, Any]:
    described = {"server": "https://c", **{key.replace("_", "-"): value for key, value in cluster.items()}}
    return {
        "current-context": "x",
        "clusters": [{"name": "c", "cluster": described}],
        "users": [{"name": "alice", "user": entry}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "alice"}}],
    }


def cluster(**entry: object) -> dict[str, Any]:
    return user({"token": "canary"}, **entry)


def plugin(**entry: object) -> dict[str, Any]:
    described = {
        "apiVersion": V1,
        "command": "./login",
        "args": ["--client-secret=canary-argument"],
        "env": [{"name": "PROFILE", "value": "canary-variable"}],
        "interactiveMode": "Never",
        **entry,
    }
    return user({"exec": described})


def data(certificate: bytes, key: bytes) -> dict[str, str]:
    return {"client-certificate-data": in_base64(certificate), "client-key-data": in_base64(key)}


def answer(status: dict[str, Any] | None, version: str = V1, kind: str = "ExecCredential") -> str:
    return "echo '" + json.dumps({"apiVersion": version, "kind": kind, "status": status}) + "'"


ALICES = 'kubeconfig {}/config, user "alice": '
CLUSTERS = 'kubeconfig {}/config, cluster "c": '
PLUGINS = f'{ALICES}its exec plugin "login" '

FILES = [
    Case(
        name="missing file",
        config=None,
        error=Missing,
        says="kubeconfig {}/config: it does not exist. Create the file or correct its path.",
    ),
    Case(
        name="empty file",
        config="",
        error=InvalidSpec,
        says="kubeconfig {}/config: it is empty. Add a context to it or give another kubeconfig.",
    ),
    Case(
        name="only a comment",
        config="# canary",
        error=InvalidSpec,
        says="kubeconfig {}/config: it is empty. Add a context to it or give another kubeconfig.",
    ),
    Case(
        name="not YAML",
        config="users:\n- [canary\nclusters: {",
        error=InvalidSpec,
        says="kubeconfig {}/config, line 3, column 9: it is not YAML as Kubernetes reads it. "
        "Correct it or give another file.",
    ),
    Case(
        name="binary",
        config=b"\x00\xff\xfecanary",
        error=InvalidSpec,
        says="kubeconfig {}/config, line 1: it is not YAML as Kubernetes reads it. "
        "Correct it or give another file.",
    ),
    Case(
        name="not a map",
        config="canary",
        error=InvalidSpec,
        says="kubeconfig {}/config: a kubeconfig is a map, but this is text. Give another file.",
    ),
    Case(
        name="a list",
        config="[canary]",
        error=InvalidSpec,
        says="kubeconfig {}/config: a kubeconfig is a map, but this is a list. Give another file.",
    ),
    Case(
        name="more than anybody reads",
        config="users:\n" + "- name: canary\n" * 100_000,
        error=yaml.Excessive,
        says="kubeconfig {}/config, line 33334, column 3: it holds more than 100000 values."
        " Remove what is not needed.",
    ),
    Case(
        name="many documents",
        config="---\ncanary: 1\n" * 200_000,
        error=InvalidSpec,
        says="kubeconfig {}/config, line 4, column 1: it is not YAML as Kubernetes reads it. "
        "Correct it or give another file.",
    ),
    Case(
        name="no document at all, a million times",
        config="---\n" * (1 << 20),
        error=yaml.Excessive,
        says="kubeconfig {}/config: more than 1000 lines of it begin with `---`. Remove what is not needed.",
    ),
    Case(
        name="a comment in each of many documents",
        config="#canary\n---\n" * 100_000,
        error=yaml.Excessive,
        says="kubeconfig {}/config: more than 1000 lines of it begin with `---`. Remove what is not needed.",
    ),
    Case(
        name="larger than anybody has",
        config="# canary\n" * (1 << 19),
        error=InvalidSpec,
        says="kubeconfig {}/config: it is larger than 4 MiB. Name another file.",
    ),
    Case(
        name="no current-context",
        config={**cluster(), "current-context": ""},
        error=InvalidSpec,
        says='kubeconfig {}/config: it sets no current-context. Choose one of its contexts: "x".',
    ),
    Case(
        name="current-context names a missing context",
        config={**cluster(), "current-context": "y"},
        error=InvalidSpec,
        says='kubeconfig {}/config: its current-context names a missing context "y".'
        ' Choose one of its contexts: "x".',
    ),
    Case(
        name="asked for a missing context",
        config=cluster(),
        asked={"context": "prod"},
        error=Missing,
        says='kubeconfig {}/config: it has no context "prod". Choose one of its contexts: "x".',
    ),
    Case(
        name="asked for a missing user",
        config=cluster(),
        asked={"user": "bob"},
        error=Missing,
        says='kubeconfig {}/config: it has no user "bob". Choose one of its users: "alice".',
    ),
    Case(
        name="a context without its user",
        config={**cluster(), "users": []},
        error=InvalidSpec,
        says='kubeconfig {}/config, context "x": it names a missing user "alice".'
        " Add a user to it or give another kubeconfig.",
    ),
    Case(
        name="a context without its cluster",
        config={**cluster(), "clusters": []},
        error=InvalidSpec,
        says='kubeconfig {}/config, context "x": it names a missing cluster "c".'
        " Add a cluster to it or give another kubeconfig.",
    ),
    Case(
        name="a context without any cluster",
        config={**cluster(), "contexts": [{"name": "x"}]},
        error=InvalidSpec,
        says='kubeconfig {}/config, context "x": it names no cluster. Choose one of its clusters: "c".',
    ),
    Case(
        name="a wrong type",
        config=user({"token": ["canary"]}),
        error=InvalidSpec,
        says=f"{ALICES}token must be text, not a list. Correct the field.",
    ),
]

CLUSTER = [
    Case(
        name="no server",
        config=cluster(server=""),
        error=InvalidSpec,
        says=f"{CLUSTERS}it has no server. {SERVER}",
    ),
    Case(
        name="no URL",
        config=cluster(server="c:6443"),
        error=InvalidSpec,
        says=f"{CLUSTERS}its server is not a URL with a host. {SERVER}",
    ),
    Case(
        name="a password in the URL",
        config=cluster(server="https://me:canary@c"),  # pragma: allowlist secret
        error=InvalidSpec,
        says=f"{CLUSTERS}its server holds a user name or password. {SERVER}",
    ),
    Case(
        name="a proxy that is none",
        config=cluster(proxy_url="me:canary@proxy"),
        error=InvalidSpec,
        says=f"{CLUSTERS}its proxy-url is not an http or https URL with a host."
        " Set proxy-url to http://host:port or remove it.",
    ),
    Case(
        name="missing CA file",
        config=cluster(certificate_authority="ca.crt"),
        error=Missing,
        says=f"{CLUSTERS}its certificate-authority ({{}}/ca.crt) does not exist."
        " Create the file or correct its path.",
    ),
    Case(
        name="a folder as CA file",
        config=cluster(certificate_authority="."),
        error=InvalidSpec,
        says=f"{CLUSTERS}its certificate-authority ({{}}) is not a regular file. Name a file.",
    ),
    Case(
        name="a NUL in a path",
        config=cluster(certificate_authority="a\0b"),
        error=InvalidSpec,
        says=f"{CLUSTERS}its certificate-authority ({{}}/a?b) is not a path. Correct the path.",
    ),
    Case(
        name="CA data that is not base64",
        config=cluster(certificate_authority_data="canary!"),
        error=InvalidSpec,
        says=f"{CLUSTERS}its certificate-authority-data is not base64."
        " Encode the PEM text with base64 and set certificate-authority-data to it.",
    ),
    Case(
        name="CA data that is not PEM",
        config=cluster(certificate_authority_data=in_base64(b"canary")),
        error=InvalidSpec,
        says=f"{CLUSTERS}its certificate-authority holds no readable PEM certificate."
        " Set certificate-authority to a PEM certificate.",
    ),
    Case(
        name="a CA that is not to be used",
        config=cluster(certificate_authority_data=in_base64(AUTHORITY.pem), insecure_skip_tls_verify=True),
        error=InvalidSpec,
        says=f"{CLUSTERS}it has a certificate authority and insecure-skip-tls-verify, which contradict each"
        " other. Remove insecure-skip-tls-verify.",
    ),
]

USER = [
    Case(
        name="missing certificate file",
        config=user({"client-certificate": "a.crt", "client-key": "a.key"}),
        error=Missing,
        says=f"{ALICES}its client-certificate ({{}}/a.crt) does not exist."
        " Create the file or correct its path.",
    ),
    Case(
        name="missing token file",
        config=user({"tokenFile": "/nowhere/token"}),
        error=Missing,
        says=f"{ALICES}its tokenFile (/nowhere/token) does not exist. Create the file or correct its path.",
    ),
    Case(
        name="expired certificate",
        config=user(data(EXPIRED.certificate, EXPIRED.key)),
        error=InvalidSpec,
        says=f"{ALICES}its client certificate expired at 2025-01-01 00:00:00 UTC. Renew the certificate.",
    ),
    Case(
        name="certificate of the future",
        config=user(data(EARLY.certificate, EARLY.key)),
        error=InvalidSpec,
        says=f"{ALICES}its client certificate is not valid before 2027-01-01 00:00:00 UTC."
        " Check this machine's clock.",
    ),
    Case(
        name="somebody else's key",
        config=user(data(ALICE.certificate, BOB.key)),
        error=InvalidSpec,
        says=f"{ALICES}its client-key does not belong to its client-certificate."
        " Replace both with a pair that was issued together.",
    ),
    Case(
        name="key under a password",
        config=user(data(ALICE.certificate, ALICE.encrypted_key(b"canary"))),
        error=InvalidSpec,
        says=f"{ALICES}its client-key is encrypted with a password."
        " Decrypt it, for example with `openssl pkey`, or use a credential plugin.",
    ),
    Case(
        name="certificate without key",
        config=user({"client-certificate-data": in_base64(ALICE.certificate)}),
        error=InvalidSpec,
        says=f"{ALICES}it has a client-certificate, but no client-key. Set client-key or client-key-data.",
    ),
    Case(
        name="key without certificate",
        config=user({"client-key-data": in_base64(ALICE.key)}),
        error=InvalidSpec,
        says=f"{ALICES}it has a client-key, but no client-certificate."
        " Set client-certificate or client-certificate-data.",
    ),
    Case(
        name="key data that is not base64",
        config=user({"client-certificate-data": in_base64(ALICE.certificate), "client-key-data": "canary!"}),
        error=InvalidSpec,
        says=f"{ALICES}its client-key-data is not base64."
        " Encode the PEM text with base64 and set client-key-data to it.",
    ),
    Case(
        name="key data that is not PEM",
        config=user(data(ALICE.certificate, b"canary")),
        error=InvalidSpec,
        says=f"{ALICES}its client-key holds no readable PEM private key."
        " Set client-key to a PEM private key.",
    ),
    Case(
        name="certificate data that is not PEM",
        config=user(data(b"canary", ALICE.key)),
        error=InvalidSpec,
        says=f"{ALICES}its client-certificate holds no readable PEM certificate."
        " Set client-certificate to a PEM certificate.",
    ),
    Case(
        name="token with a line break",
        config=user({"token": "canary\r\nX-Evil: yes"}),
        error=InvalidSpec,
        says=f"{ALICES}its token holds line breaks or control characters, so it is no token."
        " Set it to a token.",
    ),
    Case(
        name="token and password",
        config=user({"token": "canary", "username": "alice", "password": "canary"}),
        error=InvalidSpec,
        says=f"{ALICES}it has both a token and a username with password. Remove one of them.",
    ),
    Case(
        name="auth-provider",
        config=user({"auth-provider": {"name": "oidc", "config": {"client-secret": "canary"}}}),
        error=InvalidSpec,
        says=f"{ALICES}its auth-provider is a legacy kind of login, which is not supported."
        " Replace auth-provider with the exec plugin of the same provider.",
    ),
    Case(
        name="groups without a user",
        config=user({"as-groups": ["admins"]}),
        error=InvalidSpec,
        says=f"{ALICES}uid, groups or extra values are given, but no user to act as."
        " Correct the user, uid, groups or extra values to act as.",
    ),
]

NO_INTERPRETER = ("#!/nowhere/sh",)
PLUGIN = [
    Case(
        name="plugin not installed",
        config=plugin(
            command="canary-free-login", installHint="\x1b[1mbrew install login\x1b[0m\nthen log in"
        ),
        error=Missing,
        says=f'{ALICES}its exec plugin "canary-free-login" is not installed, or may not be run.'
        " Install it: brew install login / then log in.",
    ),
    Case(
        name="plugin not installed, no hint",
        config=plugin(command="/nowhere/login"),
        error=Missing,
        says=f"{PLUGINS}is not installed, or may not be run. Install it or correct exec.command.",
    ),
    Case(
        name="plugin of an old version",
        config=plugin(apiVersion="client.authentication.k8s.io/v1alpha1"),
        error=InvalidSpec,
        says=f"{ALICES}its exec plugin has an apiVersion that is not supported. Set exec.apiVersion to {V1}.",
    ),
    Case(
        name="plugin that wants a terminal",
        config=plugin(interactiveMode="Always"),
        error=InvalidSpec,
        says=f"{ALICES}its exec plugin wants a terminal (interactiveMode: Always), and there is none."
        " Use a plugin that can log in by itself and set exec.interactiveMode to Never.",
    ),
    Case(
        name="plugin that fails",
        config=plugin(),
        script=(
            "echo first >&2",
            'echo "profile $PROFILE: ${1#*=}" >&2',
            f"{answer({'token': 'canary-in-standard-output'})}",
            "echo canary-in-standard-output token=canary >&2",
            "echo session has ended, log in again >&2",
            "exit 3",
        ),
        error=Unavailable,
        says=f"{PLUGINS}failed with exit code 3 and said: profile <hidden>: <hidden> /"
        " <hidden> token=<hidden> / session has ended, log in again."
        " Log in with it again, or run it by hand to see why.",
    ),
    Case(
        name="plugin that is no program",
        config=plugin(command="./config"),
        error=Missing,
        says=f'{ALICES}its exec plugin "config" is not installed, or may not be run.'
        " Install it or correct exec.command.",
    ),
    Case(
        name="plugin that cannot be started",
        config=plugin(),
        script=NO_INTERPRETER,
        error=Unavailable,
        says=f"{PLUGINS}could not be started ({{}}/login names an interpreter that does not exist)."
        " Run it by hand to see why.",
    ),
    Case(
        name="plugin that fails silently",
        config=plugin(),
        script=("exit 1",),
        error=Unavailable,
        says=f"{PLUGINS}failed with exit code 1 and said nothing."
        " Log in with it again, or run it by hand to see why.",
    ),
    Case(
        name="plugin that hangs",
        config=plugin(),
        script=("echo canary", "exec sleep 600"),
        patience=HASTE,
        error=Unavailable,
        says=f"{PLUGINS}was stopped: it used 0.5 s of time; the limit is 0.5 s."
        " Run it by hand to see what it waits for, or raise cluster.plugin_timeout.",
    ),
    Case(
        name="plugin that prints rubbish",
        config=plugin(),
        script=("echo canary",),
        error=InvalidSpec,
        says=f"{PLUGINS}did not print an ExecCredential in JSON. {HINT}",
    ),
    Case(
        name="plugin of another kind",
        config=plugin(),
        script=(answer({"token": "canary"}, kind="Secret"),),
        error=InvalidSpec,
        says=f"{PLUGINS}did not print an ExecCredential in JSON. {HINT}",
    ),
    Case(
        name="plugin that speaks another version",
        config=plugin(),
        script=(answer({"token": "canary"}, version="client.authentication.k8s.io/v1beta1"),),
        error=InvalidSpec,
        says=f"{PLUGINS}answered in another version than the {V1} that exec.apiVersion asks for."
        " Set exec.apiVersion to the version that the plugin speaks.",
    ),
    Case(
        name="plugin that gives nothing",
        config=plugin(),
        script=(answer({}),),
        error=InvalidSpec,
        says=f"{PLUGINS}gave neither a token nor a client certificate. Log in with it again.",
    ),
]


def written(case: Case, folder: Path) -> Path:
    path = folder / "config"
    match case.config:
        case None:
            pass
        case bytes():
            path.write_bytes(case.config)
        case str():
            path.write_text(case.config)
        case _:
            path.write_text(json.dumps(case.config))
    if case.script == NO_INTERPRETER:
        plugin_script(folder / "login").write_text(NO_INTERPRETER[0])
    elif case.script:
        plugin_script(folder / "login", *case.script)
    return path


def opened(path: Path, patience: timedelta = HASTE, **asked: str) -> Access:
    return from_kubeconfig(
        [path],
        **asked,  # type: ignore[arg-type]  # only context, cluster and user are asked for here
        settings=ClusterSettings(plugin_timeout=patience),
        clock=ManualClock(),
        environment={"PATH": "/usr/bin:/bin"},
    )


def own_time() -> float:
    """Seconds that have passed but for those in which this process waited for others to leave the processor.

    So a sleep or a lock counts, and a busy machine does not.
    """
    waited = int(Path("/proc/thread-self/schedstat").read_text().split()[1])
    return time.monotonic() - waited / 1e9


@pytest.mark.parametrize("case", [*FILES, *CLUSTER, *USER, *PLUGIN], ids=lambda case: case.name)
async def test_it_is_told_in_one_sentence_without_a_secret(case: Case, tmp_path: Path) -> None:
    path = written(case, tmp_path)
    started = own_time()
    with pytest.raises(TrimtabError) as caught:
        await opened(path, case.patience, **case.asked).headers()
    patience = case.patience.total_seconds() if case.script else 0  # a plugin may hang until its deadline
    assert own_time() - started < 1 + patience
    assert str(caught.value) == case.says.replace("{}", str(tmp_path))
    assert type(caught.value) is case.error
    told = str(caught.value).replace("canary-free", "") + "".join(
        line for error in _chain(caught.value) for line in traceback.format_exception_only(error)
    ).replace("canary-free", "")
    assert "canary" not in told
    assert "\n" not in str(caught.value)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error:
        yield error
        error = error.__cause__


@contextmanager
def somebody_else() -> Iterator[None]:
    """As an ordinary user, who may not read root's files, where the tests run as root."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@pytest.mark.parametrize(
    ("unreadable", "says"),
    [
        ("config", "kubeconfig {}/config: it may not be read. Give this user the right to read it."),
        (
            "token",
            f"{ALICES}its tokenFile ({{}}/token) may not be read. Give this user the right to read it.",
        ),
    ],
)
def test_a_file_that_may_not_be_read_is_told(unreadable: str, says: str, tmp_path: Path) -> None:
    for folder in (tmp_path, *tmp_path.parents):
        if not folder.stat().st_mode & 0o001:
            folder.chmod(0o755)
    (tmp_path / "config").write_text(json.dumps(user({"tokenFile": "token"})))
    (tmp_path / "token").write_text("canary")
    (tmp_path / unreadable).chmod(0)
    with somebody_else(), pytest.raises(NotAllowed) as caught:
        opened(tmp_path / "config")
    assert str(caught.value) == says.replace("{}", str(tmp_path))


def test_no_value_prints_its_secrets(tmp_path: Path) -> None:
    secrets = {"token": "canary", "as": "bob", **data(ALICE.certificate, ALICE.key)}
    config = user(secrets, proxy_url="http://me:canary@proxy")  # pragma: allowlist secret
    path = tmp_path / "config"
    path.write_text(json.dumps(config))
    access = opened(path)
    seen: list[object] = []
    _collect(access, seen)
    assert len(seen) > 10
    printed = " ".join(repr(value) for value in seen)
    assert "canary" not in printed
    assert "PRIVATE KEY" not in printed


def _collect(value: object, seen: list[object]) -> None:
    """The value and all values of ours that hang on it."""
    if any(value is known for known in seen) or not type(value).__module__.startswith("trimtab"):
        return
    seen.append(value)
    fields = getattr(type(value), "__struct_fields__", ())
    held = [getattr(value, name) for name in fields] + list(getattr(value, "__dict__", {}).values())
    for child in held:
        _collect(child, seen)


# Anything at all

FIELDS = [
    "name",
    "user",
    "users",
    "cluster",
    "clusters",
    "context",
    "contexts",
    "current-context",
    "namespace",
    "server",
    "token",
    "tokenFile",
    "username",
    "password",
    "client-certificate",
    "client-certificate-data",
    "client-key",
    "client-key-data",
    "exec",
    "command",
    "args",
    "env",
    "value",
    "apiVersion",
    "interactiveMode",
    "auth-provider",
    "proxy-url",
    "tls-server-name",
    "as",
    "as-groups",
    "as-user-extra",
    "certificate-authority-data",
    "insecure-skip-tls-verify",
    "extensions",
    "extension",
]
texts = st.one_of(
    st.text(max_size=8),
    st.sampled_from(["a", "https://c", "http://c", V1, "Never", in_base64(ALICE.certificate), "Y2FuYXJ5"]),
)
scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), texts)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(FIELDS), inner, max_size=5)
    ),
    max_leaves=20,
)
users = st.dictionaries(st.sampled_from(FIELDS), values, max_size=4)
configs = st.builds(
    lambda entry, server, more: {**user(entry, server=server), **more},
    users,
    st.one_of(st.just("https://c"), values),
    st.dictionaries(
        st.sampled_from(["users", "clusters", "contexts", "current-context"]), values, max_size=1
    ),
)


def tried(make: Callable[[], Access]) -> None:
    """It is opened, and then whole, or refused as everything is refused."""
    try:
        access = make()
    except TrimtabError as exc:
        refused = str(exc)
        assert refused
        return
    assert yarl.URL(access.server).host


@settings(deadline=None)
@given(st.one_of(st.binary(max_size=300), values.map(lambda it: json.dumps(it).encode())))
def test_random_content_is_refused_or_read(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "random-config"
    path.write_bytes(content)
    tried(lambda: opened(path))
    tried(lambda: from_tenant_kubeconfig(content, subject="secret a", clock=ManualClock()))


@settings(deadline=None)
@given(configs)
def test_random_entries_are_refused_or_read(config: dict[str, Any]) -> None:
    content = json.dumps(config).encode()
    tried(
        lambda: from_tenant_kubeconfig(
            content, subject="secret a", clock=ManualClock(), allow_insecure=True, allow_proxy=True
        )
    )
