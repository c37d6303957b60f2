"""How helm is told to fetch a chart."""

from __future__ import annotations

import pytest

from trimtab.errors import InvalidSpec
from trimtab.kube.auth.redaction import Secret
from trimtab.sources.rendering.jobs import Fetch
from trimtab.sources.rendering.pulling import access_to, pull_of, shown_for
from trimtab.sources.repositories.credentials import (
    Basic,
    Bearer,
    Belonging,
    ClientCertificate,
    Credential,
    SshKey,
    Trust,
)

BASIC = Basic(username="me", password=Secret("hunter2"))
PAIR = ClientCertificate(certificate="cert", key=Secret("key"))


def fetch(repository: str) -> Fetch:
    return Fetch(name="sub", repository=repository, version="1.0.0", destination="./charts")


def belonging(url: str, credential: Credential) -> Belonging:
    return Belonging(url=url, credential=credential, below=True)


@pytest.mark.parametrize("repository", ["oci://charts.example/team", "https://charts.example/team"])
def test_no_secret_stands_on_a_command_line_or_in_an_environment(repository: str) -> None:
    credential = Credential(login=BASIC, certificate=PAIR, trust=Trust(ca="ca"))
    pull = pull_of(fetch(repository), belonging("https://charts.example", credential), folder="/private")
    words = [word for command in pull.commands for word in command] + list(pull.environment.values())
    assert [word for word in words if "hunter2" in word] == []
    assert {"ca.pem": "ca", "client.pem": "cert", "client.key": "key"}.items() <= dict(pull.files).items()


@pytest.mark.parametrize(
    ("repository", "command"),
    [
        (
            "oci://charts.example/team/",
            ("pull", "oci://charts.example/team/sub", "--version=1.0.0", "--destination=./charts"),
        ),
        (
            "https://charts.example",
            ("pull", "sub", "--repo=https://charts.example", "--version=1.0.0", "--destination=./charts"),
        ),
    ],
)
def test_without_a_credential_one_command_is_enough(repository: str, command: tuple[str, ...]) -> None:
    pull = pull_of(fetch(repository), None, folder="/private")
    assert (pull.commands, dict(pull.files), dict(pull.environment)) == ((command,), {}, {})


def test_a_credential_is_shown_only_where_it_is_for() -> None:
    known = belonging("https://charts.example/team", Credential(login=BASIC))
    here = ("oci://charts.example/team", "oci://charts.example/team/below", "https://charts.example/team")
    elsewhere = (
        "http://charts.example/team",
        "oci://charts.example/teams",
        "oci://charts.example:5000/team",
        "oci://charts.example.evil/team",
        "alias:team",
    )
    shown = [place for place in (*here, *elsewhere) if shown_for(fetch(place), [known])]
    assert shown == list(here)


@pytest.mark.parametrize(
    ("credential", "words"),
    [
        (Credential(login=Bearer(token=Secret("hunter2"))), "a username and a password"),
        (Credential(login=SshKey(key=Secret("hunter2"))), "a username and a password"),
        (Credential(trust=Trust(insecure=True)), "trusts any server"),
        (Credential(trust=Trust(proxy=Secret("http://me:hunter2@proxy.example:1"))), "password of its proxy"),
    ],
)
def test_what_helm_cannot_be_given_safely_is_refused(credential: Credential, words: str) -> None:
    with pytest.raises(InvalidSpec, match=words) as raised:
        pull_of(fetch("oci://charts.example"), belonging("https://charts.example", credential), folder="/p")
    assert "hunter2" not in str(raised.value)


def test_a_proxy_without_a_password_is_named_to_helm() -> None:
    trust = Trust(proxy=Secret("http://proxy.example:3128"), no_proxy="near.example")
    known = belonging("https://charts.example", Credential(trust=trust))
    assert dict(pull_of(fetch("oci://charts.example"), known, folder="/p").environment) == {
        "HTTPS_PROXY": "http://proxy.example:3128",
        "HTTP_PROXY": "http://proxy.example:3128",
        "NO_PROXY": "near.example",
    }


def test_credentials_count_only_if_they_could_open_an_allowed_address() -> None:
    known = [
        belonging("https://charts.example/team", Credential(login=BASIC)),
        belonging("https://git.example", Credential(login=BASIC)),
    ]
    assert access_to(known, (), b"key") == ()
    assert access_to(known, ("https://elsewhere.example",), b"key") == ()
    (named,) = access_to(known, ("oci://charts.example",), b"key")
    assert "hunter2" not in named
    rotated = [belonging(known[0].url, Credential(login=Basic(username="me", password=Secret("other"))))]
    assert access_to(rotated, ("oci://charts.example",), b"key") != (named,)
