"""What Git LFS says, taken apart."""

from __future__ import annotations

import shlex

import pytest

from trimtab.errors import GitUnreachable, SourceRefused
from trimtab.sources.repositories.addresses import address_of
from trimtab.sources.repositories.pointers import (
    Download,
    Pointer,
    downloads_in,
    endpoint_of,
    grant_request,
    granted_in,
    pointer_in,
)

OID = "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("text", "pointer"),
    [
        (f"version https://git-lfs.github.com/spec/v1\noid sha256:{OID}\nsize 7\n", Pointer(OID, 7)),
        (f"version https://hawser.github.com/spec/v1\noid sha256:{OID}\nsize 0\n", Pointer(OID, 0)),
        (
            f"version https://git-lfs.github.com/spec/v1\next-0-x sha256:{OID}\noid sha256:{OID}\nsize 7\n",
            Pointer(OID, 7),
        ),
        (f"oid sha256:{OID}\nsize 7\n", None),
        (f"version https://git-lfs.github.com/spec/v1\noid sha256:{OID[:-1]}\nsize 7\n", None),
        (f"version https://git-lfs.github.com/spec/v1\noid sha256:{OID}\nsize -7\n", None),
        (f"version https://git-lfs.github.com/spec/v1\noid sha256:{OID}\nsize 7\n{'x' * 1024}", None),
        ("version https://git-lfs.github.com/spec/v1\n", None),
    ],
)
def test_a_pointer_is_known_by_its_words(text: str, pointer: Pointer | None) -> None:
    assert pointer_in(text.encode()) == pointer


@pytest.mark.parametrize(
    ("repository", "configured", "endpoint"),
    [
        ("https://git.example/a/b", "", "https://git.example/a/b.git/info/lfs"),
        ("https://git.example:8443/a/b.git", "", "https://git.example:8443/a/b.git/info/lfs"),
        ("git@git.example:a/b.git", "", "https://git.example/a/b.git/info/lfs"),
        ("ssh://git@git.example:2222/a/b", "", "https://git.example/a/b.git/info/lfs"),
        ("https://git.example/a/b", "https://git.example/x/lfs", "https://git.example/x/lfs"),
        ("git@git.example:a/b.git", "https://git.example:8443/x", "https://git.example:8443/x"),
        ("https://git.example/a", "http://git.example/a", None),
        ("https://git.example/a", "https://git.example.evil/a", None),
        ("https://git.example/a", "-u", None),
        ("file:///srv/a.git", "", None),
    ],
)
def test_files_are_asked_for_at_the_repositorys_own_host(
    repository: str, configured: str, endpoint: str | None
) -> None:
    if endpoint is None:
        with pytest.raises(SourceRefused):
            endpoint_of(address_of(repository), configured)
    else:
        assert endpoint_of(address_of(repository), configured).url == endpoint


@pytest.mark.parametrize(
    ("answer", "endpoint"),
    [
        (b'{"href": "https://lfs.example/a/b", "header": {"Host": "x"}}', "https://lfs.example/a/b"),
        (b'{"expires_in": 1}', "https://git.example/a/b.git/info/lfs"),
        (b'{"href": "ssh://git@git.example/a"}', None),
        (b'{"href": "file:///etc"}', None),
        (b'{"href": "ext::sh -c id"}', None),
        (b"Welcome to the machine", None),
    ],
)
def test_what_ssh_grants_is_a_web_server_and_words_for_it(answer: bytes, endpoint: str | None) -> None:
    repository = address_of("git@git.example:a/b.git")
    if endpoint is None:
        with pytest.raises((SourceRefused, GitUnreachable)):
            granted_in(answer, repository)
    else:
        found, headers = granted_in(answer, repository)
        assert (found.url, headers) == (endpoint, {})


def test_a_path_is_one_word_of_the_command() -> None:
    asked = grant_request(address_of("ssh://git@git.example/a b;id'.git".replace(" ", "%20")))
    assert shlex.split(asked) == ["git-lfs-authenticate", "/a b;id'.git", "download"]


def test_an_answer_is_taken_only_for_what_was_asked() -> None:
    answer = b"""{"objects": [
      {"oid": "a", "size": 99, "actions": {"download": {"href": "https://x/1", "header": {
         "Authorization": "t", "Host": "evil", "bad name": "x", "X-Line": "a\\nb"}}}},
      {"oid": "a", "size": 1, "actions": {"download": {"href": "https://x/again"}}},
      {"oid": "b", "size": 1, "error": {"code": 404, "message": "gone"}},
      {"oid": "c", "size": 1},
      {"oid": "stranger", "size": 1, "actions": {"download": {"href": "https://x/2"}}}]}"""
    (found,) = downloads_in(answer, [Pointer("a", 1), Pointer("b", 1), Pointer("c", 1)], "the server")
    assert found == Download(pointer=Pointer("a", 1), href="https://x/1", headers={"Authorization": "t"})
    assert found.says_who
