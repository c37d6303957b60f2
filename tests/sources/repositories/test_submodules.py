"""Which submodules may be fetched."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.sources.upstream import ENVIRONMENT
from trimtab.errors import SourceRefused
from trimtab.sources.repositories.addresses import address_of
from trimtab.sources.repositories.submodules import MOST, Submodule, plainly_listed, submodules_in
from trimtab.sources.trees import Entry, EntryKind

OUTER = address_of("https://git.example/team/app.git")
SCP = address_of("git@git.example:team/app.git")
COMMIT = "1" * 40


class Lib:
    """A tree with submodules at every path that begins with `lib`."""

    def entry(self, path: str) -> Entry | None:
        kind = EntryKind.SUBMODULE if path.startswith("lib") else EntryKind.FOLDER
        return Entry(name=path, kind=kind, id=COMMIT)

    def entries(self, path: str) -> tuple[Entry, ...]:
        raise NotImplementedError

    def read(self, path: str) -> bytes:
        raise NotImplementedError


def listed(path: str, url: str) -> bytes:
    return f"submodule.x.y.path\n{path}\0submodule.x.y.url\n{url}\0submodule.x.y.update\nnone\0".encode()


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("../lib.git", "https://git.example/team/lib.git"),
        ("./lib.git", "https://git.example/team/app.git/lib.git"),
        ("../../other/lib.git", "https://git.example/other/lib.git"),
        ("https://git.example/lib", "https://git.example/lib"),
    ],
)
def test_a_submodule_of_the_same_server_may_be_fetched(url: str, address: str) -> None:
    expected = (Submodule(path="lib", address=address_of(address), commit=COMMIT),)
    assert submodules_in(Lib(), listed("lib", url), OUTER) == expected


def test_relative_addresses_count_from_addresses_without_a_scheme_too() -> None:
    [found] = submodules_in(Lib(), listed("lib", "../lib.git"), SCP)
    assert found.address.url == "git@git.example:team/lib.git"


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example/lib",
        "https://git.example.evil/lib",
        "https://git.example:8443/lib",
        "http://git.example/lib",
        "git@git.example:lib",
        "file:///etc",
        "../../../../..//etc",
        "ext::id",
        "--upload-pack=id",
        "",
        "https://user:c4n4ry@git.example/lib",
    ],
)
def test_any_other_is_refused(url: str) -> None:
    with pytest.raises(SourceRefused) as caught:
        submodules_in(Lib(), listed("lib", url), OUTER)
    assert "c4n4ry" not in str(caught.value)


def test_another_user_of_the_same_ssh_server_is_another_place() -> None:
    with pytest.raises(SourceRefused, match="another server"):
        submodules_in(Lib(), listed("lib", "root@git.example:lib"), SCP)


def test_what_is_listed_but_is_no_submodule_is_left_alone() -> None:
    assert submodules_in(Lib(), listed("folder", "https://evil.example/lib"), OUTER) == ()
    assert submodules_in(Lib(), b"core.sshcommand\nid\0rubbish", OUTER) == ()


def test_too_many_are_refused() -> None:
    lines = b"".join(
        f"submodule.{number}.path\nlib{number}\0submodule.{number}.url\n../lib\0".encode()
        for number in range(MOST + 1)
    )
    with pytest.raises(SourceRefused, match="more than"):
        submodules_in(Lib(), lines, OUTER)


@pytest.mark.parametrize(
    ("text", "listed"),
    [
        ("", b""),
        (
            '# ours\n[submodule "x.y"]\n\tpath = lib/x\n\tURL = ../x.git\n\n',
            b"submodule.x.y.path\nlib/x\0submodule.x.y.url\n../x.git\0",
        ),
        ("[submodule x]\n\tpath = lib\n", None),
        ("\tpath = lib\n", None),
        ('[submodule "x"]\n\tpath\n', None),
        ('[submodule "x"]\n\tpath = "lib\n', None),
        ('[submodule "x"]\n\tpath = "li\\qb"\n', None),
        ('[submodule "x"]\n\tpath = li\tb\n', None),
        ('[submodule "x"]\n\tpath = li\\\nb\n', None),
        ('[submodule "x"] path = lib\n', None),
        ("[include]\n\tpath = /etc/passwd\n", None),
    ],
)
def test_what_only_git_can_read_is_left_to_it(text: str, listed: bytes | None) -> None:
    assert plainly_listed(text.encode()) == listed


WRITTEN = r"""
  [submodule "a \"quoted\" \\ name"]   ; ours
path=lib/a
	URL = "../a.git"   # beside us
[submodule	"b"]
	path = "lib with spaces/b"
	url = ../b.git ; and a comment
	branch = "a;b#c" d"e"  f
	update = \"x\\y\t"z\n"
	shallow = "   "
	ignore =
"""


def test_quotes_escapes_and_comments_are_read_as_git_reads_them(tmp_path: Path) -> None:
    (tmp_path / "modules").write_text(WRITTEN)
    line = ["git", "config", "--null", "--list", "--file", str(tmp_path / "modules")]
    judge = subprocess.run(line, env=ENVIRONMENT, capture_output=True, check=True).stdout
    assert plainly_listed(WRITTEN.encode()) == judge
    assert b"submodule.b.path\nlib with spaces/b\0" in judge
