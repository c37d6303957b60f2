"""What git and ssh are told."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.sources.upstream import ENVIRONMENT
from trimtab.errors import InvalidSpec
from trimtab.kube.auth.redaction import Secret
from trimtab.sources.repositories.addresses import Scheme, address_of
from trimtab.sources.repositories.credentials import (
    Basic,
    Bearer,
    ClientCertificate,
    Credential,
    SshKey,
    Trust,
)
from trimtab.sources.repositories.gitsetup import Reach, environment_of, files_of, local_files, location_in

HTTPS, SSH = address_of("https://git.example:8443/team/app"), address_of("ssh://git@git.example:2222/app")
CANARY = "c4n4ry\"'\\ $(id)"


def told(config: str, tmp_path: Path, name: str, url: str = "") -> list[str]:
    """What git itself reads out of a configuration."""
    path = tmp_path / "config"
    path.write_text(config)
    how = ("--get-urlmatch", name, url) if url else ("--get-all", name)
    command = ["git", "config", "--file", str(path), *how]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    return done.stdout.splitlines()


def test_a_password_is_sent_to_its_own_server_alone(tmp_path: Path) -> None:
    login = Basic(username="me", password=Secret("pw"))
    config = files_of(Reach(address=HTTPS, credential=Credential(login=login)), folder="/p")["config"]
    header = ["Authorization: Basic bWU6cHc="]
    assert told(config, tmp_path, "http.extraHeader", "https://git.example:8443/team/app") == header
    for other in ("https://git.example/team/app", "http://git.example:8443/", "https://evil.example:8443/"):
        assert told(config, tmp_path, "http.extraHeader", other) == []


@pytest.mark.parametrize(
    "login", [Basic(username="me", password=Secret(CANARY)), Bearer(token=Secret(CANARY))]
)
def test_strange_secrets_arrive_as_they_are(tmp_path: Path, login: Basic | Bearer) -> None:
    config = files_of(Reach(address=HTTPS, credential=Credential(login=login)), folder="/p")["config"]
    [header] = told(config, tmp_path, "http.extraHeader", HTTPS.url)
    assert header.startswith("Authorization: ")
    if isinstance(login, Bearer):
        assert header == f"Authorization: Bearer {CANARY}"


def test_a_line_end_cannot_begin_another_setting() -> None:
    trust = Trust(proxy=Secret('http://p:1/"\n[core]\n\tsshCommand=id'))
    with pytest.raises(InvalidSpec):
        files_of(Reach(address=HTTPS, credential=Credential(trust=trust)), folder="/p")


def test_everything_secret_is_in_a_file_of_its_own_and_named_by_path(tmp_path: Path) -> None:
    certificate = ClientCertificate(certificate="CERT", key=Secret("KEY"))
    trust = Trust(ca="CA", proxy=Secret("http://me:pw@proxy.example:3128"))
    reach = Reach(
        address=HTTPS, credential=Credential(certificate=certificate, trust=trust), pins=("10.0.0.1",)
    )
    files = files_of(reach, folder="/p")
    assert (files["client.pem"], files["client.key"], files["ca.pem"]) == ("CERT", "KEY", "CA")
    expected = {
        "http.sslCert": "/p/client.pem",
        "http.sslKey": "/p/client.key",
        "http.sslCAInfo": "/p/ca.pem",
        "http.sslVerify": "true",
        "http.proxy": "http://me:pw@proxy.example:3128",
        "http.curloptResolve": "proxy.example:3128:10.0.0.1",
        "http.followRedirects": "false",
    }
    assert {name: told(files["config"], tmp_path, name)[-1] for name in expected} == expected


def test_a_host_is_pinned_to_the_addresses_that_were_judged(tmp_path: Path) -> None:
    reach = Reach(address=HTTPS, credential=Credential(), pins=("192.0.2.1", "2001:db8::1"))
    config = files_of(reach, folder="/p")["config"]
    assert told(config, tmp_path, "http.curloptResolve") == ["git.example:8443:192.0.2.1,2001:db8::1"]
    assert told(config, tmp_path, "http.proxy") == [""]


def test_ssh_knows_one_key_one_host_and_no_agent() -> None:
    credential = Credential(login=SshKey(key=Secret("KEY")), trust=Trust(known_hosts="HOSTS"))
    files = files_of(Reach(address=SSH, credential=credential, pins=("192.0.2.1",)), folder="/p")
    lines = dict(line.strip().split(" ", 1) for line in files["ssh_config"].splitlines())
    expected = {
        "HostName": "192.0.2.1",
        "HostKeyAlias": "[git.example]:2222",
        "IdentityFile": '"/p/key"',
        "IdentitiesOnly": "yes",
        "IdentityAgent": "none",
        "StrictHostKeyChecking": "yes",
        "UserKnownHostsFile": '"/p/known_hosts"',
        "GlobalKnownHostsFile": "/dev/null",
        "BatchMode": "yes",
        "ForwardAgent": "no",
        "ProxyCommand": "none",
        "PermitLocalCommand": "no",
    }
    assert {name: lines[name] for name in expected} == expected
    assert (files["key"], files["known_hosts"]) == ("KEY\n", "HOSTS\n")


def test_without_a_scheme_git_can_reach_nobody() -> None:
    assert environment_of(folder="/p", path="/bin")["GIT_ALLOW_PROTOCOL"] == "none"
    assert environment_of(folder="/p", path="/bin", scheme=Scheme.SSH)["GIT_ALLOW_PROTOCOL"] == "ssh"


def test_no_hook_monitor_helper_or_submodule_is_ever_run(tmp_path: Path) -> None:
    config = local_files()["config"]
    expected = {
        "core.hooksPath": "/dev/null",
        "core.fsmonitor": "false",
        "core.attributesFile": "/dev/null",
        "credential.helper": "",
        "fetch.fsckObjects": "true",
        "fetch.recurseSubmodules": "false",
        "submodule.recurse": "false",
        "transfer.bundleURI": "false",
        "http.followRedirects": "false",
    }
    assert {name: told(config, tmp_path, name)[-1] for name in expected} == expected


def test_the_last_redirect_of_a_trace_counts() -> None:
    trace = (
        "12:00 http.c:1: == Info: x\n"
        "12:00 http.c:1: <= Recv header: Location: https://one.example/a\n"
        "12:00 http.c:1: <= Recv header: location: https://two.example/info/refs?service=x\n"
    )
    assert location_in(trace) == "https://two.example/info/refs?service=x"
    assert location_in("nothing of the kind") == ""
