"""What a credentials file may say."""

from __future__ import annotations

from pathlib import Path

import pytest

from trimtab.errors import InvalidSpec
from trimtab.kube.auth.redaction import Secret
from trimtab.sources.repositories.addresses import address_of
from trimtab.sources.repositories.credentials import (
    Basic,
    Bearer,
    Belonging,
    ClientCertificate,
    Credential,
    SshKey,
    Trust,
    credential_for,
)
from trimtab.sources.repositories.entries import belongings_of, entries_in

FILES = {
    "password": "opensesame\n",
    "empty": "\n",
    "key": "-----BEGIN OPENSSH PRIVATE KEY-----",
    "hosts": "git.example ssh-ed25519 AAAA",
    "ca": "-----BEGIN CERTIFICATE-----",
}


class Given:
    """Files that are only given."""

    def text(self, path: str) -> str:
        return FILES[path]

    def secret(self, path: str) -> Secret:
        return Secret(FILES[path])


def belongings(text: str) -> tuple[Belonging, ...]:
    return belongings_of(entries_in(text, "the file"), Given(), "the file")


def entry(*lines: str, url: str = "https://git.example/team") -> str:
    return "\n".join(["[[credential]]", f'url = "{url}"', *lines, ""])


@pytest.mark.parametrize(
    ("lines", "credential"),
    [
        (
            ('username = "ci"', 'password_file = "password"'),
            Credential(login=Basic(username="ci", password=Secret("opensesame"))),
        ),
        (
            ('username = "ci"', 'password = "x y"'),
            Credential(login=Basic(username="ci", password=Secret("x y"))),
        ),
        (('token = "abc"',), Credential(login=Bearer(token=Secret("abc")))),
        (('token_file = "password"',), Credential(login=Bearer(token=Secret("opensesame")))),
        (
            ('ssh_key_file = "key"', 'known_hosts_file = "hosts"'),
            Credential(login=SshKey(key=Secret(FILES["key"])), trust=Trust(known_hosts=FILES["hosts"])),
        ),
        (
            ('client_certificate_file = "ca"', 'client_key_file = "key"', 'ca_file = "ca"'),
            Credential(
                certificate=ClientCertificate(certificate=FILES["ca"], key=Secret(FILES["key"])),
                trust=Trust(ca=FILES["ca"]),
            ),
        ),
        (
            ('proxy = "http://proxy.example:3128"', 'no_proxy = "near.example"', "insecure = true"),
            Credential(
                trust=Trust(proxy=Secret("http://proxy.example:3128"), no_proxy="near.example", insecure=True)
            ),
        ),
    ],
)
def test_an_entry_amounts_to_a_credential_for_its_address_and_everything_below(
    lines: tuple[str, ...], credential: Credential
) -> None:
    (found,) = belongings(entry(*lines))
    assert found == Belonging(
        url="https://git.example/team", credential=credential, below=True, name="entry 1 of the file"
    )


def test_the_entry_with_the_longest_beginning_is_used() -> None:
    known = belongings(
        entry('token = "host"', url="https://git.example")
        + entry('token = "team"')
        + entry('token = "shop"', url="https://git.example/team/shop.git")
        + entry('ssh_key_file = "key"', url="git@git.example:team")
    )
    shown = {
        url: credential_for(address_of(url), known).login
        for url in (
            "https://git.example/other/x",
            "https://git.example/team/web.git",
            "https://git.example/team/shop",
            "ssh://git@git.example/team/shop.git",
            "https://git.example.evil/team/shop",
        )
    }
    assert list(shown.values()) == [
        Bearer(token=Secret("host")),
        Bearer(token=Secret("team")),
        Bearer(token=Secret("shop")),
        SshKey(key=Secret(FILES["key"])),
        None,
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[credential]]\nurl = 'https://git.example", "the file: it is not TOML"),
        (f"credential = {'9' * 5_000}", "the file: it is not TOML"),
        ("[[credentials]]\nurl = 'https://git.example'", "unknown field `credentials`"),
        (entry('pasword = "hunter2"'), "unknown field `pasword`"),
        ("[[credential]]\ntoken = 'hunter2'", "missing required field `url`"),
        (entry("password = 2"), "Expected text"),
        (entry('password = "hunter2"'), "entry 1 of the file: it has a password and no username"),
        (entry('username = "ci"'), 'it has the username "ci" alone'),
        (entry('username = "ci"', 'password_file = "empty"'), "its password_file is empty"),
        (
            entry('username = "ci"', 'password = "hunter2"', 'password_file = "password"'),
            "both password and password_file",
        ),
        (
            entry('username = "ci"', 'password = "hunter2"', 'token = "hunter2"'),
            "it has a password and a token",
        ),
        (entry('client_key_file = "key"'), "needs client_certificate_file and client_key_file"),
        (entry('token = "x"', url="https://me:hunter2@git.example/x"), "a password stands in its address"),
        (entry('token = "x"', url="git.example"), "entry 1 of the file: its url is wrong"),
        (entry('token = "x"') + entry('token = "y"', url="https://git.example/team/"), "entry 2 of the file"),
    ],
)
def test_a_file_that_cannot_be_meant_is_told_without_what_is_secret_in_it(text: str, words: str) -> None:
    with pytest.raises(InvalidSpec) as raised:
        belongings(text)
    assert words in str(raised.value)
    assert "hunter2" not in str(raised.value)


def test_an_entry_that_is_printed_shows_no_secret() -> None:
    (found,) = entries_in(entry('username = "ci"', 'password = "hunter2"'), "the file")
    assert "hunter2" not in repr(found)


def test_the_example_of_the_documentation_is_a_file_that_can_be_meant() -> None:
    page = (Path(__file__).parents[3] / "docs" / "repositories.md").read_text()
    example = page.partition("```toml\n")[2].partition("```")[0]
    entries = entries_in(example, "the example")
    assert [entry.url for entry in entries] == [
        "https://git.example/team",
        "https://dev.azure.example",
        "ssh://git@git.example",
    ]
