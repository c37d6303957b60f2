"""Addresses of repositories."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.errors import InvalidSpec
from trimtab.sources.repositories.addresses import Address, Place, Scheme, address_of

GIVEN = {
    "https://Git.Example/Team/App.git": "https://git.example/Team/App.git",
    "HTTPS://git.example:443/team/app/": "https://git.example/team/app",
    "https://git.example:8443//team//app": "https://git.example:8443/team/app",
    "https://somebody@dev.azure.com/org/My%20Project/_git/app": "https://dev.azure.com/org/My%20Project/_git/app",
    "https://git.example./app": "https://git.example/app",
    "https://[2001:DB8::1]/app": "https://[2001:db8::1]/app",
    "https://bücher.example/app": "https://xn--bcher-kva.example/app",
    "git@git.example:team/app.git": "git@git.example:team/app.git",
    "git.example:team/app.git": "git@git.example:team/app.git",
    "git@git.example:/srv/app.git": "ssh://git@git.example/srv/app.git",
    "ssh://deploy@git.example:2222/team/app": "ssh://deploy@git.example:2222/team/app",
    "ssh://git.example/team/app": "ssh://git@git.example/team/app",
    "http://127.0.0.1:3000/app": "http://127.0.0.1:3000/app",
    "file:///srv/git/app.git": "file:///srv/git/app.git",
}


@pytest.mark.parametrize("text", GIVEN)
def test_git_is_given_an_address_written_anew(text: str) -> None:
    assert address_of(text).url == GIVEN[text]
    assert address_of(GIVEN[text]) == address_of(text)


REFUSED = [
    "",
    " ",
    "app",
    "/srv/git/app.git",
    "../app.git",
    "~/app",
    "https://git.example",
    "https://git.example/",
    "https:///app",
    "https://git.example/../etc",
    "https://git.example/a/%2e%2e/b",
    "https://git.example/a%2fb",
    "https://git.example/a%5cb",
    "https://git.example/a%00b",
    "https://git.example/a%0ab",
    "https://git.example/a?x=1",
    "https://git.example/a#b",
    "https://git.example:0/a",
    "https://git.example:65536/a",
    "https://git.example:22x/a",
    "https://-oProxyCommand=id/a",
    "https://git.exa mple/a",
    "https://git.example\\@evil.example/a",
    "https://git.example/a\nb",
    "ssh://-oProxyCommand=id/a",
    "ssh://git@-oProxyCommand=id:22/a",
    "ssh://-l@git.example/a",
    "git@-oProxyCommand=id:a",
    "-oProxyCommand=id@git.example:a",
    "git@git.example:-oProxyCommand",
    "git@git.example:--upload-pack=id",
    "git@git.example:../a",
    "--upload-pack=id",
    "-u",
    "ext::sh -c id",
    "ext::id",
    "fd::3",
    "fd::3/app",
    "transport::https://git.example/a",
    "git://git.example/a",
    "ftp://git.example/a",
    "javascript://git.example/a",
    "git+ssh://git.example/a",
    "file://git.example/a",
    "file://../a",
    "https://[::1/a",
    "https://[127.0.0.1]/a",
    "https://git.example/\u202egit.a",
    f"https://git.example/{'a' * 3000}",
]


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_plainly_no_address_is_refused(text: str) -> None:
    with pytest.raises(InvalidSpec):
        address_of(text)


@pytest.mark.parametrize(
    "text",
    [
        "https://me:c4n4ry@git.example/a",
        "https://me:c4n4ry@x@git.example/a",
        "https://me:c4n4ry/x@git.example/a",
        "ssh://me:c4n4ry@git.example/a",
        "ftp://me:c4n4ry@git.example/a",
        "me:c4n4ry@git.example/a",
        "https://me:c4n4ry@git.example/a b",
    ],
)
def test_a_password_in_an_address_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(InvalidSpec) as caught:
        address_of(text)
    assert "c4n4ry" not in str(caught.value)


@given(st.text(max_size=60))
def test_any_text_is_an_address_that_is_no_option_or_is_refused(text: str) -> None:
    try:
        address = address_of(text)
    except InvalidSpec:
        return
    assert not address.url.startswith("-")
    assert "::" not in address.url.partition("[")[0]
    assert address_of(address.url) == address


SAME = [
    ("https://git.example/team/app", "https://GIT.example:443/team/app.git/"),
    ("ssh://git@git.example/app", "git@git.example:/app.git"),
]
DIFFERENT = [
    ("https://git.example/app", "http://git.example/app"),
    ("https://git.example/app", "https://git.example:8443/app"),
    ("https://git.example/app", "ssh://git@git.example/app"),
    ("https://git.example/app", "https://git.example/App"),
    ("https://git.example/app", "https://git.example.evil/app"),
    ("git@git.example:app", "ssh://git@git.example/app"),
    ("git@git.example:app", "deploy@git.example:app"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_two_spellings_of_one_repository_share_an_identity(one: str, other: str) -> None:
    assert address_of(one).identity == address_of(other).identity


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_what_may_be_answered_by_another_has_another_identity(one: str, other: str) -> None:
    assert address_of(one).identity != address_of(other).identity


def test_a_place_is_the_same_however_it_is_reached() -> None:
    texts = (
        "https://Git.example/Team/App.git",
        "git@git.example:team/app",
        "ssh://x@git.example:22/team/app",
    )
    assert {address_of(text).place for text in texts} == {Place("git.example", "team/app")}


def test_an_address_prints_as_what_git_is_given() -> None:
    address = Address(scheme=Scheme.HTTPS, host="git.example", port=443, path="/app")
    assert str(address) == "https://git.example/app"
