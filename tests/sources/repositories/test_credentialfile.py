"""Credentials from files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from trimtab.errors import InvalidSpec, Missing, NotAllowed, TrimtabError
from trimtab.kube.auth.redaction import Secret
from trimtab.settings import RepositoriesSettings
from trimtab.sources import CredentialFile
from trimtab.sources.repositories.credentials import Basic, Login

ENTRY = '[[credential]]\nurl = "https://git.example"\nusername = "ci"\n'


def file_in(folder: Path, text: str, *, mode: int = 0o600) -> CredentialFile:
    path = folder / "credentials.toml"
    write(path, text, mode=mode)
    return CredentialFile(RepositoriesSettings(credentials_file=str(path)))


def write(path: Path, text: str, *, mode: int = 0o600) -> None:
    path.touch(mode)
    path.chmod(mode)
    path.write_text(text)


def logins(file: CredentialFile) -> list[Login | None]:
    return [belonging.credential.login for belonging in file.belongings()]


def test_a_secret_in_a_file_of_its_own_is_found_beside_the_credentials_and_followed(tmp_path: Path) -> None:
    write(tmp_path / "password", "first\n")
    file = file_in(tmp_path, f'{ENTRY}password_file = "password"\n', mode=0o644)
    assert logins(file) == [Basic(username="ci", password=Secret("first"))]
    write(tmp_path / "password", "the second\n")  # rotated
    assert logins(file) == [Basic(username="ci", password=Secret("the second"))]
    write(tmp_path / "credentials.toml", "")
    assert logins(file) == []


def test_only_the_usual_file_may_be_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))  # what `~` means has no other seam
    assert CredentialFile(RepositoriesSettings()).belongings() == ()
    named = CredentialFile(RepositoriesSettings(credentials_file=str(tmp_path / "none.toml")))
    with pytest.raises(Missing, match=r"none\.toml: it does not exist"):
        named.belongings()


@pytest.mark.parametrize(
    ("line", "mode", "error"),
    [
        ('password = "hunter2"', 0o644, NotAllowed),  # everybody may read it
        ('password_file = "open"', 0o600, NotAllowed),
        ('password_file = "nowhere"', 0o600, Missing),
        ('password_file = "folder"', 0o600, InvalidSpec),
        ('password_file = "binary"', 0o600, InvalidSpec),
        ('password_file = "large"', 0o600, InvalidSpec),
        ('password_file = "pipe"', 0o600, InvalidSpec),
    ],
)
def test_a_file_that_will_not_do_is_named_with_what_to_do(
    tmp_path: Path, line: str, mode: int, error: type[TrimtabError]
) -> None:
    write(tmp_path / "open", "hunter2", mode=0o644)
    (tmp_path / "folder").mkdir()
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    write(tmp_path / "large", "x" * (1 << 20) + "x")
    os.mkfifo(tmp_path / "pipe", 0o600)
    file = file_in(tmp_path, f"{ENTRY}{line}\n", mode=mode)
    for _ in range(2):  # and again: nothing is remembered of a reading that failed
        with pytest.raises(error) as raised:
            file.belongings()
        assert raised.value.remedy
        assert str(tmp_path / "credentials.toml") in str(raised.value)
        assert "hunter2" not in str(raised.value)
