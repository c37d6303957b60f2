"""Credentials and to whom they go."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from testbed.gitserver import write_ssh_key
from trimtab.errors import InvalidSpec
from trimtab.kube.auth.redaction import Secret
from trimtab.sources.repositories.addresses import Address, address_of
from trimtab.sources.repositories.credentials import (
    ANONYMOUS,
    Basic,
    Bearer,
    Belonging,
    ClientCertificate,
    Credential,
    Login,
    SshKey,
    Trust,
    check,
    credential_for,
    fingerprint,
    proxy_address,
    secrets_of,
    trust_digest,
    uses_proxy,
)

KEY = b"k" * 32


def named(name: str) -> Credential:
    return Credential(login=Basic(username=name, password=Secret("c4n4ry-password")))


KNOWN = (
    Belonging(url="https://git.example", credential=named("host"), below=True),
    Belonging(url="https://git.example/team", credential=named("team"), below=True),
    Belonging(url="https://git.example/team/inner", credential=named("inner"), below=True),
    Belonging(url="https://git.example/team/app.git", credential=named("exact")),
    Belonging(url="ssh://git@git.example/team", credential=named("ssh"), below=True),
)
CHOICES = {
    "https://git.example/team/app": "exact",
    "https://GIT.example:443/team/app.git": "exact",
    "https://git.example/team/other": "team",
    "https://git.example/team/inner/app": "inner",
    "https://git.example/teams/app": "host",
    "https://git.example/team-evil/app": "host",
    "ssh://git@git.example/team/app": "ssh",
    "https://git.example.evil/team/app": "",
    "https://git.example:8443/team/app": "",
    "http://git.example/team/app": "",
    "https://evil.example/https://git.example/team/app": "",
}


@pytest.mark.parametrize("url", CHOICES)
def test_the_exact_address_wins_then_the_longest_beginning_and_nobody_else_gets_it(url: str) -> None:
    found = credential_for(address_of(url), KNOWN)
    assert (found.login.username if isinstance(found.login, Basic) else "") == CHOICES[url]


def test_whoever_has_none_is_anonymous() -> None:
    assert credential_for(address_of("https://git.example/a"), ()) == ANONYMOUS


EVERYTHING = Credential(
    login=Basic(username="me", password=Secret("c4n4ry-password")),
    certificate=ClientCertificate(certificate="PEM", key=Secret("c4n4ry-key\nc4n4ry-line")),
    trust=Trust(ca="CA", proxy=Secret("http://me:c4n4ry-proxy@proxy.example:3128")),
)


def test_a_credential_shows_nothing_of_its_secrets() -> None:
    assert "c4n4ry" not in repr(EVERYTHING)
    assert "c4n4ry" not in str(EVERYTHING)
    with pytest.raises(TypeError):
        msgspec.json.encode(EVERYTHING)


def test_every_secret_and_its_spellings_are_known_to_those_who_clean_texts() -> None:
    found = secrets_of(EVERYTHING)
    assert {"c4n4ry-password", "c4n4ry-line", "c4n4ry-proxy"} <= set(found)
    assert "bWU6YzRuNHJ5LXBhc3N3b3Jk" in found  # as it travels
    assert "c4n4ry-token" in secrets_of(Credential(login=Bearer(token=Secret("c4n4ry-token"))))


def test_a_fingerprint_is_equal_for_equal_credentials_alone() -> None:
    others = [
        ANONYMOUS,
        named("me"),
        named("you"),
        Credential(login=Basic(username="m", password=Secret("ec4n4ry-password"))),
        Credential(login=Bearer(token=Secret("me"))),
        Credential(login=SshKey(key=Secret("me"))),
        EVERYTHING,
    ]
    assert len({fingerprint(each, KEY) for each in others}) == len(others)
    assert fingerprint(named("me"), KEY) == fingerprint(named("me"), KEY)
    assert fingerprint(named("me"), KEY) != fingerprint(named("me"), b"j" * 32)


def test_whoever_brings_his_own_trust_shares_with_nobody_else() -> None:
    trusts = [
        Trust(),
        Trust(ca="mine"),
        Trust(known_hosts="mine"),
        Trust(insecure=True),
        Trust(proxy=Secret("http://mine:1")),
    ]
    assert len({trust_digest(trust) for trust in trusts}) == len(trusts)
    assert trust_digest(Trust()) == ""


HTTPS, SSH = address_of("https://git.example/a"), address_of("git@git.example:a")
PEM = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nAAAA\n-----END RSA PRIVATE KEY-----"
LOCKED = (
    "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAACmFlczI1Ni1jdHI=\n"
    "-----END OPENSSH PRIVATE KEY-----"
)
WRONG: dict[str, tuple[Address, Login]] = {
    "header injection by password": (HTTPS, Basic(username="me", password=Secret("x\r\nEvil: 1"))),
    "header injection by name": (HTTPS, Basic(username="me\n", password=Secret("x"))),
    "a name with a colon": (HTTPS, Basic(username="me:you", password=Secret("x"))),
    "header injection by token": (HTTPS, Bearer(token=Secret("x\nEvil: 1"))),
    "a token with a space": (HTTPS, Bearer(token=Secret("x y"))),
    "a key for https": (HTTPS, SshKey(key=Secret("-----BEGIN OPENSSH PRIVATE KEY-----"))),
    "a password for ssh": (SSH, Basic(username="me", password=Secret("x"))),
    "a public key": (SSH, SshKey(key=Secret("ssh-ed25519 AAAA"))),
    "a locked key": (SSH, SshKey(key=Secret(LOCKED))),
    "a locked old key": (SSH, SshKey(key=Secret(PEM))),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_credential_that_cannot_work_is_told_before_it_is_used(case: str) -> None:
    address, login = WRONG[case]
    with pytest.raises(InvalidSpec):
        check(Credential(login=login), address, allow_insecure=False)


def test_a_good_key_is_taken(tmp_path: Path) -> None:
    key = write_ssh_key(tmp_path / "key").read_text()
    check(Credential(login=SshKey(key=Secret(key))), SSH, allow_insecure=False)


def test_trusting_anybody_is_for_the_operator_to_allow() -> None:
    careless = Credential(trust=Trust(insecure=True))
    with pytest.raises(InvalidSpec, match="any server"):
        check(careless, HTTPS, allow_insecure=False)
    check(careless, HTTPS, allow_insecure=True)


PROXIED = Trust(proxy=Secret("http://proxy.example:3128"), no_proxy="internal.example, .corp,*.lab,10.0.0.1")


@pytest.mark.parametrize(
    ("url", "proxied"),
    [
        ("https://git.example/a", True),
        ("https://internal.example/a", False),
        ("https://git.internal.example/a", False),
        ("https://git.corp/a", False),
        ("https://git.lab/a", False),
        ("https://10.0.0.1/a", False),
        ("https://notinternal.example.org/a", True),
        ("git@git.example:a", False),
    ],
)
def test_the_proxy_is_for_the_web_except_where_it_is_not(url: str, proxied: bool) -> None:  # noqa: FBT001 - a table
    assert uses_proxy(address_of(url), PROXIED) == proxied


def test_a_proxy_is_an_address_with_a_port() -> None:
    assert proxy_address(Trust(proxy=Secret("http://me:pw@Proxy.example:3128/"))) == ("proxy.example", 3128)
    for wrong in (
        "proxy.example:3128",
        "ftp://proxy.example:1",
        "http://proxy.example",
        "http://:1",
        "http://a b:1",
    ):
        with pytest.raises(InvalidSpec):
            proxy_address(Trust(proxy=Secret(wrong)))
